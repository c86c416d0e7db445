/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/mem.h"
#include "format/labels.h"

#include <stdio.h>
#include <string.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define V1 GQ_LABEL_V1
#define V2 GQ_LABEL_V2

static void read_text(const char *name, const char *text, struct gq_config_file *file)
{
	enum gq_config_kind kind = GQ_CONFIG_STANDALONE;
	struct gptq_error err;

	gq_config_known_name(name, &kind);
	ck_assert_msg(gq_config_read(name, kind, text, strlen(text), file, &err) == GPTQ_OK, "%s", err.message);
}

/* To be freed; NULL where it is refused. */
static char *rewritten(const char *text, enum gq_label target, const char *record)
{
	struct gq_config_file file;
	struct gq_buf out = {0};
	enum gptq_status st;

	read_text("quantize_config.json", text, &file);
	st = gq_config_rewrite(&file, target, record, &out, NULL);
	gq_config_free(&file);
	if (st) {
		ck_assert_int_eq(st, GPTQ_E_REFUSED);
		gq_buf_free(&out);
	}
	return out.data;
}

static const struct {
	const char *before;
	enum gq_label target;
	const char *record, *after; /* after NULL: refused */
} rewrites[] = {
	/* values */
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"x\": 1}", V2, NULL,
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq_v2\", \"x\": 1}"},
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq_v2\", \"format\": \"gptq\"}", V1, NULL,
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"format\": \"gptq\"}"},
	{"{\"bits\": 4, \"FORMAT\": \"gptq\", \"format\": \"gptq_v2\", \"checkpoint_format\": null}", V2, NULL,
	 "{\"bits\": 4, \"FORMAT\": \"gptq_v2\", \"format\": \"gptq_v2\", \"checkpoint_format\": \"gptq_v2\"}"},
	{"{\"bits\": 4, \"checkpoint_format\": \"\\u0067ptq\"}", V1, NULL,
	 "{\"bits\": 4, \"checkpoint_format\": \"\\u0067ptq\"}"},
	/* a label that was not there, also beside `format` */
	{"{\n  \"bits\": 4,\n  \"meta\": {\n    \"x\": NaN\n  },\n  \"format\": \"gptq\"\n}\n", V2, NULL,
	 "{\n  \"bits\": 4,\n  \"meta\": {\n    \"x\": NaN\n  },\n  \"format\": \"gptq_v2\",\n"
	 "  \"checkpoint_format\": \"gptq_v2\"\n}\n"},
	{"{\"bits\":4,\"group_size\":-1,\"is_marlin_format\":false}", V1, NULL,
	 "{\"bits\":4,\"group_size\":-1,\"is_marlin_format\":false,\"checkpoint_format\":\"gptq\"}"},
	{"\xef\xbb\xbf{\r\n\t\"quant_method\" : \"gptq\"\r\n}", V2, NULL,
	 "\xef\xbb\xbf{\r\n\t\"quant_method\" : \"gptq\",\r\n\t\"checkpoint_format\" : \"gptq_v2\"\r\n}"},
	/* auto-round */
	{"{\"quant_method\": \"auto-round\", \"packing_format\": \"auto_round:auto_gptq\"}", V2, NULL,
	 "{\"quant_method\": \"auto-round\", \"packing_format\": \"auto_round:gptqmodel\"}"},
	{"{\"quant_method\": \"auto-round\", \"packing_format\": \"auto_round\", \"checkpoint_format\": \"gptq_v2\"}",
	 V1, NULL,
	 "{\"quant_method\": \"auto-round\", \"packing_format\": \"auto_round:auto_gptq\", \"checkpoint_format\": "
	 "\"gptq\"}"},
	{"{\"quant_method\": \"auto-round\", \"bits\": 4}", V2, NULL,
	 "{\"quant_method\": \"auto-round\", \"bits\": 4, \"packing_format\": \"auto_round:gptqmodel\"}"},
	/* several configs in one file; others are left alone */
	{"{\"quantization_config\": {\"quant_method\": \"gptq\"},"
	 " \"text_config\": {\"quantization_config\": {\"bits\": 4, \"format\": \"gptq\"}}, \"v\": {\"format\": "
	 "\"gptq\"}}",
	 V2, NULL,
	 "{\"quantization_config\": {\"quant_method\": \"gptq\", \"checkpoint_format\": \"gptq_v2\"},"
	 " \"text_config\": {\"quantization_config\": {\"bits\": 4, \"format\": \"gptq_v2\","
	 " \"checkpoint_format\": \"gptq_v2\"}}, \"v\": {\"format\": \"gptq\"}}"},
	{"{\"per_channel\": true, \"format\": \"QDQ\"}", V2, NULL, "{\"per_channel\": true, \"format\": \"QDQ\"}"},
	{"{\"quantization_config\": {\"x\": 1, \"format\": null}}", V2, "lane",
	 "{\"quantization_config\": {\"x\": 1, \"format\": null}}"},
	/* records */
	{"{\n  \"bits\": 4,\n  \"checkpoint_format\": \"gptq_v2\"\n}", V1, "lane",
	 "{\n  \"bits\": 4,\n  \"checkpoint_format\": \"gptq\",\n  \"gptq_tools\": {\n    \"v1_style\": \"lane\"\n  "
	 "}\n}"},
	{"{\n  \"bits\": 4,\n  \"group_size\": 32\n}", V1, "word",
	 "{\n  \"bits\": 4,\n  \"group_size\": 32,\n  \"checkpoint_format\": \"gptq\",\n"
	 "  \"gptq_tools\": {\n    \"v1_style\": \"word\"\n  }\n}"},
	{"{\"bits\": 4, \"format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"lane\"}}", V2, NULL,
	 "{\"bits\": 4, \"format\": \"gptq_v2\", \"checkpoint_format\": \"gptq_v2\"}"},
	{"{\"bits\": 4, \"gptq_tools\": {\"v1_style\": \"lane\"}, \"checkpoint_format\": \"gptq\"}", V2, NULL,
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq_v2\"}"},
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {\"a\": 1, \"v1_style\": \"lane\"}}", V2, NULL,
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq_v2\", \"gptq_tools\": {\"a\": 1}}"},
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"lane\"}}", V1, GQ_RECORD_KEEP,
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"lane\"}}"},
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"lane\"}}", V1, "word",
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"word\"}}"},
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {}}", V1, "word",
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"word\"}}"},
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": null}", V1, "word",
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"word\"}}"},
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"gptq_tools\": {}}", V2, NULL,
	 "{\"bits\": 4, \"checkpoint_format\": \"gptq_v2\", \"gptq_tools\": {}}"},
	/* never, whatever was asked for */
	{"{\"bits\": 4, \"checkpoint_format\": \"marlin\"}", V2, NULL, NULL},
	{"{\"bits\": 4, \"checkpoint_format\": \"gptq\", \"format\": \"gptq_v3\"}", V1, NULL, NULL},
	{"{\"bits\": 4, \"group_size\": 1, \"is_marlin_format\": true}", V1, NULL, NULL},
};

START_TEST(labels_are_rewritten_and_nothing_else)
{
	char *got = rewritten(rewrites[_i].before, rewrites[_i].target, rewrites[_i].record);

	ck_assert_pstr_eq(got, rewrites[_i].after);
	gq_free(got);
}
END_TEST

/* Real configs: there and back gives the same bytes, from the first text that carries all labels. */
START_TEST(real_configs_come_back)
{
	const char *root = getenv("GQ_TESTDATA");
	char path[1024], text[4096];
	char *v1, *v2, *recorded, *back;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/configs/%02d.json", root ? root : "testdata", _i);
	f = fopen(path, "rb");
	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	v1 = rewritten(text, V1, NULL);
	if (!v1)
		return; /* a Marlin one */
	v2 = rewritten(v1, V2, NULL);
	recorded = rewritten(v2, V1, "gptqmodel-3bit");
	back = rewritten(recorded, V2, NULL);
	ck_assert_str_eq(back, v2);
	ck_assert_ptr_nonnull(strstr(recorded, "\"v1_style\": \"gptqmodel-3bit\""));
	gq_free(back);
	back = rewritten(v2, V1, NULL);
	ck_assert_str_eq(back, v1);
	gq_free(back);
	gq_free(v1);
	gq_free(v2);
	gq_free(recorded);
}
END_TEST

START_TEST(contradictions_name_every_place)
{
	struct gq_config_file files[2];
	struct gq_label_place metadata;
	struct gq_labels labels;
	struct gptq_error err;

	read_text("quantize_config.json", "{\"bits\": 4, \"checkpoint_format\": \"gptq_v2\", \"format\": \"\"}",
		  &files[0]);
	read_text("config.json", "{\"quantization_config\": {\"quant_method\": \"gptq\"}}", &files[1]);
	ck_assert_int_eq(gq_label_from_metadata("m.safetensors", "gptq", 4, 10, 16, &metadata, NULL), GPTQ_OK);

	ck_assert_int_eq(gq_labels_combine(files, 2, NULL, 0, &labels, NULL), GPTQ_OK);
	ck_assert_int_eq(labels.value, V2);
	ck_assert(labels.consistent);
	ck_assert_uint_eq(labels.n_sources, 1);
	ck_assert_int_eq(gq_labels_check(&labels, false, NULL), GPTQ_OK);
	gq_labels_free(&labels);

	ck_assert_int_eq(gq_labels_combine(files, 2, &metadata, 1, &labels, NULL), GPTQ_OK);
	ck_assert_int_eq(labels.value, GQ_LABEL_ABSENT);
	ck_assert(!labels.consistent);
	ck_assert_ptr_null(labels.word);
	ck_assert_int_eq(gq_labels_check(&labels, true, NULL), GPTQ_OK);
	ck_assert_int_eq(gq_labels_check(&labels, false, &err), GPTQ_E_REFUSED);
	ck_assert_str_eq(err.message, "the labels contradict each other, so one of them is wrong\n"
				      "quantize_config.json: checkpoint_format is \"gptq_v2\" (v2)\n"
				      "m.safetensors: __metadata__.gptq_checkpoint_format is \"gptq\" (v1)\n"
				      "--from v1 or --from v2 settles it; --relabel goes by the tensors");
	gq_labels_free(&labels);
	gq_label_place_free(&metadata);
	gq_config_free(&files[0]);
	gq_config_free(&files[1]);
}
END_TEST

START_TEST(foreign_and_unknown_words_are_refused_always)
{
	struct gq_config_file files[2];
	struct gq_labels labels;
	struct gptq_error err;
	char text[1024];

	read_text("quantize_config.json", "{\"bits\": 4, \"checkpoint_format\": \"new\\u001b[1m\"}", &files[0]);
	read_text("config.json", "{\"quantization_config\": {\"quant_method\": \"AWQ\"}}", &files[1]);
	ck_assert_int_eq(gq_labels_combine(files, 1, NULL, 0, &labels, NULL), GPTQ_OK);
	ck_assert_int_eq(labels.value, GQ_LABEL_UNKNOWN);
	ck_assert_str_eq(labels.word, "new\\x1b[1m");
	ck_assert_int_eq(gq_labels_check(&labels, true, &err), GPTQ_E_REFUSED);
	ck_assert_str_eq(err.found, "new\\x1b[1m");
	ck_assert_str_eq(err.file, "quantize_config.json");
	gq_labels_free(&labels);

	ck_assert_int_eq(gq_labels_combine(files, 2, NULL, 0, &labels, NULL), GPTQ_OK);
	ck_assert_int_eq(labels.value, GQ_LABEL_FOREIGN);
	ck_assert_int_eq(gq_labels_check(&labels, true, &err), GPTQ_E_REFUSED);
	gptq_error_format(&err, text, sizeof(text));
	ck_assert_str_eq(text, "config.json: quantization_config.quant_method names the format AWQ: it packs along the "
			       "output features and stores its zero points as they are; no GPTQ layout (found AWQ, "
			       "expected gptq or auto-round)");
	gq_labels_free(&labels);
	gq_config_free(&files[0]);
	gq_config_free(&files[1]);
}
END_TEST

START_TEST(records_agree_or_are_refused)
{
	struct gq_config_file files[3];
	const char *style;
	struct gptq_error err;

	read_text("quantize_config.json",
		  "{\"bits\": 4, \"format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"lane\"}}", &files[0]);
	read_text("config.json", "{\"quantization_config\": {\"bits\": 4, \"gptq_tools\": {\"v1_style\": \"word\"}}}",
		  &files[1]);
	read_text("quant_config.json",
		  "{\"bits\": 4, \"format\": \"gptq\", \"gptq_tools\": {\"v1_style\": \"smeared\"}}", &files[2]);
	ck_assert_int_eq(gq_labels_record(files, 0, &style, NULL), GPTQ_OK);
	ck_assert_ptr_null(style);
	ck_assert_int_eq(gq_labels_record(files, 1, &style, NULL), GPTQ_OK);
	ck_assert_str_eq(style, "lane");
	ck_assert_int_eq(gq_labels_record(files, 2, &style, &err), GPTQ_E_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.message, "config.json: quantization_config"));
	ck_assert_int_eq(gq_labels_record(&files[2], 1, &style, &err), GPTQ_E_REFUSED);
	ck_assert_str_eq(err.found, "smeared");
	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		gq_config_free(&files[i]);
}
END_TEST

/* The value is the one between the first pair of bars, which are taken out before. */
static const struct {
	const char *before;
	enum gq_label target;
	const char *after;
} headers[] = {
	{"{\"__metadata__\":{\"f\":|\"gptq\"|}}    ", V2, "{\"__metadata__\":{\"f\":\"gptq_v2\"}} "},
	{"{\"__metadata__\":{\"f\":|\"gptq_v2\"|}} ", V1, "{\"__metadata__\":{\"f\":\"gptq\"}}    "},
	{"{\"__metadata__\":{\"f\":|\"gptq\"|}}   ", V2, "{\"__metadata__\":{\"f\":\"gptq_v2\"}}"},
	/* one byte short: on to the next multiple of 8 */
	{"{\"__metadata__\":{\"f\":|\"gptq\"|}}  ", V2, "{\"__metadata__\":{\"f\":\"gptq_v2\"}}"},
	{"{\"a\":|\"gptq\"|,\"bb\":0}", V2, "{\"a\":\"gptq_v2\",\"bb\":0}  "},
	{"{\"a\":|\"gptq\"|,\"bb\":{}}", V2, "{\"a\":\"gptq_v2\",\"bb\":{}} "},
	{"{\"a\":|\"gptq\"|,\"bbb\":{}}", V2, "{\"a\":\"gptq_v2\",\"bbb\":{}}"},
	/* what says so already stays, escapes and all */
	{"{\"a\":|\"gptq\\u005fv2\"|}", V2, "{\"a\":\"gptq\\u005fv2\"}"},
	{"{\"a\":|\"\"|}\n", V1, "{\"a\":\"gptq\"}\n   "},
};

START_TEST(header_keeps_its_size_where_it_can)
{
	const char *before = headers[_i].before;
	const char *bar = strchr(before, '|'), *bar2 = strrchr(before, '|');
	struct gq_buf text = {0}, out = {0};
	size_t begin = (size_t)(bar - before), end = (size_t)(bar2 - before) - 1;

	gq_buf_printf(&text, "%.*s%.*s%s", (int)begin, before, (int)(end - begin), bar + 1, bar2 + 1);
	ck_assert_int_eq(gq_header_set_label(text.data, text.size, begin, end, headers[_i].target, &out, NULL),
			 GPTQ_OK);
	ck_assert_str_eq(out.data, headers[_i].after);
	ck_assert_int_eq(gq_header_set_label(text.data, text.size, end, begin, V1, &out, NULL), GPTQ_E_ARG);
	ck_assert_int_eq(gq_header_set_label(text.data, text.size, begin, end, GQ_LABEL_ABSENT, &out, NULL),
			 GPTQ_E_ARG);
	gq_buf_free(&text);
	gq_buf_free(&out);
}
END_TEST

START_TEST(memory_may_run_out_anywhere)
{
	struct gq_config_file file;
	struct gptq_error err;

	read_text("quantize_config.json", "{\n  \"bits\": 4,\n  \"format\": \"gptq_v2\"\n}", &file);
	for (long n = 0;; n++) {
		struct gq_buf out = {0};
		enum gptq_status st;

		gq_mem_fail_after(n);
		st = gq_config_rewrite(&file, V1, "lane", &out, &err);
		gq_mem_fail_after(-1);
		gq_buf_free(&out);
		if (st == GPTQ_OK)
			break;
		ck_assert_int_eq(st, GPTQ_E_NOMEM);
		ck_assert_int_lt(n, 1000);
	}
	gq_config_free(&file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("labels");
	TCase *tc = tcase_create("labels");

	tcase_add_loop_test(tc, labels_are_rewritten_and_nothing_else, 0, N_ELEMENTS(rewrites));
	tcase_add_loop_test(tc, real_configs_come_back, 1, 39);
	tcase_add_test(tc, contradictions_name_every_place);
	tcase_add_test(tc, foreign_and_unknown_words_are_refused_always);
	tcase_add_test(tc, records_agree_or_are_refused);
	tcase_add_loop_test(tc, header_keeps_its_size_where_it_can, 0, N_ELEMENTS(headers));
	tcase_add_test(tc, memory_may_run_out_anywhere);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
