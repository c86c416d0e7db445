/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gptq_verify on a small model of all widths, of which every bit is flipped, one at a time. What must come out is told
 * by the specification of a weight, one at a time, on the bytes in memory.
 */
#define _XOPEN_SOURCE 700

#include "base/mem.h"
#include "bits.h"
#include "gptq/gptq.h"
#include "kernels/kernel.h"
#include "scratch.h"

#include <inttypes.h>

enum { K = 20, N = 12, GROUP = 8, G = 3, MAX_LAYERS = 4, PARTS = 4, N_PLAIN = 8 };

enum part { QWEIGHT, QZEROS, SCALES, G_IDX };
static const char *const part_names[PARTS] = {"qweight", "qzeros", "scales", "g_idx"};

/* All tensors of a layer, as they lie in the file. */
struct layer {
	unsigned bits;
	unsigned char bytes[PARTS][1024];
	size_t size[PARTS], at[PARTS]; /* at: offset in the file */
};

struct model {
	struct layer layers[MAX_LAYERS];
	unsigned n;
	unsigned char plain[N_PLAIN];
	size_t plain_at;
	char header[4096];
};

/* Codes lie in columns of words: word row r, column n. */
static size_t code_bit(unsigned bits, size_t k, size_t n, unsigned i)
{
	size_t bit = k * bits + i;

	return (bit / 32 * N + n) * 32 + bit % 32;
}

static void fill_layer(struct layer *l, unsigned bits, enum gptq_zeros_format format)
{
	unsigned top = (1U << bits) - 1;
	size_t zero_row = (N * bits + 31) / 32 * 4;

	*l = (struct layer){.bits = bits,
			    .size = {(K * bits + 31) / 32 * 4 * N, G * zero_row, (size_t)G * N * 2, (size_t)K * 4}};
	for (size_t k = 0; k < K; k++) {
		set_bits(l->bytes[G_IDX], k * 32, 32, (unsigned)(k / GROUP));
		for (size_t n = 0; n < N; n++) {
			unsigned q = below(top + 1);

			for (unsigned i = 0; i < bits; i++)
				set_bits(l->bytes[QWEIGHT], code_bit(bits, k, n, i), 1, q >> i & 1);
		}
	}
	for (size_t g = 0; g < 2; g++) {
		for (size_t n = 0; n < N; n++) {
			unsigned z = 1 + below(top), lane = format == GPTQ_ZEROS_V1 ? z - 1 : z;

			set_bits(l->bytes[QZEROS], g * zero_row * 8 + n * bits, bits, lane);
			set_bits(l->bytes[SCALES], (g * N + n) * 16, 16, 0x1c00 + below(0x1000));
		}
	}
	set_bits(l->bytes[SCALES], 5 * 16, 16, 0x7e01); /* not a number */
	/* The first and the last group are equal. */
	memcpy(l->bytes[QZEROS] + 2 * zero_row, l->bytes[QZEROS], zero_row);
	memcpy(l->bytes[SCALES] + (size_t)2 * N * 2, l->bytes[SCALES], (size_t)N * 2);
}

static size_t add_entry(struct model *m, const char *name, const char *dtype, size_t rows, size_t columns, size_t *at,
			size_t size)
{
	size_t used = strlen(m->header), begin = *at;

	*at += size;
	used += (size_t)snprintf(m->header + used, sizeof(m->header) - used,
				 "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu", used > 1 ? "," : "", name, dtype, rows);
	if (columns)
		used += (size_t)snprintf(m->header + used, sizeof(m->header) - used, ",%zu", columns);
	snprintf(m->header + used, sizeof(m->header) - used, "],\"data_offsets\":[%zu,%zu]}", begin, *at);
	return begin;
}

static void make_model(struct model *m, enum gptq_zeros_format format, bool three)
{
	size_t at = 0;

	memset(m, 0, sizeof(*m));
	state = 7;
	strcpy(m->header, "{");
	for (unsigned bits = 2; bits <= 8; bits++) {
		struct layer *l = &m->layers[m->n];
		char name[64];

		if ((bits > 4 && bits < 8) || (bits == 3 && !three))
			continue;
		m->n++;
		fill_layer(l, bits, format);
		for (unsigned p = 0; p < PARTS; p++) {
			static const char *const dtypes[PARTS] = {"I32", "I32", "F16", "I32"};
			size_t columns = p == QZEROS ? l->size[p] / G / 4 : p == G_IDX ? 0 : N;
			size_t rows = p == QWEIGHT ? l->size[p] / N / 4 : p == G_IDX ? K : G;

			snprintf(name, sizeof(name), "l%u.%s", l->bits, part_names[p]);
			l->at[p] = add_entry(m, name, dtypes[p], rows, columns, &at, l->size[p]);
		}
	}
	m->plain_at = add_entry(m, "norm.weight", "F16", N_PLAIN / 2, 0, &at, N_PLAIN);
	strcat(m->header, "}");
	while (strlen(m->header) % 8)
		strcat(m->header, " ");
	for (unsigned w = 0; w < m->n; w++)
		for (unsigned p = 0; p < PARTS; p++)
			m->layers[w].at[p] += 8 + strlen(m->header);
	m->plain_at += 8 + strlen(m->header);
}

static void write_model(const struct model *m, const char *folder, const char *label)
{
	char path[256], config[256];
	uint64_t n = strlen(m->header);
	FILE *f;

	mkdir(folder, 0777);
	snprintf(path, sizeof(path), "%s/model.safetensors", folder);
	f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	fwrite(&n, 8, 1, f); /* little-endian machines only, as the rest of the tests */
	fwrite(m->header, 1, n, f);
	for (unsigned w = 0; w < m->n; w++)
		for (unsigned p = 0; p < PARTS; p++)
			fwrite(m->layers[w].bytes[p], 1, m->layers[w].size[p], f);
	fwrite(m->plain, 1, N_PLAIN, f);
	ck_assert_int_eq(fclose(f), 0);
	snprintf(config, sizeof(config),
		 "{\"bits\": 4, \"group_size\": %d, \"quant_method\": \"gptq\", \"checkpoint_format\": \"%s\"}\n",
		 GROUP, label);
	snprintf(path, sizeof(path), "%s/quantize_config.json", folder);
	write_text(path, config);
}

/* ------------------------------------------------------------------------------------------- what must come out */

/* All weights, one at a time; false: some group is out of range. */
static bool weights_of(const struct layer *l, enum gptq_zeros_format format, uint32_t out[K][N])
{
	struct gq_pack pack = {l->bits, 32};
	struct gq_word_rows rows = {l->bytes[QWEIGHT], (size_t)N * 4};

	for (size_t k = 0; k < K; k++) {
		int32_t g;

		memcpy(&g, l->bytes[G_IDX] + k * 4, 4);
		g = g < 0 && g >= -G ? g + G : g;
		if (g < 0 || g >= G)
			return false;
		for (size_t n = 0; n < N; n++) {
			unsigned z = gq_layout_stream.get_lane(l->bytes[QZEROS] + (size_t)g * (l->size[QZEROS] / G),
							       pack, n);

			if (format == GPTQ_ZEROS_V1)
				z = (z + 1) & ((1U << l->bits) - 1);
			out[k][n] = gq_weight(GPTQ_DTYPE_F16, l->bytes[SCALES] + ((size_t)g * N + n) * 2,
					      gq_layout_stream.get_code(rows, pack, k, n), z);
		}
	}
	return true;
}

struct truth {
	bool in_range;
	uint64_t n_differ, first_k, first_n;
};

static struct truth truth_of(const struct layer *old, const struct layer *new, enum gptq_zeros_format format)
{
	static uint32_t a[K][N], b[K][N];
	struct truth t = {.in_range = weights_of(new, format, b)};

	weights_of(old, format, a);
	for (size_t k = 0; k < K && t.in_range; k++)
		for (size_t n = 0; n < N; n++)
			if (a[k][n] != b[k][n] && t.n_differ++ == 0) {
				t.first_k = k;
				t.first_n = n;
			}
	return t;
}

/* ------------------------------------------------------------------------------------------------- flipping bits */

static int file_of_b;
static enum gptq_v1_style given_style;
static const char *const a_and_b[2] = {"A", "B"};

static void put_byte(size_t at, unsigned char byte)
{
	ck_assert_int_eq(pwrite(file_of_b, &byte, 1, (off_t)at), 1);
}

static enum gptq_status verify(enum gptq_method method, struct gptq_verify_report **r, struct gptq_error *err)
{
	struct gptq_verify_options o = {
		.struct_size = sizeof(o), .method = method, .device = GPTQ_DEVICE_CPU, .jobs = 1};

	o.v1_style[0] = o.v1_style[1] = given_style;
	return gptq_verify(a_and_b[0], a_and_b[1], &o, r, err);
}

/* Only the layer `name` differs, and just as the specification says. */
static void check_named(const struct gptq_verify_report *r, const char *name, const struct truth *t)
{
	ck_assert(!r->same);
	ck_assert_uint_eq(r->n_tensors, 0);
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct gptq_verify_layer *l = &r->layers[i];

		if (strcmp(l->name, name) != 0) {
			ck_assert_int_eq(l->outcome, GPTQ_SAME);
			continue;
		}
		ck_assert_int_eq(l->outcome, GPTQ_DIFFERENT);
		ck_assert_uint_eq(l->n_differ, t->n_differ);
		ck_assert_uint_eq(l->first_k, t->first_k);
		ck_assert_uint_eq(l->first_n, t->first_n);
		ck_assert_uint_ne(l->first[0].bits, l->first[1].bits);
	}
}

/* Bits that carry no weight are counted; open: what left a style or format open. */
struct count {
	uint64_t n, silent, open;
};

static void flip_one(const struct model *m, unsigned w, unsigned p, size_t bit, enum gptq_zeros_format format,
		     struct count *count)
{
	const struct layer *old = &m->layers[w];
	struct layer new = *old;
	struct gptq_verify_report *r;
	struct gptq_error err;
	enum gptq_method method;
	enum gptq_status status;
	struct truth t;
	char name[16];

	snprintf(name, sizeof(name), "l%u", old->bits);
	new.bytes[p][bit / 8] ^= (unsigned char)(1U << bit % 8);
	put_byte(old->at[p] + bit / 8, new.bytes[p][bit / 8]);
	t = truth_of(old, &new, format);
	/* Each method has its turn; table does not apply to other groups. */
	method = (enum gptq_method)(bit % (p == G_IDX ? 1 : 3));
	status = verify(method, &r, &err);
	count->n++;
	if (!t.in_range) {
		ck_assert_int_eq(status, GPTQ_E_FORMAT);
		ck_assert_ptr_nonnull(strstr(err.tensor, name));
	} else if (status != GPTQ_OK) {
		/* In v1 a lane of all ones may be a zero point of 0 in one style or another. */
		ck_assert_msg(format == GPTQ_ZEROS_V1 && p == QZEROS && !given_style && status == GPTQ_E_REFUSED,
			      "%s.%s bit %zu: %s", name, part_names[p], bit, err.message);
		count->open++;
	} else if (t.n_differ) {
		check_named(r, name, &t);
	} else {
		ck_assert(r->same);
		count->silent++;
	}
	gptq_verify_report_free(r);
	put_byte(old->at[p] + bit / 8, old->bytes[p][bit / 8]);
}

/* step: every step-th bit. The counts are the list of bits that carry no weight. */
static void flip_layers(const struct model *m, enum gptq_zeros_format format, size_t step)
{
	for (unsigned w = 0; w < m->n; w++) {
		for (unsigned p = 0; p < PARTS; p++) {
			struct count count = {0};

			for (size_t bit = 0; bit < m->layers[w].size[p] * 8;
			     bit += p == QZEROS && unit_rounds(2) == 2 ? 1 : step)
				flip_one(m, w, p, bit, format, &count);
			printf("%s, %u bits, %s: %" PRIu64 " bits flipped, %" PRIu64 " carry no weight, %" PRIu64
			       " leave the style open\n",
			       gptq_zeros_format_name(format), m->layers[w].bits, part_names[p], count.n, count.silent,
			       count.open);
		}
	}
}

static void begin(struct model *m, enum gptq_zeros_format format, bool three)
{
	const char *label = format == GPTQ_ZEROS_V1 ? "gptq" : "gptq_v2";
	struct gptq_verify_report *r;
	struct gptq_error err;

	make_model(m, format, three);
	write_model(m, "A", label);
	write_model(m, "B", label);
	file_of_b = open("B/model.safetensors", O_RDWR);
	ck_assert_int_ge(file_of_b, 0);
	ck_assert_msg(verify(GPTQ_METHOD_AUTO, &r, &err) == GPTQ_OK, "%s", err.message);
	ck_assert(r->same);
	ck_assert_uint_eq(r->n_layers_same, m->n);
	ck_assert_uint_eq(r->n_by_table, m->n);
	ck_assert_uint_eq(r->n_tensors_same, 1);
	ck_assert_uint_eq(r->n_weights, (uint64_t)m->n * K * N);
	ck_assert_uint_eq(r->layers[0].n_scales_nan[0], 2);
	gptq_verify_report_free(r);
}

START_TEST(every_bit_of_v2)
{
	static struct model m;

	begin(&m, GPTQ_ZEROS_V2, true);
	flip_layers(&m, GPTQ_ZEROS_V2, 100 / unit_rounds(100));
	close(file_of_b);
}
END_TEST

/* Zero points are all that is stored otherwise; of the rest a sample. */
START_TEST(bits_of_v1)
{
	static struct model m;

	given_style = GPTQ_STYLE_LANE;
	begin(&m, GPTQ_ZEROS_V1, true);
	flip_layers(&m, GPTQ_ZEROS_V1, 11 * (100 / unit_rounds(100)));
	close(file_of_b);
}
END_TEST

/* Where neither tensors nor config tell the style, a lane that becomes all ones may leave it open. */
START_TEST(bits_of_v1_in_no_known_style)
{
	static struct model m;

	given_style = GPTQ_STYLE_NONE;
	begin(&m, GPTQ_ZEROS_V1, false);
	flip_layers(&m, GPTQ_ZEROS_V1, 101 * (100 / unit_rounds(100)));
	close(file_of_b);
}
END_TEST

START_TEST(every_bit_of_a_plain_tensor)
{
	static struct model m;

	begin(&m, GPTQ_ZEROS_V2, true);
	for (size_t bit = 0; bit < (size_t)N_PLAIN * 8; bit++) {
		struct gptq_verify_report *r;

		put_byte(m.plain_at + bit / 8, (unsigned char)(1U << bit % 8));
		ck_assert_int_eq(verify(GPTQ_METHOD_AUTO, &r, NULL), GPTQ_OK);
		put_byte(m.plain_at + bit / 8, 0);
		ck_assert(!r->same);
		ck_assert_uint_eq(r->n_layers_same, m.n);
		ck_assert_uint_eq(r->n_tensors, 1);
		ck_assert_str_eq(r->tensors[0].name, "norm.weight");
		ck_assert_uint_eq(r->tensors[0].n_differ, 1);
		ck_assert_uint_eq(r->tensors[0].first, bit / 8);
		gptq_verify_report_free(r);
	}
	close(file_of_b);
}
END_TEST

/* --------------------------------------------------------------------------------------------------- the rest */

START_TEST(bad_options)
{
	struct gptq_verify_options o, good = {.struct_size = sizeof(o)};
	struct gptq_verify_report *r;
	struct gptq_error err;

#define BAD(member, value)                                                                                             \
	do {                                                                                                           \
		o = good;                                                                                              \
		o.member = value;                                                                                      \
		r = (void *)&o;                                                                                        \
		ck_assert_int_eq(gptq_verify("A", "B", &o, &r, &err), GPTQ_E_ARG);                                     \
		ck_assert_ptr_null(r);                                                                                 \
	} while (0)
	BAD(struct_size, 0);
	BAD(v1_style[0], GPTQ_STYLE_SMEARED);
	BAD(v1_style[1], GPTQ_STYLE_CLEAN);
	good.from[1] = GPTQ_ZEROS_V1;
	BAD(by_layer[1], true);
	o = (struct gptq_verify_options){.struct_size = sizeof(o)};
	ck_assert_int_eq(gptq_verify("none", "none", &o, &r, &err), GPTQ_E_NOTFOUND);
	ck_assert_str_eq(err.file, "none");
	gptq_verify_report_free(NULL);
	ck_assert_str_eq(gptq_method_name(GPTQ_METHOD_AUTO), "auto");
	ck_assert_str_eq(gptq_outcome_name(GPTQ_ONLY_IN_B), "only-in-b");
}
END_TEST

/* The same outcome in any number of threads; an error names the first of two broken layers. */
START_TEST(threads)
{
	static struct model m;

	begin(&m, GPTQ_ZEROS_V2, true);
	for (unsigned w = 0; w < m.n; w++)
		put_byte(m.layers[w].at[QWEIGHT] + w, (unsigned char)(m.layers[w].bytes[QWEIGHT][w] ^ 1));
	for (unsigned jobs = 1; jobs <= 8; jobs++) {
		struct gptq_verify_options o = {.struct_size = sizeof(o), .jobs = jobs, .device = GPTQ_DEVICE_CPU};
		struct gptq_verify_report *r;

		ck_assert_int_eq(gptq_verify("A", "B", &o, &r, NULL), GPTQ_OK);
		ck_assert_uint_eq(r->n_layers_same, 0);
		for (unsigned w = 0; w < m.n; w++) {
			ck_assert_uint_eq(r->layers[w].n_differ, 1);
			ck_assert_uint_eq(r->layers[w].bits[0], m.layers[w].bits);
			ck_assert_uint_eq(r->layers[w].first_k, 8 * w / m.layers[w].bits);
			ck_assert_uint_eq(r->layers[w].first_n, 0);
		}
		gptq_verify_report_free(r);
	}
	close(file_of_b);
}
END_TEST

static bool always(void *ctx)
{
	(*(int *)ctx)++;
	return true;
}

START_TEST(cancelled)
{
	static struct model m;
	int asked = 0;
	struct gptq_hooks hooks = {.ctx = &asked, .cancelled = always};
	struct gptq_verify_options o = {.struct_size = sizeof(o), .hooks = &hooks, .device = GPTQ_DEVICE_CPU};
	struct gptq_verify_report *r;

	begin(&m, GPTQ_ZEROS_V2, true);
	ck_assert_int_eq(gptq_verify("A", "B", &o, &r, NULL), GPTQ_E_CANCELLED);
	ck_assert_int_gt(asked, 0);
	close(file_of_b);
}
END_TEST

/* Some allocations are only to save memory and may fail: the sweep ends when none has failed for a while. */
START_TEST(no_memory)
{
	static struct model m;
	unsigned n_good = 0;
	long n = 0;

	begin(&m, GPTQ_ZEROS_V2, true);
	while (n_good < 20) {
		struct gptq_verify_report *r;
		struct gptq_error err;
		enum gptq_status status;

		gq_mem_fail_after(n++);
		status = verify(GPTQ_METHOD_AUTO, &r, &err);
		gq_mem_fail_after(-1);
		if (status == GPTQ_OK) {
			ck_assert(r->same);
			gptq_verify_report_free(r);
			n_good++;
			continue;
		}
		n_good = 0;
		ck_assert_int_eq(status, GPTQ_E_NOMEM);
		ck_assert_ptr_null(r);
	}
	ck_assert_int_gt(n, 50);
	close(file_of_b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verify");
	TCase *flips = tcase_create("flips"), *rest = tcase_create("rest");

	tcase_set_timeout(flips, 0);
	tcase_add_checked_fixture(flips, scratch_enter, scratch_leave);
	tcase_add_test(flips, every_bit_of_v2);
	tcase_add_test(flips, bits_of_v1);
	tcase_add_test(flips, bits_of_v1_in_no_known_style);
	tcase_add_test(flips, every_bit_of_a_plain_tensor);
	suite_add_tcase(suite, flips);
	tcase_set_timeout(rest, 120);
	tcase_add_checked_fixture(rest, scratch_enter, scratch_leave);
	tcase_add_test(rest, bad_options);
	tcase_add_test(rest, threads);
	tcase_add_test(rest, cancelled);
	tcase_add_test(rest, no_memory);
	suite_add_tcase(suite, rest);
	return unit_main(suite);
}
