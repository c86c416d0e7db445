/* SPDX-License-Identifier: Apache-2.0 */
#include "quant/foreign.h"

#include "base/buf.h"
#include "format/dtype.h"

#include <string.h>

/* Is `name` "....suffix"? */
static bool ends_in(const struct gq_tensor *t, const char *suffix)
{
	size_t m = strlen(suffix);

	return t->name_len > m && memcmp(t->name + t->name_len - m, suffix, m) == 0 &&
	       t->name[t->name_len - m - 1] == '.';
}

/* The tensor of the same module with another suffix. */
static const struct gq_tensor *beside(const struct gq_shards *shards, const struct gq_tensor *t, const char *suffix,
				      const char *other)
{
	struct gq_buf name = {0};
	const struct gq_tensor *found = NULL;

	gq_buf_add(&name, t->name, t->name_len - strlen(suffix));
	gq_buf_puts(&name, other);
	if (!name.failed)
		found = gq_shards_find(shards, name.data, name.size);
	gq_buf_free(&name);
	return found;
}

/*
 * AWQ and BitBLAS name their tensors as GPTQ does and differ in shape:
 *   GPTQ     qweight [K b/32, N]   qzeros [G, N b/32]  scales [G, N]
 *   AWQ      qweight [K, N/8]      qzeros [G, N/8]     scales [G, N]     packed along N
 *   BitBLAS  qweight I8            qzeros [G, ...]     scales [N, G]
 */
static const char *by_qweight(const struct gq_shards *shards, const struct gq_tensor *t)
{
	const struct gq_tensor *zeros = beside(shards, t, "qweight", "qzeros"),
			       *scales = beside(shards, t, "qweight", "scales");

	if (!scales || t->rank != 2 || scales->rank != 2)
		return NULL;
	if (t->dtype == GPTQ_DTYPE_I8 && scales->shape[0] == t->shape[0] && scales->shape[1] != t->shape[1])
		return "bitblas";
	if (!zeros || zeros->rank != 2 || beside(shards, t, "qweight", "g_idx"))
		return NULL;
	if (t->dtype == GPTQ_DTYPE_I32 && t->shape[1] == zeros->shape[1] && t->shape[1] <= UINT64_MAX / 8 &&
	    scales->shape[1] == t->shape[1] * 8 && scales->shape[0] == zeros->shape[0])
		return "awq";
	if (t->dtype == GPTQ_DTYPE_I16 && gq_dtype_kind(zeros->dtype) == GQ_KIND_FLOAT)
		return "awq"; /* gemv_fast: float zeros */
	if (t->dtype == GPTQ_DTYPE_I32 && t->shape[0] == zeros->shape[0] && scales->shape[0] == t->shape[0] &&
	    scales->shape[1] != t->shape[1])
		return "awq"; /* gemv: rows are columns */
	return NULL;
}

static const char *by_name(const struct gq_shards *shards, const struct gq_tensor *t)
{
	static const struct {
		const char *suffix, *with, *word; /* `with`: a second tensor of the module, or NULL */
	} marks[] = {
		{"B", "s_channel", "qqq"},
		{"B", "s", "marlin"},
		{"q_weight", "q_groups", "exl2"},
		{"trellis", NULL, "exl3"},
		{"weight_packed", NULL, "compressed-tensors"},
		{"weight_zero_point", NULL, "compressed-tensors"},
		{"weight_scale_inv", NULL, "fp8"},
		{"SCB", NULL, "bitsandbytes"},
		{"weight_scb", NULL, "bitsandbytes"},
		{"weight_quant_state", NULL, "bitsandbytes"},
		{"absmax", NULL, "bitsandbytes"},
		{"quant_map", NULL, "bitsandbytes"},
		{"W_q", NULL, "hqq"},
		{"codebooks", "codes", "aqlm"},
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (ends_in(t, marks[i].suffix) &&
		    (!marks[i].with || beside(shards, t, marks[i].suffix, marks[i].with)))
			return marks[i].word;
	if (ends_in(t, "qweight"))
		return by_qweight(shards, t);
	if (ends_in(t, "weight") && (t->dtype == GPTQ_DTYPE_F8_E4M3 || t->dtype == GPTQ_DTYPE_F8_E5M2))
		return "fp8";
	return NULL;
}

const char *gq_foreign_by_tensors(const struct gq_shards *shards, uint64_t *count)
{
	const char *first = NULL;

	*count = 0;
	for (size_t i = 0; i < shards->n_tensors; i++) {
		const char *word = by_name(shards, &shards->tensors[i]);

		if (!word)
			continue;
		if (!first)
			first = word;
		*count += strcmp(first, word) == 0;
	}
	return first;
}
