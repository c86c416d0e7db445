/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/locate.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/slurp.h"
#include "base/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Is `name` in the folder `path` a folder? GPTQ_E_NOMEM is the only failure. */
static enum gptq_status has_folder(const char *path, const char *name, bool *yes, struct gptq_error *err)
{
	char *full = gq_path_join(path, name);
	struct stat st;

	if (!full)
		return gq_fail_nomem(err);
	*yes = stat(full, &st) == 0 && S_ISDIR(st.st_mode);
	gq_free(full);
	return GPTQ_OK;
}

/* Is it a cache folder: with snapshots/ inside, and blobs/ or refs/? */
static enum gptq_status looks_like_cache(const char *path, bool *yes, struct gptq_error *err)
{
	bool snapshots = false, blobs = false, refs = false;
	enum gptq_status status = has_folder(path, "snapshots", &snapshots, err);

	if (status == GPTQ_OK)
		status = has_folder(path, "blobs", &blobs, err);
	if (status == GPTQ_OK)
		status = has_folder(path, "refs", &refs, err);
	*yes = snapshots && (blobs || refs);
	return status;
}

/* refs/main holds the name of a snapshot: one word of hexadecimal digits. *dir stays NULL if it does not. */
static enum gptq_status main_snapshot(const char *path, char **dir, struct gptq_error *err)
{
	char *ref = gq_path_join(path, "refs/main"), *under = gq_path_join(path, "snapshots"), *text = NULL;
	enum gptq_status status = ref && under ? GPTQ_OK : gq_fail_nomem(err);
	bool there = false;
	size_t n = 0;

	if (status == GPTQ_OK && gq_read_file(ref, 4096, &text, &n, err) == GPTQ_E_NOMEM)
		status = GPTQ_E_NOMEM;
	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!isxdigit((unsigned char)text[i]))
			n = 0;
	if (status == GPTQ_OK && n)
		status = has_folder(under, text, &there, err);
	if (status == GPTQ_OK && there) {
		*dir = gq_path_join(under, text);
		status = *dir ? GPTQ_OK : gq_fail_nomem(err);
	}
	gq_free(under);
	gq_free(text);
	gq_free(ref);
	return status;
}

/* The snapshot that was written last; of two of one age the one whose name comes last. */
static enum gptq_status newest_snapshot(const char *path, char **newest, struct gptq_error *err)
{
	char *under = gq_path_join(path, "snapshots"), *best = NULL;
	enum gptq_status status = under ? GPTQ_OK : gq_fail_nomem(err);
	DIR *dir = under ? opendir(under) : NULL;
	struct timespec best_time = {0};
	struct dirent *de;

	if (under && !dir)
		status = gq_fail_errno(err, errno, under, "cannot read the folder");
	while (status == GPTQ_OK && (de = readdir(dir))) {
		struct stat st;
		char *p;

		if (de->d_name[0] == '.')
			continue;
		p = gq_path_join(under, de->d_name);
		if (!p)
			status = gq_fail_nomem(err);
		if (p && stat(p, &st) == 0 && S_ISDIR(st.st_mode) &&
		    (!best || st.st_mtim.tv_sec > best_time.tv_sec ||
		     (st.st_mtim.tv_sec == best_time.tv_sec &&
		      (st.st_mtim.tv_nsec > best_time.tv_nsec ||
		       (st.st_mtim.tv_nsec == best_time.tv_nsec && strcmp(p, best) > 0))))) {
			gq_free(best);
			best = p;
			best_time = st.st_mtim;
		} else {
			gq_free(p);
		}
	}
	if (dir)
		closedir(dir);
	gq_free(under);
	if (status != GPTQ_OK) {
		gq_free(best);
		best = NULL;
	}
	*newest = best;
	return status;
}

enum gptq_status gq_locate_folder(const char *path, char **dir, struct gptq_error *err)
{
	bool cache = false;
	enum gptq_status status = looks_like_cache(path, &cache, err);

	*dir = NULL;
	if (status == GPTQ_OK && !cache) {
		*dir = gq_strdup(path);
		return *dir ? GPTQ_OK : gq_fail_nomem(err);
	}
	if (status == GPTQ_OK)
		status = main_snapshot(path, dir, err);
	if (status == GPTQ_OK && !*dir)
		status = newest_snapshot(path, dir, err);
	if (status != GPTQ_OK || *dir)
		return status;
	gq_fail(err, GPTQ_E_NOTFOUND, "the cache folder holds no snapshot");
	gq_error_file(err, path);
	return GPTQ_E_NOTFOUND;
}
