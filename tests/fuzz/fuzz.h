/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every fuzz target needs. A target is one function that libFuzzer calls with bytes (build-fuzz.ini) and that
 * replay.c calls with files (every other build). It checks properties with MUST(), so that a wrong answer is as loud
 * as a crash.
 */
#ifndef GQ_TESTS_FUZZ_H
#define GQ_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Says which property does not hold, and aborts. */
#define MUST(condition) ((condition) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #condition))
__attribute__((noreturn)) void fuzz_broken(const char *file, int line, const char *condition);

/*
 * A copy of n bytes whose last byte is the last before a page that cannot be touched: reading one byte too many is a
 * fault in any build. Under AddressSanitizer the bytes before it cannot be touched either. Four slots; a slot's
 * earlier copy is gone.
 */
enum fuzz_slot { SLOT_A, SLOT_B, SLOT_C, SLOT_D, N_SLOTS };
void *fuzz_guarded(enum fuzz_slot slot, const void *data, size_t n);

/* A descriptor of a nameless file with these bytes, always the same one; gq_open_read() takes its path, too. */
int fuzz_file(const void *data, size_t n);
const char *fuzz_file_path(void);

/* A folder of this process's own, empty at first; removed at exit. */
const char *fuzz_folder(void);
void fuzz_write(const char *path, const void *data, size_t n);
void fuzz_remove(const char *path); /* a file, or a folder with all in it; need not be there */

/* Takes bytes off the front of an input. Past its end: zeros. */
struct fuzz_input {
	const uint8_t *data;
	size_t size;
};
uint8_t fuzz_u8(struct fuzz_input *in);
uint16_t fuzz_u16(struct fuzz_input *in);
/* Up to n bytes; *got tells how many there were. */
const uint8_t *fuzz_bytes(struct fuzz_input *in, size_t n, size_t *got);

#endif
