/* SPDX-License-Identifier: Apache-2.0 */
#include "format/safetensors.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "format/safetensors_private.h"

#include <stdio.h>

static const char *const fault_names[] = {
	[GQ_ST_NONE] = "none",
	[GQ_ST_SYSTEM] = "system",
	[GQ_ST_EMPTY] = "empty",
	[GQ_ST_LFS] = "lfs-pointer",
	[GQ_ST_NOT_SAFETENSORS] = "not-safetensors",
	[GQ_ST_SHORT] = "short",
	[GQ_ST_TRAILING] = "trailing",
	[GQ_ST_HEADER_LIMIT] = "header-limit",
	[GQ_ST_LENGTH] = "length",
	[GQ_ST_UTF8] = "utf8",
	[GQ_ST_JSON] = "json",
	[GQ_ST_NUL_PADDED] = "nul-padded",
	[GQ_ST_ENTRY] = "entry",
	[GQ_ST_METADATA] = "metadata",
	[GQ_ST_DTYPE] = "dtype",
	[GQ_ST_DUPLICATE] = "duplicate",
	[GQ_ST_OFFSETS] = "offsets",
	[GQ_ST_OVERFLOW] = "overflow",
	[GQ_ST_BITS] = "bits",
	[GQ_ST_SIZE] = "size",
};

const char *gq_st_fault_name(enum gq_st_fault fault)
{
	return (size_t)fault < sizeof(fault_names) / sizeof(fault_names[0]) ? fault_names[fault] : "unknown";
}

enum gptq_status gq_st_fail(struct gq_st_diagnosis *diagnosis, struct gptq_error *err, enum gq_st_fault fault,
			    const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diagnosis->fault = fault;
	return gq_fail(err, GPTQ_E_FORMAT, "%s", text);
}

/* The file is something else, and the first bytes say what. */
static enum gptq_status fail_sniffed(enum gq_sniff kind, const unsigned char *first, size_t n,
				     struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	enum gq_st_fault fault = GQ_ST_NOT_SAFETENSORS;
	char sentence[512];

	if (kind == GQ_SNIFF_LFS)
		fault = GQ_ST_LFS;
	else if (kind == GQ_SNIFF_EMPTY)
		fault = GQ_ST_EMPTY;
	diagnosis->sniff = kind;
	gq_sniff_describe(kind, first, n, sentence, sizeof(sentence));
	gq_st_fail(diagnosis, err, fault, "%s", sentence);
	gq_error_offset(err, 0);
	return GPTQ_E_FORMAT;
}

/* Does JSON begin behind the length, as far as can be seen? An honest file that was cut short looks so. */
static bool header_begins(const unsigned char *first, size_t n)
{
	size_t i = GQ_ST_PREFIX;

	while (i < n && (first[i] == ' ' || first[i] == '\n' || first[i] == '\r' || first[i] == '\t'))
		i++;
	return i >= n || first[i] == '{';
}

/* The length is beyond all reason and no known format explains it. */
static enum gptq_status fail_length(const unsigned char *first, size_t n, uint64_t file_size, uint64_t max,
				    struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	uint64_t size = gq_load_le(first, 8), swapped = __builtin_bswap64(size);
	const char *hint = "";

	if (n > GQ_ST_PREFIX && first[GQ_ST_PREFIX] == '{' && swapped && swapped <= max)
		hint = ": the length seems to be written big-endian";
	gq_st_fail(diagnosis, err, GQ_ST_LENGTH, "not a safetensors file, or its first 8 bytes are damaged%s", hint);
	gq_error_offset(err, 0);
	gq_error_found(err, "a header length of %llu", (unsigned long long)size);
	if (file_size == GQ_ST_ANY_SIZE || file_size - GQ_ST_PREFIX > max)
		gq_error_expected(err, "at most %llu", (unsigned long long)max);
	else
		gq_error_expected(err, "at most %llu: the file has %llu bytes",
				  (unsigned long long)(file_size - GQ_ST_PREFIX), (unsigned long long)file_size);
	return GPTQ_E_FORMAT;
}

static enum gptq_status fail_limit(uint64_t size, uint64_t max, struct gq_st_diagnosis *diagnosis,
				   struct gptq_error *err)
{
	diagnosis->fault = GQ_ST_HEADER_LIMIT;
	gq_fail(err, GPTQ_E_LIMIT, "the header is larger than the format allows");
	gq_error_offset(err, 0);
	gq_error_found(err, "a header length of %llu", (unsigned long long)size);
	gq_error_expected(err, "at most %llu", (unsigned long long)max);
	return GPTQ_E_LIMIT;
}

/* The file ends inside its length (size 0: not known) or its header. */
static enum gptq_status fail_cut(uint64_t file_size, uint64_t size, uint64_t missing, struct gq_st_diagnosis *diagnosis,
				 struct gptq_error *err)
{
	const char *part = size ? "header" : "first 8 bytes, the header length";

	gq_st_fail(diagnosis, err, GQ_ST_SHORT, "the file is %llu byte(s) short: it ends inside its %s",
		   (unsigned long long)missing, part);
	diagnosis->nbytes = missing;
	gq_error_offset(err, file_size);
	gq_error_found(err, "%llu bytes", (unsigned long long)file_size);
	/* missing is what the file lacks up to the end of the header, so the sum is the header's end: no overflow. */
	gq_error_expected(err, "at least %llu", (unsigned long long)(file_size + missing));
	return GPTQ_E_FORMAT;
}

static uint64_t header_limit(const struct gq_st_limits *limits)
{
	uint64_t max = limits && limits->max_header ? limits->max_header : GQ_ST_MAX_HEADER;

	/* Positions in the header are kept in 32 bits. */
	return max < UINT32_MAX ? max : UINT32_MAX;
}

static enum gptq_status header_size_of(const unsigned char *first, size_t n, uint64_t file_size, uint64_t max,
				       uint64_t *header_size, struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	enum gq_sniff kind;
	uint64_t size, room;
	bool known = file_size != GQ_ST_ANY_SIZE;

	if (n < GQ_ST_PREFIX) {
		kind = gq_sniff(first, n);
		return kind ? fail_sniffed(kind, first, n, diagnosis, err)
			    : fail_cut(n, 0, GQ_ST_PREFIX - n, diagnosis, err);
	}
	size = gq_load_le(first, GQ_ST_PREFIX);
	room = known ? file_size - GQ_ST_PREFIX : UINT64_MAX;
	if (size > 0 && size <= max && size <= room) {
		*header_size = size;
		return GPTQ_OK;
	}
	kind = gq_sniff(first, n);
	if (kind)
		return fail_sniffed(kind, first, n, diagnosis, err);
	if (size > max) {
		bool there = known ? size <= room : n > GQ_ST_PREFIX && header_begins(first, n);

		return there ? fail_limit(size, max, diagnosis, err)
			     : fail_length(first, n, file_size, max, diagnosis, err);
	}
	if (size > room)
		return header_begins(first, n) ? fail_cut(file_size, size, size - room, diagnosis, err)
					       : fail_length(first, n, file_size, max, diagnosis, err);
	gq_st_fail(diagnosis, err, GQ_ST_JSON, "the header is empty: it needs at least {}");
	gq_error_offset(err, 0);
	return GPTQ_E_FORMAT;
}

enum gptq_status gq_st_header_size(const unsigned char *first, size_t n, uint64_t file_size,
				   const struct gq_st_limits *limits, uint64_t *header_size,
				   struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	struct gq_st_diagnosis ignored;

	if (!diagnosis)
		diagnosis = &ignored;
	*diagnosis = (struct gq_st_diagnosis){0};
	*header_size = 0;
	return header_size_of(first, n, file_size, header_limit(limits), header_size, diagnosis, err);
}

/* Takes over header. */
static enum gptq_status build(char *header, size_t n, uint64_t data_size, const struct gq_st_limits *limits,
			      struct gq_st **out, struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	struct gq_st *st = gq_calloc(1, sizeof(*st));
	enum gptq_status status;
	size_t good;

	if (!st) {
		gq_free(header);
		diagnosis->fault = GQ_ST_SYSTEM;
		return gq_fail_nomem(err);
	}
	st->header = header;
	st->header_size = n;
	st->data_start = GQ_ST_PREFIX + (uint64_t)n; /* n was checked against the limit */
	st->data_size = data_size;
	st->unpadded = n % 8 != 0;
	st->leading_space = n > 0 && header[0] != '{';
	good = gq_utf8_valid_prefix(header, n);
	if (good < n) {
		status = gq_st_fail(diagnosis, err, GQ_ST_UTF8, "the header is not UTF-8");
		gq_error_offset(err, GQ_ST_PREFIX + (uint64_t)good);
		gq_error_found(err, "byte 0x%02x", (unsigned char)header[good]);
	} else {
		status = gq_st_read_table(st, diagnosis, err);
	}
	if (!status)
		status = gq_st_check_layout(st, limits, diagnosis, err);
	if (status) {
		if (status == GPTQ_E_NOMEM)
			diagnosis->fault = GQ_ST_SYSTEM;
		gq_st_free(st);
		return status;
	}
	*out = st;
	return GPTQ_OK;
}

enum gptq_status gq_st_parse(const char *header, size_t n, uint64_t data_size, const struct gq_st_limits *limits,
			     struct gq_st **out, struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	struct gq_st_diagnosis own_diagnosis;
	struct gptq_error own_err;
	char *copy;

	if (!diagnosis)
		diagnosis = &own_diagnosis;
	if (!err)
		err = &own_err;
	*out = NULL;
	*diagnosis = (struct gq_st_diagnosis){0};
	if (n > header_limit(limits))
		return fail_limit(n, header_limit(limits), diagnosis, err);
	copy = gq_malloc_array(n, 1);
	if (!copy) {
		diagnosis->fault = GQ_ST_SYSTEM;
		return gq_fail_nomem(err);
	}
	memcpy(copy, header, n);
	return build(copy, n, data_size, limits, out, diagnosis, err);
}

static enum gptq_status open_file(int fd, uint64_t file_size, const char *file, const struct gq_st_limits *limits,
				  struct gq_st **out, struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	unsigned char first[GQ_SNIFF_BYTES];
	size_t n = file_size < sizeof(first) ? (size_t)file_size : sizeof(first);
	enum gptq_status status = gq_pread_full(fd, first, n, 0, file, err);
	uint64_t size = 0;
	char *header;

	if (status)
		return status;
	status = header_size_of(first, n, file_size, header_limit(limits), &size, diagnosis, err);
	if (status)
		return status;
	header = gq_malloc_array((size_t)size, 1);
	if (!header)
		return gq_fail_nomem(err);
	status = gq_pread_full(fd, header, (size_t)size, GQ_ST_PREFIX, file, err);
	if (status) {
		gq_free(header);
		return status;
	}
	status = build(header, (size_t)size, file_size - GQ_ST_PREFIX - size, limits, out, diagnosis, err);
	return gq_st_sniff_again(status, first, n, diagnosis, err);
}

enum gptq_status gq_st_sniff_again(enum gptq_status status, const unsigned char *first, size_t n,
				   struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	enum gq_sniff kind;

	if (diagnosis->fault != GQ_ST_UTF8 && diagnosis->fault != GQ_ST_JSON)
		return status;
	kind = gq_sniff_again(first, n);
	return kind ? fail_sniffed(kind, first, n, diagnosis, err) : status;
}

enum gptq_status gq_st_open(int fd, uint64_t file_size, const char *file, const struct gq_st_limits *limits,
			    struct gq_st **out, struct gq_st_diagnosis *diagnosis, struct gptq_error *err)
{
	struct gq_st_diagnosis own_diagnosis;
	struct gptq_error own_err;
	enum gptq_status status;

	if (!diagnosis)
		diagnosis = &own_diagnosis;
	if (!err)
		err = &own_err;
	*out = NULL;
	*diagnosis = (struct gq_st_diagnosis){0};
	status = open_file(fd, file_size, file, limits, out, diagnosis, err);
	if (status) {
		gq_error_file(err, file);
		if (diagnosis->fault == GQ_ST_NONE)
			diagnosis->fault = GQ_ST_SYSTEM;
	}
	return status;
}

static const char *move_text(const char *text, size_t size, char **to)
{
	char *at = *to;

	if (size)
		memcpy(at, text, size);
	*to += size;
	return at;
}

enum gptq_status gq_st_slim(struct gq_st *st, bool keep_header, struct gptq_error *err)
{
	size_t size = 0;
	char *strings, *at;

	for (uint32_t i = 0; i < st->n_tensors; i++)
		size += st->tensors[i].lent ? 0 : st->tensors[i].name_size; /* all stood in the header: no overflow */
	for (uint32_t i = 0; i < st->n_metadata; i++)
		size += (size_t)st->metadata[i].key_size + st->metadata[i].value_size;
	strings = at = keep_header ? NULL : gq_malloc_array(size, 1);
	if (!keep_header && !strings)
		return gq_fail_nomem(err);
	gq_free(st->by_offset);
	st->by_offset = NULL;
	if (keep_header)
		return GPTQ_OK;
	for (uint32_t i = 0; i < st->n_tensors; i++)
		if (!st->tensors[i].lent)
			st->tensors[i].name = move_text(st->tensors[i].name, st->tensors[i].name_size, &at);
	for (uint32_t i = 0; i < st->n_metadata; i++) {
		struct gq_st_meta *m = &st->metadata[i];

		m->key = move_text(m->key, m->key_size, &at);
		m->value = move_text(m->value, m->value_size, &at);
	}
	gq_free(st->strings);
	gq_free(st->header);
	st->strings = strings;
	st->header = NULL;
	return GPTQ_OK;
}

void gq_st_free(struct gq_st *st)
{
	if (!st)
		return;
	gq_free(st->shapes);
	gq_free(st->strings);
	gq_free(st->metadata);
	gq_free(st->by_offset);
	gq_free(st->tensors);
	gq_free(st->header);
	gq_free(st);
}

const struct gq_st_meta *gq_st_find_meta(const struct gq_st *st, const char *key)
{
	size_t size = strlen(key);

	for (uint32_t i = 0; i < st->n_metadata; i++) {
		if (st->metadata[i].key_size == size && memcmp(st->metadata[i].key, key, size) == 0)
			return &st->metadata[i];
	}
	return NULL;
}
