/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GQ_OPS_LOCATE_H
#define GQ_OPS_LOCATE_H

#include "gptq/gptq.h"

/*
 * The folder that holds the checkpoint when the user names `path`: path itself, or, for a hub cache's
 * models--org--name folder, the snapshot that refs/main names, else the newest one. *dir: to be freed with gq_free.
 */
enum gptq_status gq_locate_folder(const char *path, char **dir, struct gptq_error *err);

#endif
