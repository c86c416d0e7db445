/* SPDX-License-Identifier: Apache-2.0 */
/* What config.c and config_labels.c need of each other. */
#ifndef GQ_FORMAT_CONFIG_INTERNAL_H
#define GQ_FORMAT_CONFIG_INTERNAL_H

#include "format/config.h"

/*
 * Appends the label places of a config that is about to become file->configs[file->n_configs], and settles its
 * is_gptq (set on entry by its keys) and is_auto_round by its quant_method.
 */
enum gptq_status gq_config_add_places(struct gq_config_file *file, struct gq_config *config, struct gptq_error *err);
/* Does any place from index `first` on carry a word that is known? */
bool gq_config_any_label(const struct gq_config_file *file, size_t first);
/* Frees the places from index `first` on. */
void gq_config_drop_places(struct gq_config_file *file, size_t first);

#endif
