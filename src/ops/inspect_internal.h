/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An inspection in hand:
 *
 *   inspect.c           open, survey, fill the report
 *   inspect_layers.c    what is said of each layer: zero points, scales, groups
 *   inspect_config.c    findings about labels and configs
 *   inspect_tensors.c   findings about layers and files
 *   checksum.c          digests of tensors and of a hub cache's blobs
 *   digest.c            digests of weights
 *   inspect_progress.c  how far all this is
 */
#ifndef GQ_OPS_INSPECT_INTERNAL_H
#define GQ_OPS_INSPECT_INTERNAL_H

#include "base/arena.h"
#include "ops/settle.h"

/* What only the inspection itself needs of a layer. */
struct gq_layer_notes {
	uint64_t n_harmful_zero_scales; /* (group, column) pairs with scale 0 where some q != z */
};

/* A report and what is its own beside it. */
struct gq_report {
	struct gptq_inspect_report report; /* what callers see */
	struct gq_arena arena;             /* names and shapes of layers and tensors ... */
	char *names;                       /* ... and those names that came over from the index as they are */
};

/* How far an inspection is: see inspect_progress.c. */
struct gq_steps {
	const struct gptq_hooks *outer; /* the caller's, or NULL */
	struct gptq_hooks hooks;        /* what the steps get */
	uint64_t before, step, later;   /* bytes of the steps that are over, of the one in hand, of those to come */
	uint64_t done;                  /* of the step in hand, where gq_step_done() counts them */
	uint64_t checksums, digests;    /* bytes that these steps will read */
};

struct gq_inspection {
	const struct gptq_inspect_options *options;
	struct gq_source source;
	struct gq_survey survey;
	bool surveyed;
	enum gptq_zeros_format *formats;            /* by which each layer's zero points are read */
	struct gq_style_choice styles[GQ_N_WIDTHS]; /* how v1 is read */
	struct gq_layer_notes *notes;
	struct gptq_inspect_report *report;
	struct gq_arena *arena; /* the report's */
	struct gq_steps steps;
	char **shard_names;     /* of every shard, masked; in the arena */
};

/* Adds a finding; text is formatted. `where` may be NULL. */
__attribute__((format(printf, 5, 6))) enum gptq_status
gq_find(struct gq_inspection *in, enum gq_code code, const char *where, struct gptq_error *err, const char *fmt, ...);
/* The same with a layer's name as the place. */
__attribute__((format(printf, 5, 6))) enum gptq_status gq_find_layer(struct gq_inspection *in, enum gq_code code,
								     const struct gq_layer *layer,
								     struct gptq_error *err, const char *fmt, ...);

/* The style in which a layer's v1 lanes are read: LANE where it is open. */
enum gptq_v1_style gq_inspect_style(const struct gq_inspection *in, size_t layer);

/* Before the first step. */
enum gptq_status gq_steps_init(struct gq_inspection *in, struct gptq_error *err);
/* The next step begins, which reads so many bytes (0: it will say so itself). Its hooks, which may be NULL. */
const struct gptq_hooks *gq_step_begin(struct gq_inspection *in, uint64_t nbytes);
/* So many bytes more of the step are through. */
void gq_step_done(struct gq_inspection *in, const char *file, uint64_t nbytes);

/* Fills shard_names, by which layers and tensors name their shards: each name is there once. */
enum gptq_status gq_inspect_name_shards(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_layers(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_config_findings(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_expert_findings(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_tensor_findings(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_readers(struct gq_inspection *in, struct gptq_error *err);
/* Bytes that gq_inspect_checksums() will read. */
enum gptq_status gq_checksum_bytes(struct gq_inspection *in, uint64_t *nbytes, struct gptq_error *err);
enum gptq_status gq_inspect_checksums(struct gq_inspection *in, struct gptq_error *err);
enum gptq_status gq_inspect_digests(struct gq_inspection *in, struct gptq_error *err);

/* Are groups and zero points of a surveyed layer beyond doubt? */
bool gq_zeros_known(const struct gq_inspection *in, size_t layer);

/* One finding for all layers of a kind, at the first of them. */
struct gq_tally {
	const struct gq_layer *first;
	uint64_t n_layers, n;
};

static inline void gq_tally_add(struct gq_tally *t, const struct gq_layer *l, uint64_t n)
{
	if (!n)
		return;
	if (!t->first)
		t->first = l;
	t->n_layers++;
	t->n += n;
}

#endif
