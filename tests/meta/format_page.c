/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads gptq-format(5) and lets the library store and read every example in it:
 *
 *   4 bits  5 0 7 3 1 9 2 4  lane  318026f4
 *
 * A width, zero points (12x4 is twelve fours), the format or style, and the words. Also the drawings of packed words:
 * "2 bits  FFEEDD..." and the three words "A", "B" and "C" of 3 bits.
 *
 * usage: format_page PAGE
 */
#include "quant/zeros.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 32, MAX_WORDS = 8 };

struct example {
	unsigned bits;
	uint8_t z[MAX_LANES];
	size_t n_z, n_words;
	char style[16];
	uint32_t words[MAX_WORDS];
};

static unsigned passed, failed;

static void check(bool ok, const char *line, const char *what)
{
	passed += ok;
	failed += !ok;
	if (!ok)
		printf("FAIL %s: %s\n", what, line);
}

/* "4 bits  ZEROS  STYLE  WORDS"; false if the line is something else. */
static bool parse(const char *line, struct example *e)
{
	char copy[512], *word, *rest = copy;

	memset(e, 0, sizeof(*e));
	snprintf(copy, sizeof(copy), "%s", line);
	if (copy[0] < '2' || copy[0] > '8' || strncmp(copy + 1, " bits  ", 7) != 0)
		return false;
	e->bits = (unsigned)(copy[0] - '0');
	rest += 8;
	for (word = strtok(rest, " \n"); word && word[0] >= '0' && word[0] <= '9'; word = strtok(NULL, " \n")) {
		char *end;
		unsigned long times = 1, value = strtoul(word, &end, 10);

		if (*end == 'x') {
			times = value;
			value = strtoul(end + 1, &end, 10);
		}
		if (*end || value > 255)
			return false;
		for (; times && e->n_z < MAX_LANES; times--)
			e->z[e->n_z++] = (uint8_t)value;
	}
	if (!word || strlen(word) >= sizeof(e->style) || e->n_z == 0)
		return false;
	strcpy(e->style, word);
	while ((word = strtok(NULL, " \n")) && e->n_words < MAX_WORDS)
		e->words[e->n_words++] = (uint32_t)strtoul(word, NULL, 16);
	return e->n_words > 0;
}

static enum gptq_v1_style style_of(const char *name)
{
	static const enum gptq_v1_style all[] = {GPTQ_STYLE_LANE, GPTQ_STYLE_WORD, GPTQ_STYLE_GPTQMODEL_3BIT,
						 GPTQ_STYLE_SMEARED};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(gptq_style_name(all[i]), name) == 0)
			return all[i];
	return GPTQ_STYLE_NONE;
}

/* What ORing an unmasked -1 leaves, bit by bit: code i goes on to the end of the word in which each part begins. */
static void smear(const struct example *e, uint32_t *words)
{
	memset(words, 0, MAX_WORDS * sizeof(*words));
	for (size_t i = 0; i < e->n_z; i++) {
		uint32_t v = (uint32_t)e->z[i] - 1;
		unsigned at = (unsigned)i * e->bits, in_word = at % 32;

		words[at / 32] |= v << in_word;
		if (in_word + e->bits > 32) /* the rest of a straddling lane is masked where it is put */
			words[at / 32 + 1] |= (v >> (32 - in_word)) & ((1u << (in_word + e->bits - 32)) - 1);
	}
}

static void check_smeared(const struct example *e, const char *line)
{
	struct gq_pack pack = {e->bits, 32};
	struct gq_qzeros qz = {.words = e->words,
			       .rows = 1,
			       .row_bytes = e->n_words * 4,
			       .n = e->n_z,
			       .pack = pack,
			       .layout = &gq_layout_stream};
	uint32_t words[MAX_WORDS];
	struct gq_zero_stats stats;

	smear(e, words);
	check(memcmp(words, e->words, e->n_words * 4) == 0, line, "other words come out");
	check(gq_zero_stats_of(&qz, &stats, NULL) == GPTQ_OK && stats.damaged_words > 0, line,
	      "the library sees no damage");
}

static void check_example(const struct example *e, const char *line)
{
	struct gq_pack pack = {e->bits, 32};
	enum gptq_v1_style style = style_of(e->style);
	uint32_t v2[MAX_WORDS] = {0}, words[MAX_WORDS];
	uint8_t lanes[MAX_LANES], z[MAX_LANES];

	check(e->n_z * e->bits == e->n_words * 32, line, "zero points and words do not match");
	if (e->n_z * e->bits != e->n_words * 32)
		return;
	gq_layout_stream.pack_line(e->z, pack, e->n_z, v2);
	if (strcmp(e->style, "v2") == 0) {
		check(memcmp(v2, e->words, e->n_words * 4) == 0, line, "other words come out");
		return;
	}
	if (style == GPTQ_STYLE_SMEARED) {
		check_smeared(e, line);
		return;
	}
	check(style != GPTQ_STYLE_NONE, line, "no such style");
	memcpy(words, v2, sizeof(words));
	check(gptq_zeros_shift(words, 1, e->n_words * 4, e->bits, 32, GPTQ_ZEROS_V2, GPTQ_ZEROS_V1, style, NULL) ==
			      GPTQ_OK &&
		      memcmp(words, e->words, e->n_words * 4) == 0,
	      line, "other words come out");
	memcpy(words, e->words, sizeof(words));
	check(gptq_zeros_shift(words, 1, e->n_words * 4, e->bits, 32, GPTQ_ZEROS_V1, GPTQ_ZEROS_V2, style, NULL) ==
			      GPTQ_OK &&
		      memcmp(words, v2, e->n_words * 4) == 0,
	      line, "the way back differs");
	gq_layout_stream.unpack_line(e->words, pack, e->n_z, lanes);
	gq_zeros_decode(lanes, e->n_z, pack, GPTQ_ZEROS_V1, style, z);
	check(memcmp(z, e->z, e->n_z) == 0, line, "other zero points are decoded");
}

/* The number of a code in a drawing: 0..9 and A..F, or, at 3 bits, a..z and then 0..5. */
static unsigned code_of(char c, unsigned bits)
{
	if (bits == 3)
		return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') : 26 + (unsigned)(c - '0');
	return c >= 'A' ? (unsigned)(c - 'A') + 10 : (unsigned)(c - '0');
}

/* Thirty-two characters, bit 31 first: each names the code that its bit belongs to. */
static bool check_drawing(const char *line)
{
	unsigned bits = strncmp(line + 1, " bits ", 6) == 0 ? (unsigned)(line[0] - '0') : 3;
	unsigned word = bits == 3 ? (unsigned)(line[0] - 'A') : 0;
	bool good = true;

	if (strlen(line) < 48 || line[15] != ' ' || line[16] == ' ' || strcspn(line + 16, " \n") != 32 ||
	    (bits == 3 && (line[0] < 'A' || line[0] > 'C' || line[1] != ' ')))
		return false;
	for (unsigned i = 0; i < 32; i++) {
		uint32_t words[3] = {0};
		unsigned code = code_of(line[16 + 31 - i], bits);

		if (code >= (bits == 3 ? 32 : 32 / bits))
			good = false;
		else
			gq_layout_stream.put_lane(words, (struct gq_pack){bits, 32}, code, (1u << bits) - 1);
		good = good && (words[word] >> i & 1);
	}
	check(good, line, "the drawing is wrong");
	return true;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	unsigned n_drawings = 0, n_examples = 0;
	bool seen[9][8] = {{false}};
	char line[512];

	if (!f) {
		fprintf(stderr, "usage: format_page PAGE\n");
		return 2;
	}
	while (fgets(line, sizeof(line), f)) {
		struct example e;

		line[strcspn(line, "\n")] = '\0';
		if (check_drawing(line)) {
			n_drawings++;
		} else if (parse(line, &e)) {
			check_example(&e, line);
			seen[e.bits][style_of(e.style)] = true;
			n_examples++;
		} else if (strncmp(line + 1, " bits  ", 7) == 0) {
			check(false, line, "neither example nor drawing");
		}
	}
	fclose(f);
	check(n_drawings == 6, "drawings", "there should be six");
	check(n_examples >= 25, "examples", "there should be more");
	for (unsigned bits = 2; bits <= 8; bits += bits == 4 ? 4 : 1)
		check(seen[bits][GPTQ_STYLE_NONE] && seen[bits][GPTQ_STYLE_LANE] && seen[bits][GPTQ_STYLE_SMEARED] &&
			      seen[bits][bits == 3 ? GPTQ_STYLE_GPTQMODEL_3BIT : GPTQ_STYLE_WORD],
		      "a width", "an example of each style is missing");
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
