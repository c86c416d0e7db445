/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a safetensors file as a table.
 *
 *   byte 0        8            8 + N                    end of the file
 *        | N      | header     | data                   |
 *        | u64 LE | UTF-8 JSON | data_offsets from here |
 *
 * Reading is as strict as the reference implementation and in four places stricter, where readers are known to
 * differ: a tensor name twice, any key twice in one object, an entry written as an array, a dtype written as an
 * object. Legal and reported by flags: white space before the JSON, a header whose length is no multiple of 8, tensors
 * off their natural alignment.
 *
 * Memory: the header's text, plus tables that stay below nine times its size whatever it holds.
 */
#ifndef GQ_FORMAT_SAFETENSORS_H
#define GQ_FORMAT_SAFETENSORS_H

#include "format/sniff.h"
#include "gptq/gptq.h"

#define GQ_ST_MAX_HEADER 100000000u /* the reference's limit */
#define GQ_ST_ANY_SIZE UINT64_MAX   /* a file or data whose size is not known yet: a stream */

/* Why a file was refused. */
enum gq_st_fault {
	GQ_ST_NONE,
	GQ_ST_SYSTEM,          /* a read or an allocation failed */
	GQ_ST_EMPTY,           /* no byte at all */
	GQ_ST_LFS,             /* a Git LFS pointer */
	GQ_ST_NOT_SAFETENSORS, /* something else under this name: gq_st_diagnosis.sniff says what, if known */
	GQ_ST_SHORT,           /* the file ends before its header or data do; nbytes are missing */
	GQ_ST_TRAILING,        /* nbytes follow the last tensor */
	GQ_ST_HEADER_LIMIT,    /* the header is there, but larger than the limit */
	GQ_ST_LENGTH,          /* the header length makes no sense and the file is nothing else that is known */
	GQ_ST_UTF8,            /* the header is not UTF-8 */
	GQ_ST_JSON,            /* the header is no JSON */
	GQ_ST_NUL_PADDED,      /* the header is JSON padded with NUL in the place of spaces */
	GQ_ST_ENTRY,           /* JSON, but no table of tensors: a field is missing or of the wrong type */
	GQ_ST_METADATA,        /* __metadata__ is no map of strings */
	GQ_ST_DTYPE,           /* an element type that is not known */
	GQ_ST_DUPLICATE,       /* a tensor name or another key twice */
	GQ_ST_OFFSETS,         /* a hole, an overlap, or an end before its begin */
	GQ_ST_OVERFLOW,        /* shape times bits exceeds 64 bits */
	GQ_ST_BITS,            /* the elements do not fill whole bytes */
	GQ_ST_SIZE,            /* data_offsets span another size than the shape needs */
};

struct gq_st_limits {
	uint64_t max_header; /* bytes; 0: GQ_ST_MAX_HEADER; never more than 4 GiB */
	bool any_size;       /* give the table of a short or overlong file too; the diagnosis tells */
};

/* What a program needs to know about a refusal. */
struct gq_st_diagnosis {
	enum gq_st_fault fault;
	enum gq_sniff sniff; /* for GQ_ST_NOT_SAFETENSORS */
	uint64_t nbytes;     /* for GQ_ST_SHORT and GQ_ST_TRAILING; UINT64_MAX if more than 64 bits hold */
};

struct gq_st_tensor {
	const char *name;      /* unescaped; not NUL-terminated and may hold NUL */
	const uint64_t *shape; /* rank dimensions, outermost first */
	uint64_t begin, end;   /* bytes, relative to data_start */
	uint32_t name_size;
	uint32_t rank;
	uint32_t entry_begin, entry_end; /* the entry's value in the header's text, braces included */
	enum gptq_dtype dtype;
	uint32_t lent; /* not 0: the name lies where its user has put it, and this is the user's mark */
};

struct gq_st_meta {
	const char *key, *value; /* unescaped, as names */
	uint32_t key_size, value_size;
	uint32_t value_begin, value_end; /* the value in the header's text, quotes included */
};

struct gq_st {
	char *header;         /* the text as it stands in the file, header_size bytes */
	uint64_t header_size; /* N */
	uint64_t data_start;  /* 8 + N */
	uint64_t data_size;   /* bytes behind the header; of a stream: the last tensor's end */

	struct gq_st_tensor *tensors; /* in header order */
	uint32_t *by_offset;          /* tensor numbers by (begin, end) */
	uint32_t n_tensors;

	uint32_t n_metadata;
	struct gq_st_meta *metadata;           /* in header order */
	uint32_t metadata_begin, metadata_end; /* the value of __metadata__, braces or null included; equal if absent */
	bool has_metadata;                     /* __metadata__ is a map, be it empty */

	bool leading_space;    /* white space before the '{' */
	bool unpadded;         /* N is no multiple of 8 */
	uint32_t n_misaligned; /* tensors whose place in the file is no multiple of their element size */
	uint32_t first_misaligned;

	/* private */
	char *strings;    /* names, keys and values that had escapes */
	uint64_t *shapes; /* all dimensions */
};

/*
 * Reads and checks the header of an open file of file_size bytes; `file` is its name for messages. limits and
 * diagnosis may be NULL. Nothing is allocated that the file is not large enough for.
 */
enum gptq_status gq_st_open(int fd, uint64_t file_size, const char *file, const struct gq_st_limits *limits,
			    struct gq_st **out, struct gq_st_diagnosis *diagnosis, struct gptq_error *err);

/*
 * The same from memory: first a file's first n bytes (8, or up to GQ_SNIFF_BYTES so that other formats can be named;
 * fewer only if the file has no more), which give the header's size ...
 */
enum gptq_status gq_st_header_size(const unsigned char *first, size_t n, uint64_t file_size,
				   const struct gq_st_limits *limits, uint64_t *header_size,
				   struct gq_st_diagnosis *diagnosis, struct gptq_error *err);

/* ... then the header's n bytes, which are copied, and the bytes that follow it in the file. */
enum gptq_status gq_st_parse(const char *header, size_t n, uint64_t data_size, const struct gq_st_limits *limits,
			     struct gq_st **out, struct gq_st_diagnosis *diagnosis, struct gptq_error *err);

/* After a header that could not be read: a format whose magic happens to be a plausible length gets its own message.
 * Returns status where there is no such format. */
enum gptq_status gq_st_sniff_again(enum gptq_status status, const unsigned char *first, size_t n,
				   struct gq_st_diagnosis *diagnosis, struct gptq_error *err);

/*
 * Gives up what only the reading needed: by_offset, whether keep_header or not, and the header's text, from which names
 * that are not lent and metadata move into a smaller place. GPTQ_E_NOMEM is the only failure; nothing is lost then.
 */
enum gptq_status gq_st_slim(struct gq_st *st, bool keep_header, struct gptq_error *err);

void gq_st_free(struct gq_st *st);

/* The metadata entry of that key (NUL-terminated); NULL if there is none. */
const struct gq_st_meta *gq_st_find_meta(const struct gq_st *st, const char *key);

/* A stable word: "short", "lfs-pointer", "offsets", ... "none". */
const char *gq_st_fault_name(enum gq_st_fault fault);

#endif
