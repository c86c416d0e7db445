/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/json.h"
#include "base/json_dup.h"
#include "base/mem.h"

#include <string.h>

#define NONE UINT32_MAX

/* What is known while the tree grows. */
struct builder {
	struct gq_json_tree *tree;
	uint32_t parent;                      /* the innermost open node, NONE at the top */
	uint32_t last[GQ_JSON_MAX_DEPTH + 1]; /* the last child so far of each open node */
	unsigned depth;
	struct gq_json_event key; /* the key that waits for its value */
};

static enum gptq_status add_node(struct builder *b, const struct gq_json_event *ev, struct gptq_error *err)
{
	struct gq_json_tree *tree = b->tree;
	struct gq_json_node *node;
	uint32_t number = tree->n_nodes;

	if (number == NONE)
		return gq_fail(err, GPTQ_E_LIMIT, "more than 2^32 JSON values");
	node = gq_array_more(tree->nodes, number, sizeof(*node));
	if (!node)
		return gq_fail_nomem(err);
	tree->nodes = node;
	node = &tree->nodes[tree->n_nodes++];
	memset(node, 0, sizeof(*node));
	node->type = ev->type;
	node->escaped = ev->escaped;
	node->begin = ev->begin;
	node->end = ev->end;
	node->parent = b->parent;
	if (b->parent == NONE)
		return GPTQ_OK;
	if (tree->nodes[b->parent].type == GQ_JSON_OBJECT) {
		node->key_begin = b->key.begin;
		node->key_end = b->key.end;
		node->key_escaped = b->key.escaped;
	}
	if (tree->nodes[b->parent].n_children++ == 0)
		tree->nodes[b->parent].first = number;
	else
		tree->nodes[b->last[b->depth - 1]].next = number;
	b->last[b->depth - 1] = number;
	return GPTQ_OK;
}

static enum gptq_status take_event(struct builder *b, const struct gq_json_event *ev, struct gptq_error *err)
{
	enum gptq_status status;

	if (ev->type == GQ_JSON_KEY) {
		b->key = *ev;
		return GPTQ_OK;
	}
	if (ev->type == GQ_JSON_OBJECT_END || ev->type == GQ_JSON_ARRAY_END) {
		struct gq_json_node *node = &b->tree->nodes[b->parent];

		node->end = ev->end;
		b->parent = node->parent;
		b->depth--;
		return GPTQ_OK;
	}
	status = add_node(b, ev, err);
	if (!status && (ev->type == GQ_JSON_OBJECT || ev->type == GQ_JSON_ARRAY)) {
		b->parent = b->tree->n_nodes - 1;
		b->depth++;
	}
	return status;
}

enum gptq_status gq_json_parse(const char *text, size_t size, unsigned flags, struct gq_json_tree *tree,
			       struct gptq_error *err)
{
	struct builder b = {.tree = tree, .parent = NONE};
	struct gq_json_event ev;
	struct gq_json_dup dup;
	struct gq_json js;
	enum gptq_status status;

	memset(tree, 0, sizeof(*tree));
	tree->text = text;
	tree->size = size;
	gq_json_init(&js, text, size, flags);
	gq_json_dup_init(&dup, text);
	for (;;) {
		status = gq_json_next(&js, &ev, err);
		if (status || ev.type == GQ_JSON_DONE)
			break;
		status = gq_json_dup_event(&dup, &ev, err);
		if (!status)
			status = take_event(&b, &ev, err);
		if (status)
			break;
	}
	gq_json_dup_free(&dup);
	if (status)
		gq_json_tree_free(tree);
	return status;
}

void gq_json_tree_free(struct gq_json_tree *tree)
{
	gq_free(tree->nodes);
	memset(tree, 0, sizeof(*tree));
}

static bool is_object(const struct gq_json_tree *tree, uint32_t node)
{
	return node < tree->n_nodes && tree->nodes[node].type == GQ_JSON_OBJECT;
}

uint32_t gq_json_get(const struct gq_json_tree *tree, uint32_t object, const char *key)
{
	size_t n = strlen(key);

	if (!is_object(tree, object))
		return 0;
	for (uint32_t i = tree->nodes[object].first; i; i = tree->nodes[i].next) {
		if (gq_json_string_is(tree->text, tree->nodes[i].key_begin, tree->nodes[i].key_end, key, n))
			return i;
	}
	return 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Few keys have escapes and those we look for are short, so unescape into a small buffer only if it can match. */
static bool key_is_nocase(const struct gq_json_tree *tree, const struct gq_json_node *node, const char *key, size_t n)
{
	size_t raw = node->key_end - node->key_begin - 2;
	const char *p = tree->text + node->key_begin + 1;
	char decoded[256];

	if (node->key_escaped) {
		if (raw > sizeof(decoded) - 2)
			return false;
		raw = gq_json_unescape_into(tree->text, node->key_begin, node->key_end, decoded);
		p = decoded;
	}
	if (raw != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (lower(p[i]) != lower(key[i]))
			return false;
	}
	return true;
}

uint32_t gq_json_get_nocase(const struct gq_json_tree *tree, uint32_t object, const char *key, uint32_t after)
{
	size_t n = strlen(key);

	if (!is_object(tree, object))
		return 0;
	for (uint32_t i = after ? tree->nodes[after].next : tree->nodes[object].first; i; i = tree->nodes[i].next) {
		if (key_is_nocase(tree, &tree->nodes[i], key, n))
			return i;
	}
	return 0;
}

char *gq_json_strdup(const struct gq_json_tree *tree, uint32_t node, bool *nomem)
{
	const struct gq_json_node *value;
	char *copy;
	size_t n;

	if (node >= tree->n_nodes || tree->nodes[node].type != GQ_JSON_STRING)
		return NULL;
	value = &tree->nodes[node];
	copy = gq_malloc_array(value->end - value->begin, 1);
	if (!copy) {
		if (nomem)
			*nomem = true;
		return NULL;
	}
	n = gq_json_unescape_into(tree->text, value->begin, value->end, copy);
	if (memchr(copy, '\0', n)) {
		gq_free(copy);
		return NULL;
	}
	copy[n] = '\0';
	return copy;
}
