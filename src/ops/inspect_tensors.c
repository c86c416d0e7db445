/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about zero points, scales, groups, experts and files. */
#include "base/mem.h"
#include "format/dtype.h"
#include "ops/inspect_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------- verdict and style */

static void name_first(const struct gq_inspection *in, enum gptq_verdict verdict, char *dst, size_t size)
{
	size_t used = 0, n = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < in->report->n_layers; i++) {
		if (in->report->layers[i].verdict != verdict)
			continue;
		if (n++ < 3 && used < size)
			used += (size_t)snprintf(dst + used, size - used, "%s%s", n > 1 ? ", " : "",
						 in->report->layers[i].name);
	}
	if (n > 3 && used < size)
		snprintf(dst + used, size - used, " and %zu more", n - 3);
}

static enum gptq_status verdict_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gptq_inspect_report *r = in->report;
	const struct gq_model_verdict *m = &in->survey.model;
	char v1[512], v2[512];
	enum gptq_status status = GPTQ_OK;

	if (r->verdict == GPTQ_VERDICT_MIXED) {
		name_first(in, GPTQ_VERDICT_V1, v1, sizeof(v1));
		name_first(in, GPTQ_VERDICT_V2, v2, sizeof(v2));
		return gq_find(
			in, GQ_CODE_VERDICT_MIXED, "", err,
			"some layers are v1 (%s), others are v2 (%s): a half-converted model that no loader reads "
			"right; gptq-convert --per-layer mends it",
			v1, v2);
	}
	if (r->verdict == GPTQ_VERDICT_UNDETERMINED)
		status = gq_find(
			in, GQ_CODE_VERDICT_UNDETERMINED, "", err,
			"the tensors leave it open whether the zero points are v1 or v2 (%llu layers read); the label "
			"alone decides",
			(unsigned long long)r->n_layers_read);
	for (size_t i = 0; i < r->n_layers && m->n_odd && status == GPTQ_OK; i++)
		if (in->survey.odd[i])
			status = gq_find(
				in, GQ_CODE_LAYER_ODD, r->layers[i].name, err,
				"this layer is %s by %s, while the model is %s: converted twice, or not at all?",
				gptq_verdict_name(r->layers[i].verdict), r->layers[i].rule,
				gptq_verdict_name(r->verdict));
	if (status == GPTQ_OK && !isnan(m->correlation) && m->correlation < 0.6 && r->v1_style != GPTQ_STYLE_SMEARED &&
	    r->sym_data == GPTQ_NO)
		status = gq_find(
			in, GQ_CODE_ZERO_POINTS_UNORDERED, "", err,
			"zero points hardly follow the codes of their columns (median correlation %.2f over %llu "
			"layers): the columns of qzeros may be in another order",
			m->correlation, (unsigned long long)m->n_correlated);
	return status;
}

static enum gptq_status style_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gptq_inspect_report *r = in->report;
	enum gptq_status status = GPTQ_OK;
	uint64_t n_zero = 0, n_layers = 0;

	if (r->effective != GPTQ_ZEROS_V1 && r->verdict != GPTQ_VERDICT_MIXED)
		return GPTQ_OK;
	for (unsigned b = 0; b < r->n_bits && status == GPTQ_OK; b++) {
		const struct gq_style_verdict *v = &in->survey.model.style[gq_width_index(r->bits[b].bits)];

		if (r->bits[b].style == GPTQ_STYLE_SMEARED)
			status = gq_find(
				in, GQ_CODE_SMEARED_ZEROS, "", err,
				"words of zero points at %u bits are damaged (%llu): a zero point of 0 overwrote those "
				"above "
				"it when the file was written, and %llu are lost; quantise again, or take a v2 upload",
				r->bits[b].bits, (unsigned long long)v->damaged_words,
				(unsigned long long)v->unknown_zeros);
		else if (in->styles[gq_width_index(r->bits[b].bits)].n_layers && r->bits[b].style == GPTQ_STYLE_NONE)
			status = gq_find(
				in, GQ_CODE_V1_STYLE_UNDETERMINED, "", err,
				"how zero points of 0 were stored at %u bits is open, and %llu zero points hang on it; "
				"gptq-convert needs --v1-style for them",
				r->bits[b].bits, (unsigned long long)v->n_differ);
	}
	for (size_t i = 0; i < r->n_layers; i++) {
		if (in->formats[i] == GPTQ_ZEROS_V1 && r->layers[i].has_zeros && r->layers[i].zeros_equal_0) {
			n_zero += r->layers[i].zeros_equal_0;
			n_layers++;
		}
	}
	if (status == GPTQ_OK && n_zero)
		status = gq_find(
			in, GQ_CODE_V1_ZERO_AT_0, "", err,
			"in %llu of %zu layers zero points are 0 (%llu), which v1 loaders read in different ways; v2 "
			"leaves no doubt: gptq-convert --to v2",
			(unsigned long long)n_layers, r->n_layers, (unsigned long long)n_zero);
	return status;
}

/* -------------------------------------------------------------------------------------------- scales and groups */

static enum gptq_status scale_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_tally nan = {0}, inf = {0}, zero = {0}, negative = {0};
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < in->source.layers.n; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];

		gq_tally_add(&nan, l, in->survey.scales[i].n_nan);
		gq_tally_add(&inf, l, in->survey.scales[i].n_inf);
		gq_tally_add(&zero, l, in->notes[i].n_harmful_zero_scales);
		gq_tally_add(&negative, l, in->survey.scales[i].n_negative);
	}
	if (nan.n)
		status = gq_find_layer(
			in, GQ_CODE_SCALE_NAN, nan.first, err,
			"%llu of %zu layers have scales that are NaN (%llu): the model will print garbage; "
			"quantise these layers again",
			(unsigned long long)nan.n_layers, in->source.layers.n, (unsigned long long)nan.n);
	if (status == GPTQ_OK && inf.n)
		status = gq_find_layer(
			in, GQ_CODE_SCALE_INF, inf.first, err,
			"%llu of %zu layers have scales that are infinite (%llu): they were too large for their "
			"dtype; quantise these layers again",
			(unsigned long long)inf.n_layers, in->source.layers.n, (unsigned long long)inf.n);
	if (status == GPTQ_OK && zero.n)
		status = gq_find_layer(
			in, GQ_CODE_SCALE_ZERO, zero.first, err,
			"%llu of %zu layers have scales of 0 (%llu) where codes differ from the zero point: those "
			"weights are lost; quantise these layers again",
			(unsigned long long)zero.n_layers, in->source.layers.n, (unsigned long long)zero.n);
	if (status == GPTQ_OK && negative.n)
		status = gq_find_layer(
			in, GQ_CODE_NEGATIVE_SCALES, negative.first, err,
			"%llu of %zu layers have negative scales (%llu): normal in auto-round's symmetric files",
			(unsigned long long)negative.n_layers, in->source.layers.n, (unsigned long long)negative.n);
	return status;
}

static enum gptq_status group_findings(struct gq_inspection *in, struct gptq_error *err)
{
	struct gq_tally missing = {0}, zero = {0}, ragged = {0};
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < in->source.layers.n; i++) {
		const struct gq_layer *l = &in->source.layers.items[i];

		gq_tally_add(&missing, l, !l->g_idx);
		gq_tally_add(&zero, l, in->surveyed && !in->survey.broken[i] && in->survey.g_idx[i] == GQ_G_IDX_ZERO);
		gq_tally_add(&ragged, l, l->group_size > 0 && l->in_features % (uint64_t)l->group_size != 0);
	}
	if (missing.n)
		status = gq_find_layer(
			in, GQ_CODE_G_IDX_MISSING, missing.first, err,
			"%llu of %zu layers have no g_idx: their rows are in plain order, but not every loader takes "
			"that",
			(unsigned long long)missing.n_layers, in->source.layers.n);
	if (status == GPTQ_OK && zero.n)
		status = gq_find_layer(
			in, GQ_CODE_G_IDX_ZERO, zero.first, err,
			"g_idx is all zero in %llu of %zu layers, which have several groups: it is read as plain "
			"order, but loaders that take it at its word read the first group for every row",
			(unsigned long long)zero.n_layers, in->source.layers.n);
	if (status == GPTQ_OK && ragged.n)
		status =
			gq_find_layer(in, GQ_CODE_GROUP_DOES_NOT_DIVIDE, ragged.first, err,
				      "the last group is short in %llu of %zu layers, as in_features is no multiple of "
				      "group_size: some kernels refuse that",
				      (unsigned long long)ragged.n_layers, in->source.layers.n);
	return status;
}

/* -------------------------------------------------------------------------------------------------------- files */

static enum gptq_status header_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_shards *shards = &in->source.shards;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < shards->n && status == GPTQ_OK; i++) {
		const struct gq_st *st = shards->items[i].st;

		if (st && st->unpadded)
			status = gq_find(in, GQ_CODE_HEADER_NOT_PADDED, shards->items[i].name, err,
					 "the header is %llu bytes long, no multiple of 8: legal, but its tensors are "
					 "not aligned",
					 (unsigned long long)st->header_size);
		if (status == GPTQ_OK && st && st->n_misaligned)
			status = gq_find(in, GQ_CODE_MISALIGNED, shards->items[i].name, err,
					 "tensors that do not begin at a multiple of their element size (%u): legal, "
					 "but some readers "
					 "copy or refuse them",
					 st->n_misaligned);
	}
	for (size_t i = 0; i < shards->n_tensors && status == GPTQ_OK; i++) {
		const struct gq_tensor *t = &shards->tensors[i];
		char masked[512];

		if (gq_is_plain(t->name, t->name_len))
			continue;
		gq_mask(masked, sizeof(masked), t->name, t->name_len, false);
		if (strlen(masked) == t->name_len || t->name_len > 500)
			continue;
		return gq_find(in, GQ_CODE_NAME_NUL_OR_CONTROL, masked, err,
			       "a tensor name holds control or invisible characters (shown escaped): a bad writer, or "
			       "an attempt "
			       "to deceive");
	}
	return status;
}

static enum gptq_status stray_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_source *s = &in->source;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < s->shards.n_stray && status == GPTQ_OK; i++) {
		const char *name = s->shards.stray[i];
		struct gq_problems problems = {0};
		struct gq_shards one;

		status = gq_shards_open_files(s->dir, &name, 1, &one, &problems, err);
		if (status != GPTQ_OK)
			break;
		if (problems.n)
			status = gq_find(in, GQ_CODE_STRAY_SAFETENSORS, name, err,
					 "a safetensors file outside the model that cannot be read: %s",
					 problems.items[0].error.message);
		else if (gq_shards_hold_qzeros(&one))
			status = gq_find(
				in, GQ_CODE_STRAY_SAFETENSORS, name, err,
				"a safetensors file outside the model holds zero points too: is it left over? loaders "
				"that take every file will read both");
		gq_shards_close(&one);
		gq_problems_free(&problems);
	}
	return status;
}

static enum gptq_status other_files(struct gq_inspection *in, struct gptq_error *err)
{
	static const char *const suffixes[] = {".bin", ".pt", ".pth", ".ckpt", ".gguf"};
	const struct gq_tree *tree = &in->source.tree;
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < tree->n_entries && status == GPTQ_OK; i++) {
		const struct gq_tree_entry *e = &tree->entries[i];

		for (size_t k = 0; k < sizeof(suffixes) / sizeof(suffixes[0]) && status == GPTQ_OK; k++)
			if (!e->is_dir && in->source.layers.n && gq_has_suffix(e->path, suffixes[k]))
				status = gq_find(
					in, GQ_CODE_OTHER_WEIGHTS, e->path, err,
					"weights in another file format lie beside the safetensors files; a loader may "
					"take them instead");
	}
	return status;
}

/* Codes of which there were more than are kept. */
static enum gptq_status left_out_findings(struct gq_inspection *in, struct gptq_error *err)
{
	const struct gq_problems *problems = &in->source.problems;
	enum gptq_status status = GPTQ_OK;

	for (unsigned code = 0; code < GQ_N_CODES && status == GPTQ_OK; code++)
		if (problems->n_of[code] > GQ_PROBLEMS_OF_A_CODE)
			status = gq_find(in, (enum gq_code)code, "", err, "and %llu more like these",
					 (unsigned long long)(problems->n_of[code] - GQ_PROBLEMS_OF_A_CODE));
	return status;
}

static enum gptq_status interrupted(struct gq_inspection *in, struct gptq_error *err)
{
	char *journal;
	enum gptq_status status = gq_source_journal(&in->source, &journal, err);

	if (status == GPTQ_OK && journal)
		status = gq_find(in, GQ_CODE_INTERRUPTED, gq_path_base(journal), err,
				 "an in-place conversion was interrupted here, so this is half converted: gptq-convert --in-place "
				 "on it finishes, --rollback undoes it");
	gq_free(journal);
	return status;
}

/* The place as the folder's own files are named, so that it does not depend on how PATH was written. */
static const char *inside(const struct gq_source *s, const char *path)
{
	size_t n = s->dir ? strlen(s->dir) : 0;

	if (s->file)
		return strcmp(path, s->file) == 0 ? gq_path_base(path) : path;
	while (n && s->dir[n - 1] == '/')
		n--;
	if (n == 0 || strncmp(path, s->dir, n) != 0 || path[n] != '/')
		return path;
	return path + n + strspn(path + n, "/");
}

/* In another format nobody promised GPTQ's shapes. */
static bool is_beside_the_point(const struct gq_inspection *in, enum gq_code code)
{
	return in->report->other.name && !in->source.layers.n &&
	       (code == GQ_CODE_SHAPE_LAW || code == GQ_CODE_TENSOR_MISSING);
}

/* What to do about what the opening found, where its own sentence does not say it. */
static const char *advice(enum gq_code code)
{
	switch ((int)code) {
	case GQ_CODE_SHARD_SHORT:
		return "download the file again";
	case GQ_CODE_SHARD_TRAILING_BYTES:
		return "download the file again; some loaders take it as it is, others refuse it";
	case GQ_CODE_SHARD_UNREADABLE:
		return "download the file again; if it comes out the same, the program that wrote it is at fault";
	case GQ_CODE_INDEX_INVALID:
		return "loaders that go by the index will fail: write it anew";
	case GQ_CODE_INDEX_NAMES_MISSING_TENSOR:
		return "index and file are not of one upload: download both again";
	case GQ_CODE_TENSOR_NOT_IN_INDEX:
		return "add it to the index, or take it out of the file";
	case GQ_CODE_TENSOR_MISSING:
		return "the upload is not whole, or a program dropped the tensor";
	case GQ_CODE_SHAPE_LAW:
		return "the layer is in another format, or the program that wrote it is at fault";
	case GQ_CODE_G_IDX_RANGE:
		return "loaders read past the end of the scales: quantise the layer again";
	case GQ_CODE_CONFIG_INVALID:
		return "loaders will fail or take their defaults: mend the text";
	default:
		return NULL;
	}
}

static enum gptq_status problem_findings(struct gq_inspection *in, struct gptq_error *err)
{
	enum gptq_status status = GPTQ_OK;

	for (size_t i = 0; i < in->source.problems.n && status == GPTQ_OK; i++) {
		const struct gq_problem *p = &in->source.problems.items[i];
		struct gptq_error e = p->error;
		char text[3072];

		if (is_beside_the_point(in, p->code))
			continue;
		e.file[0] = '\0';
		gptq_error_format(&e, text, sizeof(text));
		status = gq_find(in, p->code, p->error.file[0] ? inside(&in->source, p->error.file) : p->error.tensor,
				 err, "%s%s%s", text, advice(p->code) ? "; " : "",
				 advice(p->code) ? advice(p->code) : "");
	}
	return status;
}

enum gptq_status gq_inspect_tensor_findings(struct gq_inspection *in, struct gptq_error *err)
{
	enum gptq_status status = problem_findings(in, err);

	if (status == GPTQ_OK)
		status = left_out_findings(in, err);
	if (status == GPTQ_OK)
		status = interrupted(in, err);
	if (status == GPTQ_OK && in->surveyed)
		status = verdict_findings(in, err);
	if (status == GPTQ_OK && in->surveyed)
		status = style_findings(in, err);
	if (status == GPTQ_OK && in->surveyed)
		status = scale_findings(in, err);
	if (status == GPTQ_OK)
		status = group_findings(in, err);
	if (status == GPTQ_OK)
		status = gq_inspect_expert_findings(in, err);
	if (status == GPTQ_OK)
		status = header_findings(in, err);
	if (status == GPTQ_OK)
		status = stray_findings(in, err);
	if (status == GPTQ_OK)
		status = other_files(in, err);
	return status;
}
