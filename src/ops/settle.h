/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions of a conversion: from which format, in which style, or why not. Nothing is read or written here but
 * the zero points that a refusal has to count.
 */
#ifndef GQ_OPS_SETTLE_H
#define GQ_OPS_SETTLE_H

#include "ops/source.h"
#include "ops/survey.h"

/* What the user said. */
struct gq_wishes {
	enum gptq_zeros_format from;  /* NONE: auto */
	enum gptq_v1_style v1_style;  /* NONE: auto; else LANE, WORD or GPTQMODEL_3BIT */
	bool accept_damaged, per_layer;
	bool relabel;
};

/* How v1 is read at one width, and who says so. */
struct gq_style_choice {
	unsigned bits;
	uint64_t n_layers;            /* layers of this width that are read as v1 */
	enum gptq_v1_style style;     /* LANE, WORD, GPTQMODEL_3BIT, SMEARED or CLEAN; NONE if n_layers is 0 */
	enum gptq_style_source source;
};

/*
 * The format IN is in. Follows the table of the man page: label and verdict decide together, --from settles, what
 * contradicts is refused. NONE with GPTQ_OK: mixed, and --per-layer was given. *why: a static sentence for the report;
 * *warning: likewise, NULL if there is nothing to warn of.
 */
enum gptq_status gq_settle_format(const struct gq_source *source, const struct gq_survey *survey,
				  const struct gq_wishes *wishes, enum gptq_zeros_format *from, const char **why,
				  const char **warning, struct gptq_error *err);

/* The format of each layer (n = source->layers.n), when the model's is `model` or, for NONE, each layer's own. */
enum gptq_status gq_settle_layers(const struct gq_source *source, const struct gq_survey *survey,
				  enum gptq_zeros_format model, enum gptq_zeros_format *formats, struct gptq_error *err);

/*
 * The style of each width among the layers that `formats` calls v1. GPTQ_E_REFUSED, with how much the style decides,
 * where it stays open, where tensors and producer or record are at odds, for smeared data and the two writers that
 * cannot be undone. `source` is not const since zero points are read for the count.
 */
enum gptq_status gq_settle_styles(struct gq_source *source, const struct gq_survey *survey,
				  const struct gq_wishes *wishes, const enum gptq_zeros_format *formats,
				  struct gq_style_choice choices[GQ_N_WIDTHS], struct gptq_error *err);

/* The same without refusing: the style of each width as far as record, tensors and producer tell (NONE: open). */
enum gptq_status gq_best_styles(struct gq_source *source, const struct gq_survey *survey,
				const enum gptq_zeros_format *formats, struct gq_style_choice choices[GQ_N_WIDTHS],
				struct gptq_error *err);

/* The one name that covers the styles of all widths with layers; NONE if there is none. */
enum gptq_v1_style gq_model_style(const struct gq_style_choice choices[GQ_N_WIDTHS]);

/* The style in which a layer of that width is read or written when the model's is `style`: word is lane at 3 bits,
 * gptqmodel-3bit is word at others. */
enum gptq_v1_style gq_style_for_width(enum gptq_v1_style style, unsigned bits);

/* The figures behind the model's verdict in one line, to be freed with gq_free; NULL if memory ran out. */
char *gq_describe_evidence(const struct gq_survey *survey);

/* The style by name ("lane", "word", "gptqmodel-3bit"); NONE if it is none of these. */
enum gptq_v1_style gq_style_from_name(const char *name);

/* What the producer's v1 means at a width; NONE if it leaves it open. *refuse: auto-round at 3 bits. */
enum gptq_v1_style gq_source_producer_style(const struct gq_source *source, unsigned bits, bool *refuse);

#endif
