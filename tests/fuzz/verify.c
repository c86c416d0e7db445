/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two small checkpoints through gptq_verify. One side against itself is the same; A against B is what B against A is;
 * what is said to be the same, or how many weights are not, is what a plain formula finds; what a conversion made of A
 * is the same as A.
 *
 *   byte 0   0x03 from of A   0x0c from of B   0x30 v1 style of A   0xc0 v1 style of B
 *   byte 1   0x03 method   0x0c config of A   0x30 config of B
 *            0xc0 what B is: 0 bytes of its own, 1 and 2 A with some bytes changed, 3 A converted
 *   bytes 2-3  size of A; what follows is B, or changes: two bytes where, one what
 */
#define _GNU_SOURCE
#include "model.h"

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "quant/scales.h"
#include "quant/zeros.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIDES 2

static char folder[SIDES][400], path[SIDES][500];

static const char *const configs[] = {
	NULL,
	"{\"bits\":4,\"group_size\":8,\"quant_method\":\"gptq\",\"sym\":true,\"checkpoint_format\":\"gptq\"}",
	"{\"bits\":4,\"group_size\":8,\"quant_method\":\"gptq\",\"sym\":false,\"checkpoint_format\":\"gptq_v2\"}",
	"{\"bits\":3,\"group_size\":-1,\"quant_method\":\"gptq\",\"sym\":false,\"desc_act\":true}",
};

/* ------------------------------------------------------------------------------------------------- a plain formula */

/* To the nearest value of a float format, ties to even. All but this is exact in double. */
static double round_to(double v, enum gptq_dtype dtype)
{
	int fraction = dtype == GPTQ_DTYPE_F16 ? 10 : dtype == GPTQ_DTYPE_BF16 ? 7 : 23;
	int least = dtype == GPTQ_DTYPE_F16 ? -14 : -126, e;

	if (v == 0 || !isfinite(v))
		return v;
	frexp(v, &e);
	e = e - 1 < least ? least : e - 1;
	v = ldexp(rint(ldexp(v, fraction - e)), e - fraction);
	return fabs(v) >= ldexp(1, dtype == GPTQ_DTYPE_F16 ? 16 : 128) ? copysign((double)INFINITY, v) : v;
}

static uint8_t *read_tensor(struct gq_source *s, const struct gq_tensor *t)
{
	uint8_t *data = malloc((size_t)t->nbytes + 1);
	struct gptq_error err;

	MUST(data && gq_tensor_read_at(&s->shards, t, 0, data, (size_t)t->nbytes, &err) == GPTQ_OK);
	return data;
}

/* The group of each row. Without g_idx, or where it is all zero, they follow each other. */
static size_t *groups_of(struct gq_source *s, const struct gq_layer *l)
{
	size_t n = (size_t)l->in_features, *g = calloc(n + 1, sizeof(*g));
	bool all_zero = true;

	MUST(g);
	if (l->g_idx) {
		uint8_t *raw = read_tensor(s, l->g_idx);
		unsigned width = gptq_dtype_bits(l->g_idx->dtype) / 8;

		for (size_t k = 0; k < n; k++) {
			uint64_t bits = gq_load_le(raw + k * width, width);
			int64_t v = width == 4 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;

			g[k] = (size_t)(v < 0 ? v + (int64_t)l->groups : v);
			all_zero = all_zero && v == 0;
		}
		free(raw);
	}
	for (size_t k = 0; k < n && all_zero && l->groups > 1; k++)
		g[k] = k / (l->group_size > 0 ? (size_t)l->group_size : n / (size_t)l->groups);
	return g;
}

/* All weights of a layer, row by row. */
static double *weights_of(struct gq_source *s, const struct gq_layer *l, enum gptq_zeros_format format,
			  enum gptq_v1_style style)
{
	size_t n = (size_t)l->out_features, rows = (size_t)l->in_features, row = (size_t)l->zero_row_bytes;
	size_t lanes = gq_row_lanes(l->pack, row), g_size = gq_weight_bytes(l->scales->dtype);
	uint8_t *words = read_tensor(s, l->qweight), *qzeros = read_tensor(s, l->qzeros),
		*scales = read_tensor(s, l->scales);
	uint8_t *raw = malloc(lanes + 1), *z = malloc((size_t)l->groups * lanes + 1);
	double *w = malloc((rows * n + 1) * sizeof(*w));
	size_t *g = groups_of(s, l);

	MUST(raw && z && w);
	for (size_t i = 0; i < l->groups; i++) {
		for (size_t j = 0; j < lanes; j++)
			raw[j] = (uint8_t)gq_layout_stream.get_lane(qzeros + i * row, l->pack, j);
		gq_zeros_decode(raw, lanes, l->pack, format, gq_style_for_width(style, l->pack.bits), z + i * lanes);
	}
	for (size_t k = 0; k < rows; k++) {
		for (size_t j = 0; j < n; j++) {
			struct gq_word_rows at = {words, n * (l->pack.word_bits / 8)};
			int q = (int)gq_layout_stream.get_code(at, l->pack, k, j);
			double scale = gq_scale_value(scales + (g[k] * n + j) * g_size, l->scales->dtype);

			w[k * n + j] = round_to(scale * (q - z[g[k] * lanes + j]), l->scales->dtype);
		}
	}
	free(words);
	free(qzeros);
	free(scales);
	free(raw);
	free(z);
	free(g);
	return w;
}

static bool is_same_weight(double a, double b)
{
	return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof(a)) == 0;
}

/* ------------------------------------------------------------------------------------------------ what is compared */

static const struct gq_layer *find_layer(const struct gq_source *s, const struct gq_layer *like)
{
	for (size_t i = 0; i < s->layers.n; i++)
		if (s->layers.items[i].name_len == like->name_len &&
		    memcmp(s->layers.items[i].name, like->name, like->name_len) == 0)
			return &s->layers.items[i];
	return NULL;
}

static bool is_packed(const struct gq_source *s, const struct gq_tensor *t)
{
	for (size_t i = 0; i < s->layers.n; i++) {
		const struct gq_layer *l = &s->layers.items[i];

		if (t == l->qweight || t == l->qzeros || t == l->scales || t == l->g_idx)
			return true;
	}
	return false;
}

/* Weights that differ between layers of the same shape and dtype; *alone is cleared by a layer without a like. */
static uint64_t count_weights(struct gq_source s[SIDES], const struct gptq_verify_report *r, bool *alone)
{
	uint64_t n_differ = 0;

	*alone = s[0].layers.n != s[1].layers.n;
	for (size_t i = 0; i < s[0].layers.n; i++) {
		const struct gq_layer *a = &s[0].layers.items[i], *b = find_layer(&s[1], a);
		double *wa, *wb;

		if (!b || a->in_features != b->in_features || a->out_features != b->out_features ||
		    a->scales->dtype != b->scales->dtype) {
			*alone = true;
			continue;
		}
		wa = weights_of(&s[0], a, r->sides[0].format, r->sides[0].v1_style);
		wb = weights_of(&s[1], b, r->sides[1].format, r->sides[1].v1_style);
		for (size_t j = 0; j < a->in_features * a->out_features; j++)
			n_differ += !is_same_weight(wa[j], wb[j]);
		free(wa);
		free(wb);
	}
	return n_differ;
}

/* Plain tensors of one side that are not the same on the other. */
static uint64_t count_tensors(struct gq_source *a, struct gq_source *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a->shards.n_tensors; i++) {
		const struct gq_tensor *x = &a->shards.tensors[i];
		const struct gq_tensor *y = gq_shards_find(&b->shards, x->name, x->name_len);
		bool same =
			y && !is_packed(b, y) && x->dtype == y->dtype && x->rank == y->rank && x->nbytes == y->nbytes;
		uint8_t *dx, *dy;

		if (is_packed(a, x))
			continue;
		for (uint32_t d = 0; same && d < x->rank; d++)
			same = x->shape[d] == y->shape[d];
		if (same) {
			dx = read_tensor(a, x);
			dy = read_tensor(b, y);
			same = memcmp(dx, dy, (size_t)x->nbytes) == 0;
			free(dx);
			free(dy);
		}
		n += !same;
	}
	return n;
}

/* Is it told in one word how a side was read? */
static bool is_told(const struct gptq_verify_side *side)
{
	return side->n_layers == 0 || side->format == GPTQ_ZEROS_V2 ||
	       (side->format == GPTQ_ZEROS_V1 && side->v1_style != GPTQ_STYLE_NONE);
}

static void check_against_formula(const struct gptq_verify_report *r)
{
	struct gq_source_options so = {.tolerant = true};
	struct gq_source s[SIDES];
	uint64_t n_differ;
	bool alone;

	if (!is_told(&r->sides[0]) || !is_told(&r->sides[1]))
		return;
	for (unsigned i = 0; i < SIDES; i++)
		fuzz_open(path[i], &so, &s[i]);
	n_differ = count_weights(s, r, &alone);
	MUST(n_differ == r->n_weights_differ);
	MUST(r->same == (!n_differ && !alone && !count_tensors(&s[0], &s[1]) && !count_tensors(&s[1], &s[0])));
	for (unsigned i = 0; i < SIDES; i++)
		gq_source_close(&s[i]);
}

/* ---------------------------------------------------------------------------------------------------- the properties
 */

static enum gptq_status verify(unsigned a, unsigned b, const struct gptq_verify_options *options,
			       struct gptq_verify_report **r)
{
	struct gptq_verify_options o = *options;
	struct gptq_error err;
	enum gptq_status status;

	o.from[0] = options->from[a];
	o.from[1] = options->from[b];
	o.v1_style[0] = options->v1_style[a];
	o.v1_style[1] = options->v1_style[b];
	status = gptq_verify(path[a], path[b], &o, r, &err);
	if (status != GPTQ_OK) {
		MUST(!*r && err.status == status && err.message[0]);
		MUST(status == GPTQ_E_NOTFOUND || status == GPTQ_E_FORMAT || status == GPTQ_E_LIMIT ||
		     status == GPTQ_E_REFUSED || status == GPTQ_E_UNSUPPORTED || status == GPTQ_E_ARG);
	}
	return status;
}

static void check_mirrored(const struct gptq_verify_report *x, const struct gptq_verify_report *y)
{
	MUST(x->same == y->same && x->n_layers == y->n_layers && x->n_layers_same == y->n_layers_same);
	MUST(x->n_weights == y->n_weights && x->n_weights_differ == y->n_weights_differ);
	MUST(x->n_tensors == y->n_tensors && x->n_tensors_same == y->n_tensors_same);
	MUST(x->n_by_table == y->n_by_table && x->n_by_every == y->n_by_every);
	for (size_t i = 0; i < x->n_layers; i++) {
		const struct gptq_verify_layer *a = &x->layers[i], *b = &y->layers[i];

		MUST(strcmp(a->name, b->name) == 0 && a->n_differ == b->n_differ && a->method == b->method);
		MUST(a->n_differ == 0 || (a->first_k == b->first_k && a->first_n == b->first_n));
		MUST(a->first[0].bits == b->first[1].bits && a->first[1].bits == b->first[0].bits);
	}
}

/* converted: B was made of A by a conversion that was told to be right. */
static void check(const struct gptq_verify_options *o, bool converted)
{
	struct gptq_verify_report *r = NULL, *back = NULL, *self = NULL;
	enum gptq_status status = verify(0, 1, o, &r);

	MUST((verify(1, 0, o, &back) == GPTQ_OK) == (status == GPTQ_OK));
	for (unsigned i = 0; i < SIDES; i++) {
		enum gptq_status alone = verify(i, i, o, &self);

		MUST(alone == GPTQ_OK || status != GPTQ_OK);
		MUST(alone != GPTQ_OK || self->same);
		gptq_verify_report_free(self);
		self = NULL;
	}
	if (status == GPTQ_OK) {
		MUST(!converted || r->same);
		check_mirrored(r, back);
		check_against_formula(r);
	}
	gptq_verify_report_free(r);
	gptq_verify_report_free(back);
}

/* B by a conversion of A, if there is one; both are then told how to be read. */
static bool convert(struct gptq_verify_options *o)
{
	struct gptq_convert_options c = {.struct_size = sizeof(c), .from = o->from[0], .v1_style = o->v1_style[0]};
	struct gptq_convert_report *r;
	struct gptq_error err;
	enum gptq_v1_style style;
	bool done;

	c.to = o->from[1] == GPTQ_ZEROS_V1 ? GPTQ_ZEROS_V1 : GPTQ_ZEROS_V2;
	if (gptq_convert(path[0], path[1], &c, &r, &err) != GPTQ_OK)
		return false;
	done = r->from != GPTQ_ZEROS_NONE;
	o->from[0] = r->from;
	o->from[1] = r->to;
	if (fuzz_one_style(r, &style))
		o->v1_style[0] = o->v1_style[1] = style;
	gptq_convert_report_free(r);
	return done;
}

static void change(uint8_t *data, size_t size, struct fuzz_input in)
{
	while (size && in.size >= 3) {
		size_t at = fuzz_u16(&in) % size;

		data[at] ^= fuzz_u8(&in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum gptq_zeros_format froms[] = {GPTQ_ZEROS_NONE, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, GPTQ_ZEROS_NONE};
	static const enum gptq_v1_style styles[] = {GPTQ_STYLE_NONE, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD,
						    GPTQ_STYLE_GPTQMODEL_3BIT};
	struct gptq_verify_options o = {.struct_size = sizeof(o), .device = GPTQ_DEVICE_CPU, .jobs = 1};
	struct fuzz_input in = {data, size};
	unsigned reading = fuzz_u8(&in), how = fuzz_u8(&in);
	size_t want = fuzz_u16(&in), n;
	const uint8_t *a = fuzz_bytes(&in, want, &n);
	uint8_t *b = malloc((n > in.size ? n : in.size) + 1);
	bool converted = false;

	MUST(b);
	for (unsigned i = 0; i < SIDES; i++) {
		const char *config = configs[how >> (2 + 2 * i) & 3];
		char config_path[600];

		o.from[i] = froms[reading >> 2 * i & 3];
		o.v1_style[i] = styles[reading >> (4 + 2 * i) & 3];
		fuzz_place(folder[i], sizeof(folder[i]), fuzz_folder(), i ? "b" : "a");
		fuzz_place(path[i], sizeof(path[i]), folder[i], "model.safetensors");
		fuzz_place(config_path, sizeof(config_path), folder[i], "quantize_config.json");
		MUST(mkdir(folder[i], 0700) == 0);
		if (config)
			fuzz_write(config_path, config, strlen(config));
	}
	o.method = (enum gptq_method)((how & 3) % 3);
	fuzz_write(path[0], a, n);
	if (how >> 6 == 3)
		converted = convert(&o);
	if (how >> 6 == 0) {
		if (in.size)
			memcpy(b, in.data, in.size);
		fuzz_write(path[1], b, in.size);
	} else if (!converted) {
		fuzz_remove(path[1]);
		if (n)
			memcpy(b, a, n);
		change(b, n, in);
		fuzz_write(path[1], b, n);
	}
	check(&o, converted);
	free(b);
	fuzz_remove(folder[0]);
	fuzz_remove(folder[1]);
	return 0;
}
