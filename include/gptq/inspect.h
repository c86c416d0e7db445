/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a checkpoint really is. Include <gptq/gptq.h>, which includes this file.
 */
#ifndef GPTQ_INSPECT_H
#define GPTQ_INSPECT_H

#include <gptq/gptq.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gptq_severity { GPTQ_NOTE = 0, GPTQ_WARNING, GPTQ_ERROR };

/* "note", "warning", "error". Never NULL. */
GPTQ_API const char *gptq_severity_name(enum gptq_severity severity);

/* All finding codes, for documentation and tests: code number i (from 0) and its severity; NULL past the end. */
GPTQ_API const char *gptq_finding_code(size_t i, enum gptq_severity *severity);

/* Something that was found. Strings belong to the report. */
struct gptq_finding {
	enum gptq_severity severity;
	const char *code; /* stable: "label-contradicts-tensors" */
	char *where;      /* a file, tensor, layer or key; "" for the whole checkpoint */
	char *text;       /* what it is and what to do, in plain words */
};

/* true, false or not known. */
enum gptq_tristate { GPTQ_UNKNOWN = -1, GPTQ_NO = 0, GPTQ_YES = 1 };

/* One quantised layer. Zero figures are by the model's verdict if it is v1 or v2, by the layer's own if it is mixed,
 * else by the label, else as v1. */
struct gptq_layer_info {
	char *name;
	unsigned bits, word_bits;
	int64_t group_size; /* -1: one group; 0: not known */
	uint64_t in_features, out_features, groups;
	enum gptq_tristate sym;       /* every zero point is the midpoint */
	enum gptq_tristate act_order; /* g_idx is no plain k / group_size */
	enum gptq_verdict verdict;
	const char *rule;             /* what settled it: "sentinel", "mean-shift", ... "none" */
	double shift, shift_bar;      /* mean(code - lane) over usable lanes and its bar; NAN if not measured */
	bool has_zeros;               /* the next three are known */
	uint64_t zeros_equal_0;
	unsigned zero_min, zero_max;
	double scale_min, scale_max;  /* over finite scales; NAN if none or not read */
	char **shards;                /* files that hold its tensors, sorted */
	size_t n_shards;
	char *weights_sha256;         /* hex, if asked for and possible; else NULL */
};

struct gptq_tensor_info {
	char *name;        /* masked */
	const char *dtype; /* "F16" */
	uint64_t *shape;
	uint32_t rank;
	uint64_t nbytes;
	uint64_t offset;   /* from the start of the file */
	char *shard;
	char *digest;      /* hex, if asked for; else NULL */
};

/* A place where the label stands. */
struct gptq_label_source {
	char *file, *key, *value;
};

struct gptq_bits_count {
	unsigned bits;
	uint64_t n_layers;
	enum gptq_v1_style style;             /* how v1 is read at this width; NONE if open or not v1 */
	enum gptq_style_source style_source;
	uint64_t lanes_at_max;                /* stored lanes that are 2^bits - 1 */
	uint64_t zero_histogram[256];         /* how often each zero point occurs */
};

enum gptq_source_kind { GPTQ_KIND_FOLDER = 0, GPTQ_KIND_FILE, GPTQ_KIND_STREAM };

struct gptq_inspect_report {
	char *path; /* as given, masked */
	enum gptq_source_kind kind;
	bool headers_only;

	char *label;           /* "gptq", "gptq_v2", another format's word; NULL if absent or contradictory */
	bool label_consistent;
	struct gptq_label_source *label_sources;
	size_t n_label_sources;

	enum gptq_verdict verdict;  /* UNREAD with headers_only or without layers */
	const char *rule;
	enum gptq_tristate agrees_with_label;
	char *evidence;             /* the figures, one line; NULL without verdict */
	uint64_t n_layers_read, strong_v1, strong_v2;

	enum gptq_zeros_format effective; /* by which zero figures are given */
	enum gptq_v1_style v1_style;      /* the one name that covers all widths; NONE if there is none, or not v1 */
	enum gptq_style_source v1_style_source;
	uint64_t lanes_at_max;

	char *producer;  /* "gptqmodel 5.8.0"; NULL if not named */
	char *other_format; /* name of a format that is not GPTQ v1 or v2, by label or tensors; NULL */
	char *other_format_text;

	struct gptq_bits_count bits[4];
	unsigned n_bits;
	int64_t group_size;  /* of all layers; 0 if they differ or there are none */
	enum gptq_tristate sym_label, sym_data, act_order_label, act_order_data;
	uint64_t config_bits; /* 0 if absent */

	struct gptq_layer_info *layers; /* sorted by name */
	size_t n_layers;
	struct gptq_tensor_info *tensors; /* if asked for */
	size_t n_tensors;
	uint64_t n_tensors_in_all, n_files, n_plain_modules; /* plain: 2-D float .weight tensors of no layer */

	uint64_t quantised_parameters, parameters, tensor_bytes, quantised_bits;
	char *weights_digest; /* hex; NULL */

	struct gptq_finding *findings; /* errors first, then by code and place */
	size_t n_findings;
	struct gptq_reader *readers;
	size_t n_readers;
	bool unreadable;     /* PATH or one of its shards could not be opened as what it should be */
};

enum gptq_checksum { GPTQ_CHECKSUM_NONE = 0, GPTQ_CHECKSUM_CRC32, GPTQ_CHECKSUM_SHA256 };

/* Options of gptq_inspect. Start from all zero and set struct_size. */
struct gptq_inspect_options {
	size_t struct_size;
	bool headers;              /* headers and configs alone: no verdict, style or statistics */
	bool tensors;              /* fill report->tensors */
	bool weights_digest;
	enum gptq_checksum checksum; /* a digest a tensor (with tensors), and the blobs of a hub cache are checked */
	unsigned jobs;             /* threads for digests; 0: one a core */
	const struct gptq_hooks *hooks;
};

/*
 * Inspects a folder, a hub cache's models--org--name folder, or one file. What is wrong with the checkpoint becomes
 * findings, and the rest is still reported; report->unreadable tells whether a file could not be opened.
 * Errors: GPTQ_E_NOTFOUND (path is not there or holds no safetensors file), GPTQ_E_IO, GPTQ_E_NOMEM, GPTQ_E_CANCELLED.
 */
GPTQ_API enum gptq_status gptq_inspect(const char *path, const struct gptq_inspect_options *options,
				       struct gptq_inspect_report **report, struct gptq_error *err);

/* The same for the header of a safetensors file that comes from descriptor fd, read to the end of its header. */
GPTQ_API enum gptq_status gptq_inspect_stream(int fd, const struct gptq_inspect_options *options,
					      struct gptq_inspect_report **report, struct gptq_error *err);

/* NULL is allowed. */
GPTQ_API void gptq_inspect_report_free(struct gptq_inspect_report *report);

#ifdef __cplusplus
}
#endif

#endif
