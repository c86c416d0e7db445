/* SPDX-License-Identifier: Apache-2.0 */
/* Filling and freeing the report of a conversion. */
#include "base/mem.h"
#include "ops/convert_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *gptq_style_source_name(enum gptq_style_source source)
{
	static const char *const names[] = {"none", "given", "record", "tensors", "producer"};

	return (size_t)source < sizeof(names) / sizeof(names[0]) ? names[source] : "none";
}

/* Room for one more in an array of `size`-byte members. */
static void *one_more(void **array, size_t n, size_t size)
{
	void *grown = gq_realloc_array(*array, n + 1, size);

	if (!grown)
		return NULL;
	*array = grown;
	memset((char *)grown + n * size, 0, size);
	return (char *)grown + n * size;
}

enum gptq_status gq_report_warn(struct gptq_convert_report *r, const char *code, struct gptq_error *err,
				const char *fmt, ...)
{
	struct gptq_convert_warning *w = one_more((void **)&r->warnings, r->n_warnings, sizeof(*w));
	char text[2048], masked[2048];
	va_list ap;

	if (!w)
		return gq_fail_nomem(err);
	r->n_warnings++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gq_mask(masked, sizeof(masked), text, strlen(text), false);
	w->code = code;
	w->text = gq_strdup(masked);
	return w->text ? GPTQ_OK : gq_fail_nomem(err);
}

enum gptq_status gq_report_label(struct gptq_convert_report *r, const char *file, const char *key,
				 const char *old_value, const char *new_value, struct gptq_error *err)
{
	struct gptq_convert_label *l = one_more((void **)&r->labels, r->n_labels, sizeof(*l));

	if (!l)
		return gq_fail_nomem(err);
	r->n_labels++;
	l->file = gq_strdup(file);
	l->key = gq_strdup(key);
	l->old_value = old_value ? gq_strdup(old_value) : NULL;
	l->new_value = gq_strdup(new_value);
	if (!l->file || !l->key || !l->new_value || (old_value && !l->old_value))
		return gq_fail_nomem(err);
	return GPTQ_OK;
}

enum gptq_status gq_report_not_copied(struct gptq_convert_report *r, const char *name, struct gptq_error *err)
{
	char masked[512], **slot = one_more((void **)&r->not_copied, r->n_not_copied, sizeof(*slot));

	if (!slot)
		return gq_fail_nomem(err);
	r->n_not_copied++;
	gq_mask(masked, sizeof(masked), name, strlen(name), false);
	*slot = gq_strdup(masked);
	return *slot ? GPTQ_OK : gq_fail_nomem(err);
}

void gptq_convert_report_free(struct gptq_convert_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_labels; i++) {
		gq_free(r->labels[i].file);
		gq_free(r->labels[i].key);
		gq_free(r->labels[i].old_value);
		gq_free(r->labels[i].new_value);
	}
	for (size_t i = 0; i < r->n_warnings; i++)
		gq_free(r->warnings[i].text);
	for (size_t i = 0; i < r->n_not_copied; i++)
		gq_free(r->not_copied[i]);
	gq_free(r->labels);
	gq_free(r->readers_in);
	gq_free(r->readers_out);
	gq_free(r->warnings);
	gq_free(r->not_copied);
	gq_free(r->evidence);
	gq_free(r->record);
	gq_free(r->first_layer);
	gq_free(r);
}
