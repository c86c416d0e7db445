/* SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "quant/dynamic.h"

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

#include <pcre2.h>
#include <string.h>

#define MAX_RULES 65536
/* A short pattern can compile to much more than its length; all of a config's together may not. */
#define MAX_COMPILED_BYTES ((size_t)16 << 20)
/*
 * Honest patterns on module paths take some hundred steps, and a checkpoint has some ten thousand layers and some ten
 * rules. A hostile one may have 65,536 rules and half a million layers, so the steps of one match are limited, and the
 * cost of all matches together as well.
 */
#define CHEAP_MATCH 500    /* steps that a match may take without being counted more than once */
#define MATCH_LIMIT 100000 /* steps that it may take at all: 200 cheap ones */
#define MAX_COST 20000000  /* in cheap matches */
#define DEPTH_LIMIT 10000
#define HEAP_LIMIT_KIB 4096

struct rule {
	struct gq_dynamic_rule shown;
	char *key; /* unescaped, without prefix: the module name or the pattern */
	size_t key_n;
	char *text, *pack_dtype, *problem; /* what `shown` points at */
	pcre2_code *code;                  /* NULL: no pattern, or one with a problem */
	bool dead; /* hit a limit once: not run again, so that it cannot cost that much on every path */
};

struct gq_dynamic {
	struct rule *rules;
	size_t n, n_dynamic; /* the first n_dynamic come from dynamic */
	size_t compiled_bytes;
	struct gq_map names; /* of extra_config's keys, to their rules */
	uint64_t cost;       /* so far, in cheap matches */
	bool nomem;          /* some match ran out of memory */
	pcre2_general_context *general;
	pcre2_compile_context *compile;
	pcre2_match_context *match;
	pcre2_match_data *data;
};

static void *take_memory(PCRE2_SIZE size, void *unused)
{
	(void)unused;
	return gq_malloc_array(size, 1);
}

static void return_memory(void *p, void *unused)
{
	(void)unused;
	gq_free(p);
}

static bool make_contexts(struct gq_dynamic *dynamic)
{
	dynamic->general = pcre2_general_context_create(take_memory, return_memory, NULL);
	if (!dynamic->general)
		return false;
	dynamic->compile = pcre2_compile_context_create(dynamic->general);
	dynamic->match = pcre2_match_context_create(dynamic->general);
	dynamic->data = pcre2_match_data_create(1, dynamic->general);
	if (!dynamic->compile || !dynamic->match || !dynamic->data)
		return false;
	pcre2_set_parens_nest_limit(dynamic->compile, 100);
	pcre2_set_depth_limit(dynamic->match, DEPTH_LIMIT);
	pcre2_set_heap_limit(dynamic->match, HEAP_LIMIT_KIB);
	return true;
}

/* Compiles a rule's pattern. False only where memory ran out; a bad pattern becomes the rule's problem. */
static bool compile(struct gq_dynamic *dynamic, struct rule *rule, uint32_t options)
{
	unsigned char text[200];
	int code = 0;
	size_t offset = 0, size = 0;
	struct gq_buf problem = {0};

	rule->code = pcre2_compile((PCRE2_SPTR)rule->key, rule->key_n, options | PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C,
				   &code, &offset, dynamic->compile);
	if (rule->code) {
		pcre2_pattern_info(rule->code, PCRE2_INFO_SIZE, &size);
		dynamic->compiled_bytes += size;
		if (dynamic->compiled_bytes <= MAX_COMPILED_BYTES)
			return true;
		dynamic->compiled_bytes -= size;
		pcre2_code_free(rule->code);
		rule->code = NULL;
		gq_buf_puts(&problem, "the patterns of this config are too large together");
	} else {
		if (code == PCRE2_ERROR_HEAP_FAILED)
			return false;
		if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
			text[0] = '\0';
		gq_buf_printf(&problem, "%s (at byte %zu of the pattern)", (char *)text, offset);
	}
	rule->problem = problem.data;
	return !problem.failed;
}

/* Unescapes the key and cuts the prefix of `dynamic`. */
static bool read_key(const struct gq_json_tree *tree, const struct gq_json_node *nd, struct rule *rule)
{
	char text[256];
	struct gq_buf key = {0};
	size_t skip = 0;

	gq_json_unescape(tree->text, nd->key_begin, nd->key_end, &key);
	if (!key.failed && !rule->shown.from_extra_config && key.size >= 2 && key.data[1] == ':' &&
	    (key.data[0] == '-' || key.data[0] == '+')) {
		rule->shown.exclude = key.data[0] == '-';
		skip = 2;
	}
	gq_mask(text, sizeof(text), key.data ? key.data : "", key.size, false);
	rule->text = gq_strdup(text);
	rule->key_n = key.size - skip;
	rule->key = gq_strndup(key.data ? key.data + skip : "", rule->key_n);
	gq_buf_free(&key);
	return !key.failed && rule->text && rule->key;
}

static bool is_pattern(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] && strchr("*+?^$()[]{}|\\", s[i]))
			return true;
	return false;
}

static bool read_overrides(const struct gq_json_tree *tree, uint32_t node, struct rule *rule)
{
	bool nomem = false;

	rule->shown.bits = gq_config_member_int(tree, node, "bits");
	rule->shown.group_size = gq_config_member_int(tree, node, "group_size");
	rule->shown.sym = gq_config_member_flag(tree, node, "sym");
	rule->shown.desc_act = gq_config_member_flag(tree, node, "desc_act");
	rule->pack_dtype = gq_json_strdup(tree, gq_json_get(tree, node, "pack_dtype"), &nomem);
	if (rule->shown.from_extra_config && rule->shown.bits.present && rule->shown.bits.value >= 16)
		rule->shown.exclude = true;
	return !nomem;
}

static bool add_rule(struct gq_dynamic *dynamic, const struct gq_json_tree *tree, uint32_t node, bool extra)
{
	struct rule *rule = &dynamic->rules[dynamic->n++];
	bool ok;

	rule->shown.from_extra_config = extra;
	ok = read_key(tree, &tree->nodes[node], rule) && read_overrides(tree, node, rule);
	if (ok && (!extra || is_pattern(rule->key, rule->key_n)))
		ok = compile(dynamic, rule, extra ? 0 : PCRE2_ANCHORED);
	if (ok && extra)
		ok = gq_map_insert(&dynamic->names, rule->key, rule->key_n, (uint32_t)(dynamic->n - 1), NULL) !=
		     GQ_MAP_NOMEM;
	rule->shown.text = rule->text;
	rule->shown.pack_dtype = rule->pack_dtype;
	rule->shown.problem = rule->problem;
	return ok;
}

/* Does the key begin with "-:"? Exclusions go first. */
static bool excludes(const struct gq_json_tree *tree, const struct gq_json_node *nd)
{
	struct gq_buf key = {0};
	bool yes;

	if (!nd->key_escaped)
		return nd->key_end - nd->key_begin >= 4 && memcmp(tree->text + nd->key_begin + 1, "-:", 2) == 0;
	gq_json_unescape(tree->text, nd->key_begin, nd->key_end, &key);
	yes = key.size >= 2 && memcmp(key.data, "-:", 2) == 0;
	gq_buf_free(&key);
	return yes;
}

static bool add_rules(struct gq_dynamic *dynamic, const struct gq_json_tree *tree, const struct gq_config *config)
{
	bool ok = true;

	for (int exclusions = 1; exclusions >= 0 && config->dynamic; exclusions--)
		for (uint32_t i = tree->nodes[config->dynamic].first; i && ok; i = tree->nodes[i].next)
			if (excludes(tree, &tree->nodes[i]) == (bool)exclusions)
				ok = add_rule(dynamic, tree, i, false);
	dynamic->n_dynamic = dynamic->n;
	if (!config->extra_config)
		return ok;
	for (uint32_t i = tree->nodes[config->extra_config].first; i && ok; i = tree->nodes[i].next)
		ok = add_rule(dynamic, tree, i, true);
	return ok;
}

enum gptq_status gq_dynamic_new(const struct gq_config_file *file, const struct gq_config *config,
				struct gq_dynamic **dynamic, struct gptq_error *err)
{
	const struct gq_json_tree *tree = &file->tree;
	size_t n = 0;
	struct gq_dynamic *made;

	*dynamic = NULL;
	if (config->dynamic)
		n += tree->nodes[config->dynamic].n_children;
	if (config->extra_config)
		n += tree->nodes[config->extra_config].n_children;
	if (n > MAX_RULES)
		return gq_fail(err, GPTQ_E_LIMIT, "%s: %zu rules for single modules, over the limit of %d",
			       config->where, n, MAX_RULES);
	made = gq_calloc(1, sizeof(*made));
	if (made)
		gq_map_init(&made->names);
	if (made)
		made->rules = gq_calloc(n, sizeof(*made->rules));
	if (!made || !made->rules || !make_contexts(made) || !add_rules(made, tree, config)) {
		gq_dynamic_free(made);
		return gq_fail_nomem(err);
	}
	*dynamic = made;
	return GPTQ_OK;
}

void gq_dynamic_free(struct gq_dynamic *dynamic)
{
	if (!dynamic)
		return;
	for (size_t i = 0; i < dynamic->n; i++) {
		struct rule *rule = &dynamic->rules[i];

		pcre2_code_free(rule->code);
		gq_free(rule->key);
		gq_free(rule->text);
		gq_free(rule->pack_dtype);
		gq_free(rule->problem);
	}
	gq_map_free(&dynamic->names);
	pcre2_match_data_free(dynamic->data);
	pcre2_match_context_free(dynamic->match);
	pcre2_compile_context_free(dynamic->compile);
	pcre2_general_context_free(dynamic->general);
	gq_free(dynamic->rules);
	gq_free(dynamic);
}

size_t gq_dynamic_count(const struct gq_dynamic *dynamic)
{
	return dynamic->n;
}

const struct gq_dynamic_rule *gq_dynamic_rule_at(const struct gq_dynamic *dynamic, size_t index)
{
	return index < dynamic->n ? &dynamic->rules[index].shown : NULL;
}

/* Runs the pattern, for few steps at first. What is beyond the budget is a limit that was hit. */
static int run(struct gq_dynamic *dynamic, const struct rule *rule, const char *module, size_t n)
{
	int rc = PCRE2_ERROR_MATCHLIMIT;

	for (uint32_t steps = CHEAP_MATCH; rc == PCRE2_ERROR_MATCHLIMIT && steps <= MATCH_LIMIT;
	     steps *= MATCH_LIMIT / CHEAP_MATCH) {
		uint64_t cost = steps / CHEAP_MATCH + n / 1024; /* a path is looked through as a whole, too */

		if (dynamic->cost + cost > MAX_COST)
			break;
		dynamic->cost += cost;
		pcre2_set_match_limit(dynamic->match, steps);
		rc = pcre2_match(rule->code, (PCRE2_SPTR)module, n, 0, 0, dynamic->data, dynamic->match);
	}
	return rc;
}

/* What one pattern says: NONE, LIMIT, or what the rule is for. */
static enum gq_dynamic_result ask(struct gq_dynamic *dynamic, struct rule *rule, const char *module, size_t n)
{
	int rc;

	if (!rule->code)
		return GQ_DYNAMIC_NONE;
	if (rule->dead)
		return GQ_DYNAMIC_LIMIT;
	rc = run(dynamic, rule, module, n);
	if (rc >= 0)
		return rule->shown.exclude ? GQ_DYNAMIC_EXCLUDE : GQ_DYNAMIC_OVERRIDE;
	switch (rc) {
	case PCRE2_ERROR_MATCHLIMIT:
	case PCRE2_ERROR_DEPTHLIMIT:
	case PCRE2_ERROR_HEAPLIMIT:
	case PCRE2_ERROR_RECURSELOOP:
		rule->dead = true;
		return GQ_DYNAMIC_LIMIT;
	case PCRE2_ERROR_NOMEMORY: /* the system's limit, not the rule's: gq_dynamic_check() tells */
		dynamic->nomem = true;
		return GQ_DYNAMIC_LIMIT;
	default: /* no match, or a path that is no UTF-8 */
		return GQ_DYNAMIC_NONE;
	}
}

enum gq_dynamic_result gq_dynamic_match(struct gq_dynamic *dynamic, const char *module, size_t n, size_t *index)
{
	size_t ignored;
	uint32_t named;

	if (!index)
		index = &ignored;
	for (*index = 0; *index < dynamic->n_dynamic; ++*index) {
		enum gq_dynamic_result result = ask(dynamic, &dynamic->rules[*index], module, n);

		if (result != GQ_DYNAMIC_NONE)
			return result;
	}
	if (gq_map_find(&dynamic->names, module, n, &named)) {
		*index = named;
		return dynamic->rules[named].shown.exclude ? GQ_DYNAMIC_EXCLUDE : GQ_DYNAMIC_OVERRIDE;
	}
	for (*index = dynamic->n_dynamic; *index < dynamic->n; ++*index) {
		enum gq_dynamic_result result = ask(dynamic, &dynamic->rules[*index], module, n);

		if (result != GQ_DYNAMIC_NONE)
			return result;
	}
	*index = SIZE_MAX;
	return GQ_DYNAMIC_NONE;
}

enum gptq_status gq_dynamic_check(const struct gq_dynamic *dynamic, struct gptq_error *err)
{
	return dynamic && dynamic->nomem ? gq_fail_nomem(err) : GPTQ_OK;
}
