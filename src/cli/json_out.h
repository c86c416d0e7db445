/* SPDX-License-Identifier: Apache-2.0 */
/* Building JSON output with cJSON. Running out of memory ends the program with a message: there is nothing to undo. */
#ifndef GQ_CLI_JSON_OUT_H
#define GQ_CLI_JSON_OUT_H

#include "cli.h"

#include <cjson/cJSON.h>

cJSON *json_object(void);
cJSON *json_add_object(cJSON *to, const char *key);
cJSON *json_add_array(cJSON *to, const char *key);
cJSON *json_add_item(cJSON *array); /* a new object at the end */
void json_add_item_string(cJSON *array, const char *value);
void json_add_item_number(cJSON *array, uint64_t value);
void json_add_string(cJSON *to, const char *key, const char *value); /* NULL: null. value must be UTF-8 */
void json_add_path(cJSON *to, const char *key, const char *path);    /* any bytes: masked where no UTF-8 */
void json_add_bool(cJSON *to, const char *key, bool value);
void json_add_null(cJSON *to, const char *key);
/* Digit by digit, so that no integer goes through a double. */
void json_add_number(cJSON *to, const char *key, uint64_t value);
void json_add_double(cJSON *to, const char *key, double value); /* NaN and infinite: null */
void json_add_error(cJSON *to, const struct gptq_error *err);   /* the member "error" */

/* Prints the object on one line and frees it. */
void json_print(FILE *out, cJSON *root);

#endif
