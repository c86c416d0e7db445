/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about zero points, scales, groups, experts and files. */
#include "base/mem.h"
#include "format/dtype.h"
#include "ops/inspect_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------- verdict and style */

static void name_first(const struct gq_inspection *in, enum gptq_verdict verdict, char *dst, size_t size)
{
	size_t used = 0, n = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < in->report->n_layers; i++) {
		if (in->report->layers[i].verdict != verdict)
			continue;
		if (n++ < 3 && used < size)
			used += (size_t)snprintf(dst + used, size - used, "%s%s", n > 1 ? ", " : "",
						 in->report->layers[i].name);
	}
	if (n > 3 && used < size)
		snprintf(dst + used, size - used, " and %zu more", n - 3);
}

static enum gptq_status verdict_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gptq_inspect_report *r = in->report;
	const struct gq_model_verdict *m = &in->survey.model;
	char v1[512], v2[512];
	enum gptq_status status = GPTQ_OK;

	if (r->verdict == GPTQ_VERDICT_MIXED) {
		name_first(in, GPTQ_VERDICT_V1, v1, sizeof(v1));
		name_first(in, GPTQ_VERDICT_V2, v2, sizeof(v2));
		return gq_find(in, GQ_CODE_VERDICT_MIXED, "", err,
			       "some layers are v1 (%s), others v2 (%s): a half-converted model that no loader reads right; "
			       "gptq-convert --per-layer mends it",
			       v1, v2);
	}
	if (r->verdict == GPTQ_VERDICT_UNDETERMINED)
		status = gq_find(in, GQ_CODE_VERDICT_UNDETERMINED, "", err,
				 "the tensors leave it open whether the zero points are v1 or v2 (%llu layers read); the label "
				 "alone decides",
				 (unsigned long long)r->n_layers_read);
	for (size_t i = 0; i < r->n_layers && m->n_odd && status == GPTQ_OK; i++)
		if (in->survey.odd[i])
			status = gq_find(in, GQ_CODE_LAYER_ODD, r->layers[i].name, err,
					 "this layer is %s by %s, while the model is %s: converted twice, or not at all?",
					 gptq_verdict_name(r->layers[i].verdict), r->layers[i].rule,
					 gptq_verdict_name(r->verdict));
	if (status == GPTQ_OK && !isnan(m->correlation) && m->correlation < 0.6 && r->v1_style != GPTQ_STYLE_SMEARED &&
	    r->sym_data == GPTQ_NO)
		status = gq_find(in, GQ_CODE_ZERO_POINTS_UNORDERED, "", err,
				 "zero points hardly follow the codes of their columns (median correlation %.2f over %llu "
				 "layers): the columns of qzeros may be in another order",
				 m->correlation, (unsigned long long)m->n_correlated);
	return status;
}

static enum gptq_status style_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gptq_inspect_report *r = in->report;
	enum gptq_status status = GPTQ_OK;
	uint64_t n_zero = 0, n_layers = 0;

	if (r->effective != GPTQ_ZEROS_V1 && r->verdict != GPTQ_VERDICT_MIXED)
		return GPTQ_OK;
	for (unsigned b = 0; b < r->n_bits && status == GPTQ_OK; b++) {
		const struct gq_style_verdict *v = &in->survey.model.style[gq_width_index(r->bits[b].bits)];

		if (r->bits[b].style == GPTQ_STYLE_SMEARED)
			status = gq_find(in, GQ_CODE_SMEARED_ZEROS, "", err,
					 "%llu words at %u bits are damaged: a zero point of 0 overwrote those above it when the "
					 "file was written, and %llu zero points are lost; quantise again, or take a v2 upload",
					 (unsigned long long)v->damaged_words, r->bits[b].bits,
					 (unsigned long long)v->unknown_zeros);
		else if (in->styles[gq_width_index(r->bits[b].bits)].n_layers && r->bits[b].style == GPTQ_STYLE_NONE)
			status = gq_find(in, GQ_CODE_V1_STYLE_UNDETERMINED, "", err,
					 "how zero points of 0 were stored at %u bits is open (%llu lanes hang on it); "
					 "gptq-convert needs --v1-style for them",
					 r->bits[b].bits, (unsigned long long)v->n_differ);
	}
	for (size_t i = 0; i < r->n_layers; i++) {
		if (in->formats[i] == GPTQ_ZEROS_V1 && r->layers[i].has_zeros && r->layers[i].zeros_equal_0) {
			n_zero += r->layers[i].zeros_equal_0;
			n_layers++;
		}
	}
	if (status == GPTQ_OK && n_zero)
		status = gq_find(in, GQ_CODE_V1_ZERO_AT_0, "", err,
				 "%llu zero points in %llu layers are 0, which v1 loaders read in different ways; v2 has no such "
				 "question (gptq-convert --to v2)",
				 (unsigned long long)n_zero, (unsigned long long)n_layers);
	return status;
}

/* -------------------------------------------------------------------------------------------- scales and groups */

/* One finding for all layers of a kind, at the first of them. */
struct tally {
	const struct gq_layer *first;
	uint64_t n_layers, n;
};

static void count_layer(struct tally *t, const struct gq_layer *l, uint64_t n)
{
	if (!n)
		return;
	if (!t->first)
		t->first = l;
	t->n_layers++;
	t->n += n;
}

static enum gptq_status scale_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct tally nan = {0}, inf = {0}, zero = {0}, negative = {0};
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < in->source.layers.n; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];

		count_layer(&nan, l, in->survey.scales[i].n_nan);
		count_layer(&inf, l, in->survey.scales[i].n_inf);
		count_layer(&zero, l, in->notes[i].n_harmful_zero_scales);
		count_layer(&negative, l, in->survey.scales[i].n_negative);
	}
	if (nan.n)
		status = gq_find_layer(in, GQ_CODE_SCALE_NAN, nan.first, err,
				       "%llu scales in %llu layers are NaN: the model will print garbage; quantise these "
				       "layers again",
				       (unsigned long long)nan.n, (unsigned long long)nan.n_layers);
	if (status == GPTQ_OK && inf.n)
		status = gq_find_layer(in, GQ_CODE_SCALE_INF, inf.first, err,
				       "%llu scales in %llu layers are infinite: overflow when they were stored; quantise "
				       "these layers again",
				       (unsigned long long)inf.n, (unsigned long long)inf.n_layers);
	if (status == GPTQ_OK && zero.n)
		status = gq_find_layer(in, GQ_CODE_SCALE_ZERO, zero.first, err,
				       "%llu scales in %llu layers are 0 although their codes differ from the zero point: those "
				       "weights were lost",
				       (unsigned long long)zero.n, (unsigned long long)zero.n_layers);
	if (status == GPTQ_OK && negative.n)
		status = gq_find_layer(in, GQ_CODE_NEGATIVE_SCALES, negative.first, err,
				       "%llu scales in %llu layers are negative: normal in auto-round's symmetric files",
				       (unsigned long long)negative.n, (unsigned long long)negative.n_layers);
	return status;
}

static enum gptq_status group_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct tally missing = {0}, zero = {0}, ragged = {0};
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < in->source.layers.n; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];

		count_layer(&missing, l, !l->g_idx);
		count_layer(&zero, l, in->surveyed && !in->survey.broken[i] && in->survey.g_idx[i] == GQ_G_IDX_ZERO);
		count_layer(&ragged, l, l->group_size > 0 && l->in_features % (uint64_t)l->group_size != 0);
	}
	if (missing.n)
		status = gq_find_layer(in, GQ_CODE_G_IDX_MISSING, missing.first, err,
				       "%llu layers have no g_idx; rows are in plain order then, but not every loader accepts it",
				       (unsigned long long)missing.n_layers);
	if (status == GPTQ_OK && zero.n)
		status = gq_find_layer(in, GQ_CODE_G_IDX_ZERO, zero.first, err,
				       "g_idx is all zero in %llu layers of several groups; it is read as plain order, but "
				       "loaders that take it at its word read group 0 for every row",
				       (unsigned long long)zero.n_layers);
	if (status == GPTQ_OK && ragged.n)
		status = gq_find_layer(in, GQ_CODE_GROUP_DOES_NOT_DIVIDE, ragged.first, err,
				       "the last group is short in %llu layers (in_features is no multiple of group_size); some "
				       "kernels refuse that",
				       (unsigned long long)ragged.n_layers);
	return status;
}

/* ------------------------------------------------------------------------------------------------------ experts */

/* Does the module path have the part `word` (between dots)? *at: where it begins. */
static bool has_part(const char *name, size_t n, const char *word, size_t *at)
{
	size_t m = strlen(word);

	for (size_t i = 0; i + m <= n; i++) {
		if (memcmp(name + i, word, m) == 0 && (i == 0 || name[i - 1] == '.') && (i + m == n || name[i + m] == '.')) {
			*at = i;
			return true;
		}
	}
	return false;
}

static bool is_router(const struct gq_layer *l)
{
	static const char *const last[] = {"gate", "router", "shared_expert_gate"};
	size_t at;

	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		if (has_part(l->name, l->name_len, last[i], &at) && at + strlen(last[i]) == l->name_len)
			return true;
	return false;
}

/* A plain .weight among the experts of a block whose other experts are quantised, without a rule that says so. */
static enum gptq_status experts_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_source *s = &in->source;
	uint64_t n_quantised = 0, n_plain = 0;
	const struct gq_tensor *first = NULL;
	unsigned bits = 0;
	bool several = false;
	size_t at;

	for (size_t i = 0; i < s->layers.n; i++) {
		const struct gq_layer *l = &s->layers.items[i];

		if (!has_part(l->name, l->name_len, "experts", &at))
			continue;
		several = several || (bits && bits != l->pack.bits);
		bits = l->pack.bits;
		n_quantised++;
	}
	for (size_t i = 0; i < s->shards.n_tensors && n_quantised; i++) {
		const struct gq_tensor *t = &s->shards.tensors[i];
		size_t n = t->name_len > 7 ? t->name_len - 7 : 0;

		if (!n || t->rank != 2 || memcmp(t->name + n, ".weight", 7) != 0 || !has_part(t->name, n, "experts", &at))
			continue;
		if (s->dynamic && gq_dynamic_match(s->dynamic, t->name, n, NULL) == GQ_DYNAMIC_EXCLUDE)
			continue;
		if (n_plain++ == 0)
			first = t;
	}
	if (n_plain) {
		char name[256];

		gq_mask(name, sizeof(name), first->name, first->name_len, false);
		return gq_find(in, GQ_CODE_EXPERTS_MIXED, name, err,
			       "%llu modules of experts are quantised and %llu are not, and no dynamic rule says so: loaders "
			       "that fuse experts will fail or read them wrong",
			       (unsigned long long)n_quantised, (unsigned long long)n_plain);
	}
	if (several && !(s->main && (s->main->dynamic || s->main->extra_config)))
		return gq_find(in, GQ_CODE_EXPERTS_MIXED, "", err,
			       "experts are quantised at several widths, and no dynamic rule says so");
	return GPTQ_OK;
}

static enum gptq_status router_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct tally routers = {0};
	bool experts = false;
	size_t at;

	for (size_t i = 0; i < in->source.layers.n; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];

		count_layer(&routers, l, is_router(l));
		experts = experts || has_part(l->name, l->name_len, "experts", &at);
	}
	if (!routers.n)
		return experts ? experts_findings(in, err) : GPTQ_OK;
	if (gq_find_layer(in, GQ_CODE_ROUTER_QUANTISED, routers.first, err,
			  "%llu router layers are quantised: loaders expect them plain, and quality suffers",
			  (unsigned long long)routers.n) != GPTQ_OK)
		return GPTQ_E_NOMEM;
	return experts ? experts_findings(in, err) : GPTQ_OK;
}

/* -------------------------------------------------------------------------------------------------------- files */

static enum gptq_status header_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_shards *shards = &in->source.shards;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < shards->n && status == GPTQ_OK; i++) {
		const struct gq_st *st = shards->items[i].st;

		if (st && st->unpadded)
			status = gq_find(in, GQ_CODE_HEADER_NOT_PADDED, shards->items[i].name, err,
					 "the header is %llu bytes long, no multiple of 8: legal, but its tensors are not aligned",
					 (unsigned long long)st->header_size);
		if (status == GPTQ_OK && st && st->n_misaligned)
			status = gq_find(in, GQ_CODE_MISALIGNED, shards->items[i].name, err,
					 "%u tensors do not begin at a multiple of their element size: legal, but some readers "
					 "copy or refuse them",
					 st->n_misaligned);
	}
	for (size_t i = 0; i < shards->n_tensors && status == GPTQ_OK; i++) {
		const struct gq_tensor *t = &shards->tensors[i];
		char masked[512];

		gq_mask(masked, sizeof(masked), t->name, t->name_len, false);
		if (strlen(masked) == t->name_len || t->name_len > 500)
			continue;
		return gq_find(in, GQ_CODE_NAME_NUL_OR_CONTROL, masked, err,
			       "a tensor name holds control or invisible characters (shown escaped): a bad writer, or an attempt "
			       "to deceive");
	}
	return status;
}

static enum gptq_status stray_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_source *s = &in->source;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < s->shards.n_stray && status == GPTQ_OK; i++) {
		const char *name = s->shards.stray[i];
		struct gq_problems problems = {0};
		struct gq_shards one;

		status = gq_shards_open_files(s->dir, &name, 1, &one, &problems, err);
		if (status != GPTQ_OK)
			break;
		if (problems.n)
			status = gq_find(in, GQ_CODE_STRAY_SAFETENSORS, name, err,
					 "a safetensors file outside the model that cannot be read: %s",
					 problems.items[0].error.message);
		else if (gq_shards_hold_qzeros(&one))
			status = gq_find(in, GQ_CODE_STRAY_SAFETENSORS, name, err,
					 "a safetensors file outside the model holds zero points too: is it left over? loaders "
					 "that take every file will read both");
		gq_shards_close(&one);
		gq_problems_free(&problems);
	}
	return status;
}

static enum gptq_status other_files(struct gq_inspection *in, struct gptq_error *err)
{
	static const char *const suffixes[] = {".bin", ".pt", ".pth", ".ckpt", ".gguf"};
	const struct gq_tree *tree = &in->source.tree;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < tree->n_entries && status == GPTQ_OK; i++) {
		const struct gq_tree_entry *e = &tree->entries[i];

		if (strcmp(e->path, GQ_JOURNAL_NAME) == 0)
			status = gq_find(in, GQ_CODE_INTERRUPTED, e->path, err,
					 "an in-place conversion was interrupted here: the folder is half converted; run "
					 "gptq-convert on it again to finish it");
		for (size_t k = 0; k < sizeof(suffixes) / sizeof(suffixes[0]) && status == GPTQ_OK; k++)
			if (!e->is_dir && in->source.layers.n && gq_has_suffix(e->path, suffixes[k]))
				status = gq_find(in, GQ_CODE_OTHER_WEIGHTS, e->path, err,
						 "weights in another file format lie beside the safetensors files; a loader may "
						 "take them instead");
	}
	return status;
}

enum gptq_status gq_inspect_tensor_findings(struct gq_inspection *in, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < in->source.problems.n && status == GPTQ_OK; i++) {
		const struct gq_problem *p = &in->source.problems.items[i];
		struct gptq_error e = p->error;
		char text[3072];

		e.file[0] = '\0';
		gptq_error_format(&e, text, sizeof(text));
		status = gq_find(in, p->code, p->error.file[0] ? p->error.file : p->error.tensor, err, "%s", text);
	}
	if (status == GPTQ_OK && in->surveyed)
		status = verdict_findings(in, err);
	if (status == GPTQ_OK && in->surveyed)
		status = style_findings(in, err);
	if (status == GPTQ_OK && in->surveyed)
		status = scale_findings(in, err);
	if (status == GPTQ_OK)
		status = group_findings(in, err);
	if (status == GPTQ_OK)
		status = router_findings(in, err);
	if (status == GPTQ_OK)
		status = header_findings(in, err);
	if (status == GPTQ_OK)
		status = stray_findings(in, err);
	if (status == GPTQ_OK)
		status = other_files(in, err);
	return status;
}
