/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converting a checkpoint between v1 and v2. Include <gptq/gptq.h>, which includes this file.
 */
#ifndef GPTQ_CONVERT_H
#define GPTQ_CONVERT_H

#include <gptq/gptq.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who says in which style v1 is read. */
enum gptq_style_source {
	GPTQ_STYLE_UNSETTLED = 0,
	GPTQ_STYLE_GIVEN,       /* options.v1_style */
	GPTQ_STYLE_BY_RECORD,   /* gptq_tools.v1_style in the config */
	GPTQ_STYLE_BY_TENSORS,  /* evidence in the tensors */
	GPTQ_STYLE_BY_PRODUCER, /* the program that the config names */
};

/* "given", "record", "tensors", "producer"; "none". Never NULL. */
GPTQ_API const char *gptq_style_source_name(enum gptq_style_source source);

/* What to do with safetensors files outside the model that hold zero points. */
enum gptq_strays { GPTQ_STRAYS_REFUSE = 0, GPTQ_STRAYS_COPY, GPTQ_STRAYS_CONVERT };

/* Options of gptq_convert. Start from all zero and set struct_size; every zero is the default. */
struct gptq_convert_options {
	size_t struct_size;           /* sizeof(struct gptq_convert_options) */
	enum gptq_zeros_format to;    /* V1 or V2; NONE only with relabel */
	enum gptq_zeros_format from;  /* NONE: label and tensors decide */
	enum gptq_v1_style v1_style;  /* NONE: settled; else LANE, WORD or GPTQMODEL_3BIT, to read or to write z = 0 */
	enum gptq_strays strays;
	bool accept_damaged; /* convert smeared v1 all the same */
	bool per_layer;      /* a mixed model: each layer by its own verdict */
	bool relabel;        /* change no tensor, make the labels say what the tensors (or `from`) say */
	bool force;          /* replace an existing output */
	bool dry_run;        /* decide and report, write nothing */
	const char *config;  /* a lone file's config; NULL: those beside it */
	unsigned bits;       /* a lone file's width where nothing else tells; 0: not given */
	const struct gptq_hooks *hooks;
};

/* One width of the model. */
struct gptq_convert_width {
	unsigned bits;
	uint64_t n_layers;
	enum gptq_v1_style style;              /* in which v1 was read or written; NONE if neither */
	enum gptq_style_source style_source;   /* of reading */
	uint64_t n_zeros;                      /* zero points, padding not counted */
	uint64_t n_zeros_at_0;
	uint8_t zero_min, zero_max;            /* logical zero points */
	uint64_t n_unknown;                    /* smeared: zero points that are lost */
	uint64_t n_damaged_words;
};

/* One label that was (or would be) written. */
struct gptq_convert_label {
	char *file, *key;
	char *old_value; /* NULL where the key was added */
	char *new_value;
};

/* A warning, with a stable code. */
struct gptq_convert_warning {
	const char *code;
	char *text;
};

/* What gptq_convert did, or would do. Freed with gptq_convert_report_free(). */
struct gptq_convert_report {
	enum gptq_zeros_format from, to;   /* from NONE: mixed, by layer */
	const char *from_reason;           /* "label and tensors agree" */
	enum gptq_zeros_format label;      /* NONE: absent, or places contradict each other */
	bool label_consistent;
	enum gptq_verdict verdict;
	char *evidence;                    /* the figures behind the verdict, one line */
	bool relabelled, unchanged, dry_run;
	uint64_t n_layers, n_layers_read;  /* of these, layers whose codes were read for the verdict */
	uint64_t n_layers_changed;         /* layers whose qzeros were rewritten */
	struct gptq_convert_width widths[4];
	unsigned n_widths;
	char *record;                      /* v1 style that was recorded in the configs; NULL if none */
	char *first_layer;                 /* the first layer, in byte order ... */
	uint64_t first_word_before, first_word_after; /* ... and the first pack word of its qzeros */
	unsigned word_bits;
	struct gptq_convert_label *labels;
	size_t n_labels;
	struct gptq_convert_warning *warnings;
	size_t n_warnings;
	struct gptq_reader *readers_in;    /* who reads IN right, and who OUT; NULL in a lone file's report */
	struct gptq_reader *readers_out;
	size_t n_readers;
	char **not_copied;                 /* relative paths */
	size_t n_not_copied;
	uint64_t n_files, n_shards, n_bytes; /* files written, safetensors files among them, bytes in all */
	uint64_t n_bytes_rewritten, n_bytes_cloned;
	uint64_t n_zeros_verified;         /* read back from what was written and compared with the source */
};

/*
 * Converts the checkpoint IN (a folder, a hub cache's models--org--name folder, or one safetensors file) to OUT (a
 * folder or a file, likewise), which must not exist unless options->force. OUT appears in one rename when it is
 * whole, synced, and its zero points have been read back; on any failure nothing is left behind and an OUT that was
 * there is untouched. IN is opened for reading alone.
 *
 * GPTQ_E_REFUSED: converting could lose or falsify weights; the message gives the reason and the ways out. Other
 * statuses: see enum gptq_status. *report (NULL allowed) is set on success only.
 */
GPTQ_API enum gptq_status gptq_convert(const char *in, const char *out, const struct gptq_convert_options *options,
				       struct gptq_convert_report **report, struct gptq_error *err);

/* NULL is allowed. */
GPTQ_API void gptq_convert_report_free(struct gptq_convert_report *report);

#ifdef __cplusplus
}
#endif

#endif
