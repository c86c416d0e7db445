/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/mem.h"
#include "format/labels.h"

#include <stdio.h>
#include <string.h>

#define UNSET INT64_MIN
#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/*
 * What each file of testdata/configs means, written down from reading it. Flags: 't', 'f', '-' for absent. label: the
 * combined label's word, NULL for absent. producer: the one that counts.
 */
static const struct real {
	const char *file;
	int configs;
	bool gptq, auto_round;
	int64_t bits, group_size;
	char sym, desc_act, static_groups, lm_head;
	const char *path, *label;
	enum gq_label value;
	const char *base_name, *producer, *version;
} real_configs[] = {
#define FOR GQ_LABEL_FOREIGN
#define V1 GQ_LABEL_V1
#define V2 GQ_LABEL_V2
#define QC "quantization_config"
	{"01", 1, true, false, 2, 128, 't', 't', 'f', 'f', "", "gptq", V1, NULL, "gptqmodel", "4.0.0-dev"},
	{"02", 1, true, false, 4, 128, 't', 'f', 'f', '-', "", "marlin", FOR, NULL, NULL, NULL},
	{"03", 1, true, false, 4, 128, 't', 'f', 'f', '-', "", "marlin", FOR, "model", NULL, NULL},
	{"04", 1, true, false, 4, 128, 't', 't', 'f', '-', "", NULL, 0, NULL, NULL, NULL},
	{"05", 1, true, false, 4, 32, 't', 't', 'f', '-', "", NULL, 0, NULL, NULL, NULL},
	{"06", 1, true, true, 4, 128, 'f', 'f', 'f', '-', "", NULL, 0, "model", NULL, NULL},
	{"07", 1, true, false, 4, 128, 't', 'f', 'f', '-', "", "marlin", FOR, "model", NULL, NULL},
	{"08", 1, true, false, 4, 128, 't', 't', 'f', '-', "", NULL, 0, NULL, NULL, NULL},
	{"09", 1, true, false, 4, 128, 't', 'f', 'f', '-', "", "marlin", FOR, NULL, NULL, NULL},
	{"10", 1, true, false, 4, 128, 't', 'f', 'f', '-', "", "gptq", V1, "model", NULL, NULL},
	{"11", 1, true, false, 4, 128, 't', 't', 'f', '-', "", NULL, 0, "gptq_model-4bit-128g", NULL, NULL},
	{"12", 1, true, false, 4, 128, 'f', 'f', 'f', '-', "", "gptq", V1, "model", "autogptq", "0.8.0.dev1"},
	{"13", 1, true, false, 4, 128, 't', 't', 'f', '-', QC, "gptq", V1, NULL, NULL, NULL},
	{"14", 1, true, false, 8, -1, 't', 't', '-', '-', QC, NULL, 0, "model", NULL, NULL},
	{"15", 1, true, false, 4, 128, 't', 't', 'f', '-', QC, NULL, 0, NULL, NULL, NULL},
	{"16", 1, true, false, 8, -1, 't', 't', '-', '-', QC, NULL, 0, NULL, NULL, NULL},
	{"17", 1, true, false, 4, 128, 't', 't', '-', '-', QC, NULL, 0, NULL, NULL, NULL},
	{"18", 1, true, false, 4, -1, 't', 't', '-', '-', QC, NULL, 0, NULL, NULL, NULL},
	{"19", 1, true, false, 4, 128, 't', 'f', 'f', '-', "", NULL, 0, "model", NULL, NULL},
	{"20", 1, true, false, 8, -1, 't', 't', '-', '-', "", NULL, 0, NULL, NULL, NULL},
	{"21", 1, true, false, 4, 128, 't', 'f', '-', '-', "", NULL, 0, NULL, NULL, NULL},
	{"22", 1, true, false, 3, 128, 't', 't', '-', '-', "", NULL, 0, "model", NULL, NULL},
	{"23", 1, true, false, 8, 128, 't', 't', 'f', '-', "", NULL, 0, NULL, NULL, NULL},
	{"24", 1, true, false, 4, 128, 't', 'f', '-', '-', "", NULL, 0, NULL, NULL, NULL},
	{"25", 1, true, false, 8, -1, 't', 't', '-', '-', "", NULL, 0, NULL, NULL, NULL},
	{"26", 1, true, false, 4, 128, 't', 'f', '-', '-', "", NULL, 0, "model", NULL, NULL},
	{"27", 1, true, false, 4, 128, '-', 't', '-', '-', "", NULL, 0, NULL, NULL, NULL},
	{"28", 1, true, false, 4, 128, 'f', 'f', 'f', '-', "", "gptq", V1, "model", "intel/auto-round", "0.1"},
	{"29", 1, true, true, 4, 128, 't', '-', '-', '-', "", "gptq", V1, NULL, "auto-round", "0.12.2"},
	{"30", 1, true, true, 4, 128, 't', '-', '-', '-', "", "gptq", V1, NULL, "auto-round", "0.12.3"},
	{"31", 1, true, true, 4, 64, 't', '-', '-', '-', QC, "gptq", V1, NULL, "auto-round", "0.17.0"},
	{"32", 1, true, false, 4, 128, 't', 't', '-', 'f', "", "gptq", V1, NULL, NULL, NULL},
	{"33", 1, true, false, 8, 32, 'f', 'f', '-', '-', QC, NULL, 0, NULL, NULL, NULL},
	{"34", 1, true, false, 4, -1, '-', 't', '-', '-', QC, "gptq_v2", V2, NULL, NULL, NULL},
	{"35", 1, true, false, 4, 32, '-', '-', '-', '-', "", "gptq_v2", V2, NULL, NULL, NULL},
	{"36", 1, true, false, 4, 32, 'f', 'f', '-', '-', "", "gptq_v2", V2, NULL, NULL, NULL},
	{"37", 1, true, false, 4, 128, '-', 'f', 'f', 'f', "", "gptq", V1, NULL, NULL, NULL},
	{"38", 1, true, false, 4, 128, '-', '-', '-', '-', QC, "gptq_v2", V2, NULL, NULL, NULL},
	{"not-gptq-1", 0, false, false, UNSET, UNSET, '-', '-', '-', '-', "", NULL, 0, NULL, NULL, NULL},
	{"not-gptq-2", 0, false, false, UNSET, UNSET, '-', '-', '-', '-', "", NULL, 0, NULL, NULL, NULL},
};

static void read_text(const char *name, enum gq_config_kind kind, const char *text, struct gq_config_file *file)
{
	struct gptq_error err;

	ck_assert_msg(gq_config_read(name, kind, text, strlen(text), file, &err) == GPTQ_OK, "%s", err.message);
}

static char flag(struct gq_config_flag f)
{
	return f.present ? (f.value ? 't' : 'f') : '-';
}

static int64_t number(struct gq_config_int n)
{
	return n.present ? n.value : UNSET;
}

static size_t load(const char *name, char *text, size_t size)
{
	const char *root = getenv("GQ_TESTDATA");
	char path[1024];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/configs/%s.json", root ? root : "testdata", name);
	f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s", path);
	n = fread(text, 1, size - 1, f);
	fclose(f);
	text[n] = '\0';
	return n;
}

static void check_fields(const struct gq_config *config, const struct real *want)
{
	const struct gq_producer *producer = gq_producer_first(config->producers, config->n_producers);

	ck_assert_str_eq(config->path, want->path);
	ck_assert_int_eq(config->is_gptq, want->gptq);
	ck_assert_int_eq(config->is_auto_round, want->auto_round);
	ck_assert_int_eq(number(config->bits), want->bits);
	ck_assert_int_eq(number(config->group_size), want->group_size);
	ck_assert_int_eq(flag(config->sym), want->sym);
	ck_assert_int_eq(flag(config->desc_act), want->desc_act);
	ck_assert_int_eq(flag(config->static_groups), want->static_groups);
	ck_assert_int_eq(flag(config->lm_head), want->lm_head);
	ck_assert_pstr_eq(config->base_name, want->base_name);
	ck_assert_pstr_eq(producer ? producer->name : NULL, want->producer);
	ck_assert_pstr_eq(producer ? producer->version : NULL, want->version);
	ck_assert_ptr_null(config->v1_style);
}

START_TEST(real_configs_mean_what_they_say)
{
	const struct real *want = &real_configs[_i];
	struct gq_config_file file;
	struct gq_labels labels;
	char text[4096];

	load(want->file, text, sizeof(text));
	read_text("quantize_config.json", GQ_CONFIG_STANDALONE, text, &file);
	ck_assert_int_eq((int)file.n_configs, want->configs);
	if (want->configs)
		check_fields(&file.configs[0], want);
	ck_assert_int_eq(gq_labels_combine(&file, 1, NULL, 0, &labels, NULL), GPTQ_OK);
	ck_assert_int_eq(labels.value, want->value);
	ck_assert_pstr_eq(labels.word, want->label);
	ck_assert(labels.consistent);
	ck_assert_int_eq(labels.auto_round, want->auto_round);
	gq_labels_free(&labels);
	gq_config_free(&file);
}
END_TEST

START_TEST(details_of_three_real_configs)
{
	struct gq_config_file file;
	enum gq_config_kind kind;
	char text[4096];

	ck_assert(gq_config_known_name("quant_config.json", &kind) && kind == GQ_CONFIG_STANDALONE);
	ck_assert(gq_config_known_name("config.json", &kind) && kind == GQ_CONFIG_MODEL);
	ck_assert(!gq_config_known_name("generation_config.json", &kind));

	load("31", text, sizeof(text));
	read_text("config.json", GQ_CONFIG_MODEL, text, &file);
	ck_assert_uint_ne(file.configs[0].extra_config, 0);
	ck_assert_uint_eq(file.configs[0].dynamic, 0);
	ck_assert_str_eq(file.configs[0].where, "config.json: quantization_config");
	ck_assert_uint_eq(file.n_places, 1);
	ck_assert_str_eq(file.places[0].key, "quantization_config.packing_format");
	ck_assert_str_eq(file.places[0].value, "auto_round:auto_gptq");
	ck_assert_int_eq(memcmp(file.text + file.places[0].begin, "\"auto_round:auto_gptq\"", 22), 0);
	gq_config_free(&file);

	load("37", text, sizeof(text));
	read_text("quantize_config.json", GQ_CONFIG_STANDALONE, text, &file);
	ck_assert_uint_ne(file.configs[0].dynamic, 0);
	ck_assert_str_eq(file.configs[0].where, "quantize_config.json");
	ck_assert_ptr_null(file.configs[0].quant_method);
	gq_config_free(&file);

	load("01", text, sizeof(text));
	read_text("quantize_config.json", GQ_CONFIG_STANDALONE, text, &file);
	ck_assert_str_eq(file.configs[0].pack_dtype, "int32");
	ck_assert_str_eq(file.configs[0].quant_method, "gptq");
	gq_config_free(&file);
	/* the root of config.json is no quantisation config */
	read_text("config.json", GQ_CONFIG_MODEL, text, &file);
	ck_assert_uint_eq(file.n_configs, 0);
	gq_config_free(&file);
}
END_TEST

/* One label each: key and value in a GPTQ or an auto-round config, and what they say. */
static const struct {
	const char *member;
	bool auto_round;
	enum gq_label label;
	const char *format;
} labels_of_words[] = {
	{"\"checkpoint_format\": \"gptq\"", false, GQ_LABEL_V1, NULL},
	{"\"checkpoint_format\": \"gptq_v2\"", false, GQ_LABEL_V2, NULL},
	{"\"checkpoint_format\": \"\\u0067ptq_v2\"", false, GQ_LABEL_V2, NULL},
	{"\"Checkpoint_Format\": \"gptq_v2\"", false, GQ_LABEL_V2, NULL},
	{"\"FORMAT\": \"gptq_v2\"", false, GQ_LABEL_V2, NULL},
	{"\"checkpoint_format\": null", false, GQ_LABEL_ABSENT, NULL},
	{"\"checkpoint_format\": \"\"", false, GQ_LABEL_ABSENT, NULL},
	{"\"checkpoint_format\": \"GPTQ_V2\"", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"checkpoint_format\": \"gptq \"", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"checkpoint_format\": \"gptq\\u0000\"", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"checkpoint_format\": \"gptq_v3\"", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"checkpoint_format\": \"\\ud800\"", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"checkpoint_format\": 2", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"format\": false", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"format\": [\"gptq\"]", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"format\": \"gptq_p\"", false, GQ_LABEL_FOREIGN, "planar GPTQ (gptq_p)"},
	{"\"format\": \"MARLIN\"", false, GQ_LABEL_FOREIGN, "Marlin"},
	{"\"checkpoint_format\": \"gemm\"", false, GQ_LABEL_FOREIGN, "AWQ"},
	{"\"checkpoint_format\": \"bitblas\"", false, GQ_LABEL_FOREIGN, "BitBLAS"},
	{"\"checkpoint_format\": \"exl3\"", false, GQ_LABEL_FOREIGN, "EXL3"},
	{"\"is_marlin_format\": true", false, GQ_LABEL_FOREIGN, "Marlin"},
	{"\"is_marlin_format\": 1", false, GQ_LABEL_FOREIGN, "Marlin"},
	{"\"is_marlin_format\": false", false, GQ_LABEL_ABSENT, NULL},
	{"\"is_marlin_format\": null", false, GQ_LABEL_ABSENT, NULL},
	{"\"is_marlin_format\": \"no\"", false, GQ_LABEL_UNKNOWN, NULL},
	{"\"packing_format\": \"auto_round:gptqmodel\"", false, GQ_LABEL_ABSENT, NULL},
	{"\"packing_format\": \"auto_round:auto_gptq\"", true, GQ_LABEL_V1, NULL},
	{"\"packing_format\": \"auto_round:gptq\"", true, GQ_LABEL_V1, NULL},
	{"\"packing_format\": \"auto\"", true, GQ_LABEL_V1, NULL},
	{"\"packing_format\": \"auto_round\"", true, GQ_LABEL_V2, NULL},
	{"\"packing_format\": \"auto_round:gptqmodel\"", true, GQ_LABEL_V2, NULL},
	{"\"packing_format\": \"auto_round:auto_awq\"", true, GQ_LABEL_FOREIGN, "AWQ"},
	{"\"packing_format\": \"auto_round:fp8\"", true, GQ_LABEL_FOREIGN, "FP8"},
	{"\"packing_format\": \"auto_round:exllamav2\"", true, GQ_LABEL_UNKNOWN, NULL},
	{"\"packing_format\": \"gptq\"", true, GQ_LABEL_UNKNOWN, NULL},
	{"\"packing_format\": null", true, GQ_LABEL_ABSENT, NULL},
	{"\"checkpoint_format\": \"gptq_v2\"", true, GQ_LABEL_V2, NULL},
	{"\"version\": \"GEMM\"", false, GQ_LABEL_FOREIGN, "AWQ"},
	{"\"version\": \"0.2.1\"", false, GQ_LABEL_ABSENT, NULL},
	{"\"version\": 2", false, GQ_LABEL_ABSENT, NULL},
	{"\"backend\": \"llm-awq\"", false, GQ_LABEL_FOREIGN, "AWQ"},
	{"\"method\": \"gptq\"", false, GQ_LABEL_ABSENT, NULL},
	{"\"method\": \"exl3\"", false, GQ_LABEL_FOREIGN, "EXL3"},
	{"\"method\": \"something\"", false, GQ_LABEL_ABSENT, NULL},
};

START_TEST(words_of_labels)
{
	struct gq_config_file file;
	struct gq_labels labels;
	char text[512];

	snprintf(text, sizeof(text), "{\"quant_method\": \"%s\", \"bits\": 4, %s}",
		 labels_of_words[_i].auto_round ? "intel/auto-round" : "GPTQ", labels_of_words[_i].member);
	read_text("q.json", GQ_CONFIG_STANDALONE, text, &file);
	ck_assert(file.configs[0].is_gptq);
	ck_assert_int_eq(file.configs[0].is_auto_round, labels_of_words[_i].auto_round);
	ck_assert_int_eq(gq_labels_combine(&file, 1, NULL, 0, &labels, NULL), GPTQ_OK);
	ck_assert_int_eq(labels.value, labels_of_words[_i].label);
	ck_assert_pstr_eq(labels.culprit && labels.culprit->format ? labels.culprit->format->name : NULL,
			  labels_of_words[_i].format);
	gq_labels_free(&labels);
	gq_config_free(&file);
}
END_TEST

/* What makes a config a GPTQ config, and what names another format. */
static const struct {
	const char *text;
	int configs;
	bool gptq, auto_round;
	enum gq_label label;
} kinds[] = {
	{"{\"quant_method\": \"gptq\"}", 1, true, false, GQ_LABEL_ABSENT},
	{"{\"method\": \"GPTQ\"}", 1, true, false, GQ_LABEL_ABSENT},
	{"{\"quant_method\": \"auto_round\"}", 1, true, true, GQ_LABEL_ABSENT},
	{"{\"quant_method\": \"AutoRound\"}", 1, true, true, GQ_LABEL_ABSENT},
	{"{\"bits\": 4}", 0, false, false, GQ_LABEL_ABSENT},
	{"{\"group_size\": 4, \"desc_act\": false}", 0, false, false, GQ_LABEL_ABSENT},
	{"{\"bits\": 4, \"group_size\": null}", 0, false, false, GQ_LABEL_ABSENT},
	{"{\"wbits\": 4, \"q_group_size\": 1}", 1, true, false, GQ_LABEL_ABSENT},
	{"{\"bits\": \"four\", \"desc_act\": 0}", 1, true, false, GQ_LABEL_ABSENT},
	{"{\"bits\": 4, \"format\": \"gptq\"}", 1, true, false, GQ_LABEL_V1},
	{"{\"w_bit\": 4, \"q_group_size\": 128, \"zero_point\": true, \"version\": \"GEMM\"}", 1, false, false,
	 GQ_LABEL_FOREIGN},
	{"{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128}", 1, false, false, GQ_LABEL_FOREIGN},
	{"{\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\"}", 1, false, false,
	 GQ_LABEL_FOREIGN},
	{"{\"quant_method\": \"marlin\", \"bits\": 4}", 1, false, false, GQ_LABEL_FOREIGN},
	{"{\"quant_method\": \"newest\", \"bits\": 4, \"group_size\": 128}", 1, true, false, GQ_LABEL_UNKNOWN},
	{"{\"quant_method\": \"newest\"}", 1, false, false, GQ_LABEL_UNKNOWN},
	{"{\"quant_method\": 7, \"bits\": 4, \"group_size\": 1}", 1, true, false, GQ_LABEL_UNKNOWN},
	{"{\"format\": \"QDQ\", \"per_channel\": true}", 0, false, false, GQ_LABEL_ABSENT},
	{"[]", 0, false, false, GQ_LABEL_ABSENT},
	{"null", 0, false, false, GQ_LABEL_ABSENT},
	{"{\"quantization_config\": null}", 0, false, false, GQ_LABEL_ABSENT},
	{"{\"quantization_config\": {\"bits\": 4, \"sym\": true}}", 1, false, false, GQ_LABEL_ABSENT},
};

START_TEST(kinds_of_configs)
{
	struct gq_config_file file;
	struct gq_labels labels;

	read_text("q.json", GQ_CONFIG_STANDALONE, kinds[_i].text, &file);
	ck_assert_int_eq((int)file.n_configs, kinds[_i].configs);
	if (kinds[_i].configs) {
		ck_assert_int_eq(file.configs[0].is_gptq, kinds[_i].gptq);
		ck_assert_int_eq(file.configs[0].is_auto_round, kinds[_i].auto_round);
	}
	ck_assert_int_eq(gq_labels_combine(&file, 1, NULL, 0, &labels, NULL), GPTQ_OK);
	ck_assert_int_eq(labels.value, kinds[_i].label);
	gq_labels_free(&labels);
	gq_config_free(&file);
}
END_TEST

START_TEST(aliases_case_and_duplicates)
{
	struct gq_config_file file;
	const struct gq_config *config;

	read_text("q.json", GQ_CONFIG_STANDALONE,
		  "{\"BITS\": 8, \"Bits\": 4, \"w_bit\": 2, \"wbits\": 3, \"q_group_size\": 64, \"zero_point\": true,"
		  " \"Desc_Act\": 1.5, \"static_groups\": -0.0, \"lm_head\": 0e9, \"pack_dtype\": 32,"
		  " \"FORMAT\": \"gptq\", \"format\": \"gptq_v2\", \"COMPATIBLE_WITH_AUTOGPTQ\": 1,"
		  " \"version\": \"GPTQ\", \"rotation\": \"hadamard\","
		  " \"meta\": {\"static_groups\": true, \"quantizer\": [7, \"none\", \"qllm:0.2\", \"tgi:1\"]},"
		  " \"autoround_version\": \"0.5\", \"gptq_tools\": {\"v1_style\": \"lane\"}}",
		  &file);
	config = &file.configs[0];
	ck_assert_int_eq(number(config->bits), 4);
	ck_assert_int_eq(number(config->group_size), 64);
	ck_assert_int_eq(flag(config->sym), 'f');
	ck_assert_int_eq(flag(config->desc_act), 't');
	ck_assert_int_eq(flag(config->static_groups), 'f');
	ck_assert_int_eq(flag(config->lm_head), 'f');
	ck_assert_int_eq(flag(config->compatible_with_autogptq), 't');
	ck_assert_ptr_null(config->pack_dtype);
	ck_assert_str_eq(config->version, "GPTQ");
	ck_assert_str_eq(config->rotation, "hadamard");
	ck_assert_str_eq(config->v1_style, "lane");
	ck_assert_uint_eq(config->n_producers, 3);
	ck_assert_int_eq(config->producers[0].id, GQ_PRODUCER_QLLM);
	ck_assert_int_eq(config->producers[2].id, GQ_PRODUCER_AUTO_ROUND);
	ck_assert_uint_eq(file.n_places, 2);
	ck_assert_str_eq(file.places[0].key, "FORMAT");
	ck_assert_int_eq(file.places[0].label, GQ_LABEL_V1);
	ck_assert_int_eq(file.places[1].label, GQ_LABEL_V2);
	gq_config_free(&file);
}
END_TEST

START_TEST(nested_configs_are_found)
{
	struct gq_config_file file;

	read_text("config.json", GQ_CONFIG_MODEL,
		  "{\"bits\": 4, \"group_size\": 1, \"quantization_config\": {\"quant_method\": \"gptq\"},"
		  " \"text_config\": {\"quantization_config\": {\"quant_method\": \"gptq\", \"format\": \"gptq\"}},"
		  " \"a\\u0007b\": {\"quantization_config\": {\"quant_method\": \"awq\"}},"
		  " \"deeper\": {\"still\": {\"quantization_config\": {\"quant_method\": \"gptq\"}}}}",
		  &file);
	ck_assert_uint_eq(file.n_configs, 3);
	ck_assert_str_eq(file.configs[0].where, "config.json: quantization_config");
	ck_assert_str_eq(file.configs[1].where, "config.json: text_config.quantization_config");
	ck_assert_str_eq(file.configs[2].path, "a\\u0007b.quantization_config");
	ck_assert_uint_eq(file.n_places, 2);
	ck_assert_str_eq(file.places[0].key, "text_config.quantization_config.format");
	ck_assert_uint_eq(file.places[0].config, 1);
	ck_assert_str_eq(file.places[1].key, "a\\u0007b.quantization_config.quant_method");
	gq_config_free(&file);
}
END_TEST

static void refuse(const char *text, size_t size, enum gptq_status status, uint64_t offset)
{
	struct gq_config_file file;
	struct gptq_error err;

	ck_assert_int_eq(gq_config_read("quantize_config.json", GQ_CONFIG_STANDALONE, text, size, &file, &err), status);
	ck_assert_str_eq(err.file, "quantize_config.json");
	ck_assert_uint_eq(err.offset, offset);
	ck_assert_ptr_null(file.text);
}

START_TEST(bad_texts_are_refused_with_their_offset)
{
	struct gq_buf deep = {0};
	char *large = gq_calloc(GQ_CONFIG_MAX_BYTES + 1, 1);

	refuse("", 0, GPTQ_E_FORMAT, 0);
	refuse("{\"bits\": 4,}", 12, GPTQ_E_FORMAT, 11);
	refuse("{\"bits\": 4, \"bits\": 4}", 22, GPTQ_E_FORMAT, 12);
	refuse("{\"q\": {\"a\": 1, \"\\u0061\": 2}}", 28, GPTQ_E_FORMAT, 15);
	refuse("{\"a\": '1'}", 10, GPTQ_E_FORMAT, 6);
	refuse("\xef\xbb\xbf\xef\xbb\xbf{}", 8, GPTQ_E_FORMAT, 3);
	for (int i = 0; i < 100000; i++)
		gq_buf_puts(&deep, "{\"quantization_config\":");
	refuse(deep.data, deep.size, GPTQ_E_FORMAT, 127 * 23);
	gq_buf_free(&deep);
	memset(large, ' ', GQ_CONFIG_MAX_BYTES + 1);
	refuse(large, GQ_CONFIG_MAX_BYTES + 1, GPTQ_E_LIMIT, GPTQ_NO_OFFSET);
	gq_free(large);
}
END_TEST

START_TEST(python_texts_are_accepted)
{
	struct gq_config_file file;

	read_text("q.json", GQ_CONFIG_STANDALONE,
		  "\xef\xbb\xbf{\"bits\": 4, \"group_size\": 32, \"a\": NaN, \"b\": [Infinity, -Infinity],"
		  " \"c\": \"\\udc00\", \"damp_percent\": 1e-400}",
		  &file);
	ck_assert_uint_eq(file.n_configs, 1);
	gq_config_free(&file);
}
END_TEST

/* Long strings everywhere, many configs, many spellings of one key: bounded, and never shown in full. */
START_TEST(large_contents_are_bounded)
{
	struct gq_config_file file;
	struct gq_buf text = {0}, word = {0};
	struct gptq_error err;

	for (int i = 0; i < 1 << 20; i++)
		gq_buf_puts(&word, "w");
	gq_buf_printf(&text,
		      "{\"bits\": 4, \"format\": \"%s\", \"quant_method\": \"%s\", \"meta\": {\"quantizer\": \"%s:1\"},"
		      " \"%s\": {\"quantization_config\": {\"checkpoint_format\": \"%s\"}}}",
		      word.data, word.data, word.data, word.data, word.data);
	read_text("q.json", GQ_CONFIG_STANDALONE, text.data, &file);
	ck_assert_uint_eq(file.n_configs, 2);
	for (size_t i = 0; i < file.n_places; i++)
		ck_assert_uint_lt(strlen(file.places[i].key) + strlen(file.places[i].value), 1024);
	gq_config_free(&file);

	text.size = 0;
	gq_buf_puts(&text, "{\"x\": 0");
	for (int i = 0; i < 65; i++)
		gq_buf_printf(&text, ", \"m%d\": {\"quantization_config\": {}}", i);
	gq_buf_puts(&text, "}");
	ck_assert_int_eq(gq_config_read("q", GQ_CONFIG_MODEL, text.data, text.size, &file, &err), GPTQ_E_LIMIT);

	text.size = 0;
	gq_buf_puts(&text, "{\"quant_method\": \"gptq\"");
	for (unsigned i = 0; i < 1025; i++) {
		char key[] = "checkpoint_format";

		for (unsigned bit = 0; bit < 10; bit++)
			if (i >> bit & 1)
				key[bit] = (char)(key[bit] - 'a' + 'A');
		gq_buf_printf(&text, ", \"%s\": \"gptq\"", i == 1024 ? "FORMAT" : key);
	}
	gq_buf_puts(&text, "}");
	ck_assert_int_eq(gq_config_read("q", GQ_CONFIG_MODEL, text.data, text.size, &file, &err), GPTQ_OK);
	gq_config_free(&file);
	ck_assert_int_eq(gq_config_read("q", GQ_CONFIG_STANDALONE, text.data, text.size, &file, &err), GPTQ_E_LIMIT);
	gq_buf_free(&text);
	gq_buf_free(&word);
}
END_TEST

START_TEST(memory_may_run_out_anywhere)
{
	char text[4096];
	struct gq_config_file file;
	struct gptq_error err;
	size_t size = load("28", text, sizeof(text));

	for (long n = 0;; n++) {
		enum gptq_status st;

		gq_mem_fail_after(n);
		st = gq_config_read("q.json", GQ_CONFIG_STANDALONE, text, size, &file, &err);
		gq_mem_fail_after(-1);
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
	Suite *suite = suite_create("config");
	TCase *tc = tcase_create("config");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, real_configs_mean_what_they_say, 0, N_ELEMENTS(real_configs));
	tcase_add_test(tc, details_of_three_real_configs);
	tcase_add_loop_test(tc, words_of_labels, 0, N_ELEMENTS(labels_of_words));
	tcase_add_loop_test(tc, kinds_of_configs, 0, N_ELEMENTS(kinds));
	tcase_add_test(tc, aliases_case_and_duplicates);
	tcase_add_test(tc, nested_configs_are_found);
	tcase_add_test(tc, bad_texts_are_refused_with_their_offset);
	tcase_add_test(tc, python_texts_are_accepted);
	tcase_add_test(tc, large_contents_are_bounded);
	tcase_add_test(tc, memory_may_run_out_anywhere);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
