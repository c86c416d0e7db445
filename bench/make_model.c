/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the bytes of synthetic checkpoints, about as fast as the disk takes them. Standard input says what, by lines:
 *
 *   file PATH                           what follows goes to PATH, made anew
 *   text NBYTES                         the next NBYTES bytes of standard input as they are
 *   qweight SEED ROWS COLUMNS GROUP     4-bit codes around the zero points that `qzeros SEED` has
 *   qzeros SEED GROUPS COLUMNS          4-bit zero points 5 to 11, stored minus one (v1)
 *   scales SEED COUNT                   float16, 0.002 to 0.008
 *   g_idx ROWS GROUP                    row / GROUP
 *   plain SEED COUNT                    float16 of either sign
 *
 * ROWS are multiples of GROUP, COLUMNS and GROUP multiples of 8. The same lines give the same bytes.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 20, LINE = 4096 };

static FILE *out;
static const char *out_path = "";

static void fail(const char *what)
{
	fprintf(stderr, "make_model: %s%s%s\n", out_path, *out_path ? ": " : "", what);
	exit(1);
}

/* SplitMix64: each place of a stream is a function of its number, so that qweight can ask for the zero points. */
static uint64_t random_at(uint64_t seed, uint64_t i)
{
	uint64_t x = seed * 0xD1342543DE82EF95 + (i + 1) * 0x9E3779B97F4A7C15;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

/* Eight stored zero points, each the sum of two draws of 0 to 3, plus 4: 4 to 10, around 7. */
static uint32_t zero_word(uint64_t seed, uint64_t i)
{
	uint64_t r = random_at(seed, i);

	return (uint32_t)(r & 0x33333333) + (uint32_t)(r >> 32 & 0x33333333) + 0x44444444;
}

static void put(const void *bytes, size_t nbytes)
{
	if (!out)
		fail("no file line yet");
	if (fwrite(bytes, 1, nbytes, out) != nbytes)
		fail("cannot write");
}

static void close_out(void)
{
	if (out && fclose(out) != 0)
		fail("cannot write");
	out = NULL;
}

static void *need(size_t nbytes)
{
	void *p = malloc(nbytes ? nbytes : 1);

	if (!p)
		fail("out of memory");
	return p;
}

/*
 * A word of qweight holds eight rows of one column. All of them have one zero point z, since a group has a multiple of
 * eight rows: so a word is z - 3 in every lane plus noise, two draws of 0 to 3. z - 3 is 2 to 8, no lane overflows.
 */
static void put_qweight(uint64_t seed, uint64_t rows, uint64_t columns, uint64_t group)
{
	uint32_t *base = need(columns * 4), *words = need(columns * 4);

	for (uint64_t row = 0; row < rows / 8; row++) {
		uint64_t g = row * 8 / group;

		for (uint64_t n = 0; n < columns && row * 8 % group == 0; n++)
			base[n] = ((zero_word(seed, g * (columns / 8) + n / 8) >> n % 8 * 4 & 15) - 2) * 0x11111111;
		for (uint64_t n = 0; n < columns; n += 2) {
			uint64_t r = random_at(~seed, (row * columns + n) / 2);
			uint64_t noise = (r & 0x3333333333333333) + (r >> 2 & 0x3333333333333333);

			words[n] = base[n] + (uint32_t)noise;
			words[n + 1] = base[n + 1] + (uint32_t)(noise >> 32);
		}
		put(words, columns * 4);
	}
	free(base);
	free(words);
}

static void put_qzeros(uint64_t seed, uint64_t groups, uint64_t columns)
{
	for (uint64_t i = 0; i < groups * columns / 8; i++) {
		uint32_t word = zero_word(seed, i);

		put(&word, 4);
	}
}

/* Halves: the bits of `varying` are drawn, those of `fixed` added. */
static void put_halves(uint64_t seed, uint64_t count, uint16_t varying, uint16_t fixed)
{
	static uint16_t halves[BUFFER / 2];

	for (uint64_t done = 0; done < count;) {
		size_t n = count - done < BUFFER / 2 ? (size_t)(count - done) : BUFFER / 2;

		for (size_t i = 0; i < n; i += 4) {
			uint64_t r = random_at(seed, (done + i) / 4);

			for (size_t j = 0; j < 4; j++)
				halves[i + j] = (uint16_t)((r >> 16 * j & varying) + fixed);
		}
		put(halves, n * 2);
		done += n;
	}
}

static void put_g_idx(uint64_t rows, uint64_t group)
{
	for (uint64_t k = 0; k < rows; k++) {
		uint32_t g = (uint32_t)(k / group);

		put(&g, 4);
	}
}

static void put_text(uint64_t nbytes)
{
	static char bytes[BUFFER];

	while (nbytes > 0) {
		size_t n = nbytes < sizeof(bytes) ? (size_t)nbytes : sizeof(bytes);

		if (fread(bytes, 1, n, stdin) != n)
			fail("standard input ends within a text");
		put(bytes, n);
		nbytes -= n;
	}
}

static void open_out(const char *path)
{
	static char kept[LINE];

	close_out();
	snprintf(kept, sizeof(kept), "%s", path);
	out_path = kept;
	out = fopen(path, "wb");
	if (!out || setvbuf(out, NULL, _IOFBF, BUFFER) != 0)
		fail("cannot make it");
}

static bool aligned(uint64_t rows, uint64_t columns, uint64_t group)
{
	return group != 0 && group % 8 == 0 && rows % group == 0 && columns % 8 == 0;
}

static void obey(const char *line)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;
	char word[16];
	int n = sscanf(line, "%15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, word, &a, &b, &c, &d);

	if (n == 2 && strcmp(word, "text") == 0)
		put_text(a);
	else if (n == 5 && strcmp(word, "qweight") == 0 && aligned(b, c, d))
		put_qweight(a, b, c, d);
	else if (n == 4 && strcmp(word, "qzeros") == 0 && c % 8 == 0)
		put_qzeros(a, b, c);
	else if (n == 3 && strcmp(word, "scales") == 0)
		put_halves(a, b, 0x07FF, 0x1800);
	else if (n == 3 && strcmp(word, "g_idx") == 0 && b != 0)
		put_g_idx(a, b);
	else if (n == 3 && strcmp(word, "plain") == 0)
		put_halves(a, b, 0x8FFF, 0x2000);
	else
		fail(line);
}

int main(void)
{
	static char line[LINE];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "file ", 5) == 0)
			open_out(line + 5);
		else
			obey(line);
	}
	close_out();
	return 0;
}
