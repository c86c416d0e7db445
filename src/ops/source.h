/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint as a command finds it: files, configs, labels, layers; and what is wrong with any of them. */
#ifndef GQ_OPS_SOURCE_H
#define GQ_OPS_SOURCE_H

#include "base/tree.h"
#include "format/labels.h"
#include "quant/dynamic.h"
#include "quant/layer.h"

/* What the caller adds to what the files say. All zero: nothing. */
struct gq_source_options {
	const char *config_path; /* a lone file's config, instead of those beside it */
	unsigned bits;           /* a lone file's width, where no config tells; 0: not given */
	bool tolerant;           /* go past what cannot be copied: for looking only */
};

struct gq_source {
	char *path;     /* as given */
	char *dir;      /* the folder that is read: path itself, a cache's snapshot, or the folder of a lone file */
	unsigned bits;  /* --bits of a lone file, 0 if not given */
	char *file;     /* a lone file's path, else NULL */
	struct gq_tree tree; /* folders only: everything that OUT will need */
	struct gq_shards shards;

	struct gq_config_file *configs;
	size_t n_configs;
	const struct gq_config_file *main_file; /* the first GPTQ config in the order of loaders, NULL if none ... */
	const struct gq_config *main;
	struct gq_dynamic *dynamic;             /* ... and its rules */

	struct gq_label_place *metadata; /* __metadata__.gptq_checkpoint_format of shards that have one */
	uint32_t *metadata_shard;
	size_t n_metadata;
	struct gq_labels labels;
	const char *record;           /* our gptq_tools.v1_style, NULL if there is none */
	struct gq_producer producer;  /* the one that counts */
	bool has_producer;
	bool gate_open;               /* GPTQModel would read asymmetric v1: meta.quantizer is gptqmodel >= 0.9.0 */

	struct gq_layers layers;
	struct gq_problems problems;
};

/*
 * Opens IN: a folder, a cache's models--org--name folder (the snapshot of refs/main, else the newest), or one
 * safetensors file. What is wrong inside goes to source->problems. Errors: GPTQ_E_NOTFOUND if path is not there or
 * holds no safetensors file, GPTQ_E_IO, GPTQ_E_ARG for what cannot be copied, GPTQ_E_NOMEM.
 */
enum gptq_status gq_source_open(const char *path, const struct gq_source_options *options, struct gq_source *source,
				struct gptq_error *err);
/* A checkpoint of which only one header is known (a stream); takes over st. Only a config that is given is read. */
enum gptq_status gq_source_adopt(struct gq_st *st, const char *name, const struct gq_source_options *options,
				 struct gq_source *source, struct gptq_error *err);

void gq_source_close(struct gq_source *source);

/* The path of the journal of an interrupted in-place conversion that this checkpoint is part of; NULL if there is none.
 * gq_free(*path). */
enum gptq_status gq_source_journal(const struct gq_source *source, char **path, struct gptq_error *err);
/*
 * Would something new at `path` be a change of the source: is it a file or folder that the source leads to, through
 * whatever links, or in such a folder, or a config that is read (config_path: the one given instead, or NULL)?
 */
bool gq_source_reaches(const struct gq_source *source, const char *path, const char *config_path);

/* What an interrupted in-place conversion left is neither the one checkpoint nor the other: GPTQ_E_ARG. */
enum gptq_status gq_source_uninterrupted(const struct gq_source *source, struct gptq_error *err);

/* What the config claims for a module: bits and group size, with the first rule that matches. */
struct gq_layer_claim gq_source_claim(void *source, const char *module, size_t n);

#endif
