/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do two checkpoints hold the same weights? Include <gptq/gptq.h>, which includes this file.
 */
#ifndef GPTQ_VERIFY_H
#define GPTQ_VERIFY_H

#include <gptq/gptq.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Two exact proofs. Every: each weight of both sides is formed, and bits are compared. Table: the codes are the same
 * bytes, the groups are the same, and so is the product of each of the 2^bits codes in each group and column.
 */
enum gptq_method {
	GPTQ_METHOD_AUTO = 0, /* table where it applies, every where it does not or proves nothing */
	GPTQ_METHOD_TABLE,    /* likewise, but a layer to which table does not apply is an error */
	GPTQ_METHOD_EVERY,
};

/* "auto", "table", "every". Never NULL. */
GPTQ_API const char *gptq_method_name(enum gptq_method method);

/* Options of gptq_verify. Start from all zero and set struct_size. Index 0 is A, index 1 is B. */
struct gptq_verify_options {
	size_t struct_size;             /* sizeof(struct gptq_verify_options) */
	enum gptq_zeros_format from[2]; /* NONE: label and tensors decide */
	bool by_layer[2];               /* a mixed model: each layer by its own verdict */
	enum gptq_v1_style v1_style[2]; /* NONE: settled; else LANE, WORD or GPTQMODEL_3BIT */
	enum gptq_method method;
	enum gptq_device device;
	unsigned device_number;         /* which GPU */
	unsigned jobs;                  /* threads; 0: one a core */
	const struct gptq_hooks *hooks;
};

enum gptq_outcome {
	GPTQ_SAME = 0,
	GPTQ_DIFFERENT,       /* in values */
	GPTQ_DIFFERENT_SHAPE,
	GPTQ_DIFFERENT_DTYPE, /* of a tensor, or of a layer's weights */
	GPTQ_ONLY_IN_A,
	GPTQ_ONLY_IN_B,
};

/* "same", "different", "different-shape", "different-dtype", "only-in-a", "only-in-b". Never NULL. */
GPTQ_API const char *gptq_outcome_name(enum gptq_outcome outcome);

/* One weight of one side. */
struct gptq_weight {
	uint32_t bits; /* in the layer's dtype; 16 bits in the lower half */
	double value;
	unsigned code, zero_point;
};

/* A quantised layer of either side. What a side does not have is 0. */
struct gptq_verify_layer {
	char *name;
	enum gptq_outcome outcome;
	enum gptq_method method;      /* what decided; AUTO: nothing was compared */
	unsigned bits[2];
	uint64_t in_features[2], out_features[2];
	const char *dtype[2];         /* of the weights; NULL */
	uint64_t n_weights, n_differ;
	uint64_t n_scales_nan[2], n_scales_inf[2]; /* their weights are the same where their bits are */
	uint64_t first_k, first_n;    /* if n_differ > 0: the first difference, row by row */
	struct gptq_weight first[2];
};

/* A plain tensor that is not the same on both sides. */
struct gptq_verify_tensor {
	char *name;
	enum gptq_outcome outcome;
	uint64_t n_bytes, n_differ;   /* bytes, and how many of them differ */
	uint64_t first;               /* if n_differ > 0: the first of them, from the beginning of the tensor */
};

/* How one side was read. */
struct gptq_verify_side {
	enum gptq_zeros_format format;    /* NONE: by layer, or no quantised layer */
	const char *reason;               /* what settled it; NULL without quantised layers */
	enum gptq_v1_style v1_style;      /* NONE: not v1, or several */
	enum gptq_style_source v1_style_source;
	char *warning;                    /* NULL if there is none */
	uint64_t n_layers, n_tensors;     /* quantised layers, and plain tensors */
};

/* Freed with gptq_verify_report_free(). */
struct gptq_verify_report {
	bool same;
	struct gptq_verify_side sides[2];
	struct gptq_verify_layer *layers; /* of both sides, by name in byte order */
	size_t n_layers;
	uint64_t n_layers_same, n_by_table, n_by_every;
	struct gptq_verify_tensor *tensors;
	size_t n_tensors;                 /* that differ ... */
	uint64_t n_tensors_same;          /* ... and that do not */
	uint64_t n_weights, n_weights_differ;
	uint64_t n_bytes;                 /* of both sides that were compared */
	enum gptq_device device;          /* CPU or CUDA */
	char *device_name;                /* "avx512", "NVIDIA H200" */
	char *device_note;                /* why it was not a GPU, if one was looked for; NULL */
	unsigned threads;
	double seconds;                   /* for the comparison */
};

/*
 * Compares the weights of two checkpoints, each a folder, a hub cache's models--org--name folder, or one safetensors
 * file: quantised layers weight by weight, whatever their formats, styles, widths of code and word, groups and files;
 * all other tensors byte by byte. GPTQ_OK with report->same says whether they are the same.
 *
 * What cannot be decided is an error: a file that cannot be read, labels and tensors that contradict each other, a
 * format or style that is not settled, smeared zero points (GPTQ_E_REFUSED); g_idx out of range (GPTQ_E_FORMAT); a GPU
 * that was asked for and is not there (GPTQ_E_UNSUPPORTED). *report is set on success only.
 */
GPTQ_API enum gptq_status gptq_verify(const char *a, const char *b, const struct gptq_verify_options *options,
				      struct gptq_verify_report **report, struct gptq_error *err);

/* NULL is allowed. */
GPTQ_API void gptq_verify_report_free(struct gptq_verify_report *report);

#ifdef __cplusplus
}
#endif

#endif
