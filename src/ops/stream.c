/* SPDX-License-Identifier: Apache-2.0 */
/* gptq_convert_stream: what can be settled before the first byte leaves, then one pass. */
#include "base/checked.h"
#include "base/file.h"
#include "base/mem.h"
#include "ops/stream_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_ROW ((uint64_t)64 << 20)

/* ------------------------------------------------------------------------------------------- settling in advance */

static enum gptq_status settle_format(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	enum gq_label label = s->labels.consistent ? s->labels.value : GQ_LABEL_ABSENT;
	enum gptq_status status = gq_labels_check(&s->labels, cv->options->from != GPTQ_ZEROS_NONE, err);

	if (status != GPTQ_OK)
		return status;
	cv->from = cv->options->from;
	cv->report->from_reason = "given with --from; a stream is gone before a verdict on it is reached";
	if (!cv->from && (label == GQ_LABEL_V1 || label == GQ_LABEL_V2)) {
		cv->from = label == GQ_LABEL_V1 ? GPTQ_ZEROS_V1 : GPTQ_ZEROS_V2;
		cv->report->from_reason = "the label; a stream is gone before a verdict on it is reached";
	}
	if (!cv->from)
		return gq_fail(err, GPTQ_E_REFUSED,
			       "a stream carries no label, and it is gone before its tensors could tell what it is: "
			       "--from v1 or "
			       "--from v2, or --config with a label, settles it");
	cv->to = cv->options->relabel ? cv->from : cv->options->to;
	return GPTQ_OK;
}

/* Given, recorded, or meant by the producer; else it must make no difference. */
static enum gptq_status settle_style(struct gq_stream *s, struct gq_style_choice *c, enum gptq_v1_style record)
{
	const struct gq_conversion *cv = s->cv;
	bool refuse;
	enum gptq_v1_style producer = gq_source_producer_style(&cv->units[0].source, c->bits, &refuse);

	s->refuse_3bit = s->refuse_3bit || refuse;
	if (cv->options->v1_style) {
		c->style = gq_style_for_width(cv->options->v1_style, c->bits);
		c->source = GPTQ_STYLE_GIVEN;
	} else if (record) {
		c->style = gq_style_for_width(record, c->bits);
		c->source = GPTQ_STYLE_BY_RECORD;
	} else if (producer) {
		c->style = gq_style_for_width(producer, c->bits);
		c->source = GPTQ_STYLE_BY_PRODUCER;
	} else {
		s->unsettled[gq_width_index(c->bits)] = !(refuse && cv->options->accept_damaged);
		c->style = refuse ? GPTQ_STYLE_LANE : GPTQ_STYLE_CLEAN;
		c->source = GPTQ_STYLE_BY_TENSORS;
	}
	return GPTQ_OK;
}

static enum gptq_status settle_styles(struct gq_stream *s, struct gptq_error *err)
{
	struct gq_unit *u = &s->cv->units[0];
	enum gptq_status status = gq_labels_record(u->source.configs, u->source.n_configs, &u->source.record, err);
	enum gptq_v1_style record = status == GPTQ_OK ? gq_style_from_name(u->source.record) : GPTQ_STYLE_NONE;

	for (unsigned w = 0; w < GQ_N_WIDTHS; w++)
		u->styles[w] = (struct gq_style_choice){.bits = gq_widths[w]};
	for (size_t i = 0; i < u->source.layers.n; i++)
		u->styles[gq_width_index(u->source.layers.items[i].pack.bits)].n_layers++;
	for (unsigned w = 0; w < GQ_N_WIDTHS && status == GPTQ_OK; w++)
		if (u->styles[w].n_layers)
			status = settle_style(s, &u->styles[w], record);
	return status;
}

static enum gptq_status fill_report(struct gq_stream *s, struct gptq_error *err)
{
	const struct gq_unit *u = &s->cv->units[0];
	struct gptq_convert_report *r = s->cv->report;
	const struct gq_labels *labels = &u->source.labels;

	r->from = s->cv->from;
	r->to = s->cv->to;
	r->label_consistent = labels->consistent;
	if (labels->consistent && (labels->value == GQ_LABEL_V1 || labels->value == GQ_LABEL_V2))
		r->label = labels->value == GQ_LABEL_V1 ? GPTQ_ZEROS_V1 : GPTQ_ZEROS_V2;
	r->relabelled = s->cv->options->relabel;
	r->dry_run = s->cv->options->dry_run;
	r->n_layers = u->source.layers.n;
	r->evidence = gq_strdup("none: the codes of a stream are gone before they could be compared");
	for (size_t i = 0; i < u->source.layers.n; i++) {
		unsigned bits = u->source.layers.items[i].pack.bits, k = 0;

		while (k < r->n_widths && r->widths[k].bits != bits)
			k++;
		if (k == r->n_widths) {
			const struct gq_style_choice *c = &u->styles[gq_width_index(bits)];

			r->widths[r->n_widths++] = (struct gptq_convert_width){
				.bits = bits, .zero_min = UINT8_MAX, .style = c->style, .style_source = c->source};
			if (!c->style && s->cv->write_style && s->cv->from != s->cv->to) {
				r->widths[k].style = gq_style_for_width(s->cv->write_style, bits);
				r->widths[k].style_source = GPTQ_STYLE_GIVEN;
			}
		}
		r->widths[k].n_layers++;
		r->n_layers_changed += gq_layer_changes(s->cv, u, i);
	}
	r->unchanged = r->n_layers_changed == 0;
	return r->evidence ? GPTQ_OK : gq_fail_nomem(err);
}

/* From a header alone. */
static enum gptq_status settle_unread(struct gq_stream *s, struct gptq_error *err)
{
	struct gq_conversion *cv = s->cv;
	struct gq_source_options so = {.config_path = cv->options->config, .bits = cv->options->bits};
	struct gq_unit *u = &cv->units[0];
	struct gq_st *st = NULL;
	enum gptq_status status = gq_pipe_read_header(&s->pipe, &st, err);

	if (status == GPTQ_OK)
		status = gq_source_adopt(st, s->pipe.in_name, &so, &u->source, err);
	if (status != GPTQ_OK)
		return status;
	cv->n_units = 1;
	u->source.file = gq_strdup(s->pipe.in_name);
	u->formats = gq_calloc(u->source.layers.n, sizeof(*u->formats));
	status = u->source.file && u->formats ? gq_labels_check(&u->source.labels, true, err) : gq_fail_nomem(err);
	if (status == GPTQ_OK)
		status = gq_convert_check_problems(&u->source, err);
	if (status == GPTQ_OK)
		status = gq_convert_check_layers(&u->source, err);
	if (status == GPTQ_OK)
		status = settle_format(cv, err);
	cv->write_style = cv->to == GPTQ_ZEROS_V1 ? cv->options->v1_style : GPTQ_STYLE_NONE;
	for (size_t i = 0; i < u->source.layers.n && status == GPTQ_OK; i++) {
		u->formats[i] = cv->from;
		if (!u->source.layers.items[i].g_idx)
			status = gq_stream_check_groups(&u->source.layers.items[i], err);
	}
	if (status == GPTQ_OK && cv->from == GPTQ_ZEROS_V1 && cv->to == GPTQ_ZEROS_V2)
		status = settle_styles(s, err);
	if (status == GPTQ_OK)
		status = fill_report(s, err);
	return status;
}

/* A file can be judged before, as always; its bytes then go the way of a stream. */
static enum gptq_status settle_file(struct gq_stream *s, int *opened, struct gptq_error *err)
{
	struct gq_conversion *cv = s->cv;
	enum gptq_status status = gq_convert_decide(cv, err);
	uint64_t size;

	if (status != GPTQ_OK)
		return status;
	if (!cv->units[0].source.file) {
		status = gq_fail(err, GPTQ_E_ARG, "a folder does not go into a stream; one safetensors file does");
		gq_error_file(err, cv->in);
		return status;
	}
	s->judged = true;
	status = gq_open_read(cv->in, opened, &size, err);
	if (status == GPTQ_OK &&
	    lseek(*opened, (off_t)cv->units[0].source.shards.items[0].st->data_start, SEEK_SET) < 0)
		status = gq_fail_errno(err, errno, cv->in, "cannot read");
	s->pipe.in = *opened;
	return status;
}

/* -------------------------------------------------------------------------------------------------------- the pass */

static enum gptq_status prepare(struct gq_stream *s, struct gptq_error *err)
{
	const struct gq_source *source = &s->cv->units[0].source;
	size_t lanes = 0;

	s->room = GQ_PIPE_BLOCK;
	s->layer_of = gq_calloc(source->shards.n_tensors, sizeof(*s->layer_of));
	if (!s->layer_of)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < source->layers.n; i++) {
		const struct gq_layer *l = &source->layers.items[i];

		if (l->zero_row_bytes > MAX_ROW) {
			enum gptq_status status =
				gq_fail(err, GPTQ_E_LIMIT, "a row of qzeros is larger than a stream can hold");

			gq_error_tensor(err, l->name, l->name_len);
			return status;
		}
		s->layer_of[l->qzeros - source->shards.tensors] = (uint32_t)i + 1;
		if (l->g_idx)
			s->layer_of[l->g_idx - source->shards.tensors] = (uint32_t)i + 1;
		if (l->zero_row_bytes > s->room)
			s->room = (size_t)l->zero_row_bytes;
		if (gq_row_lanes(l->pack, (size_t)l->zero_row_bytes) > lanes)
			lanes = gq_row_lanes(l->pack, (size_t)l->zero_row_bytes);
	}
	s->block = gq_malloc_array(s->room, 1);
	s->before = gq_malloc_array(s->room, 1);
	s->lanes = gq_malloc_array(lanes, 3);
	return s->block && s->before && s->lanes ? GPTQ_OK : gq_fail_nomem(err);
}

static enum gptq_status put_header(struct gq_stream *s, struct gptq_error *err)
{
	const struct gq_st *st = s->cv->units[0].source.shards.items[0].st;
	struct gq_buf header = {0};
	unsigned char length[8];
	enum gptq_status status = gq_shard_header(&s->cv->units[0].source.shards, 0, err);

	if (status == GPTQ_OK)
		status = gq_new_header(s->cv, &s->cv->units[0], 0, &header, err);
	if (status == GPTQ_OK && !header.size)
		gq_buf_add(&header, st->header, (size_t)st->header_size);
	if (status == GPTQ_OK && header.failed)
		status = gq_fail_nomem(err);
	gq_store_le(length, header.size, 8);
	if (status == GPTQ_OK)
		status = gq_pipe_put(&s->pipe, length, 8, err);
	if (status == GPTQ_OK)
		status = gq_pipe_put(&s->pipe, header.data, header.size, err);
	gq_buf_free(&header);
	return status;
}

/* By place in the file; empty tensors stand before the one that begins there. */
static int by_offset(const void *a, const void *b)
{
	const struct gq_tensor *x = *(const struct gq_tensor *const *)a, *y = *(const struct gq_tensor *const *)b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->nbytes > y->nbytes) - (x->nbytes < y->nbytes);
}

static enum gptq_status pass(struct gq_stream *s, struct gptq_error *err)
{
	struct gq_shards *shards = &s->cv->units[0].source.shards;
	const struct gq_st *st = shards->items[0].st;
	const struct gq_tensor **order = gq_malloc_array(shards->n_tensors, sizeof(*order));
	enum gptq_status status = order ? prepare(s, err) : gq_fail_nomem(err);
	int fd;

	for (size_t i = 0; order && i < shards->n_tensors; i++)
		order[i] = &shards->tensors[i];
	if (order && shards->n_tensors)
		qsort(order, shards->n_tensors, sizeof(*order), by_offset);
	s->pipe.total = st->data_start + st->data_size;
	if (status == GPTQ_OK)
		status = put_header(s, err);
	for (size_t i = 0; i < shards->n_tensors && status == GPTQ_OK; i++)
		status = gq_stream_tensor(s, order[i], err);
	gq_free(order);
	if (status == GPTQ_OK && s->judged) /* what went out must be what was judged */
		status = gq_shard_fd(shards, 0, &fd, err);
	return status == GPTQ_OK ? gq_pipe_finish(&s->pipe, err) : status;
}

/* What only the pass has shown. */
static enum gptq_status warn(struct gq_stream *s, struct gptq_error *err)
{
	struct gptq_convert_report *r = s->cv->report;
	const char *word = gq_label_word(gq_label_of_format(s->cv->to));
	enum gptq_status status = gq_report_warn(r, "no-config-written", err,
						 "a stream: no config was written, so the config beside OUT must say "
						 "checkpoint_format \"%s\"",
						 word);

	for (unsigned i = 0; i < r->n_widths && status == GPTQ_OK; i++) {
		const struct gptq_convert_width *w = &r->widths[i];

		if (w->n_unknown)
			status = gq_report_warn(
				r, "smeared-zeros", err,
				"not lossless: %llu zero points in %llu words at %u bits are lost since the "
				"checkpoint was written, and were converted as they stand",
				(unsigned long long)w->n_unknown, (unsigned long long)w->n_damaged_words, w->bits);
		if (status == GPTQ_OK && s->cv->write_style && r->n_layers_changed && w->n_zeros_at_0)
			status = gq_report_warn(
				r, "style-not-recorded", err,
				"nothing records that z = 0 was written in the style %s at %u bits: pass "
				"--v1-style on the way back",
				gptq_style_name(gq_style_for_width(s->cv->write_style, w->bits)), w->bits);
	}
	return status;
}

static enum gptq_status report_label(struct gq_stream *s, struct gptq_error *err)
{
	const struct gq_source *source = &s->cv->units[0].source;
	const char *word = gq_label_word(gq_label_of_format(s->cv->to));

	if (!source->n_metadata || source->metadata[0].label == GQ_LABEL_ABSENT ||
	    !strcmp(source->metadata[0].value, word))
		return GPTQ_OK;
	return gq_report_label(s->cv->report, source->metadata[0].file, source->metadata[0].key,
			       source->metadata[0].value, word, err);
}

/* -------------------------------------------------------------------------------------------------------- into a file
 */

/* The file as it lies on disk must have the checksum of what was put into it. */
static enum gptq_status read_back(struct gq_stream *s, int fd, struct gptq_error *err)
{
	uint32_t crc = 0;
	uint64_t at = 0;
	enum gptq_status status = GPTQ_OK;

	while (at < s->pipe.n_written && status == GPTQ_OK) {
		size_t n = s->pipe.n_written - at < GQ_PIPE_BLOCK ? (size_t)(s->pipe.n_written - at) : GQ_PIPE_BLOCK;

		status = gq_pread_full(fd, s->block, n, at, s->pipe.out_name, err);
		crc = (uint32_t)crc32_z(crc, s->block, n);
		at += n;
	}
	if (status == GPTQ_OK && crc != s->pipe.crc) {
		status = gq_fail(err, GPTQ_E_MISMATCH, "what was written is not what lies on disk");
		gq_error_file(err, s->pipe.out_name);
	}
	return status;
}

/* The only file of OUT, noted as other conversions note theirs. */
static enum gptq_status write_manifest(struct gq_stream *s, const char *name, struct gptq_error *err)
{
	struct gq_conversion *cv = s->cv;
	enum gptq_status status;

	if (!cv->options->manifest)
		return GPTQ_OK;
	cv->written = gq_calloc(1, sizeof(*cv->written));
	if (!cv->written)
		return gq_fail_nomem(err);
	cv->n_written = 1;
	cv->written[0].size = s->pipe.n_written;
	status = gq_sha256_end(&s->sha256, cv->written[0].sha256, err);
	return status == GPTQ_OK ? gq_manifest_write(cv, name, err) : status;
}

static enum gptq_status pass_into_file(struct gq_stream *s, const char *out, struct gptq_error *err)
{
	struct gq_output *o = &s->cv->output;
	enum gptq_status status = gq_output_begin(out, false, s->cv->options->force, o, err);
	int fd = -1;

	if (status != GPTQ_OK)
		return status;
	fd = open(o->temp_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	status = fd >= 0 ? GPTQ_OK : gq_fail_errno(err, errno, out, "cannot create the file");
	s->pipe.out = fd;
	if (status == GPTQ_OK)
		status = pass(s, err);
	if (status == GPTQ_OK)
		status = gq_fsync(fd, out, err);
	gq_phase(s->cv, GPTQ_PHASE_CHECK);
	if (status == GPTQ_OK)
		status = read_back(s, fd, err);
	if (fd >= 0 && close(fd) != 0 && status == GPTQ_OK)
		status = gq_fail_errno(err, errno, out, "cannot write the file to disk");
	gq_phase(s->cv, GPTQ_PHASE_FINISH);
	if (status == GPTQ_OK)
		status = write_manifest(s, gq_path_base(o->final_path), err);
	if (status == GPTQ_OK)
		status = gq_output_commit(o, err);
	gq_output_drop(o);
	return status;
}

/* ------------------------------------------------------------------------------------------------------------ all */

static enum gptq_status pass_into_stream(struct gq_stream *s, struct gptq_error *err)
{
	enum gptq_status status = pass(s, err);

	return status == GPTQ_OK ? write_manifest(s, "-", err) : status;
}

/* The manifest must not take the place of a file that the streams are. */
static enum gptq_status check_apart(const struct gq_stream *s, struct gptq_error *err)
{
	const char *path = s->cv->manifest_path;
	const int ends[] = {s->pipe.in, s->pipe.out};
	struct stat place, end;

	if (!path || stat(path, &place) != 0)
		return GPTQ_OK;
	for (unsigned i = 0; i < 2; i++) {
		enum gptq_status status;

		if (ends[i] < 0 || fstat(ends[i], &end) != 0 || end.st_dev != place.st_dev || end.st_ino != place.st_ino)
			continue;
		status = gq_fail(err, GPTQ_E_ARG, "the manifest is the %s; choose another place", i ? "output" : "input");
		gq_error_file(err, path);
		return status;
	}
	return GPTQ_OK;
}

static enum gptq_status run(struct gq_stream *s, const char *in, const char *out, int *opened, struct gptq_error *err)
{
	struct gptq_convert_report *r = s->cv->report;
	enum gptq_status status = in ? settle_file(s, opened, err) : settle_unread(s, err);

	if (status == GPTQ_OK && !in)
		status = report_label(s, err);
	if (status == GPTQ_OK && out)
		status = gq_output_check(out, false, s->cv->options->force, err);
	if (status == GPTQ_OK)
		status = gq_manifest_place(s->cv, out, err);
	if (status == GPTQ_OK)
		status = check_apart(s, err);
	if (status == GPTQ_OK && s->cv->options->manifest)
		status = gq_sha256_begin(&s->sha256, err);
	s->pipe.sha256 = s->cv->options->manifest ? &s->sha256 : NULL;
	gq_phase(s->cv, GPTQ_PHASE_WRITE);
	if (status == GPTQ_OK && !s->cv->options->dry_run)
		status = out ? pass_into_file(s, out, err) : pass_into_stream(s, err);
	if (status == GPTQ_OK)
		status = gq_manifest_commit(s->cv, err);
	gq_output_drop(&s->cv->manifest);
	gq_phase(s->cv, GPTQ_PHASE_FINISH);
	r->n_files = r->n_shards = !s->cv->options->dry_run;
	r->n_bytes = s->pipe.n_written;
	r->n_bytes_copied = r->n_bytes - (r->n_bytes_rewritten < r->n_bytes ? r->n_bytes_rewritten : r->n_bytes);
	return status == GPTQ_OK && !in ? warn(s, err) : status;
}

enum gptq_status gptq_convert_stream(const char *in, int in_fd, const char *out, int out_fd,
				     const struct gptq_convert_options *options, struct gptq_convert_report **report,
				     struct gptq_error *err)
{
	struct gq_conversion cv = {.options = options, .in = in};
	struct gq_stream s = {.cv = &cv,
			      .pipe = {.in = in_fd,
				       .out = out_fd,
				       .in_name = in ? in : "-",
				       .out_name = out ? out : "-"}};
	enum gptq_status status;
	int opened = -1;

	if (report)
		*report = NULL;
	if (!options)
		return gq_fail(err, GPTQ_E_ARG, "options must not be NULL");
	s.pipe.hooks = options->hooks;
	status = gq_convert_check_options(options, err);
	if (status == GPTQ_OK && options->verify_weights)
		status = gq_fail(err, GPTQ_E_ARG, "--verify=weights reads OUT back, and a stream is gone by then");
	if (status == GPTQ_OK && !in && options->per_layer)
		status = gq_fail(err, GPTQ_E_ARG,
				 "--per-layer goes by verdicts, and a stream is gone before they are reached");
	if (status != GPTQ_OK)
		return status;
	status = gq_convert_start(&cv, err);
	if (status == GPTQ_OK)
		status = run(&s, in, out, &opened, err);
	if (status == GPTQ_E_CANCELLED && !out)
		gq_fail(err, GPTQ_E_CANCELLED, "stopped on request; the output is cut off");
	if (opened >= 0)
		close(opened);
	gq_pipe_free(&s.pipe);
	gq_sha256_free(&s.sha256);
	gq_free(s.layer_of);
	gq_free(s.block);
	gq_free(s.before);
	gq_free(s.lanes);
	gq_convert_free(&cv);
	if (status == GPTQ_OK && report)
		*report = cv.report;
	else
		gptq_convert_report_free(cv.report);
	return status;
}
