/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on thousands of synthetic layers and hundreds of models, with its tables of right, wrong and open
 * answers. The first rule: never wrong outside the two families that are known to fool a mean shift.
 */
#include "unit.h"

#include "quant/verdict.h"
#include "tests/gen/verdict_lab.h"

#include <stdio.h>
#include <string.h>

struct fact {
	struct lab_recipe recipe;
	enum lab_storage storage;
	struct gq_zero_stats zeros;
	struct gq_code_stats codes;
	bool has_codes;
};

enum answer { RIGHT, WRONG, OPEN, N_ANSWERS };

struct table {
	uint64_t count[GQ_N_WIDTHS][N_ANSWERS];
};

static void print_table(const char *what, const struct table *t)
{
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		const uint64_t *c = t->count[w];
		double all = (double)(c[RIGHT] + c[WRONG] + c[OPEN]);

		if (all > 0)
			printf("%-22s %u bits: %5.0f, right %5d, wrong %3d, open %4d (%.2f%%)\n", what, gq_widths[w],
			       all, (int)c[RIGHT], (int)c[WRONG], (int)c[OPEN], 100 * (double)c[OPEN] / all);
	}
}

static double open_share(const struct table *t, unsigned w)
{
	double all = (double)(t->count[w][RIGHT] + t->count[w][WRONG] + t->count[w][OPEN]);

	return all > 0 ? (double)t->count[w][OPEN] / all : 0;
}

static enum answer answer_for(enum gptq_verdict verdict, enum lab_storage storage)
{
	if (verdict == GPTQ_VERDICT_UNDETERMINED)
		return OPEN;
	return verdict == (storage == LAB_V2 ? GPTQ_VERDICT_V2 : GPTQ_VERDICT_V1) ? RIGHT : WRONG;
}

static enum gptq_v1_style style_of(enum lab_storage storage, unsigned bits)
{
	switch (storage) {
	case LAB_LANE:
		return GPTQ_STYLE_LANE;
	case LAB_WORD:
		return bits == 3 ? GPTQ_STYLE_LANE : GPTQ_STYLE_WORD;
	case LAB_SMEARED:
		return GPTQ_STYLE_SMEARED;
	case LAB_LEGACY:
		return GPTQ_STYLE_GPTQMODEL_3BIT;
	case LAB_V2:
	case LAB_HALVES:
	case LAB_N_STORAGES:
		break;
	}
	return GPTQ_STYLE_NONE;
}

/* A storage that makes sense for a width. */
static bool fits(enum lab_storage storage, unsigned bits)
{
	if (storage == LAB_HALVES)
		return false;
	return bits == 3 ? storage != LAB_WORD : storage != LAB_LEGACY;
}

static struct lab_recipe recipe_of(enum lab_family family, unsigned bits, size_t k, size_t n, size_t group_size,
				   uint64_t seed)
{
	return (struct lab_recipe){.family = family,
				   .bits = bits,
				   .word_bits = 32,
				   .k = k,
				   .n = n,
				   .group_size = group_size,
				   .seed = seed};
}

static void measure(const struct lab_layer *layer, enum lab_storage storage, struct fact *fact)
{
	const struct lab_recipe *r = &layer->recipe;
	unsigned char *words = lab_store(layer, storage);
	struct gq_stats_layer in = {
		.qzeros = {words,
			   layer->groups,
			   layer->qzeros_row_bytes,
			   r->n,
			   {r->bits, r->word_bits},
			   &gq_layout_stream},
		.k = r->k,
		.g_of_k = layer->g_of_k,
	};
	struct gq_word_rows rows = {layer->qweight, layer->qweight_row_bytes};

	memset(fact, 0, sizeof(*fact));
	fact->recipe = *r;
	fact->storage = storage;
	ck_assert_int_eq(gq_zero_stats_of(&in.qzeros, &fact->zeros, NULL), GPTQ_OK);
	fact->has_codes = gq_codes_wanted(&fact->zeros, in.qzeros.pack);
	if (fact->has_codes)
		ck_assert_int_eq(gq_stats_of(&in, rows, &fact->codes, NULL), GPTQ_OK);
	free(words);
}

static void make(const struct lab_recipe *recipe, enum lab_storage storage, struct fact *fact)
{
	struct lab_layer *layer = lab_make(recipe);

	measure(layer, storage, fact);
	lab_free(layer);
}

/* Judges n facts as one model; shards of `per_shard` layers. */
static struct gq_model_verdict judge(const struct fact *const *facts, size_t n, size_t per_shard)
{
	struct gq_layer_facts *layers = calloc(n, sizeof(*layers));
	struct gq_layer_verdict *verdicts = calloc(n, sizeof(*verdicts));
	struct gq_model_verdict out;

	for (size_t i = 0; i < n; i++) {
		layers[i].pack = (struct gq_pack){facts[i]->recipe.bits, facts[i]->recipe.word_bits};
		layers[i].shard = (uint32_t)(i / per_shard);
		layers[i].zeros = facts[i]->zeros;
		layers[i].codes = facts[i]->has_codes ? &facts[i]->codes : NULL;
	}
	ck_assert_int_eq(gq_model_judge(layers, n, verdicts, NULL, &out, NULL), GPTQ_OK);
	free(layers);
	free(verdicts);
	return out;
}

static void count_layer(const struct fact *fact, struct table *t)
{
	struct gq_layer_facts layer = {
		.pack = {fact->recipe.bits, fact->recipe.word_bits},
		.zeros = fact->zeros,
		.codes = fact->has_codes ? &fact->codes : NULL,
	};
	struct gq_layer_verdict verdict;
	enum answer answer;

	gq_layer_judge(&layer, &verdict);
	answer = answer_for(verdict.verdict, fact->storage);
	t->count[gq_width_index(fact->recipe.bits)][answer]++;
	if (answer == WRONG && fact->recipe.family < LAB_N_SANE)
		printf("wrong: %s, %u bits, groups of %zu, storage %d: %s by %s\n", lab_families[fact->recipe.family],
		       fact->recipe.bits, fact->recipe.group_size, (int)fact->storage,
		       gptq_verdict_name(verdict.verdict), gq_rule_name(verdict.rule));
}

/* A style is wrong when it would decode some lane wrongly; `clean` is right where nothing is above an M. */
static void count_style(const struct gq_model_verdict *m, unsigned bits, enum lab_storage storage, struct table *t)
{
	unsigned w = gq_width_index(bits);
	enum gptq_v1_style style = m->style[w].style;
	enum answer answer = WRONG;

	if (storage == LAB_V2)
		return;
	if (style == GPTQ_STYLE_NONE)
		answer = OPEN;
	else if (style == style_of(storage, bits) || (style == GPTQ_STYLE_CLEAN && m->style[w].n_telling == 0))
		answer = RIGHT;
	t->count[w][answer]++;
	if (answer == WRONG)
		printf("wrong style: %u bits, storage %d: %s\n", bits, (int)storage, gptq_style_name(style));
}

#define N_CONFIGS 6
static const struct {
	size_t group_size;
	bool act_order;
} configs[N_CONFIGS] = {{128, false}, {128, true}, {32, false}, {32, true}, {0, false}, {0, true}};

struct tables {
	struct table layers, fooled_layers, models, fooled_models, styles;
	uint64_t n_layers, n_models;
};

static void run_family(unsigned bits, enum lab_family family, struct tables *t)
{
	struct fact *facts = calloc(N_CONFIGS * LAB_N_STORAGES, sizeof(*facts));
	bool sane = family < LAB_N_SANE;

	for (unsigned c = 0; c < N_CONFIGS; c++) {
		struct lab_recipe recipe =
			recipe_of(family, bits, 512, 128, configs[c].group_size, 1000 * bits + 10 * family + c);
		struct lab_layer *layer;

		recipe.act_order = configs[c].act_order;
		layer = lab_make(&recipe);

		for (enum lab_storage s = LAB_V2; s < LAB_N_STORAGES; s++)
			if (fits(s, bits)) {
				measure(layer, s, &facts[s * N_CONFIGS + c]);
				count_layer(&facts[s * N_CONFIGS + c], sane ? &t->layers : &t->fooled_layers);
				t->n_layers++;
			}
		lab_free(layer);
	}
	for (enum lab_storage s = LAB_V2; s < LAB_N_STORAGES; s++) {
		const struct fact *model[N_CONFIGS];
		struct gq_model_verdict m;
		struct table *table = sane ? &t->models : &t->fooled_models;

		if (!fits(s, bits))
			continue;
		for (unsigned c = 0; c < N_CONFIGS; c++)
			model[c] = &facts[s * N_CONFIGS + c];
		m = judge(model, N_CONFIGS, N_CONFIGS);
		table->count[gq_width_index(bits)][answer_for(m.verdict, s)]++;
		count_style(&m, bits, s, &t->styles);
		t->n_models++;
	}
	free(facts);
}

START_TEST(all_families)
{
	/* What the estimator reached under real error feedback: 0.3, 0.7, 8.3 and 65%. */
	static const double open_at_most[GQ_N_WIDTHS] = {0.003, 0.0075, 0.083, 0.65};
	struct tables *t = calloc(1, sizeof(*t));
	bool whole = unit_percent() == 100;

	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		for (enum lab_family f = 0; f < LAB_N_FAMILIES; f++)
			if (unit_runs(w * LAB_N_FAMILIES + f))
				run_family(gq_widths[w], f, t);
	print_table("layers", &t->layers);
	print_table("layers, fooled", &t->fooled_layers);
	print_table("models of 6", &t->models);
	print_table("models of 6, fooled", &t->fooled_models);
	print_table("styles", &t->styles);
	printf("%d layers, %d models\n", (int)t->n_layers, (int)t->n_models);
	ck_assert_uint_ge(t->n_layers, whole ? 2000 : 1);
	ck_assert_uint_ge(t->n_models, whole ? 200 : 1);
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		ck_assert_uint_eq(t->layers.count[w][WRONG], 0);
		ck_assert_uint_eq(t->models.count[w][WRONG], 0);
		ck_assert_uint_eq(t->styles.count[w][WRONG], 0);
		/* Shares of a part say nothing of the whole. */
		ck_assert(!whole || open_share(&t->layers, w) <= open_at_most[w]);
		ck_assert(!whole || w == 3 || open_share(&t->models, w) <= 0.05);
	}
	free(t);
}
END_TEST

START_TEST(symmetric_layers)
{
	size_t n = 0;

	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		for (unsigned f = 0; f < LAB_N_FAMILIES; f += 2)
			for (enum lab_storage s = LAB_V2; s <= LAB_LEGACY; s++) {
				struct lab_recipe recipe = recipe_of(f, gq_widths[w], 256, 64, 32, f);
				struct table t;
				struct fact fact;

				if (!fits(s, gq_widths[w]) || !unit_runs(n++))
					continue;
				recipe.quantiser = f % 4 ? LAB_SYMMETRIC : LAB_FULL_RANGE;
				memset(&t, 0, sizeof(t));
				make(&recipe, s, &fact);
				ck_assert_int_ne(fact.zeros.sentinel, GQ_SENTINEL_NONE);
				ck_assert(!fact.has_codes || gq_widths[w] < 4);
				count_layer(&fact, &t);
				ck_assert_uint_eq(t.count[w][WRONG], 0);
				ck_assert(t.count[w][RIGHT] == 1 || f == LAB_POSITIVE);
			}
}
END_TEST

/* Codes of 8 bits need many layers for a verdict. */
#define N_POOL_8 200
#define N_POOL 100

struct row {
	const char *name;
	unsigned bits;
	enum lab_family most, some;
	unsigned percent; /* of layers of family `some` */
	bool open;        /* undetermined is the right answer */
};

static void run_row(const struct row *row, unsigned seed)
{
	static const enum lab_storage storages[] = {LAB_V2, LAB_LANE};
	unsigned n = row->bits == 8 ? N_POOL_8 : N_POOL;
	struct fact *facts = calloc(2 * n, sizeof(*facts));
	const struct fact **model = calloc(n, sizeof(const struct fact *));

	for (unsigned i = 0; i < n; i++) {
		struct lab_recipe recipe =
			recipe_of(i * 100 < row->percent * n ? row->some : row->most, row->bits,
				  row->bits == 8 ? 512 : 256, row->bits == 8 ? 128 : 96, 128, 77000 + 1000 * seed + i);
		struct lab_layer *layer = lab_make(&recipe);

		for (unsigned s = 0; s < 2; s++)
			measure(layer, storages[s], &facts[s * n + i]);
		lab_free(layer);
	}
	for (unsigned s = 0; s < 2; s++) {
		struct gq_model_verdict m;
		enum answer answer;

		for (unsigned i = 0; i < n; i++)
			model[i] = &facts[s * n + i];
		m = judge(model, n, n);
		answer = answer_for(m.verdict, storages[s]);
		printf("%-40s %s: %s by %s, A %.2f (%.2f), B %.2f (%.2f)\n", row->name, s ? "v1" : "v2",
		       gptq_verdict_name(m.verdict), gq_rule_name(m.rule), m.width[gq_width_index(row->bits)].a,
		       m.width[gq_width_index(row->bits)].bar_a, m.width[gq_width_index(row->bits)].b,
		       m.width[gq_width_index(row->bits)].bar_b);
		ck_assert_int_eq(answer, row->open ? OPEN : RIGHT);
	}
	free(model);
	free(facts);
}

START_TEST(large_models)
{
	static const struct row rows[] = {
		{"2 bits, clean", 2, LAB_GAUSS, LAB_GAUSS, 0, false},
		{"3 bits, clean", 3, LAB_GAUSS, LAB_GAUSS, 0, false},
		{"4 bits, 10% of layers all-positive", 4, LAB_GAUSS, LAB_POSITIVE, 10, false},
		{"8 bits, clean", 8, LAB_GAUSS, LAB_GAUSS, 0, false},
		{"8 bits, a mean of 0.03 sd everywhere", 8, LAB_MEAN_003, LAB_GAUSS, 0, true},
		{"8 bits, 20% of layers with 0.3 sd", 8, LAB_GAUSS, LAB_MEAN_03, 20, false},
		{"8 bits, 10% all-positive", 8, LAB_GAUSS, LAB_POSITIVE, 10, false},
	};

	if (unit_runs((size_t)_i))
		run_row(&rows[_i], (unsigned)_i);
}
END_TEST

#define N_SMALL 7

/* Seven layers of 64 columns or so, as a toy transformer has; bits of 0 mix the widths. */
static void make_small(unsigned bits, unsigned word_bits, enum lab_family family, enum lab_storage storage,
		       uint64_t seed, struct fact *facts)
{
	static const size_t k[N_SMALL] = {64, 64, 64, 64, 64, 64, 96}, n[N_SMALL] = {64, 32, 32, 64, 96, 96, 64};
	static const unsigned widths[N_SMALL] = {4, 4, 2, 3, 4, 8, 4};

	for (unsigned i = 0; i < N_SMALL; i++) {
		struct lab_recipe recipe =
			recipe_of(family, bits ? bits : widths[i], k[i], n[i], 32, seed * N_SMALL + i);

		recipe.word_bits = word_bits;
		make(&recipe, storage == LAB_LEGACY && recipe.bits != 3 ? LAB_WORD : storage, &facts[i]);
	}
}

static void judge_small(unsigned bits, unsigned word_bits, enum lab_family family, enum lab_storage storage,
			uint64_t seed, struct table *verdicts, struct table *styles)
{
	struct fact facts[N_SMALL];
	const struct fact *model[N_SMALL];
	struct gq_model_verdict m;
	unsigned w = bits ? gq_width_index(bits) : 2;

	make_small(bits, word_bits, family, storage, seed, facts);
	for (unsigned i = 0; i < N_SMALL; i++)
		model[i] = &facts[i];
	m = judge(model, N_SMALL, N_SMALL);
	verdicts->count[w][answer_for(m.verdict, storage)]++;
	for (unsigned i = 0; i < GQ_N_WIDTHS; i++)
		if (m.style[i].n_layers > 0)
			count_style(&m, gq_widths[i], storage == LAB_LEGACY && gq_widths[i] != 3 ? LAB_WORD : storage,
				    styles);
}

static void check_small(const char *name, const struct table *verdicts, const struct table *styles)
{
	char title[64];

	snprintf(title, sizeof(title), "%s, verdicts", name);
	print_table(title, verdicts);
	snprintf(title, sizeof(title), "%s, styles", name);
	print_table(title, styles);
	for (unsigned w = 0; w < GQ_N_WIDTHS; w++) {
		ck_assert_uint_eq(verdicts->count[w][WRONG], 0);
		ck_assert_uint_eq(styles->count[w][WRONG], 0);
	}
}

/* Few columns and two or three groups to each: plain weights, some columns one-sided, every storage. */
START_TEST(small_models)
{
	static const enum lab_family families[] = {LAB_GAUSS,        LAB_LAPLACE,      LAB_SOME_POSITIVE,
						   LAB_COLUMN_MEANS, LAB_SKEW_COLUMNS, LAB_EMBEDDING};
	static const unsigned widths[] = {2, 3, 4, 8, 0};
	struct table verdicts[2], styles[2];
	size_t n = 0;

	memset(verdicts, 0, sizeof(verdicts));
	memset(styles, 0, sizeof(styles));
	for (unsigned w = 0; w < 5; w++)
		for (unsigned f = 0; f < 6; f++)
			for (enum lab_storage s = LAB_V2; s <= LAB_LEGACY; s++)
				for (uint64_t seed = 0; seed < 6; seed++)
					if ((widths[w] == 0 || fits(s, widths[w])) && unit_runs(n++))
						judge_small(widths[w], 32, families[f], s, 100 * f + seed,
							    &verdicts[widths[w] == 0], &styles[widths[w] == 0]);
	check_small("models of 7 small", &verdicts[0], &styles[0]);
	check_small("the same, widths mixed", &verdicts[1], &styles[1]);
}
END_TEST

START_TEST(other_words)
{
	static const unsigned word_bits[] = {8, 16, 64};
	struct table verdicts, styles;
	size_t n = 0;

	memset(&verdicts, 0, sizeof(verdicts));
	memset(&styles, 0, sizeof(styles));
	for (unsigned p = 0; p < 3; p++)
		for (unsigned bits = 2; bits <= 8; bits *= 2)
			for (enum lab_storage s = LAB_V2; s <= LAB_WORD; s++)
				for (uint64_t seed = 0; seed < 4; seed++)
					if (unit_runs(n++))
						judge_small(bits, word_bits[p],
							    seed % 2 ? LAB_SOME_POSITIVE : LAB_GAUSS, s, 900 + seed,
							    &verdicts, &styles);
	check_small("other pack words", &verdicts, &styles);
}
END_TEST

START_TEST(half_converted)
{
	static const unsigned widths[] = {2, 3, 4, 4};

	for (unsigned w = 0; w < 4; w++) {
		struct fact facts[2 * N_SMALL];
		const struct fact *model[2 * N_SMALL];
		struct gq_model_verdict m;

		make_small(widths[w], 32, w == 3 ? LAB_PAD_K : LAB_GAUSS, LAB_LANE, w, facts);
		make_small(widths[w], 32, w == 3 ? LAB_PAD_K : LAB_GAUSS, LAB_V2, 50 + w, facts + N_SMALL);
		for (unsigned i = 0; i < 2 * N_SMALL; i++)
			model[i] = &facts[i];
		m = judge(model, 2 * N_SMALL, N_SMALL);
		printf("half converted, %u bits: %s by %s\n", widths[w], gptq_verdict_name(m.verdict),
		       gq_rule_name(m.rule));
		ck_assert(m.verdict == GPTQ_VERDICT_MIXED || m.verdict == GPTQ_VERDICT_UNDETERMINED);
		ck_assert(w != 3 || m.verdict == GPTQ_VERDICT_MIXED);
	}
}
END_TEST

/* Only the lower half of 64-bit words was shifted. */
START_TEST(half_words)
{
	for (unsigned bits = 2; bits <= 8; bits *= 2)
		for (unsigned symmetric = 0; symmetric < 2; symmetric++) {
			struct fact facts[24];
			const struct fact *model[24];
			struct gq_model_verdict m;

			for (unsigned i = 0; i < 24; i++) {
				struct lab_recipe recipe = recipe_of(LAB_GAUSS, bits, 256, 128, 32, 5000 + i);

				recipe.quantiser = symmetric ? LAB_SYMMETRIC : LAB_ASYMMETRIC;
				recipe.word_bits = 64;
				make(&recipe, LAB_HALVES, &facts[i]);
				model[i] = &facts[i];
			}
			m = judge(model, 24, 24);
			ck_assert(m.half_words || (bits == 8 && !symmetric));
			ck_assert_int_eq(m.verdict, GPTQ_VERDICT_UNDETERMINED);
		}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verdict_lab");
	TCase *tc = tcase_create("lab");

	/* Tables must survive a failed check, which ends the process. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	tcase_set_timeout(tc, 280);
	tcase_add_test(tc, all_families);
	tcase_add_test(tc, symmetric_layers);
	tcase_add_loop_test(tc, large_models, 0, 7);
	tcase_add_test(tc, small_models);
	tcase_add_test(tc, other_words);
	tcase_add_test(tc, half_converted);
	tcase_add_test(tc, half_words);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
