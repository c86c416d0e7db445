/* SPDX-License-Identifier: Apache-2.0 */
/* The public call: its arguments, its hooks, and memory that runs out at every single allocation. */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/mem.h"
#include "gptq/gptq.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#define HEADER                                                                                                         \
	"{\"m.qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],\"data_offsets\":[0,32]},"                                  \
	"\"m.qzeros\":{\"dtype\":\"I32\",\"shape\":[1,1],\"data_offsets\":[32,36]},"                                   \
	"\"m.scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[36,52]},"                                   \
	"\"m.g_idx\":{\"dtype\":\"I32\",\"shape\":[8],\"data_offsets\":[52,84]},"                                      \
	"\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq\"}}        "

static void make_model(void)
{
	int fd;

	ck_assert_int_eq(mkdir("M", 0777), 0);
	ck_assert_int_eq(mkdir("M/sub", 0777), 0);
	write_safetensors("M/model.safetensors", HEADER, 84);
	fd = open("M/model.safetensors", O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "\x77\x77\x77\x77", 4, (off_t)(8 + strlen(HEADER) + 32)), 4);
	close(fd);
	write_text("M/quantize_config.json", "{\"bits\": 4, \"group_size\": 8, \"quant_method\": \"gptq\"}\n");
	write_text("M/sub/SHA256SUMS", "00  model.safetensors\n");
	write_text("M/readme.txt", "hello\n");
}

static struct gptq_convert_options to_v2(void)
{
	return (struct gptq_convert_options){.struct_size = sizeof(struct gptq_convert_options), .to = GPTQ_ZEROS_V2};
}

START_TEST(done)
{
	struct gptq_convert_options o = to_v2();
	struct gptq_convert_report *r;
	struct gptq_error err;
	char *out;

	make_model();
	ck_assert_int_eq(gptq_convert("M", "O", &o, &r, &err), GPTQ_OK);
	ck_assert_int_eq(r->from, GPTQ_ZEROS_V1);
	ck_assert_int_eq(r->to, GPTQ_ZEROS_V2);
	ck_assert_uint_eq(r->n_layers, 1);
	ck_assert_uint_eq(r->n_layers_changed, 1);
	ck_assert_uint_eq(r->n_zeros_verified, 8);
	ck_assert_uint_eq(r->first_word_before, 0x77777777);
	ck_assert_uint_eq(r->first_word_after, 0x88888888);
	ck_assert_str_eq(r->first_layer, "m");
	ck_assert_uint_eq(r->n_not_copied, 1);
	ck_assert_str_eq(r->not_copied[0], "sub/SHA256SUMS");
	ck_assert_uint_eq(r->n_labels, 2);
	gptq_convert_report_free(r);
	out = read_text("O/quantize_config.json");
	ck_assert_str_eq(
		out,
		"{\"bits\": 4, \"group_size\": 8, \"quant_method\": \"gptq\", \"checkpoint_format\": \"gptq_v2\"}\n");
	free(out);
	ck_assert_uint_eq(count_entries("O"), 4);
	ck_assert_uint_eq(count_entries("."), 2);
	gptq_convert_report_free(NULL);
	/* neither a report nor an error is needed */
	ck_assert_int_eq(gptq_convert("M", "O2", &o, NULL, NULL), GPTQ_OK);
	ck_assert_int_eq(gptq_convert("M", "O2", &o, NULL, NULL), GPTQ_E_ARG);
}
END_TEST

START_TEST(bad_options)
{
	struct gptq_convert_options o = to_v2(), good = o;
	struct gptq_convert_report *r;
	struct gptq_error err;

	make_model();
#define BAD(member, value)                                                                                             \
	do {                                                                                                           \
		o = good;                                                                                              \
		o.member = value;                                                                                      \
		r = (void *)&o;                                                                                        \
		ck_assert_int_eq(gptq_convert("M", "O", &o, &r, &err), GPTQ_E_ARG);                                    \
		ck_assert_ptr_null(r);                                                                                 \
		ck_assert_int_ne(err.message[0], 0);                                                                   \
	} while (0)
	BAD(struct_size, 0);
	BAD(struct_size, sizeof(o) + 8);
	BAD(to, GPTQ_ZEROS_NONE);
	BAD(to, (enum gptq_zeros_format)7);
	BAD(relabel, true);
	BAD(v1_style, GPTQ_STYLE_SMEARED);
	BAD(v1_style, GPTQ_STYLE_CLEAN);
	BAD(from, (enum gptq_zeros_format)3);
	BAD(strays, (enum gptq_strays)3);
	BAD(bits, 5);
	BAD(bits, 4);          /* a folder */
	BAD(config, "x.json"); /* likewise */
	ck_assert_int_eq(gptq_convert(NULL, "O", &good, &r, &err), GPTQ_E_ARG);
	ck_assert_int_eq(gptq_convert("M", NULL, &good, &r, &err), GPTQ_E_ARG);
	ck_assert_int_eq(gptq_convert("M", "O", NULL, &r, &err), GPTQ_E_ARG);
	ck_assert_ptr_null(r);
	good.to = GPTQ_ZEROS_NONE;
	good.relabel = true;
	BAD(per_layer, true);
	ck_assert_uint_eq(count_entries("."), 1);
}
END_TEST

/* What a report shows of files can be printed as it is. */
START_TEST(masked_label)
{
	struct gptq_convert_options o = to_v2();
	struct gptq_convert_report *r;
	struct gptq_error err;

	make_model();
	ck_assert_int_eq(rename("M/model.safetensors", "M/m\x1b[31m\xff.safetensors"), 0);
	ck_assert_int_eq(gptq_convert("M", "O", &o, &r, &err), GPTQ_OK);
	ck_assert_uint_eq(r->n_labels, 2);
	ck_assert_str_eq(r->labels[1].file, "m\\x1b[31m\\xff.safetensors");
	gptq_convert_report_free(r);
}
END_TEST

/* Some allocations are only to save memory and may fail: the sweep ends when none has failed for a while. */
START_TEST(no_memory)
{
	struct gptq_convert_options o = to_v2();
	unsigned n_good = 0;
	long n = 0;

	make_model();
	while (n_good < 20) {
		struct gptq_convert_report *r;
		struct gptq_error err;
		enum gptq_status status;

		gq_mem_fail_after(n++);
		status = gptq_convert("M", "O", &o, &r, &err);
		gq_mem_fail_after(-1);
		if (status == GPTQ_OK) {
			n_good++;
			gptq_convert_report_free(r);
			nftw("O", scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
		} else {
			n_good = 0;
			ck_assert_msg(status == GPTQ_E_NOMEM, "%ld: %s", n, err.message);
			ck_assert_int_eq(err.status, GPTQ_E_NOMEM);
			ck_assert_ptr_null(r);
		}
		ck_assert_uint_eq(count_entries("."), 1);
	}
	ck_assert_int_gt(n, 150);
}
END_TEST

struct count {
	unsigned n, stop_at;
};

static bool stop(void *ctx)
{
	struct count *c = ctx;

	return ++c->n == c->stop_at;
}

/* Stopped at every single place where the hook is asked. */
START_TEST(cancelled)
{
	struct gptq_convert_options o = to_v2();
	struct count c = {.stop_at = 0};
	struct gptq_hooks hooks = {.ctx = &c, .cancelled = stop};
	enum gptq_status status;

	make_model();
	ck_assert_int_eq(mkdir("O", 0777), 0);
	write_text("O/old", "old");
	o.hooks = &hooks;
	o.force = true;
	do {
		struct gptq_convert_report *r;
		struct gptq_error err;

		c.n = 0;
		c.stop_at++;
		status = gptq_convert("M", "O", &o, &r, &err);
		if (status != GPTQ_OK) {
			ck_assert_int_eq(status, GPTQ_E_CANCELLED);
			ck_assert(file_is("O/old", "old"));
			ck_assert_uint_eq(count_entries("O"), 1);
		}
		ck_assert_uint_eq(count_entries("."), 2);
		gptq_convert_report_free(r);
	} while (status != GPTQ_OK);
	ck_assert_uint_gt(c.stop_at, 8);
	ck_assert_uint_eq(count_entries("O"), 4);
}
END_TEST

/* ------------------------------------------------------------------------------- IN changes while it is copied */

struct change {
	const char *file; /* relative to M; once it is seen in progress, ... */
	void (*fn)(const char *path); /* ... this is done to it */
	bool done;
};

static void make_longer(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	ck_assert_int_eq(write(fd, "x", 1), 1);
	close(fd);
}

static void make_shorter(const char *path)
{
	ck_assert_int_eq(truncate(path, 3), 0);
}

/* As many bytes as before; written within the same tick of the clock its time might be the same, so it is set. */
static void write_into(const char *path)
{
	struct timespec times[2] = {{0, UTIME_OMIT}, {1000000000, 5}};
	int fd = open(path, O_WRONLY);

	ck_assert_int_eq(pwrite(fd, "h", 1, 2), 1);
	ck_assert_int_eq(futimens(fd, times), 0);
	close(fd);
}

/* Its old time is put back: only the time of change is another. */
static void write_secretly(const char *path)
{
	struct timespec tick = {0, 20000000};
	struct stat st;
	int fd;

	ck_assert_int_eq(stat(path, &st), 0);
	nanosleep(&tick, NULL);
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "h", 1, 2), 1);
	ck_assert_int_eq(futimens(fd, (struct timespec[2]){st.st_atim, st.st_mtim}), 0);
	close(fd);
}

/* Another file under its name, the same to the byte. */
static void replace(const char *path)
{
	struct timespec tick = {0, 20000000};

	nanosleep(&tick, NULL);
	ck_assert_int_eq(system("cp -p M/model.safetensors M/copy && mv M/copy M/model.safetensors"), 0);
	(void)path;
}

static void see(void *ctx, const char *file, uint64_t so_far, uint64_t total)
{
	struct change *c = ctx;
	char path[128];

	(void)so_far;
	(void)total;
	if (c->done || strcmp(file, c->file) != 0)
		return;
	c->done = true;
	snprintf(path, sizeof(path), "M/%s", file);
	c->fn(path);
}

START_TEST(changed_meanwhile)
{
	static const struct {
		const char *file;
		void (*fn)(const char *path);
		const char *message;
	} cases[] = {
		{"model.safetensors", make_longer, "the file changed while it was being read"},
		{"model.safetensors", make_shorter, "the file changed while it was being read"},
		{"model.safetensors", write_into, "the file changed while it was being read"},
		{"model.safetensors", write_secretly, "the file changed while it was being read"},
		{"model.safetensors", replace, "the file changed while it was being read"},
		{"readme.txt", make_longer, "the file changed while it was being copied"},
		{"readme.txt", make_shorter, "the file changed while it was being copied"},
		{"readme.txt", write_into, "the file changed while it was being copied"},
		{"readme.txt", write_secretly, "the file changed while it was being copied"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct change c = {.file = cases[i].file, .fn = cases[i].fn};
		struct gptq_hooks hooks = {.ctx = &c, .progress = see};
		struct gptq_convert_options o = to_v2();
		struct gptq_error err;

		make_model();
		o.hooks = &hooks;
		o.jobs = 1;
		o.manifest = i % 2;
		ck_assert_msg(gptq_convert("M", "O", &o, NULL, &err) == GPTQ_E_IO, "case %zu", i);
		ck_assert(c.done);
		ck_assert_msg(strstr(err.message, cases[i].message), "case %zu: %s", i, err.message);
		ck_assert_ptr_nonnull(strstr(err.file, cases[i].file));
		ck_assert_uint_eq(count_entries("."), 1);
		nftw("M", scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
}
END_TEST

/* ------------------------------------------------------------------------------------------------------ threads */

static void make_shards(unsigned n)
{
	char path[64], header[sizeof(HEADER) + 64];

	ck_assert_int_eq(mkdir("M", 0777), 0);
	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "M/m%u.safetensors", i);
		snprintf(header, sizeof(header),
			 "{\"m%u.qweight\":{\"dtype\":\"I32\",\"shape\":[1,8],\"data_offsets\":[0,32]},"
			 "\"m%u.qzeros\":{\"dtype\":\"I32\",\"shape\":[1,1],\"data_offsets\":[32,36]},"
			 "\"m%u.scales\":{\"dtype\":\"F16\",\"shape\":[1,8],\"data_offsets\":[36,52]}}",
			 i, i, i);
		write_safetensors(path, header, 52);
	}
	write_text("M/quantize_config.json", "{\"bits\": 4, \"group_size\": 8, \"quant_method\": \"gptq\"}\n");
}

struct threads {
	pthread_t caller;
	unsigned n_asked, stop_at;
	bool elsewhere;
};

static bool asked(void *ctx)
{
	struct threads *t = ctx;

	t->elsewhere = t->elsewhere || !pthread_equal(pthread_self(), t->caller);
	return ++t->n_asked == t->stop_at;
}

static void told(void *ctx, const char *file, uint64_t so_far, uint64_t total)
{
	struct threads *t = ctx;

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_le(so_far, total);
	t->elsewhere = t->elsewhere || !pthread_equal(pthread_self(), t->caller);
}

/* Hooks are called from the calling thread alone; wherever one stops the work, all threads stop and nothing is left. */
START_TEST(threads)
{
	struct threads t = {.caller = pthread_self()};
	struct gptq_hooks hooks = {.ctx = &t, .cancelled = asked, .progress = told};
	struct gptq_convert_options o = to_v2();
	struct gptq_convert_report *r;
	struct gptq_error err;
	unsigned n_all;

	make_shards(12);
	o.from = GPTQ_ZEROS_V1;
	o.hooks = &hooks;
	o.jobs = 5;
	ck_assert_int_eq(gptq_convert("M", "O", &o, &r, &err), GPTQ_OK);
	ck_assert_uint_eq(r->jobs, 5);
	ck_assert_uint_eq(r->n_shards, 12);
	gptq_convert_report_free(r);
	nftw("O", scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	n_all = t.n_asked;
	for (t.stop_at = 1; t.stop_at < n_all / 2; t.stop_at++) {
		enum gptq_status status;

		t.n_asked = 0;
		status = gptq_convert("M", "O", &o, NULL, &err);
		if (status == GPTQ_OK)
			nftw("O", scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
		else
			ck_assert_int_eq(status, GPTQ_E_CANCELLED);
		ck_assert_uint_eq(count_entries("."), 1);
	}
	ck_assert(!t.elsewhere);
	o.jobs = 257;
	ck_assert_int_eq(gptq_convert("M", "O", &o, NULL, &err), GPTQ_E_ARG);
}
END_TEST

struct told {
	unsigned n;
	uint64_t done, first_total, total;
	bool back;
};

static void note(void *ctx, const char *file, uint64_t so_far, uint64_t total)
{
	struct told *t = ctx;

	(void)file;
	t->back = t->back || so_far < t->done;
	t->done = so_far;
	t->total = total;
	if (t->n++ == 0)
		t->first_total = total;
}

/* Survey, writing and proof are one count: it only grows, and what it is of is known from the beginning. */
START_TEST(one_count)
{
	struct told t = {0};
	struct gptq_hooks hooks = {.ctx = &t, .progress = note};
	struct gptq_convert_options o = to_v2();
	struct gptq_convert_report *r;
	struct gptq_error err;
	uint64_t once;

	make_shards(12);
	o.hooks = &hooks;
	o.from = GPTQ_ZEROS_V1;
	o.v1_style = GPTQ_STYLE_LANE;
	o.jobs = 1 + _i / 2;
	ck_assert_int_eq(gptq_convert("M", "O", &o, &r, &err), GPTQ_OK);
	once = r->n_bytes;
	gptq_convert_report_free(r);
	nftw("O", scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	t = (struct told){0};
	o.verify_weights = _i % 2;
	o.device = GPTQ_DEVICE_CPU;
	ck_assert_int_eq(gptq_convert("M", "O", &o, &r, &err), GPTQ_OK);
	ck_assert_uint_gt(t.n, 12);
	ck_assert(!t.back);
	ck_assert_uint_ge(t.total, once + (o.verify_weights ? 2 * 12 * 52 : 0));
	ck_assert_uint_eq(t.first_total, t.total);
	if (o.jobs == 1) /* a thread's last bytes may be told of by nobody; nor does a proof count scales */
		ck_assert_uint_gt(t.done, o.verify_weights ? t.total - 2 * 12 * 26 : t.total - 1);
	gptq_convert_report_free(r);
}
END_TEST

/* A file that cannot be copied ends the work of all; who was only told to stop is not heard. */
START_TEST(one_fails)
{
	struct gptq_convert_options o = to_v2();
	struct rlimit limit, small;
	struct gptq_error err;

	make_shards(9);
	write_text("M/notes.txt", "");
	ck_assert_int_eq(truncate("M/notes.txt", 1 << 20), 0);
	o.from = GPTQ_ZEROS_V1;
	o.jobs = 4;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 64 << 10;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (unsigned i = 0; i < 20; i++) {
		ck_assert_int_eq(gptq_convert("M", "O", &o, NULL, &err), GPTQ_E_IO);
		ck_assert_int_eq(err.sys_errno, EFBIG);
		ck_assert_str_eq(err.file, "notes.txt");
		ck_assert_uint_eq(count_entries("."), 1);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("convert");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, done);
	tcase_add_test(tc, bad_options);
	tcase_add_test(tc, masked_label);
	tcase_add_test(tc, no_memory);
	tcase_add_test(tc, cancelled);
	tcase_add_test(tc, changed_meanwhile);
	tcase_add_test(tc, threads);
	tcase_add_loop_test(tc, one_count, 0, 4);
	tcase_add_test(tc, one_fails);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
