/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets over whole checkpoints share: files, and the proof that a conversion kept what it had to keep. */
#ifndef GQ_TESTS_FUZZ_MODEL_H
#define GQ_TESTS_FUZZ_MODEL_H

#include "fuzz.h"

#include "ops/source.h"

/* "DIR/NAME" in dst. */
void fuzz_place(char *dst, size_t size, const char *dir, const char *name);
bool fuzz_file_is(const char *path, const void *data, size_t size);
/* Entries of a folder but . and .. */
unsigned fuzz_entries_of(const char *path);

/* Must succeed. */
void fuzz_open(const char *path, const struct gq_source_options *options, struct gq_source *source);

/* The style in which v1 was read or written, if one name does for all widths. */
bool fuzz_one_style(const struct gptq_convert_report *r, enum gptq_v1_style *style);
/* The same layers, and in each the same zero points, by the plain loops: a in r->from, b in r->to. */
void fuzz_compare_zeros(struct gq_source *a, struct gq_source *b, const struct gptq_convert_report *r,
			enum gptq_v1_style style);
/* All tensors but the qzeros of layers are the same bytes; with zeros_too, those as well. */
void fuzz_compare_tensors(struct gq_source *a, struct gq_source *b, bool zeros_too);

/* Options of a conversion from one byte: 0x01 to v1, 0x06 style, 0x18 from, 0x20 per layer, 0x40 relabel, 0x80 accept
 * damaged. */
struct gptq_convert_options fuzz_convert_options(unsigned choice);

#endif
