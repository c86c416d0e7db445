/* SPDX-License-Identifier: Apache-2.0 */
/* All label places of a checkpoint taken together, and the texts that say another format in each of them. */
#ifndef GQ_FORMAT_LABELS_H
#define GQ_FORMAT_LABELS_H

#include "format/config.h"

/*
 * The combined label. Sources are the places that carry one (absent ones left out), in the order of the files and of
 * their texts, __metadata__ last; they point into the files and metadata places, which must outlive this.
 */
struct gq_labels {
	enum gq_label value; /* V1 or V2 if all agree; FOREIGN, else UNKNOWN, if any place says so; else ABSENT */
	bool consistent;     /* no two sources say different things; true without any */
	const char *word;    /* "gptq", "gptq_v2", the foreign or unknown word; NULL where absent or inconsistent */
	const struct gq_label_place **sources;
	size_t n_sources;
	const struct gq_label_place *culprit; /* the first FOREIGN, else the first UNKNOWN place; NULL if none */
	bool auto_round; /* some config's quant_method names auto-round: an absent label is no v1 then */
};

enum gptq_status gq_labels_combine(const struct gq_config_file *files, size_t n_files,
				   const struct gq_label_place *metadata, size_t n_metadata, struct gq_labels *labels,
				   struct gptq_error *err);
void gq_labels_free(struct gq_labels *labels);

/*
 * GPTQ_E_REFUSED for a foreign or an unknown word, always, naming it; and, unless `settled` (--from or --relabel was
 * given), for places that contradict each other, naming file, key and value of each. Else GPTQ_OK.
 */
enum gptq_status gq_labels_check(const struct gq_labels *labels, bool settled, struct gptq_error *err);

/* Leaves a record gptq_tools.v1_style as it stands. */
#define GQ_RECORD_KEEP ""

/*
 * Appends the file's text to out with every label saying `target` (GQ_LABEL_V1 or GQ_LABEL_V2), whatever it said.
 * record: the style to record as gptq_tools.v1_style in each GPTQ config, GQ_RECORD_KEEP, or NULL to remove records.
 * GPTQ_E_REFUSED if a place is foreign or unknown. A file without GPTQ config and label comes out as it was.
 */
enum gptq_status gq_config_rewrite(const struct gq_config_file *file, enum gq_label target, const char *record,
				   struct gq_buf *out, struct gptq_error *err);

/*
 * Appends to out a safetensors header (the JSON text with its padding, without the 8 bytes of length) whose value
 * begin..end (quotes included, of __metadata__.gptq_checkpoint_format) says `target`. Takes from and gives back to
 * the spaces at the end, so the size stays; only where they do not suffice it grows to the next multiple of 8: compare
 * the sizes.
 */
enum gptq_status gq_header_set_label(const char *header, size_t size, size_t begin, size_t end, enum gq_label target,
				     struct gq_buf *out, struct gptq_error *err);

/* The style that a record or an option names: "lane", "word", "gptqmodel-3bit"; NONE for any other word and NULL. */
enum gptq_v1_style gq_style_from_name(const char *name);

/*
 * The styles that the configs' records name. *style: the one name, NULL if there is no record. GPTQ_E_REFUSED if two
 * records differ or one names no style (lane, word, gptqmodel-3bit), naming the places.
 */
enum gptq_status gq_labels_record(const struct gq_config_file *files, size_t n_files, const char **style,
				  struct gptq_error *err);

#endif
