/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_dup.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

#include <string.h>

#define FEW 12 /* so many keys are compared pair by pair */

void gq_json_dup_init(struct gq_json_dup *dup, const char *text)
{
	memset(dup, 0, sizeof(*dup));
	dup->text = text;
}

void gq_json_dup_free(struct gq_json_dup *dup)
{
	gq_free(dup->keys);
	gq_buf_free(&dup->unescaped);
	dup->keys = NULL;
	dup->n_keys = dup->capacity = 0;
}

enum gptq_status gq_json_dup_fail(const char *key, size_t n, size_t first, size_t second, struct gptq_error *err)
{
	char shown[200];

	gq_mask(shown, sizeof(shown), key, n, false);
	gq_fail(err, GPTQ_E_FORMAT, "the key \"%s\" stands twice in one object", shown);
	gq_error_offset(err, second);
	gq_error_found(err, "the same key at byte %zu", first);
	gq_error_expected(err, "each key once: readers differ on which of the two counts");
	return GPTQ_E_FORMAT;
}

static const char *key_bytes(const struct gq_json_dup *dup, const struct gq_json_dup_key *key)
{
	if (key->size == 0)
		return "";
	return key->decoded == SIZE_MAX ? dup->text + key->begin + 1 : dup->unescaped.data + key->decoded;
}

static enum gptq_status add_key(struct gq_json_dup *dup, const struct gq_json_event *ev, struct gptq_error *err)
{
	struct gq_json_dup_key *key;

	if (dup->n_keys == dup->capacity) {
		size_t capacity = dup->capacity ? dup->capacity + dup->capacity / 2 : 64;
		struct gq_json_dup_key *keys = gq_realloc_array(dup->keys, capacity, sizeof(*keys));

		if (!keys)
			return gq_fail_nomem(err);
		dup->keys = keys;
		dup->capacity = capacity;
	}
	key = &dup->keys[dup->n_keys++];
	*key = (struct gq_json_dup_key){ev->begin, ev->end, SIZE_MAX, ev->end - ev->begin - 2};
	if (ev->escaped) {
		key->decoded = dup->unescaped.size;
		gq_json_unescape(dup->text, ev->begin, ev->end, &dup->unescaped);
		if (dup->unescaped.failed)
			return gq_fail_nomem(err);
		key->size = dup->unescaped.size - key->decoded;
	}
	return GPTQ_OK;
}

static enum gptq_status report(const struct gq_json_dup *dup, const struct gq_json_dup_key *first,
			       const struct gq_json_dup_key *second, struct gptq_error *err)
{
	return gq_json_dup_fail(key_bytes(dup, second), second->size, dup->origin + first->begin,
				dup->origin + second->begin, err);
}

static enum gptq_status check_few(const struct gq_json_dup *dup, const struct gq_json_dup_key *keys, size_t n,
				  struct gptq_error *err)
{
	for (size_t i = 1; i < n; i++) {
		const char *bytes = key_bytes(dup, &keys[i]);

		for (size_t k = 0; k < i; k++) {
			if (keys[k].size == keys[i].size && memcmp(key_bytes(dup, &keys[k]), bytes, keys[i].size) == 0)
				return report(dup, &keys[k], &keys[i], err);
		}
	}
	return GPTQ_OK;
}

/* Each key after the one before it, byte by byte? Then none stands twice, and no map is needed: so are most indexes. */
static bool ascend(const struct gq_json_dup *dup, const struct gq_json_dup_key *keys, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct gq_json_dup_key *a = &keys[i - 1], *b = &keys[i];

		if (gq_compare_bytes(key_bytes(dup, a), a->size, key_bytes(dup, b), b->size) >= 0)
			return false;
	}
	return true;
}

static enum gptq_status check_many(const struct gq_json_dup *dup, const struct gq_json_dup_key *keys, size_t n,
				   struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	struct gq_map seen;

	if (ascend(dup, keys, n))
		return GPTQ_OK;
	gq_map_init(&seen);
	for (size_t i = 0; i < n && !status; i++) {
		uint32_t before = 0;

		if (i == UINT32_MAX) {
			status = gq_fail(err, GPTQ_E_LIMIT, "an object has more than 2^32 keys");
			break;
		}
		switch (gq_map_insert(&seen, key_bytes(dup, &keys[i]), keys[i].size, (uint32_t)i, &before)) {
		case GQ_MAP_NEW:
			break;
		case GQ_MAP_OLD:
			status = report(dup, &keys[before], &keys[i], err);
			break;
		case GQ_MAP_NOMEM:
			status = gq_fail_nomem(err);
			break;
		}
	}
	gq_map_free(&seen);
	return status;
}

enum gptq_status gq_json_dup_event(struct gq_json_dup *dup, const struct gq_json_event *ev, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	size_t first, n;

	if (ev->type == GQ_JSON_KEY)
		return add_key(dup, ev, err);
	if (ev->type == GQ_JSON_OBJECT) {
		dup->first_key[dup->depth] = dup->n_keys;
		dup->first_byte[dup->depth] = dup->unescaped.size;
		dup->depth++;
	} else if (ev->type == GQ_JSON_OBJECT_END) {
		dup->depth--;
		first = dup->first_key[dup->depth];
		n = dup->n_keys - first;
		if (n > FEW)
			status = check_many(dup, dup->keys + first, n, err);
		else if (n > 0) /* before the first key there is no array */
			status = check_few(dup, dup->keys + first, n, err);
		dup->n_keys = first;
		dup->unescaped.size = dup->first_byte[dup->depth];
	}
	return status;
}
