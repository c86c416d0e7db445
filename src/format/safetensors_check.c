/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the tensors tile the data? In the order of (begin, end) the first must begin at 0, each must begin where the one
 * before it ended and be as large as its shape says, and the last must end where the file does.
 */
#include "base/checked.h"
#include "base/error.h"
#include "base/mem.h"
#include "format/safetensors_private.h"

#include <stdio.h>

typedef unsigned long long ull; /* for printf */

static bool comes_before(const struct gq_st_tensor *a, const struct gq_st_tensor *b)
{
	return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
}

/* Merges the sorted runs src[begin..middle) and src[middle..end) into dst; equals keep their order. */
static void merge(const struct gq_st_tensor *t, const uint32_t *src, uint32_t *dst, size_t begin, size_t middle,
		  size_t end)
{
	size_t left = begin, right = middle;

	for (size_t i = begin; i < end; i++) {
		if (left < middle && (right >= end || !comes_before(&t[src[right]], &t[src[left]])))
			dst[i] = src[left++];
		else
			dst[i] = src[right++];
	}
}

/* Fills by_offset. Most files are in order already; a merge sort keeps the worst case at n log n. */
static enum gptq_status sort_by_offset(struct gq_st *st, struct gptq_error *err)
{
	size_t n = st->n_tensors;
	uint32_t *order = gq_malloc_array(n, sizeof(*order)), *other;
	bool sorted = true;

	if (!order)
		return gq_fail_nomem(err);
	st->by_offset = order;
	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		if (i && comes_before(&st->tensors[i], &st->tensors[i - 1]))
			sorted = false;
	}
	if (sorted)
		return GPTQ_OK;
	other = gq_malloc_array(n, sizeof(*other));
	if (!other)
		return gq_fail_nomem(err);
	for (size_t width = 1; width < n; width *= 2) {
		uint32_t *swap = order;

		for (size_t begin = 0; begin < n; begin += 2 * width) {
			size_t middle = begin + width < n ? begin + width : n;
			size_t end = middle + width < n ? middle + width : n;

			merge(st->tensors, order, other, begin, middle, end);
		}
		order = other;
		other = swap;
	}
	st->by_offset = order;
	gq_free(other);
	return GPTQ_OK;
}

/* Names the tensor and points at its entry; the details of a fault that is set. */
static enum gptq_status blame(const struct gq_st_tensor *t, struct gptq_error *err)
{
	gq_error_tensor(err, t->name, t->name_size);
	gq_error_offset(err, GQ_ST_PREFIX + (uint64_t)t->entry_begin);
	return GPTQ_E_FORMAT;
}

/* t does not begin where `before` (NULL: nothing) ends, at `expected`, or ends before it begins. */
static enum gptq_status fail_offsets(const struct gq_st *st, const struct gq_st_tensor *t,
				     const struct gq_st_tensor *before, uint64_t expected,
				     struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	char name[160] = "";

	if (before)
		gq_mask(name, sizeof(name), before->name, before->name_size, false);
	if (t->end < t->begin)
		gq_st_fail(diagnosis, err, GQ_ST_OFFSETS, "data_offsets end before they begin");
	else if (!before && t->begin == st->data_start)
		gq_st_fail(diagnosis, err, GQ_ST_OFFSETS,
			   "data_offsets seem to be counted from the start of the file, not of the data");
	else if (t->begin > expected)
		gq_st_fail(diagnosis, err, GQ_ST_OFFSETS,
			   "a hole of %llu byte(s) before this tensor belongs to no tensor",
			   (ull)(t->begin - expected));
	else if (before && before->begin == t->begin && before->end == t->end)
		gq_st_fail(diagnosis, err, GQ_ST_OFFSETS,
			   "the same bytes belong to tensor \"%s\" too: tied tensors must be stored once", name);
	else
		gq_st_fail(diagnosis, err, GQ_ST_OFFSETS, "overlaps tensor \"%s\"", name);
	gq_error_found(err, "data_offsets [%llu, %llu]", (ull)t->begin, (ull)t->end);
	gq_error_expected(err, "a begin of %llu", (ull)expected);
	return blame(t, err);
}

/* The bytes that the shape needs, multiplied in the order and in the unit (bits) that the reference uses. */
static enum gptq_status check_size(const struct gq_st_tensor *t, struct gq_st_diagnosis *diagnosis,
				   struct gptq_error *err)
{
	uint64_t n = 1, span = t->end - t->begin;
	unsigned bits = gptq_dtype_bits(t->dtype);

	for (uint32_t i = 0; i < t->rank; i++) {
		if (!gq_mul_u64(n, t->shape[i], &n)) {
			gq_st_fail(diagnosis, err, GQ_ST_OVERFLOW,
				   "the shape has more elements than 64 bits can count");
			return blame(t, err);
		}
	}
	if (!gq_mul_u64(n, bits, &n)) {
		gq_st_fail(diagnosis, err, GQ_ST_OVERFLOW, "the shape needs more bits than 64 bits can count");
		return blame(t, err);
	}
	if (n % 8 != 0) {
		gq_st_fail(diagnosis, err, GQ_ST_BITS, "the elements do not fill whole bytes");
		gq_error_found(err, "%llu bits of %s", (ull)n, gptq_dtype_name(t->dtype));
		gq_error_expected(err, "a multiple of 8");
		return blame(t, err);
	}
	if (span != n / 8) {
		gq_st_fail(diagnosis, err, GQ_ST_SIZE, "data_offsets do not span what the shape needs");
		gq_error_found(err, "%llu bytes", (ull)span);
		gq_error_expected(err, "%llu bytes of %s", (ull)(n / 8), gptq_dtype_name(t->dtype));
		return blame(t, err);
	}
	return GPTQ_OK;
}

/* The data end at `end`, beyond the file's. */
static enum gptq_status fail_short(const struct gq_st *st, uint64_t end, struct gq_st_diagnosis *diagnosis,
				   struct gptq_error *err)
{
	const struct gq_st_tensor *first = NULL;
	uint32_t n_hit = 0;
	uint64_t whole;

	for (uint32_t i = st->n_tensors; i-- > 0;) {
		const struct gq_st_tensor *t = &st->tensors[st->by_offset[i]];

		if (t->end <= st->data_size)
			break;
		first = t;
		n_hit++;
	}
	gq_st_fail(diagnosis, err, GQ_ST_SHORT,
		   "the file is %llu byte(s) short: %lu of %lu tensors are cut or missing, "
		   "this one first",
		   (ull)(end - st->data_size), (unsigned long)n_hit, (unsigned long)st->n_tensors);
	diagnosis->nbytes = end - st->data_size;
	if (first)
		gq_error_tensor(err, first->name, first->name_size);
	gq_error_offset(err, st->data_start + st->data_size);
	gq_error_found(err, "%llu bytes of data", (ull)st->data_size);
	gq_error_expected(err, "%llu", (ull)end);
	if (gq_add_u64(st->data_start, end, &whole))
		gq_error_expected(err, "%llu, a file of %llu bytes", (ull)end, (ull)whole);
	return GPTQ_E_FORMAT;
}

static enum gptq_status check_cover(struct gq_st *st, uint64_t end, const struct gq_st_limits *limits,
				    struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	bool any_size = limits && limits->any_size;

	if (st->data_size == GQ_ST_ANY_SIZE)
		st->data_size = end;
	if (end == st->data_size)
		return GPTQ_OK;
	if (any_size) {
		diagnosis->fault = end > st->data_size ? GQ_ST_SHORT : GQ_ST_TRAILING;
		diagnosis->nbytes = end > st->data_size ? end - st->data_size : st->data_size - end;
		return GPTQ_OK;
	}
	if (end > st->data_size)
		return fail_short(st, end, diagnosis, err);
	gq_st_fail(diagnosis, err, GQ_ST_TRAILING, "%llu byte(s) follow the %s", (ull)(st->data_size - end),
		   st->n_tensors ? "end of the last tensor" : "header, which names no tensor");
	diagnosis->nbytes = st->data_size - end;
	gq_error_offset(err, st->data_start + end);
	gq_error_found(err, "%llu bytes of data", (ull)st->data_size);
	gq_error_expected(err, "%llu", (ull)end);
	return GPTQ_E_FORMAT;
}

static void note_alignment(struct gq_st *st)
{
	for (uint32_t i = 0; i < st->n_tensors; i++) {
		const struct gq_st_tensor *t = &st->tensors[i];
		unsigned nbytes = gptq_dtype_bits(t->dtype) / 8;

		/* Modulo a power of two a sum that wraps is as good as one that does not. */
		if (nbytes < 2 || t->begin == t->end || (st->data_start + t->begin) % nbytes == 0)
			continue;
		if (st->n_misaligned++ == 0)
			st->first_misaligned = i;
	}
}

enum gptq_status gq_st_check_layout(struct gq_st *st, const struct gq_st_limits *limits,
				    struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	const struct gq_st_tensor *before = NULL;
	enum gptq_status status = sort_by_offset(st, err);
	uint64_t end = 0;

	if (status)
		return status;
	for (uint32_t i = 0; i < st->n_tensors; i++) {
		const struct gq_st_tensor *t = &st->tensors[st->by_offset[i]];

		if (t->begin != end || t->end < t->begin)
			return fail_offsets(st, t, before, end, diagnosis, err);
		status = check_size(t, diagnosis, err);
		if (status)
			return status;
		before = t;
		end = t->end;
	}
	status = check_cover(st, end, limits, diagnosis, err);
	if (!status)
		note_alignment(st);
	return status;
}
