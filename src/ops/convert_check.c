/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was written is opened again by the strict reader and decoded by the plain loops: every zero point of every layer
 * must be what the source's was, and every label must say the target. Fast paths that wrote it are not used here.
 */
#include "base/mem.h"
#include "base/slurp.h"
#include "ops/convert_internal.h"

#include <string.h>

static enum gptq_status differs(const struct gq_layer *l, uint64_t g, size_t n, unsigned was, unsigned is,
				struct gptq_error *err)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_MISMATCH,
					  "what was written does not hold the same zero points: group %llu, column %zu",
					  (unsigned long long)g, n);

	gq_error_tensor(err, l->name, l->name_len);
	gq_error_found(err, "%u", is);
	gq_error_expected(err, "%u", was);
	return status;
}

/* Decodes row by row with the specification's loops and compares. `rows` has room for three rows of lanes. */
static enum gptq_status compare_rows(const struct gq_conversion *cv, const struct gq_unit *u, size_t i,
				     const struct gq_qzeros *a, const struct gq_qzeros *b, uint8_t *rows,
				     size_t n_lanes, struct gptq_error *err)
{
	const struct gq_layer *l = &u->source.layers.items[i];
	enum gptq_v1_style style = gq_layer_style(cv, u, i);
	enum gptq_zeros_format to = gq_layer_changes(cv, u, i) ? cv->to : u->formats[i];
	uint8_t *lanes = rows, *za = rows + n_lanes, *zb = rows + 2 * n_lanes;

	for (size_t g = 0; g < a->rows; g++) {
		a->layout->unpack_line((const char *)a->words + g * a->row_bytes, a->pack, n_lanes, lanes);
		gq_zeros_decode(lanes, n_lanes, a->pack, u->formats[i], style, za);
		b->layout->unpack_line((const char *)b->words + g * b->row_bytes, b->pack, n_lanes, lanes);
		gq_zeros_decode(lanes, n_lanes, b->pack, to, style, zb);
		if (memcmp(za, zb, a->n) == 0)
			continue;
		for (size_t n = 0; n < a->n; n++)
			if (za[n] != zb[n])
				return differs(l, g, n, za[n], zb[n], err);
	}
	cv->report->n_zeros_verified += a->rows * a->n;
	return GPTQ_OK;
}

static enum gptq_status check_layer(struct gq_conversion *cv, struct gq_unit *u, size_t i, struct gq_shards *written,
				    struct gptq_error *err)
{
	const struct gq_layer *l = &u->source.layers.items[i];
	struct gq_layer out = *l;
	size_t n_lanes = gq_row_lanes(l->pack, (size_t)l->zero_row_bytes);
	void *words_a = NULL, *words_b = NULL;
	uint8_t *rows = gq_malloc_array(n_lanes, 3);
	struct gq_qzeros a, b;
	enum gptq_status status = rows ? gq_check_cancel(cv->options->hooks, err) : gq_fail_nomem(err);

	out.qzeros = gq_shards_find(written, l->qzeros->name, l->qzeros->name_len);
	if (status == GPTQ_OK && (!out.qzeros || out.qzeros->nbytes != l->qzeros->nbytes)) {
		status = gq_fail(err, GPTQ_E_MISMATCH, "the tensor is not in what was written");
		gq_error_tensor(err, l->qzeros->name, l->qzeros->name_len);
	}
	if (status == GPTQ_OK)
		status = gq_read_qzeros(&u->source.shards, l, &words_a, &a, err);
	if (status == GPTQ_OK)
		status = gq_read_qzeros(written, &out, &words_b, &b, err);
	if (status == GPTQ_OK)
		status = compare_rows(cv, u, i, &a, &b, rows, n_lanes, err);
	gq_free(words_a);
	gq_free(words_b);
	gq_free(rows);
	return status;
}

/* n files of a unit, from `first` on, as they now lie in OUT. */
static enum gptq_status open_written(const struct gq_conversion *cv, const struct gq_unit *u, size_t first, size_t n,
				     struct gq_shards *written, struct gq_problems *problems, struct gptq_error *err)
{
	const struct gq_shards *shards = &u->source.shards;
	const char **names, *temp = cv->output.temp_path;
	enum gptq_status status;

	if (cv->units[0].source.file)
		return gq_shards_open_files(NULL, &temp, 1, written, problems, err);
	names = gq_calloc(n, sizeof(*names));
	if (!names)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < n; i++)
		names[i] = u->name ? u->name : shards->items[first + i].name;
	status = gq_shards_open_files(temp, names, n, written, problems, err);
	gq_free(names);
	return status;
}

static enum gptq_status check_metadata(const struct gq_conversion *cv, const struct gq_unit *u, size_t first,
				       const struct gq_shards *written, struct gptq_error *err)
{
	const char *want = gq_label_word(gq_label_of_format(cv->to));

	for (size_t i = 0; i < u->source.n_metadata; i++) {
		size_t shard = u->source.metadata_shard[i];
		const struct gq_st_meta *m;

		if (u->source.metadata[i].label == GQ_LABEL_ABSENT || shard < first || shard - first >= written->n)
			continue;
		m = gq_st_find_meta(written->items[shard - first].st, "gptq_checkpoint_format");
		if (!m || m->value_size != strlen(want) || memcmp(m->value, want, m->value_size) != 0) {
			enum gptq_status status =
				gq_fail(err, GPTQ_E_MISMATCH, "__metadata__.gptq_checkpoint_format was not written");

			gq_error_file(err, written->items[shard - first].name);
			return status;
		}
	}
	return GPTQ_OK;
}

/* Files are opened again in so many parts: each part costs a pass over all layers, and its share of a second table. */
#define PARTS 16

/* The proof of all weights needs all files at once, and with them a second table of all tensors. */
static enum gptq_status check_files(struct gq_conversion *cv, struct gq_unit *u, size_t first, size_t n,
				    struct gptq_error *err)
{
	struct gq_problems problems = {0};
	const struct gq_problem *p;
	struct gq_shards written;
	enum gptq_status status = open_written(cv, u, first, n, &written, &problems, err);

	if (status != GPTQ_OK)
		goto out;
	p = gq_problems_first(&problems, GQ_SEVERITY_ERROR);
	if (p) {
		if (err)
			*err = p->error;
		status = p->error.status;
	}
	if (status == GPTQ_OK)
		status = check_metadata(cv, u, first, &written, err);
	for (size_t i = 0; i < u->source.layers.n && status == GPTQ_OK; i++) {
		size_t shard = u->source.layers.items[i].qzeros->shard;

		if (shard >= first && shard - first < n)
			status = check_layer(cv, u, i, &written, err);
	}
	if (status == GPTQ_OK && cv->options->verify_weights) {
		gq_phase(cv, GPTQ_PHASE_PROVE);
		status = gq_convert_prove(cv, u, &written, err);
		gq_phase(cv, GPTQ_PHASE_CHECK);
	}
	/* A difference may come from a source that changed meanwhile, and then that is to be said. */
	if (status == GPTQ_OK || status == GPTQ_E_MISMATCH) {
		struct gptq_error e;

		if (gq_shards_unchanged(&u->source.shards, &e) != GPTQ_OK) {
			status = e.status;
			if (err)
				*err = e;
		}
	}
	gq_shards_close(&written);
out:
	gq_problems_free(&problems);
	return status;
}

static enum gptq_status check_unit(struct gq_conversion *cv, struct gq_unit *u, struct gptq_error *err)
{
	size_t n = u->source.shards.n, at_once = cv->options->verify_weights ? n : (n + PARTS - 1) / PARTS;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < n && status == GPTQ_OK; i += at_once)
		status = check_files(cv, u, i, n - i < at_once ? n - i : at_once, err);
	return status;
}

static enum gptq_status not_written(const char *path, const char *key, enum gq_label want, struct gptq_error *err)
{
	enum gptq_status status = gq_fail(err, GPTQ_E_MISMATCH, "%s was not written as %s", key, gq_label_word(want));

	gq_error_file(err, path);
	return status;
}

/* No label says anything else, and every GPTQ config has one: an added one that was forgotten is a lost one. */
static enum gptq_status check_labels(const struct gq_config_file *file, enum gq_label want, const char *path,
				     struct gptq_error *err)
{
	for (size_t i = 0; i < file->n_places; i++)
		if (file->places[i].label != want && file->places[i].label != GQ_LABEL_ABSENT)
			return not_written(path, file->places[i].key, want, err);
	for (size_t c = 0; c < file->n_configs; c++) {
		bool says = !file->configs[c].is_gptq;

		for (size_t i = 0; i < file->n_places; i++)
			says = says || (file->places[i].config == c && file->places[i].label == want);
		if (!says)
			return not_written(path, "a label", want, err);
	}
	return GPTQ_OK;
}

/* The text of a config that was written must still be JSON, and say the target. */
static enum gptq_status check_config(const struct gq_conversion *cv, const struct gq_config_file *in,
				     struct gptq_error *err)
{
	struct gq_config_file file;
	char *path = gq_path_join(cv->output.temp_path, in->name), *text = NULL;
	enum gptq_status status = path ? GPTQ_OK : gq_fail_nomem(err);
	size_t size = 0;

	if (status == GPTQ_OK)
		status = gq_read_file(path, GQ_CONFIG_MAX_BYTES, &text, &size, err);
	if (status == GPTQ_OK)
		status = gq_config_read(in->name, in->kind, text, size, &file, err);
	if (status == GPTQ_OK) {
		status = check_labels(&file, gq_label_of_format(cv->to), path, err);
		gq_config_free(&file);
	}
	gq_free(text);
	gq_free(path);
	return status;
}

enum gptq_status gq_convert_check(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	enum gptq_status status = GPTQ_OK;

	gq_phase(cv, GPTQ_PHASE_CHECK);
	for (size_t i = 0; i < cv->n_units && status == GPTQ_OK; i++)
		status = check_unit(cv, &cv->units[i], err);
	for (size_t i = 0; i < s->n_configs && !s->file && status == GPTQ_OK; i++)
		status = check_config(cv, &s->configs[i], err);
	return status;
}
