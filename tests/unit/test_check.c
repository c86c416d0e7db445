/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The look at what was written, before OUT appears: what is damaged between writing and checking is found, wherever it
 * is, and told of in the same words by any number of threads.
 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/checked.h"
#include "base/mem.h"
#include "ops/convert_internal.h"

#define N_SHARDS 4
#define IN_SHARD 3

/* In one file, between small layers, one whose zero points are larger than any buffer, and one whose only row is. */
static const struct shape {
	unsigned bits, groups, columns;
} shapes[N_SHARDS][IN_SHARD] = {{{4, 3, 40}, {4, 1, 64}, {2, 2, 96}},
				{{4, 3, 40}, {8, 9, 32768}, {8, 1, 270000}},
				{{8, 1, 32}, {2, 5, 64}, {4, 2, 2000}},
				{{4, 1, 8}, {4, 1, 8}, {4, 1, 8}}};

static struct place {
	size_t qzeros, row_bytes; /* where they begin in the file */
} places[N_SHARDS][IN_SHARD];

/* The name sorts layers otherwise than files and offsets do. */
static void layer_name(char dst[32], unsigned shard, unsigned i)
{
	snprintf(dst, 32, "m.%c.%u", (char)('z' - i), (N_SHARDS - shard) * 7 % N_SHARDS);
}

static void add_tensor(struct gq_buf *header, size_t *at, const char *layer, const char *what, const char *dtype,
		       size_t rows, size_t columns, size_t size)
{
	char shape[64];

	snprintf(shape, sizeof(shape), columns ? "%zu,%zu" : "%zu", rows, columns);
	gq_buf_printf(header, "%s\"%s.%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
		      *at ? "," : "{", layer, what, dtype, shape, *at, *at + size);
	*at += size;
}

/* A group is a word of codes. */
static void make_shard(unsigned shard, const char *metadata)
{
	struct gq_buf header = {0};
	size_t at = 0, begin[IN_SHARD];
	unsigned char *all;
	char path[64];

	for (unsigned i = 0; i < IN_SHARD; i++) {
		const struct shape *s = &shapes[shard][i];
		size_t k = (size_t)s->groups * (32 / s->bits), n = s->columns, words = n * s->bits / 32;
		char name[32];

		layer_name(name, shard, i);
		add_tensor(&header, &at, name, "qweight", "I32", s->groups, n, 4 * s->groups * n);
		begin[i] = at;
		add_tensor(&header, &at, name, "qzeros", "I32", s->groups, words, 4 * s->groups * words);
		add_tensor(&header, &at, name, "scales", "F16", s->groups, n, 2 * s->groups * n);
		add_tensor(&header, &at, name, "g_idx", "I32", k, 0, 4 * k);
		places[shard][i].row_bytes = 4 * words;
	}
	gq_buf_printf(&header, "%s}", metadata);
	while (header.size % 8)
		gq_buf_printf(&header, " ");
	ck_assert(!header.failed);
	all = calloc(8 + header.size + at, 1);
	ck_assert_ptr_nonnull(all);
	gq_store_le(all, header.size, 8);
	memcpy(all + 8, header.data, header.size);
	for (unsigned i = 0; i < IN_SHARD; i++) {
		places[shard][i].qzeros = 8 + header.size + begin[i];
		for (size_t b = 0; b < shapes[shard][i].groups * places[shard][i].row_bytes; b++)
			all[places[shard][i].qzeros + b] = (unsigned char)(b * 37 % 101 & 0x66);
	}
	snprintf(path, sizeof(path), "M/model-%u.safetensors", shard);
	write_bytes(path, all, 8 + header.size + at);
	free(all);
	gq_buf_free(&header);
}

static void make_model(const char *metadata)
{
	ck_assert_int_eq(mkdir("M", 0777), 0);
	for (unsigned s = 0; s < N_SHARDS; s++)
		make_shard(s, metadata);
	write_text("M/quantize_config.json", "{\"bits\": 4, \"group_size\": 8, \"quant_method\": \"gptq\"}\n");
}

static uint64_t n_zeros(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < N_SHARDS * IN_SHARD; i++)
		n += (uint64_t)shapes[i / IN_SHARD][i % IN_SHARD].groups * shapes[i / IN_SHARD][i % IN_SHARD].columns;
	return n;
}

typedef void (*damage_fn)(const char *out, unsigned shard, unsigned layer);

struct outcome {
	enum gptq_status status;
	struct gptq_error err;
	uint64_t n_zeros;
};

/* A conversion up to its check, with what is done to it before: up to two places. */
static struct outcome check_after(unsigned jobs, damage_fn damage, const unsigned (*where)[2], size_t n)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o),
					 .to = GPTQ_ZEROS_V2,
					 .from = GPTQ_ZEROS_V1,
					 .v1_style = GPTQ_STYLE_LANE,
					 .jobs = jobs};
	struct gq_conversion cv = {.options = &o, .in = "M", .out = "O"};
	struct outcome r = {0};

	ck_assert_int_eq(gq_convert_start(&cv, &r.err), GPTQ_OK);
	ck_assert_msg(gq_convert_decide(&cv, &r.err) == GPTQ_OK, "%s", r.err.message);
	ck_assert_int_eq(gq_output_begin("O", true, false, &cv.output, &r.err), GPTQ_OK);
	ck_assert_int_eq(gq_convert_write(&cv, &r.err), GPTQ_OK);
	for (size_t i = 0; i < n; i++)
		damage(cv.output.temp_path, where[i][0], where[i][1]);
	r.status = gq_convert_check(&cv, &r.err);
	r.n_zeros = cv.report->n_zeros_verified;
	gq_output_drop(&cv.output);
	gq_convert_free(&cv);
	gptq_convert_report_free(cv.report);
	return r;
}

/* The same with any number of threads. */
static struct outcome check_by_all(damage_fn damage, const unsigned (*where)[2], size_t n)
{
	struct outcome first = check_after(1, damage, where, n);

	for (unsigned jobs = 2; jobs <= 4; jobs *= 2) {
		struct outcome other = check_after(jobs, damage, where, n);

		ck_assert_int_eq(other.status, first.status);
		ck_assert_str_eq(other.err.message, first.err.message);
		ck_assert_str_eq(other.err.tensor, first.err.tensor);
		ck_assert_str_eq(other.err.found, first.err.found);
		if (first.status == GPTQ_OK)
			ck_assert_uint_eq(other.n_zeros, first.n_zeros);
	}
	return first;
}

static int open_out(const char *out, unsigned shard)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/model-%u.safetensors", out, shard);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* A bit of the byte that stands at `at` in the source: a header that grew moves all that follows. */
static void flip(const char *out, unsigned shard, size_t at)
{
	struct stat in_st, out_st;
	unsigned char byte;
	char path[64];
	int fd = open_out(out, shard);

	snprintf(path, sizeof(path), "M/model-%u.safetensors", shard);
	ck_assert_int_eq(stat(path, &in_st), 0);
	ck_assert_int_eq(fstat(fd, &out_st), 0);
	at += (size_t)(out_st.st_size - in_st.st_size);
	ck_assert_int_eq(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= 0x10;
	ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static void damage_first(const char *out, unsigned shard, unsigned i)
{
	flip(out, shard, places[shard][i].qzeros);
}

static void damage_last(const char *out, unsigned shard, unsigned i)
{
	flip(out, shard, places[shard][i].qzeros + shapes[shard][i].groups * places[shard][i].row_bytes - 1);
}

static void check_told(const struct outcome *r, unsigned shard, unsigned i, size_t group, size_t column)
{
	char name[32], want[160];

	layer_name(name, shard, i);
	snprintf(want, sizeof(want), "what was written does not hold the same zero points: group %zu, column %zu",
		 group, column);
	ck_assert_int_eq(r->status, GPTQ_E_MISMATCH);
	ck_assert_str_eq(r->err.message, want);
	ck_assert_str_eq(r->err.tensor, name);
}

START_TEST(sound)
{
	struct outcome r;

	make_model("");
	r = check_by_all(NULL, NULL, 0);
	ck_assert_msg(r.status == GPTQ_OK, "%s", r.err.message);
	ck_assert_uint_eq(r.n_zeros, n_zeros());
}
END_TEST

/* One bit of the first and of the last byte of each layer. */
START_TEST(every_layer)
{
	make_model(_i ? ",\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq\"}" : "");
	for (unsigned s = 0; s < N_SHARDS; s++) {
		for (unsigned i = 0; i < IN_SHARD; i++) {
			const unsigned where[1][2] = {{s, i}};
			const struct shape *shape = &shapes[s][i];
			unsigned lanes = 8 / shape->bits, bit = 4 / shape->bits;
			struct outcome r = check_after(1 + s % 3, damage_first, where, 1);

			check_told(&r, s, i, 0, bit);
			r = check_after(1 + s % 3, damage_last, where, 1);
			check_told(&r, s, i, shape->groups - 1, shape->columns - lanes + bit);
		}
	}
}
END_TEST

/* Of several, the first in the order of files and offsets. */
START_TEST(first_of_two)
{
	static const unsigned files[2][2] = {{3, 0}, {1, 1}}, layers[2][2] = {{2, 2}, {2, 0}};
	struct outcome r;

	make_model("");
	r = check_by_all(damage_first, files, 2);
	check_told(&r, 1, 1, 0, 0);
	r = check_by_all(damage_first, layers, 2);
	check_told(&r, 2, 0, 0, 0);
}
END_TEST

/* Another name of the same length for the qzeros of the layer. */
static void rename_tensor(const char *out, unsigned shard, unsigned i)
{
	char text[4096], name[48], *at;
	int fd = open_out(out, shard);
	ssize_t n = pread(fd, text, sizeof(text), 0);

	layer_name(name, shard, i);
	snprintf(name + strlen(name), sizeof(name) - strlen(name), ".qzeros");
	at = memmem(text, (size_t)n, name, strlen(name));
	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(pwrite(fd, "M", 1, at - text), 1);
	close(fd);
}

static void break_header(const char *out, unsigned shard, unsigned i)
{
	int fd = open_out(out, shard);

	ck_assert_int_eq(pwrite(fd, "x", 1, 8 + i), 1);
	close(fd);
}

static void cut_short(const char *out, unsigned shard, unsigned i)
{
	int fd = open_out(out, shard);
	struct stat st;

	(void)i;
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(ftruncate(fd, st.st_size - 1), 0);
	close(fd);
}

/* A longer header, with all data behind it: nothing that a reader would see. */
static void make_room(const char *out, unsigned shard, unsigned i)
{
	int fd = open_out(out, shard);
	unsigned char *all, length[8];
	struct stat st;
	size_t size, header;

	(void)i;
	ck_assert_int_eq(fstat(fd, &st), 0);
	size = (size_t)st.st_size;
	all = malloc(size);
	ck_assert_ptr_nonnull(all);
	ck_assert_int_eq(pread(fd, all, size, 0), (ssize_t)size);
	header = (size_t)gq_load_le(all, 8);
	gq_store_le(length, header + 16, 8);
	ck_assert_int_eq(pwrite(fd, length, 8, 0), 8);
	ck_assert_int_eq(pwrite(fd, "                ", 16, (off_t)(8 + header)), 16);
	ck_assert_int_eq(pwrite(fd, all + 8 + header, size - 8 - header, (off_t)(24 + header)),
			 (ssize_t)(size - 8 - header));
	close(fd);
	free(all);
}

START_TEST(headers)
{
	static const unsigned where[1][2] = {{2, 1}};
	struct outcome r;

	make_model("");
	r = check_by_all(rename_tensor, where, 1);
	ck_assert_int_eq(r.status, GPTQ_E_MISMATCH);
	ck_assert_str_eq(r.err.message, "the tensor is not in what was written");
	r = check_by_all(break_header, where, 1);
	ck_assert_int_eq(r.status, GPTQ_E_FORMAT);
	r = check_by_all(cut_short, where, 1);
	ck_assert_int_ne(r.status, GPTQ_OK);
	r = check_by_all(make_room, where, 1);
	ck_assert_msg(r.status == GPTQ_OK, "%s", r.err.message);
	ck_assert_uint_eq(r.n_zeros, n_zeros());
}
END_TEST

/* With a label in the header it is another one, and must say the target. */
static void unlabel(const char *out, unsigned shard, unsigned i)
{
	char text[4096], *at;
	int fd = open_out(out, shard);
	ssize_t n = pread(fd, text, sizeof(text), 0);

	(void)i;
	at = memmem(text, (size_t)n, "gptq_v2", 7);
	ck_assert_ptr_nonnull(at);
	ck_assert_int_eq(pwrite(fd, "gptq_v1", 7, at - text), 7);
	close(fd);
}

START_TEST(label)
{
	static const unsigned where[1][2] = {{2, 0}};
	struct outcome r;

	make_model(",\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq\"}");
	r = check_by_all(NULL, NULL, 0);
	ck_assert_msg(r.status == GPTQ_OK, "%s", r.err.message);
	ck_assert_uint_eq(r.n_zeros, n_zeros());
	r = check_by_all(unlabel, where, 1);
	ck_assert_int_eq(r.status, GPTQ_E_MISMATCH);
	ck_assert_str_eq(r.err.message, "__metadata__.gptq_checkpoint_format was not written");
}
END_TEST

/* A source that is no longer what was judged is told of rather than the difference that comes of it. */
static void change_both(const char *out, unsigned shard, unsigned i)
{
	char path[64];
	int fd;

	damage_first(out, shard, i);
	snprintf(path, sizeof(path), "M/model-%u.safetensors", shard);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(futimens(fd, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}), 0);
	close(fd);
}

START_TEST(source)
{
	static const unsigned where[1][2] = {{2, 0}};
	struct outcome r;

	make_model("");
	r = check_by_all(change_both, where, 1);
	ck_assert_int_eq(r.status, GPTQ_E_IO);
	ck_assert_str_eq(r.err.message, "the file changed while it was being read");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("check");
	TCase *tc = tcase_create("check");

	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, sound);
	tcase_add_loop_test(tc, every_layer, 0, 2);
	tcase_add_test(tc, first_of_two);
	tcase_add_test(tc, headers);
	tcase_add_test(tc, label);
	tcase_add_test(tc, source);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
