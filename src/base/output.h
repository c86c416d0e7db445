/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output that appears only when it is whole: everything is written under a hidden name beside the final place,
 * synced, and renamed at the end. Dropping an output that was not committed removes all of it.
 */
#ifndef GQ_BASE_OUTPUT_H
#define GQ_BASE_OUTPUT_H

#include "gptq/gptq.h"

struct gq_output {
	char *final_path; /* without trailing slashes */
	char *temp_path;  /* beside it; NULL while nothing was created */
	char *parent;     /* the folder that holds both */
	bool is_dir;
	bool replace; /* an existing final_path may be replaced */
};

/*
 * Prepares writing `path` and creates the temporary folder (is_dir) or reserves the temporary file name.
 * GPTQ_E_ARG if path exists and replace is false, is a symbolic link, or is of the other kind (folder or file), or if
 * its parent is no folder; GPTQ_E_IO if the parent is not there or takes no new names.
 */
enum gptq_status gq_output_begin(const char *path, bool is_dir, bool replace, struct gq_output *out,
				 struct gptq_error *err);

/* Only the checks of gq_output_begin. */
enum gptq_status gq_output_check(const char *path, bool is_dir, bool replace, struct gptq_error *err);

/* Syncs the folders and renames. Afterwards only gq_output_drop (which then removes nothing) may be called. */
enum gptq_status gq_output_commit(struct gq_output *out, struct gptq_error *err);

/* Removes what was not committed and frees the struct's memory. Safe on a zeroed struct. */
void gq_output_drop(struct gq_output *out);

/* Can `nbytes` be written into the file system of folder `dir`? GPTQ_E_IO with ENOSPC and both figures if not. */
enum gptq_status gq_check_space(const char *dir, uint64_t nbytes, struct gptq_error *err);

/* The folder that will hold `path`: its parent as text ("." if path has no slash); gq_free it. */
char *gq_parent_dir(const char *path);

/* Is folder or file `inner` the same as, or somewhere below, the existing folder `outer`? Both as the system sees
 * them, links resolved; `inner` need not exist, then its nearest existing ancestor counts. */
bool gq_is_inside(const char *inner, const char *outer);

#endif
