/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing single places of a JSON text and nothing else: a sorted list of replacements, and helpers that work out
 * where and in which style of white space a member goes in or out.
 */
#ifndef GQ_FORMAT_EDIT_H
#define GQ_FORMAT_EDIT_H

#include "base/buf.h"
#include "base/json.h"

/* Bytes begin..end of the source text become the `size` bytes of data; begin == end inserts. */
struct gq_edit {
	size_t begin, end;
	char *data;
	size_t size;
};

/* All zero is an empty list. */
struct gq_edits {
	struct gq_edit *items; /* sorted by begin, no overlap */
	size_t n;
};

/*
 * Adds a replacement; the data are copied. Several insertions at one place stay in the order in which they came.
 * GPTQ_E_ARG if the span overlaps another's or begin > end, GPTQ_E_NOMEM.
 */
enum gptq_status gq_edits_add(struct gq_edits *edits, size_t begin, size_t end, const char *data, size_t size,
			      struct gptq_error *err);
/* Appends the edited text to out. GPTQ_E_ARG if an edit lies outside the text, GPTQ_E_NOMEM. */
enum gptq_status gq_edits_apply(const struct gq_edits *edits, const char *text, size_t size, struct gq_buf *out,
				struct gptq_error *err);
void gq_edits_free(struct gq_edits *edits);

/* The value of a node becomes the JSON string `value` (UTF-8, NUL-terminated); no edit if it is that already. */
enum gptq_status gq_edit_set_string(struct gq_edits *edits, const struct gq_json_tree *tree, uint32_t node,
				    const char *value, struct gptq_error *err);
/*
 * A string member becomes the last one of an object, with comma, line end, indentation and colon as its last sibling
 * has them. The key must not be there yet (not checked).
 */
enum gptq_status gq_edit_add_string(struct gq_edits *edits, const struct gq_json_tree *tree, uint32_t object,
				    const char *key, const char *value, struct gptq_error *err);
/* The same for the member `key`: {`inner_key`: `value`}, nested and indented as the object's other members are. */
enum gptq_status gq_edit_add_object(struct gq_edits *edits, const struct gq_json_tree *tree, uint32_t object,
				    const char *key, const char *inner_key, const char *value, struct gptq_error *err);
/*
 * Removes a member with its comma and white space. A member that one of the two functions above added leaves the
 * text as it was before. Several members of one object must be removed one at a time, by text and tree.
 */
enum gptq_status gq_edit_remove(struct gq_edits *edits, const struct gq_json_tree *tree, uint32_t member,
				struct gptq_error *err);

#endif
