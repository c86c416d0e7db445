/* SPDX-License-Identifier: Apache-2.0 */
#include "convert_report.h"

#include "json_out.h"

#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>

static const char *format_word(enum gptq_zeros_format format)
{
	return format == GPTQ_ZEROS_V1 ? "v1" : format == GPTQ_ZEROS_V2 ? "v2" : "mixed";
}

#define TEXT 14 /* the column behind the words on the left */

/* "name      " in a column of its own. */
static void head(FILE *out, const char *name)
{
	fprintf(out, "  %-11s ", name);
}

/* A line of the report: the word on the left and a text, which on a terminal may take several. */
__attribute__((format(printf, 3, 4))) static void row(FILE *out, const char *name, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	head(out, name);
	cli_fold(out, text, TEXT, TEXT);
}

static void print_widths(FILE *out, const struct gptq_convert_report *r)
{
	char n[32], zeros[32], at_0[32], what[160];

	for (unsigned i = 0; i < r->n_widths; i++) {
		const struct gptq_convert_width *w = &r->widths[i];

		if (w->zero_min == w->zero_max)
			snprintf(what, sizeof(what), "all %u", w->zero_min);
		else
			snprintf(what, sizeof(what), "%u to %u, %s at 0", w->zero_min, w->zero_max,
				 cli_count(at_0, w->n_zeros_at_0));
		row(out, i ? "" : "layers", "%s at %u bits; %s zero points, %s", cli_count(n, w->n_layers), w->bits,
		    cli_count(zeros, w->n_zeros), what);
	}
	for (unsigned i = 0, k = 0; i < r->n_widths; i++) {
		const struct gptq_convert_width *w = &r->widths[i];

		if (w->style == GPTQ_STYLE_NONE || (w->style == GPTQ_STYLE_CLEAN && w->n_zeros_at_0 == 0))
			continue;
		what[0] = '\0';
		if (w->n_unknown)
			snprintf(what, sizeof(what), "; %llu damaged words, %llu zero points are not known",
				 (unsigned long long)w->n_damaged_words, (unsigned long long)w->n_unknown);
		row(out, k++ ? "" : "v1 style", "%s at %u bits (%s)%s", gptq_style_name(w->style), w->bits,
		    gptq_style_source_name(w->style_source), what);
	}
}

static void print_change(FILE *out, const struct gptq_convert_report *r)
{
	char n[32], all[32];
	int digits = (int)r->word_bits / 4;

	if (r->unchanged) {
		row(out, "changed", "%s",
		    r->relabelled ? "no tensor, labels only" : "no tensor: unchanged, it is in the target format");
		return;
	}
	row(out, "changed", "qzeros of %s of %s layers; the first word of %s:", cli_count(n, r->n_layers_changed),
	    cli_count(all, r->n_layers), r->first_layer);
	row(out, "", "%0*llx -> %0*llx", digits, (unsigned long long)r->first_word_before, digits,
	    (unsigned long long)r->first_word_after);
}

static void print_labels(FILE *out, const struct gptq_convert_report *r, bool verbose)
{
	size_t n = r->n_labels > 6 && !verbose ? 5 : r->n_labels;

	for (size_t i = 0; i < n; i++) {
		const struct gptq_convert_label *l = &r->labels[i];

		if (l->old_value)
			row(out, i ? "" : "labels", "%s: %s: %s -> %s", l->file, l->key, l->old_value, l->new_value);
		else
			row(out, i ? "" : "labels", "%s: %s: added, %s", l->file, l->key, l->new_value);
	}
	if (n < r->n_labels)
		row(out, "", "and %zu more (-v names them)", r->n_labels - n);
	if (r->record)
		row(out, "record", "gptq_tools.v1_style: %s", r->record);
}

/* The loaders that give one answer, as a list: "vLLM gptq, TGI". */
static void print_readers(FILE *out, const char *name, const struct gptq_reader *readers, size_t n)
{
	char text[1024];
	size_t used = 0, wrong = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n && used < sizeof(text); i++) {
		wrong += readers[i].answer == GPTQ_READER_WRONG;
		if (readers[i].answer == GPTQ_READER_RIGHT)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
						 readers[i].loader);
	}
	if (used == 0)
		used = (size_t)snprintf(text, sizeof(text), "none of the loaders known");
	if (wrong && used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, " (%zu read%s it wrong without a word)", wrong,
			 wrong == 1 ? "s" : "");
	head(out, name);
	cli_wrap(out, text, TEXT, TEXT, cli_width(out));
}

static void print_written(FILE *out, const struct gptq_convert_report *r)
{
	char size[32];

	row(out, "written", "%llu file%s, %llu of them safetensors, %s", (unsigned long long)r->n_files,
	    r->n_files == 1 ? "" : "s", (unsigned long long)r->n_shards, cli_size(size, r->n_bytes));
}

/* What was written and checked. */
static void print_tail(FILE *out, const struct gptq_convert_report *r)
{
	char size[32], n[32];

	if (r->dry_run) {
		row(out, "dry run", "nothing was written; it would be %s", cli_size(size, r->n_bytes));
		return;
	}
	print_written(out, r);
	if (r->manifest)
		row(out, "manifest", "%s, %zu file%s", r->manifest, r->n_digests, r->n_digests == 1 ? "" : "s");
	row(out, "verified", "%s zero points read back, all equal", cli_count(n, r->n_zeros_verified));
	if (r->verify_device)
		row(out, "", "%s weights compared, all equal; by table %llu layers, by every %llu",
		    cli_count(n, r->n_weights_verified), (unsigned long long)r->n_layers_by_table,
		    (unsigned long long)r->n_layers_by_every);
}

/* A conversion that was interrupted: what was done about it. */
static void print_recovery(FILE *out, const char *path, const struct gptq_convert_report *r)
{
	bool undone = r->recovery == GPTQ_RECOVERY_UNDONE;
	char n[32];

	fprintf(out, "%s\n", path);
	row(out, undone ? "undone" : "finished", "an interrupted conversion in place, %s%s%s",
	    r->relabelled ? "labels only" : format_word(r->from), r->relabelled ? ", to " : " -> ", format_word(r->to));
	if (r->dry_run) {
		row(out, "dry run", "nothing was written; journal and files fit each other");
		return;
	}
	print_written(out, r);
	if (!undone)
		row(out, "verified", "%s zero points read back, all equal", cli_count(n, r->n_zeros_verified));
}

/* The most memory that this process had in use, in bytes; 0 where nobody tells. */
static uint64_t peak_memory(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	struct rusage usage;
	char line[256];
	unsigned long long kib = 0;

	while (f && !kib && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %llu kB", &kib) != 1)
			kib = 0;
	if (f)
		fclose(f);
	if (!kib && getrusage(RUSAGE_SELF, &usage) == 0)
		kib = (unsigned long long)usage.ru_maxrss;
	return (uint64_t)kib * 1024;
}

/* What it cost. */
static void print_performance(FILE *out, const struct gptq_convert_report *r)
{
	char a[32], b[32], c[32], phases[256];
	size_t used = 0;

	row(out, "bytes", "%s copied, %s rewritten, %s shared with IN", cli_size(a, r->n_bytes_copied),
	    cli_size(b, r->n_bytes_rewritten), cli_size(c, r->n_bytes_cloned));
	for (int i = 0; i < GPTQ_N_PHASES && used < sizeof(phases); i++)
		used += (size_t)snprintf(phases + used, sizeof(phases) - used, "%s%s %.2f", i ? ", " : "",
					 gptq_phase_name((enum gptq_phase)i), r->seconds[i]);
	row(out, "seconds", "%s", phases);
	row(out, "memory", "%s at most; %u job%s", cli_size(a, peak_memory()), r->jobs ? r->jobs : 1,
	    r->jobs > 1 ? "s" : "");
}

void convert_print_text(FILE *out, const char *in_path, const char *out_path, const struct gptq_convert_report *r,
			bool verbose)
{
	char a[512], b[512];

	cli_mask(a, sizeof(a), in_path);
	cli_mask(b, sizeof(b), out_path);
	if (r->recovery) {
		print_recovery(out, a, r);
		return;
	}
	if (r->in_place)
		fprintf(out, "%s, in place\n", a);
	else
		fprintf(out, "%s -> %s\n", a, b);
	if (r->relabelled)
		row(out, "format", "%s, %s (%s)", format_word(r->to),
		    r->n_labels ? "labels rewritten" : "no label to rewrite", r->from_reason);
	else
		row(out, "format", "%s -> %s (%s)", format_word(r->from), format_word(r->to), r->from_reason);
	row(out, "tensors", "%s", gptq_verdict_name(r->verdict));
	if (verbose) {
		head(out, "");
		cli_wrap(out, r->evidence, TEXT, TEXT, cli_width(out));
	}
	print_widths(out, r);
	print_change(out, r);
	print_labels(out, r, verbose);
	for (size_t i = 0; verbose && i < r->n_not_copied; i++)
		row(out, i ? "" : "left out", "%s", r->not_copied[i]);
	print_tail(out, r);
	if (r->readers_in) {
		print_readers(out, r->in_place ? "was read by" : "IN read by", r->readers_in, r->n_readers);
		print_readers(out, r->in_place ? "now read by" : "OUT read by", r->readers_out, r->n_readers);
	}
	if (verbose)
		print_performance(out, r);
}

/* ---------------------------------------------------------------------------------------------------- JSON */

static void add_widths(cJSON *root, const struct gptq_convert_report *r)
{
	cJSON *list = json_add_array(root, "widths");

	for (unsigned i = 0; i < r->n_widths; i++) {
		const struct gptq_convert_width *w = &r->widths[i];
		cJSON *o = json_add_item(list);

		json_add_number(o, "bits", w->bits);
		json_add_number(o, "layers", w->n_layers);
		json_add_string(o, "v1_style", w->style ? gptq_style_name(w->style) : NULL);
		json_add_string(o, "v1_style_source", w->style ? gptq_style_source_name(w->style_source) : NULL);
		json_add_number(o, "zeros", w->n_zeros);
		json_add_number(o, "zeros_equal_0", w->n_zeros_at_0);
		json_add_number(o, "zero_min", w->zero_min);
		json_add_number(o, "zero_max", w->zero_max);
		json_add_number(o, "damaged_words", w->n_damaged_words);
		json_add_number(o, "unknown_zero_points", w->n_unknown);
	}
}

static void add_readers(cJSON *root, const char *key, const struct gptq_reader *readers, size_t n)
{
	cJSON *list = json_add_array(root, key);

	for (size_t i = 0; i < n && readers; i++) {
		cJSON *o = json_add_item(list);

		json_add_string(o, "loader", readers[i].loader);
		json_add_string(o, "answer", gptq_reader_answer_name(readers[i].answer));
		json_add_string(o, "reason", readers[i].reason);
	}
}

static void add_lists(cJSON *root, const struct gptq_convert_report *r)
{
	cJSON *list = json_add_array(root, "labels");

	for (size_t i = 0; i < r->n_labels; i++) {
		cJSON *o = json_add_item(list);

		json_add_string(o, "file", r->labels[i].file);
		json_add_string(o, "key", r->labels[i].key);
		json_add_string(o, "old", r->labels[i].old_value);
		json_add_string(o, "new", r->labels[i].new_value);
	}
	list = json_add_array(root, "warnings");
	for (size_t i = 0; i < r->n_warnings; i++) {
		cJSON *o = json_add_item(list);

		json_add_string(o, "code", r->warnings[i].code);
		json_add_string(o, "text", r->warnings[i].text);
	}
	list = json_add_array(root, "not_copied");
	for (size_t i = 0; i < r->n_not_copied; i++)
		json_add_item_string(list, r->not_copied[i]);
}

static void add_manifest(cJSON *root, const struct gptq_convert_report *r)
{
	cJSON *manifest, *list;

	if (!r->manifest) {
		json_add_null(root, "manifest");
		return;
	}
	manifest = json_add_object(root, "manifest");
	json_add_string(manifest, "path", r->manifest);
	list = json_add_array(manifest, "files");
	for (size_t i = 0; i < r->n_digests; i++) {
		cJSON *o = json_add_item(list);

		json_add_string(o, "name", r->digests[i].name);
		json_add_number(o, "bytes", r->digests[i].n_bytes);
		json_add_string(o, "sha256", r->digests[i].sha256);
	}
}

/* All that depends on the machine; tests leave its numbers out. */
static void add_performance(cJSON *root, const struct gptq_convert_report *r)
{
	cJSON *o = json_add_object(root, "performance"), *seconds;

	json_add_number(o, "jobs", r->jobs ? r->jobs : 1);
	json_add_number(o, "bytes_copied", r->n_bytes_copied);
	json_add_number(o, "bytes_rewritten", r->n_bytes_rewritten);
	json_add_number(o, "bytes_shared", r->n_bytes_cloned);
	json_add_number(o, "peak_memory", peak_memory());
	seconds = json_add_object(o, "seconds");
	for (int i = 0; i < GPTQ_N_PHASES; i++)
		json_add_double(seconds, gptq_phase_name((enum gptq_phase)i), r->seconds[i]);
}

static cJSON *begin(const char *in_path, const char *out_path, const char *status, int exit_code)
{
	cJSON *root = json_object();

	json_add_string(root, "command", "gptq-convert");
	json_add_string(root, "version", gptq_version());
	json_add_string(root, "status", status);
	json_add_number(root, "exit", (uint64_t)exit_code);
	json_add_path(root, "in", in_path);
	json_add_path(root, "out", out_path);
	return root;
}

static void print_recovery_json(FILE *out, const char *in_path, const char *out_path,
				const struct gptq_convert_report *r)
{
	cJSON *root = begin(in_path, out_path, r->recovery == GPTQ_RECOVERY_UNDONE ? "undone" : "finished", 0);

	json_add_string(root, "from", format_word(r->from));
	json_add_string(root, "to", format_word(r->to));
	json_add_bool(root, "relabelled", r->relabelled);
	json_add_bool(root, "dry_run", r->dry_run);
	json_add_number(root, "files", r->n_files);
	json_add_number(root, "safetensors_files", r->n_shards);
	json_add_number(root, "bytes", r->n_bytes);
	json_add_number(root, "zeros_verified", r->n_zeros_verified);
	json_print(out, root);
}

void convert_print_json(FILE *out, const char *in_path, const char *out_path, const struct gptq_convert_report *r)
{
	cJSON *root;

	if (r->recovery) {
		print_recovery_json(out, in_path, out_path, r);
		return;
	}
	root = begin(in_path, out_path, r->dry_run ? "dry-run" : "done", 0);
	json_add_bool(root, "in_place", r->in_place);
	json_add_string(root, "from", format_word(r->from));
	json_add_string(root, "to", format_word(r->to));
	json_add_string(root, "from_reason", r->from_reason);
	json_add_string(root, "label", r->label ? gptq_zeros_format_name(r->label) : NULL);
	json_add_bool(root, "label_consistent", r->label_consistent);
	json_add_string(root, "verdict", gptq_verdict_name(r->verdict));
	json_add_string(root, "evidence", r->evidence);
	json_add_bool(root, "relabelled", r->relabelled);
	json_add_bool(root, "unchanged", r->unchanged);
	json_add_number(root, "layers", r->n_layers);
	json_add_number(root, "layers_read", r->n_layers_read);
	json_add_number(root, "layers_changed", r->n_layers_changed);
	add_widths(root, r);
	json_add_string(root, "record", r->record);
	add_lists(root, r);
	json_add_number(root, "files", r->n_files);
	json_add_number(root, "safetensors_files", r->n_shards);
	json_add_number(root, "bytes", r->n_bytes);
	json_add_number(root, "bytes_rewritten", r->n_bytes_rewritten);
	json_add_number(root, "zeros_verified", r->n_zeros_verified);
	json_add_number(root, "weights_verified", r->n_weights_verified);
	add_manifest(root, r);
	add_readers(root, "loaders_in", r->readers_in, r->n_readers);
	add_readers(root, "loaders_out", r->readers_out, r->n_readers);
	add_performance(root, r);
	json_print(out, root);
}

void convert_print_failure_json(FILE *out, const char *in_path, const char *out_path, const struct gptq_error *err,
				int exit_code)
{
	cJSON *root = begin(in_path, out_path, exit_code == CLI_NO ? "refused" : "failed", exit_code);

	json_add_error(root, err);
	json_print(out, root);
}
