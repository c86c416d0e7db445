/* SPDX-License-Identifier: Apache-2.0 */
#include "format/labels.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/edit.h"

#include <string.h>

#define MAX_SHOWN 12 /* places named in one message */

/* ------------------------------------------------------------------------------------------------- combining */

static bool same_saying(const struct gq_label_place *a, const struct gq_label_place *b)
{
	if (a->label != b->label)
		return false;
	if (a->label == GQ_LABEL_FOREIGN)
		return strcmp(a->format->name, b->format->name) == 0;
	return a->label != GQ_LABEL_UNKNOWN || strcmp(a->value, b->value) == 0;
}

static void take(struct gq_labels *labels, const struct gq_label_place *place)
{
	if (place->label == GQ_LABEL_ABSENT)
		return;
	labels->sources[labels->n_sources++] = place;
	if (!same_saying(place, labels->sources[0]))
		labels->consistent = false;
	if (place->label != GQ_LABEL_FOREIGN && place->label != GQ_LABEL_UNKNOWN)
		return;
	if (!labels->culprit || (labels->culprit->label == GQ_LABEL_UNKNOWN && place->label == GQ_LABEL_FOREIGN))
		labels->culprit = place;
}

static void conclude(struct gq_labels *labels)
{
	const struct gq_label_place *first = labels->n_sources ? labels->sources[0] : NULL;

	if (labels->culprit)
		labels->value = labels->culprit->label;
	else if (first && labels->consistent)
		labels->value = first->label;
	if (!first || !labels->consistent)
		return;
	if (first->label == GQ_LABEL_FOREIGN)
		labels->word = first->format->word;
	else
		labels->word = first->label == GQ_LABEL_UNKNOWN ? first->value : gq_label_word(first->label);
}

enum gptq_status gq_labels_combine(const struct gq_config_file *files, size_t n_files,
				   const struct gq_label_place *metadata, size_t n_metadata, struct gq_labels *labels,
				   struct gptq_error *err)
{
	size_t n = n_metadata;

	*labels = (struct gq_labels){.consistent = true};
	for (size_t i = 0; i < n_files; i++)
		n += files[i].n_places;
	labels->sources = gq_calloc(n, sizeof(*labels->sources));
	if (!labels->sources)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < n_files; i++) {
		for (size_t k = 0; k < files[i].n_places; k++)
			take(labels, &files[i].places[k]);
		for (size_t k = 0; k < files[i].n_configs; k++)
			labels->auto_round = labels->auto_round || files[i].configs[k].is_auto_round;
	}
	for (size_t i = 0; i < n_metadata; i++)
		take(labels, &metadata[i]);
	conclude(labels);
	return GPTQ_OK;
}

void gq_labels_free(struct gq_labels *labels)
{
	gq_free(labels->sources);
	*labels = (struct gq_labels){0};
}

/* -------------------------------------------------------------------------------------------------- refusing */

static enum gptq_status refuse_place(const struct gq_label_place *place, struct gptq_error *err)
{
	bool method = place->what == GQ_KEY_METHOD;

	if (place->label == GQ_LABEL_FOREIGN)
		gq_fail(err, GPTQ_E_REFUSED, "%s names the format %s: %s", place->key, place->format->name,
			place->format->sentence);
	else if (method)
		gq_fail(err, GPTQ_E_REFUSED,
			"%s names a method that is not known, so what the tensors mean is not either", place->key);
	else
		gq_fail(err, GPTQ_E_REFUSED,
			"%s holds a word that is not known; loaders do not agree on what such a word means",
			place->key);
	gq_error_file(err, place->file);
	gq_error_found(err, "%s", place->value);
	if (method)
		gq_error_expected(err, "gptq or auto-round");
	else if (place->what == GQ_KEY_PACKING_FORMAT)
		gq_error_expected(err, "auto_round:auto_gptq or auto_round:gptqmodel");
	else if (place->what == GQ_KEY_IS_MARLIN_FORMAT)
		gq_error_expected(err, "false");
	else if (place->what != GQ_KEY_VERSION)
		gq_error_expected(err, "gptq or gptq_v2");
	return GPTQ_E_REFUSED;
}

static enum gptq_status refuse_contradiction(const struct gq_labels *labels, struct gptq_error *err)
{
	struct gq_buf text = {0};

	gq_buf_puts(&text, "the labels contradict each other, so one of them is wrong");
	for (size_t i = 0; i < labels->n_sources && i < MAX_SHOWN; i++) {
		const struct gq_label_place *place = labels->sources[i];

		gq_buf_printf(&text, "\n%s: %s is \"%s\"", place->file, place->key, place->value);
		if (place->label == GQ_LABEL_V1 || place->label == GQ_LABEL_V2)
			gq_buf_puts(&text, place->label == GQ_LABEL_V1 ? " (v1)" : " (v2)");
	}
	if (labels->n_sources > MAX_SHOWN)
		gq_buf_printf(&text, "\nand %zu places more", labels->n_sources - MAX_SHOWN);
	gq_buf_puts(&text, "\n--from v1 or --from v2 settles it; --relabel goes by the tensors");
	if (text.failed)
		gq_fail_nomem(err);
	else
		gq_fail(err, GPTQ_E_REFUSED, "%s", text.data);
	gq_buf_free(&text);
	return err ? err->status : GPTQ_E_REFUSED;
}

enum gptq_status gq_labels_check(const struct gq_labels *labels, bool settled, struct gptq_error *err)
{
	if (labels->culprit)
		return refuse_place(labels->culprit, err);
	if (!labels->consistent && !settled)
		return refuse_contradiction(labels, err);
	return GPTQ_OK;
}

static bool is_style(const char *name)
{
	return strcmp(name, "lane") == 0 || strcmp(name, "word") == 0 || strcmp(name, "gptqmodel-3bit") == 0;
}

enum gptq_status gq_labels_record(const struct gq_config_file *files, size_t n_files, const char **style,
				  struct gptq_error *err)
{
	const struct gq_config *first = NULL;

	*style = NULL;
	for (size_t i = 0; i < n_files; i++) {
		for (size_t k = 0; k < files[i].n_configs; k++) {
			const struct gq_config *config = &files[i].configs[k];

			if (!config->v1_style)
				continue;
			if (!is_style(config->v1_style)) {
				gq_fail(err, GPTQ_E_REFUSED, "%s: gptq_tools.v1_style names no style", config->where);
				gq_error_found(err, "%s", config->v1_style);
				gq_error_expected(err, "lane, word or gptqmodel-3bit");
				return GPTQ_E_REFUSED;
			}
			if (first && strcmp(first->v1_style, config->v1_style) != 0)
				return gq_fail(
					err, GPTQ_E_REFUSED,
					"gptq_tools.v1_style is \"%s\" in %s and \"%s\" in %s; --v1-style settles it",
					first->v1_style, first->where, config->v1_style, config->where);
			if (!first)
				first = config;
		}
	}
	*style = first ? first->v1_style : NULL;
	return GPTQ_OK;
}

/* ------------------------------------------------------------------------------------------------- rewriting */

static const char *word_for(enum gq_label_key what, enum gq_label target)
{
	if (what == GQ_KEY_PACKING_FORMAT)
		return target == GQ_LABEL_V1 ? "auto_round:auto_gptq" : "auto_round:gptqmodel";
	return gq_label_word(target);
}

/* The node of a place: the member of its config whose value stands there. */
static uint32_t node_of(const struct gq_config_file *file, const struct gq_label_place *place)
{
	const struct gq_json_tree *tree = &file->tree;

	for (uint32_t i = tree->nodes[file->configs[place->config].node].first; i; i = tree->nodes[i].next)
		if (tree->nodes[i].begin == place->begin)
			return i;
	return 0;
}

static enum gptq_status set_places(const struct gq_config_file *file, enum gq_label target, struct gq_edits *edits,
				   struct gptq_error *err)
{
	for (size_t i = 0; i < file->n_places; i++) {
		const struct gq_label_place *place = &file->places[i];
		bool empty = place->label == GQ_LABEL_ABSENT;
		enum gptq_status st;

		if (place->label == GQ_LABEL_FOREIGN || place->label == GQ_LABEL_UNKNOWN)
			return refuse_place(place, err);
		if (place->what == GQ_KEY_IS_MARLIN_FORMAT || (empty && !file->configs[place->config].is_gptq))
			continue;
		st = gq_edit_set_string(edits, &file->tree, node_of(file, place), word_for(place->what, target), err);
		if (st)
			return st;
	}
	return GPTQ_OK;
}

/* What becomes of a record that is there: removed, set, or replaced where it is no object. */
static enum gptq_status change_record(const struct gq_config_file *file, const struct gq_config *config,
				      const char *record, struct gq_edits *edits, struct gptq_error *err)
{
	const struct gq_json_tree *tree = &file->tree;
	uint32_t tools = gq_json_get(tree, config->node, "gptq_tools");
	uint32_t style = gq_json_get(tree, tools, "v1_style");
	struct gq_buf text = {0};
	enum gptq_status st;

	if (!tools || (!record && !style))
		return GPTQ_OK;
	if (!record)
		return gq_edit_remove(edits, tree, tree->nodes[tools].n_children == 1 ? tools : style, err);
	if (!config->is_gptq)
		return GPTQ_OK;
	if (style)
		return gq_edit_set_string(edits, tree, style, record, err);
	if (tree->nodes[tools].type == GQ_JSON_OBJECT)
		return gq_edit_add_string(edits, tree, tools, "v1_style", record, err);
	gq_buf_printf(&text, "{\"v1_style\": \"%s\"}", record);
	st = text.failed
		     ? gq_fail_nomem(err)
		     : gq_edits_add(edits, tree->nodes[tools].begin, tree->nodes[tools].end, text.data, text.size, err);
	gq_buf_free(&text);
	return st;
}

static bool has_place(const struct gq_config_file *file, size_t config, enum gq_label_key what)
{
	for (size_t i = 0; i < file->n_places; i++)
		if (file->places[i].config == config && file->places[i].what == what)
			return true;
	return false;
}

static enum gptq_status add_members(const struct gq_config_file *file, enum gq_label target, const char *record,
				    struct gq_edits *edits, struct gptq_error *err)
{
	const struct gq_json_tree *tree = &file->tree;

	for (size_t i = 0; i < file->n_configs; i++) {
		const struct gq_config *config = &file->configs[i];
		enum gq_label_key what = config->is_auto_round ? GQ_KEY_PACKING_FORMAT : GQ_KEY_CHECKPOINT_FORMAT;
		const char *key = config->is_auto_round ? "packing_format" : "checkpoint_format";
		enum gptq_status st = GPTQ_OK;

		if (!config->is_gptq)
			continue;
		if (!has_place(file, i, what))
			st = gq_edit_add_string(edits, tree, config->node, key, word_for(what, target), err);
		if (!st && record && record[0] && !gq_json_get(tree, config->node, "gptq_tools"))
			st = gq_edit_add_object(edits, tree, config->node, "gptq_tools", "v1_style", record, err);
		if (st)
			return st;
	}
	return GPTQ_OK;
}

/*
 * Two passes, because a member that goes (a record at the end) and one that comes (a label behind it) would touch the
 * same bytes: the second reads what the first made.
 */
enum gptq_status gq_config_rewrite(const struct gq_config_file *file, enum gq_label target, const char *record,
				   struct gq_buf *out, struct gptq_error *err)
{
	struct gq_config_file second = {0};
	struct gq_edits changes = {0}, additions = {0};
	struct gq_buf text = {0};
	enum gptq_status st;

	st = set_places(file, target, &changes, err);
	for (size_t i = 0; i < file->n_configs && !st && (!record || record[0]); i++)
		st = change_record(file, &file->configs[i], record, &changes, err);
	if (!st)
		st = gq_edits_apply(&changes, file->text, file->size, &text, err);
	if (!st)
		st = gq_config_read(file->name, file->kind, text.data, text.size, &second, err);
	if (!st)
		st = add_members(&second, target, record, &additions, err);
	if (!st)
		st = gq_edits_apply(&additions, second.text, second.size, out, err);
	if (st)
		gq_error_file(err, file->name);
	gq_edits_free(&changes);
	gq_edits_free(&additions);
	gq_config_free(&second);
	gq_buf_free(&text);
	return st;
}

enum gptq_status gq_header_set_label(const char *header, size_t size, size_t begin, size_t end, enum gq_label target,
				     struct gq_buf *out, struct gptq_error *err)
{
	const char *word = word_for(GQ_KEY_METADATA, target);
	size_t start = out->size, text_end = size, made;

	if (begin >= end || end > size || !word)
		return gq_fail(err, GPTQ_E_ARG, "no label to write at bytes %zu to %zu of the header", begin, end);
	if (gq_json_string_is(header, begin, end, word, strlen(word))) {
		gq_buf_add(out, header, size);
		return out->failed ? gq_fail_nomem(err) : GPTQ_OK;
	}
	while (text_end > end && header[text_end - 1] == ' ')
		text_end--;
	gq_buf_add(out, header, begin);
	gq_buf_printf(out, "\"%s\"", word);
	gq_buf_add(out, header + end, text_end - end);
	made = out->failed ? size : out->size - start;
	while (made < size || (made > size && made % 8 != 0)) {
		gq_buf_add(out, " ", 1);
		made++;
	}
	return out->failed ? gq_fail_nomem(err) : GPTQ_OK;
}
