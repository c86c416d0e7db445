/* SPDX-License-Identifier: Apache-2.0 */
/* Which program wrote a checkpoint, as its config says, and how that program stored z = 0 in v1. */
#ifndef GQ_FORMAT_PRODUCER_H
#define GQ_FORMAT_PRODUCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gq_producer_id {
	GQ_PRODUCER_OTHER = 0, /* a name that the table of styles does not know */
	GQ_PRODUCER_GPTQMODEL,
	GQ_PRODUCER_AUTO_ROUND,
	GQ_PRODUCER_AUTOGPTQ,
	GQ_PRODUCER_QLLM,
	GQ_PRODUCER_TGI,
};

/*
 * A version as far as it can be compared: up to four numbers (missing ones are 0), and whether a suffix makes it
 * older than those numbers (dev, a, b, rc, pre, alpha, beta, in any spelling: 7.0.0-dev < 7.0.0). Any other suffix
 * (+cu121, .post1) is ignored. `known` is false where the text does not begin with a number.
 */
struct gq_version {
	bool known;
	bool pre;
	uint32_t part[4];
};

struct gq_version gq_version_parse(const char *text);
/* Less than, equal to, greater than 0, as for strcmp; both must be known. */
int gq_version_compare(struct gq_version a, struct gq_version b);

/* Where the name stood. */
enum gq_producer_key {
	GQ_PRODUCER_KEY_QUANTIZER, /* meta.quantizer */
	GQ_PRODUCER_KEY_AUTOROUND, /* autoround_version */
	GQ_PRODUCER_KEY_METADATA,  /* __metadata__.auto_gptq_version */
};

struct gq_producer {
	enum gq_producer_id id;
	enum gq_producer_key key;
	char name[48];    /* as written, lower-cased, cut to fit: "gptqmodel", "intel/auto-round" */
	char version[48]; /* as written, cut to fit */
	struct gq_version v;
};

/* Fills p from one entry of meta.quantizer ("name:version"); false where there is no ':' or no name. */
bool gq_producer_from_entry(const char *entry, struct gq_producer *p);
/* From the value of autoround_version or of __metadata__.auto_gptq_version. */
void gq_producer_from_version(enum gq_producer_key key, const char *version, struct gq_producer *p);

/* What a producer's v1 means for lanes with z = 0. Names as in the man page. */
enum gq_producer_style {
	GQ_PSTYLE_OPEN = 0, /* the producer does not settle it */
	GQ_PSTYLE_LANE,
	GQ_PSTYLE_WORD,
	GQ_PSTYLE_GPTQMODEL_3BIT,
	GQ_PSTYLE_SMEARED,
	GQ_PSTYLE_REFUSE, /* auto-round at 3 bits: borrow and OR mixed, not to be undone: refuse if some z = 0 */
};

/*
 * The style at one width (2, 3, 4 or 8 bits; others: open). `auto_round_format`: quant_method names auto-round, as
 * against gptq. At 3 bits GPTQModel 7 and later gives LANE, at others WORD.
 */
enum gq_producer_style gq_producer_style(const struct gq_producer *p, unsigned bits, bool auto_round_format);
/* "lane", "word", "gptqmodel-3bit", "smeared", "refuse"; NULL for open. */
const char *gq_producer_style_name(enum gq_producer_style style);

/*
 * The one that counts among several of one config: the first whose id the table of styles knows, else the first; NULL
 * if n is 0.
 */
const struct gq_producer *gq_producer_first(const struct gq_producer *producers, size_t n);

/* GPTQModel's gate for asymmetric v1: does the first "gptqmodel" entry have a version of at least 0.9.0? */
bool gq_producer_passes_gptqmodel_gate(const struct gq_producer *producers, size_t n);

#endif
