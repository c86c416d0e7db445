/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal beside a small real folder, or a lone file, that is old, new or anything between. A real journal is changed
 * as the input says, and half of the time all its checksums are made right again. One that is not accepted touches
 * nothing. One that is leads to what it says, in both directions, also after it was stopped on its way, and nothing
 * outside its spans changes. One that was not changed leads to the old bytes and to the new ones.
 *
 *   byte 0     0x01 undo first   0x02 a lone file   0x0c the journal: 0 changed records, 1 overwritten bytes, checksums
 *              right, 2 the same, checksums as they are, 3 the bytes of the input   0x30 the files: 0 old, 1 new,
 *              2 weights new and configs old, 3 both, by byte 1   0x40 records are not made honest
 *   byte 1     which bytes of every eight are new
 *   byte 2     at which call of its hook the first run is stopped; 0: it is not
 *   bytes 3-5  two bytes where in the first file, one what: a change by others
 */
#define _GNU_SOURCE
#include "journal.h"
#include "model.h"

#include "base/checked.h"
#include "ops/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define HEADER_A                                                                                                       \
	"{\"a.qweight\":{\"dtype\":\"I32\",\"shape\":[2,8],\"data_offsets\":[0,64]},"                                  \
	"\"a.qzeros\":{\"dtype\":\"I32\",\"shape\":[2,1],\"data_offsets\":[64,72]},"                                   \
	"\"a.scales\":{\"dtype\":\"F16\",\"shape\":[2,8],\"data_offsets\":[72,104]},"                                  \
	"\"c.qweight\":{\"dtype\":\"I32\",\"shape\":[2,8],\"data_offsets\":[104,168]},"                                \
	"\"c.qzeros\":{\"dtype\":\"I32\",\"shape\":[2,1],\"data_offsets\":[168,176]},"                                 \
	"\"c.scales\":{\"dtype\":\"F16\",\"shape\":[2,8],\"data_offsets\":[176,208]},"                                 \
	"\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq\"}}        "
#define HEADER_B                                                                                                       \
	"{\"b.qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],\"data_offsets\":[0,32]},"                                  \
	"\"b.qzeros\":{\"dtype\":\"I32\",\"shape\":[1,1],\"data_offsets\":[32,36]},"                                   \
	"\"b.scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[36,52]}}"
#define CONFIG "\"bits\": 4, \"group_size\": 8, \"quant_method\": \"gptq\", \"checkpoint_format\": \"gptq\"}\n"

#define MAX_FILES 4
#define MAX_FILE 5120

struct file {
	char name[40], path[400];
	bool config;
	uint8_t old_bytes[MAX_FILE], new_bytes[MAX_FILE], begin[MAX_FILE], now[MAX_FILE];
	size_t old_size, new_size, begin_size, now_size;
};

/* A checkpoint, and the journal that takes it from old to new. */
struct set {
	char path[400], dir[400], journal_path[400];
	struct file files[MAX_FILES];
	size_t n;
	uint8_t journal[8192];
	size_t journal_size;
};

static struct set sets[2];

static size_t load(const char *path, uint8_t *dst, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	MUST(fd >= 0);
	n = read(fd, dst, room);
	MUST(n >= 0 && (size_t)n < room);
	close(fd);
	return (size_t)n;
}

/* In the same inode, which is what the journal knows of weights. */
static void store(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	MUST(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size && ftruncate(fd, (off_t)size) == 0);
	close(fd);
}

/* ------------------------------------------------------------------------------------------------ what is real */

static void add(struct set *s, const char *name, const char *text, size_t n_data)
{
	struct file *f = &s->files[s->n++];
	size_t n = strlen(text);

	snprintf(f->name, sizeof(f->name), "%s", name);
	fuzz_place(f->path, sizeof(f->path), s->dir, name);
	f->config = n_data == 0;
	if (f->config) {
		memcpy(f->old_bytes, text, n);
		f->old_size = n;
	} else {
		f->old_bytes[0] = (uint8_t)n;
		f->old_bytes[1] = (uint8_t)(n >> 8);
		memcpy(f->old_bytes + 8, text, n);
		for (size_t i = 0; i < n_data; i++)
			f->old_bytes[8 + n + i] = (uint8_t)(0x11 + 0x35 * i % 0x67);
		f->old_size = 8 + n + n_data;
	}
	MUST(f->old_size < MAX_FILE);
	fuzz_write(f->path, f->old_bytes, f->old_size);
}

static bool countdown(void *ctx)
{
	unsigned *left = ctx;

	return *left && --*left == 0;
}

/* Stops conversions later and later until one leaves its journal, keeps that, and lets it finish. */
static void record(struct set *s)
{
	unsigned left;
	struct gptq_hooks hooks = {.ctx = &left, .cancelled = countdown};
	struct gptq_convert_options o = {.struct_size = sizeof(o), .to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1};
	struct gptq_error err;

	o.v1_style = GPTQ_STYLE_LANE;
	o.hooks = &hooks;
	for (unsigned n = 1; access(s->journal_path, F_OK) != 0; n++) {
		left = n;
		MUST(gptq_convert_in_place(s->path, &o, NULL, &err) == GPTQ_E_CANCELLED);
	}
	s->journal_size = load(s->journal_path, s->journal, sizeof(s->journal));
	left = 0;
	MUST(gptq_convert_in_place(s->path, &o, NULL, &err) == GPTQ_OK);
	for (size_t i = 0; i < s->n; i++)
		s->files[i].new_size = load(s->files[i].path, s->files[i].new_bytes, MAX_FILE);
}

static void make_sets(void)
{
	if (sets[0].n)
		return;
	for (unsigned lone = 0; lone < 2; lone++) {
		struct set *s = &sets[lone];

		fuzz_place(s->dir, sizeof(s->dir), fuzz_folder(), lone ? "lone" : "model");
		fuzz_place(s->path, sizeof(s->path), s->dir, lone ? "m-1.safetensors" : "");
		fuzz_place(s->journal_path, sizeof(s->journal_path), s->dir,
			   lone ? ".m-1.safetensors" GQ_JOURNAL_NAME : GQ_JOURNAL_NAME);
		MUST(mkdir(s->dir, 0700) == 0);
		add(s, "m-1.safetensors", HEADER_A, 208); /* two layers of one shape: spans of one record */
		if (!lone) {
			add(s, "m-2.safetensors", HEADER_B, 52);
			add(s, "config.json", "{\"quantization_config\": {" CONFIG "}", 0);
		}
		add(s, "quantize_config.json", "{" CONFIG, 0);
		record(s);
	}
}

/* ------------------------------------------------------------------------------------------------ what is laid out */

static void lay_out(struct set *s, unsigned state, unsigned mask, size_t at, uint8_t what)
{
	for (size_t i = 0; i < s->n; i++) {
		struct file *f = &s->files[i];
		bool all_new = state == 1 || (state == 2 && !f->config) || (state == 3 && f->config && (mask >> i & 1));

		f->begin_size = all_new ? f->new_size : f->old_size;
		memcpy(f->begin, all_new ? f->new_bytes : f->old_bytes, f->begin_size);
		for (size_t k = 0; k < f->begin_size && state == 3 && !f->config; k++)
			if (mask >> k % 8 & 1)
				f->begin[k] = f->new_bytes[k];
		if (i == 0)
			f->begin[at % f->begin_size] ^= what;
		store(f->path, f->begin, f->begin_size);
	}
}

static size_t make_journal(const struct set *s, unsigned kind, struct fuzz_input *in, uint8_t *out)
{
	size_t n = s->journal_size;

	if ((kind >> 2 & 3) == 0)
		return journal_edit(s->journal, n, in, !(kind & 0x40), out);
	if ((kind >> 2 & 3) == 3) {
		const uint8_t *bytes = fuzz_bytes(in, JOURNAL_ROOM, &n);

		if (n)
			memcpy(out, bytes, n);
		return n;
	}
	memcpy(out, s->journal, n);
	journal_splice(out, n, in);
	if ((kind >> 2 & 3) == 1)
		journal_mend(out, n);
	return n;
}

/* ------------------------------------------------------------------------------------------------ what came of it */

static void look(struct set *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->files[i].now_size = load(s->files[i].path, s->files[i].now, MAX_FILE);
}

static void check_untouched(struct set *s, const uint8_t *journal, size_t size)
{
	look(s);
	for (size_t i = 0; i < s->n; i++) {
		struct file *f = &s->files[i];

		MUST(f->now_size == f->begin_size && memcmp(f->now, f->begin, f->now_size) == 0);
	}
	MUST(fuzz_file_is(s->journal_path, journal, size));
	MUST(fuzz_entries_of(s->dir) == s->n + 1);
}

static struct file *find(struct set *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->files[i].name, name) == 0)
			return &s->files[i];
	return NULL;
}

/* Each span holds what the journal says, and what lies outside all of them is as it was. */
static void check_done(struct set *s, const uint8_t *journal, size_t size, bool undo)
{
	struct file *numbered[64] = {NULL};
	bool touched[MAX_FILES][MAX_FILE] = {{false}};
	struct raw_record r;
	size_t n = 0;

	look(s);
	for (size_t at = 8; raw_record_next(journal, size, &at, &r);) {
		uint64_t kind = gq_load_le(r.fixed, 4), span = gq_load_le(r.fixed + (undo ? 32 : 40), 8),
			 spans = kind == GQ_RECORD_ZEROS ? gq_load_le(r.fixed + 80, 8) : 1;
		struct file *f = NULL;
		uint32_t crc = 0;

		if (kind == GQ_RECORD_FILE && n < 64)
			numbered[n++] = find(s, r.name);
		if (kind != GQ_RECORD_ZEROS && kind != GQ_RECORD_HEADER && kind != GQ_RECORD_CONFIG)
			continue;
		MUST(kind == GQ_RECORD_CONFIG || gq_load_le(r.fixed + 16, 4) < n);
		f = kind == GQ_RECORD_CONFIG ? find(s, r.name) : numbered[gq_load_le(r.fixed + 16, 4)];
		MUST(f && f->config == (kind == GQ_RECORD_CONFIG));
		MUST(kind != GQ_RECORD_CONFIG || f->now_size == (size_t)span);
		MUST(spans && span % spans == 0);
		span /= spans;
		for (size_t i = 0; i < spans; i++) {
			uint64_t begin = kind == GQ_RECORD_ZEROS ? gq_load_le(r.payload + 8 * i, 8)
								 : gq_load_le(r.fixed + 24, 8);

			begin = kind == GQ_RECORD_CONFIG ? 0 : begin;
			MUST(begin <= f->now_size && span <= f->now_size - begin);
			crc = (uint32_t)crc32_z(crc, f->now + begin, (size_t)span);
			memset(touched[f - s->files] + begin, true, (size_t)span);
		}
		MUST(crc == gq_load_le(r.fixed + (undo ? 48 : 52), 4));
	}
	for (size_t i = 0; i < s->n; i++) {
		struct file *f = &s->files[i];
		bool replaced = f->config && touched[i][0];

		MUST(replaced || f->now_size == f->begin_size);
		for (size_t k = 0; k < f->now_size && !replaced; k++)
			MUST(touched[i][k] || f->now[k] == f->begin[k]);
	}
	MUST(fuzz_entries_of(s->dir) == s->n);
}

static void check_state(struct set *s, bool undo)
{
	for (size_t i = 0; i < s->n; i++) {
		struct file *f = &s->files[i];
		size_t want = undo ? f->old_size : f->new_size;

		MUST(f->now_size == want && memcmp(f->now, undo ? f->old_bytes : f->new_bytes, want) == 0);
	}
}

/* stop: at which call of the hook; 0: never. */
static enum gptq_status go(const struct set *s, bool undo, bool dry, unsigned stop)
{
	struct gptq_hooks hooks = {.ctx = &stop, .cancelled = countdown};
	struct gptq_convert_options o = {.struct_size = sizeof(o), .dry_run = dry, .hooks = &hooks};
	struct gptq_error err;
	enum gptq_status status = undo ? gptq_convert_rollback(s->path, &hooks, NULL, &err)
				       : gptq_convert_in_place(s->path, &o, NULL, &err);

	if (status == GPTQ_OK)
		return status;
	MUST(err.status == status && err.message[0]);
	MUST(status == GPTQ_E_FORMAT || status == GPTQ_E_IO || status == GPTQ_E_LIMIT || status == GPTQ_E_NOTFOUND ||
	     status == GPTQ_E_UNSUPPORTED || status == GPTQ_E_ARG || status == GPTQ_E_CANCELLED);
	/* half done is only what was stopped */
	MUST(status == GPTQ_E_CANCELLED || !strstr(err.message, "half done"));
	return status;
}

static void run(struct set *s, const uint8_t *journal, size_t size, bool undo, unsigned stop, bool real)
{
	enum gptq_status status;

	fuzz_write(s->journal_path, journal, size);
	status = go(s, false, true, 0);
	MUST(!real || status == GPTQ_OK);
	if (status != GPTQ_OK) {
		MUST(go(s, undo, false, 0) == status && go(s, !undo, false, 0) == status);
		check_untouched(s, journal, size);
		return;
	}
	/* stopped anywhere, either way is open */
	if (stop && go(s, !undo, false, stop) == GPTQ_E_CANCELLED)
		MUST(fuzz_file_is(s->journal_path, journal, size));
	else if (stop)
		fuzz_write(s->journal_path, journal, size);
	for (unsigned i = 0; i < 3; i++) {
		MUST(go(s, undo, false, 0) == GPTQ_OK);
		check_done(s, journal, size, undo);
		if (real)
			check_state(s, undo);
		undo = !undo;
		fuzz_write(s->journal_path, journal, size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	unsigned kind = fuzz_u8(&in), mask = fuzz_u8(&in), stop = fuzz_u8(&in);
	size_t at = fuzz_u16(&in), n;
	uint8_t what = fuzz_u8(&in), *journal = malloc(JOURNAL_ROOM);
	struct set *s;
	bool real;

	MUST(journal);
	make_sets();
	s = &sets[kind >> 1 & 1];
	real = what == 0 && in.size == 0 && (kind >> 2 & 3) != 3;
	lay_out(s, kind >> 4 & 3, mask, at, what);
	n = make_journal(s, kind, &in, journal);
	run(s, journal, n, kind & 1, stop, real);
	fuzz_remove(s->journal_path);
	free(journal);
	return 0;
}
