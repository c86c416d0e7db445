/* SPDX-License-Identifier: Apache-2.0 */
/* From the sums of a finished tile to the figures of the layer. */
#include "quant/stats_private.h"

/* One group of the tile. */
struct row {
	const uint8_t *lanes, *keep;
	const struct gq_cell_sums *sums;
	double n_rows;
	double inverse; /* 1 / n_rows */
	bool all_kept;
};

/* Sums are far below 2^63, and signed numbers need one instruction where unsigned ones need a branch. */
static double as_double(uint64_t n)
{
	return (double)(int64_t)n;
}

/* Of so few rows all have one sign by chance more often than columns are one-sided by nature: 2^-8, but 2^-16. */
#define FEW_ROWS 16

static double mean_code(const struct row *row, size_t n)
{
	return as_double(row->sums[n / GQ_CELL_COLUMNS].sum[n % GQ_CELL_COLUMNS]) * row->inverse;
}

static void add_moment(struct gq_moments *m, double x)
{
	m->n += 1;
	m->sum += x;
	m->sumsq += x * x;
}

static void add_pair(struct gq_pairs *p, double x, double y)
{
	p->n += 1;
	p->x += x;
	p->y += y;
	p->xx += x * x;
	p->yy += y * y;
	p->xy += x * y;
}

/* Adds a column with weight w and weighted sum wx. */
static void add_cluster(struct gq_clusters *c, double w, double wx)
{
	if (w <= 0)
		return;
	c->w += w;
	c->wx += wx;
	c->sum_xx += wx * wx;
	c->sum_xw += wx * w;
	c->sum_ww += w * w;
	c->n_columns += 1;
}

/* Groups that consist of one code, which is the lane or the lane + 1 and neither 0 nor M. */
static void count_constant(struct gq_stats *st, const struct row *row, size_t n)
{
	const struct gq_cell_sums *sums = &row->sums[n / GQ_CELL_COLUMNS];
	unsigned lane = row->lanes[n], i = n % GQ_CELL_COLUMNS;

	uint8_t other = sums->other[0][i] & sums->other[1][i];

	if (other) /* nearly always */
		return;
	st->out.groups_v2 += !sums->other[0][i] && lane >= 1;
	st->out.groups_v1 += !sums->other[1][i] && lane + 1 < st->max;
}

static void add_kept(struct gq_stats *st, const struct row *row, size_t n, double m, struct gq_moments *plain,
		     struct gq_pairs *match)
{
	struct gq_stats_column *column = &st->columns[n];
	double lane = row->lanes[n], d = m - lane;

	add_moment(plain, d);
	add_pair(match, m, lane);
	if (row->lanes[n] + 1U >= st->max)
		return;
	column->b_w += row->n_rows;
	column->b_wx += row->n_rows * (d - 1);
	if (row->lanes[n] == 0)
		return;
	column->a_w += row->n_rows;
	column->a_wx += row->n_rows * d;
}

/* What every lane of a group contributes. */
static void evaluate_lanes(struct gq_stats *st, const struct row *row)
{
	struct gq_code_stats *out = &st->out;
	/* Sums in registers: in memory each would wait for the one before it to be stored. */
	struct gq_moments plain = out->scatter[GQ_DECODE_PLAIN], in_group = out->in_group;
	struct gq_pairs match = out->match;
	uint64_t n_ends = 0, n_kept = 0;

	for (size_t n = 0; n < st->n_cols; n++) {
		double m = mean_code(row, n);
		double squares = as_double(row->sums[n / GQ_CELL_COLUMNS].squares[n % GQ_CELL_COLUMNS]);

		if (row->n_rows > 1) {
			in_group.n += 1;
			in_group.sum += squares * row->inverse - m * m;
		}
		n_ends += row->lanes[n] == 0 || row->lanes[n] == st->max;
		if (!row->keep[n])
			continue;
		n_kept++;
		add_kept(st, row, n, m, &plain, &match);
		if (row->n_rows >= FEW_ROWS)
			count_constant(st, row, n);
	}
	out->scatter[GQ_DECODE_PLAIN] = plain;
	out->in_group = in_group;
	out->match = match;
	out->n_lanes += st->n_cols;
	out->n_ends += n_ends;
	out->n_kept += n_kept;
}

/* gptqmodel-3bit makes sense of all lanes or of none. */
static void evaluate_legacy(struct gq_stats *st, const struct row *row)
{
	gq_zeros_decode(row->lanes, st->n_cols, st->layer.qzeros.pack, GPTQ_ZEROS_V1, GPTQ_STYLE_GPTQMODEL_3BIT,
			st->z[0]);
	for (size_t n = 0; n < st->n_cols; n++) {
		double m = mean_code(row, n);

		add_moment(&st->out.scatter[GQ_DECODE_LEGACY], m - st->z[0][n]);
		add_pair(&st->out.match_legacy, m, st->z[0][n]);
	}
}

/*
 * Do the codes of a group heap up at one end, as they do where the zero point is that end and weights near zero are
 * the commonest? Weights far from zero make a bell between the ends instead, on the other side of the middle: a column
 * of mean -3 deviations has z = M and m = 0.43 M. A bell's deviation is at most half its distance from the nearer end
 * (that end is its extreme member), that of a half-normal heap three quarters of it.
 */
static bool is_heap(const struct gq_stats *st, const struct row *row, size_t n, double m)
{
	double near = 2 * m < st->max ? m : st->max - m;
	double squares = as_double(row->sums[n / GQ_CELL_COLUMNS].squares[n % GQ_CELL_COLUMNS]);

	return squares * row->inverse - m * m > 0.65 * 0.65 * near * near;
}

/* One word whose lowest M is lane `low`; it ends before lane `end`. */
static void evaluate_word(struct gq_stats *st, const struct row *row, size_t low, size_t end)
{
	struct gq_code_stats *out = &st->out;
	double max = st->max, m = mean_code(row, low), sum = 0;
	const uint8_t *word_z = st->layer.qzeros.pack.bits == 3 ? st->z[0] : st->z[1];
	size_t n_full = 0, n_heaps = 0;

	out->n_first++;
	out->first_heaps += is_heap(st, row, low, m);
	out->first_to_max += (max - m) * (max - m);
	out->first_to_zero += m * m;
	for (size_t n = low; n < end; n++) {
		unsigned mask = gq_lane_mask(st->layer.qzeros.pack, n);

		m = mean_code(row, n);
		add_moment(&out->scatter[GQ_DECODE_V2], m - row->lanes[n]);
		add_moment(&out->scatter[GQ_DECODE_LANE], m - st->z[0][n]);
		add_moment(&out->scatter[GQ_DECODE_WORD], m - word_z[n]);
		if (n == low)
			continue;
		n_full += (row->lanes[n] & mask) == mask;
		if (2 * m < max && is_heap(st, row, n, m))
			n_heaps++;
		else
			sum += m / max;
		if (row->lanes[n - 1] != st->max || m >= 0.45 * max || row->n_rows < FEW_ROWS)
			continue;
		if (!is_heap(st, row, n, m)) {
			out->above_bell += row->lanes[n] + 1U >= st->max;
			continue;
		}
		out->above_word += row->lanes[n] == st->max - 1;
		out->above_lane += row->lanes[n] == st->max;
	}
	if (end - low > 2 && n_full == end - low - 1) {
		out->n_smear += n_full;
		out->smear_sum += sum;
		out->smear_heaps += n_heaps;
	}
}

/* Words that hold an M, and what depends on the lanes above it. */
static void evaluate_words(struct gq_stats *st, const struct row *row)
{
	struct gq_pack pack = st->layer.qzeros.pack;

	for (size_t w = 0, first = 0; first < st->n_cols; w++, first = gq_word_first_lane(pack, w)) {
		size_t end = gq_word_first_lane(pack, w + 1), low = first;

		if (end > st->n_cols)
			end = st->n_cols;
		while (low < end && row->keep[low])
			low++;
		if (low < end)
			evaluate_word(st, row, low, end);
	}
}

/* Sums by column for the mean borrow: lanes that LANE and WORD decode alike, and those that they do not. */
static void evaluate_borrow(struct gq_stats *st, const struct row *row)
{
	unsigned low = st->max > 3 ? 2 : 1, high = st->max - low;

	for (size_t n = 0; n < st->n_cols; n++) {
		struct gq_stats_column *column = &st->columns[n];
		unsigned lane = st->z[0][n], word = st->z[1][n];
		double x = mean_code(row, n) - lane;

		if (lane < low || lane > high || row->lanes[n] == st->max)
			continue;
		if (lane == word) {
			column->base_n += 1;
			column->base_sum += x;
			column->base_sumsq += x * x;
		} else if (word >= low && word <= high) {
			column->borrow_n += 1;
			column->borrow_sum += x;
		}
	}
}

static void evaluate_group(struct gq_stats *st, size_t g)
{
	size_t cell = g * st->n_cells, column = cell * GQ_CELL_COLUMNS;
	struct gq_pack pack = st->layer.qzeros.pack;
	struct row row = {
		.lanes = st->lanes + column,
		.keep = st->keep + column,
		.sums = st->sums + cell,
		.n_rows = (double)st->groups[g].n_rows,
		.all_kept = true,
	};

	if (st->groups[g].n_rows == 0)
		return;
	row.inverse = 1 / row.n_rows;
	for (size_t n = 0; n < st->n_cols; n++)
		row.all_kept = row.all_kept && row.keep[n];
	evaluate_lanes(st, &row);
	if (pack.bits == 3)
		evaluate_legacy(st, &row);
	if (row.all_kept && !st->styles_part)
		return;
	gq_zeros_decode(row.lanes, st->n_cols, pack, GPTQ_ZEROS_V1, GPTQ_STYLE_LANE, st->z[0]);
	gq_zeros_decode(row.lanes, st->n_cols, pack, GPTQ_ZEROS_V1, GPTQ_STYLE_WORD, st->z[1]);
	if (st->styles_part)
		evaluate_borrow(st, &row);
	if (!row.all_kept)
		evaluate_words(st, &row);
}

static void evaluate_columns(struct gq_stats *st)
{
	struct gq_pack pack = st->layer.qzeros.pack;
	unsigned per_word = pack.word_bits / pack.bits;
	struct gq_code_stats *out = &st->out;

	for (size_t n = 0; n < st->n_cols; n++) {
		const struct gq_stats_column *c = &st->columns[n];
		double mean;

		add_cluster(&out->shift_a, c->a_w, c->a_wx);
		add_cluster(&out->shift_b, c->b_w, c->b_wx);
		if (pack.word_bits == 64)
			add_cluster(&out->half[n % per_word >= per_word / 2], c->a_w, c->a_wx);
		if (c->base_n < 1)
			continue;
		mean = c->base_sum / c->base_n;
		out->borrow_base.n += c->base_n - 1;
		out->borrow_base.sumsq += c->base_sumsq - c->base_n * mean * mean;
		if (c->borrow_n < 1)
			continue;
		add_cluster(&out->borrow, c->borrow_n, c->borrow_sum - c->borrow_n * mean);
		out->borrow_units += c->borrow_n + c->borrow_n * c->borrow_n / c->base_n;
	}
}

void gq_stats_evaluate_tile(struct gq_stats *st)
{
	for (size_t g = 0; g < st->layer.qzeros.rows; g++)
		evaluate_group(st, g);
	evaluate_columns(st);
}
