/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is that carries the wrong name, from its first bytes. Used only once a safetensors header is refused. */
#ifndef GQ_FORMAT_SNIFF_H
#define GQ_FORMAT_SNIFF_H

#include <stddef.h>

enum gq_sniff {
	GQ_SNIFF_NONE,  /* nothing known */
	GQ_SNIFF_EMPTY, /* no byte */
	GQ_SNIFF_LFS,   /* a Git LFS pointer */
	GQ_SNIFF_HTML,  /* a web page or an XML answer of a server */
	GQ_SNIFF_TORCH, /* a zip file as torch.save writes it */
	GQ_SNIFF_ZIP,
	GQ_SNIFF_PICKLE, /* a Python pickle: an old torch.save, or anything */
	GQ_SNIFF_GGUF,
	GQ_SNIFF_GGML, /* the forerunners of GGUF */
	GQ_SNIFF_GZIP,
	GQ_SNIFF_ZSTD,
	GQ_SNIFF_XZ,
	GQ_SNIFF_BZIP2,
	GQ_SNIFF_TAR,
	GQ_SNIFF_HDF5,
	GQ_SNIFF_NUMPY,
	GQ_SNIFF_JSON,  /* JSON text without the eight bytes before it */
	GQ_SNIFF_TEXT,  /* plain text of another kind: often the error message of a server */
	GQ_SNIFF_ZEROS, /* NUL bytes only: room that a download reserved and never filled */
};

#define GQ_SNIFF_BYTES 512 /* so many first bytes tell all that can be told */

/* n bytes from the start of a file; fewer than GQ_SNIFF_BYTES only if the file has no more. */
enum gq_sniff gq_sniff(const unsigned char *p, size_t n);

/* The same once the JSON behind a plausible length has failed: then the marks of a pickle need not be as clear. */
enum gq_sniff gq_sniff_again(const unsigned char *p, size_t n);

/* A stable word: "lfs-pointer", "html", ... "unknown" for GQ_SNIFF_NONE. */
const char *gq_sniff_name(enum gq_sniff kind);

/* A sentence without a full stop that says what the file is and what to do. "" for GQ_SNIFF_NONE. */
void gq_sniff_describe(enum gq_sniff kind, const unsigned char *p, size_t n, char *dst, size_t size);

#endif
