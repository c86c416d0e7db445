/* SPDX-License-Identifier: Apache-2.0 */
#include "format/edit.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

enum gptq_status gq_edits_add(struct gq_edits *edits, size_t begin, size_t end, const char *data, size_t size,
			      struct gptq_error *err)
{
	struct gq_edit *items;
	size_t at = edits->n;
	char *copy;

	/* Behind all that begin here, but an insertion goes before a replacement of the bytes that follow it. */
	while (at > 0 && (edits->items[at - 1].begin > begin ||
			  (begin == end && edits->items[at - 1].begin == begin && edits->items[at - 1].end > begin)))
		at--;
	if (begin > end || (at > 0 && edits->items[at - 1].end > begin) ||
	    (at < edits->n && edits->items[at].begin < end))
		return gq_fail(err, GPTQ_E_ARG, "two edits of bytes %zu to %zu overlap", begin, end);
	items = gq_array_more(edits->items, edits->n, sizeof(*items));
	if (!items)
		return gq_fail_nomem(err);
	edits->items = items;
	copy = gq_strndup(data, size);
	if (!copy)
		return gq_fail_nomem(err);
	memmove(&items[at + 1], &items[at], (edits->n - at) * sizeof(*items));
	items[at] = (struct gq_edit){.begin = begin, .end = end, .data = copy, .size = size};
	edits->n++;
	return GPTQ_OK;
}

enum gptq_status gq_edits_apply(const struct gq_edits *edits, const char *text, size_t size, struct gq_buf *out,
				struct gptq_error *err)
{
	size_t pos = 0;

	if (edits->n > 0 && edits->items[edits->n - 1].end > size)
		return gq_fail(err, GPTQ_E_ARG, "an edit ends behind the text's %zu bytes", size);
	for (size_t i = 0; i < edits->n; i++) {
		const struct gq_edit *e = &edits->items[i];

		gq_buf_add(out, text + pos, e->begin - pos);
		gq_buf_add(out, e->data, e->size);
		pos = e->end;
	}
	gq_buf_add(out, text + pos, size - pos);
	return out->failed ? gq_fail_nomem(err) : GPTQ_OK;
}

void gq_edits_free(struct gq_edits *edits)
{
	for (size_t i = 0; i < edits->n; i++)
		gq_free(edits->items[i].data);
	gq_free(edits->items);
	*edits = (struct gq_edits){0};
}

/* --------------------------------------------------------------------------------------------- white space */

struct span {
	const char *s;
	size_t n;
};

static struct span span_of(const struct gq_json_tree *tree, size_t begin, size_t end)
{
	return (struct span){tree->text + begin, end - begin};
}

/* Offset behind the last line end of a span; 0 if it has none. '\r' alone counts only where there is no '\n'. */
static size_t behind_line_end(struct span sp)
{
	for (const char *mark = "\n\r"; *mark; mark++)
		for (size_t i = sp.n; i > 0; i--)
			if (sp.s[i - 1] == *mark)
				return i;
	return 0;
}

/* The line end itself: "\n", "\r\n" or "\r". */
static struct span line_end(struct span sp)
{
	size_t end = behind_line_end(sp);
	size_t n = end > 1 && sp.s[end - 1] == '\n' && sp.s[end - 2] == '\r' ? 2 : 1;

	return end ? (struct span){sp.s + end - n, n} : (struct span){"", 0};
}

/* The blanks and tabs that begin the last line of a span that holds a line end. */
static struct span indentation(struct span sp)
{
	size_t begin = behind_line_end(sp), end = begin;

	while (end < sp.n && (sp.s[end] == ' ' || sp.s[end] == '\t'))
		end++;
	return (struct span){sp.s + begin, end - begin};
}

static void add_span(struct gq_buf *buf, struct span sp)
{
	gq_buf_add(buf, sp.s, sp.n);
}

static void add_quoted(struct gq_buf *buf, const char *s)
{
	gq_buf_puts(buf, "\"");
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			gq_buf_printf(buf, "\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			gq_buf_printf(buf, "\\u%04x", (unsigned)*s);
		else
			gq_buf_add(buf, s, 1);
	}
	gq_buf_puts(buf, "\"");
}

/* How the members of an object stand. Spans point into the text or at constants. */
struct style {
	const struct gq_json_node *object;
	const struct gq_json_node *first, *last, *before_last; /* NULL where there are too few */
	struct span open;  /* between '{' and the first key, or all of an empty object's inside */
	struct span close; /* between the last value and '}' */
	struct span joint; /* between the last value but one and the last key; without that, like open and no comma */
	struct span colon; /* between a key and its value */
};

static struct style style_of(const struct gq_json_tree *tree, uint32_t object)
{
	struct style st = {.object = &tree->nodes[object]};

	for (uint32_t i = st.object->first; i; i = tree->nodes[i].next) {
		st.before_last = st.last;
		st.last = &tree->nodes[i];
		if (!st.first)
			st.first = st.last;
	}
	if (!st.last) {
		st.open = span_of(tree, st.object->begin + 1, st.object->end - 1);
		st.colon = span_of(tree, st.object->key_end, st.object->begin);
		if (object == 0 || st.object->key_begin == st.object->key_end)
			st.colon = (struct span){": ", 2};
		return st;
	}
	st.open = span_of(tree, st.object->begin + 1, st.first->key_begin);
	st.close = span_of(tree, st.last->end, st.object->end - 1);
	st.joint = st.before_last ? span_of(tree, st.before_last->end, st.last->key_begin) : st.open;
	st.colon = span_of(tree, st.last->key_end, st.last->begin);
	return st;
}

/* What stands before a new last member: comma and white space. Not for an empty object. */
static void add_joint(struct gq_buf *buf, const struct style *st)
{
	bool blank_after_colon = st->colon.n > 0 && st->colon.s[st->colon.n - 1] != ':';

	if (!st->before_last)
		gq_buf_puts(buf, ",");
	add_span(buf, st->joint);
	/* {"a": 1} has nothing to copy from: Python writes ", " where it writes ": ". */
	if (!st->before_last && st->joint.n == 0 && blank_after_colon)
		gq_buf_puts(buf, " ");
}

static uint32_t depth_of(const struct gq_json_tree *tree, const struct gq_json_node *node)
{
	uint32_t depth = 1;

	for (; node->parent != UINT32_MAX; node = &tree->nodes[node->parent])
		depth++;
	return depth;
}

/* One step of indentation: what a member has more than the brace that closes its object. */
static struct span indent_step(const struct gq_json_tree *tree, const struct style *st, struct span indent)
{
	struct span outer = indentation(st->close);
	uint32_t depth = depth_of(tree, st->object);

	if (behind_line_end(st->close) && outer.n <= indent.n && memcmp(outer.s, indent.s, outer.n) == 0)
		return (struct span){indent.s + outer.n, indent.n - outer.n};
	if (indent.n > 0 && indent.s[0] == '\t')
		return (struct span){"\t", 1};
	return indent.n % depth == 0 ? (struct span){indent.s, indent.n / depth} : (struct span){"  ", 2};
}

/* ------------------------------------------------------------------------------------------ edits of members */

enum gptq_status gq_edit_set_string(struct gq_edits *edits, const struct gq_json_tree *tree, uint32_t node,
				    const char *value, struct gptq_error *err)
{
	const struct gq_json_node *nd = &tree->nodes[node];
	struct gq_buf text = {0};
	enum gptq_status st;

	if (nd->type == GQ_JSON_STRING && gq_json_string_is(tree->text, nd->begin, nd->end, value, strlen(value)))
		return GPTQ_OK;
	add_quoted(&text, value);
	st = text.failed ? gq_fail_nomem(err) : gq_edits_add(edits, nd->begin, nd->end, text.data, text.size, err);
	gq_buf_free(&text);
	return st;
}

/* Puts a member, whose text is `value`, behind the last one. */
static enum gptq_status add_member(struct gq_edits *edits, const struct style *style, const char *key,
				   const struct gq_buf *value, struct gptq_error *err)
{
	struct gq_buf text = {0};
	size_t at = style->last ? style->last->end : style->object->begin + 1;
	enum gptq_status st;

	if (style->last)
		add_joint(&text, style);
	else
		add_span(&text, style->open); /* its copy stays behind, so removing the member leaves what was */
	add_quoted(&text, key);
	add_span(&text, style->colon);
	gq_buf_add(&text, value->data, value->size);
	if (text.failed || value->failed)
		st = gq_fail_nomem(err);
	else
		st = gq_edits_add(edits, at, at, text.data, text.size, err);
	gq_buf_free(&text);
	return st;
}

enum gptq_status gq_edit_add_string(struct gq_edits *edits, const struct gq_json_tree *tree, uint32_t object,
				    const char *key, const char *value, struct gptq_error *err)
{
	struct style style = style_of(tree, object);
	struct gq_buf quoted = {0};
	enum gptq_status st;

	add_quoted(&quoted, value);
	st = add_member(edits, &style, key, &quoted, err);
	gq_buf_free(&quoted);
	return st;
}

/* The last member that is an object with members: the pattern for another one. NULL if there is none. */
static const struct gq_json_node *nested_sibling(const struct gq_json_tree *tree, const struct style *st,
						 struct style *inner)
{
	const struct gq_json_node *found = NULL;

	for (uint32_t i = st->object->first; i; i = tree->nodes[i].next) {
		if (tree->nodes[i].type == GQ_JSON_OBJECT && tree->nodes[i].first) {
			found = &tree->nodes[i];
			*inner = style_of(tree, i);
		}
	}
	return found;
}

/* The white space inside the braces of a new nested object: as a nested sibling has it, else one step further in. */
static void nested_white_space(const struct gq_json_tree *tree, const struct style *st, struct gq_buf *open,
			       struct gq_buf *close, struct span *colon)
{
	struct style inner;
	struct span indent = indentation(st->joint);

	*colon = st->colon;
	if (nested_sibling(tree, st, &inner)) {
		add_span(open, inner.open);
		add_span(close, inner.close);
		*colon = inner.colon;
	} else if (st->last && behind_line_end(st->joint)) {
		add_span(open, line_end(st->joint));
		add_span(open, indent);
		add_span(open, indent_step(tree, st, indent));
		add_span(close, line_end(st->joint));
		add_span(close, indent);
	} else if (!behind_line_end(st->open)) {
		add_span(open, st->open);
		add_span(close, st->open);
	}
}

enum gptq_status gq_edit_add_object(struct gq_edits *edits, const struct gq_json_tree *tree, uint32_t object,
				    const char *key, const char *inner_key, const char *value, struct gptq_error *err)
{
	struct style style = style_of(tree, object);
	struct gq_buf open = {0}, close = {0}, text = {0};
	struct span colon;
	enum gptq_status st;

	nested_white_space(tree, &style, &open, &close, &colon);
	gq_buf_puts(&text, "{");
	gq_buf_add(&text, open.data, open.size);
	add_quoted(&text, inner_key);
	add_span(&text, colon);
	add_quoted(&text, value);
	gq_buf_add(&text, close.data, close.size);
	gq_buf_puts(&text, "}");
	text.failed = text.failed || open.failed || close.failed;
	st = add_member(edits, &style, key, &text, err);
	gq_buf_free(&open);
	gq_buf_free(&close);
	gq_buf_free(&text);
	return st;
}

enum gptq_status gq_edit_remove(struct gq_edits *edits, const struct gq_json_tree *tree, uint32_t member,
				struct gptq_error *err)
{
	const struct gq_json_node *node = &tree->nodes[member];
	const struct gq_json_node *object = &tree->nodes[node->parent];
	const struct gq_json_node *before = NULL;
	size_t begin = object->begin + 1, end = node->end;

	for (uint32_t i = object->first; i && i != member; i = tree->nodes[i].next)
		before = &tree->nodes[i];
	if (before) {
		begin = before->end;
	} else if (node->next) {
		begin = node->key_begin;
		end = tree->nodes[node->next].key_begin;
	}
	return gq_edits_add(edits, begin, end, "", 0, err);
}
