/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"

#include "base/checked.h"
#include "ops/journal.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_RECORDS 24
#define MAX_PAYLOAD 4096

bool raw_record_next(const uint8_t *journal, size_t size, size_t *at, struct raw_record *r)
{
	uint64_t name, payload;

	if (*at > size || size - *at < FIXED + 4)
		return false;
	r->fixed = journal + *at;
	name = gq_load_le(r->fixed + 4, 4);
	payload = gq_load_le(r->fixed + 8, 8);
	if (name > size - *at - FIXED - 4 || payload > size - *at - FIXED - 4 - name)
		return false;
	memset(r->name, 0, sizeof(r->name));
	memcpy(r->name, r->fixed + FIXED, name < sizeof(r->name) ? (size_t)name : sizeof(r->name) - 1);
	r->payload = r->fixed + FIXED + name;
	r->payload_size = (size_t)payload;
	*at += FIXED + (size_t)(name + payload) + 4;
	return true;
}

void journal_mend(uint8_t *journal, size_t size)
{
	uint32_t crc = (uint32_t)crc32_z(0, journal, size < 8 ? size : 8);
	struct raw_record r;

	for (size_t at = 8, begin = 8; raw_record_next(journal, size, &at, &r); begin = at) {
		crc = (uint32_t)crc32_z(crc, journal + begin, at - 4 - begin);
		gq_store_le(journal + at - 4, crc, 4);
	}
}

void journal_splice(uint8_t *journal, size_t size, struct fuzz_input *in)
{
	while (in->size && size) {
		size_t at = fuzz_u16(in) % size, n;
		const uint8_t *bytes = fuzz_bytes(in, fuzz_u8(in), &n);

		n = n < size - at ? n : size - at;
		if (n)
			memcpy(journal + at, bytes, n);
	}
}

/* ------------------------------------------------------------------------------------------------------ records */

struct edited {
	uint8_t fixed[FIXED];
	char name[256];
	uint8_t *payload; /* MAX_PAYLOAD bytes of room */
	size_t payload_size;
};

struct records {
	struct edited *items[MAX_RECORDS + 1];
	size_t n;
};

static struct edited *copy_of(const struct edited *e)
{
	struct edited *c = malloc(sizeof(*c));

	MUST(c);
	*c = *e;
	c->payload = malloc(MAX_PAYLOAD);
	MUST(c->payload);
	memcpy(c->payload, e->payload, e->payload_size);
	return c;
}

static void drop(struct records *rs, size_t i)
{
	free(rs->items[i]->payload);
	free(rs->items[i]);
	rs->n--;
	memmove(&rs->items[i], &rs->items[i + 1], (rs->n - i) * sizeof(rs->items[0]));
}

static void insert(struct records *rs, size_t i, struct edited *e)
{
	memmove(&rs->items[i + 1], &rs->items[i], (rs->n - i) * sizeof(rs->items[0]));
	rs->items[i] = e;
	rs->n++;
}

static void take_apart(const uint8_t *journal, size_t size, struct records *rs)
{
	uint8_t room[MAX_PAYLOAD];
	struct raw_record r;

	for (size_t at = 8; raw_record_next(journal, size, &at, &r) && rs->n < MAX_RECORDS;) {
		struct edited e = {.payload = room, .payload_size = r.payload_size};

		MUST(r.payload_size <= sizeof(room));
		memcpy(room, r.payload, r.payload_size);
		memcpy(e.fixed, r.fixed, FIXED);
		memcpy(e.name, r.name, sizeof(e.name));
		rs->items[rs->n++] = copy_of(&e);
	}
}

/* What the record says of its own payload: lengths as far as they fit, and the checksums of both states. */
static void be_honest(struct edited *e, size_t place)
{
	uint64_t kind = gq_load_le(e->fixed, 4), old_size = gq_load_le(e->fixed + 32, 8),
		 row = gq_load_le(e->fixed + 56, 8), spans = gq_load_le(e->fixed + 80, 8);
	uint8_t after[MAX_PAYLOAD];
	struct gptq_error err;
	size_t n = e->payload_size;

	if (kind == GQ_RECORD_END)
		gq_store_le(e->fixed + 24, place, 8);
	if (kind == GQ_RECORD_ZEROS) {
		const uint8_t *before = e->payload + (8 * spans < n ? 8 * (size_t)spans : n);

		n -= (size_t)(before - e->payload);
		memcpy(after, before, n);
		gq_store_le(e->fixed + 32, n, 8);
		gq_store_le(e->fixed + 40, n, 8);
		if (row && n % row == 0)
			(void)gptq_zeros_shift(after, (size_t)(n / row), (size_t)row, e->fixed[72], e->fixed[73],
					       (enum gptq_zeros_format)e->fixed[74],
					       (enum gptq_zeros_format)e->fixed[75], (enum gptq_v1_style)e->fixed[76],
					       &err);
		gq_store_le(e->fixed + 48, crc32_z(0, before, n), 4);
		gq_store_le(e->fixed + 52, crc32_z(0, after, n), 4);
	}
	if (kind == GQ_RECORD_HEADER || kind == GQ_RECORD_CONFIG) {
		size_t half = kind == GQ_RECORD_HEADER ? n / 2 : old_size < n ? (size_t)old_size : n;

		gq_store_le(e->fixed + 32, half, 8);
		gq_store_le(e->fixed + 40, n - half, 8);
		gq_store_le(e->fixed + 48, crc32_z(0, e->payload, half), 4);
		gq_store_le(e->fixed + 52, crc32_z(0, e->payload + half, n - half), 4);
	}
}

static size_t put_together(const struct records *rs, bool honest, uint8_t *out)
{
	size_t at = 8;

	memcpy(out, "GPTQJNL2", 8);
	for (size_t i = 0; i < rs->n; i++) {
		struct edited *e = rs->items[i];
		size_t name = strlen(e->name);

		if (honest)
			be_honest(e, i);
		memcpy(out + at + FIXED + name, e->payload, e->payload_size);
		memcpy(out + at, e->fixed, FIXED);
		memcpy(out + at + FIXED, e->name, name);
		gq_store_le(out + at + 4, name, 4);
		gq_store_le(out + at + 8, e->payload_size, 8);
		at += FIXED + name + e->payload_size + 4;
	}
	journal_mend(out, at);
	return at;
}

/* ------------------------------------------------------------------------------------------------------ changes */

static void set_field(struct edited *e, struct fuzz_input *in)
{
	static const struct {
		unsigned at, size;
	} fields[] = {{0, 4},  {16, 4}, {20, 4}, {24, 8}, {32, 8}, {40, 8}, {48, 4}, {52, 4},
		      {56, 8}, {64, 8}, {72, 1}, {73, 1}, {74, 1}, {75, 1}, {76, 1}, {80, 8}};
	unsigned f = fuzz_u8(in) & 15, n = fuzz_u8(in) & 7;
	uint64_t value = 0;

	for (unsigned i = 0; i <= n; i++)
		value |= (uint64_t)fuzz_u8(in) << 8 * i;
	gq_store_le(e->fixed + fields[f].at, value, fields[f].size);
}

static void set_payload(struct edited *e, struct fuzz_input *in, bool size_too)
{
	size_t n = size_too ? fuzz_u16(in) % (MAX_PAYLOAD + 1u) : e->payload_size;
	size_t at = fuzz_u16(in);

	if (n > e->payload_size)
		memset(e->payload + e->payload_size, 0, n - e->payload_size);
	e->payload_size = n;
	if (n)
		e->payload[at % n] ^= fuzz_u8(in);
}

static void set_name(struct edited *e, struct fuzz_input *in)
{
	size_t n;
	const uint8_t *name = fuzz_bytes(in, fuzz_u8(in) % sizeof(e->name), &n);

	memset(e->name, 0, sizeof(e->name));
	if (n)
		memcpy(e->name, name, n);
}

static void change_one(struct records *rs, struct fuzz_input *in)
{
	unsigned what = fuzz_u8(in);
	size_t i = (what >> 3) % rs->n;
	struct edited *e = rs->items[i];

	switch (what & 7) {
	case 0:
	case 1:
		set_field(e, in);
		break;
	case 2:
		drop(rs, i);
		break;
	case 3:
		if (rs->n < MAX_RECORDS)
			insert(rs, fuzz_u8(in) % (rs->n + 1), copy_of(e));
		break;
	case 4:
		drop(rs, (insert(rs, fuzz_u8(in) % rs->n, copy_of(e)), rs->items[i] == e ? i : i + 1));
		break;
	case 5:
		set_payload(e, in, false);
		break;
	case 6:
		set_payload(e, in, true);
		break;
	default:
		set_name(e, in);
	}
}

size_t journal_edit(const uint8_t *journal, size_t size, struct fuzz_input *in, bool honest, uint8_t *out)
{
	struct records rs = {.n = 0};
	size_t n;

	take_apart(journal, size, &rs);
	while (in->size && rs.n)
		change_one(&rs, in);
	n = put_together(&rs, honest, out);
	while (rs.n)
		drop(&rs, 0);
	return n;
}
