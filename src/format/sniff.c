/* SPDX-License-Identifier: Apache-2.0 */
#include "format/sniff.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdio.h>

static const struct {
	const char *name;
	const char *sentence;
} kinds[] = {
	[GQ_SNIFF_NONE] = {"unknown", ""},
	[GQ_SNIFF_EMPTY] = {"empty", "the file is empty: download it again"},
	[GQ_SNIFF_LFS] = {"lfs-pointer", ""},
	[GQ_SNIFF_HTML] = {"html", "this is a web page (HTML or XML) saved in the place of the file: download it again "
				   "and look at what the server says"},
	[GQ_SNIFF_TORCH] = {"torch-zip", "this is a PyTorch file (a zip file as torch.save writes it), not a "
					 "safetensors file: convert it with a tool that loads it safely"},
	[GQ_SNIFF_ZIP] = {"zip", "this is a zip file, not a safetensors file"},
	[GQ_SNIFF_PICKLE] = {"pickle", "this is a Python pickle (an old PyTorch .bin), not a safetensors file: loading "
				       "it can run code"},
	[GQ_SNIFF_GGUF] = {"gguf", "this is a GGUF file, not a safetensors file"},
	[GQ_SNIFF_GGML] = {"ggml", "this is a GGML file (older than GGUF), not a safetensors file"},
	[GQ_SNIFF_GZIP] = {"gzip", "this is gzip-compressed data: unpack it first"},
	[GQ_SNIFF_ZSTD] = {"zstd", "this is zstd-compressed data: unpack it first"},
	[GQ_SNIFF_XZ] = {"xz", "this is xz-compressed data: unpack it first"},
	[GQ_SNIFF_BZIP2] = {"bzip2", "this is bzip2-compressed data: unpack it first"},
	[GQ_SNIFF_TAR] = {"tar", "this is a tar archive: unpack it first"},
	[GQ_SNIFF_HDF5] = {"hdf5", "this is an HDF5 file, not a safetensors file"},
	[GQ_SNIFF_NUMPY] = {"numpy", "this is a NumPy file, not a safetensors file"},
	[GQ_SNIFF_JSON] = {"json", "this is JSON text, not a safetensors file: a header without its length before it, "
				   "or a config or index under a wrong name"},
	[GQ_SNIFF_TEXT] = {"text", ""},
	[GQ_SNIFF_ZEROS] = {"zeros", "the file begins with NUL bytes alone: room that an interrupted download reserved "
				     "and never filled; download it again"},
};

static const struct {
	enum gq_sniff kind;
	unsigned char size;
	const char *bytes;
} magics[] = {
	{GQ_SNIFF_LFS, 25, "version https://git-lfs.g"},
	{GQ_SNIFF_LFS, 19, "version https://git"},
	{GQ_SNIFF_LFS, 24, "version https://hawser.g"},
	{GQ_SNIFF_ZIP, 4, "PK\3\4"},
	{GQ_SNIFF_ZIP, 4, "PK\5\6"},
	{GQ_SNIFF_GGUF, 4, "GGUF"},
	{GQ_SNIFF_GGML, 4, "lmgg"},
	{GQ_SNIFF_GGML, 4, "tjgg"},
	{GQ_SNIFF_GGML, 4, "fmgg"},
	{GQ_SNIFF_ZSTD, 4, "\x28\xb5\x2f\xfd"},
	{GQ_SNIFF_XZ, 6,
	 "\xfd"
	 "7zXZ\0"},
	{GQ_SNIFF_BZIP2, 3, "BZh"},
	{GQ_SNIFF_HDF5, 8, "\x89HDF\r\n\x1a\n"},
	{GQ_SNIFF_NUMPY, 6, "\x93NUMPY"},
};

static bool contains(const unsigned char *p, size_t n, const char *word)
{
	size_t size = strlen(word);

	for (size_t i = 0; i + size <= n; i++) {
		if (memcmp(p + i, word, size) == 0)
			return true;
	}
	return false;
}

/* Text as far as a line of it: printable ASCII, white space, and whatever lies beyond ASCII. */
static bool is_text(const unsigned char *p, size_t n)
{
	size_t printable = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] < 0x20 && p[i] != '\n' && p[i] != '\r' && p[i] != '\t')
			return false;
		printable += p[i] >= 0x20 && p[i] < 0x7f;
	}
	return n > 0 && printable * 4 >= n * 3;
}

/*
 * Magics of two or three bytes can be the low end of an honest length, as 80 02 is of 640. Then the bytes that
 * follow tell: of an honest length bytes 4 to 7 are zero. Pickles from protocol 4 on begin with a frame (0x95).
 */
static enum gq_sniff short_magics(const unsigned char *p, size_t n)
{
	if (n >= 10 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && p[3] < 0x20 &&
	    (p[8] == 0 || p[8] == 2 || p[8] == 4) && (p[9] <= 13 || p[9] == 255))
		return GQ_SNIFF_GZIP;
	if (n >= 8 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5 && p[2] &&
	    (gq_load_le(p + 4, 4) != 0 || (p[1] >= 4 && p[2] == 0x95)))
		return GQ_SNIFF_PICKLE;
	if (n >= 262 && memcmp(p + 257, "ustar", 5) == 0)
		return GQ_SNIFF_TAR;
	return GQ_SNIFF_NONE;
}

static enum gq_sniff sniff_text(const unsigned char *p, size_t n)
{
	size_t i = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	if (!is_text(p, n))
		return GQ_SNIFF_NONE;
	while (i < n && (p[i] == ' ' || p[i] == '\n' || p[i] == '\r' || p[i] == '\t'))
		i++;
	if (i < n && p[i] == '<')
		return GQ_SNIFF_HTML;
	if (i < n && (p[i] == '{' || p[i] == '['))
		return GQ_SNIFF_JSON;
	return GQ_SNIFF_TEXT;
}

enum gq_sniff gq_sniff(const unsigned char *p, size_t n)
{
	enum gq_sniff kind;
	size_t zeros = 0;

	if (n == 0)
		return GQ_SNIFF_EMPTY;
	if (n > GQ_SNIFF_BYTES)
		n = GQ_SNIFF_BYTES;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		if (n < magics[i].size || memcmp(p, magics[i].bytes, magics[i].size) != 0)
			continue;
		if (magics[i].kind == GQ_SNIFF_ZIP && contains(p, n, "data.pkl"))
			return GQ_SNIFF_TORCH;
		return magics[i].kind;
	}
	while (zeros < n && p[zeros] == 0)
		zeros++;
	if (zeros == n && n >= 8)
		return GQ_SNIFF_ZEROS;
	kind = short_magics(p, n);
	return kind ? kind : sniff_text(p, n);
}

enum gq_sniff gq_sniff_again(const unsigned char *p, size_t n)
{
	enum gq_sniff kind = gq_sniff(p, n);

	/* 80 02 .. 80 05: PROTO of a pickle; an honest header would begin with white space or '{' behind 8 bytes. */
	if (kind == GQ_SNIFF_NONE && n > 8 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5 && !memchr(" \t\r\n{", p[8], 5))
		return GQ_SNIFF_PICKLE;
	return kind;
}

const char *gq_sniff_name(enum gq_sniff kind)
{
	return (size_t)kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[kind].name : "unknown";
}

/* The rest of the line that begins with `key`; its length in *length. NULL if there is none. */
static const unsigned char *line_value(const unsigned char *p, size_t n, const char *key, size_t *length)
{
	size_t size = strlen(key);

	for (size_t i = 0; i < n;) {
		size_t end = i;

		while (end < n && p[end] != '\n' && p[end] != '\r')
			end++;
		if (end - i > size && memcmp(p + i, key, size) == 0) {
			*length = end - i - size;
			return p + i + size;
		}
		i = end + 1;
	}
	return NULL;
}

static void describe_lfs(const unsigned char *p, size_t n, char *dst, size_t size)
{
	size_t oid_length = 0, size_length = 0;
	const unsigned char *oid = line_value(p, n, "oid ", &oid_length);
	const unsigned char *bytes = line_value(p, n, "size ", &size_length);
	char shown_oid[96] = "", shown_size[32] = "";

	if (oid)
		gq_mask(shown_oid, sizeof(shown_oid), (const char *)oid, oid_length, false);
	if (bytes)
		gq_mask(shown_size, sizeof(shown_size), (const char *)bytes, size_length, false);
	snprintf(dst, size, "this is a Git LFS pointer, not the file itself%s%s%s%s%s: `git lfs pull` fetches it",
		 oid || bytes ? " (" : "", shown_oid, oid && bytes ? ", " : "", shown_size,
		 bytes ? " bytes)"
		 : oid ? ")"
		       : "");
}

void gq_sniff_describe(enum gq_sniff kind, const unsigned char *p, size_t n, char *dst, size_t size)
{
	char shown[80];

	if (n > GQ_SNIFF_BYTES)
		n = GQ_SNIFF_BYTES;
	if (kind == GQ_SNIFF_LFS) {
		describe_lfs(p, n, dst, size);
	} else if (kind == GQ_SNIFF_TEXT) {
		size_t line = 0;

		while (line < n && p[line] != '\n' && p[line] != '\r')
			line++;
		gq_mask(shown, sizeof(shown), (const char *)p, line, false);
		snprintf(dst, size, "this is plain text, not a safetensors file: it begins \"%s\"", shown);
	} else {
		snprintf(dst, size, "%s", (size_t)kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[kind].sentence : "");
	}
}
