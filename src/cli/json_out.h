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

/*
 * The same for an object that may become large: it is printed as it comes, members and items of arrays one by one, so
 * that no more than one of them is in memory. What is handed over is freed. After a failure in the middle the document
 * is cut off, so whoever reads it must look at the exit status.
 */
struct json_stream {
	FILE *out;
	bool more; /* something stands before what comes next in this object or array */
};
void json_stream_begin(struct json_stream *s, FILE *out);
void json_stream_members(struct json_stream *s, cJSON *object); /* all that the object has */
void json_stream_array(struct json_stream *s, const char *key); /* a plain key; its items follow ... */
void json_stream_item(struct json_stream *s, cJSON *item);
void json_stream_array_end(struct json_stream *s);              /* ... up to here */
void json_stream_end(struct json_stream *s);

#endif
