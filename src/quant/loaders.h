/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each loader makes of a checkpoint: one table, judged against plain facts. The facts of a checkpoint as it is
 * come from its configs, its layers and their zero points; those of a conversion's output from the same and what was
 * changed. "Reads right" is about the quantised weights: whether a loader knows the model's architecture, or runs on
 * some device, is another matter.
 */
#ifndef GQ_QUANT_LOADERS_H
#define GQ_QUANT_LOADERS_H

#include "format/config.h"
#include "quant/layer.h"
#include "quant/verdict.h"

/* ------------------------------------------------------------------------------------------------ the facts */

/* The files that loaders look into. */
enum gq_loader_file {
	GQ_FILE_CONFIG,       /* config.json, its quantization_config */
	GQ_FILE_QUANTIZE,     /* quantize_config.json */
	GQ_FILE_QUANT,        /* quant_config.json */
	GQ_FILE_QUANTIZATION, /* quantization_config.json */
	GQ_N_LOADER_FILES,
};

/* What one of them says. Strings are as written, borrowed, NULL where absent or empty. */
struct gq_loader_config {
	bool present; /* the file is there and holds a quantisation config; else nothing below is set */
	const char *quant_method, *checkpoint_format, *format, *packing_format;
	bool has_marlin_key; /* is_marlin_format is there, whatever it says ... */
	bool marlin;         /* ... and says true */
	bool has_version;    /* the key version is there */
	bool compatible_with_autogptq;
	struct gq_config_int bits, group_size;
	struct gq_config_flag sym, desc_act, static_groups, lm_head;
	bool dynamic, extra_config, rotation;
};

/* The zero points of all layers of one width. */
struct gq_loader_width {
	uint64_t n_layers;
	enum gptq_v1_style style; /* v1 only; NONE: not settled */
	uint64_t zeros_at_0;
	bool styles_part; /* LANE and WORD give different zero points: some z = 0 has a column above it in its word */
};

/* How the safetensors files are named. */
enum gq_loader_names {
	GQ_NAMES_ANY = 0, /* no folder, or of no interest */
	GQ_NAMES_MODEL,   /* model.safetensors, or its index */
	GQ_NAMES_LEGACY,  /* gptq_model-4bit-128g.safetensors and the like, bits and group size being the config's */
	GQ_NAMES_BASE,    /* model_file_base_name of the config */
	GQ_NAMES_OTHER,
};

struct gq_loader_facts {
	struct gq_loader_config config[GQ_N_LOADER_FILES];

	/* Zero points */
	const char *foreign;     /* name of the format ("Marlin", "AWQ") of a checkpoint that is no GPTQ; else NULL */
	enum gptq_verdict zeros; /* V1, V2 or MIXED; anything else: not known */
	struct gq_loader_width width[GQ_N_WIDTHS];
	bool midpoint; /* every zero point is 2^(bits-1) */
	bool damaged;  /* some were lost by a smearing writer; stays true after a conversion */

	/* Layers; gq_loader_facts_add() fills all but unequal_groups */
	uint64_t n_layers;
	unsigned min_word_bits, max_word_bits;
	int64_t group_size; /* the layers' own, -1 for one group; 0 where they differ or only g_idx can tell */
	bool group_sizes_differ;
	bool one_group; /* every layer has one group */
	uint64_t max_in_features;
	bool ragged;         /* some layer's last group is short */
	bool unequal_groups; /* by g_idx, groups of one layer differ in size */
	/* Of layers with several groups, some group size is no power of two, ... */
	bool odd_group_size;
	bool bad_marlin_group;                     /* ... none of 32, 64, 128 ... */
	bool unlisted_group;                       /* ... none of 16, 32, 64, ..., 1024 */
	bool bad_gemm_shape;                       /* some N is no multiple of 32 / bits (3 bits: 32) */
	bool bad_marlin_shape;                     /* some K is no multiple of 128, or some N none of 64 */
	bool bad_tgi_shape;                        /* some layer is neither that nor K of 64 and N of 128 */
	bool bad_shape_32;                         /* some K or N is no multiple of 32 */
	bool g_idx_missing, g_idx_zero, act_order; /* of some layer */
	bool scales_bf16, scales_f32;              /* likewise */
	bool lm_head;                              /* lm_head is quantised */
	bool experts;                              /* some expert's layer is quantised */

	/* The rest */
	bool gate_open; /* meta.quantizer of the config names gptqmodel >= 0.9.0 */
	enum gq_loader_names names;
};

/* What one quantisation config of a file says: file->configs[index]. Borrows its strings. */
void gq_loader_config_of(const struct gq_config_file *file, size_t index, struct gq_loader_config *out);

/* Does quant_method name auto-round? */
bool gq_loader_config_is_auto_round(const struct gq_loader_config *config);

/* Adds a layer to facts that were all zero before the first; counts it in its width, too. */
void gq_loader_facts_add(struct gq_loader_facts *facts, const struct gq_layer *layer, enum gq_g_idx_kind g_idx);

/*
 * Turns the facts of a conversion's input into those of its output: labels as a conversion writes them, zero points
 * in the format `to`; for v1, z = 0 in `style` (CLEAN if no zero point is 0; NONE: the styles stay as they are).
 * What was smeared stays damaged.
 */
void gq_loader_facts_converted(struct gq_loader_facts *facts, enum gptq_zeros_format to, enum gptq_v1_style style);

/* ------------------------------------------------------------------------------------------- the judgement */

enum gq_answer {
	GQ_READS_RIGHT,
	GQ_REFUSES,        /* stops with an error, or passes the checkpoint on to another loader of this table */
	GQ_SILENTLY_WRONG, /* loads, and computes with other weights */
	GQ_READER_UNKNOWN,
};

/* "reads-right", "refuses", "silently-wrong", "unknown". Never NULL. */
const char *gq_answer_name(enum gq_answer answer);

struct gq_loader_result {
	const char *loader;  /* "vLLM gptq" */
	const char *read_at; /* version, or commit and date, of what was read to fill the table */
	enum gq_answer answer;
	/* One sentence without full stop, at most 100 characters; "" where there is nothing to say */
	const char *reason;
};

size_t gq_loaders_count(void);
/* One line: what the loader is. NULL beyond the last. */
const char *gq_loader_note(size_t loader);
/* loader < gq_loaders_count(). All strings are static. */
void gq_loader_judge(const struct gq_loader_facts *facts, size_t loader, struct gq_loader_result *result);

#endif
