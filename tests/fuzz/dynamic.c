/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines: patterns up to an empty line, then module paths. The first byte chooses `dynamic` or `extra_config`. Limits
 * must hold, so that nothing here takes long, and an answer must name its rule.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "quant/dynamic.h"

#include <string.h>

#define MAX_LINES 32

/* The next line; false at the end. */
static bool next_line(struct fuzz_input *in, const char **line, size_t *n)
{
	const uint8_t *end;

	if (!in->size)
		return false;
	end = memchr(in->data, '\n', in->size);
	*line = (const char *)in->data;
	*n = end ? (size_t)(end - in->data) : in->size;
	in->data += *n + (end != NULL);
	in->size -= *n + (end != NULL);
	return true;
}

static void add_key(struct gq_buf *text, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\' || c < 0x20)
			gq_buf_printf(text, "\\u%04x", c);
		else
			gq_buf_add(text, s + i, 1);
	}
}

/* Answers, and checks that they hold together. A rule that hit a limit may be dead the second time. */
static void ask(struct gq_dynamic *dynamic, const char *module, size_t n)
{
	size_t index, again;
	enum gq_dynamic_result result = gq_dynamic_match(dynamic, module, n, &index);
	const struct gq_dynamic_rule *rule;

	MUST((result == GQ_DYNAMIC_NONE) == (index == SIZE_MAX));
	MUST(gq_dynamic_match(dynamic, module, n, &again) == result && again == index);
	if (result == GQ_DYNAMIC_NONE)
		return;
	rule = gq_dynamic_rule_at(dynamic, index);
	MUST(rule && (result == GQ_DYNAMIC_LIMIT || rule->exclude == (result == GQ_DYNAMIC_EXCLUDE)));
}

static void run(const char *text, size_t size, struct fuzz_input *modules)
{
	struct gq_config_file file;
	struct gq_dynamic *dynamic;
	struct gptq_error err;
	const char *line;
	size_t n;

	if (gq_config_read("quantize_config.json", GQ_CONFIG_STANDALONE, text, size, &file, &err) != GPTQ_OK)
		return;            /* no UTF-8, or a pattern twice */
	MUST(file.n_configs >= 1); /* a pattern may be named quantization_config */
	MUST(gq_dynamic_new(&file, &file.configs[0], &dynamic, &err) == GPTQ_OK);
	for (size_t i = 0; i < gq_dynamic_count(dynamic); i++)
		MUST(gq_dynamic_rule_at(dynamic, i)->text);
	MUST(!gq_dynamic_rule_at(dynamic, gq_dynamic_count(dynamic)));
	for (unsigned i = 0; i < MAX_LINES && next_line(modules, &line, &n); i++)
		ask(dynamic, fuzz_guarded(SLOT_B, line, n), n);
	gq_dynamic_free(dynamic);
	gq_config_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	bool extra = fuzz_u8(&in) & 1;
	struct gq_buf text = {0};
	const char *line;
	size_t n;

	gq_buf_printf(&text, "{\"bits\":4,\"group_size\":128,\"quant_method\":\"gptq\",\"%s\":{",
		      extra ? "extra_config" : "dynamic");
	for (unsigned i = 0; i < MAX_LINES && next_line(&in, &line, &n) && n > 0; i++) {
		gq_buf_puts(&text, i ? ",\"" : "\"");
		add_key(&text, line, n);
		gq_buf_printf(&text, "\":{\"bits\":%u}", i & 1 ? 16 : 8);
	}
	gq_buf_puts(&text, "}}");
	MUST(!text.failed);
	run(text.data, text.size, &in);
	gq_buf_free(&text);
	return 0;
}
