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

#ifdef __cplusplus
}
#endif

#endif
