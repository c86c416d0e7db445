/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisation configs: what one config file says about a checkpoint, and where in its text the label stands.
 *
 * Keys of a quantisation config are compared without ASCII case, as its loaders do. Where a key occurs in two
 * spellings the last one counts, as when a loader lower-cases them; label keys are two places then. A canonical key
 * beats its aliases (bits over w_bit and wbits, group_size over q_group_size, quant_method over method, sym over the
 * negated zero_point). null counts as absent everywhere.
 */
#ifndef GQ_FORMAT_CONFIG_H
#define GQ_FORMAT_CONFIG_H

#include "base/json.h"
#include "format/producer.h"

#define GQ_CONFIG_MAX_BYTES ((size_t)16 << 20)

enum gq_config_kind {
	GQ_CONFIG_STANDALONE, /* quantize_config.json and the like: the root may be a quantisation config itself */
	GQ_CONFIG_MODEL,      /* config.json: only the members named quantization_config */
};

/* True if a file of this name is a config; sets its kind. */
bool gq_config_known_name(const char *basename, enum gq_config_kind *kind);
/* The names of configs, in the order in which loaders try them; NULL after the last. */
extern const char *const gq_config_names[];

/* Present only where the value is what it should be: "bits": "four" is not present. */
struct gq_config_int {
	bool present;
	int64_t value;
};

/* true, false, and numbers (0 is false). */
struct gq_config_flag {
	bool present;
	bool value;
};

/* What one label place says. */
enum gq_label {
	GQ_LABEL_ABSENT = 0, /* null, "" or is_marlin_format: false */
	GQ_LABEL_V1,
	GQ_LABEL_V2,
	GQ_LABEL_FOREIGN, /* another format, which `format` names */
	GQ_LABEL_UNKNOWN, /* a word that nobody defined, or no string */
};

/* "gptq" and "gptq_v2" for V1 and V2; NULL for the others. */
const char *gq_label_word(enum gq_label label);

/* The label that is true of v1 or v2, and back: NONE for labels that are neither, ABSENT for NONE. */
enum gq_label gq_label_of_format(enum gptq_zeros_format format);
enum gptq_zeros_format gq_format_of_label(enum gq_label label);

enum gq_label_key {
	GQ_KEY_CHECKPOINT_FORMAT,
	GQ_KEY_FORMAT,
	GQ_KEY_PACKING_FORMAT, /* only under an auto-round quant_method */
	GQ_KEY_IS_MARLIN_FORMAT,
	GQ_KEY_METHOD,   /* quant_method or method: a place only where it names another format or none we know */
	GQ_KEY_VERSION,  /* version or backend: likewise, only for AWQ's words */
	GQ_KEY_METADATA, /* __metadata__.gptq_checkpoint_format of a safetensors file */
};

/* A known word for a format that is neither v1 nor v2. Static storage. */
struct gq_foreign_format {
	const char *word;     /* lower case */
	const char *name;     /* for messages: "Marlin" */
	const char *sentence; /* what it is and what to do, without the final full stop */
};

struct gq_label_place {
	char *file;        /* base name of the file */
	char *key;         /* path inside the file: "quantization_config.checkpoint_format" */
	char *value;       /* the string, unescaped and masked, or the text of a value that is none */
	size_t begin, end; /* span of the value in the text (quotes included) */
	size_t config;     /* index of its config in the file; SIZE_MAX for __metadata__ */
	enum gq_label_key what;
	enum gq_label label;
	const struct gq_foreign_format *format; /* for FOREIGN, else NULL */
};

/* One quantisation config. Strings are NULL where absent or no strings. */
struct gq_config {
	uint32_t node; /* in the file's tree */
	char *path;    /* "" for the root, "quantization_config", "text_config.quantization_config" */
	char *where;   /* for messages: "config.json: text_config.quantization_config", "quantize_config.json" */
	bool is_gptq;  /* quant_method names GPTQ or auto-round, or it is silent and bits and one more key are there */
	bool is_auto_round;
	char *quant_method; /* as written; from method if quant_method is absent */
	struct gq_config_int bits, group_size;
	struct gq_config_flag sym, desc_act, static_groups, lm_head;
	struct gq_config_flag compatible_with_autogptq; /* QLLM's */
	char *version;                                  /* QLLM reads this key's presence as v2 */
	char *pack_dtype;                               /* "int32" */
	char *base_name;                                /* model_file_base_name */
	char *rotation;                                 /* GPTQModel */
	uint32_t dynamic, extra_config;                 /* object nodes, 0 if absent */
	char *v1_style;                                 /* our record gptq_tools.v1_style */
	struct gq_producer *producers; /* in order: entries of meta.quantizer, then autoround_version */
	size_t n_producers;
};

struct gq_config_file {
	char *name; /* base name, for messages */
	enum gq_config_kind kind;
	char *text; /* a copy, byte for byte */
	size_t size;
	struct gq_json_tree tree;
	struct gq_config *configs;
	size_t n_configs;
	struct gq_label_place *places; /* in text order, absent ones included */
	size_t n_places;
};

/*
 * Reads the text of a config (copied). A file without any quantisation config is fine (n_configs = 0).
 * GPTQ_E_FORMAT (no JSON, a key twice; with file and offset), GPTQ_E_LIMIT (over GQ_CONFIG_MAX_BYTES), GPTQ_E_NOMEM.
 */
enum gptq_status gq_config_read(const char *name, enum gq_config_kind kind, const char *text, size_t size,
				struct gq_config_file *file, struct gptq_error *err);
void gq_config_free(struct gq_config_file *file);

/* The member `key` of an object as a number or a flag; not present where it is absent or something else. */
struct gq_config_int gq_config_member_int(const struct gq_json_tree *tree, uint32_t object, const char *key);
struct gq_config_flag gq_config_member_flag(const struct gq_json_tree *tree, uint32_t object, const char *key);

/*
 * The label place of a `__metadata__.gptq_checkpoint_format` value; `value` unescaped, begin..end its span in the
 * header text, quotes included.
 */
enum gptq_status gq_label_from_metadata(const char *file, const char *value, size_t n, size_t begin, size_t end,
					struct gq_label_place *place, struct gptq_error *err);
void gq_label_place_free(struct gq_label_place *place);

#endif
