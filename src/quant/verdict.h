/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From statistics to conclusions: v1 or v2 for each layer and for the model, and the v1 style for each width.
 * The first rule is never to be wrong; "undetermined" is always allowed.
 */
#ifndef GQ_QUANT_VERDICT_H
#define GQ_QUANT_VERDICT_H

#include "quant/stats.h"

/* What settled a verdict, strongest first. */
enum gq_rule {
	GQ_RULE_NONE = 0,
	GQ_RULE_SCATTER,      /* only gptqmodel-3bit makes zero points that follow the codes */
	GQ_RULE_SENTINEL,     /* every zero point is the midpoint */
	GQ_RULE_EXACT_ROWS,   /* rows that sit on the zero point */
	GQ_RULE_EXACT_GROUPS, /* groups that do */
	GQ_RULE_LOWEST_MAX,   /* lanes at M whose codes say z = 0 or z = M */
	GQ_RULE_SPIKE,        /* the zero point is by far the commonest code */
	GQ_RULE_MEAN_SHIFT,   /* mean code less mean lane: the last resort */
	GQ_RULE_MAJORITY,     /* models: nine in ten of the layers that strong rules settle */
	GQ_RULE_MEDIAN,       /* models: the median of the layers' mean shifts */
};

/* "scatter", "sentinel", "exact-rows", ...; "none". Never NULL. */
const char *gq_rule_name(enum gq_rule rule);

/* One layer of the model, as far as it is known. */
struct gq_layer_facts {
	struct gq_pack pack;
	uint32_t shard;                    /* the file that holds its qzeros; numbered from 0 without large gaps */
	struct gq_zero_stats zeros;        /* of every layer */
	const struct gq_code_stats *codes; /* NULL: codes not read */
};

/* The figures behind a layer's verdict; NAN where there is none. */
struct gq_layer_verdict {
	enum gptq_verdict verdict;
	enum gq_rule rule;
	enum gq_sentinel sentinel;
	bool legacy;            /* 3 bits: its zero points are gptqmodel-3bit's */
	bool scatter_open;      /* 3 bits: plain or legacy could not be told, so no mean was looked at */
	bool contradicted;      /* strong rules were at odds, or the codes with the midpoint */
	double v[GQ_N_DECODES]; /* variance of m - z by reading */
	uint64_t rows_v1, rows_v2, groups_v1, groups_v2;
	uint64_t n_lowest_max;
	double ratio;             /* R = sum (M-m)^2 / sum m^2 over the lowest M of each word */
	uint64_t spike[4];        /* counts of q - L = -1, 0, 1, 2 */
	double a, b, se, sd, bar; /* mean shifts, their standard error, codes' deviation, bar U */
	bool shift_usable;        /* enough lanes kept, few of them at the ends */
	double correlation;       /* of mean code and zero point */
};

/*
 * Are the codes of a layer worth reading? Not where the lanes alone decide. At 2 and 3 bits the midpoint in every lane
 * can be chance (one group to a column, skewed weights), so that the codes must confirm it.
 */
bool gq_codes_wanted(const struct gq_zero_stats *zeros, struct gq_pack pack);

void gq_layer_judge(const struct gq_layer_facts *layer, struct gq_layer_verdict *out);

/* What the tensors say about the v1 style of one width, pooled over the model. */
struct gq_style_verdict {
	uint64_t n_layers;        /* layers of this width */
	enum gptq_v1_style style; /* NONE: undetermined */
	uint64_t n_max;           /* lanes at M */
	uint64_t n_telling;       /* lanes above the lowest M of their word */
	uint64_t n_differ;        /* lanes that lane and word decode differently */
	uint64_t above_word, above_lane, above_bell, n_zero, n_one;
	double lane_chance; /* ((n1 + 1) / (n0 + n1 + 2))^above_lane */
	double t, t_se;     /* the mean borrow: 0 lane, 1 word; NAN if no lane shows it */
	uint64_t t_count;
	uint64_t tall_words, tall_words_full, damaged_words, unknown_zeros;
	uint64_t smear_lanes;       /* lanes in question whose codes do not heap up at 0 ... */
	uint64_t smear_heaps;       /* ... and those that do */
	double smear_mean;          /* mean of m / M over the former; NAN if none was read */
	uint64_t n_legacy, n_plain; /* 3 bits: layers of either kind */
};

/* Index of a width in arrays by width; 4 widths: 2, 3, 4, 8. */
#define GQ_N_WIDTHS 4
unsigned gq_width_index(unsigned bits);
extern const unsigned gq_widths[GQ_N_WIDTHS];

/*
 * The styles of all widths, pooled over the layers that take part (an array of n; NULL: all). verdicts are those of
 * gq_layer_judge(). Fills style[0..GQ_N_WIDTHS-1] and returns the one name that covers all widths, or NONE.
 */
enum gptq_v1_style gq_styles_judge(const struct gq_layer_facts *layers, const struct gq_layer_verdict *verdicts,
				   const bool *takes_part, size_t n, struct gq_style_verdict *style);

/* One width's share in the verdict. */
struct gq_width_verdict {
	uint64_t n_layers, n_read;
	enum gptq_verdict verdict;
	enum gq_rule rule;
	uint64_t strong_v1, strong_v2; /* layers that strong rules settle */
	uint64_t weak_v1, weak_v2;     /* layers that only the mean shift settles */
	uint64_t n_median;             /* layers in the medians */
	double a, b, bar_a, bar_b;     /* medians and their bars */
};

struct gq_model_verdict {
	enum gptq_verdict verdict;
	enum gq_rule rule;
	uint64_t n_layers, n_read;
	uint64_t strong_v1, strong_v2;
	struct gq_width_verdict width[GQ_N_WIDTHS];
	struct gq_style_verdict style[GQ_N_WIDTHS]; /* meaningful where the verdict is v1 or mixed */
	enum gptq_v1_style model_style;             /* the one name that covers all widths; NONE if there is none */
	bool half_words;                            /* 64-bit words: lower and upper half are shifted differently */
	double half_shift, half_se; /* their difference; 1 half shifted, 0 not; NAN without 64-bit words */
	double correlation;         /* median over asymmetric layers; NAN if none */
	uint64_t n_correlated;
	uint64_t n_odd; /* layers that strong evidence sets against a settled model */
};

/*
 * Judges n layers and the model. verdicts has room for n; odd (NULL allowed, n booleans) tells the layers that
 * strong evidence sets against the model. GPTQ_E_NOMEM is the only failure.
 */
enum gptq_status gq_model_judge(const struct gq_layer_facts *layers, size_t n, struct gq_layer_verdict *verdicts,
				bool *odd, struct gq_model_verdict *out, struct gptq_error *err);

#endif
