/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GQ_CLI_VERIFY_PRINT_H
#define GQ_CLI_VERIFY_PRINT_H

#include "cli.h"

/* layers: a line for each layer, not only for those that differ. */
void verify_print_text(FILE *out, const char *const paths[2], const struct gptq_verify_report *r, bool layers);
void verify_print_json(FILE *out, const char *const paths[2], const struct gptq_verify_report *r, bool layers);
void verify_print_failure_json(FILE *out, const char *const paths[2], const struct gptq_error *err, int exit_code);

#endif
