/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about labels and configs: what they say, against each other and against the tensors. */
#include "base/mem.h"
#include "ops/inspect_internal.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------- labels */

static enum gptq_status label_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_source *s = &in->source;
	const struct gptq_inspect_report *r = in->report;
	const struct gq_labels *labels = &s->labels;
	const struct gq_label_place *p = labels->culprit ? labels->culprit : labels->n_sources ? labels->sources[0] : NULL;
	enum gptq_status status = GPTQ_OK;

	if (labels->value == GQ_LABEL_FOREIGN)
		return gq_find(in, GQ_CODE_NOT_GPTQ, p->file, err, "%s is \"%s\": the checkpoint is labelled %s (%s)", p->key,
			       p->value, p->format->name, p->format->sentence);
	if (labels->value == GQ_LABEL_UNKNOWN)
		return gq_find(in, GQ_CODE_LABEL_UNKNOWN, p->file, err,
			       "%s is \"%s\", a word that no known loader defines; it should say gptq or gptq_v2", p->key,
			       p->value);
	if (!labels->consistent) {
		const struct gq_label_place *q = labels->sources[1];

		for (size_t i = 1; i < labels->n_sources && q->label == p->label; i++)
			q = labels->sources[i];
		return gq_find(in, GQ_CODE_CONFIGS_DISAGREE, p->file, err,
			       "the format is given twice and differently: %s is \"%s\" in %s, but %s is \"%s\" in %s; "
			       "loaders read one or the other: make them say the same (gptq-convert --relabel)",
			       p->key, p->value, p->file, q->key, q->value, q->file);
	}
	if (r->agrees_with_label == GPTQ_NO && r->verdict != GPTQ_VERDICT_MIXED)
		return gq_find(in, GQ_CODE_LABEL_CONTRADICTS_TENSORS, p ? p->file : "", err,
			       "the label says %s, but the tensors are %s: loaders that trust the label read every zero point "
			       "off by one; gptq-convert --relabel mends the label, --to with --from converts",
			       labels->word, gptq_verdict_name(r->verdict));
	if (p || !s->layers.n)
		return GPTQ_OK;
	status = gq_find(in, GQ_CODE_LABEL_ABSENT, s->main ? s->main->where : "", err,
			 "no checkpoint_format (or other label) anywhere; every loader takes that for v1");
	if (status == GPTQ_OK && r->verdict == GPTQ_VERDICT_V2)
		status = gq_find(in, GQ_CODE_LABEL_ABSENT_BUT_V2, s->main ? s->main->where : "", err,
				 "no label, so every loader will read v1, but the tensors are v2; gptq-convert --relabel "
				 "writes the label");
	return status;
}

/* ------------------------------------------------------------------------------------- configs against each other */

static bool int_value(const struct gq_config *c, const char *key, int64_t *v)
{
	if (strcmp(key, "bits") == 0 && c->bits.present)
		*v = c->bits.value;
	else if (strcmp(key, "group_size") == 0 && c->group_size.present)
		*v = c->group_size.value;
	else if (strcmp(key, "sym") == 0 && c->sym.present)
		*v = c->sym.value;
	else if (strcmp(key, "desc_act") == 0 && c->desc_act.present)
		*v = c->desc_act.value;
	else
		return false;
	return true;
}

static void value_text(const char *key, int64_t v, char *dst, size_t size)
{
	if (strcmp(key, "sym") == 0 || strcmp(key, "desc_act") == 0)
		snprintf(dst, size, "%s", v ? "true" : "false");
	else
		snprintf(dst, size, "%lld", (long long)v);
}

/* Key by key: the first config that has it against all others. */
static enum gptq_status compare_configs(struct gq_inspection *in, const char *key, struct gptq_error *err)
{
	const struct gq_source *s = &in->source;
	const struct gq_config *first = NULL;
	int64_t want = 0, have;

	for (size_t i = 0; i < s->n_configs; i++) {
		for (size_t j = 0; j < s->configs[i].n_configs; j++) {
			const struct gq_config *c = &s->configs[i].configs[j];
			char a[32], b[32];

			if (!c->is_gptq || !int_value(c, key, &have))
				continue;
			if (!first) {
				first = c;
				want = have;
				continue;
			}
			if (have == want)
				continue;
			value_text(key, want, a, sizeof(a));
			value_text(key, have, b, sizeof(b));
			return gq_find(in, GQ_CODE_CONFIGS_DISAGREE, key, err,
				       "%s is %s in %s, but %s in %s; loaders read one or the other: make them say the same",
				       key, a, first->where, b, c->where);
		}
	}
	return GPTQ_OK;
}

/* ----------------------------------------------------------------------------------- configs against the tensors */

static enum gptq_status bits_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_source *s = &in->source;
	const struct gq_layer *bits_at = NULL, *group_at = NULL;
	uint64_t n_bits = 0, n_group = 0;
	struct gq_layer_claim bits_claim = {0}, group_claim = {0};
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < s->layers.n; i++) {
		const struct gq_layer *l = &s->layers.items[i];
		struct gq_layer_claim c = gq_source_claim(s, l->name, l->name_len);
		uint64_t groups = c.group_size > 0 ? (l->in_features - 1) / (uint64_t)c.group_size + 1 : 1;

		if (c.bits && c.bits != l->pack.bits && n_bits++ == 0) {
			bits_at = l;
			bits_claim = c;
		}
		if ((c.group_size > 0 || c.group_size == -1) && groups != l->groups && n_group++ == 0) {
			group_at = l;
			group_claim = c;
		}
	}
	if (n_bits)
		status = gq_find_layer(in, GQ_CODE_BITS_DISAGREE, bits_at, err,
				       "the config says %u bits, the tensors are %u bits, in %llu of %zu layers; correct the "
				       "config (or its dynamic rules)",
				       bits_claim.bits, bits_at->pack.bits, (unsigned long long)n_bits, s->layers.n);
	if (status == GPTQ_OK && n_group)
		status = gq_find_layer(in, GQ_CODE_GROUP_SIZE_DISAGREE, group_at, err,
				       "the config's group_size %lld does not give the %llu groups that scales has for %llu "
				       "rows, in %llu of %zu layers; correct the config (or its dynamic rules)",
				       (long long)group_claim.group_size, (unsigned long long)group_at->groups,
				       (unsigned long long)group_at->in_features, (unsigned long long)n_group, s->layers.n);
	return status;
}

static enum gptq_status flag_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_source *s = &in->source;
	const struct gptq_inspect_report *r = in->report;
	const struct gptq_layer_info *off = NULL;
	enum gptq_status status = GPTQ_OK;
	uint64_t n = 0;

	if (s->layers.n && s->main && !s->main->sym.present)
		status = gq_find(in, GQ_CODE_SYM_ABSENT, s->main->where, err,
				 "no sym flag; loaders take that for true");
	for (size_t i = 0; i < r->n_layers && in->surveyed; i++)
		if (r->layers[i].sym == GPTQ_NO && n++ == 0)
			off = &r->layers[i];
	if (status == GPTQ_OK && n && s->main && s->main->sym.present && s->main->sym.value)
		status = gq_find(in, GQ_CODE_SYM_NOT_CONSTANT, off->name, err,
				 "the config says sym: true, but zero points are not the midpoint in %llu of %zu layers: "
				 "Marlin kernels ignore them and read these layers wrong; set sym to false",
				 (unsigned long long)n, r->n_layers);
	if (status == GPTQ_OK && in->surveyed && s->main && s->main->desc_act.present && s->main->desc_act.value &&
	    r->n_layers && r->act_order_data == GPTQ_NO)
		status = gq_find(in, GQ_CODE_G_IDX_TRIVIAL_UNDER_DESC_ACT, s->main->where, err,
				 "desc_act is true, but every g_idx is plain k / group_size: loaders may take a slower path "
				 "for nothing (static_groups and act_group_aware do this)");
	return status;
}

/* ------------------------------------------------------------------------------------------------ dynamic rules */

struct rule_use {
	uint64_t n_matches, n_excluded_but_quantised, n_limit;
	const char *first;
	size_t first_len;
};

static void use_rules(struct gq_dynamic *dynamic, const char *module, size_t n, bool quantised, struct rule_use *uses)
{
	size_t rule = SIZE_MAX;
	enum gq_dynamic_result result = gq_dynamic_match(dynamic, module, n, &rule);

	if (rule == SIZE_MAX)
		return;
	uses[rule].n_matches++;
	uses[rule].n_limit += result == GQ_DYNAMIC_LIMIT;
	if (result == GQ_DYNAMIC_EXCLUDE && quantised && uses[rule].n_excluded_but_quantised++ == 0) {
		uses[rule].first = module;
		uses[rule].first_len = n;
	}
}

static enum gptq_status rule_findings(struct gq_inspection *in, const struct rule_use *uses, struct gptq_error *err)
{
	struct gq_dynamic *dynamic = in->source.dynamic;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < gq_dynamic_count(dynamic) && status == GPTQ_OK; i++) {
		const struct gq_dynamic_rule *rule = gq_dynamic_rule_at(dynamic, i);
		char text[256], name[256];

		gq_mask(text, sizeof(text), rule->text, strlen(rule->text), false);
		if (uses[i].n_excluded_but_quantised) {
			gq_mask(name, sizeof(name), uses[i].first, uses[i].first_len, false);
			status = gq_find(in, GQ_CODE_DYNAMIC_CONTRADICTED, name, err,
					 "the rule \"%s\" leaves this module out of quantisation, but it has a qweight (%llu "
					 "modules so): loaders that obey the rule will not load it",
					 text, (unsigned long long)uses[i].n_excluded_but_quantised);
		} else if (rule->problem) {
			status = gq_find(in, GQ_CODE_DYNAMIC_MATCHES_NOTHING, text, err,
					 "the pattern does not compile (%s), so the rule never applies", rule->problem);
		} else if (uses[i].n_limit) {
			status = gq_find(in, GQ_CODE_DYNAMIC_PATTERN_LIMIT, text, err,
					 "the pattern takes too long to match and was given up: what it says of its modules is "
					 "not known; write it more simply");
		} else if (!uses[i].n_matches) {
			status = gq_find(in, GQ_CODE_DYNAMIC_MATCHES_NOTHING, text, err,
					 "the rule matches no module of this checkpoint; a misspelt name?");
		}
	}
	return status;
}

/* "a.b.weight" of two dimensions is a module that could have been quantised. */
static bool is_plain_module(const struct gq_tensor *t, size_t *n)
{
	if (t->rank != 2 || t->name_len <= 7 || memcmp(t->name + t->name_len - 7, ".weight", 7) != 0)
		return false;
	*n = t->name_len - 7;
	return true;
}

static enum gptq_status dynamic_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_source *s = &in->source;
	size_t n_rules = s->dynamic ? gq_dynamic_count(s->dynamic) : 0, n;
	struct rule_use *uses = gq_calloc(n_rules, sizeof(*uses));
	enum gptq_status status;

	if (!uses)
		return gq_fail_nomem(err);
	for (size_t i = 0; n_rules && i < s->layers.n; i++)
		use_rules(s->dynamic, s->layers.items[i].name, s->layers.items[i].name_len, true, uses);
	for (size_t i = 0; n_rules && i < s->shards.n_tensors; i++)
		if (is_plain_module(&s->shards.tensors[i], &n))
			use_rules(s->dynamic, s->shards.tensors[i].name, n, false, uses);
	status = n_rules && s->layers.n ? rule_findings(in, uses, err) : GPTQ_OK;
	gq_free(uses);
	return status;
}

/* --------------------------------------------------------------------------------------------- lm_head, base name */

static enum gptq_status lm_head_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_source *s = &in->source;
	bool quantised = gq_shards_find(&s->shards, "lm_head.qweight", 15) != NULL;

	if (s->main && s->main->lm_head.present && s->main->lm_head.value != quantised && s->layers.n)
		return gq_find(in, GQ_CODE_LM_HEAD_DISAGREES, s->main->where, err,
			       quantised ? "lm_head is quantised, but the config says lm_head: false"
					 : "the config says lm_head: true, but lm_head is not quantised");
	if (quantised)
		return gq_find(in, GQ_CODE_LM_HEAD_QUANTISED, "lm_head", err,
			       "lm_head is quantised; not every loader can read that");
	return GPTQ_OK;
}

static enum gptq_status base_name_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_source *s = &in->source;
	const char *base = s->main ? s->main->base_name : NULL;
	size_t n = base ? strlen(base) : 0;
	char masked[256];

	if (!n || s->file)
		return GPTQ_OK;
	if (s->shards.index_name && strncmp(s->shards.index_name, base, n) == 0 &&
	    strcmp(s->shards.index_name + n, ".safetensors.index.json") == 0)
		return GPTQ_OK;
	for (size_t i = 0; i < s->shards.n; i++)
		if (strncmp(s->shards.items[i].name, base, n) == 0 &&
		    strcmp(s->shards.items[i].name + n, ".safetensors") == 0)
			return GPTQ_OK;
	gq_mask(masked, sizeof(masked), base, n, false);
	return gq_find(in, GQ_CODE_BASE_NAME_DEAD, s->main->where, err,
		       "model_file_base_name is \"%s\", but there is no %s.safetensors and no index of that name: loaders that "
		       "go by it find nothing; set it to null or to the right name",
		       masked, masked);
}

enum gptq_status gq_inspect_config_findings(struct gq_inspection *in, struct gptq_error *err)
{
	static const char *const keys[] = {"bits", "group_size", "sym", "desc_act"};
	enum gptq_status status = label_findings(in, err);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && status == GPTQ_OK; i++)
		status = compare_configs(in, keys[i], err);
	if (status == GPTQ_OK)
		status = bits_findings(in, err);
	if (status == GPTQ_OK)
		status = flag_findings(in, err);
	if (status == GPTQ_OK)
		status = dynamic_findings(in, err);
	if (status == GPTQ_OK)
		status = lm_head_findings(in, err);
	if (status == GPTQ_OK)
		status = base_name_findings(in, err);
	return status;
}
