/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of in-place conversions: what was not written so is refused, and then nothing is touched. */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/checked.h"
#include "base/mem.h"
#include "ops/journal.h"

#include <zlib.h>

#define HEADER                                                                                                         \
	"{\"m.qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],\"data_offsets\":[0,32]},"                                  \
	"\"m.qzeros\":{\"dtype\":\"I32\",\"shape\":[1,1],\"data_offsets\":[32,36]},"                                   \
	"\"m.scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[36,52]},"                                   \
	"\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq\"}}        "
#define CONFIG "{\"bits\": 4, \"group_size\": 8, \"quant_method\": \"gptq\", \"checkpoint_format\": \"gptq\"}\n"

static unsigned char image[1 << 16]; /* the journal as it was written */
static size_t image_size;
static char *old_file; /* the model file in its half converted state */

static size_t slurp(const char *path, void *dst, size_t room)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(dst, 1, room, f);
	fclose(f);
	return n;
}

/* A model whose conversion stops before its first config: something stands where the new text is to be written. */
static void interrupt(void)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o), .to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1};
	struct gptq_error err;
	int fd;

	scratch_enter();
	ck_assert_int_eq(mkdir("M", 0777), 0);
	write_safetensors("M/model.safetensors", HEADER, 52);
	fd = open("M/model.safetensors", O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "\x57\x74\x77\x77", 4, (off_t)(8 + strlen(HEADER) + 32)), 4);
	close(fd);
	write_text("M/quantize_config.json", CONFIG);
	ck_assert_int_eq(mkdir("M/.gptq-convert.config.new", 0777), 0);
	ck_assert_int_eq(gptq_convert_in_place("M", &o, NULL, &err), GPTQ_E_IO);
	ck_assert_ptr_nonnull(strstr(err.message, "--rollback"));
	ck_assert_int_eq(rmdir("M/.gptq-convert.config.new"), 0);
	image_size = slurp("M/" GQ_JOURNAL_NAME, image, sizeof(image));
	old_file = calloc(1, 4096);
	slurp("M/model.safetensors", old_file, 4096);
}

static void leave(void)
{
	free(old_file);
	scratch_leave();
}

/* The journal cannot be used, neither forwards nor backwards, and all is as it was. */
static void refused(enum gptq_status want, const char *message)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o)};
	char now[4096] = {0};
	struct gptq_error err;

	ck_assert_int_eq(gptq_convert_in_place("M", &o, NULL, &err), want);
	if (message)
		ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), want);
	slurp("M/model.safetensors", now, sizeof(now));
	ck_assert_mem_eq(now, old_file, sizeof(now));
	ck_assert(file_is("M/quantize_config.json", CONFIG));
}

static void put_journal(const void *data, size_t n)
{
	write_bytes("M/" GQ_JOURNAL_NAME, data, n);
}

START_TEST(every_truncation)
{
	for (size_t n = 0; n < image_size; n++) {
		put_journal(image, n);
		refused(GPTQ_E_FORMAT, "nothing was touched");
	}
}
END_TEST

START_TEST(every_flipped_byte)
{
	for (size_t i = 0; i < image_size; i++) {
		image[i] ^= 1u << (i % 8);
		put_journal(image, image_size);
		refused(GPTQ_E_FORMAT, "nothing was touched");
		image[i] ^= 1u << (i % 8);
	}
}
END_TEST

START_TEST(something_behind_the_end)
{
	image[image_size] = 0;
	put_journal(image, image_size + 1);
	refused(GPTQ_E_FORMAT, "goes on after its end");
}
END_TEST

/* Record after record: the offset of the n-th. */
static size_t record_at(unsigned n)
{
	size_t at = 8;

	while (n--)
		at += 88 + gq_load_le(image + at + 4, 4) + gq_load_le(image + at + 8, 8) + 4;
	return at;
}

/* Makes all checksums right again, as one would who writes journals to harm others. */
static void mend_checksums(void)
{
	uint32_t crc = (uint32_t)crc32(0, image, 8);

	for (size_t at = 8; at < image_size;) {
		size_t n = 88 + gq_load_le(image + at + 4, 4) + gq_load_le(image + at + 8, 8);

		crc = (uint32_t)crc32(crc, image + at, (uInt)n);
		gq_store_le(image + at + n, crc, 4);
		at += n + 4;
	}
}

/* Records: 0 plan, 1 file, 2 zero points, 3 header, 4 config, 5 end. */
START_TEST(forged)
{
	static const struct {
		unsigned record, offset, size;
		uint64_t value;
		const char *message;
	} cases[] = {
		{0, 0, 4, GQ_RECORD_FILE, "the plan"},
		{1, 24, 8, 12345, "not the file"},          /* inode */
		{1, 32, 8, 99, "not the file"},             /* size */
		{1, 40, 8, UINT64_MAX, "outside its file"}, /* header size */
		{1, 40, 8, sizeof(HEADER) + 15, "header that ends"},
		{1, 56, 8, UINT64_MAX, "outside its file"}, /* label begin */
		{1, 64, 8, UINT64_MAX, "outside its file"}, /* label size */
		{1, 48, 4, 1, "header is not the one"},
		{2, 16, 4, 7, "outside its file"}, /* file number */
		{2, 88, 8, UINT64_MAX - 2, "outside its file"},
		{2, 88, 8, 8, "inside a header"},
		{2, 88, 8, 8 + sizeof(HEADER) - 1, "something else has changed"}, /* another place in the file */
		{2, 32, 8, UINT64_MAX, "changes its size"},
		{2, 48, 4, 1, "not what its checksum says"},
		{2, 52, 4, 1, "not what its checksum says"},
		{2, 56, 8, 0, "whole number of rows"},
		{2, 56, 8, 3, "whole number of rows"},
		{2, 72, 1, 5, NULL}, /* bits */
		{2, 72, 1, 0, "no known width"},
		{2, 80, 8, 0, "not alike"}, /* spans */
		{2, 80, 8, 3, "not alike"},
		{2, 80, 8, UINT64_MAX, "not alike"},
		{2, 80, 8, 2, "whole number of rows"},
		{3, 80, 8, 1, "not alike"},
		{2, 64, 8, 9, "more columns than a row has"},
		{2, 76, 1, 99, "unknown format"},
		{3, 24, 8, 0, "outside its place"}, /* the header's span moved */
		{4, 40, 8, UINT64_MAX, "not as large as it says"},
		{4, 40, 8, (uint64_t)1 << 40, "not as large as it says"},
		{4, 20, 4, 06777, "permissions"},
		{5, 24, 8, 9, "records are missing"},
		{5, 0, 4, 77, "an unknown record"},
	};
	static unsigned char saved[sizeof(image)];
	struct gptq_convert_options o = {.struct_size = sizeof(o)};

	memcpy(saved, image, sizeof(image));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gptq_error err;
		enum gptq_status status;

		gq_store_le(image + record_at(cases[i].record) + cases[i].offset, cases[i].value, cases[i].size);
		mend_checksums();
		put_journal(image, image_size);
		status = gptq_convert_in_place("M", &o, NULL, &err);
		ck_assert_msg(status != GPTQ_OK, "case %zu", i);
		ck_assert_msg(!cases[i].message || strstr(err.message, cases[i].message), "case %zu: %s", i,
			      err.message);
		refused(status, NULL);
		memcpy(image, saved, sizeof(image));
	}
}
END_TEST

/* Zero points behind the labels: a pass over one kind of records would not come to them. */
START_TEST(out_of_order)
{
	static unsigned char saved[sizeof(image)];
	size_t zeros = record_at(2), header = record_at(3), config = record_at(4);

	memcpy(saved, image, sizeof(image));
	memcpy(image + zeros, saved + header, config - header);
	memcpy(image + zeros + (config - header), saved + zeros, header - zeros);
	mend_checksums();
	put_journal(image, image_size);
	refused(GPTQ_E_FORMAT, "not in their order");
}
END_TEST

/* Writes the journal anew, with a second record behind the n-th that says that its place stays as it was. */
static void say_twice(unsigned n)
{
	int dir = open("M", O_RDONLY), fd = open("twice", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct gq_journal_writer w;
	struct gptq_error err;
	struct gq_journal j;

	ck_assert_int_eq(gq_journal_open(dir, "M", GQ_JOURNAL_NAME, &j, &err), GPTQ_OK);
	ck_assert_int_eq(gq_journal_begin(fd, "twice", &w, &err), GPTQ_OK);
	for (unsigned i = 0; gq_journal_next(&j, &err) == GPTQ_OK && j.record.kind != GQ_RECORD_END; i++) {
		struct gq_record r = j.record;

		ck_assert_int_eq(gq_journal_add(&w, &r, r.payload, (size_t)r.payload_size, &err), GPTQ_OK);
		if (i == n) {
			size_t old = (size_t)r.old_size, places = 8 * (size_t)r.n_spans;
			unsigned char *again = calloc(2, places + old);

			memcpy(again, r.payload, places + old);
			memcpy(again + places + old, r.payload + places, old);
			r.to = r.from;
			r.new_size = r.old_size;
			r.crc_after = r.crc_before;
			ck_assert_int_eq(gq_journal_add(&w, &r, again, places + old * (places ? 1 : 2), &err), GPTQ_OK);
			free(again);
		}
	}
	ck_assert_int_eq(gq_journal_end(&w, &err), GPTQ_OK);
	gq_journal_close(&j);
	close(dir);
	close(fd);
	image_size = slurp("twice", image, sizeof(image));
}

/* Each of two records is in order, but what the first writes the second takes back. */
START_TEST(says_two_things)
{
	struct gptq_error err;

	say_twice((unsigned)_i);
	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
	memset(old_file, 0, 4096);
	slurp("M/model.safetensors", old_file, 4096);
	put_journal(image, image_size);
	refused(GPTQ_E_FORMAT, "writes over what it has written");
}
END_TEST

/* Names that lead out of the folder, or to what is no file of the kind. */
START_TEST(forged_names)
{
	static const char *const names[] = {"../x/model.safetensor", "/odel.safetensors/xx", "sub/model.safetensor",
					    "./model.safetensors", "model.safetensorz"};
	size_t at = record_at(1) + 88;

	ck_assert_mem_eq(image + at, "model.safetensors", 17);
	ck_assert_int_eq(mkdir("x", 0777), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		memcpy(image + at, names[i], 17);
		mend_checksums();
		put_journal(image, image_size);
		refused(GPTQ_E_IO, NULL);
	}
	memcpy(image + at, "model.safetensors", 17);
	memcpy(image + record_at(4) + 88, "readme.md.is.no.config", 22);
	mend_checksums();
	put_journal(image, image_size);
	refused(GPTQ_E_FORMAT, "no config");
}
END_TEST

START_TEST(is_a_link)
{
	ck_assert_int_eq(rename("M/" GQ_JOURNAL_NAME, "elsewhere"), 0);
	ck_assert_int_eq(symlink("../elsewhere", "M/" GQ_JOURNAL_NAME), 0);
	refused(GPTQ_E_IO, NULL);
}
END_TEST

START_TEST(another_version)
{
	image[7]--;
	put_journal(image, image_size);
	refused(GPTQ_E_FORMAT, "another version of gptq-convert");
}
END_TEST

START_TEST(another_lies_beside)
{
	put_journal("{\"hello\": \"world\"}\n", 19);
	refused(GPTQ_E_FORMAT, "does not begin as one");
}
END_TEST

static void put_many(unsigned shift);

/* A record that names one place twice, each time with other old bytes: one span would write over the other. */
START_TEST(place_twice_in_a_record)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o), .to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1};
	struct gptq_error err;
	unsigned char *r, *old;
	size_t each;

	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
	put_many(0);
	ck_assert_int_eq(mkdir("M/.gptq-convert.config.new", 0777), 0);
	ck_assert_int_eq(gptq_convert_in_place("M", &o, NULL, &err), GPTQ_E_IO);
	ck_assert_int_eq(rmdir("M/.gptq-convert.config.new"), 0);
	image_size = slurp("M/" GQ_JOURNAL_NAME, image, sizeof(image));
	for (unsigned way = 0; way < 2; way++) {
		uint64_t a, b;

		r = image + record_at(2);
		each = (size_t)(gq_load_le(r + 32, 8) / gq_load_le(r + 80, 8));
		old = r + 88 + 8 * gq_load_le(r + 80, 8);
		a = gq_load_le(r + 88, 8);
		b = gq_load_le(r + 96, 8);
		if (way) { /* the first two change places, which alone does no harm but is not what we write */
			gq_store_le(r + 88, b, 8);
			gq_store_le(r + 96, a, 8);
		} else {
			gq_store_le(r + 96, a, 8);
			memcpy(old + each, old, each);
			gq_store_le(r + 48, crc32(0, old, (uInt)gq_load_le(r + 32, 8)), 4);
		}
		mend_checksums();
		put_journal(image, image_size);
		o = (struct gptq_convert_options){.struct_size = sizeof(o)};
		ck_assert_int_eq(gptq_convert_in_place("M", &o, NULL, &err), GPTQ_E_FORMAT);
		ck_assert_ptr_nonnull(strstr(err.message, "not in their order"));
		ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_E_FORMAT);
	}
}
END_TEST

struct meddler {
	unsigned left;
	bool done, before_journal;
};

static bool meddle(void *ctx)
{
	struct meddler *m = ctx;

	if (m->left && --m->left == 0) {
		m->done = true;
		m->before_journal = access("M/" GQ_JOURNAL_NAME, F_OK) != 0;
		write_text("M/quantize_config.json", "{\"bits\": 4, \"mine\": 1}\n");
	}
	return false;
}

/* Somebody else writes the config: whenever that is, his text stays, and no journal is made that leads nowhere. */
START_TEST(config_changed_meanwhile)
{
	struct gptq_error err;

	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
	for (unsigned n = 1, done = 1; done; n++) {
		struct meddler m = {.left = n};
		struct gptq_hooks hooks = {.ctx = &m, .cancelled = meddle};
		struct gptq_convert_options o = {
			.struct_size = sizeof(o), .to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1, .hooks = &hooks};

		write_bytes("M/model.safetensors", old_file, 8 + strlen(HEADER) + 52);
		write_text("M/quantize_config.json", CONFIG);
		(void)gptq_convert_in_place("M", &o, NULL, &err); /* too early or too late a change is none */
		done = m.done;
		ck_assert(!done || file_is("M/quantize_config.json", "{\"bits\": 4, \"mine\": 1}\n"));
		ck_assert_msg(!m.before_journal || access("M/" GQ_JOURNAL_NAME, F_OK) != 0, "call %u", n);
		unlink("M/" GQ_JOURNAL_NAME);
	}
}
END_TEST

#define MANY 30
#define MANY_HEADER 16384

/* Columns of layer i: two shapes, one after the other. */
static unsigned columns(unsigned i)
{
	return i % 3 ? 8 : 16;
}

/* A file of MANY layers, with room for the longer label; `shift` is added to each zero point of 4 bits. */
static size_t many_layers(char *header, unsigned char *data, unsigned shift)
{
	size_t at = 0, n = (size_t)sprintf(header, "{\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq%s\"}",
					   shift ? "_v2" : "");

	for (unsigned i = 0; i < MANY; i++) {
		unsigned w = columns(i);

		n += (size_t)sprintf(header + n,
				     ",\"l%u.qweight\":{\"dtype\":\"I32\",\"shape\":[1,%u],\"data_offsets\":[%zu,%zu]},"
				     "\"l%u.qzeros\":{\"dtype\":\"I32\",\"shape\":[1,%u],\"data_offsets\":[%zu,%zu]},"
				     "\"l%u.scales\":{\"dtype\":\"F16\",\"shape\":[1,%u],\"data_offsets\":[%zu,%zu]}",
				     i, w, at, at + 4 * w, i, w / 8, at + 4 * w, at + 4 * w + w / 2, i, w,
				     at + 4 * w + w / 2, at + 6 * w + w / 2);
		memset(data + at, 0x77, 4 * w);
		for (unsigned k = 0; k < w / 2; k++) {
			unsigned z = (i + k) % 14, y = (i * 7 + k) % 13;

			data[at + 4 * w + k] = (unsigned char)((z + shift) | (y + shift) << 4);
		}
		memset(data + at + 4 * w + w / 2, 0x34, 2 * w);
		at += 6 * w + w / 2;
	}
	memset(header + n, ' ', MANY_HEADER - n);
	header[n] = '}';
	header[MANY_HEADER] = '\0';
	return at;
}

static void put_many(unsigned shift)
{
	static char header[MANY_HEADER + 1];
	static unsigned char data[MANY * 128], all[8 + MANY_HEADER + sizeof(data)];
	size_t n = many_layers(header, data, shift);

	gq_store_le(all, MANY_HEADER, 8);
	memcpy(all + 8, header, MANY_HEADER);
	memcpy(all + 8 + MANY_HEADER, data, n);
	write_bytes(shift ? "new" : "old", all, 8 + MANY_HEADER + n);
	if (!shift)
		write_bytes("M/model.safetensors", all, 8 + MANY_HEADER + n);
}

static bool same_files(const char *a, const char *b)
{
	static unsigned char x[1 << 16], y[1 << 16];
	size_t n = slurp(a, x, sizeof(x));

	return slurp(b, y, sizeof(y)) == n && memcmp(x, y, n) == 0;
}

/* Small layers share records, one for each shape; the journal takes both ways, from any of its states. */
START_TEST(many_small_layers)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o), .to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1};
	struct gptq_error err;
	uint64_t spans = 0;
	unsigned zeros = 0;

	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
	put_many(0);
	put_many(1);
	ck_assert_int_eq(mkdir("M/.gptq-convert.config.new", 0777), 0);
	ck_assert_int_eq(gptq_convert_in_place("M", &o, NULL, &err), GPTQ_E_IO);
	ck_assert_int_eq(rmdir("M/.gptq-convert.config.new"), 0);
	ck_assert(same_files("M/model.safetensors", "new"));
	image_size = slurp("M/" GQ_JOURNAL_NAME, image, sizeof(image));
	for (size_t at = 8; at < image_size; at += 92 + gq_load_le(image + at + 4, 4) + gq_load_le(image + at + 8, 8)) {
		zeros += gq_load_le(image + at, 4) == GQ_RECORD_ZEROS;
		spans += gq_load_le(image + at + 80, 8);
	}
	ck_assert_uint_eq(zeros, 2);
	ck_assert_uint_eq(spans, MANY);
	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
	ck_assert(same_files("M/model.safetensors", "old"));
	put_journal(image, image_size);
	o = (struct gptq_convert_options){.struct_size = sizeof(o)};
	ck_assert_int_eq(gptq_convert_in_place("M", &o, NULL, &err), GPTQ_OK);
	ck_assert(same_files("M/model.safetensors", "new"));
	ck_assert(!file_is("M/quantize_config.json", CONFIG));
}
END_TEST

/* Undamaged it serves, and memory that runs out at any allocation leaves it usable. */
START_TEST(both_ways_without_memory)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o)};
	struct gptq_convert_report *r = NULL;
	enum gptq_status status = GPTQ_E_NOMEM;
	struct gptq_error err;

	for (long n = 0; status == GPTQ_E_NOMEM; n++) {
		gq_mem_fail_after(n);
		status = _i ? gptq_convert_in_place("M", &o, &r, &err) : gptq_convert_rollback("M", NULL, &r, &err);
		gq_mem_fail_after(-1);
		ck_assert_int_lt(n, 1000);
	}
	ck_assert_msg(status == GPTQ_OK, "%s: %s", gptq_status_name(status), err.message);
	ck_assert_int_eq(r->recovery, _i ? GPTQ_RECOVERY_FINISHED : GPTQ_RECOVERY_UNDONE);
	gptq_convert_report_free(r);
	ck_assert_uint_eq(count_entries("M"), 2);
	slurp("M/model.safetensors", old_file, 4096);
	ck_assert_mem_eq(old_file + 8 + strlen(HEADER) + 32, _i ? "\x68\x85\x88\x88" : "\x57\x74\x77\x77", 4);
	ck_assert_int_eq(strstr(old_file + 8, "\"gptq_v2\"") != NULL, _i);
	ck_assert_int_eq(file_is("M/quantize_config.json", CONFIG), !_i);
}
END_TEST

/* A whole run, when memory runs out at any allocation: the old state, the new one, or a journal that leads to both. */
START_TEST(fresh_run_without_memory)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o), .to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1};
	enum gptq_status status = GPTQ_E_NOMEM;
	struct gptq_error err;
	char now[4096];

	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
	memset(old_file, 0, 4096);
	slurp("M/model.safetensors", old_file, 4096);
	for (long n = 0; status == GPTQ_E_NOMEM; n++) {
		gq_mem_fail_after(n);
		status = gptq_convert_in_place("M", &o, NULL, &err);
		gq_mem_fail_after(-1);
		ck_assert_int_lt(n, 10000);
		if (status == GPTQ_OK)
			break;
		if (access("M/" GQ_JOURNAL_NAME, F_OK) == 0)
			ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
		memset(now, 0, sizeof(now));
		slurp("M/model.safetensors", now, sizeof(now));
		ck_assert_mem_eq(now, old_file, sizeof(now));
		ck_assert(file_is("M/quantize_config.json", CONFIG));
		ck_assert_uint_eq(count_entries("M"), 2);
	}
	ck_assert_msg(status == GPTQ_OK, "%s: %s", gptq_status_name(status), err.message);
	ck_assert_uint_eq(count_entries("M"), 2);
}
END_TEST

/* The same for a stream: what comes out is whole or cut off. */
START_TEST(stream_without_memory)
{
	struct gptq_convert_options o = {
		.struct_size = sizeof(o), .to = GPTQ_ZEROS_V2, .from = GPTQ_ZEROS_V1, .bits = 4};
	enum gptq_status status = GPTQ_E_NOMEM;
	struct gptq_error err;
	struct stat st;

	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
	for (long n = 0; status == GPTQ_E_NOMEM; n++) {
		int in = open("M/model.safetensors", O_RDONLY), out = open("out", O_RDWR | O_CREAT | O_TRUNC, 0666);

		gq_mem_fail_after(n);
		status = gptq_convert_stream(NULL, in, NULL, out, &o, NULL, &err);
		gq_mem_fail_after(-1);
		ck_assert_int_lt(n, 10000);
		ck_assert_int_eq(fstat(out, &st), 0);
		if (status == GPTQ_OK)
			ck_assert_int_eq(st.st_size, (off_t)(8 + strlen(HEADER) + 52));
		close(in);
		close(out);
	}
	ck_assert_msg(status == GPTQ_OK, "%s: %s", gptq_status_name(status), err.message);
}
END_TEST

/* A write that was cut off anywhere inside a span. */
START_TEST(half_written)
{
	struct gptq_error err;
	int fd = open("M/model.safetensors", O_WRONLY);

	ck_assert_int_eq(pwrite(fd, "\x57\x85\x77\x88", 4, (off_t)(8 + strlen(HEADER) + 32)), 4);
	ck_assert_int_eq(gptq_convert_rollback("M", NULL, NULL, &err), GPTQ_OK);
	slurp("M/model.safetensors", old_file, 4096);
	ck_assert_mem_eq(old_file + 8 + strlen(HEADER) + 32, "\x57\x74\x77\x77", 4);
	close(fd);
}
END_TEST

START_TEST(changed_by_others)
{
	int fd = open("M/model.safetensors", O_WRONLY);

	ck_assert_int_eq(pwrite(fd, "\x11", 1, (off_t)(8 + strlen(HEADER) + 33)), 1);
	close(fd);
	slurp("M/model.safetensors", old_file, 4096);
	refused(GPTQ_E_IO, "something else has changed");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal");
	TCase *tc = tcase_create("journal");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, interrupt, leave);
	tcase_add_test(tc, every_truncation);
	tcase_add_test(tc, every_flipped_byte);
	tcase_add_test(tc, something_behind_the_end);
	tcase_add_test(tc, forged);
	tcase_add_test(tc, out_of_order);
	tcase_add_loop_test(tc, says_two_things, 2, 5);
	tcase_add_test(tc, forged_names);
	tcase_add_test(tc, is_a_link);
	tcase_add_test(tc, another_version);
	tcase_add_test(tc, another_lies_beside);
	tcase_add_test(tc, many_small_layers);
	tcase_add_test(tc, place_twice_in_a_record);
	tcase_add_test(tc, config_changed_meanwhile);
	tcase_add_loop_test(tc, both_ways_without_memory, 0, 2);
	tcase_add_test(tc, fresh_run_without_memory);
	tcase_add_test(tc, stream_without_memory);
	tcase_add_test(tc, half_written);
	tcase_add_test(tc, changed_by_others);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
