/* SPDX-License-Identifier: Apache-2.0 */
/* The words that stand in label places and in quant_method, and what each means. */
#ifndef GQ_FORMAT_WORDS_H
#define GQ_FORMAT_WORDS_H

#include "format/config.h"

/*
 * The meaning of a string in a label place. "gptq" and "gptq_v2" must be spelled exactly so: loaders part company on
 * "GPTQ_V2". Words of other formats are known in any case of letters. *format is set for GQ_LABEL_FOREIGN, else NULL.
 * Not for GQ_KEY_METHOD.
 */
enum gq_label gq_word_label(enum gq_label_key key, const char *word, size_t n, const struct gq_foreign_format **format);

/* What a quant_method names. */
enum gq_method { GQ_METHOD_GPTQ, GQ_METHOD_AUTO_ROUND, GQ_METHOD_FOREIGN, GQ_METHOD_UNKNOWN };
enum gq_method gq_word_method(const char *word, size_t n, const struct gq_foreign_format **format);

/* The table's entry for a word, without ASCII case; NULL if it is in none. */
const struct gq_foreign_format *gq_word_foreign(const char *word, size_t n);

#endif
