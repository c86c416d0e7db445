/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which modules a config leaves out or quantises in another way: GPTQModel's `dynamic` and auto-round's
 * `extra_config`.
 *
 * dynamic: object of pattern -> overrides. "-:" excludes; "+:" or no prefix overrides. Exclusions are tried first,
 * then the others, each in the order of the file; the first match wins. A pattern must match from the start of the
 * module path, not up to its end.
 * extra_config: object of module name or pattern -> overrides. A name that is equal comes first; else keys with a
 * character that is special in patterns are searched for anywhere in the path, in the order of the file. 16 bits and
 * more exclude.
 * Where a config has both, dynamic is asked first.
 *
 * The rules are claims: the tensors decide. So a pattern that does not compile, or that takes too long on some path,
 * is a problem of that rule and no error of the checkpoint.
 */
#ifndef GQ_QUANT_DYNAMIC_H
#define GQ_QUANT_DYNAMIC_H

#include "format/config.h"

struct gq_dynamic; /* compiled rules; one thread at a time, as it holds the matcher's scratch memory */

struct gq_dynamic_rule {
	const char *text; /* the key as written: "+:.*down_proj"; masked for messages */
	bool from_extra_config;
	bool exclude;
	struct gq_config_int bits, group_size;
	struct gq_config_flag sym, desc_act;
	const char *pack_dtype; /* NULL if not given */
	const char *problem;    /* NULL, or why the pattern does not compile: such a rule never matches */
};

enum gq_dynamic_result {
	GQ_DYNAMIC_NONE,     /* no rule matches */
	GQ_DYNAMIC_EXCLUDE,  /* left out of quantisation */
	GQ_DYNAMIC_OVERRIDE, /* the rule's values take the place of the config's */
	GQ_DYNAMIC_LIMIT,    /* the rule hit a limit, here or on a path before (it is not run again): not known */
};

/* GPTQ_E_NOMEM; GPTQ_E_LIMIT for over 65,536 rules. A config without rules gives an object that matches nothing. */
enum gptq_status gq_dynamic_new(const struct gq_config_file *file, const struct gq_config *config,
				struct gq_dynamic **dynamic, struct gptq_error *err);
void gq_dynamic_free(struct gq_dynamic *dynamic);

/* All rules: dynamic's exclusions, dynamic's others, extra_config's. */
size_t gq_dynamic_count(const struct gq_dynamic *dynamic);
const struct gq_dynamic_rule *gq_dynamic_rule_at(const struct gq_dynamic *dynamic, size_t index);

/* Asks the rules about a module path; *index (may be NULL): the rule that decided, SIZE_MAX if none. */
enum gq_dynamic_result gq_dynamic_match(struct gq_dynamic *dynamic, const char *module, size_t n, size_t *index);

/* GPTQ_E_NOMEM if memory ran out in some match, so that its answer (LIMIT) is not to be gone by; NULL is allowed. */
enum gptq_status gq_dynamic_check(const struct gq_dynamic *dynamic, struct gptq_error *err);

#endif
