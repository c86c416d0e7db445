/* SPDX-License-Identifier: Apache-2.0 */
/* The report of gptq-inspect as JSON; schema/gptq-inspect.schema.json fixes it. */
#include "inspect_report.h"
#include "json_out.h"

#include <math.h>

static const char *const kinds[] = {"folder", "file", "stream"};

static void add_tristate(cJSON *to, const char *key, enum gptq_tristate v)
{
	if (v == GPTQ_UNKNOWN)
		json_add_null(to, key);
	else
		json_add_bool(to, key, v == GPTQ_YES);
}

static void add_group_size(cJSON *to, int64_t v)
{
	if (v == 0)
		json_add_null(to, "group_size");
	else if (v < 0)
		json_add_double(to, "group_size", -1);
	else
		json_add_number(to, "group_size", (uint64_t)v);
}

static void add_label(cJSON *root, const struct gptq_inspect_report *r)
{
	cJSON *o = json_add_object(root, "label"), *list;

	json_add_string(o, "value", r->label_consistent ? r->label : NULL);
	list = json_add_array(o, "sources");
	for (size_t i = 0; i < r->n_label_sources; i++) {
		cJSON *s = json_add_item(list);

		json_add_string(s, "file", r->label_sources[i].file);
		json_add_string(s, "key", r->label_sources[i].key);
		json_add_string(s, "value", r->label_sources[i].value);
	}
	json_add_bool(o, "consistent", r->label_consistent);
}

static void add_verdict(cJSON *root, const struct gptq_inspect_report *r)
{
	cJSON *o = json_add_object(root, "verdict"), *e;

	json_add_string(o, "format", r->verdict == GPTQ_VERDICT_UNREAD ? NULL : gptq_verdict_name(r->verdict));
	add_tristate(o, "agrees_with_label", r->agrees_with_label);
	if (!r->evidence) {
		json_add_null(o, "evidence");
		return;
	}
	e = json_add_object(o, "evidence");
	json_add_string(e, "rule", r->rule);
	json_add_string(e, "text", r->evidence);
	json_add_number(e, "layers_read", r->n_layers_read);
	json_add_number(e, "strong_v1", r->strong_v1);
	json_add_number(e, "strong_v2", r->strong_v2);
}

static void add_style(cJSON *root, const struct gptq_inspect_report *r)
{
	cJSON *o, *by;
	char key[8];

	if (r->verdict == GPTQ_VERDICT_V2 || r->headers_only || !r->n_layers) {
		json_add_null(root, "v1_style");
		return;
	}
	o = json_add_object(root, "v1_style");
	json_add_string(o, "value", r->v1_style ? gptq_style_name(r->v1_style) : NULL);
	by = json_add_object(o, "by_bits");
	for (unsigned i = 0; i < r->n_bits; i++) {
		snprintf(key, sizeof(key), "%u", r->bits[i].bits);
		json_add_string(by, key, r->bits[i].style ? gptq_style_name(r->bits[i].style) : NULL);
	}
	json_add_string(o, "source", r->v1_style_source ? gptq_style_source_name(r->v1_style_source) : NULL);
	json_add_number(o, "lanes_at_max", r->lanes_at_max);
}

static void add_other(cJSON *root, const struct gptq_inspect_report *r)
{
	const struct gptq_other_format *f = &r->other;
	cJSON *o, *list;

	if (!f->name) {
		json_add_null(root, "other_format");
		return;
	}
	o = json_add_object(root, "other_format");
	json_add_string(o, "name", f->name);
	json_add_string(o, "text", f->text);
	json_add_string(o, "layout", f->layout);
	if (f->by_tensors)
		json_add_number(o, "modules", f->n_modules);
	else
		json_add_null(o, "modules");
	add_group_size(o, f->group_size);
	json_add_double(o, "bits_min", f->bits_max > 0 ? f->bits_min : (double)NAN);
	json_add_double(o, "bits_max", f->bits_max > 0 ? f->bits_max : (double)NAN);
	list = json_add_array(o, "widths");
	for (unsigned b = 1; b <= 8; b++)
		if (f->widths >> b & 1)
			json_add_item_number(list, b);
	if (f->n_weights)
		json_add_number(o, "quantised_parameters", f->n_weights);
	else
		json_add_null(o, "quantised_parameters");
	json_add_double(o, "effective_bits_per_weight",
			f->n_weights ? (double)f->n_bits / (double)f->n_weights : (double)NAN);
}

static void add_pair(cJSON *root, const char *key, enum gptq_tristate label, enum gptq_tristate data)
{
	cJSON *o = json_add_object(root, key);

	add_tristate(o, "label", label);
	add_tristate(o, "data", data);
}

static void print_layers(struct json_stream *s, const struct gptq_inspect_report *r)
{
	json_stream_array(s, "layers");
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct gptq_layer_info *l = &r->layers[i];
		cJSON *o = json_object(), *shards;

		json_add_string(o, "name", l->name);
		json_add_number(o, "bits", l->bits);
		json_add_number(o, "word_bits", l->word_bits);
		add_group_size(o, l->group_size);
		json_add_number(o, "in_features", l->in_features);
		json_add_number(o, "out_features", l->out_features);
		json_add_number(o, "groups", l->groups);
		add_tristate(o, "sym", l->sym);
		add_tristate(o, "act_order", l->act_order);
		json_add_string(o, "verdict", gptq_verdict_name(l->verdict));
		if (l->has_zeros) {
			json_add_number(o, "zero_min", l->zero_min);
			json_add_number(o, "zero_max", l->zero_max);
			json_add_number(o, "zeros_equal_0", l->zeros_equal_0);
		} else {
			json_add_null(o, "zero_min");
			json_add_null(o, "zero_max");
			json_add_null(o, "zeros_equal_0");
		}
		shards = json_add_array(o, "shards");
		for (size_t k = 0; k < l->n_shards; k++)
			json_add_item_string(shards, l->shards[k]);
		if (r->digest_asked)
			json_add_string(o, "weights_sha256", l->weights_sha256);
		json_stream_item(s, o);
	}
	json_stream_array_end(s);
}

static void print_tensors(struct json_stream *s, const struct gptq_inspect_report *r)
{
	json_stream_array(s, "tensors");
	for (size_t i = 0; i < r->n_tensors; i++) {
		const struct gptq_tensor_info *t = &r->tensors[i];
		cJSON *o = json_object(), *shape;

		json_add_string(o, "name", t->name);
		json_add_string(o, "dtype", t->dtype);
		shape = json_add_array(o, "shape");
		for (uint32_t d = 0; d < t->rank; d++)
			json_add_item_number(shape, t->shape[d]);
		json_add_number(o, "bytes", t->nbytes);
		json_add_string(o, "shard", t->shard);
		json_add_number(o, "offset", t->offset);
		if (t->digest)
			json_add_string(o, "digest", t->digest);
		json_stream_item(s, o);
	}
	json_stream_array_end(s);
}

static void add_stats(cJSON *root, const struct gptq_inspect_report *r)
{
	cJSON *o = json_add_object(root, "zero_points");
	char key[8];

	for (unsigned i = 0; i < r->n_bits; i++) {
		cJSON *by = NULL;

		snprintf(key, sizeof(key), "%u", r->bits[i].bits);
		by = json_add_object(o, key);
		for (unsigned z = 0; z < 256; z++) {
			snprintf(key, sizeof(key), "%u", z);
			if (r->bits[i].zero_histogram[z])
				json_add_number(by, key, r->bits[i].zero_histogram[z]);
		}
	}
}

static void add_readers(cJSON *root, const struct gptq_inspect_report *r)
{
	cJSON *list = json_add_array(root, "loaders");

	for (size_t i = 0; i < r->n_readers; i++) {
		cJSON *o = json_add_item(list);

		json_add_string(o, "loader", r->readers[i].loader);
		json_add_string(o, "answer", gptq_reader_answer_name(r->readers[i].answer));
		json_add_string(o, "reason", r->readers[i].reason);
		json_add_string(o, "read_at", r->readers[i].read_at);
	}
}

static void add_findings(cJSON *root, const struct gptq_inspect_report *r)
{
	cJSON *list = json_add_array(root, "findings");

	for (size_t i = 0; i < r->n_findings; i++) {
		cJSON *o = json_add_item(list);

		json_add_string(o, "severity", gptq_severity_name(r->findings[i].severity));
		json_add_string(o, "code", r->findings[i].code);
		json_add_string(o, "where", r->findings[i].where);
		json_add_string(o, "text", r->findings[i].text);
	}
}

static void add_totals(cJSON *root, const struct gptq_inspect_report *r)
{
	cJSON *o = json_add_object(root, "totals");

	json_add_number(o, "layers", r->n_layers);
	json_add_number(o, "quantised_parameters", r->quantised_parameters);
	json_add_number(o, "parameters", r->parameters);
	json_add_number(o, "bytes", r->tensor_bytes);
	if (r->quantised_parameters)
		json_add_double(o, "effective_bits_per_weight",
				(double)r->quantised_bits / (double)r->quantised_parameters);
	else
		json_add_null(o, "effective_bits_per_weight");
	json_add_number(o, "tensors", r->n_tensors_in_all);
	json_add_number(o, "files", r->n_files);
	json_add_number(o, "unquantised_modules", r->n_plain_modules);
}

/* Layers and tensors may be hundreds of thousands: these are printed one by one. */
void inspect_print_json(FILE *out, const struct gptq_inspect_report *r, const struct inspect_view *view)
{
	cJSON *root = json_object(), *bits;
	struct json_stream s;
	char key[8];

	json_add_string(root, "path", r->path);
	json_add_string(root, "kind", kinds[r->kind]);
	add_label(root, r);
	add_verdict(root, r);
	add_style(root, r);
	json_add_string(root, "producer", r->producer);
	add_other(root, r);
	bits = json_add_object(root, "bits");
	for (unsigned i = 0; i < r->n_bits; i++) {
		snprintf(key, sizeof(key), "%u", r->bits[i].bits);
		json_add_number(bits, key, r->bits[i].n_layers);
	}
	add_group_size(root, r->group_size);
	add_pair(root, "sym", r->sym_label, r->sym_data);
	add_pair(root, "act_order", r->act_order_label, r->act_order_data);
	json_stream_begin(&s, out);
	json_stream_members(&s, root);
	print_layers(&s, r);
	if (view->tensors)
		print_tensors(&s, r);
	root = json_object();
	if (view->stats)
		add_stats(root, r);
	add_totals(root, r);
	add_findings(root, r);
	if (view->loaders)
		add_readers(root, r);
	if (r->digest_asked)
		json_add_string(root, "weights_digest", r->weights_digest);
	json_stream_members(&s, root);
	json_stream_end(&s);
}

void inspect_print_failure_json(FILE *out, const char *path, const struct gptq_error *err)
{
	cJSON *root = json_object();

	json_add_path(root, "path", path);
	json_add_error(root, err);
	json_print(out, root);
}
