/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds keys that stand twice in one object, at any depth, from the events of the scanner. Keys are compared as
 * unescaped bytes. The memory in use follows the keys of the objects that are open, not the text; the time is
 * proportional to the text.
 */
#ifndef GQ_BASE_JSON_DUP_H
#define GQ_BASE_JSON_DUP_H

#include "base/buf.h"
#include "base/json.h"

struct gq_json_dup_key {
	size_t begin, end; /* span in the text, quotes included */
	size_t decoded;    /* place of the bytes in `unescaped`; SIZE_MAX: they are the text's own */
	size_t size;       /* bytes of the key */
};

struct gq_json_dup {
	const char *text;
	size_t origin; /* where the text begins in its file: added to places in messages. 0 unless set after init */
	struct gq_json_dup_key *keys; /* of all open objects, outermost first */
	size_t n_keys, capacity;
	struct gq_buf unescaped;
	unsigned depth;
	size_t first_key[GQ_JSON_MAX_DEPTH + 1]; /* where each open level's keys begin */
	size_t first_byte[GQ_JSON_MAX_DEPTH + 1];
};

void gq_json_dup_init(struct gq_json_dup *dup, const char *text);
void gq_json_dup_free(struct gq_json_dup *dup);

/* Takes every event in turn. GPTQ_E_FORMAT, with key and offset, when an object that holds a key twice ends. */
enum gptq_status gq_json_dup_event(struct gq_json_dup *dup, const struct gq_json_event *ev, struct gptq_error *err);

/* The error for a key (n unescaped bytes) that stands for the second time at `second`, first at `first`. */
enum gptq_status gq_json_dup_fail(const char *key, size_t n, size_t first, size_t second, struct gptq_error *err);

#endif
