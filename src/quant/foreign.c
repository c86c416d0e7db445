/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/foreign.h"

#include "base/checked.h"
#include "format/dtype.h"

#include <string.h>

#define MAX_Q_GROUPS 65536 /* bytes; real ones have a few hundred */

struct module {
	const struct gq_shards *shards;
	const struct gq_tensor *mark; /* the tensor that shows the format */
	size_t stem;                  /* length of its name up to the suffix, the dot included */
};

/* What the shapes of a module tell; 0: not known. */
struct measure {
	uint64_t k, n, groups;
	double bits;
};

/* Does the name end in ".suffix"? Then *stem is what stands before the suffix. */
static bool ends_in(const struct gq_tensor *t, const char *suffix, size_t *stem)
{
	size_t m = strlen(suffix);

	*stem = t->name_len - m;
	return t->name_len > m && memcmp(t->name + t->name_len - m, suffix, m) == 0 &&
	       t->name[t->name_len - m - 1] == '.';
}

/*
 * The tensor of the same module with another suffix, NULL if there is none. Names longer than any module path have no
 * parts here: nothing is allocated, so nothing can be overlooked for want of memory.
 */
static const struct gq_tensor *part(const struct module *m, const char *suffix)
{
	char name[2048];
	size_t n = strlen(suffix);

	if (m->stem > sizeof(name) - n)
		return NULL;
	memcpy(name, m->mark->name, m->stem);
	memcpy(name + m->stem, suffix, n);
	return gq_shards_find(m->shards, name, m->stem + n);
}

static uint64_t dim(const struct gq_tensor *t, uint32_t i)
{
	return t && i < t->rank ? t->shape[i] : 0;
}

/* 0 where the product would overflow: then nothing is known. */
static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return gq_mul_u64(a, b, &product) ? product : 0;
}

/* ------------------------------------------------------------------------------- shapes, format by format */

/* B [K/16, 2N], scales [G, N]: permuted, 4 bits. */
static void measure_marlin(const struct module *m, struct measure *x)
{
	const struct gq_tensor *groups = part(m, "s");

	if (!groups)
		groups = part(m, "s_group");
	*x = (struct measure){times(dim(m->mark, 0), 16), dim(m->mark, 1) / 2, 1, 4};
	if (groups && groups->rank == 2 && groups->shape[0])
		x->groups = groups->shape[0];
}

/* q_weight [words, N], q_invperm [K], q_groups [2G]: groups of several widths. */
static void measure_exl2(const struct module *m, struct measure *x)
{
	uint64_t k = dim(part(m, "q_invperm"), 0);

	*x = (struct measure){k, dim(m->mark, 1), dim(part(m, "q_groups"), 0) / 2, 0};
	if (k)
		x->bits = 32.0 * (double)dim(m->mark, 0) / (double)k;
}

/* trellis [K/16, N/16, 16 b] of I16. */
static void measure_exl3(const struct module *m, struct measure *x)
{
	*x = (struct measure){times(dim(m->mark, 0), 16), times(dim(m->mark, 1), 16), 0, (double)dim(m->mark, 2) / 16};
}

/* qweight [K, N/8], scales [G, N]. */
static void measure_gemm(const struct module *m, struct measure *x)
{
	*x = (struct measure){dim(m->mark, 0), times(dim(m->mark, 1), 8), dim(part(m, "scales"), 0), 4};
}

/* qweight [N, K/8], scales [N, padded G]. */
static void measure_gemv(const struct module *m, struct measure *x)
{
	*x = (struct measure){times(dim(m->mark, 1), 8), dim(m->mark, 0), 0, 4};
}

/* qweight I16 [N/4, K]: each word holds four columns. */
static void measure_gemv_fast(const struct module *m, struct measure *x)
{
	*x = (struct measure){dim(m->mark, 1), times(dim(m->mark, 0), 4), 0, 4};
}

/* weight U8 [K N / 2, 1]. */
static void measure_bnb4(const struct module *m, struct measure *x)
{
	struct gq_tensor weight = *m->mark;
	const struct gq_tensor *w;

	weight.name_len = m->stem - 1; /* "a.weight.absmax": the weight is the stem itself */
	w = gq_shards_find(m->shards, weight.name, weight.name_len);
	*x = (struct measure){w && w->dtype == GPTQ_DTYPE_U8 ? times(w->nbytes, 2) : 0, 1, 0, 4};
}

/* weight I8 [N, K] with SCB [N]. */
static void measure_bnb8(const struct module *m, struct measure *x)
{
	const struct gq_tensor *w = part(m, "weight");

	*x = (struct measure){dim(w, 1), dim(w, 0), 0, 8};
}

static void measure_fp8(const struct module *m, struct measure *x)
{
	*x = (struct measure){dim(m->mark, 1), dim(m->mark, 0), 0, 8};
}

/* -------------------------------------------------------------------------------------------------- marks */

static bool is_fp8(const struct module *m)
{
	return m->mark->dtype == GPTQ_DTYPE_F8_E4M3 || m->mark->dtype == GPTQ_DTYPE_F8_E5M2;
}

/*
 * AWQ and BitBLAS name their tensors as GPTQ does and differ in shape:
 *   GPTQ       qweight [K b/32, N]    qzeros [G, N b/32]  scales [G, N]
 *   gemm       qweight [K, N/8]       qzeros [G, N/8]     scales [G, N]      packed along N
 *   gemv       qweight [N, K/8]       qzeros [N, z]       scales [N, 8 z]    z: groups, padded
 *   gemv_fast  qweight I16 [N/4, K]   float zero points
 *   BitBLAS    qweight I8             qzeros [G, ...]     scales [N, G]
 */
static bool is_gemm(const struct module *m)
{
	const struct gq_tensor *zeros = part(m, "qzeros"), *scales = part(m, "scales"), *t = m->mark;

	return t->dtype == GPTQ_DTYPE_I32 && t->rank == 2 && zeros && zeros->rank == 2 && scales && scales->rank == 2 &&
	       !part(m, "g_idx") && t->shape[1] == zeros->shape[1] && scales->shape[0] == zeros->shape[0] &&
	       scales->shape[1] == times(t->shape[1], 8);
}

static bool is_gemv(const struct module *m)
{
	const struct gq_tensor *zeros = part(m, "qzeros"), *scales = part(m, "scales"), *t = m->mark;

	return t->dtype == GPTQ_DTYPE_I32 && t->rank == 2 && zeros && zeros->rank == 2 && scales && scales->rank == 2 &&
	       !part(m, "g_idx") && t->shape[0] == zeros->shape[0] && scales->shape[0] == t->shape[0] &&
	       scales->shape[1] == times(zeros->shape[1], 8);
}

static bool is_gemv_fast(const struct module *m)
{
	const struct gq_tensor *zeros = part(m, "qzeros");

	if (!zeros)
		zeros = part(m, "scaled_zeros");
	return m->mark->dtype == GPTQ_DTYPE_I16 && m->mark->rank == 2 && zeros &&
	       gq_dtype_kind(zeros->dtype) == GQ_KIND_FLOAT;
}

static bool is_bitblas(const struct module *m)
{
	const struct gq_tensor *scales = part(m, "scales"), *t = m->mark;

	return t->dtype == GPTQ_DTYPE_I8 && t->rank == 2 && scales && scales->rank == 2 &&
	       scales->shape[0] == t->shape[0] && scales->shape[1] != t->shape[1];
}

#define MAX_PARTS 6

static const struct mark {
	const char *suffix;
	const char *with; /* a second tensor that the module must have, or NULL */
	bool (*test)(const struct module *m);
	const char *word, *layout;
	void (*measure)(const struct module *m, struct measure *x);
	const char *parts[MAX_PARTS]; /* what else a module consists of */
} marks[] = {
	{"B", "s_channel", NULL, "qqq", NULL, measure_marlin, {"s_channel", "s_group"}},
	{"B", "s", NULL, "marlin", NULL, measure_marlin, {"s"}},
	{"q_weight",
	 "q_groups",
	 NULL,
	 "exl2",
	 NULL,
	 measure_exl2,
	 {"q_groups", "q_scale", "q_scale_max", "q_invperm", "q_perm", "q_group_map"}},
	{"trellis", NULL, NULL, "exl3", NULL, measure_exl3, {"suh", "svh", "su", "sv", "mcg", "mul1"}},
	{"weight_packed", NULL, NULL, "compressed-tensors", NULL, NULL, {NULL}},
	{"weight_zero_point", NULL, NULL, "compressed-tensors", NULL, NULL, {NULL}},
	{"qweight", NULL, is_gemm, "awq", "gemm", measure_gemm, {"qzeros", "scales"}},
	{"qweight", NULL, is_gemv, "awq", "gemv", measure_gemv, {"qzeros", "scales"}},
	{"qweight", NULL, is_gemv_fast, "awq", "gemv_fast", measure_gemv_fast, {"qzeros", "scaled_zeros", "scales"}},
	{"qweight", NULL, is_bitblas, "bitblas", NULL, NULL, {NULL}},
	{"absmax",
	 NULL,
	 NULL,
	 "bitsandbytes",
	 "4 bits",
	 measure_bnb4,
	 {"quant_map", "nested_absmax", "nested_quant_map"}},
	{"SCB", NULL, NULL, "bitsandbytes", "8 bits", measure_bnb8, {"weight"}},
	{"weight_scb", NULL, NULL, "bitsandbytes", "8 bits", measure_bnb8, {"weight"}},
	{"weight", NULL, is_fp8, "fp8", NULL, measure_fp8, {"weight_scale_inv", "weight_scale"}},
	{"W_q", NULL, NULL, "hqq", NULL, NULL, {NULL}},
	{"codes", "codebooks", NULL, "aqlm", NULL, NULL, {NULL}},
};

static const struct mark *mark_of(struct module *m)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (ends_in(m->mark, marks[i].suffix, &m->stem) && (!marks[i].with || part(m, marks[i].with)) &&
		    (!marks[i].test || marks[i].test(m)))
			return &marks[i];
	return NULL;
}

/* -------------------------------------------------------------------------------------------------- adding up */

static int64_t group_size_of(const struct measure *x)
{
	if (x->groups == 0 || x->k == 0)
		return 0;
	if (x->groups == 1)
		return -1;
	return x->k % x->groups == 0 && x->k / x->groups <= INT64_MAX ? (int64_t)(x->k / x->groups) : 0;
}

static uint64_t bits_of_parts(const struct module *m, const struct mark *mark)
{
	uint64_t nbytes = m->mark->nbytes;

	for (size_t i = 0; i < MAX_PARTS && mark->parts[i]; i++) {
		const struct gq_tensor *t = part(m, mark->parts[i]);

		nbytes += t ? t->nbytes : 0; /* inside a file's size; a stream's lies harm nobody */
	}
	if (mark->measure == measure_bnb4) {
		const struct gq_tensor *w = gq_shards_find(m->shards, m->mark->name, m->stem - 1);

		nbytes += w ? w->nbytes : 0;
	}
	return nbytes * 8;
}

static void add_module(const struct module *m, const struct mark *mark, struct gq_foreign *f)
{
	struct measure x = {0};
	int64_t group_size;

	f->n_modules++;
	if (mark->measure)
		mark->measure(m, &x);
	if (!times(x.k, x.n) || !gq_add_u64(f->n_weights, x.k * x.n, &f->n_weights))
		return;
	group_size = group_size_of(&x);
	f->group_size = f->n_measured == 0 || f->group_size == group_size ? group_size : 0;
	f->bits_min = f->n_measured == 0 || x.bits < f->bits_min ? x.bits : f->bits_min;
	f->bits_max = x.bits > f->bits_max ? x.bits : f->bits_max;
	f->n_bits += bits_of_parts(m, mark);
	f->n_measured++;
}

void gq_foreign_find(const struct gq_shards *shards, struct gq_foreign *found)
{
	const struct mark *first = NULL;

	*found = (struct gq_foreign){0};
	for (size_t i = 0; i < shards->n_tensors; i++) {
		struct module m = {.shards = shards, .mark = &shards->tensors[i]};
		const struct mark *mark = mark_of(&m);

		if (!first && mark) {
			first = mark;
			found->word = mark->word;
			found->layout = mark->layout;
		}
		if (mark && mark == first)
			add_module(&m, mark, found);
	}
}

enum gptq_status gq_foreign_read(struct gq_shards *shards, struct gq_foreign *found, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	unsigned char groups[MAX_Q_GROUPS];
	size_t stem;

	if (!found->word || strcmp(found->word, "exl2") != 0)
		return GPTQ_OK;
	for (size_t i = 0; i < shards->n_tensors && status == GPTQ_OK; i++) {
		const struct gq_tensor *t = &shards->tensors[i];
		size_t n = t->nbytes < sizeof(groups) ? (size_t)t->nbytes : sizeof(groups);

		if (t->dtype != GPTQ_DTYPE_I16 || !ends_in(t, "q_groups", &stem))
			continue;
		status = gq_tensor_read_at(shards, t, 0, groups, n, err);
		/* Pairs: bits, first word row. */
		for (size_t at = 0; at + 4 <= n && status == GPTQ_OK; at += 4) {
			uint64_t bits = gq_load_le(groups + at, 2);

			found->widths |= bits >= 1 && bits <= 8 ? 1u << bits : 0;
		}
	}
	return status;
}
