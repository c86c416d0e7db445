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

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Is it a cache folder: "models--..." by name, with snapshots/ inside and no weights of its own? */
static bool looks_like_cache(const char *path)
{
	char *snapshots = gq_path_join(path, "snapshots"), *blobs = gq_path_join(path, "blobs"),
	     *refs = gq_path_join(path, "refs");
	bool yes = snapshots && blobs && refs && is_folder(snapshots) && (is_folder(blobs) || is_folder(refs));

	gq_free(snapshots);
	gq_free(blobs);
	gq_free(refs);
	return yes;
}

/* refs/main holds the name of a snapshot: one word of hexadecimal digits. NULL if it does not. */
static char *main_snapshot(const char *path)
{
	char *ref = gq_path_join(path, "refs/main"), *text = NULL, *snapshot = NULL;
	size_t n = 0;

	if (ref && gq_read_file(ref, 4096, &text, &n, NULL) == GPTQ_OK) {
		while (n && isspace((unsigned char)text[n - 1]))
			n--;
		text[n] = '\0';
		for (size_t i = 0; i < n; i++)
			if (!isxdigit((unsigned char)text[i]))
				n = 0;
		if (n) {
			char *under = gq_path_join(path, "snapshots");

			snapshot = under ? gq_path_join(under, text) : NULL;
			gq_free(under);
		}
	}
	if (snapshot && !is_folder(snapshot)) {
		gq_free(snapshot);
		snapshot = NULL;
	}
	gq_free(text);
	gq_free(ref);
	return snapshot;
}

/* The snapshot that was written last; of two of one age the one whose name comes last. */
static char *newest_snapshot(const char *path)
{
	char *under = gq_path_join(path, "snapshots"), *best = NULL;
	DIR *dir = under ? opendir(under) : NULL;
	struct timespec best_time = {0};
	struct dirent *de;

	while (dir && (de = readdir(dir))) {
		struct stat st;
		char *p;

		if (de->d_name[0] == '.')
			continue;
		p = gq_path_join(under, de->d_name);
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
	return best;
}

enum gptq_status gq_locate_folder(const char *path, char **dir, struct gptq_error *err)
{
	*dir = NULL;
	if (!looks_like_cache(path)) {
		*dir = gq_strdup(path);
		return *dir ? GPTQ_OK : gq_fail_nomem(err);
	}
	*dir = main_snapshot(path);
	if (!*dir)
		*dir = newest_snapshot(path);
	if (*dir)
		return GPTQ_OK;
	gq_fail(err, GPTQ_E_NOTFOUND, "the cache folder holds no snapshot");
	gq_error_file(err, path);
	return GPTQ_E_NOTFOUND;
}
