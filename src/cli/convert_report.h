/* SPDX-License-Identifier: Apache-2.0 */
/* The report of gptq-convert for people and for programs, from the same struct. */
#ifndef GQ_CLI_CONVERT_REPORT_H
#define GQ_CLI_CONVERT_REPORT_H

#include "cli.h"

void convert_print_text(FILE *out, const char *in_path, const char *out_path, const struct gptq_convert_report *r,
			bool verbose);
/* One JSON object and a line feed; schema/gptq-convert.schema.json describes it. */
void convert_print_json(FILE *out, const char *in_path, const char *out_path, const struct gptq_convert_report *r);
void convert_print_failure_json(FILE *out, const char *in_path, const char *out_path, const struct gptq_error *err,
				int exit_code);

#endif
