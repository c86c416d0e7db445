/* SPDX-License-Identifier: Apache-2.0 */
/* Journals for the target `journal`: taken apart, changed as the input says, and put together with right checksums. */
#ifndef GQ_TESTS_FUZZ_JOURNAL_H
#define GQ_TESTS_FUZZ_JOURNAL_H

#include "fuzz.h"

#define JOURNAL_ROOM ((size_t)1 << 18)

/* One record as it lies in a journal: ops/journal.c draws its fixed part. */
#define FIXED 88
struct raw_record {
	const uint8_t *fixed;
	char name[256]; /* cut where it is longer */
	const uint8_t *payload;
	size_t payload_size;
};

/* Walks over the records; *at begins at 8. False at the end, and at what is no whole record. */
bool raw_record_next(const uint8_t *journal, size_t size, size_t *at, struct raw_record *r);

/* Makes the checksums of all whole records right. */
void journal_mend(uint8_t *journal, size_t size);

/* Bytes of the journal overwritten, as the input says. */
void journal_splice(uint8_t *journal, size_t size, struct fuzz_input *in);

/*
 * Records changed, dropped, doubled, moved, as the input says. honest: what a record says of
 * its own payload and of the number of records is made right too. Returns the size of what is put into out
 * (JOURNAL_ROOM).
 */
size_t journal_edit(const uint8_t *journal, size_t size, struct fuzz_input *in, bool honest, uint8_t *out);

#endif
