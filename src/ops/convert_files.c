/* SPDX-License-Identifier: Apache-2.0 */
/* Which file of the folder goes over how: rewritten, copied, or left out because it would no longer be true. */
#include "base/mem.h"
#include "base/slurp.h"
#include "ops/convert_internal.h"

#include <ctype.h>
#include <string.h>

struct gq_unit *gq_unit_of_file(const struct gq_conversion *cv, const char *name, uint32_t *shard)
{
	const struct gq_shards *shards = &cv->units[0].source.shards;

	for (uint32_t i = 0; i < shards->n; i++) {
		if (strcmp(shards->items[i].name, name) == 0) {
			*shard = i;
			return &cv->units[0];
		}
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
	for (size_t i = 0; i < u->source.layers.n; i++)
		if (u->source.layers.items[i].qzeros->shard == shard && gq_layer_changes(cv, u, i))
			return true;
	for (size_t i = 0; i < u->source.n_metadata; i++)
		if (u->source.metadata_shard[i] == shard && u->source.metadata[i].label != GQ_LABEL_ABSENT &&
		    u->source.metadata[i].label != (cv->to == GPTQ_ZEROS_V1 ? GQ_LABEL_V1 : GQ_LABEL_V2))
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

enum gptq_status gq_is_stale_checksum(const struct gq_conversion *cv, const char *name, bool *stale,
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

static bool is_other_weights(const char *name)
{
	static const char *const suffixes[] = {".bin", ".pt", ".pth", ".ckpt", ".gguf"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (gq_has_suffix(name, suffixes[i]))
			return true;
	return false;
}

enum gptq_status gq_convert_plan_files(struct gq_conversion *cv, struct gptq_error *err)
{
	const struct gq_source *s = &cv->units[0].source;
	struct gptq_convert_report *r = cv->report;
	enum gptq_status status = GPTQ_OK;

	r->n_bytes = s->file ? s->shards.items[0].size : 0;
	for (size_t i = 0; i < s->tree.n_skipped && status == GPTQ_OK; i++)
		status = gq_report_not_copied(r, s->tree.skipped[i], err);
	for (size_t i = 0; i < s->tree.n_entries && status == GPTQ_OK; i++) {
		const struct gq_tree_entry *e = &s->tree.entries[i];
		bool stale;

		if (e->is_dir)
			continue;
		status = gq_is_stale_checksum(cv, e->path, &stale, err);
		if (status != GPTQ_OK)
			break;
		if (stale) {
			status = gq_report_not_copied(r, e->path, err);
			if (status == GPTQ_OK)
				status = gq_report_warn(r, "checksums-not-copied", err,
							"%s names a file that changes, so it was not copied", e->path);
			continue;
		}
		r->n_bytes += e->size;
		if (r->n_layers_changed && is_other_weights(e->path))
			status = gq_report_warn(r, "other-weights", err,
						"%s was copied as it is and keeps the old zero points", e->path);
	}
	cv->watch.total = r->n_bytes;
	return status;
}
