/* SPDX-License-Identifier: Apache-2.0 */
/* Filling and freeing the report of a conversion. */
#include "base/mem.h"
#include "ops/convert_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *gptq_style_source_name(enum gptq_style_source source)
{
	static const char *const names[] = {"none", "given", "record", "tensors", "producer"};

	return (size_t)source < sizeof(names) / sizeof(names[0]) ? names[source] : "none";
}

const char *gptq_phase_name(enum gptq_phase phase)
{
	static const char *const names[] = {"open", "survey", "write", "check", "prove", "finish"};

	return (size_t)phase < sizeof(names) / sizeof(names[0]) ? names[phase] : "none";
}

void gq_phase(struct gq_conversion *cv, enum gptq_phase phase)
{
	struct timespec ts;
	double now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
	if (cv->since > 0)
		cv->report->seconds[cv->phase] += now - cv->since;
	cv->phase = phase;
	cv->since = now;
}

enum gptq_status gq_report_warn(struct gptq_convert_report *r, const char *code, struct gptq_error *err,
				const char *fmt, ...)
{
	struct gptq_convert_warning *w = gq_array_more(r->warnings, r->n_warnings, sizeof(*w));
	char text[2048], masked[2048];
	va_list ap;

	if (!w)
		return gq_fail_nomem(err);
	r->warnings = w;
	w += r->n_warnings++;
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
	struct gptq_convert_label *l = gq_array_more(r->labels, r->n_labels, sizeof(*l));
	char masked[512];

	if (!l)
		return gq_fail_nomem(err);
	r->labels = l;
	l += r->n_labels++;
	gq_mask(masked, sizeof(masked), file, strlen(file), false); /* a shard may have any name */
	l->file = gq_strdup(masked);
	l->key = gq_strdup(key);
	l->old_value = old_value ? gq_strdup(old_value) : NULL;
	l->new_value = gq_strdup(new_value);
	if (!l->file || !l->key || !l->new_value || (old_value && !l->old_value))
		return gq_fail_nomem(err);
	return GPTQ_OK;
}

enum gptq_status gq_report_not_copied(struct gptq_convert_report *r, const char *name, struct gptq_error *err)
{
	char masked[512], **slot = gq_array_more(r->not_copied, r->n_not_copied, sizeof(*slot));

	if (!slot)
		return gq_fail_nomem(err);
	r->not_copied = slot;
	slot += r->n_not_copied++;
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
	for (size_t i = 0; i < r->n_digests; i++)
		gq_free(r->digests[i].name);
	gq_free(r->digests);
	gq_free(r->manifest);
	gq_free(r->labels);
	gq_free(r->readers_in);
	gq_free(r->readers_out);
	gq_free(r->warnings);
	gq_free(r->not_copied);
	gq_free(r->evidence);
	gq_free(r->record);
	gq_free(r->verify_device);
	gq_free(r->first_layer);
	gq_free(r);
}
