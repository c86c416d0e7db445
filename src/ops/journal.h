/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of an in-place conversion: enough to finish it or to undo it after a crash at any moment.
 *
 *   "GPTQJNL2" | record | record | ... | end record
 *
 *   record: fixed part of 88 bytes | name | payload | CRC-32
 *
 * All numbers are little-endian. Each CRC goes on from the one before it, so the last covers the whole file. It is
 * written under another name, synced and renamed: a journal under its own name is whole, and before it is there no
 * byte of the checkpoint has changed. The order of records is the order of writing: zero points, then labels inside
 * headers, then configs.
 *
 * Payloads are plain bytes: packing them cost more time than writing them on any disk that moves 100 MB/s. Zero points
 * of a model with many small layers go many spans to a record, all of one shape, so that a span costs eight bytes:
 *
 *   payload of zero points: place of span 0, of span 1, ... (8 bytes each) | old bytes of span 0, of span 1, ...
 */
#ifndef GQ_OPS_JOURNAL_H
#define GQ_OPS_JOURNAL_H

#include "base/buf.h"
#include "gptq/gptq.h"

/* In the folder that is changed; for a lone file FILE: ".FILE" and this suffix, beside it. */
#define GQ_JOURNAL_NAME ".gptq-convert.journal"
#define GQ_JOURNAL_NEW ".new" /* added to the name while it is written */
#define GQ_JOURNAL_CONFIG_TEMP ".gptq-convert.config.new"

#define GQ_JOURNAL_PLACE ((size_t)8) /* bytes of a span's place in the file */
/* Records are made, and done, several at once; none is added to so many bytes. Ours hold a megabyte, but for long rows.
 */
#define GQ_JOURNAL_AT_ONCE ((uint64_t)8 << 20)

enum gq_record_kind {
	GQ_RECORD_PLAN = 1, /* from, to, relabel in `mode` */
	GQ_RECORD_FILE,     /* a file that changes: its identity; files are numbered from 0 */
	GQ_RECORD_ZEROS,    /* payload: places and old bytes; the new bytes are their shift */
	GQ_RECORD_HEADER,   /* payload: old and new bytes */
	GQ_RECORD_CONFIG,   /* likewise, the whole text */
	GQ_RECORD_END,      /* offset: how many records stand before it */
};

struct gq_record {
	enum gq_record_kind kind;
	uint32_t file;    /* ZEROS, HEADER: number of the file */
	uint32_t mode;    /* CONFIG: permissions; PLAN: 1 if labels alone change */
	uint64_t offset;  /* HEADER: in the file */
	uint64_t n_spans; /* ZEROS: at least 1, of old_size / n_spans bytes each; else 0 */
	uint64_t old_size, new_size;
	uint32_t crc_before, crc_after;
	uint64_t row_bytes; /* ZEROS */
	uint64_t n_columns; /* ZEROS: real lanes of a row */
	uint8_t bits, word_bits;
	enum gptq_zeros_format from, to;
	enum gptq_v1_style style;
	uint64_t ino, size;   /* FILE */
	uint64_t header_size; /* FILE: 8 bytes and the header; header_crc is over them without the label's span */
	uint64_t label_begin, label_size;
	uint32_t header_crc;
	char *name;             /* FILE: relative path; CONFIG: base name */
	unsigned char *payload; /* what the kind says */
	uint64_t payload_size;
};

/* What header_crc of a FILE is: of the length of its header and of the header's text, without the label's span. */
uint32_t gq_journal_header_crc(const char *text, const struct gq_record *file);

/* ------------------------------------------------------------------------------------------------- writing */

struct gq_journal_writer {
	int fd;
	const char *path; /* for messages */
	uint64_t size, n_records;
	uint32_t crc;
};

/* Begins a journal in the open, empty file fd. */
enum gptq_status gq_journal_begin(int fd, const char *path, struct gq_journal_writer *w, struct gptq_error *err);
/*
 * Appends a record; data (n bytes) become its payload, whose size must be what its kind and sizes ask for. crc_before
 * must be right.
 */
enum gptq_status gq_journal_add(struct gq_journal_writer *w, const struct gq_record *r, const void *data, size_t n,
				struct gptq_error *err);
/* The end record, then fsync. */
enum gptq_status gq_journal_end(struct gq_journal_writer *w, struct gptq_error *err);

/* ------------------------------------------------------------------------------------------------- reading */

struct gq_journal {
	int fd;
	char *path; /* for messages */
	uint64_t size, at, n_records;
	uint32_t crc;
	enum gq_record_kind last_kind; /* of the record before */
	struct gq_record record;       /* the current one; its strings live until the next */
};

/* Opens `name` in the folder dir_fd, reading its first bytes. GPTQ_E_NOTFOUND; GPTQ_E_FORMAT if it is no journal. */
enum gptq_status gq_journal_open(int dir_fd, const char *dir, const char *name, struct gq_journal *j,
				 struct gptq_error *err);
/*
 * The next record in j->record, END included. GPTQ_E_FORMAT for everything that is not as it was written. crc_before of
 * zero points is checked, other checksums of states are not.
 */
enum gptq_status gq_journal_next(struct gq_journal *j, struct gptq_error *err);
/* From the first record on again. */
void gq_journal_rewind(struct gq_journal *j);
void gq_journal_close(struct gq_journal *j);

/* "the journal is damaged: WHAT" with the place of the current record. */
enum gptq_status gq_journal_damaged(const struct gq_journal *j, const char *what, struct gptq_error *err);

/*
 * Gives up the current record to *one, where it can be looked at while others are read: no more than that and
 * gq_journal_damaged() may be done with it before it is dropped.
 */
void gq_journal_take(struct gq_journal *j, struct gq_journal *one);
void gq_journal_drop_taken(struct gq_journal *one);

/* Where the next record begins, to return to. */
struct gq_journal_mark {
	uint64_t at, n_records;
	uint32_t crc;
	enum gq_record_kind last_kind;
};

void gq_journal_mark(const struct gq_journal *j, struct gq_journal_mark *mark);
void gq_journal_return(struct gq_journal *j, const struct gq_journal_mark *mark);

#endif
