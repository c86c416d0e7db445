/* SPDX-License-Identifier: Apache-2.0 */
/* The counting loops against sums made one value at a time. */
#include "unit.h"

#include "base/mem.h"
#include "kernels/dispatch.h"
#include "quant/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct layer {
	struct gq_pack pack;
	size_t k, n, groups, qz_row_bytes, qw_row_bytes;
	unsigned char *qzeros, *qweight;
	int32_t *g_of_k;
};

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

static unsigned code(const struct layer *l, size_t k, size_t n)
{
	struct gq_word_rows rows = {l->qweight, l->qw_row_bytes};

	return gq_layout_stream.get_code(rows, l->pack, k, n);
}

static unsigned lane(const struct layer *l, size_t g, size_t n)
{
	return gq_layout_stream.get_lane(l->qzeros + g * l->qz_row_bytes, l->pack, n);
}

static void put_code(struct layer *l, size_t k, size_t n, unsigned value)
{
	unsigned word_bytes = l->pack.word_bits / 8;

	for (unsigned i = 0; i < l->pack.bits; i++) {
		size_t bit = k * l->pack.bits + i;
		unsigned char *word = l->qweight + bit / l->pack.word_bits * l->qw_row_bytes + n * word_bytes;
		unsigned char *byte = word + bit % l->pack.word_bits / 8;
		unsigned mask = 1U << bit % 8;

		*byte = (unsigned char)((*byte & ~mask) | (value >> i & 1 ? mask : 0));
	}
}

/* Codes near their lane, some rows and groups exactly on it, many lanes at the ends. */
static struct layer *make(struct gq_pack pack, size_t k, size_t n, size_t groups, bool shuffled, unsigned seed)
{
	struct layer *l = calloc(1, sizeof(*l));
	unsigned max = (1U << pack.bits) - 1, word_bytes = pack.word_bits / 8;

	random_state = seed;
	*l = (struct layer){.pack = pack, .k = k, .n = n, .groups = groups};
	l->qz_row_bytes = (n * pack.bits + pack.word_bits - 1) / pack.word_bits * word_bytes;
	l->qw_row_bytes = n * word_bytes;
	l->qzeros = calloc(groups, l->qz_row_bytes);
	l->qweight = calloc((k * pack.bits + pack.word_bits - 1) / pack.word_bits, l->qw_row_bytes);
	l->g_of_k = calloc(k, sizeof(*l->g_of_k));
	for (size_t i = 0; i < k; i++)
		l->g_of_k[i] = (int32_t)(shuffled ? random_below((unsigned)groups) : i * groups / k);
	for (size_t g = 0; g < groups; g++)
		for (size_t i = 0; i < n; i++) {
			unsigned kind = random_below(12);

			gq_layout_stream.put_lane(l->qzeros + g * l->qz_row_bytes, pack, i,
						  kind == 0   ? max
						  : kind == 1 ? 0
						  : kind == 2 ? max - 1
							      : random_below(max));
		}
	for (size_t i = 0; i < k; i++)
		for (size_t c = 0; c < n; c++) {
			unsigned z = lane(l, (size_t)l->g_of_k[i], c), far = random_below(9), q = z + far - 4;

			if (i % 7 == 3 || (c % 9 == 4 && i < k / 2))
				q = z + 1;
			if (i % 11 == 5 || c % 10 == 6)
				q = z;
			put_code(l, i, c, q > 1000 ? 0 : q > max ? max : q);
		}
	return l;
}

static void unmake(struct layer *l)
{
	free(l->qzeros);
	free(l->qweight);
	free(l->g_of_k);
	free(l);
}

static bool is_kept(const struct layer *l, size_t g, size_t n)
{
	unsigned max = (1U << l->pack.bits) - 1;
	size_t word = n * l->pack.bits / l->pack.word_bits;

	for (size_t i = 0; i <= n; i++)
		if (i * l->pack.bits / l->pack.word_bits == word && lane(l, g, i) == max)
			return false;
	return true;
}

/* What the plain sums are compared in. */
struct plain {
	uint64_t spike[4], groups_v1, groups_v2, rows_v1, rows_v2, n_kept, n_ends, n_lanes;
	double kept_d, kept_dd, a_w, a_wx, b_w, b_wx, in_group, max_sum, zero_sum, match_xy;
};

static void plain_pair(const struct layer *l, size_t g, size_t n, struct plain *p)
{
	unsigned max = (1U << l->pack.bits) - 1, z = lane(l, g, n);
	double count = 0, sum = 0, squares = 0, m, d;
	bool same = true, next = true, kept = is_kept(l, g, n);
	uint64_t h[4] = {0};

	for (size_t k = 0; k < l->k; k++) {
		unsigned q = code(l, k, n);

		if (l->g_of_k[k] != (int32_t)g)
			continue;
		count++;
		sum += q;
		squares += (double)q * q;
		same = same && q == z;
		next = next && q == z + 1;
		if (q + 1 >= z && q <= z + 2)
			h[q + 1 - z]++;
	}
	if (count == 0)
		return;
	m = sum / count;
	d = m - z;
	p->n_lanes++;
	p->n_ends += z == 0 || z == max;
	if (count > 1)
		p->in_group += squares / count - m * m;
	if (!kept) {
		if (n * l->pack.bits / l->pack.word_bits != (n - 1) * l->pack.bits / l->pack.word_bits || n == 0 ||
		    is_kept(l, g, n - 1)) {
			p->max_sum += (max - m) * (max - m);
			p->zero_sum += m * m;
		}
		return;
	}
	p->n_kept++;
	p->kept_d += d;
	p->kept_dd += d * d;
	p->match_xy += m * z;
	if (z <= max - 2) {
		p->b_w += count;
		p->b_wx += count * (d - 1);
		p->a_w += z >= 1 ? count : 0;
		p->a_wx += z >= 1 ? count * d : 0;
	}
	if (count >= 16) {
		p->groups_v2 += same && z >= 1;
		p->groups_v1 += next && z + 1 < max;
	}
	for (unsigned i = 0; i < 4 && z >= 2 && z + 3 <= max && l->pack.bits >= 4; i++)
		p->spike[i] += h[i];
}

static void plain_row(const struct layer *l, size_t k, struct plain *p)
{
	size_t n_kept = 0, same = 0, next = 0, g = (size_t)l->g_of_k[k];

	for (size_t n = 0; n < l->n; n++) {
		if (!is_kept(l, g, n))
			continue;
		n_kept++;
		same += code(l, k, n) == lane(l, g, n);
		next += code(l, k, n) == lane(l, g, n) + 1;
	}
	p->rows_v2 += n_kept >= 16 && same == n_kept;
	p->rows_v1 += n_kept >= 16 && next == n_kept;
}

static void close_to(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b))))
		ck_abort_msg("%.17g is not %.17g", a, b);
}

static void compare(const struct layer *l, const struct gq_code_stats *s)
{
	struct plain p;

	memset(&p, 0, sizeof(p));
	for (size_t g = 0; g < l->groups; g++)
		for (size_t n = 0; n < l->n; n++)
			plain_pair(l, g, n, &p);
	for (size_t k = 0; k < l->k; k++)
		plain_row(l, k, &p);
	ck_assert_uint_eq(s->n_codes, l->k * l->n);
	ck_assert_uint_eq(s->n_lanes, p.n_lanes);
	ck_assert_uint_eq(s->n_kept, p.n_kept);
	ck_assert_uint_eq(s->n_ends, p.n_ends);
	ck_assert_uint_eq(s->groups_v1, p.groups_v1);
	ck_assert_uint_eq(s->groups_v2, p.groups_v2);
	ck_assert_uint_eq(s->rows_v1, p.rows_v1);
	ck_assert_uint_eq(s->rows_v2, p.rows_v2);
	for (unsigned i = 0; i < 4 && l->pack.bits >= 4; i++)
		ck_assert_uint_eq(s->spike[i], p.spike[i]);
	close_to(s->scatter[GQ_DECODE_PLAIN].sum, p.kept_d);
	close_to(s->scatter[GQ_DECODE_PLAIN].sumsq, p.kept_dd);
	close_to(s->shift_a.w, p.a_w);
	close_to(s->shift_a.wx, p.a_wx);
	close_to(s->shift_b.w, p.b_w);
	close_to(s->shift_b.wx, p.b_wx);
	close_to(s->in_group.sum, p.in_group);
	close_to(s->first_to_max, p.max_sum);
	close_to(s->first_to_zero, p.zero_sum);
	close_to(s->match.xy, p.match_xy);
}

static const struct {
	struct gq_pack pack;
	size_t k, n, groups;
	bool shuffled;
} shapes[] = {
	{{4, 32}, 64, 64, 2, false},   {{4, 32}, 64, 70, 2, true},    {{4, 32}, 600, 40, 1, false},
	{{4, 32}, 52, 33, 3, false},   {{2, 32}, 300, 72, 1, false},  {{2, 32}, 96, 65, 3, true},
	{{3, 32}, 96, 64, 3, false},   {{3, 32}, 96, 96, 2, true},    {{3, 32}, 72, 32, 1, false},
	{{8, 32}, 600, 36, 2, false},  {{8, 32}, 64, 50, 4, true},    {{4, 64}, 64, 80, 2, false},
	{{2, 64}, 256, 64, 1, false},  {{8, 8}, 300, 33, 1, false},   {{4, 16}, 64, 64, 2, true},
	{{2, 8}, 64, 64, 64, false},   {{4, 32}, 72, 1130, 3, false}, {{4, 32}, 40, 1061, 2, true},
	{{3, 32}, 64, 1088, 2, false},
};

#define N_SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

START_TEST(sums)
{
	struct layer *l = make(shapes[_i].pack, shapes[_i].k, shapes[_i].n, shapes[_i].groups, shapes[_i].shuffled,
			       (unsigned)_i + 1);
	struct gq_stats_layer in = {.qzeros = {l->qzeros, l->groups, l->qz_row_bytes, l->n, l->pack, &gq_layout_stream},
				    .k = l->k,
				    .g_of_k = l->g_of_k};
	struct gq_word_rows rows = {l->qweight, l->qw_row_bytes};
	struct gq_code_stats out;

	for (const struct gq_kernels *const *level = gq_kernels_all; *level; level++) {
		if (!gq_kernels_usable(*level))
			continue;
		in.unpack_block = (*level)->unpack;
		in.cells_add = (*level)->cells_add;
		ck_assert_int_eq(gq_stats_of(&in, rows, &out, NULL), GPTQ_OK);
		compare(l, &out);
	}
	unmake(l);
}
END_TEST

/* Any cut into tiles and runs of rows gives the same figures. */
START_TEST(tiles)
{
	const struct gq_pack packs[] = {{2, 32}, {3, 32}, {4, 32}, {8, 32}};
	struct layer *l = make(packs[_i], 160, 200, 3, _i % 2, 77);
	struct gq_stats_layer in = {.qzeros = {l->qzeros, l->groups, l->qz_row_bytes, l->n, l->pack, &gq_layout_stream},
				    .k = l->k,
				    .g_of_k = l->g_of_k};
	struct gq_word_rows rows = {l->qweight, l->qw_row_bytes};
	struct gq_code_stats whole, tiled;
	struct gq_stats *st;

	ck_assert_int_eq(gq_stats_of(&in, rows, &whole, NULL), GPTQ_OK);
	for (size_t width = 32; width < 224; width += 32) {
		ck_assert_int_eq(gq_stats_new(&in, width, &st, NULL), GPTQ_OK);
		for (size_t n0 = 0; n0 < l->n; n0 += width) {
			gq_stats_tile_begin(st, n0, l->n - n0 < width ? l->n - n0 : width);
			for (size_t k = 0; k < l->k; k += 32) {
				struct gq_word_rows at = {l->qweight + k * l->pack.bits / 32 * l->qw_row_bytes + n0 * 4,
							  l->qw_row_bytes};

				gq_stats_rows(st, k, 32, at);
			}
			gq_stats_tile_end(st);
		}
		gq_stats_finish(st, &tiled);
		gq_stats_free(st);
		compare(l, &tiled);
		ck_assert_uint_eq(tiled.above_lane, whole.above_lane);
		ck_assert_uint_eq(tiled.above_word, whole.above_word);
		ck_assert_uint_eq(tiled.n_smear, whole.n_smear);
		close_to(tiled.borrow.wx, whole.borrow.wx);
		close_to(tiled.borrow.sum_xx, whole.borrow.sum_xx);
		close_to(tiled.scatter[GQ_DECODE_WORD].sumsq, whole.scatter[GQ_DECODE_WORD].sumsq);
		close_to(tiled.scatter[GQ_DECODE_LEGACY].sumsq, whole.scatter[GQ_DECODE_LEGACY].sumsq);
	}
	unmake(l);
}
END_TEST

/*
 * Every second column has the zero point of an M, the one above it M - 1 and codes that heap up at 0: borrowed, where
 * there are enough rows for that to be no chance.
 */
START_TEST(few_rows_say_nothing)
{
	for (size_t k = 8; k <= 16; k += 8) {
		struct layer *l = make((struct gq_pack){4, 32}, k, 64, 1, false, 1);
		struct gq_stats_layer in = {
			.qzeros = {l->qzeros, l->groups, l->qz_row_bytes, l->n, l->pack, &gq_layout_stream},
			.k = l->k,
			.g_of_k = l->g_of_k};
		struct gq_word_rows rows = {l->qweight, l->qw_row_bytes};
		struct gq_code_stats out;

		for (size_t n = 0; n < 64; n++) {
			gq_layout_stream.put_lane(l->qzeros, l->pack, n, n % 8 == 0 ? 15 : n % 8 == 1 ? 14 : 7);
			for (size_t i = 0; i < k; i++)
				put_code(l, i, n, n % 8 == 1 ? (i % 4 == 3 ? 7 : 0) : (unsigned)i % 16);
		}
		ck_assert_int_eq(gq_stats_of(&in, rows, &out, NULL), GPTQ_OK);
		ck_assert_uint_eq(out.n_first, 8);
		ck_assert_uint_eq(out.above_word, k < 16 ? 0 : 8);
		unmake(l);
	}
}
END_TEST

START_TEST(allocation_fails)
{
	struct layer *l = make((struct gq_pack){4, 32}, 64, 64, 2, false, 1);
	struct gq_stats_layer in = {.qzeros = {l->qzeros, l->groups, l->qz_row_bytes, l->n, l->pack, &gq_layout_stream},
				    .k = l->k,
				    .g_of_k = l->g_of_k};
	struct gq_stats *st;

	for (long i = 0; i < 11; i++) {
		gq_mem_fail_after(i);
		ck_assert_int_eq(gq_stats_new(&in, 64, &st, NULL), GPTQ_E_NOMEM);
		ck_assert_ptr_null(st);
	}
	gq_mem_fail_after(-1);
	in.qzeros.pack.bits = 5;
	ck_assert_int_eq(gq_stats_new(&in, 64, &st, NULL), GPTQ_E_UNSUPPORTED);
	ck_assert_uint_gt(gq_stats_footprint(&in, 64), 0);
	gq_stats_free(NULL);
	unmake(l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stats");
	TCase *tc = tcase_create("sums");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, sums, 0, N_SHAPES);
	tcase_add_loop_test(tc, tiles, 0, 4);
	tcase_add_test(tc, few_rows_say_nothing);
	tcase_add_test(tc, allocation_fails);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
