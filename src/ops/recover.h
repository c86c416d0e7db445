/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying out what a journal says, forwards or backwards. What is done already is left alone, so any step may be
 * interrupted and all of it repeated. */
#ifndef GQ_OPS_RECOVER_H
#define GQ_OPS_RECOVER_H

#include "ops/journal.h"

/* Where an in-place conversion works. Holds the lock that keeps others out until it is closed. */
struct gq_place {
	char *dir;     /* the folder of the files */
	char *file;    /* base name of a lone file; NULL for a folder */
	char *journal; /* base name */
	int dir_fd, lock_fd;
};

/*
 * Finds the place that `path` (a folder, a hub cache's folder, a file) means and locks it. GPTQ_E_IO if another run
 * holds it, GPTQ_E_REFUSED for a link to a file.
 */
enum gptq_status gq_place_open(const char *path, struct gq_place *place, struct gptq_error *err);
void gq_place_close(struct gq_place *place);
/* Is there a journal? */
enum gptq_status gq_place_has_journal(const struct gq_place *place, bool *has, struct gptq_error *err);

/*
 * Opens the regular file `name` (relative) below dir_fd for reading and writing, through no link at all. Sets *link if
 * it failed because of one.
 */
int gq_open_beneath(int dir_fd, const char *name, bool *link);

struct gq_recovery {
	const struct gq_place *place;
	bool undo;
	unsigned n_threads; /* 0: one */
	const struct gptq_hooks *hooks;
	enum gptq_zeros_format from, to; /* the plan's, set by reading it */
	enum gptq_v1_style style;
	bool relabel;
	struct gq_recovered_file {
		int fd; /* -1 while closed */
		char *name;
		uint64_t size, ino, header_size, label_begin, label_size;
	} * files;
	size_t n_files, n_open;
	struct gq_planned {
		uint64_t ino, begin, end;
		uint32_t before, after; /* checksums */
	} * planned;                    /* what the journal is to write, while it is checked */
	size_t n_planned, room_planned;
	uint64_t n_texts, n_bytes_written, n_zeros_verified; /* results */
};

/*
 * Reads the whole journal and compares it with the files: each span must be as it was, as it shall become, or a mixture
 * of both byte by byte, as a crash leaves it. GPTQ_E_FORMAT or GPTQ_E_IO, naming the file, if anything else is found.
 * Nothing is changed. files_only: for the run that has just written the journal.
 */
enum gptq_status gq_recovery_check(struct gq_recovery *rc, bool files_only, struct gptq_error *err);
/* Writes what is not there yet, syncs, and removes the journal. *begun: something may have been written. */
enum gptq_status gq_recovery_run(struct gq_recovery *rc, bool *begun, struct gptq_error *err);
void gq_recovery_free(struct gq_recovery *rc);

/* The file of the current record, open. */
enum gptq_status gq_recovery_file(struct gq_recovery *rc, const struct gq_journal *j,
				  const struct gq_recovered_file **file, struct gptq_error *err);
/*
 * The current record's spans: check: each is in one of its states, and nothing is changed. Else writes those that are
 * not what they shall be; zero points that go forwards are read back and decoded.
 */
enum gptq_status gq_recovery_spans(struct gq_recovery *rc, const struct gq_journal *j, bool check,
				   struct gptq_error *err);
/* GPTQ_E_FORMAT unless both have the checksums that the current record says. */
enum gptq_status gq_recovery_check_states(const struct gq_journal *j, const void *old_bytes, const void *new_bytes,
					  struct gptq_error *err);
/* GPTQ_E_IO about a file, and that nothing was touched. */
enum gptq_status gq_recovery_fail(const char *name, struct gptq_error *err, const char *what);

/*
 * Notes a place that the current record writes. GPTQ_E_FORMAT if a record of its kind has no business there. The last
 * one, when all are noted: GPTQ_E_FORMAT if two are not the same but overlap.
 */
enum gptq_status gq_recovery_plan_span(struct gq_recovery *rc, const struct gq_journal *j,
				       const struct gq_recovered_file *f, uint64_t begin, uint64_t size,
				       struct gptq_error *err);
enum gptq_status gq_recovery_plan_config(struct gq_recovery *rc, const struct gq_journal *j, struct gptq_error *err);
enum gptq_status gq_recovery_check_plan(struct gq_recovery *rc, const struct gq_journal *j, struct gptq_error *err);

/* Appends the two ways out to a message. */
void gq_say_half_done(struct gptq_error *err);

#endif
