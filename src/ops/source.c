/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source.h"

#include "base/mem.h"
#include "base/output.h"
#include "base/slurp.h"
#include "ops/journal.h"
#include "ops/locate.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct gq_layer_claim gq_source_claim(void *ctx, const char *module, size_t n)
{
	const struct gq_source *s = ctx;
	const struct gq_config *c = s->main;
	struct gq_layer_claim claim = {0};
	size_t rule;

	if (!c) {
		claim.bits = s->bits;
		return claim;
	}
	if (c->bits.present && c->bits.value > 0 && c->bits.value <= 64)
		claim.bits = (unsigned)c->bits.value;
	if (c->group_size.present)
		claim.group_size = c->group_size.value;
	if (s->dynamic && gq_dynamic_match(s->dynamic, module, n, &rule) == GQ_DYNAMIC_OVERRIDE) {
		const struct gq_dynamic_rule *r = gq_dynamic_rule_at(s->dynamic, rule);

		if (r->bits.present && r->bits.value > 0 && r->bits.value <= 64)
			claim.bits = (unsigned)r->bits.value;
		if (r->group_size.present)
			claim.group_size = r->group_size.value;
	}
	if (s->bits)
		claim.bits = s->bits;
	return claim;
}

/* ------------------------------------------------------------------------------------------------- configs */

/* Reads one config file into the next slot; a broken one becomes a problem, an absent one is none. */
static enum gptq_status read_config(struct gq_source *s, const char *path, const char *name, enum gq_config_kind kind,
				    bool must_exist, struct gptq_error *err)
{
	enum gptq_status status;
	struct gptq_error e;
	char *text = NULL;
	size_t size = 0;

	status = gq_read_file(path, GQ_CONFIG_MAX_BYTES, &text, &size, &e);
	if (status == GPTQ_E_NOTFOUND && !must_exist)
		return GPTQ_OK;
	if (status == GPTQ_OK)
		status = gq_config_read(name, kind, text, size, &s->configs[s->n_configs], &e);
	gq_free(text);
	if (status == GPTQ_OK) {
		s->n_configs++;
		return GPTQ_OK;
	}
	if (status == GPTQ_E_NOMEM)
		return gq_fail_nomem(err);
	e.file[0] = '\0'; /* the whole path in the place of the base name */
	gq_error_file(&e, path);
	return gq_problems_add(&s->problems, GQ_CODE_CONFIG_INVALID, &e, err);
}

static enum gptq_status read_configs(struct gq_source *s, const struct gq_source_options *options,
				     struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	enum gq_config_kind kind;
	size_t n = 0;

	while (gq_config_names[n])
		n++;
	s->configs = gq_calloc(n + 1, sizeof(*s->configs));
	if (!s->configs)
		return gq_fail_nomem(err);
	if (options->config_path) {
		const char *name = gq_path_base(options->config_path);

		if (!gq_config_known_name(name, &kind))
			kind = GQ_CONFIG_STANDALONE;
		return read_config(s, options->config_path, name, kind, true, err);
	}
	for (size_t i = 0; i < n && status == GPTQ_OK; i++) {
		char *path = gq_path_join(s->dir, gq_config_names[i]);

		gq_config_known_name(gq_config_names[i], &kind);
		status = path ? read_config(s, path, gq_config_names[i], kind, false, err) : gq_fail_nomem(err);
		gq_free(path);
	}
	return status;
}

static enum gptq_status find_main(struct gq_source *s, struct gptq_error *err)
{
	for (size_t i = 0; i < s->n_configs && !s->main; i++) {
		for (size_t j = 0; j < s->configs[i].n_configs && !s->main; j++) {
			if (s->configs[i].configs[j].is_gptq) {
				s->main_file = &s->configs[i];
				s->main = &s->configs[i].configs[j];
			}
		}
	}
	return s->main ? gq_dynamic_new(s->main_file, s->main, &s->dynamic, err) : GPTQ_OK;
}

/* ------------------------------------------------------------------------------------ labels and producers */

static const struct gq_st_meta *metadata_value(const struct gq_shard *shard, const char *key)
{
	return shard->st ? gq_st_find_meta(shard->st, key) : NULL;
}

static enum gptq_status read_metadata(struct gq_source *s, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	s->metadata = gq_calloc(s->shards.n, sizeof(*s->metadata));
	s->metadata_shard = gq_calloc(s->shards.n, sizeof(*s->metadata_shard));
	if (!s->metadata || !s->metadata_shard)
		return gq_fail_nomem(err);
	for (uint32_t i = 0; i < s->shards.n && status == GPTQ_OK; i++) {
		const struct gq_st_meta *m = metadata_value(&s->shards.items[i], "gptq_checkpoint_format");

		if (!m)
			continue;
		status = gq_label_from_metadata(s->shards.items[i].name, m->value, m->value_size, m->value_begin,
						m->value_end, &s->metadata[s->n_metadata], err);
		if (status == GPTQ_OK)
			s->metadata_shard[s->n_metadata++] = i;
	}
	return status;
}

/* The producers of all configs in their order, then what __metadata__ says; the first that the table knows. */
static enum gptq_status find_producer(struct gq_source *s, struct gptq_error *err)
{
	const struct gq_producer *first;
	struct gq_producer *all;
	size_t n = 1, k = 0;

	for (size_t i = 0; i < s->n_configs; i++)
		for (size_t j = 0; j < s->configs[i].n_configs; j++)
			n += s->configs[i].configs[j].is_gptq ? s->configs[i].configs[j].n_producers : 0;
	all = gq_calloc(n, sizeof(*all));
	if (!all)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < s->n_configs; i++) {
		for (size_t j = 0; j < s->configs[i].n_configs; j++) {
			const struct gq_config *c = &s->configs[i].configs[j];

			if (!c->is_gptq)
				continue;
			for (size_t p = 0; p < c->n_producers; p++)
				all[k++] = c->producers[p];
			s->gate_open = s->gate_open || gq_producer_passes_gptqmodel_gate(c->producers, c->n_producers);
		}
	}
	for (size_t i = 0; i < s->shards.n; i++) {
		const struct gq_st_meta *m = metadata_value(&s->shards.items[i], "auto_gptq_version");

		if (m) {
			char version[64];

			gq_mask(version, sizeof(version), m->value, m->value_size, false);
			gq_producer_from_version(GQ_PRODUCER_KEY_METADATA, version, &all[k++]);
			break;
		}
	}
	first = gq_producer_first(all, k);
	if (first) {
		s->producer = *first;
		s->has_producer = true;
	}
	gq_free(all);
	return GPTQ_OK;
}

static enum gptq_status read_labels(struct gq_source *s, struct gptq_error *err)
{
	enum gptq_status status = read_metadata(s, err);

	if (status == GPTQ_OK)
		status = gq_labels_combine(s->configs, s->n_configs, s->metadata, s->n_metadata, &s->labels, err);
	if (status == GPTQ_OK)
		status = find_producer(s, err);
	return status;
}

/* -------------------------------------------------------------------------------------------------- opening */

static enum gptq_status open_folder(struct gq_source *s, bool tolerant, struct gptq_error *err)
{
	const char **names;
	enum gptq_status status = gq_tree_walk(s->dir, tolerant, &s->tree, err);
	size_t n = 0;

	if (status != GPTQ_OK)
		return status;
	names = gq_calloc(s->tree.n_entries, sizeof(*names));
	if (!names)
		return gq_fail_nomem(err);
	for (size_t i = 0; i < s->tree.n_entries; i++)
		if (!s->tree.entries[i].is_dir)
			names[n++] = s->tree.entries[i].path;
	status = gq_shards_open_folder(s->dir, names, n, &s->shards, &s->problems, err);
	gq_free(names);
	return status;
}

static enum gptq_status open_path(struct gq_source *s, const struct gq_source_options *options, struct gptq_error *err)
{
	const char *name;
	struct stat st;

	if (stat(s->path, &st) != 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return gq_fail_errno(err, errno, s->path, "cannot look at the input");
		gq_fail(err, GPTQ_E_NOTFOUND, "there is no such file or folder");
		gq_error_file(err, s->path);
		return GPTQ_E_NOTFOUND;
	}
	if (S_ISDIR(st.st_mode)) {
		enum gptq_status status;

		if (options->config_path || options->bits)
			return gq_fail(err, GPTQ_E_ARG, "--config and --bits are for a lone file; a folder has its own configs");
		status = gq_locate_folder(s->path, &s->dir, err);
		return status == GPTQ_OK ? open_folder(s, options->tolerant, err) : status;
	}
	s->file = gq_strdup(s->path);
	s->dir = gq_parent_dir(s->path);
	if (!s->file || !s->dir)
		return gq_fail_nomem(err);
	name = s->file;
	return gq_shards_open_files(NULL, &name, 1, &s->shards, &s->problems, err);
}

enum gptq_status gq_source_adopt(struct gq_st *st, const char *name, const struct gq_source_options *options,
				 struct gq_source *s, struct gptq_error *err)
{
	enum gptq_status status;

	memset(s, 0, sizeof(*s));
	s->path = gq_strdup(name);
	status = gq_shards_adopt(st, name, &s->shards, &s->problems, err);
	s->bits = options->bits;
	if (status == GPTQ_OK && !s->path)
		status = gq_fail_nomem(err);
	if (status == GPTQ_OK && options->config_path)
		status = read_configs(s, options, err);
	if (status == GPTQ_OK)
		status = find_main(s, err);
	if (status == GPTQ_OK)
		status = read_labels(s, err);
	if (status == GPTQ_OK)
		status = gq_layers_find(&s->shards, gq_source_claim, s, &s->layers, &s->problems, err);
	if (status != GPTQ_OK)
		gq_source_close(s);
	return status;
}

enum gptq_status gq_source_open(const char *path, const struct gq_source_options *options, struct gq_source *s,
				struct gptq_error *err)
{
	enum gptq_status status;

	memset(s, 0, sizeof(*s));
	s->bits = options->bits;
	s->path = gq_strdup(path);
	status = s->path ? open_path(s, options, err) : gq_fail_nomem(err);
	if (status == GPTQ_OK)
		status = read_configs(s, options, err);
	if (status == GPTQ_OK)
		status = find_main(s, err);
	if (status == GPTQ_OK)
		status = read_labels(s, err);
	if (status == GPTQ_OK)
		status = gq_layers_find(&s->shards, gq_source_claim, s, &s->layers, &s->problems, err);
	if (status == GPTQ_OK)
		status = gq_dynamic_check(s->dynamic, err);
	if (status != GPTQ_OK)
		gq_source_close(s);
	return status;
}

/* dir/name if that is there. */
static enum gptq_status journal_at(const char *dir, const char *name, char **path, struct gptq_error *err)
{
	struct stat st;

	*path = gq_path_join(dir, name);
	if (!*path)
		return gq_fail_nomem(err);
	if (lstat(*path, &st) != 0) {
		gq_free(*path);
		*path = NULL;
	}
	return GPTQ_OK;
}

enum gptq_status gq_source_journal(const struct gq_source *s, char **path, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;
	struct gq_buf name = {0};

	*path = NULL;
	for (size_t i = 0; i < s->tree.n_skipped && status == GPTQ_OK && !*path; i++)
		if (gq_has_suffix(s->tree.skipped[i], GQ_JOURNAL_NAME))
			status = journal_at(s->dir, s->tree.skipped[i], path, err);
	if (!s->file || !s->dir || status != GPTQ_OK)
		return status;
	gq_buf_printf(&name, ".%s" GQ_JOURNAL_NAME, gq_path_base(s->file));
	status = name.failed ? gq_fail_nomem(err) : journal_at(s->dir, name.data, path, err);
	gq_buf_free(&name);
	if (status == GPTQ_OK && !*path)
		status = journal_at(s->dir, GQ_JOURNAL_NAME, path, err);
	return status;
}

void gq_source_close(struct gq_source *s)
{
	gq_layers_free(&s->layers);
	gq_labels_free(&s->labels);
	for (size_t i = 0; i < s->n_metadata; i++)
		gq_label_place_free(&s->metadata[i]);
	gq_free(s->metadata);
	gq_free(s->metadata_shard);
	gq_dynamic_free(s->dynamic);
	for (size_t i = 0; i < s->n_configs; i++)
		gq_config_free(&s->configs[i]);
	gq_free(s->configs);
	gq_shards_close(&s->shards);
	gq_tree_free(&s->tree);
	gq_problems_free(&s->problems);
	gq_free(s->file);
	gq_free(s->dir);
	gq_free(s->path);
	memset(s, 0, sizeof(*s));
}

enum gptq_status gq_source_uninterrupted(const struct gq_source *source, struct gptq_error *err)
{
	char *journal;
	enum gptq_status status = gq_source_journal(source, &journal, err);

	if (status == GPTQ_OK && journal) {
		status = gq_fail(err, GPTQ_E_ARG,
				 "an in-place conversion was interrupted here, and this is its journal: gptq-convert --in-place "
				 "on the same path finishes it, --rollback undoes it");
		gq_error_file(err, journal);
	}
	gq_free(journal);
	return status;
}

static bool is_file(const struct stat *st, const char *path)
{
	struct stat other;

	return path && stat(path, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Is it one of the configs that are read, where IN is a lone file? */
static bool is_config(const struct gq_source *s, const struct stat *st, const char *config_path)
{
	bool is = is_file(st, config_path);

	for (size_t i = 0; i < s->n_configs && !is && s->file && !config_path; i++) {
		char *path = gq_path_join(s->dir, s->configs[i].name);

		is = is_file(st, path);
		gq_free(path);
	}
	return is;
}

bool gq_source_reaches(const struct gq_source *source, const char *path, const char *config_path)
{
	char *parent = gq_parent_dir(path);
	struct stat st, up;
	bool exists = stat(path, &st) == 0, has_up = parent && stat(parent, &up) == 0, found;

	gq_free(parent);
	found = exists && (is_config(source, &st, config_path) || is_file(&st, source->file));
	/* A file that IN has under no link is reached by a hard link at most, and to replace that does IN no harm. */
	for (size_t i = 0; i < source->tree.n_entries && !found; i++) {
		const struct gq_tree_entry *e = &source->tree.entries[i];

		found = (exists && (e->is_link || e->is_dir) && (uint64_t)st.st_dev == e->dev &&
			 (uint64_t)st.st_ino == e->ino) ||
			(has_up && e->is_dir && (uint64_t)up.st_dev == e->dev && (uint64_t)up.st_ino == e->ino);
	}
	return found;
}
