/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversion in hand. It goes through these steps, each in a file of its own:
 *
 *   convert.c         open IN and its strays, settle format and styles (settle.h)
 *   convert_strays.c  the same for safetensors files outside the model
 *   convert_plan.c    count zero points, decide the written style, labels and warnings
 *   convert_spans.c   the zero points by file
 *   convert_files.c   which file goes over how
 *   convert_write.c   write everything under a temporary name,
 *   convert_shard.c   safetensors files in one pass
 *   convert_check.c   read it back, and
 *   convert_zeros.c   compare what it decodes to
 *   convert_prove.c   and, if asked for, compare all weights
 *   convert_manifest.c   write the digests of all files, if asked for
 *   convert.c         rename, hand out the report
 *   convert_progress.c   tell of all this as one count of bytes
 */
#ifndef GQ_OPS_CONVERT_INTERNAL_H
#define GQ_OPS_CONVERT_INTERNAL_H

#include "base/copy.h"
#include "base/output.h"
#include "ops/prove.h"
#include "ops/settle.h"

/* Zero points of one layer in a file. */
struct gq_span {
	uint64_t offset; /* in the source */
	uint32_t layer;
};

/* Files whose layers are judged and converted together: the model, or one stray file beside it. */
struct gq_unit {
	struct gq_source source;
	struct gq_survey survey;
	enum gptq_zeros_format *formats;               /* what each layer is now */
	struct gq_style_choice styles[GQ_N_WIDTHS];    /* how v1 layers are read */
	const char *name;                              /* of a stray: its path in OUT; NULL for the model */
	struct gq_span *spans;  /* of all layers, by file and offset ... */
	size_t *first_span;     /* ... those of file s are first_span[s] .. first_span[s + 1] - 1 */
};

/* Text that goes into OUT in the place of a file of IN. */
struct gq_new_text {
	const char *name; /* relative; borrowed */
	char *data;
	size_t size;
	bool changed;
};

/* A file of OUT, and how it came there. */
struct gq_written {
	const char *name;                  /* relative; a lone file's path in IN; borrowed */
	const struct gq_tree_entry *entry; /* NULL for a lone file */
	struct gq_unit *unit;              /* whose safetensors file it is, NULL if of none ... */
	uint32_t shard;                    /* ... and which of its files */
	uint64_t size, n_copied, n_rewritten, n_shared;
	char sha256[GQ_SHA256_HEX];        /* with a manifest */
};

/* What one thread writes files with. */
struct gq_writer {
	struct gq_conversion *cv;
	struct gq_copy_watch watch;
	struct gq_sha256 digest;
	unsigned char *rows; /* of zero points */
	size_t rows_size;
};

/* Whom progress is told to, with what is behind the step in hand and ahead of it, in bytes. */
struct gq_progress {
	const struct gptq_hooks *to;
	struct gptq_hooks hooks; /* for the steps */
	uint64_t behind, ahead;
};

struct gq_conversion {
	const struct gptq_convert_options *options;
	struct gq_wishes wishes;
	const char *in, *out; /* out NULL: in place, or a stream */
	bool in_place;
	struct gq_unit *units; /* the model first */
	size_t n_units;
	enum gptq_zeros_format from, to; /* from NONE: by layer */
	enum gptq_v1_style write_style;  /* NONE: no z = 0 and none given: lanes alike in all styles */
	const char *record;              /* see gq_config_rewrite */
	struct gq_new_text *texts;       /* configs, one for each of the model's config files */
	size_t n_texts;
	struct gptq_convert_report *report;
	struct gq_output output;
	struct gq_written *written; /* in the order of names */
	size_t n_written;
	char *manifest_path;        /* as shown; NULL: none is asked for */
	bool manifest_inside;       /* it is a file in the folder OUT */
	struct gq_output manifest;  /* where it is not */
	enum gptq_phase phase;      /* what is being done, ... */
	double since;               /* ... and since when */
	struct gq_progress progress;
	struct gq_prover prover; /* with options->verify_weights */
};

/* Does the layer's qzeros change? And the style in which v1 is read or written then. */
static inline bool gq_layer_changes(const struct gq_conversion *cv, const struct gq_unit *u, size_t i)
{
	return !cv->options->relabel && u->formats[i] != cv->to;
}
enum gptq_v1_style gq_layer_style(const struct gq_conversion *cv, const struct gq_unit *u, size_t i);

/* Fills spans and first_span. */
enum gptq_status gq_find_spans(struct gq_unit *u, struct gptq_error *err);
/* Do zero points of file `shard` change? */
bool gq_spans_change(const struct gq_conversion *cv, const struct gq_unit *u, uint32_t shard);

/* The safetensors header that file `shard` gets. out stays empty if nothing changes. */
enum gptq_status gq_new_header(const struct gq_conversion *cv, const struct gq_unit *u, uint32_t shard,
			       struct gq_buf *out, struct gptq_error *err);

/* options that contradict themselves. */
enum gptq_status gq_convert_check_options(const struct gptq_convert_options *options, struct gptq_error *err);
/* Allocates what a conversion whose options are set needs; gq_convert_free() frees all but the report. */
enum gptq_status gq_convert_start(struct gq_conversion *cv, struct gptq_error *err);
/* Everything up to the first byte written: opens cv->in, settles, plans. */
enum gptq_status gq_convert_decide(struct gq_conversion *cv, struct gptq_error *err);
/* Are the files that were read still what they were? GPTQ_E_IO if not. */
enum gptq_status gq_convert_unchanged(const struct gq_conversion *cv, struct gptq_error *err);
void gq_convert_free(struct gq_conversion *cv);

/* What cannot be gone on with: the first error among the problems of opening and surveying. */
enum gptq_status gq_convert_check_problems(const struct gq_source *source, struct gptq_error *err);
/* Are there layers, and is their width what --bits and config say? */
enum gptq_status gq_convert_check_layers(struct gq_source *source, struct gptq_error *err);
/* Formats and styles of a unit whose source is open and surveyed. */
enum gptq_status gq_convert_settle_unit(struct gq_conversion *cv, struct gq_unit *unit, enum gptq_zeros_format format,
					struct gptq_error *err);
/* Deals with the files outside the model as options->strays says. */
enum gptq_status gq_convert_strays(struct gq_conversion *cv, struct gptq_error *err);

enum gptq_status gq_convert_plan(struct gq_conversion *cv, struct gptq_error *err);
enum gptq_status gq_convert_write(struct gq_conversion *cv, struct gptq_error *err);
/* Threads for --jobs; 0: what cores and disks bear. */
unsigned gq_convert_threads(unsigned jobs);
/* Into dst, a new file: shard `shard` of the unit. */
enum gptq_status gq_write_shard(struct gq_writer *writer, struct gq_unit *unit, uint32_t shard, int dst,
				struct gq_written *out, struct gptq_error *err);
enum gptq_status gq_convert_check(struct gq_conversion *cv, struct gptq_error *err);
/* Compares the weights of a unit with those of its files as they were written. */
enum gptq_status gq_convert_prove(struct gq_conversion *cv, struct gq_unit *unit, struct gq_shards *written,
				  struct gptq_error *err);

/* progress->hooks will ask `to` (may be NULL) and tell it. */
void gq_progress_begin(struct gq_progress *progress, const struct gptq_hooks *to);
/* A step of `done` bytes is over; so many are to come after the next one. */
void gq_progress_step(struct gq_progress *progress, uint64_t done, uint64_t ahead);
/* The same before and after a survey of `done` bytes (0: before), before writing, and before and after a proof. */
void gq_progress_survey(struct gq_conversion *cv, uint64_t done);
void gq_progress_write(struct gq_conversion *cv);
void gq_progress_prove(struct gq_conversion *cv, const struct gq_unit *u, uint64_t done);
/* What the proof of a unit reads. */
uint64_t gq_unit_proof_bytes(const struct gq_unit *u);

/* From now on time is spent on this. */
void gq_phase(struct gq_conversion *cv, enum gptq_phase phase);

/* Where the manifest goes, and may it? out: OUT, NULL for a stream. */
enum gptq_status gq_manifest_place(struct gq_conversion *cv, const char *out, struct gptq_error *err);
/* Does the manifest take the place of the file `name` of IN's folder? */
bool gq_manifest_replaces(const struct gq_conversion *cv, const char *name);
/* Writes it inside the unfinished OUT, or under a temporary name of its own. lone_name: what a lone file is called. */
enum gptq_status gq_manifest_write(struct gq_conversion *cv, const char *lone_name, struct gptq_error *err);
/* Once OUT is in its place. */
enum gptq_status gq_manifest_commit(struct gq_conversion *cv, struct gptq_error *err);

/* Report helpers. */
__attribute__((format(printf, 4, 5))) enum gptq_status gq_report_warn(struct gptq_convert_report *r, const char *code,
								      struct gptq_error *err, const char *fmt, ...);
enum gptq_status gq_report_label(struct gptq_convert_report *r, const char *file, const char *key,
				 const char *old_value, const char *new_value, struct gptq_error *err);
enum gptq_status gq_report_not_copied(struct gptq_convert_report *r, const char *name, struct gptq_error *err);

/* Warnings about files that are left out or keep the old zero points, and the bytes to write. */
enum gptq_status gq_convert_plan_files(struct gq_conversion *cv, struct gptq_error *err);

/* Will the file stay out of OUT: a checksum file that names a file that changes, or whose place the manifest takes? */
enum gptq_status gq_is_left_out(const struct gq_conversion *cv, const char *name, bool *left_out,
				struct gptq_error *err);

/* The unit and shard that the file `name` of the folder is, if it is one. */
struct gq_unit *gq_unit_of_file(const struct gq_conversion *cv, const char *name, uint32_t *shard);
/* The new text of the file `name`, NULL if it is copied as it is. */
const struct gq_new_text *gq_text_of_file(const struct gq_conversion *cv, const char *name);

#endif
