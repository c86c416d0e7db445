/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seconds that memcpy, or memcmp of equal bytes, takes for as many bytes, in buffers far larger than the caches:
 *
 *   memory_rate memcpy|memcmp NBYTES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUFFER = 256 << 20 };

/* Through pointers, so that no compiler knows what they do with equal bytes. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long long nbytes = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	unsigned char *a = malloc(BUFFER), *b = malloc(BUFFER);
	double begin;

	if (nbytes == 0 || (strcmp(argv[1], "memcpy") != 0 && strcmp(argv[1], "memcmp") != 0)) {
		fprintf(stderr, "usage: memory_rate memcpy|memcmp NBYTES\n");
		return 2;
	}
	if (!a || !b)
		return 1;
	memset(a, 1, BUFFER);
	memset(b, 1, BUFFER);
	begin = now();
	for (unsigned long long left = nbytes; left > 0;) {
		size_t n = left < BUFFER ? (size_t)left : BUFFER;

		if (strcmp(argv[1], "memcpy") == 0)
			copy(a, b, n);
		else if (compare(a, b, n) != 0)
			return 1;
		left -= n;
	}
	printf("%.6f\n", now() - begin);
	free(a);
	free(b);
	return 0;
}
