/* SPDX-License-Identifier: Apache-2.0 */
#include "json_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static cJSON *need(cJSON *item)
{
	if (!item) {
		fputs("out of memory while building JSON output\n", stderr);
		exit(CLI_TROUBLE);
	}
	return item;
}

cJSON *json_object(void)
{
	return need(cJSON_CreateObject());
}

cJSON *json_add_object(cJSON *to, const char *key)
{
	return need(cJSON_AddObjectToObject(to, key));
}

cJSON *json_add_array(cJSON *to, const char *key)
{
	return need(cJSON_AddArrayToObject(to, key));
}

cJSON *json_add_item(cJSON *array)
{
	cJSON *o = json_object();

	cJSON_AddItemToArray(array, o);
	return o;
}

void json_add_item_string(cJSON *array, const char *value)
{
	cJSON_AddItemToArray(array, need(cJSON_CreateString(value)));
}

void json_add_item_number(cJSON *array, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	cJSON_AddItemToArray(array, need(cJSON_CreateRaw(digits)));
}

void json_add_string(cJSON *to, const char *key, const char *value)
{
	need(value ? cJSON_AddStringToObject(to, key, value) : cJSON_AddNullToObject(to, key));
}

void json_add_path(cJSON *to, const char *key, const char *path)
{
	char masked[4096];

	cli_mask(masked, sizeof(masked), path);
	json_add_string(to, key, masked);
}

void json_add_bool(cJSON *to, const char *key, bool value)
{
	need(cJSON_AddBoolToObject(to, key, value));
}

void json_add_null(cJSON *to, const char *key)
{
	need(cJSON_AddNullToObject(to, key));
}

void json_add_number(cJSON *to, const char *key, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	need(cJSON_AddRawToObject(to, key, digits));
}

void json_add_double(cJSON *to, const char *key, double value)
{
	char digits[40];

	if (!isfinite(value)) {
		json_add_null(to, key);
		return;
	}
	snprintf(digits, sizeof(digits), "%.6g", value);
	need(cJSON_AddRawToObject(to, key, digits));
}

void json_add_error(cJSON *to, const struct gptq_error *err)
{
	cJSON *o = json_add_object(to, "error");
	char text[4096];

	gptq_error_format(err, text, sizeof(text));
	json_add_string(o, "status", gptq_status_name(err->status));
	json_add_string(o, "text", text);
	json_add_string(o, "file", err->file[0] ? err->file : NULL);
	json_add_string(o, "tensor", err->tensor[0] ? err->tensor : NULL);
	if (err->offset != GPTQ_NO_OFFSET)
		json_add_number(o, "offset", err->offset);
	else
		json_add_null(o, "offset");
	json_add_string(o, "found", err->found[0] ? err->found : NULL);
	json_add_string(o, "expected", err->expected[0] ? err->expected : NULL);
}

/* The text of an item, which is freed; cJSON_free() it. */
static char *text_of(cJSON *item)
{
	char *text = cJSON_PrintUnformatted(item);

	if (!text)
		need(NULL);
	cJSON_Delete(item);
	return text;
}

void json_print(FILE *out, cJSON *root)
{
	char *text = text_of(root);

	fprintf(out, "%s\n", text);
	cJSON_free(text);
}

void json_stream_begin(struct json_stream *s, FILE *out)
{
	*s = (struct json_stream){.out = out};
	fputc('{', out);
}

static void separate(struct json_stream *s)
{
	if (s->more)
		fputc(',', s->out);
	s->more = true;
}

void json_stream_members(struct json_stream *s, cJSON *object)
{
	char *text = text_of(object);
	size_t n = strlen(text);

	if (n > 2) { /* without its braces */
		separate(s);
		fwrite(text + 1, 1, n - 2, s->out);
	}
	cJSON_free(text);
}

void json_stream_array(struct json_stream *s, const char *key)
{
	separate(s);
	fprintf(s->out, "\"%s\":[", key);
	s->more = false;
}

void json_stream_item(struct json_stream *s, cJSON *item)
{
	char *text = text_of(item);

	separate(s);
	fputs(text, s->out);
	cJSON_free(text);
}

void json_stream_array_end(struct json_stream *s)
{
	fputc(']', s->out);
	s->more = true;
}

void json_stream_end(struct json_stream *s)
{
	fputs("}\n", s->out);
}
