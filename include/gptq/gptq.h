/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgptq: exact conversion and inspection of GPTQ checkpoints.
 *
 * The library never prints, never exits, reads no environment variables and keeps no mutable global state:
 * objects may be used from several threads as long as no two threads use the same object at once.
 *
 * Every function that can fail returns enum gptq_status and describes the failure in a caller-owned
 * struct gptq_error (NULL is allowed wherever one is asked for). On failure output pointers are set to NULL
 * and nothing needs freeing.
 */
#ifndef GPTQ_GPTQ_H
#define GPTQ_GPTQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPTQ_API __attribute__((visibility("default")))
#else
#define GPTQ_API
#endif

/* ------------------------------------------------------------------------------------------ element types */

/* The element types of the safetensors format, in its own order. */
enum gptq_dtype {
	GPTQ_DTYPE_BOOL,
	GPTQ_DTYPE_F4,
	GPTQ_DTYPE_F6_E2M3,
	GPTQ_DTYPE_F6_E3M2,
	GPTQ_DTYPE_U8,
	GPTQ_DTYPE_I8,
	GPTQ_DTYPE_F8_E5M2,
	GPTQ_DTYPE_F8_E4M3,
	GPTQ_DTYPE_F8_E8M0,
	GPTQ_DTYPE_F8_E4M3FNUZ,
	GPTQ_DTYPE_F8_E5M2FNUZ,
	GPTQ_DTYPE_I16,
	GPTQ_DTYPE_U16,
	GPTQ_DTYPE_F16,
	GPTQ_DTYPE_BF16,
	GPTQ_DTYPE_I32,
	GPTQ_DTYPE_U32,
	GPTQ_DTYPE_F32,
	GPTQ_DTYPE_C64,
	GPTQ_DTYPE_F64,
	GPTQ_DTYPE_I64,
	GPTQ_DTYPE_U64,
};

/* The name the format uses: "F16", "I32", ... "unknown" for other values. Never NULL. */
GPTQ_API const char *gptq_dtype_name(enum gptq_dtype dtype);

/* Bits of one element, 4 to 64; 0 for other values. */
GPTQ_API unsigned gptq_dtype_bits(enum gptq_dtype dtype);

/* ------------------------------------------------------------------------------------------------ errors */

/* What went wrong, by kind. The commands map GPTQ_E_REFUSED to exit code 1 and every other error to 2. */
enum gptq_status {
	GPTQ_OK = 0,
	GPTQ_E_NOMEM,       /* an allocation failed */
	GPTQ_E_IO,          /* the system said no; gptq_error.sys_errno says how */
	GPTQ_E_FORMAT,      /* the bytes break the rules of their format */
	GPTQ_E_UNSUPPORTED, /* legal, but not something this library handles */
	GPTQ_E_ARG,         /* the caller's mistake: bad option, OUT exists, OUT inside IN */
	GPTQ_E_LIMIT,       /* larger than a limit that protects the process */
	GPTQ_E_NOTFOUND,    /* a file, shard or tensor that should be there is not */
	GPTQ_E_REFUSED,     /* understood, and declined: going on could lose or falsify weights */
	GPTQ_E_MISMATCH,    /* a check of what was written, or of two checkpoints, failed */
	GPTQ_E_CANCELLED,   /* the caller's cancel hook asked to stop */
};

#define GPTQ_NO_OFFSET UINT64_MAX

/*
 * One failure. All strings are NUL-terminated UTF-8 with control characters masked; empty where not known.
 * Fixed size, no allocation, never holds pointers into other objects.
 */
struct gptq_error {
	enum gptq_status status;
	int sys_errno;       /* errno of a system call, 0 if none was involved */
	uint64_t offset;     /* byte offset inside `file`, GPTQ_NO_OFFSET if none */
	char file[512];      /* the file at fault */
	char tensor[256];    /* the tensor or layer at fault */
	char found[256];     /* the value that was found ... */
	char expected[256];  /* ... and what it should have been */
	char message[2048];  /* what is wrong, without the parts above; may hold several lines */
};

/* A short stable word for a status: "ok", "io", "format", ... Never NULL. */
GPTQ_API const char *gptq_status_name(enum gptq_status status);

/*
 * Writes the whole error as one sentence into dst (size bytes, always NUL-terminated when size > 0):
 *   FILE: tensor "T": MESSAGE (at byte OFFSET; found F, expected E)
 * Returns the length the full text has, as snprintf does.
 */
GPTQ_API size_t gptq_error_format(const struct gptq_error *err, char *dst, size_t size);

/*
 * Copies n bytes of s into dst (size bytes, always NUL-terminated when size > 0) for people: control characters, the
 * bidirectional and zero-width ones that can disguise a name, and bytes that are no UTF-8 become \xNN or \u{N}; what
 * does not fit ends in "...". The result is valid UTF-8.
 */
GPTQ_API void gptq_mask(char *dst, size_t size, const char *s, size_t n);

/* ------------------------------------------------------------------------------------------------- hooks */

/* How a long call keeps in touch with its caller. Every member may be NULL. Called from the calling thread. */
struct gptq_hooks {
	void *ctx;
	/* Asked often; true makes the call clean up and return GPTQ_E_CANCELLED. */
	bool (*cancelled)(void *ctx);
	/* `done` of `total` bytes are through; `file` is the one in hand. */
	void (*progress)(void *ctx, const char *file, uint64_t done, uint64_t total);
};

/* Library version as "MAJOR.MINOR.PATCH". */
GPTQ_API const char *gptq_version(void);

/* ------------------------------------------------------------------------------------------- zero points */

/* What a stored lane of qzeros means: the zero point less one (v1, "gptq") or itself (v2, "gptq_v2"). */
enum gptq_zeros_format {
	GPTQ_ZEROS_NONE = 0, /* not known, or not settled */
	GPTQ_ZEROS_V1,
	GPTQ_ZEROS_V2,
};

/*
 * How a v1 writer stored a zero point of 0, for which v1 has no room. With M = 2^bits - 1:
 * the styles store all other zero points alike, save for GPTQ_STYLE_GPTQMODEL_3BIT.
 */
enum gptq_v1_style {
	GPTQ_STYLE_NONE = 0,       /* not known, or undetermined */
	GPTQ_STYLE_LANE,           /* (z - 1) mod 2^bits in each lane */
	GPTQ_STYLE_WORD,           /* one subtraction from the pack word, borrows run upwards; 3 bits: as LANE */
	GPTQ_STYLE_GPTQMODEL_3BIT, /* 3 bits: word by word with two constants swapped; other widths: as WORD */
	GPTQ_STYLE_SMEARED,        /* every lane above z = 0 in its word became M: what they held is lost */
	GPTQ_STYLE_CLEAN,          /* no lane tells LANE, WORD and SMEARED apart */
};

/* What the tensors say about a layer or a model. */
enum gptq_verdict {
	GPTQ_VERDICT_UNREAD = 0, /* the layer was not read */
	GPTQ_VERDICT_UNDETERMINED,
	GPTQ_VERDICT_V1,
	GPTQ_VERDICT_V2,
	GPTQ_VERDICT_MIXED, /* models only: some layers are v1, some v2 */
};

/* "v1", "v2"; "none" for GPTQ_ZEROS_NONE. Never NULL. */
GPTQ_API const char *gptq_zeros_format_name(enum gptq_zeros_format format);

/* "lane", "word", "gptqmodel-3bit", "smeared", "clean"; "none" for GPTQ_STYLE_NONE. Never NULL. */
GPTQ_API const char *gptq_style_name(enum gptq_v1_style style);

/* "unread", "undetermined", "v1", "v2", "mixed". Never NULL. */
GPTQ_API const char *gptq_verdict_name(enum gptq_verdict verdict);

/*
 * Rewrites packed zero points in place from one format to the other. Rows are independent of each other.
 *
 *   qzeros     rows * row_bytes bytes at any alignment: little-endian pack words
 *   rows       number of groups
 *   row_bytes  bytes of a row, a multiple of word_bits / 8
 *   bits       2, 3, 4 or 8
 *   word_bits  8, 16, 32 or 64; 3 bits only with 32
 *   style      how v1 stores z = 0. LANE, WORD and GPTQMODEL_3BIT are exact both ways. CLEAN is read and written
 *              as LANE. SMEARED is read as LANE (the lanes above a 0 stay lost) and never written.
 *
 * Lanes beyond the last column, up to the end of the row, are shifted like all others; at 3 bits a fraction of a
 * lane at the end of a row stays as it is (in LANE and WORD). from == to changes nothing.
 * Returns GPTQ_OK; GPTQ_E_ARG for a format or style that makes no sense here or a row_bytes that is no whole
 * number of words; GPTQ_E_UNSUPPORTED for other widths. On failure nothing was changed.
 */
GPTQ_API enum gptq_status gptq_zeros_shift(void *qzeros, size_t rows, size_t row_bytes, unsigned bits,
					   unsigned word_bits, enum gptq_zeros_format from, enum gptq_zeros_format to,
					   enum gptq_v1_style style, struct gptq_error *err);

/* ----------------------------------------------------------------------------------------------- readers */

/* What a known loader makes of the checkpoint. Static strings. */
enum gptq_reader_answer { GPTQ_READER_RIGHT = 0, GPTQ_READER_REFUSES, GPTQ_READER_WRONG, GPTQ_READER_UNKNOWN };
/* "reads right", "refuses", "silently wrong", "not known". Never NULL. */
GPTQ_API const char *gptq_reader_answer_name(enum gptq_reader_answer answer);

struct gptq_reader {
	const char *loader;
	const char *read_at; /* the version or commit that the statement is about */
	enum gptq_reader_answer answer;
	const char *reason;
};

#ifdef __cplusplus
}
#endif

#include <gptq/convert.h>
#include <gptq/inspect.h>

#endif
