/* SPDX-License-Identifier: Apache-2.0 */
/* The public call: its arguments, its hooks, and memory that runs out at every single allocation. */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/mem.h"
#include "gptq/gptq.h"

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
	BAD(bits, 5);
	BAD(bits, 4);          /* a folder */
	BAD(config, "x.json"); /* likewise */
	good.to = GPTQ_ZEROS_NONE;
	good.relabel = true;
	BAD(per_layer, true);
	ck_assert_uint_eq(count_entries("."), 1);
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

int main(void)
{
	Suite *s = suite_create("convert");
	TCase *tc = tcase_create("core");

	tcase_set_timeout(tc, 240);
	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_test(tc, done);
	tcase_add_test(tc, bad_options);
	tcase_add_test(tc, no_memory);
	tcase_add_test(tc, cancelled);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
