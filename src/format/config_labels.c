/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the label places of a config. */
#include "format/config_internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/words.h"

#include <stdio.h>
#include <string.h>

#define MAX_PLACES 1024

static const struct place_key {
	const char *key;
	enum gq_label_key what;
} place_keys[] = {
	{"checkpoint_format", GQ_KEY_CHECKPOINT_FORMAT},
	{"format", GQ_KEY_FORMAT},
	{"packing_format", GQ_KEY_PACKING_FORMAT},
	{"is_marlin_format", GQ_KEY_IS_MARLIN_FORMAT},
	{"quant_method", GQ_KEY_METHOD},
	{"method", GQ_KEY_METHOD},
	{"version", GQ_KEY_VERSION},
	{"backend", GQ_KEY_VERSION},
};

void gq_label_place_free(struct gq_label_place *place)
{
	gq_free(place->file);
	gq_free(place->key);
	gq_free(place->value);
	*place = (struct gq_label_place){0};
}

void gq_config_drop_places(struct gq_config_file *file, size_t first)
{
	while (file->n_places > first)
		gq_label_place_free(&file->places[--file->n_places]);
}

bool gq_config_any_label(const struct gq_config_file *file, size_t first)
{
	for (size_t i = first; i < file->n_places; i++) {
		const struct gq_label_place *place = &file->places[i];

		if (place->label == GQ_LABEL_V1 || place->label == GQ_LABEL_V2 || place->label == GQ_LABEL_FOREIGN ||
		    (place->label == GQ_LABEL_UNKNOWN && place->what == GQ_KEY_METHOD))
			return true;
	}
	return false;
}

static char *masked(const char *s, size_t n)
{
	char text[256];

	gq_mask(text, sizeof(text), s, n, false);
	return gq_strdup(text);
}

/* is_marlin_format, by Python's notion of what is true. A string is not what anybody wrote. */
static enum gq_label marlin_label(const struct gq_json_tree *tree, const struct gq_json_node *nd,
				  const struct gq_foreign_format **format)
{
	static const char marlin[] = "marlin";
	bool zero = nd->type == GQ_JSON_NUMBER && nd->end - nd->begin == 1 && tree->text[nd->begin] == '0';

	if (nd->type == GQ_JSON_FALSE || zero)
		return GQ_LABEL_ABSENT;
	if (nd->type != GQ_JSON_TRUE && nd->type != GQ_JSON_NUMBER)
		return GQ_LABEL_UNKNOWN;
	*format = gq_word_foreign(marlin, sizeof(marlin) - 1);
	return GQ_LABEL_FOREIGN;
}

/* The meaning of a place's string. GQ_KEY_METHOD: also tells what the config is. */
static enum gq_label string_label(enum gq_label_key what, const struct gq_buf *word,
				  const struct gq_foreign_format **format)
{
	if (word->size == 0)
		return GQ_LABEL_ABSENT;
	if (what == GQ_KEY_IS_MARLIN_FORMAT)
		return GQ_LABEL_UNKNOWN;
	if (what != GQ_KEY_METHOD)
		return gq_word_label(what, word->data, word->size, format);
	switch (gq_word_method(word->data, word->size, format)) {
	case GQ_METHOD_FOREIGN:
		return GQ_LABEL_FOREIGN;
	case GQ_METHOD_UNKNOWN:
		return GQ_LABEL_UNKNOWN;
	case GQ_METHOD_GPTQ:
	case GQ_METHOD_AUTO_ROUND:
		break;
	}
	return GQ_LABEL_ABSENT; /* names GPTQ, but neither of its formats */
}

static enum gptq_status append(struct gq_config_file *file, const struct gq_label_place *place, struct gptq_error *err)
{
	struct gq_label_place *grown;

	if (!place->file || !place->key || !place->value)
		return gq_fail_nomem(err);
	if (file->n_places == MAX_PLACES)
		return gq_fail(err, GPTQ_E_LIMIT, "more than %d label keys in one file", MAX_PLACES);
	grown = gq_array_more(file->places, file->n_places, sizeof(*grown));
	if (!grown)
		return gq_fail_nomem(err);
	file->places = grown;
	grown[file->n_places++] = *place;
	return GPTQ_OK;
}

static char *place_key_path(const struct gq_json_tree *tree, const struct gq_config *config,
			    const struct gq_json_node *nd)
{
	struct gq_buf path = {0};
	char *key = masked(tree->text + nd->key_begin + 1, nd->key_end - nd->key_begin - 2);

	if (key)
		gq_buf_printf(&path, "%s%s%s", config->path, config->path[0] ? "." : "", key);
	gq_free(key);
	if (path.failed)
		gq_buf_free(&path);
	return path.data;
}

/* `method` is a word of many uses: where quant_method speaks, it counts only if it names a format that we know. */
static bool is_alias_beside_method(const struct gq_json_tree *tree, const struct gq_config *config,
				   const struct place_key *key)
{
	return strcmp(key->key, "method") == 0 && gq_json_get_nocase(tree, config->node, "quant_method", 0) != 0;
}

/* Adds the place of one member, unless its key is one that speaks only where it names another format. */
static enum gptq_status add_place(struct gq_config_file *file, const struct gq_config *config, uint32_t node,
				  const struct place_key *key, struct gptq_error *err)
{
	enum gq_label_key what = key->what;
	const struct gq_json_tree *tree = &file->tree;
	const struct gq_json_node *nd = &tree->nodes[node];
	struct gq_label_place place = {.begin = nd->begin, .end = nd->end, .config = file->n_configs, .what = what};
	bool quiet = what == GQ_KEY_METHOD || what == GQ_KEY_VERSION;
	struct gq_buf word = {0};
	enum gptq_status st = GPTQ_OK;

	if (nd->type == GQ_JSON_STRING)
		gq_json_unescape(tree->text, nd->begin, nd->end, &word);
	if (word.failed) {
		gq_buf_free(&word);
		return gq_fail_nomem(err);
	}
	if (nd->type == GQ_JSON_STRING)
		place.label = string_label(what, &word, &place.format);
	else if (what == GQ_KEY_IS_MARLIN_FORMAT && nd->type != GQ_JSON_NULL)
		place.label = marlin_label(tree, nd, &place.format);
	else if (nd->type != GQ_JSON_NULL && what != GQ_KEY_VERSION)
		place.label = GQ_LABEL_UNKNOWN;
	if (place.label == GQ_LABEL_UNKNOWN && is_alias_beside_method(tree, config, key))
		place.label = GQ_LABEL_ABSENT;
	if (!quiet || place.label != GQ_LABEL_ABSENT) {
		place.file = gq_strdup(file->name);
		place.key = place_key_path(tree, config, nd);
		place.value = nd->type == GQ_JSON_STRING ? masked(word.data ? word.data : "", word.size)
							 : masked(tree->text + nd->begin, nd->end - nd->begin);
		st = append(file, &place, err);
		if (st)
			gq_label_place_free(&place);
	}
	gq_buf_free(&word);
	return st;
}

/* quant_method decides what a config is; without it, method. */
static void settle_method(struct gq_config *config)
{
	const struct gq_foreign_format *format;

	if (!config->quant_method || !config->quant_method[0])
		return;
	switch (gq_word_method(config->quant_method, strlen(config->quant_method), &format)) {
	case GQ_METHOD_AUTO_ROUND:
		config->is_auto_round = true;
		config->is_gptq = true;
		break;
	case GQ_METHOD_GPTQ:
		config->is_gptq = true;
		break;
	case GQ_METHOD_FOREIGN:
		config->is_gptq = false;
		break;
	case GQ_METHOD_UNKNOWN: /* the keys tell whether it could be one; the word is refused either way */
		break;
	}
}

/* The places from `first` on, few and nearly in order, are sorted by where they stand. */
static void sort_places(struct gq_config_file *file, size_t first)
{
	for (size_t i = first + 1; i < file->n_places; i++) {
		for (size_t j = i; j > first && file->places[j].begin < file->places[j - 1].begin; j--) {
			struct gq_label_place swap = file->places[j];

			file->places[j] = file->places[j - 1];
			file->places[j - 1] = swap;
		}
	}
}

enum gptq_status gq_config_add_places(struct gq_config_file *file, struct gq_config *config, struct gptq_error *err)
{
	size_t first = file->n_places;

	settle_method(config);
	for (size_t i = 0; i < sizeof(place_keys) / sizeof(place_keys[0]); i++) {
		uint32_t node = 0;

		if (place_keys[i].what == GQ_KEY_PACKING_FORMAT && !config->is_auto_round)
			continue;
		while ((node = gq_json_get_nocase(&file->tree, config->node, place_keys[i].key, node)) != 0) {
			enum gptq_status st;

			st = add_place(file, config, node, &place_keys[i], err);
			if (st)
				return st;
		}
	}
	sort_places(file, first);
	for (size_t i = first; i < file->n_places; i++)
		if (file->places[i].what == GQ_KEY_VERSION && !config->quant_method)
			config->is_gptq = false; /* AWQ's config before it had a quant_method */
	return GPTQ_OK;
}

enum gptq_status gq_label_from_metadata(const char *file, const char *value, size_t n, size_t begin, size_t end,
					struct gq_label_place *place, struct gptq_error *err)
{
	*place = (struct gq_label_place){.begin = begin, .end = end, .config = SIZE_MAX, .what = GQ_KEY_METADATA};
	place->label = gq_word_label(GQ_KEY_METADATA, value, n, &place->format);
	place->file = gq_strdup(file);
	place->key = gq_strdup("__metadata__.gptq_checkpoint_format");
	place->value = masked(value, n);
	if (place->file && place->key && place->value)
		return GPTQ_OK;
	gq_label_place_free(place);
	return gq_fail_nomem(err);
}
