/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses flags, the rest is a JSON text. Scanner, skipping and tree must agree, and every span must
 * lie where it says.
 */
#include "fuzz.h"

#include "base/json.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_string(const char *text, size_t begin, size_t end)
{
	struct gq_buf out = {0};
	char *into = malloc(end - begin);
	size_t n;

	MUST(into && end - begin >= 2 && text[begin] == '"' && text[end - 1] == '"');
	gq_json_unescape(text, begin, end, &out);
	MUST(!out.failed && out.size <= end - begin);
	n = gq_json_unescape_into(text, begin, end, into);
	MUST(n == out.size && (n == 0 || memcmp(into, out.data, n) == 0));
	MUST(gq_json_string_is(text, begin, end, into, n));
	MUST(!gq_json_string_is(text, begin, end, into, n ? n - 1 : 1));
	gq_buf_free(&out);
	free(into);
}

static void check_number(const char *text, size_t begin, size_t end)
{
	uint64_t u;
	int64_t i;
	char shown[32];

	if (gq_json_u64(text, begin, end, &u)) {
		snprintf(shown, sizeof(shown), "%llu", (unsigned long long)u);
		MUST(strlen(shown) == end - begin && memcmp(shown, text + begin, end - begin) == 0);
	}
	if (gq_json_i64(text, begin, end, &i) && i != 0) {
		snprintf(shown, sizeof(shown), "%lld", (long long)i);
		MUST(strlen(shown) == end - begin && memcmp(shown, text + begin, end - begin) == 0);
	}
}

/* Every event in turn. */
static enum gptq_status walk(const char *text, size_t size, unsigned flags, unsigned *n_values)
{
	struct gq_json js;
	struct gq_json_event ev = {.type = GQ_JSON_NONE};
	struct gptq_error err;
	enum gptq_status status = GPTQ_OK;
	size_t behind = 0;
	unsigned depth = 0;

	*n_values = 0;
	gq_json_init(&js, text, size, flags);
	while (status == GPTQ_OK && ev.type != GQ_JSON_DONE) {
		status = gq_json_next(&js, &ev, &err);
		if (status != GPTQ_OK || ev.type == GQ_JSON_DONE)
			break;
		MUST(ev.begin >= behind && ev.begin < ev.end && ev.end <= size);
		behind = ev.end;
		if (ev.type == GQ_JSON_OBJECT || ev.type == GQ_JSON_ARRAY)
			depth++;
		if (ev.type == GQ_JSON_OBJECT_END || ev.type == GQ_JSON_ARRAY_END)
			depth--;
		else if (ev.type != GQ_JSON_KEY)
			++*n_values;
		MUST(depth <= GQ_JSON_MAX_DEPTH && depth == js.depth);
		if (ev.type == GQ_JSON_STRING || ev.type == GQ_JSON_KEY)
			check_string(text, ev.begin, ev.end);
		if (ev.type == GQ_JSON_NUMBER)
			check_number(text, ev.begin, ev.end);
	}
	if (status != GPTQ_OK)
		MUST(status == GPTQ_E_FORMAT && err.message[0] && err.offset <= size);
	return status;
}

static enum gptq_status skip(const char *text, size_t size, unsigned flags)
{
	struct gq_json js;
	struct gq_json_event ev;
	struct gptq_error err;
	enum gptq_status status;

	gq_json_init(&js, text, size, flags);
	status = gq_json_next(&js, &ev, &err);
	if (status == GPTQ_OK)
		status = gq_json_skip(&js, &ev, &err);
	if (status == GPTQ_OK)
		status = gq_json_next(&js, &ev, &err);
	MUST(status != GPTQ_OK || ev.type == GQ_JSON_DONE);
	return status;
}

static void check_tree(const struct gq_json_tree *tree, size_t size, unsigned n_values)
{
	MUST(tree->n_nodes == n_values);
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		const struct gq_json_node *nd = &tree->nodes[i];
		bool nomem = false;
		uint32_t n = 0;
		char *s;

		MUST(nd->begin < nd->end && nd->end <= size && nd->key_begin <= nd->key_end);
		MUST(i == 0 ? nd->parent == UINT32_MAX : nd->parent < i);
		for (uint32_t k = nd->first; k; k = tree->nodes[k].next, n++) {
			MUST(k > i && k < tree->n_nodes && tree->nodes[k].parent == i);
			MUST(tree->nodes[k].begin > nd->begin && tree->nodes[k].end < nd->end);
		}
		MUST(n == nd->n_children);
		s = gq_json_strdup(tree, i, &nomem);
		MUST(!nomem && (!s || nd->type == GQ_JSON_STRING));
		gq_free(s);
		(void)gq_json_get(tree, i, "a");
		(void)gq_json_get_nocase(tree, i, "Bits", 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	unsigned flags = fuzz_u8(&in) & 7, n_values;
	const char *text = fuzz_guarded(SLOT_B, in.data, in.size);
	struct gq_json_tree tree = {0};
	struct gptq_error err;
	enum gptq_status walked = walk(text, in.size, flags, &n_values), parsed;

	MUST(skip(text, in.size, flags) == walked);
	if (walked == GPTQ_OK) /* a looser reading takes it, too */
		MUST(skip(text, in.size, 7) == GPTQ_OK);
	parsed = gq_json_parse(text, in.size, flags, &tree, &err);
	MUST(parsed == GPTQ_OK || parsed == GPTQ_E_FORMAT);
	if (parsed == GPTQ_OK) {
		MUST(walked == GPTQ_OK);
		check_tree(&tree, in.size, n_values);
		gq_json_tree_free(&tree);
	} else if (walked == GPTQ_OK) { /* only a key that stands twice is legal for the scanner alone */
		MUST(strstr(err.message, "twice"));
	}
	return 0;
}
