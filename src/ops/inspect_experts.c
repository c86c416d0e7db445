/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about mixtures of experts. */
#include "ops/inspect_internal.h"

#include <string.h>

/* Does the module path have the part `word` (between dots)? *at: where it begins. */
static bool has_part(const char *name, size_t n, const char *word, size_t *at)
{
	size_t m = strlen(word);

	for (const char *part = name, *end = name + n; part < end;) {
		const char *dot = memchr(part, '.', (size_t)(end - part));
		const char *stop = dot ? dot : end;

		if ((size_t)(stop - part) == m && memcmp(part, word, m) == 0) {
			*at = (size_t)(part - name);
			return true;
		}
		part = stop + 1;
	}
	return false;
}

static bool is_router(const struct gq_layer *l)
{
	static const char *const last[] = {"gate", "router", "shared_expert_gate"};
	size_t at;

	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		size_t m = strlen(last[i]);

		/* The end first: it is the cheaper question, and nearly always settles it. */
		if (l->name_len >= m && memcmp(l->name + l->name_len - m, last[i], m) == 0 &&
		    has_part(l->name, l->name_len, last[i], &at) && at + m == l->name_len)
			return true;
	}
	return false;
}

/* A plain .weight among the experts of a block whose other experts are quantised, without a rule that says so. */
static enum gptq_status experts_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_source *s = &in->source;
	uint64_t n_quantised = 0, n_plain = 0;
	const struct gq_tensor *first = NULL;
	unsigned bits = 0;
	bool several = false;
	size_t at;

	for (size_t i = 0; i < s->layers.n; i++) {
		const struct gq_layer *l = &s->layers.items[i];

		if (!has_part(l->name, l->name_len, "experts", &at))
			continue;
		several = several || (bits && bits != l->pack.bits);
		bits = l->pack.bits;
		n_quantised++;
	}
	for (size_t i = 0; i < s->shards.n_tensors && n_quantised; i++) {
		const struct gq_tensor *t = &s->shards.tensors[i];
		size_t n = t->name_len > 7 ? t->name_len - 7 : 0;

		if (!n || t->rank != 2 || memcmp(t->name + n, ".weight", 7) != 0 ||
		    !has_part(t->name, n, "experts", &at))
			continue;
		if (s->dynamic && gq_dynamic_match(s->dynamic, t->name, n, NULL) == GQ_DYNAMIC_EXCLUDE)
			continue;
		if (n_plain++ == 0)
			first = t;
	}
	if (n_plain) {
		char name[256];

		gq_mask(name, sizeof(name), first->name, first->name_len, false);
		return gq_find(
			in, GQ_CODE_EXPERTS_MIXED, name, err,
			"of the experts' modules %llu are quantised and %llu are not, and no dynamic rule says so: "
			"loaders that fuse experts will fail or read them wrong; add a rule, or quantise all",
			(unsigned long long)n_quantised, (unsigned long long)n_plain);
	}
	if (several && !(s->main && (s->main->dynamic || s->main->extra_config)))
		return gq_find(
			in, GQ_CODE_EXPERTS_MIXED, "", err,
			"experts are quantised at several widths, and no dynamic rule says so: loaders that fuse them "
			"will fail; add a rule");
	return GPTQ_OK;
}

enum gptq_status gq_inspect_expert_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_tally routers = {0};
	bool experts = false;
	size_t at;

	for (size_t i = 0; i < in->source.layers.n; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];

		gq_tally_add(&routers, l, is_router(l));
		experts = experts || has_part(l->name, l->name_len, "experts", &at);
	}
	if (!routers.n)
		return experts ? experts_findings(in, err) : GPTQ_OK;
	if (gq_find_layer(in, GQ_CODE_ROUTER_QUANTISED, routers.first, err,
			  "routers are quantised (%llu): loaders expect them plain and fail at the names, and quality "
			  "suffers; quantise again without them",
			  (unsigned long long)routers.n) != GPTQ_OK)
		return GPTQ_E_NOMEM;
	return experts ? experts_findings(in, err) : GPTQ_OK;
}
