/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/checked.h"
#include "base/mem.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#define MAX_ENTRIES 0x60000000u /* keeps the slots at 3/4 of 2^31 and all counts in 32 bits */

static inline uint64_t rotl(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

uint64_t gq_siphash13(const uint64_t secret[2], const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t v[4] = {secret[0] ^ 0x736f6d6570736575u, secret[1] ^ 0x646f72616e646f6du,
			 secret[0] ^ 0x6c7967656e657261u, secret[1] ^ 0x7465646279746573u};
	uint64_t last = (uint64_t)n << 56;

	for (; n >= 8; n -= 8, p += 8) {
		uint64_t m = gq_load_le(p, 8);

		v[3] ^= m;
		sip_round(v);
		v[0] ^= m;
	}
	last |= gq_load_le(p, (unsigned)n);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (unsigned i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void gq_map_init(struct gq_map *map)
{
	memset(map, 0, sizeof(*map));
}

/* With the first slots, since most maps of small things stay empty. */
static void draw_secret(struct gq_map *map)
{
	if (getrandom(map->secret, sizeof(map->secret), GRND_NONBLOCK) != (ssize_t)sizeof(map->secret)) {
		/* An old kernel or an early boot: guessable only by who sees this process's clock and addresses. */
		struct timespec now = {0};

		clock_gettime(CLOCK_MONOTONIC, &now);
		map->secret[0] ^= (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)now.tv_sec;
		map->secret[1] ^= (uint64_t)(uintptr_t)map * 0xd1342543de82ef95u;
	}
}

void gq_map_free(struct gq_map *map)
{
	gq_free(map->entries);
	gq_free(map->slots);
	map->entries = NULL;
	map->slots = NULL;
	map->n = map->capacity = map->n_slots = 0;
}

/* The slot of the key, or the free one where it would go. */
static uint32_t probe(const struct gq_map *map, const char *key, size_t size, uint32_t hash, uint64_t *steps)
{
	uint32_t mask = map->n_slots - 1, slot = hash & mask;

	for (;; slot = (slot + 1) & mask) {
		const struct gq_map_slot *s = &map->slots[slot];
		const struct gq_map_entry *e;

		++*steps;
		if (s->number == 0)
			return slot;
		if (s->hash != hash)
			continue;
		e = &map->entries[s->number - 1];
		if (e->size == size && (size == 0 || memcmp(e->key, key, size) == 0))
			return slot;
	}
}

static bool set_capacity(struct gq_map *map, uint32_t capacity)
{
	struct gq_map_entry *entries = gq_realloc_array(map->entries, capacity, sizeof(*entries));

	if (!entries)
		return false;
	map->entries = entries;
	map->capacity = capacity;
	return true;
}

static bool set_slots(struct gq_map *map, uint32_t n_slots)
{
	struct gq_map_slot *slots = gq_calloc(n_slots, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t i = 0; i < map->n_slots; i++) {
		uint32_t slot = map->slots[i].hash & (n_slots - 1);

		if (map->slots[i].number == 0)
			continue;
		while (slots[slot].number)
			slot = (slot + 1) & (n_slots - 1);
		slots[slot] = map->slots[i];
	}
	if (!map->n_slots)
		draw_secret(map);
	gq_free(map->slots);
	map->slots = slots;
	map->n_slots = n_slots;
	return true;
}

/* Of n_slots at least a quarter stays free, or probing would be long. */
static inline bool too_full(uint32_t n, uint32_t n_slots)
{
	return (uint64_t)n * 4 > (uint64_t)n_slots * 3;
}

bool gq_map_reserve(struct gq_map *map, uint32_t n)
{
	uint32_t n_slots = map->n_slots ? map->n_slots : 32;

	if (n > MAX_ENTRIES)
		return false;
	while (too_full(n, n_slots))
		n_slots *= 2;
	if (n > map->capacity && !set_capacity(map, n))
		return false;
	return n_slots <= map->n_slots || set_slots(map, n_slots);
}

/* Room for one more. */
static bool grow(struct gq_map *map)
{
	if (map->n >= MAX_ENTRIES)
		return false;
	if (map->n == map->capacity && !set_capacity(map, map->capacity < 8 ? 16 : map->capacity * 2))
		return false;
	return !too_full(map->n + 1, map->n_slots) || set_slots(map, map->n_slots ? map->n_slots * 2 : 32);
}

enum gq_map_result gq_map_insert(struct gq_map *map, const char *key, size_t size, uint32_t value, uint32_t *old)
{
	uint32_t hash, slot;

	if (!grow(map))
		return GQ_MAP_NOMEM;
	hash = (uint32_t)gq_siphash13(map->secret, key, size);
	slot = probe(map, key, size, hash, &map->steps);
	if (map->slots[slot].number) {
		if (old)
			*old = map->entries[map->slots[slot].number - 1].value;
		return GQ_MAP_OLD;
	}
	map->entries[map->n] = (struct gq_map_entry){key, size, value};
	map->slots[slot] = (struct gq_map_slot){hash, ++map->n};
	return GQ_MAP_NEW;
}

bool gq_map_find(const struct gq_map *map, const char *key, size_t size, uint32_t *value)
{
	uint64_t steps = 0;
	uint32_t slot;

	if (map->n == 0)
		return false;
	slot = probe(map, key, size, (uint32_t)gq_siphash13(map->secret, key, size), &steps);
	if (!map->slots[slot].number)
		return false;
	*value = map->entries[map->slots[slot].number - 1].value;
	return true;
}
