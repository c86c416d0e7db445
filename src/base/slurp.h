/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GQ_BASE_SLURP_H
#define GQ_BASE_SLURP_H

#include "gptq/gptq.h"

/*
 * A whole regular file in memory, with a NUL behind its last byte; gq_free(*data). GPTQ_E_NOTFOUND, GPTQ_E_IO,
 * GPTQ_E_NOMEM; GPTQ_E_LIMIT if it is larger than max bytes.
 */
enum gptq_status gq_read_file(const char *path, size_t max, char **data, size_t *size, struct gptq_error *err);

#endif
