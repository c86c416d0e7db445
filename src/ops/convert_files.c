/* SPDX-License-Identifier: Apache-2.0 */
/* Which file of the folder goes over how: rewritten, copied, or left out because it would no longer be true. */
#include "base/mem.h"
#include "base/slurp.h"
#include "ops/convert_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A folder's shards are in the order of their names. */
static int by_shard_name(const void *name, const void *shard)
{
	return strcmp(name, ((const struct gq_shard *)shard)->name);
}

struct gq_unit *gq_unit_of_file(const struct gq_conversion *cv, const char *name, uint32_t *shard)
{
	const struct gq_shards *shards = &cv->units[0].source.shards;
	const struct gq_shard *found =
		shards->n ? bsearch(name, shards->items, shards->n, sizeof(*shards->items), by_shard_name) : NULL;

	if (found) {
		*shard = (uint32_t)(found - shards->items);
		return &cv->units[0];
	}
	for (size_t i = 1; i < cv->n_units; i++) {
		if (strcmp(cv->units[i].name, name) == 0) {
			*shard = 0;
			return &cv->units[i];
		}
	}
	return NULL;
}

const struct gq_new_text *gq_text_of_file(const struct gq_conversion *cv, const char *name)
{
	for (size_t i = 0; i < cv->n_texts; i++)
		if (strcmp(cv->texts[i].name, name) == 0)
			return cv->texts[i].changed ? &cv->texts[i] : NULL;
	return NULL;
}

static bool is_checksum_file(const char *base)
{
	return strcmp(base, "SHA256SUMS") == 0 || gq_has_suffix(base, ".sha256");
}

/* Does the file of that relative path come out with other bytes than it went in with? */
static bool file_changes(const struct gq_conversion *cv, const char *name)
{
	uint32_t shard;
	const struct gq_unit *u = gq_unit_of_file(cv, name, &shard);

	if (gq_text_of_file(cv, name))
		return true;
	if (!u)
		return false;
	if (gq_spans_change(cv, u, shard))
		return true;
	for (size_t i = 0; i < u->source.n_metadata; i++)
		if (u->source.metadata_shard[i] == shard && u->source.metadata[i].label != GQ_LABEL_ABSENT &&
		    u->source.metadata[i].label != gq_label_of_format(cv->to))
			return true;
	return false;
}

/* Does `text` hold `word` with no character of a file name on either side? */
static bool names_file(const char *text, size_t size, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; size >= n && (p = memchr(p, word[0], (size_t)(text + size - n + 1 - p))); p++) {
		const char *q = p + n;
		bool before = p > text && (isalnum((unsigned char)p[-1]) || strchr("._-", p[-1]));
		bool after = q < text + size && (isalnum((unsigned char)*q) || strchr("._-", *q));

		if (memcmp(p, word, n) == 0 && !before && !after)
			return true;
		if (p == text + size - n)
			break;
	}
	return false;
}

static enum gptq_status is_stale(const struct gq_conversion *cv, const char *name, bool *stale,
				      struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	const char *base = gq_path_base(name);
	enum gptq_status status;
	char *path, *text;
	size_t size = 0;

	*stale = false;
	if (!is_checksum_file(base))
		return GPTQ_OK;
	path = gq_path_join(s->dir, name);
	if (!path)
		return gq_fail_nomem(err);
	status = gq_read_file(path, (size_t)64 << 20, &text, &size, err);
	gq_free(path);
	for (size_t i = 0; i < s->tree.n_entries && status == GPTQ_OK && !*stale; i++) {
		const char *other = s->tree.entries[i].path;
		size_t n = strlen(other);

		if (s->tree.entries[i].is_dir || !file_changes(cv, other))
			continue;
		/* by what it says, or by its own name: FILE.sha256 belongs to FILE */
		*stale = names_file(text, size, gq_path_base(other)) ||
			 (strncmp(name, other, n) == 0 && strcmp(name + n, ".sha256") == 0);
	}
	gq_free(text);
	return status;
}

enum gptq_status gq_is_left_out(const struct gq_conversion *cv, const char *name, bool *left_out,
				struct gptq_error *err)
{
	*left_out = false;
	if (gq_manifest_replaces(cv, name)) {
		*left_out = true;
		return GPTQ_OK;
	}
	return is_stale(cv, name, left_out, err);
}

static bool is_other_weights(const char *name)
{
	static const char *const suffixes[] = {".bin", ".pt", ".pth", ".ckpt", ".gguf"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (gq_has_suffix(name, suffixes[i]))
			return true;
	return false;
}

/* In place nothing is left out, but some of what stays is no longer true. */
static enum gptq_status plan_in_place(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_tree *tree = &cv->units[0].source.tree;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < tree->n_entries && status == GPTQ_OK; i++) {
		const char *name = tree->entries[i].path;
		bool stale;

		if (tree->entries[i].is_dir)
			continue;
		status = is_stale(cv, name, &stale, err);
		if (status == GPTQ_OK && stale)
			status = gq_report_warn(cv->report, "checksums-stale", err,
						"%s names a file that changes, and stays as it is: make it anew", name);
		if (status == GPTQ_OK && cv->report->n_layers_changed && is_other_weights(name))
			status = gq_report_warn(cv->report, "other-weights", err,
						"%s stays as it is and keeps the old zero points", name);
	}
	return status;
}

enum gptq_status gq_convert_plan_files(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	struct gptq_convert_report *r = cv->report;
	enum gptq_status status = GPTQ_OK;

	if (!cv->out)
		return plan_in_place(cv, err);
	r->n_bytes = s->file ? s->shards.items[0].size : 0;
	for (size_t i = 0; i < s->tree.n_skipped && status == GPTQ_OK; i++)
		status = gq_report_not_copied(r, s->tree.skipped[i], err);
	for (size_t i = 0; i < s->tree.n_entries && status == GPTQ_OK; i++) {
		const struct gq_tree_entry *e = &s->tree.entries[i];
		bool stale;

		if (e->is_dir)
			continue;
		status = is_stale(cv, e->path, &stale, err);
		if (status != GPTQ_OK)
			break;
		if (stale) {
			status = gq_report_not_copied(r, e->path, err);
			if (status == GPTQ_OK)
				status = gq_report_warn(r, "checksums-not-copied", err,
							"%s names a file that changes, so it was not copied", e->path);
			continue;
		}
		if (gq_manifest_replaces(cv, e->path)) {
			status = gq_report_not_copied(r, e->path, err);
			if (status == GPTQ_OK)
				status = gq_report_warn(r, "manifest-in-its-place", err,
							"%s was not copied: the manifest takes its place (--manifest=FILE "
							"writes it elsewhere)",
							e->path);
			continue;
		}
		r->n_bytes += e->size;
		if (r->n_layers_changed && is_other_weights(e->path))
			status = gq_report_warn(r, "other-weights", err,
						"%s was copied as it is and keeps the old zero points", e->path);
	}
	return status;
}
