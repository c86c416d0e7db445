/* SPDX-License-Identifier: Apache-2.0 */
#include "base/codes.h"

#include "base/mem.h"

static const struct {
	const char *text;
	enum gq_severity severity;
} codes[GQ_N_CODES] = {
#define X(name, text, severity) [GQ_CODE_##name] = {text, GQ_SEVERITY_##severity},
	GQ_CODES(X)
#undef X
};

const char *gq_code_text(enum gq_code code)
{
	return codes[code].text;
}

enum gq_severity gq_code_severity(enum gq_code code)
{
	return codes[code].severity;
}

enum gptq_status gq_problems_add(struct gq_problems *problems, enum gq_code code, const struct gptq_error *error,
				 struct gptq_error *err)
{
	void *items = gq_array_more(problems->items, problems->n, sizeof(*problems->items));

	if (!items)
		return gq_fail_nomem(err);
	problems->items = items;
	problems->items[problems->n++] = (struct gq_problem){.code = code, .error = *error};
	return GPTQ_OK;
}

const struct gq_problem *gq_problems_first(const struct gq_problems *problems, enum gq_severity severity)
{
	for (size_t i = 0; i < problems->n; i++)
		if (gq_code_severity(problems->items[i].code) == severity)
			return &problems->items[i];
	return NULL;
}

void gq_problems_free(struct gq_problems *problems)
{
	gq_free(problems->items);
	*problems = (struct gq_problems){0};
}
