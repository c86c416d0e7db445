/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions in place of more shards than are kept open, by more records than are in hand at once, in threads: each
 * file comes out byte for byte as expected, whole runs and interrupted ones, forwards and backwards.
 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/checked.h"
#include "base/mem.h"
#include "ops/journal.h"

#include <stdint.h>

#define CONFIG "{\"bits\": 4, \"group_size\": 8, \"quant_method\": \"gptq\", \"checkpoint_format\": \"gptq\"}\n"
#define NEW_CONFIG "{\"bits\": 4, \"group_size\": 8, \"quant_method\": \"gptq\", \"checkpoint_format\": \"gptq_v2\"}\n"

enum {
	MANY = 130,      /* shards; 128 are kept open */
	FEW = 10,        /* of these 8 are in hand at once */
	WIDTHS = 20,     /* layers of the first shard, all of other shapes: a record each */
	HEADER = 8192,   /* bytes */
	DATA = 32 * 1024 /* at most */
};

static unsigned n_shards;

/* The file of a shard, from the old state or, with 1 added to each zero point of 4 bits, the new one. Its size. */
static size_t make_shard(unsigned shard, bool is_new, unsigned char *file)
{
	char *header = (char *)file + 8;
	unsigned char *data = file + 8 + HEADER;
	size_t at = 0, n = (size_t)sprintf(header, "{\"__metadata__\":{\"gptq_checkpoint_format\":\"gptq%s\"}",
					   is_new ? "_v2" : "");

	gq_store_le(file, HEADER, 8);
	for (unsigned i = 0; i < (shard ? 1 : WIDTHS); i++) {
		unsigned w = 8 * (i + 1), zeros = w / 2;
		size_t end = at + 4 * w;

		n += (size_t)sprintf(
			header + n,
			",\"s%u.l%u.qweight\":{\"dtype\":\"I32\",\"shape\":[1,%u],\"data_offsets\":[%zu,%zu]},"
			"\"s%u.l%u.qzeros\":{\"dtype\":\"I32\",\"shape\":[1,%u],\"data_offsets\":[%zu,%zu]},"
			"\"s%u.l%u.scales\":{\"dtype\":\"F16\",\"shape\":[1,%u],\"data_offsets\":[%zu,%zu]}",
			shard, i, w, at, end, shard, i, w / 8, end, end + zeros, shard, i, w, end + zeros,
			end + zeros + 2 * w);
		memset(data + at, 0x77, 4 * w);
		for (unsigned k = 0; k < zeros; k++) {
			unsigned low = (shard + i + k) % 14, high = (shard * 7 + k) % 13;

			data[end + k] = (unsigned char)((low + is_new) | (high + is_new) << 4);
		}
		memset(data + end + zeros, 0x34, 2 * w);
		at = end + zeros + 2 * w;
	}
	header[n++] = '}';
	ck_assert_uint_le(n, HEADER);
	ck_assert_uint_le(at, DATA);
	memset(header + n, ' ', HEADER - n);
	return 8 + HEADER + at;
}

static void name_shard(char name[64], unsigned shard)
{
	snprintf(name, 64, "M/model-%05u.safetensors", shard);
}

static void put_model(void)
{
	static unsigned char file[8 + HEADER + DATA + 1];
	char name[64];

	for (unsigned i = 0; i < n_shards; i++) {
		size_t n = make_shard(i, false, file);

		name_shard(name, i);
		write_bytes(name, file, n);
	}
	write_text("M/quantize_config.json", CONFIG);
}

/* Are all shards as before, or as they are to be? */
static bool are_shards(bool is_new)
{
	static unsigned char want[8 + HEADER + DATA + 1], found[sizeof(want)];
	char name[64];

	for (unsigned i = 0; i < n_shards; i++) {
		size_t n = make_shard(i, is_new, want), m;
		FILE *f;

		name_shard(name, i);
		f = fopen(name, "rb");
		ck_assert_ptr_nonnull(f);
		m = fread(found, 1, sizeof(found), f);
		fclose(f);
		if (m != n || memcmp(want, found, n) != 0)
			return false;
	}
	return true;
}

/* And the config, and nothing else is there? */
static bool is_model(bool is_new)
{
	return are_shards(is_new) && file_is("M/quantize_config.json", is_new ? NEW_CONFIG : CONFIG) &&
	       count_entries("M") == n_shards + 1;
}

static void enter(unsigned n)
{
	n_shards = n;
	scratch_enter();
	ck_assert_int_eq(mkdir("M", 0777), 0);
	put_model();
	ck_assert(is_model(false));
}

static void enter_many(void)
{
	enter(MANY);
}

static void enter_few(void)
{
	enter(FEW);
}

static struct gptq_convert_options four_threads(const struct gptq_hooks *hooks)
{
	return (struct gptq_convert_options){.struct_size = sizeof(struct gptq_convert_options),
					     .to = GPTQ_ZEROS_V2,
					     .from = GPTQ_ZEROS_V1,
					     .jobs = 4,
					     .hooks = hooks};
}

static bool interrupted(void)
{
	return access("M/" GQ_JOURNAL_NAME, F_OK) == 0;
}

/* The journal leads back, or on. */
static void follow(bool on)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o), .jobs = 4};
	struct gptq_convert_report *r;
	enum gptq_status status;
	struct gptq_error err;

	status = on ? gptq_convert_in_place("M", &o, &r, &err) : gptq_convert_rollback("M", NULL, &r, &err);
	ck_assert_msg(status == GPTQ_OK, "%s", err.message);
	ck_assert_int_eq(r->recovery, on ? GPTQ_RECOVERY_FINISHED : GPTQ_RECOVERY_UNDONE);
	gptq_convert_report_free(r);
	ck_assert(is_model(on));
}

START_TEST(whole_run)
{
	struct gptq_convert_options o = four_threads(NULL);
	struct gptq_convert_report *r;
	struct gptq_error err;

	ck_assert_msg(gptq_convert_in_place("M", &o, &r, &err) == GPTQ_OK, "%s", err.message);
	ck_assert_uint_eq(r->n_layers_changed, MANY - 1 + WIDTHS);
	gptq_convert_report_free(r);
	ck_assert(is_model(true));
}
END_TEST

/* All shards are written, and then something stands where the config's new text is to be written. */
START_TEST(stopped_at_the_config)
{
	struct gptq_convert_options o = four_threads(NULL);
	struct gptq_error err;

	ck_assert_int_eq(mkdir("M/.gptq-convert.config.new", 0777), 0);
	ck_assert_int_eq(gptq_convert_in_place("M", &o, NULL, &err), GPTQ_E_IO);
	ck_assert_int_eq(rmdir("M/.gptq-convert.config.new"), 0);
	ck_assert(interrupted());
	ck_assert(are_shards(true));
	follow(_i);
}
END_TEST

static unsigned n_asked, stop_at;

/* How often a survey asks hangs on which thread takes what: counted is from the journal's beginning on. */
static bool stop(void *ctx)
{
	(void)ctx;
	if (access("M/" GQ_JOURNAL_NAME GQ_JOURNAL_NEW, F_OK) != 0 && access("M/" GQ_JOURNAL_NAME, F_OK) != 0)
		return false;
	return ++n_asked > stop_at;
}

/* Stopped anywhere: mostly between two batches of records. */
START_TEST(stopped_anywhere)
{
	struct gptq_hooks hooks = {.cancelled = stop};
	struct gptq_convert_options o = four_threads(&hooks);
	unsigned n_all, n_journals = 0, n_mixed = 0;
	struct gptq_error err;

	n_asked = 0;
	stop_at = UINT32_MAX;
	ck_assert_msg(gptq_convert_in_place("M", &o, NULL, &err) == GPTQ_OK, "%s", err.message);
	n_all = n_asked;
	for (unsigned k = 1; k <= 24; k++) {
		put_model();
		n_asked = 0;
		stop_at = (unsigned)((uint64_t)n_all * k / 25);
		ck_assert_int_eq(gptq_convert_in_place("M", &o, NULL, &err), GPTQ_E_CANCELLED);
		if (!interrupted()) {
			ck_assert(is_model(false));
			continue;
		}
		n_journals++;
		n_mixed += !are_shards(false) && !are_shards(true);
		follow(k & 1);
	}
	ck_assert_uint_gt(n_journals, 2);
	ck_assert_uint_gt(n_mixed, 0);
}
END_TEST

/* Memory that runs out at any allocation: the old state, the new one, or a journal that leads to either of them. */
START_TEST(without_memory)
{
	struct gptq_convert_options o = four_threads(NULL);
	long step = (long)(100 / (unit_percent() ? unit_percent() : 1));
	unsigned n_journals = 0, n_good = 0;
	struct gptq_error err;

	for (long n = 0; n_good < 8; n += step) { /* some allocations can be done without, but not so many in a row */
		enum gptq_status status;

		ck_assert_int_lt(n, 20000);
		gq_mem_fail_after(n);
		status = gptq_convert_in_place("M", &o, NULL, &err);
		gq_mem_fail_after(-1);
		n_good = status == GPTQ_OK ? n_good + 1 : 0;
		if (status == GPTQ_OK) {
			ck_assert(is_model(true));
		} else {
			ck_assert_msg(status == GPTQ_E_NOMEM, "%s: %s", gptq_status_name(status), err.message);
			if (interrupted())
				follow(n_journals++ & 1);
			else
				ck_assert(is_model(false) || is_model(true));
		}
		if (!is_model(false))
			put_model();
	}
	ck_assert(n_journals > 1 || step > 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("inplace");
	TCase *many = tcase_create("many"), *few = tcase_create("few");

	tcase_set_timeout(many, 240);
	tcase_add_checked_fixture(many, enter_many, scratch_leave);
	tcase_add_test(many, whole_run);
	tcase_add_loop_test(many, stopped_at_the_config, 0, 2);
	tcase_add_test(many, stopped_anywhere);
	suite_add_tcase(suite, many);
	tcase_set_timeout(few, 240);
	tcase_add_checked_fixture(few, enter_few, scratch_leave);
	tcase_add_test(few, without_memory);
	suite_add_tcase(suite, few);
	return unit_main(suite);
}
