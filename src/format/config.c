/* SPDX-License-Identifier: Apache-2.0 */
#include "format/config_internal.h"

#include "base/error.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MAX_CONFIGS 64
#define MAX_PRODUCERS 64

const char *const gq_config_names[] = {"quantize_config.json", "quant_config.json", "quantization_config.json",
				       "config.json", NULL};

bool gq_config_known_name(const char *basename, enum gq_config_kind *kind)
{
	for (size_t i = 0; gq_config_names[i]; i++) {
		if (strcmp(basename, gq_config_names[i]) == 0) {
			*kind = strcmp(basename, "config.json") == 0 ? GQ_CONFIG_MODEL : GQ_CONFIG_STANDALONE;
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------------------------------------- one value */

static struct gq_config_int read_int(const struct gq_json_tree *tree, uint32_t node)
{
	const struct gq_json_node *nd = &tree->nodes[node];
	struct gq_config_int v = {0};

	v.present = node != 0 && nd->type == GQ_JSON_NUMBER && gq_json_i64(tree->text, nd->begin, nd->end, &v.value);
	return v;
}

/* Is a number zero, however it is written (0, -0.0, 0e5)? NaN and Infinity are not. */
static bool number_is_zero(const char *s, size_t n)
{
	for (size_t i = 0; i < n && s[i] != 'e' && s[i] != 'E'; i++)
		if (s[i] != '0' && s[i] != '.' && s[i] != '-')
			return false;
	return true;
}

static struct gq_config_flag read_flag(const struct gq_json_tree *tree, uint32_t node)
{
	const struct gq_json_node *nd = &tree->nodes[node];
	struct gq_config_flag v = {.present = true};

	if (node != 0 && nd->type == GQ_JSON_NUMBER)
		v.value = !number_is_zero(tree->text + nd->begin, nd->end - nd->begin);
	else if (node != 0 && (nd->type == GQ_JSON_TRUE || nd->type == GQ_JSON_FALSE))
		v.value = nd->type == GQ_JSON_TRUE;
	else
		v.present = false;
	return v;
}

struct gq_config_int gq_config_member_int(const struct gq_json_tree *tree, uint32_t object, const char *key)
{
	return read_int(tree, gq_json_get(tree, object, key));
}

struct gq_config_flag gq_config_member_flag(const struct gq_json_tree *tree, uint32_t object, const char *key)
{
	return read_flag(tree, gq_json_get(tree, object, key));
}

/* The last member of that name without case, as a lower-casing loader keeps it; 0 if absent or null. */
static uint32_t last_member(const struct gq_json_tree *tree, uint32_t object, const char *key)
{
	uint32_t found = 0, node = 0;

	while ((node = gq_json_get_nocase(tree, object, key, node)) != 0)
		found = node;
	return found != 0 && tree->nodes[found].type != GQ_JSON_NULL ? found : 0;
}

/* ------------------------------------------------------------------------------------------------- one config */

enum field_type { FIELD_INT, FIELD_FLAG, FIELD_NEGATED, FIELD_STRING, FIELD_OBJECT };

/* Later rows win over earlier ones, so an alias stands before the name that it is an alias of. */
static const struct field {
	const char *key;
	enum field_type type;
	size_t offset;
} fields[] = {
	{"wbits", FIELD_INT, offsetof(struct gq_config, bits)},
	{"w_bit", FIELD_INT, offsetof(struct gq_config, bits)},
	{"bits", FIELD_INT, offsetof(struct gq_config, bits)},
	{"q_group_size", FIELD_INT, offsetof(struct gq_config, group_size)},
	{"group_size", FIELD_INT, offsetof(struct gq_config, group_size)},
	{"zero_point", FIELD_NEGATED, offsetof(struct gq_config, sym)},
	{"sym", FIELD_FLAG, offsetof(struct gq_config, sym)},
	{"desc_act", FIELD_FLAG, offsetof(struct gq_config, desc_act)},
	{"static_groups", FIELD_FLAG, offsetof(struct gq_config, static_groups)},
	{"lm_head", FIELD_FLAG, offsetof(struct gq_config, lm_head)},
	{"compatible_with_autogptq", FIELD_FLAG, offsetof(struct gq_config, compatible_with_autogptq)},
	{"method", FIELD_STRING, offsetof(struct gq_config, quant_method)},
	{"quant_method", FIELD_STRING, offsetof(struct gq_config, quant_method)},
	{"version", FIELD_STRING, offsetof(struct gq_config, version)},
	{"pack_dtype", FIELD_STRING, offsetof(struct gq_config, pack_dtype)},
	{"model_file_base_name", FIELD_STRING, offsetof(struct gq_config, base_name)},
	{"rotation", FIELD_STRING, offsetof(struct gq_config, rotation)},
	{"dynamic", FIELD_OBJECT, offsetof(struct gq_config, dynamic)},
	{"extra_config", FIELD_OBJECT, offsetof(struct gq_config, extra_config)},
};

static bool set_string(char **dst, const struct gq_json_tree *tree, uint32_t node)
{
	bool nomem = false;

	gq_free(*dst);
	*dst = gq_json_strdup(tree, node, &nomem);
	return !nomem;
}

static bool read_field(const struct gq_json_tree *tree, const struct field *field, uint32_t node,
		       struct gq_config *config)
{
	void *dst = (char *)config + field->offset;
	struct gq_config_flag flag;

	switch (field->type) {
	case FIELD_INT:
		*(struct gq_config_int *)dst = read_int(tree, node);
		break;
	case FIELD_FLAG:
	case FIELD_NEGATED:
		flag = read_flag(tree, node);
		flag.value = flag.present && flag.value == (field->type == FIELD_FLAG);
		*(struct gq_config_flag *)dst = flag;
		break;
	case FIELD_STRING:
		return set_string(dst, tree, node);
	case FIELD_OBJECT:
		*(uint32_t *)dst = tree->nodes[node].type == GQ_JSON_OBJECT ? node : 0;
		break;
	}
	return true;
}

static bool add_producer(struct gq_config *config, const struct gq_producer *p)
{
	struct gq_producer *grown;

	if (config->n_producers == MAX_PRODUCERS)
		return true; /* none of these is a real config */
	grown = gq_array_more(config->producers, config->n_producers, sizeof(*grown));
	if (!grown)
		return false;
	config->producers = grown;
	grown[config->n_producers++] = *p;
	return true;
}

static bool add_entry(const struct gq_json_tree *tree, uint32_t node, struct gq_config *config)
{
	bool nomem = false, ok = true;
	char *entry = gq_json_strdup(tree, node, &nomem);
	struct gq_producer p;

	if (entry && gq_producer_from_entry(entry, &p))
		ok = add_producer(config, &p);
	gq_free(entry);
	return ok && !nomem;
}

static bool read_producers(const struct gq_json_tree *tree, struct gq_config *config, uint32_t meta)
{
	uint32_t quantizer = meta ? last_member(tree, meta, "quantizer") : 0;
	uint32_t version = last_member(tree, config->node, "autoround_version");
	bool nomem = false, ok = true;
	struct gq_producer p;
	char *text;

	if (quantizer && tree->nodes[quantizer].type == GQ_JSON_STRING)
		ok = add_entry(tree, quantizer, config);
	else if (quantizer && tree->nodes[quantizer].type == GQ_JSON_ARRAY)
		for (uint32_t i = tree->nodes[quantizer].first; i && ok; i = tree->nodes[i].next)
			ok = add_entry(tree, i, config);
	if (!ok || !version)
		return ok;
	text = gq_json_strdup(tree, version, &nomem);
	if (text) {
		gq_producer_from_version(GQ_PRODUCER_KEY_AUTOROUND, text, &p);
		ok = add_producer(config, &p);
	}
	gq_free(text);
	return ok && !nomem;
}

/* `bits` and at least one of the others make a GPTQ config where no quant_method says what it is. */
static bool has_gptq_keys(const struct gq_json_tree *tree, uint32_t object)
{
	static const char *const bits[] = {"bits", "w_bit", "wbits", NULL};
	static const char *const more[] = {"group_size",        "q_group_size", "desc_act",
					   "checkpoint_format", "format",       NULL};
	bool has_bits = false, has_more = false;

	for (size_t i = 0; bits[i]; i++)
		has_bits = has_bits || last_member(tree, object, bits[i]);
	for (size_t i = 0; more[i]; i++)
		has_more = has_more || last_member(tree, object, more[i]);
	return has_bits && has_more;
}

static bool read_fields(const struct gq_json_tree *tree, struct gq_config *config)
{
	uint32_t meta = last_member(tree, config->node, "meta");
	uint32_t record = gq_json_get(tree, config->node, "gptq_tools");
	bool ok = true;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && ok; i++) {
		uint32_t node = last_member(tree, config->node, fields[i].key);

		if (node)
			ok = read_field(tree, &fields[i], node, config);
	}
	if (meta && !config->static_groups.present)
		config->static_groups = read_flag(tree, last_member(tree, meta, "static_groups"));
	record = record ? gq_json_get(tree, record, "v1_style") : 0;
	if (ok && record)
		ok = set_string(&config->v1_style, tree, record);
	return ok && read_producers(tree, config, meta);
}

static void free_config(struct gq_config *config)
{
	gq_free(config->path);
	gq_free(config->where);
	gq_free(config->quant_method);
	gq_free(config->version);
	gq_free(config->pack_dtype);
	gq_free(config->base_name);
	gq_free(config->rotation);
	gq_free(config->v1_style);
	gq_free(config->producers);
}

static bool name_config(const struct gq_config_file *file, const char *path, struct gq_config *config)
{
	struct gq_buf where = {0};

	gq_buf_printf(&where, "%s%s%s", file->name, path[0] ? ": " : "", path);
	config->path = gq_strdup(path);
	config->where = where.data ? where.data : gq_strdup("");
	return config->path && config->where && !where.failed;
}

/*
 * Reads the object at `node` as a quantisation config. An object that only may be one (the root of a stand-alone
 * file) is left out if nothing in it says that it is.
 */
static enum gptq_status add_config(struct gq_config_file *file, uint32_t node, const char *path, bool maybe,
				   struct gptq_error *err)
{
	struct gq_config config = {.node = node};
	struct gq_config *grown;
	size_t n_places = file->n_places;
	enum gptq_status st;

	if (file->n_configs == MAX_CONFIGS)
		return gq_fail(err, GPTQ_E_LIMIT, "more than %d quantisation configs in one file", MAX_CONFIGS);
	config.is_gptq = has_gptq_keys(&file->tree, node);
	if (!name_config(file, path, &config) || !read_fields(&file->tree, &config)) {
		free_config(&config);
		return gq_fail_nomem(err);
	}
	st = gq_config_add_places(file, &config, err);
	if (st || (maybe && !config.is_gptq && !gq_config_any_label(file, n_places))) {
		gq_config_drop_places(file, n_places);
		free_config(&config);
		return st;
	}
	grown = gq_array_more(file->configs, file->n_configs, sizeof(*grown));
	if (!grown) {
		free_config(&config);
		return gq_fail_nomem(err);
	}
	file->configs = grown;
	grown[file->n_configs++] = config;
	return GPTQ_OK;
}

static enum gptq_status find_configs(struct gq_config_file *file, struct gptq_error *err)
{
	static const char name[] = "quantization_config";
	const struct gq_json_tree *tree = &file->tree;
	enum gptq_status st = GPTQ_OK;

	if (tree->nodes[0].type != GQ_JSON_OBJECT)
		return GPTQ_OK;
	if (file->kind == GQ_CONFIG_STANDALONE)
		st = add_config(file, 0, "", true, err);
	for (uint32_t i = tree->nodes[0].first; i && st == GPTQ_OK; i = tree->nodes[i].next) {
		const struct gq_json_node *nd = &tree->nodes[i];
		uint32_t inner;
		char path[320], outer[256];

		if (nd->type != GQ_JSON_OBJECT)
			continue;
		if (gq_json_string_is(tree->text, nd->key_begin, nd->key_end, name, sizeof(name) - 1))
			st = add_config(file, i, name, false, err);
		inner = gq_json_get(tree, i, name);
		if (st || !inner || tree->nodes[inner].type != GQ_JSON_OBJECT)
			continue;
		gq_mask(outer, sizeof(outer), tree->text + nd->key_begin + 1, nd->key_end - nd->key_begin - 2, false);
		snprintf(path, sizeof(path), "%s.%s", outer, name);
		st = add_config(file, inner, path, false, err);
	}
	return st;
}

enum gptq_status gq_config_read(const char *name, enum gq_config_kind kind, const char *text, size_t size,
				struct gq_config_file *file, struct gptq_error *err)
{
	unsigned flags = GQ_JSON_NAN | GQ_JSON_BOM | GQ_JSON_LONE_SURROGATES;
	enum gptq_status st = GPTQ_OK;

	*file = (struct gq_config_file){.kind = kind, .size = size};
	if (size > GQ_CONFIG_MAX_BYTES) {
		st = gq_fail(err, GPTQ_E_LIMIT, "a config of %zu bytes is over the limit of %zu", size,
			     GQ_CONFIG_MAX_BYTES);
	} else {
		file->name = gq_strdup(name);
		file->text = gq_strndup(text, size);
		if (!file->name || !file->text)
			st = gq_fail_nomem(err);
	}
	if (!st)
		st = gq_json_parse(file->text, size, flags, &file->tree, err);
	if (!st)
		st = find_configs(file, err);
	if (st) {
		gq_error_file(err, name);
		gq_config_free(file);
	}
	return st;
}

void gq_config_free(struct gq_config_file *file)
{
	for (size_t i = 0; i < file->n_configs; i++)
		free_config(&file->configs[i]);
	gq_free(file->configs);
	gq_config_drop_places(file, 0);
	gq_free(file->places);
	gq_json_tree_free(&file->tree);
	gq_free(file->text);
	gq_free(file->name);
	*file = (struct gq_config_file){0};
}
