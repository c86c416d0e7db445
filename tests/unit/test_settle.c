/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* nftw */
#include "scratch.h"

#include "base/mem.h"
#include "ops/settle.h"

/* -------------------------------------------------------------------------------------------------- format */

#define NO GPTQ_E_REFUSED

/* One row of the table: label, verdict, --from, what comes out. V1 and V2 are 1 and 2 in all of them. */
struct row {
	enum gq_label label;
	bool consistent;
	enum gptq_verdict verdict;
	enum gptq_zeros_format from;
	bool relabel, per_layer, auto_round;
	enum gptq_status status;
	enum gptq_zeros_format want;
	const char *why; /* words in the reason, or in the refusal */
	bool warns;
};

#define L0 GQ_LABEL_ABSENT, true
#define L1 GQ_LABEL_V1, true
#define L2 GQ_LABEL_V2, true
#define LX GQ_LABEL_ABSENT, false
#define V1 GPTQ_VERDICT_V1
#define V2 GPTQ_VERDICT_V2
#define VU GPTQ_VERDICT_UNDETERMINED
#define VM GPTQ_VERDICT_MIXED
#define F0 GPTQ_ZEROS_NONE
#define F1 GPTQ_ZEROS_V1
#define F2 GPTQ_ZEROS_V2

static const struct row rows[] = {
	{L1, V1, F0, 0, 0, 0, GPTQ_OK, F1, "agree", 0},
	{L2, V2, F0, 0, 0, 0, GPTQ_OK, F2, "agree", 0},
	{L1, VU, F0, 0, 0, 0, GPTQ_OK, F1, "leave it open", 0},
	{L2, VU, F0, 0, 0, 0, GPTQ_OK, F2, "leave it open", 0},
	{L1, V2, F0, 0, 0, 0, NO, F0, "says v1, but the tensors are v2", 0},
	{L2, V1, F0, 0, 0, 0, NO, F0, "says v2, but the tensors are v1", 0},
	{L0, V1, F0, 0, 0, 0, GPTQ_OK, F1, "no label", 0},
	{L0, V2, F0, 0, 0, 0, GPTQ_OK, F2, "no label", 0},
	{L0, VU, F0, 0, 0, 0, GPTQ_OK, F1, "no label", 1},
	{L0, VU, F0, 0, 0, 1, NO, F0, "--from", 0},
	{L0, V1, F0, 0, 0, 1, GPTQ_OK, F1, "no label", 0},
	{LX, V1, F0, 0, 0, 0, NO, F0, "contradict", 0},
	{LX, VU, F0, 0, 0, 0, NO, F0, "contradict", 0},
	{LX, V1, F1, 0, 0, 0, GPTQ_OK, F1, "--from", 0},
	{LX, V2, F0, 1, 0, 0, GPTQ_OK, F2, "the tensors", 0},
	{LX, VU, F0, 1, 0, 0, NO, F0, "leave it open", 0},
	{L1, V2, F1, 0, 0, 0, GPTQ_OK, F1, "--from", 1},
	{L1, V2, F2, 0, 0, 0, GPTQ_OK, F2, "--from", 0},
	{L1, VU, F2, 0, 0, 0, GPTQ_OK, F2, "--from", 0},
	{L0, VU, F2, 0, 0, 1, GPTQ_OK, F2, "--from", 0},
	{L1, VM, F0, 0, 0, 0, NO, F0, "--per-layer", 0},
	{L0, VM, F0, 0, 0, 0, NO, F0, "--per-layer", 0},
	{L1, VM, F1, 0, 0, 0, NO, F0, "--per-layer", 0},
	{L1, VM, F0, 0, 1, 0, GPTQ_OK, F0, "each layer", 0},
	{L1, VM, F0, 1, 0, 0, NO, F0, "mixed", 0},
	{L1, V1, F0, 0, 1, 0, GPTQ_OK, F1, "agree", 0},
	{L1, V2, F0, 1, 0, 0, GPTQ_OK, F2, "the tensors", 0},
	{L2, V2, F0, 1, 0, 0, GPTQ_OK, F2, "the tensors", 0},
	{L1, VU, F2, 1, 0, 0, GPTQ_OK, F2, "--from", 0},
};

START_TEST(label_and_verdict)
{
	const struct row *r = &rows[_i];
	struct gq_label_place places[2] = {{.file = (char[]){"a.json"},
					    .key = (char[]){"checkpoint_format"},
					    .value = (char[]){"gptq"},
					    .label = GQ_LABEL_V1},
					   {.file = (char[]){"b.json"},
					    .key = (char[]){"format"},
					    .value = (char[]){"gptq_v2"},
					    .label = GQ_LABEL_V2}};
	const struct gq_label_place *sources[] = {&places[r->label == GQ_LABEL_V2], &places[1]};
	struct gq_layer layers[2] = {{.name = "first", .name_len = 5}, {.name = "second", .name_len = 6}};
	struct gq_layer_verdict verdicts[2] = {{.verdict = V1}, {.verdict = V2}};
	struct gq_source s = {.labels = {.value = r->label,
					 .consistent = r->consistent,
					 .sources = sources,
					 .n_sources = r->consistent ? r->label != GQ_LABEL_ABSENT : 2,
					 .auto_round = r->auto_round},
			      .layers = {layers, 2}};
	struct gq_survey sv = {.verdicts = verdicts, .model = {.verdict = r->verdict, .n_layers = 2}, .n_layers = 2};
	struct gq_wishes wishes = {.from = r->from, .relabel = r->relabel, .per_layer = r->per_layer};
	enum gptq_zeros_format from = F0;
	const char *why = NULL, *warning = NULL;
	struct gptq_error err = {.status = GPTQ_OK};

	ck_assert_msg(gq_settle_format(&s, &sv, &wishes, &from, &why, &warning, &err) == r->status, "row %d: %s", _i,
		      err.message);
	ck_assert_msg(from == r->want, "row %d: %d", _i, from);
	ck_assert_msg((warning != NULL) == r->warns, "row %d", _i);
	why = r->status == GPTQ_OK ? why : err.message;
	ck_assert_msg(strstr(why, r->why) != NULL, "row %d: %s", _i, why);
	if (r->status == GPTQ_OK || r->consistent)
		return;
	if (!r->relabel) { /* each place with file, key and value */
		ck_assert_ptr_nonnull(strstr(why, "a.json: checkpoint_format is \"gptq\""));
		ck_assert_ptr_nonnull(strstr(why, "b.json: format is \"gptq_v2\""));
	}
}
END_TEST

START_TEST(formats_of_layers)
{
	struct gq_layer layers[3] = {
		{.name = "a", .name_len = 1}, {.name = "b", .name_len = 1}, {.name = "c", .name_len = 1}};
	struct gq_layer_verdict verdicts[3] = {{.verdict = V1}, {.verdict = V2}, {.verdict = VU}};
	struct gq_source s = {.layers = {layers, 3}};
	struct gq_survey sv = {.verdicts = verdicts, .n_layers = 3};
	enum gptq_zeros_format f[3];
	struct gptq_error err;

	ck_assert_int_eq(gq_settle_layers(&s, &sv, F1, f, &err), GPTQ_OK);
	ck_assert(f[0] == F1 && f[1] == F1 && f[2] == F1);
	ck_assert_int_eq(gq_settle_layers(&s, &sv, F0, f, &err), GPTQ_E_REFUSED);
	ck_assert_str_eq(err.tensor, "c");
	s.layers.n = 2;
	ck_assert_int_eq(gq_settle_layers(&s, &sv, F0, f, &err), GPTQ_OK);
	ck_assert(f[0] == F1 && f[1] == F2);
}
END_TEST

/* --------------------------------------------------------------------------------------------------- styles */

#define NONE GPTQ_STYLE_NONE
#define LANE GPTQ_STYLE_LANE
#define WORD GPTQ_STYLE_WORD
#define LEGACY GPTQ_STYLE_GPTQMODEL_3BIT
#define SMEARED GPTQ_STYLE_SMEARED
#define CLEAN GPTQ_STYLE_CLEAN

enum who { NOBODY, GPTQMODEL_1, GPTQMODEL_7, AUTOGPTQ, UNKNOWN_ONE };

struct style_row {
	unsigned bits;
	enum gptq_v1_style shown, given;
	const char *record;
	enum who who;
	bool accept;
	enum gptq_status status;
	enum gptq_v1_style want;
	enum gptq_style_source source;
	const char *words; /* of the refusal */
};

#define BY_GIVEN GPTQ_STYLE_GIVEN
#define BY_RECORD GPTQ_STYLE_BY_RECORD
#define BY_TENSORS GPTQ_STYLE_BY_TENSORS
#define BY_PRODUCER GPTQ_STYLE_BY_PRODUCER

static const struct style_row style_rows[] = {
	/* given beats all but damage */
	{4, NONE, LANE, NULL, NOBODY, 0, GPTQ_OK, LANE, BY_GIVEN, ""},
	{4, WORD, LANE, NULL, GPTQMODEL_7, 0, GPTQ_OK, LANE, BY_GIVEN, ""},
	{4, WORD, LANE, "word", NOBODY, 0, GPTQ_OK, LANE, BY_GIVEN, ""},
	{4, NONE, LEGACY, NULL, NOBODY, 0, GPTQ_OK, WORD, BY_GIVEN, ""},
	{3, NONE, WORD, NULL, NOBODY, 0, GPTQ_OK, LANE, BY_GIVEN, ""},
	{4, SMEARED, LANE, NULL, NOBODY, 0, NO, NONE, 0, "--accept-damaged"},
	{4, SMEARED, LANE, NULL, NOBODY, 1, GPTQ_OK, SMEARED, BY_TENSORS, ""},
	/* the record */
	{4, NONE, NONE, "word", NOBODY, 0, GPTQ_OK, WORD, BY_RECORD, ""},
	{4, WORD, NONE, "word", NOBODY, 0, GPTQ_OK, WORD, BY_RECORD, ""},
	{4, CLEAN, NONE, "lane", NOBODY, 0, GPTQ_OK, LANE, BY_RECORD, ""},
	{3, LANE, NONE, "word", NOBODY, 0, GPTQ_OK, LANE, BY_RECORD, ""},
	{4, WORD, NONE, "gptqmodel-3bit", NOBODY, 0, GPTQ_OK, WORD, BY_RECORD, ""},
	{4, NONE, NONE, "lane", GPTQMODEL_7, 0, GPTQ_OK, LANE, BY_RECORD, ""},
	{4, WORD, NONE, "lane", NOBODY, 0, NO, NONE, 0, "means lane"},
	{3, CLEAN, NONE, "gptqmodel-3bit", NOBODY, 0, NO, NONE, 0, "means gptqmodel-3bit"},
	{3, LEGACY, NONE, "lane", NOBODY, 0, NO, NONE, 0, "show the v1 style gptqmodel-3bit"},
	{4, SMEARED, NONE, "lane", NOBODY, 1, NO, NONE, 0, "means lane"},
	/* the tensors, then the producer */
	{4, WORD, NONE, NULL, NOBODY, 0, GPTQ_OK, WORD, BY_TENSORS, ""},
	{4, WORD, NONE, NULL, GPTQMODEL_1, 0, GPTQ_OK, WORD, BY_TENSORS, ""},
	{4, CLEAN, NONE, NULL, GPTQMODEL_1, 0, GPTQ_OK, CLEAN, BY_TENSORS, ""},
	{4, CLEAN, NONE, NULL, AUTOGPTQ, 0, GPTQ_OK, CLEAN, BY_TENSORS, ""},
	{4, LANE, NONE, NULL, GPTQMODEL_1, 0, NO, NONE, 0, "gptqmodel 1.9.0, means word"},
	{4, SMEARED, NONE, NULL, AUTOGPTQ, 0, NO, NONE, 0, "--accept-damaged"},
	{4, SMEARED, NONE, NULL, AUTOGPTQ, 1, GPTQ_OK, SMEARED, BY_TENSORS, ""},
	{4, SMEARED, NONE, NULL, GPTQMODEL_1, 1, NO, NONE, 0, "means word"},
	{4, WORD, NONE, NULL, AUTOGPTQ, 0, NO, NONE, 0, "means smeared"},
	{3, LEGACY, NONE, NULL, GPTQMODEL_1, 0, GPTQ_OK, LEGACY, BY_TENSORS, ""},
	{3, LANE, NONE, NULL, GPTQMODEL_1, 0, NO, NONE, 0, "means gptqmodel-3bit"},
	{3, CLEAN, NONE, NULL, GPTQMODEL_1, 0, NO, NONE, 0, "means gptqmodel-3bit"},
	{3, CLEAN, NONE, NULL, GPTQMODEL_7, 0, GPTQ_OK, CLEAN, BY_TENSORS, ""},
	{3, LEGACY, NONE, NULL, GPTQMODEL_7, 0, NO, NONE, 0, "show the v1 style gptqmodel-3bit"},
	{4, NONE, NONE, NULL, GPTQMODEL_1, 0, GPTQ_OK, WORD, BY_PRODUCER, ""},
	{3, NONE, NONE, NULL, GPTQMODEL_1, 0, GPTQ_OK, LEGACY, BY_PRODUCER, ""},
	{3, NONE, NONE, NULL, GPTQMODEL_7, 0, GPTQ_OK, LANE, BY_PRODUCER, ""},
	{4, NONE, NONE, NULL, AUTOGPTQ, 0, NO, NONE, 0, "--accept-damaged"},
	{4, NONE, NONE, NULL, AUTOGPTQ, 1, GPTQ_OK, SMEARED, BY_PRODUCER, ""},
	/* nobody knows */
	{4, NONE, NONE, NULL, NOBODY, 0, NO, NONE, 0,
	 "1 zero points, 12.5% of the weights; the first is m, group 0, column 1, "
	 "stored lane 7: lane makes it 8, word 9"},
	{4, NONE, NONE, NULL, UNKNOWN_ONE, 0, NO, NONE, 0, "settles it"},
	{3, NONE, NONE, NULL, NOBODY, 0, NO, NONE, 0, "gptqmodel-3bit"},
};

static struct gq_producer producer_of(enum who who)
{
	static const char *const entries[] = {[NOBODY] = "",
					      [GPTQMODEL_1] = "gptqmodel:1.9.0",
					      [GPTQMODEL_7] = "gptqmodel:7.0.0",
					      [AUTOGPTQ] = "auto_gptq:0.7.1",
					      [UNKNOWN_ONE] = "somebody:1"};
	struct gq_producer p = {0};

	gq_producer_from_entry(entries[who], &p);
	return p;
}

START_TEST(style_settlement)
{
	const struct style_row *r = &style_rows[_i];
	uint64_t qzeros_shape[2] = {1, 1};
	struct gq_tensor qzeros = {.name = "m.qzeros",
				   .name_len = 8,
				   .dtype = GPTQ_DTYPE_I32,
				   .rank = 2,
				   .shape = qzeros_shape,
				   .nbytes = 4};
	struct gq_layer layer = {.name = "m",
				 .name_len = 1,
				 .qzeros = &qzeros,
				 .pack = {r->bits, 32},
				 .in_features = 8,
				 .out_features = 8,
				 .groups = 1,
				 .zero_row_bytes = 4};
	struct gq_source s = {.layers = {&layer, 1}};
	struct gq_survey sv = {.n_layers = 1};
	struct gq_wishes wishes = {.v1_style = r->given, .accept_damaged = r->accept};
	struct gq_style_choice choices[GQ_N_WIDTHS];
	enum gptq_zeros_format formats[1] = {F1};
	const char *name = "m.safetensors";
	struct gq_config config = {.is_gptq = true, .where = (char[]){"a.json"}};
	struct gq_config_file file = {.name = (char[]){"a.json"}, .configs = &config, .n_configs = 1};
	struct gq_style_choice *c = &choices[gq_width_index(r->bits)];
	struct gptq_error err = {.status = GPTQ_OK};
	struct gq_problems problems = {0};
	unsigned char bytes[] =
		"\x38\0\0\0\0\0\0\0{\"m.qzeros\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
		"\x7f\x77\x77\x77"; /* lane 0 is M at 4 bits, the others 7 */
	char *record = r->record ? strdup(r->record) : NULL;

	bytes[0] = (unsigned char)(sizeof(bytes) - 1 - 8 - 4);
	write_bytes(name, bytes, sizeof(bytes) - 1);
	ck_assert_int_eq(gq_shards_open_files(NULL, &name, 1, &s.shards, &problems, &err), GPTQ_OK);
	ck_assert_uint_eq(problems.n, 0);
	qzeros.offset = s.shards.tensors[0].offset;
	config.v1_style = record;
	s.configs = &file;
	s.n_configs = 1;
	s.main_file = &file;
	s.main = &config;
	s.has_producer = r->who != NOBODY;
	s.producer = producer_of(r->who);
	sv.model.style[gq_width_index(r->bits)].style = r->shown;
	ck_assert_msg(gq_settle_styles(&s, &sv, &wishes, formats, choices, &err) == r->status, "row %d: %s", _i,
		      err.message);
	if (r->status == GPTQ_OK) {
		ck_assert_msg(c->style == r->want, "row %d: %s", _i, gptq_style_name(c->style));
		ck_assert_msg(c->source == r->source, "row %d: %s", _i, gptq_style_source_name(c->source));
		ck_assert_uint_eq(c->n_layers, 1);
	} else {
		ck_assert_msg(strstr(err.message, r->words) != NULL, "row %d: %s", _i, err.message);
	}
	gq_shards_close(&s.shards);
	free(record);
}
END_TEST

START_TEST(half_words)
{
	struct gq_layer layer = {.name = "m", .name_len = 1, .pack = {4, 64}};
	struct gq_source s = {.layers = {&layer, 1}};
	struct gq_survey sv = {.n_layers = 1, .model = {.half_words = true, .half_shift = 0.98}};
	struct gq_wishes wishes = {.v1_style = LANE};
	struct gq_style_choice choices[GQ_N_WIDTHS];
	enum gptq_zeros_format formats[1] = {F1};
	struct gptq_error err;

	ck_assert_int_eq(gq_settle_styles(&s, &sv, &wishes, formats, choices, &err), GPTQ_E_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.message, "64-bit pack words"));
	formats[0] = F2; /* nothing is read as v1 then */
	ck_assert_int_eq(gq_settle_styles(&s, &sv, &wishes, formats, choices, &err), GPTQ_OK);
	ck_assert_int_eq(choices[0].style, NONE);
}
END_TEST

START_TEST(style_names)
{
	ck_assert_int_eq(gq_style_from_name("lane"), LANE);
	ck_assert_int_eq(gq_style_from_name("word"), WORD);
	ck_assert_int_eq(gq_style_from_name("gptqmodel-3bit"), LEGACY);
	ck_assert_int_eq(gq_style_from_name("smeared"), NONE);
	ck_assert_int_eq(gq_style_from_name("clean"), NONE);
	ck_assert_int_eq(gq_style_from_name(""), NONE);
	ck_assert_int_eq(gq_style_from_name(NULL), NONE);
	ck_assert_int_eq(gq_style_for_width(WORD, 3), LANE);
	ck_assert_int_eq(gq_style_for_width(WORD, 4), WORD);
	ck_assert_int_eq(gq_style_for_width(LEGACY, 3), LEGACY);
	ck_assert_int_eq(gq_style_for_width(LEGACY, 8), WORD);
	ck_assert_int_eq(gq_style_for_width(LANE, 3), LANE);
	ck_assert_int_eq(gq_style_for_width(SMEARED, 3), SMEARED);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("settle");
	TCase *tc = tcase_create("core");

	tcase_add_checked_fixture(tc, scratch_enter, scratch_leave);
	tcase_add_loop_test(tc, label_and_verdict, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(tc, formats_of_layers);
	tcase_add_loop_test(tc, style_settlement, 0, (int)(sizeof(style_rows) / sizeof(style_rows[0])));
	tcase_add_test(tc, half_words);
	tcase_add_test(tc, style_names);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
