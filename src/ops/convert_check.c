/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was written is opened again by the strict reader and decoded by the plain loops: every zero point of every layer
 * must be what the source's was, and every label must say the target. Fast paths that wrote it are not used here. A
 * header that is the source's byte for byte, in a file of the same size, has been through the strict reader with the
 * source, and is not parsed a second time.
 */
#include "base/file.h"
#include "base/mem.h"
#include "base/slurp.h"
#include "ops/convert_check.h"

#include <string.h>
#include <unistd.h>

/* Where file `shard` of the unit was written; gq_free. */
static char *path_written(const struct gq_checking *c, size_t shard)
{
	const char *temp = c->cv->output.temp_path;

	if (c->cv->units[0].source.file)
		return gq_strdup(temp);
	return gq_path_join(temp, c->unit->name ? c->unit->name : c->unit->source.shards.items[shard].name);
}

static enum gptq_status open_names(const struct gq_checking *c, size_t first, size_t n, struct gq_shards *written,
				   struct gq_problems *problems, struct gptq_error *err)
{
	const char **names, *temp = c->cv->output.temp_path;
	enum gptq_status status;

	if (c->cv->units[0].source.file)
		return gq_shards_open_files(NULL, &temp, 1, written, problems, err);
	names = gq_calloc(n, sizeof(*names));
	if (!names)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < n; i++)
		names[i] = c->unit->name ? c->unit->name : c->unit->source.shards.items[first + i].name;
	status = gq_shards_open_files(temp, names, n, written, problems, err);
	gq_free(names);
	return status;
}

/* n files of the unit, from `first` on, as they now lie in OUT: not open after a failure. */
static enum gptq_status open_written(const struct gq_checking *c, size_t first, size_t n, struct gq_shards *written,
				     struct gptq_error *err)
{
	struct gq_problems problems = {0};
	enum gptq_status status = open_names(c, first, n, written, &problems, err);

	if (status == GPTQ_OK) {
		const struct gq_problem *p = gq_problems_first(&problems, GQ_SEVERITY_ERROR);

		if (p) {
			if (err)
				*err = p->error;
			status = p->error.status;
			gq_shards_close(written);
		}
	}
	gq_problems_free(&problems);
	return status;
}

static enum gptq_status check_metadata(const struct gq_checked_file *f, struct gptq_error *err)
{
	const struct gq_source *s = &f->c->unit->source;
	const struct gq_shard *written = &f->written->items[f->number];
	const char *want = gq_label_word(gq_label_of_format(f->c->cv->to));

	for (size_t i = 0; i < s->n_metadata; i++) {
		const struct gq_st_meta *m;

		if (s->metadata_shard[i] != f->shard || s->metadata[i].label == GQ_LABEL_ABSENT)
			continue;
		m = gq_st_find_meta(written->st, "gptq_checkpoint_format");
		if (!m || m->value_size != strlen(want) || memcmp(m->value, want, m->value_size) != 0) {
			enum gptq_status status =
				gq_fail(err, GPTQ_E_MISMATCH, "__metadata__.gptq_checkpoint_format was not written");

			gq_error_file(err, written->name);
			return status;
		}
	}
	return GPTQ_OK;
}

/* Tensors stand by file: where do those of this one begin? */
static size_t first_tensor(const struct gq_shards *shards, uint32_t shard)
{
	size_t low = 0, high = shards->n_tensors;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (shards->tensors[middle].shard < shard)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One that the strict reader has opened. */
static enum gptq_status check_opened(struct gq_checked_file *f, struct gq_shards *written, uint32_t number,
				     struct gq_work *work, unsigned worker, struct gptq_error *err)
{
	enum gptq_status status;

	f->written = written;
	f->number = number;
	f->out_path = written->items[number].path;
	f->first = first_tensor(&f->c->unit->source.shards, f->shard);
	f->first_written = first_tensor(written, number);
	status = check_metadata(f, err);
	if (status == GPTQ_OK)
		status = gq_shard_hold(written, number, &f->out, err);
	if (status != GPTQ_OK)
		return status;
	status = gq_check_zeros(f, work, worker, err);
	gq_shard_let_go(written, number);
	return status;
}

/* The file at f->out_path, open as f->out: has it the header of the source? Its label is not looked at. */
static enum gptq_status has_same_header(const struct gq_checked_file *f, uint64_t size, bool *same,
					struct gptq_error *err)
{
	const struct gq_shard *s = &f->c->unit->source.shards.items[f->shard];
	enum gptq_status status = GPTQ_OK;

	*same = size == s->size;
	for (uint64_t at = 0; at < s->st->data_start && *same && status == GPTQ_OK; at += f->checker->size) {
		uint64_t left = s->st->data_start - at;
		size_t n = left < f->checker->size ? (size_t)left : f->checker->size;

		status = gq_read_both(f, at, at, n, err);
		*same = status == GPTQ_OK && memcmp(f->checker->in, f->checker->out, n) == 0;
	}
	return status;
}

/* *same: it has the source's header, and was checked. */
static enum gptq_status check_same(struct gq_checked_file *f, struct gq_work *work, unsigned worker, bool *same,
				   struct gptq_error *err)
{
	const struct gq_source *s = &f->c->unit->source;
	enum gptq_status status;
	uint64_t size;

	*same = false;
	for (size_t i = 0; i < s->n_metadata; i++)
		if (s->metadata_shard[i] == f->shard)
			return GPTQ_OK;
	status = gq_open_read(f->out_path, &f->out, &size, err);
	if (status != GPTQ_OK)
		return status;
	status = has_same_header(f, size, same, err);
	if (status == GPTQ_OK && *same)
		status = gq_check_zeros(f, work, worker, err);
	close(f->out);
	return status;
}

static enum gptq_status check_file(struct gq_checked_file *f, struct gq_work *work, unsigned worker,
				   struct gptq_error *err)
{
	const struct gq_unit *u = f->c->unit;
	char *path = path_written(f->c, f->shard);
	enum gptq_status status = path ? GPTQ_OK : gq_fail_nomem(err);
	struct gq_shards written;
	bool same = false;

	f->out_path = path;
	if (status == GPTQ_OK)
		status = gq_checker_room(f->checker, u, f->shard, err);
	if (status == GPTQ_OK && !f->c->written)
		status = check_same(f, work, worker, &same, err);
	if (status == GPTQ_OK && f->c->written) {
		status = check_opened(f, f->c->written, f->shard, work, worker, err);
	} else if (status == GPTQ_OK && !same) {
		status = open_written(f->c, f->shard, 1, &written, err);
		if (status == GPTQ_OK) {
			status = check_opened(f, &written, 0, work, worker, err);
			gq_shards_close(&written);
		}
	}
	gq_free(path);
	return status;
}

/* The source's file is held meanwhile, so that no read has to ask for it. */
static enum gptq_status check_item(void *ctx, size_t item, struct gq_work *work, unsigned worker,
				   struct gptq_error *err)
{
	const struct gq_checking *c = ctx;
	struct gq_shards *source = &c->unit->source.shards;
	struct gq_checked_file f = {
		.c = c, .checker = &c->checkers[worker], .shard = (uint32_t)item, .in_path = source->items[item].path};
	enum gptq_status status = gq_shard_hold(source, f.shard, &f.in, err);
	struct gptq_error e;
	int fd;

	if (status != GPTQ_OK)
		return status;
	status = check_file(&f, work, worker, err);
	/* A difference may come from a source that changed meanwhile, and then that is to be said. */
	if ((status == GPTQ_OK || status == GPTQ_E_MISMATCH) && gq_shard_fd(source, f.shard, &fd, &e) != GPTQ_OK) {
		status = e.status;
		if (err)
			*err = e;
	}
	gq_shard_let_go(source, f.shard);
	return status;
}

/* What has been compared is summed up afterwards: threads do not share a count. */
static enum gptq_status check_files(struct gq_checking *c, struct gptq_error *err)
{
	size_t n = c->unit->source.shards.n;
	unsigned n_threads = gq_work_threads(gq_convert_threads(c->cv->options->jobs), n);
	enum gptq_status status;

	c->checkers = gq_calloc(n_threads, sizeof(*c->checkers));
	if (!c->checkers)
		return gq_fail_nomem(err);
	/* Its few bytes are in no count. */
	status = gq_work_run(n, n_threads, check_item, c, c->cv->options->hooks, 0, err);
	for (unsigned i = 0; i < n_threads; i++) {
		c->cv->report->n_zeros_verified += c->checkers[i].n_zeros;
		gq_checker_free(&c->checkers[i]);
	}
	gq_free(c->checkers);
	return status;
}

/* The proof of all weights needs all files at once, and with them a second table of all tensors. */
static enum gptq_status check_and_prove(struct gq_checking *c, struct gptq_error *err)
{
	struct gq_shards written;
	enum gptq_status status = open_written(c, 0, c->unit->source.shards.n, &written, err);

	if (status != GPTQ_OK)
		return status;
	c->written = &written;
	status = check_files(c, err);
	if (status == GPTQ_OK) {
		gq_phase(c->cv, GPTQ_PHASE_PROVE);
		status = gq_convert_prove(c->cv, c->unit, &written, err);
		gq_phase(c->cv, GPTQ_PHASE_CHECK);
	}
	if (status == GPTQ_OK || status == GPTQ_E_MISMATCH) {
		struct gptq_error e;

		if (gq_shards_unchanged(&c->unit->source.shards, &e) != GPTQ_OK) {
			status = e.status;
			if (err)
				*err = e;
		}
	}
	gq_shards_close(&written);
	return status;
}

static enum gptq_status check_unit(struct gq_conversion *cv, struct gq_unit *u, struct gptq_error *err)
{
	struct gq_checking c = {.cv = cv, .unit = u};

	return cv->options->verify_weights ? check_and_prove(&c, err) : check_files(&c, err);
}

/* ---------------------------------------------------------------------------------------------------------- configs */

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
