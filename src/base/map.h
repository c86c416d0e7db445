/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from byte strings to numbers. Keys are borrowed, not copied, and may hold NUL. The hash is SipHash-1-3
 * under a key drawn anew for each map when it gets its first entry, so that a file cannot be made whose names all
 * collide.
 */
#ifndef GQ_BASE_MAP_H
#define GQ_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gq_map_entry {
	const char *key;
	size_t size;
	uint32_t value;
};

/* The hash stands beside the number, so that a probe or a rehash looks at no entry that is not the one. */
struct gq_map_slot {
	uint32_t hash;
	uint32_t number; /* of the entry, plus 1; 0: free */
};

struct gq_map {
	struct gq_map_entry *entries; /* in the order of insertion */
	struct gq_map_slot *slots;    /* linear probing */
	uint32_t n, capacity;
	uint32_t n_slots; /* a power of two, or 0 */
	uint64_t secret[2];
	uint64_t steps; /* slots that insertions looked at: what tests of proportionality count */
};

enum gq_map_result {
	GQ_MAP_NEW,   /* the key was not there and is now */
	GQ_MAP_OLD,   /* the key was there and keeps its value */
	GQ_MAP_NOMEM, /* nothing changed */
};

void gq_map_init(struct gq_map *map);
/* Forgets all entries and the memory they took; the map can be used again. */
void gq_map_free(struct gq_map *map);

/* Makes room for n entries at once, so that nothing moves before. False: no memory, nothing changed. */
bool gq_map_reserve(struct gq_map *map, uint32_t n);

/* Adds key (size bytes that outlive the map). With GQ_MAP_OLD *old, which may be NULL, is the value that is there. */
enum gq_map_result gq_map_insert(struct gq_map *map, const char *key, size_t size, uint32_t value, uint32_t *old);

bool gq_map_find(const struct gq_map *map, const char *key, size_t size, uint32_t *value);

/* SipHash-1-3 of n bytes; here for its test. */
uint64_t gq_siphash13(const uint64_t secret[2], const void *data, size_t n);

#endif
