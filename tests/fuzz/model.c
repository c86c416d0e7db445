/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include "base/mem.h"
#include "base/slurp.h"
#include "ops/survey.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_place(char *dst, size_t size, const char *dir, const char *name)
{
	MUST((size_t)snprintf(dst, size, "%s/%s", dir, name) < size);
}

bool fuzz_file_is(const char *path, const void *data, size_t size)
{
	struct gptq_error err;
	char *text = NULL;
	size_t n = 0;
	bool same = gq_read_file(path, SIZE_MAX / 2, &text, &n, &err) == GPTQ_OK && n == size &&
		    (n == 0 || memcmp(text, data, n) == 0);

	gq_free(text);
	return same;
}

unsigned fuzz_entries_of(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	MUST(dir);
	for (struct dirent *de; (de = readdir(dir));)
		n += strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0;
	closedir(dir);
	return n;
}

void fuzz_open(const char *path, const struct gq_source_options *options, struct gq_source *source)
{
	struct gptq_error err;

	MUST(gq_source_open(path, options, source, &err) == GPTQ_OK);
}

bool fuzz_one_style(const struct gptq_convert_report *r, enum gptq_v1_style *style)
{
	*style = GPTQ_STYLE_NONE;
	for (unsigned i = 0; i < r->n_widths; i++) {
		enum gptq_v1_style s = r->widths[i].style;

		if (s == GPTQ_STYLE_NONE || s == GPTQ_STYLE_CLEAN || s == GPTQ_STYLE_SMEARED)
			s = GPTQ_STYLE_LANE; /* as they are read, and written back */
		if (*style != GPTQ_STYLE_NONE && *style != s)
			return false;
		*style = s;
	}
	return *style != GPTQ_STYLE_NONE;
}

void fuzz_compare_zeros(struct gq_source *a, struct gq_source *b, const struct gptq_convert_report *r,
			enum gptq_v1_style style)
{
	struct gptq_error err;

	MUST(a->layers.n == b->layers.n && a->layers.n == r->n_layers);
	for (size_t i = 0; i < a->layers.n; i++) {
		struct gq_layer *la = &a->layers.items[i], *lb = &b->layers.items[i];
		size_t n = gq_row_lanes(la->pack, (size_t)la->zero_row_bytes);
		uint8_t *lanes = malloc(n + 1), *za = malloc(n + 1), *zb = malloc(n + 1);
		struct gq_qzeros qa, qb;
		void *wa, *wb;

		MUST(lanes && za && zb && la->name_len == lb->name_len && la->zero_row_bytes == lb->zero_row_bytes);
		MUST(gq_read_qzeros(&a->shards, la, &wa, &qa, &err) == GPTQ_OK);
		MUST(gq_read_qzeros(&b->shards, lb, &wb, &qb, &err) == GPTQ_OK);
		for (size_t row = 0; row < qa.rows; row++) {
			qa.layout->unpack_line((uint8_t *)wa + row * qa.row_bytes, qa.pack, n, lanes);
			gq_zeros_decode(lanes, n, qa.pack, r->from, style, za);
			qb.layout->unpack_line((uint8_t *)wb + row * qb.row_bytes, qb.pack, n, lanes);
			gq_zeros_decode(lanes, n, qb.pack, r->to, style, zb);
			MUST(memcmp(za, zb, n) == 0);
		}
		gq_free(wa);
		gq_free(wb);
		free(lanes);
		free(za);
		free(zb);
	}
}

void fuzz_compare_tensors(struct gq_source *a, struct gq_source *b, bool zeros_too)
{
	struct gptq_error err;

	MUST(a->shards.n_tensors == b->shards.n_tensors && a->shards.n == b->shards.n);
	for (size_t i = 0; i < a->shards.n_tensors; i++) {
		const struct gq_tensor *ta = &a->shards.tensors[i], *tb = &b->shards.tensors[i];
		bool zeros = ta->name_len >= 6 && memcmp(ta->name + ta->name_len - 6, "qzeros", 6) == 0;
		uint8_t *pa = malloc((size_t)ta->nbytes + 1), *pb = malloc((size_t)ta->nbytes + 1);

		MUST(pa && pb && ta->nbytes == tb->nbytes && ta->dtype == tb->dtype && ta->name_len == tb->name_len);
		MUST(memcmp(ta->name, tb->name, ta->name_len) == 0);
		MUST(gq_tensor_read_at(&a->shards, ta, 0, pa, (size_t)ta->nbytes, &err) == GPTQ_OK);
		MUST(gq_tensor_read_at(&b->shards, tb, 0, pb, (size_t)ta->nbytes, &err) == GPTQ_OK);
		MUST((zeros && !zeros_too) || memcmp(pa, pb, (size_t)ta->nbytes) == 0);
		free(pa);
		free(pb);
	}
}

struct gptq_convert_options fuzz_convert_options(unsigned choice)
{
	static const enum gptq_v1_style styles[] = {GPTQ_STYLE_NONE, GPTQ_STYLE_LANE, GPTQ_STYLE_WORD,
						    GPTQ_STYLE_GPTQMODEL_3BIT};
	static const enum gptq_zeros_format froms[] = {GPTQ_ZEROS_NONE, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, GPTQ_ZEROS_NONE};
	struct gptq_convert_options o = {.struct_size = sizeof(o)};

	o.relabel = choice & 0x40;
	o.to = o.relabel ? GPTQ_ZEROS_NONE : choice & 1 ? GPTQ_ZEROS_V1 : GPTQ_ZEROS_V2;
	o.v1_style = styles[choice >> 1 & 3];
	o.from = froms[choice >> 3 & 3];
	o.per_layer = (choice & 0x20) && !o.relabel;
	o.accept_damaged = choice & 0x80;
	return o;
}
