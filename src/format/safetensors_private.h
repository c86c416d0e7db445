/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the safetensors reader share. */
#ifndef GQ_FORMAT_SAFETENSORS_PRIVATE_H
#define GQ_FORMAT_SAFETENSORS_PRIVATE_H

#include "base/json.h"
#include "base/json_dup.h"
#include "base/map.h"
#include "format/safetensors.h"

#define GQ_ST_PREFIX 8u /* bytes of the length before the header */

/* Sets fault, status GPTQ_E_FORMAT and message; returns the status. */
__attribute__((format(printf, 4, 5))) enum gptq_status
gq_st_fail(struct gq_st_diagnosis *diagnosis, struct gptq_error *err, enum gq_st_fault fault, const char *fmt, ...);

#define GQ_ST_RUNS 4

/* The names so far, to see that none stands twice. */
struct gq_st_names {
	uint32_t begin[GQ_ST_RUNS]; /* numbers of the tensors whose name is not behind the one before it */
	uint32_t n_runs;
	bool mapped; /* more runs than that, or wished so: all are in the map, which tells at once */
	bool twice;  /* a name that came before the map stands twice */
	struct gq_map map; /* name -> number */
};

void gq_st_names_init(struct gq_st_names *names, bool mapped);
void gq_st_names_free(struct gq_st_names *names);

/*
 * Adds the name of tensor number n, behind n others. GQ_MAP_OLD: it is that of tensor *before. It may tell only later.
 */
enum gq_map_result gq_st_names_add(struct gq_st_names *names, const struct gq_st_tensor *tensors, uint32_t n,
				   uint32_t *before);

/* When all n are added: is none there twice, as far as gq_st_names_add() did not say so? */
bool gq_st_names_differ(const struct gq_st_names *names, const struct gq_st_tensor *tensors, uint32_t n);

struct gq_st_parser {
	struct gq_st *st;
	struct gq_st_names names;
	struct gq_json js;
	struct gq_json_dup dup; /* keys that mean nothing to us, and what is below them */
	struct gq_map meta_keys;
	size_t strings_used;
	uint64_t max_tensors, max_dims, n_dims;
	uint32_t max_metadata;
	bool seen_metadata;
	size_t metadata_key; /* where its key stands */
	struct gq_st_diagnosis *diagnosis;
	struct gptq_error *err;
};

/* The next event of the header; a fault gets its place in the file and, where known, its true cause. */
enum gptq_status gq_st_next(struct gq_st_parser *p, struct gq_json_event *ev);

/* The value (or key) of event ev is not what must stand there. */
enum gptq_status gq_st_fail_value(struct gq_st_parser *p, const struct gq_json_event *ev, enum gq_st_fault fault,
				  const char *what, const char *expected);

/* A key (n bytes) stands twice, at these places in the header's text. */
enum gptq_status gq_st_fail_duplicate(struct gq_st_parser *p, const char *key, size_t n, size_t first, size_t second);

/* Reads the value that follows a tensor's name into t, whose name is set. */
enum gptq_status gq_st_read_entry(struct gq_st_parser *p, struct gq_st_tensor *t);

/* Fills the tables from st->header. err is not NULL. */
enum gptq_status gq_st_read_table(struct gq_st *st, struct gq_st_diagnosis *diagnosis, struct gptq_error *err);

/* Fills by_offset and checks that the tensors tile the data without gap; sets the alignment flags. */
enum gptq_status gq_st_check_layout(struct gq_st *st, const struct gq_st_limits *limits,
				    struct gq_st_diagnosis *diagnosis, struct gptq_error *err);

#endif
