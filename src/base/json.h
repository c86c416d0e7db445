/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one JSON reader: a strict, iterative scanner that reports events with byte positions, and a small tree of
 * positions on top of it. Nothing recurses, nothing is copied: values are spans of the caller's text, which must
 * outlive scanner and tree. Used for safetensors headers, the shard index and the editing of configs.
 *
 * Strict means RFC 8259 as serde_json reads it: UTF-8 throughout, no control bytes in strings, no lone surrogate
 * escapes, no leading zeros, one value and nothing but white space (20 09 0A 0D) around it, at most 127 levels of
 * nesting. The flags below loosen single rules for files that Python's json module wrote.
 */
#ifndef GQ_BASE_JSON_H
#define GQ_BASE_JSON_H

#include "base/buf.h"
#include "gptq/gptq.h"

enum gq_json_flags {
	GQ_JSON_NAN = 1,             /* accept NaN, Infinity, -Infinity as numbers */
	GQ_JSON_BOM = 2,             /* skip one UTF-8 byte order mark at the start */
	GQ_JSON_LONE_SURROGATES = 4, /* accept \ud800 and the like in strings */
};

enum gq_json_type {
	GQ_JSON_NONE = 0, /* before the first event */
	GQ_JSON_OBJECT,   /* '{'; as an event: an object begins */
	GQ_JSON_ARRAY,
	GQ_JSON_OBJECT_END, /* events only */
	GQ_JSON_ARRAY_END,
	GQ_JSON_KEY, /* events only: begin..end spans the quoted key */
	GQ_JSON_STRING,
	GQ_JSON_NUMBER,
	GQ_JSON_TRUE,
	GQ_JSON_FALSE,
	GQ_JSON_NULL,
	GQ_JSON_DONE, /* the value is complete and only white space followed */
};

#define GQ_JSON_MAX_DEPTH 127

struct gq_json {
	const char *text;
	size_t size;
	size_t pos;
	unsigned flags;
	unsigned depth;
	unsigned char state;         /* private: what may come next */
	unsigned char is_object[16]; /* private: a bit for each open level */
};

/* One event. Strings and keys: begin..end include the quotes; `escaped` tells whether a backslash occurs. */
struct gq_json_event {
	enum gq_json_type type;
	size_t begin, end; /* byte span in the text; for an END event the closing bracket */
	bool escaped;
};

void gq_json_init(struct gq_json *js, const char *text, size_t size, unsigned flags);

/* The next event. GPTQ_E_FORMAT with message and offset (in the text) at the first byte that cannot stand there. */
enum gptq_status gq_json_next(struct gq_json *js, struct gq_json_event *ev, struct gptq_error *err);

/* After an OBJECT or ARRAY event: moves behind its end, checking everything inside. Other events: does nothing. */
enum gptq_status gq_json_skip(struct gq_json *js, const struct gq_json_event *ev, struct gptq_error *err);

/*
 * After a KEY event, for a caller that knows the usual form of a value and has read it on its own: the value, colon
 * included, ends before `end`, and the scanner goes on there. The caller answers for its being strict JSON.
 */
void gq_json_value_taken(struct gq_json *js, size_t end);

/* Where, from pos on, the first byte stands that cannot simply be taken into a string: '"', a backslash, a control byte
 * or one beyond ASCII; size if there is none. */
size_t gq_json_plain_end(const char *text, size_t pos, size_t size);

/*
 * Unescapes the string or key of span begin..end (quotes included) and appends its bytes to out. NUL from \u0000 is
 * kept, so look at the sizes. A lone surrogate (only with its flag) becomes its three WTF-8 bytes.
 */
void gq_json_unescape(const char *text, size_t begin, size_t end, struct gq_buf *out);

/* The same into dst, which has room for end - begin bytes or is text + begin + 1; returns how many were written. */
size_t gq_json_unescape_into(const char *text, size_t begin, size_t end, char *dst);

/* Is the string of that span, unescaped, equal to the n bytes of s? Allocates nothing. */
bool gq_json_string_is(const char *text, size_t begin, size_t end, const char *s, size_t n);

/* The number of that span as an unsigned integer: plain digits up to 2^64-1 only; false for 8.0, 1e2, -0, -1. */
bool gq_json_u64(const char *text, size_t begin, size_t end, uint64_t *value);

/* The number of that span as a signed integer: plain digits with an optional minus; false otherwise. */
bool gq_json_i64(const char *text, size_t begin, size_t end, int64_t *value);

/*
 * A whole document as an array of nodes in text order; node 0 is the root. For configs and other small files; the
 * scanner alone reads headers. An object's children are its member values, each with the span of its key.
 */
struct gq_json_node {
	enum gq_json_type type;
	bool escaped, key_escaped;
	size_t begin, end;         /* span of the value, brackets and quotes included */
	size_t key_begin, key_end; /* span of the key with its quotes; equal if the parent is no object */
	uint32_t parent;           /* UINT32_MAX for the root */
	uint32_t first, next;      /* first child, next sibling; 0 if none */
	uint32_t n_children;
};

struct gq_json_tree {
	const char *text;
	size_t size;
	struct gq_json_node *nodes;
	uint32_t n_nodes;
};

/* Refuses (GPTQ_E_FORMAT) an object that holds a key twice after unescaping, naming key and offset. */
enum gptq_status gq_json_parse(const char *text, size_t size, unsigned flags, struct gq_json_tree *tree,
			       struct gptq_error *err);
void gq_json_tree_free(struct gq_json_tree *tree);

/* The member `key` (NUL-terminated ASCII) of an object node: its node number, 0 if absent or `object` is no object. */
uint32_t gq_json_get(const struct gq_json_tree *tree, uint32_t object, const char *key);
/* The same, comparing ASCII letters without case, from the member after node `after` on (0: from the first). */
uint32_t gq_json_get_nocase(const struct gq_json_tree *tree, uint32_t object, const char *key, uint32_t after);

/* The string value of a node, unescaped, NUL-terminated, to be freed with gq_free; NULL if no string, it holds a NUL
 * or memory ran out (then *nomem, which may be NULL, is set). */
char *gq_json_strdup(const struct gq_json_tree *tree, uint32_t node, bool *nomem);

#endif
