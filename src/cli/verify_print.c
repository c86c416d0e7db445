/* SPDX-License-Identifier: Apache-2.0 */
/* The report of gptq-verify, as text and as JSON; schema/gptq-verify.schema.json fixes the latter. */
#include "verify_print.h"

#include "json_out.h"

#include <string.h>

#define MOST_SHOWN 20 /* differences, where --layers does not ask for all */

static void head(FILE *out, const char *name)
{
	fprintf(out, "  %-9s ", name);
}

/* Layers that must be shown to tell what the two sides are. */
static bool is_told(const struct gptq_verify_layer *l, bool layers)
{
	return layers || l->outcome != GPTQ_SAME;
}

static const char *format_word(const struct gptq_verify_side *s)
{
	return s->format ? gptq_zeros_format_name(s->format) : "mixed";
}

static void print_side(FILE *out, char letter, const char *path, const struct gptq_verify_side *s)
{
	char shown[512];

	cli_mask(shown, sizeof(shown), path);
	fprintf(out, "%c %s\n", letter, shown);
	head(out, "");
	if (!s->reason) {
		fputs("no quantised layer\n", out);
		return;
	}
	fprintf(out, "%s (%s)", format_word(s), s->reason);
	if (s->v1_style && s->v1_style != GPTQ_STYLE_CLEAN)
		fprintf(out, ", style %s (%s)", gptq_style_name(s->v1_style),
			gptq_style_source_name(s->v1_style_source));
	fputc('\n', out);
}

static void print_weight(FILE *out, char letter, const struct gptq_weight *w, const char *dtype)
{
	head(out, "");
	fprintf(out, "  %c: %.9g (%s %0*lx), code %u, zero point %u\n", letter, w->value, dtype,
		strcmp(dtype, "F32") == 0 ? 8 : 4, (unsigned long)w->bits, w->code, w->zero_point);
}

static void print_special(FILE *out, const struct gptq_verify_layer *l)
{
	if (!(l->n_scales_nan[0] | l->n_scales_nan[1] | l->n_scales_inf[0] | l->n_scales_inf[1]))
		return;
	head(out, "");
	fprintf(out, "  scales that are NaN: %llu in A, %llu in B; infinite: %llu and %llu\n",
		(unsigned long long)l->n_scales_nan[0], (unsigned long long)l->n_scales_nan[1],
		(unsigned long long)l->n_scales_inf[0], (unsigned long long)l->n_scales_inf[1]);
}

static void print_layer(FILE *out, const struct gptq_verify_layer *l)
{
	char a[32], b[32];

	fprintf(out, "  %s: ", l->name);
	switch (l->outcome) {
	case GPTQ_SAME:
		fprintf(out, "the same, %s weights (%s)\n", cli_count(a, l->n_weights), gptq_method_name(l->method));
		print_special(out, l);
		break;
	case GPTQ_DIFFERENT:
		fprintf(out, "%s of %s weights differ; the first is k %llu, n %llu\n", cli_count(a, l->n_differ),
			cli_count(b, l->n_weights), (unsigned long long)l->first_k, (unsigned long long)l->first_n);
		print_weight(out, 'A', &l->first[0], l->dtype[0]);
		print_weight(out, 'B', &l->first[1], l->dtype[1]);
		print_special(out, l);
		break;
	case GPTQ_DIFFERENT_SHAPE:
		fprintf(out, "%llu x %llu weights in A, %llu x %llu in B\n", (unsigned long long)l->in_features[0],
			(unsigned long long)l->out_features[0], (unsigned long long)l->in_features[1],
			(unsigned long long)l->out_features[1]);
		break;
	case GPTQ_DIFFERENT_DTYPE:
		fprintf(out, "weights are %s in A, %s in B\n", l->dtype[0], l->dtype[1]);
		break;
	case GPTQ_ONLY_IN_A:
	case GPTQ_ONLY_IN_B:
		fprintf(out, "a quantised layer of %c alone\n", l->outcome == GPTQ_ONLY_IN_A ? 'A' : 'B');
		break;
	}
}

static void print_tensor(FILE *out, const struct gptq_verify_tensor *t)
{
	char a[32], b[32];

	fprintf(out, "  %s: ", t->name);
	if (t->outcome == GPTQ_DIFFERENT)
		fprintf(out, "%s of %s bytes differ; the first is byte %llu\n", cli_count(a, t->n_differ),
			cli_count(b, t->n_bytes), (unsigned long long)t->first);
	else if (t->outcome == GPTQ_DIFFERENT_SHAPE)
		fputs("a tensor of another shape\n", out);
	else if (t->outcome == GPTQ_DIFFERENT_DTYPE)
		fputs("a tensor of another dtype\n", out);
	else
		fprintf(out, "a tensor of %c alone\n", t->outcome == GPTQ_ONLY_IN_A ? 'A' : 'B');
}

static void print_differences(FILE *out, const struct gptq_verify_report *r, bool layers)
{
	size_t shown = 0, n = r->n_layers - (size_t)r->n_layers_same + r->n_tensors;

	for (size_t i = 0; i < r->n_layers; i++)
		if (is_told(&r->layers[i], layers) && (layers || shown++ < MOST_SHOWN))
			print_layer(out, &r->layers[i]);
	for (size_t i = 0; i < r->n_tensors; i++)
		if (layers || shown++ < MOST_SHOWN)
			print_tensor(out, &r->tensors[i]);
	if (!layers && n > MOST_SHOWN)
		fprintf(out, "  and %zu more (--layers names them)\n", n - MOST_SHOWN);
}

static void print_totals(FILE *out, const struct gptq_verify_report *r)
{
	char a[32], b[32];
	double rate = r->seconds > 0 ? (double)r->n_bytes / r->seconds : 0;

	head(out, "layers");
	fprintf(out, "%s of %s the same; compared by table %llu, by every %llu\n", cli_count(a, r->n_layers_same),
		cli_count(b, r->n_layers), (unsigned long long)r->n_by_table, (unsigned long long)r->n_by_every);
	head(out, "weights");
	fprintf(out, "%s compared, %s differ\n", cli_count(a, r->n_weights), cli_count(b, r->n_weights_differ));
	head(out, "tensors");
	fprintf(out, "%s plain tensors the same, %s not\n", cli_count(a, r->n_tensors_same),
		cli_count(b, r->n_tensors));
	head(out, "device");
	if (r->device == GPTQ_DEVICE_CUDA)
		fprintf(out, "%s\n", r->device_name);
	else
		fprintf(out, "this processor (%s), %u thread%s\n", r->device_name, r->threads,
			r->threads == 1 ? "" : "s");
	head(out, "time");
	fprintf(out, "%.3f s, %s a second\n", r->seconds, cli_size(a, rate < 1e18 ? (uint64_t)rate : 0));
}

void verify_print_text(FILE *out, const char *const paths[2], const struct gptq_verify_report *r, bool layers)
{
	print_side(out, 'A', paths[0], &r->sides[0]);
	print_side(out, 'B', paths[1], &r->sides[1]);
	print_differences(out, r, layers);
	print_totals(out, r);
	fputs(r->same ? "the same weights\n" : "not the same weights\n", out);
}

/* ---------------------------------------------------------------------------------------------------- JSON */

static cJSON *begin(const char *const paths[2], const char *status, int exit_code)
{
	cJSON *root = json_object();

	json_add_string(root, "command", "gptq-verify");
	json_add_string(root, "version", gptq_version());
	json_add_string(root, "status", status);
	json_add_number(root, "exit", (uint64_t)exit_code);
	json_add_path(root, "path_a", paths[0]);
	json_add_path(root, "path_b", paths[1]);
	return root;
}

static void add_side(cJSON *root, const char *key, const struct gptq_verify_side *s)
{
	cJSON *o = json_add_object(root, key);

	json_add_string(o, "format", s->reason ? format_word(s) : NULL);
	json_add_string(o, "format_reason", s->reason);
	json_add_string(o, "v1_style", s->v1_style ? gptq_style_name(s->v1_style) : NULL);
	json_add_string(o, "v1_style_source", s->v1_style_source ? gptq_style_source_name(s->v1_style_source) : NULL);
	json_add_string(o, "warning", s->warning);
	json_add_number(o, "layers", s->n_layers);
	json_add_number(o, "plain_tensors", s->n_tensors);
}

static void add_weight(cJSON *to, const char *key, const struct gptq_weight *w, const char *dtype)
{
	cJSON *o = json_add_object(to, key);
	char bits[16];

	snprintf(bits, sizeof(bits), "%0*lx", strcmp(dtype, "F32") == 0 ? 8 : 4, (unsigned long)w->bits);
	json_add_string(o, "bits", bits);
	json_add_double(o, "value", w->value);
	json_add_number(o, "code", w->code);
	json_add_number(o, "zero_point", w->zero_point);
}

static void add_sides_of_layer(cJSON *to, const struct gptq_verify_layer *l)
{
	for (unsigned s = 0; s < 2; s++) {
		cJSON *o;

		if (!l->dtype[s]) {
			json_add_null(to, s ? "b" : "a");
			continue;
		}
		o = json_add_object(to, s ? "b" : "a");
		json_add_number(o, "bits", l->bits[s]);
		json_add_number(o, "in_features", l->in_features[s]);
		json_add_number(o, "out_features", l->out_features[s]);
		json_add_string(o, "dtype", l->dtype[s]);
		json_add_number(o, "scales_nan", l->n_scales_nan[s]);
		json_add_number(o, "scales_inf", l->n_scales_inf[s]);
	}
}

static void add_layers(cJSON *root, const struct gptq_verify_report *r, bool layers)
{
	cJSON *list = json_add_array(root, "layers");

	for (size_t i = 0; i < r->n_layers; i++) {
		const struct gptq_verify_layer *l = &r->layers[i];
		cJSON *o;

		if (!is_told(l, layers))
			continue;
		o = json_add_item(list);
		json_add_string(o, "name", l->name);
		json_add_string(o, "outcome", gptq_outcome_name(l->outcome));
		json_add_string(o, "method", l->method ? gptq_method_name(l->method) : NULL);
		json_add_number(o, "weights", l->n_weights);
		json_add_number(o, "differ", l->n_differ);
		add_sides_of_layer(o, l);
		if (!l->n_differ) {
			json_add_null(o, "first");
			continue;
		}
		o = json_add_object(o, "first");
		json_add_number(o, "k", l->first_k);
		json_add_number(o, "n", l->first_n);
		add_weight(o, "a", &l->first[0], l->dtype[0]);
		add_weight(o, "b", &l->first[1], l->dtype[1]);
	}
}

static void add_tensors(cJSON *root, const struct gptq_verify_report *r)
{
	cJSON *list = json_add_array(root, "tensors");

	for (size_t i = 0; i < r->n_tensors; i++) {
		const struct gptq_verify_tensor *t = &r->tensors[i];
		cJSON *o = json_add_item(list);

		json_add_string(o, "name", t->name);
		json_add_string(o, "outcome", gptq_outcome_name(t->outcome));
		json_add_number(o, "bytes", t->n_bytes);
		json_add_number(o, "differ", t->n_differ);
		if (t->n_differ)
			json_add_number(o, "first", t->first);
		else
			json_add_null(o, "first");
	}
}

void verify_print_json(FILE *out, const char *const paths[2], const struct gptq_verify_report *r, bool layers)
{
	cJSON *root = begin(paths, r->same ? "same" : "different", r->same ? CLI_OK : CLI_NO), *o;

	add_side(root, "a", &r->sides[0]);
	add_side(root, "b", &r->sides[1]);
	o = json_add_object(root, "totals");
	json_add_number(o, "layers", r->n_layers);
	json_add_number(o, "layers_same", r->n_layers_same);
	json_add_number(o, "by_table", r->n_by_table);
	json_add_number(o, "by_every", r->n_by_every);
	json_add_number(o, "weights", r->n_weights);
	json_add_number(o, "weights_differ", r->n_weights_differ);
	json_add_number(o, "tensors_same", r->n_tensors_same);
	json_add_number(o, "tensors_differ", r->n_tensors);
	json_add_number(o, "bytes", r->n_bytes);
	json_add_string(root, "device", r->device == GPTQ_DEVICE_CUDA ? "cuda" : "cpu");
	json_add_string(root, "gpu", r->device == GPTQ_DEVICE_CUDA ? r->device_name : NULL);
	add_layers(root, r, layers);
	add_tensors(root, r);
	json_print(out, root);
}

void verify_print_failure_json(FILE *out, const char *const paths[2], const struct gptq_error *err, int exit_code)
{
	cJSON *root = begin(paths, "undecided", exit_code);

	json_add_error(root, err);
	json_print(out, root);
}
