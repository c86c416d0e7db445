/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole small checkpoint: 4 bytes that choose options and files, a text, a safetensors file. It is inspected and
 * converted, which fails only as a dry run does. What a conversion says it made must open, hold the same zero points in
 * another format, be all that is left behind, and convert back to the same tensors. The input folder must stay as it
 * was.
 *
 *   byte 0     0x01 to v1   0x06 v1 style   0x18 from   0x20 per layer   0x40 relabel   0x80 accept damaged
 *   byte 1     0x01 config.json   0x02 both configs   0x04 a lone file   0x08 a second copy of the file, "a. being "b.
 *              0x10 the text is the index   0x20 SHA-256   0x40 headers alone   0x80 strays are converted
 *   bytes 2-3  size of the text
 */
#define _GNU_SOURCE
#include "model.h"

#include "base/checked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct files {
	const char *name[5];
	const uint8_t *data[5];
	size_t size[5];
	size_t n;
};

static char in_dir[300], out_dir[300], back_dir[300], in_path[400], out_path[400], back_path[400];
static bool lone;

static void add_file(struct files *f, const char *name, const uint8_t *data, size_t size)
{
	f->name[f->n] = name;
	f->data[f->n] = data;
	f->size[f->n++] = size;
}

static void make_places(void)
{
	fuzz_place(in_dir, sizeof(in_dir), fuzz_folder(), "in");
	fuzz_place(out_dir, sizeof(out_dir), fuzz_folder(), "out");
	fuzz_place(back_dir, sizeof(back_dir), fuzz_folder(), "back");
	fuzz_place(in_path, sizeof(in_path), in_dir, lone ? "model.safetensors" : "");
	snprintf(out_path, sizeof(out_path), "%s%s", out_dir, lone ? ".safetensors" : "");
	snprintf(back_path, sizeof(back_path), "%s%s", back_dir, lone ? ".safetensors" : "");
	MUST(mkdir(in_dir, 0700) == 0);
}

static void write_files(const struct files *f)
{
	char path[600];

	for (size_t i = 0; i < f->n; i++) {
		fuzz_place(path, sizeof(path), in_dir, f->name[i]);
		fuzz_write(path, f->data[i], f->size[i]);
	}
}

static void check_input_untouched(const struct files *f)
{
	char path[600];

	MUST(fuzz_entries_of(in_dir) == f->n);
	for (size_t i = 0; i < f->n; i++) {
		fuzz_place(path, sizeof(path), in_dir, f->name[i]);
		MUST(fuzz_file_is(path, f->data[i], f->size[i]));
	}
}

/* ----------------------------------------------------------------------------------------------------- inspect */

static void inspect(const char *path, unsigned layout)
{
	struct gptq_inspect_options o = {.struct_size = sizeof(o),
					 .headers = layout & 0x40,
					 .tensors = true,
					 .checksum = layout & 0x20 ? GPTQ_CHECKSUM_SHA256 : GPTQ_CHECKSUM_CRC32};
	struct gptq_inspect_report *r = (void *)&o;
	struct gptq_error err;
	enum gptq_status status = gptq_inspect(path, &o, &r, &err);

	if (status != GPTQ_OK) {
		MUST(!r && err.status == status && err.message[0]);
		MUST(status == GPTQ_E_NOTFOUND || status == GPTQ_E_FORMAT || status == GPTQ_E_LIMIT);
		return;
	}
	MUST(r->path && (r->n_findings == 0 || r->findings));
	for (size_t i = 0; i < r->n_findings; i++) {
		MUST(r->findings[i].code && r->findings[i].where && r->findings[i].text[0]);
		MUST(i == 0 || r->findings[i - 1].severity >= r->findings[i].severity);
	}
	MUST(r->n_tensors <= r->n_tensors_in_all);
	for (size_t i = 0; i < r->n_tensors; i++)
		MUST(r->tensors[i].shard);
	gptq_inspect_report_free(r);
}

/* ----------------------------------------------------------------------------------------------------- convert */

/* The label of what was made; a lone file without a label in its header says nothing. */
static void check_label(const struct gq_source *out, enum gptq_zeros_format to)
{
	enum gq_label want = to == GPTQ_ZEROS_V1 ? GQ_LABEL_V1 : GQ_LABEL_V2;

	if (out->file) /* the config beside it is another's */
		return;
	MUST(out->labels.consistent);
	MUST(out->labels.value == want || (out->labels.value == GQ_LABEL_ABSENT && !out->main));
}

static void convert_back(struct gq_source *a, const struct gptq_convert_report *r, enum gptq_v1_style style)
{
	struct gptq_convert_options o = {.struct_size = sizeof(o), .from = r->to, .to = r->from, .v1_style = style};
	struct gptq_error err;
	struct gq_source back;
	enum gptq_status status;

	o.strays = GPTQ_STRAYS_COPY;
	status = gptq_convert(out_path, back_path, &o, NULL, &err);
	/* mixed, and halves of 64-bit words, are refused whatever was given */
	MUST(status == GPTQ_OK || status == GPTQ_E_REFUSED);
	if (status != GPTQ_OK)
		return;
	fuzz_open(back_path, &(struct gq_source_options){0}, &back);
	fuzz_compare_tensors(a, &back, true);
	gq_source_close(&back);
}

static void check_done(const struct gptq_convert_report *r)
{
	struct gq_source a, b;
	enum gptq_v1_style style;

	fuzz_open(in_path, &(struct gq_source_options){0}, &a);
	fuzz_open(out_path, &(struct gq_source_options){0}, &b);
	MUST(b.problems.n == a.problems.n);
	fuzz_compare_tensors(&a, &b, r->unchanged);
	check_label(&b, r->to);
	if (!r->unchanged && r->from != GPTQ_ZEROS_NONE && fuzz_one_style(r, &style)) {
		fuzz_compare_zeros(&a, &b, r, style);
		convert_back(&a, r, style);
	}
	gq_source_close(&a);
	gq_source_close(&b);
}

static void convert(unsigned choice, unsigned layout)
{
	struct gptq_convert_options o = fuzz_convert_options(choice), dry;
	struct gptq_convert_report *r = (void *)&o;
	struct gptq_error err;
	enum gptq_status status;

	o.strays = layout & 0x80 ? GPTQ_STRAYS_CONVERT : layout & 1 ? GPTQ_STRAYS_COPY : GPTQ_STRAYS_REFUSE;
	status = gptq_convert(in_path, out_path, &o, &r, &err);
	/* what a dry run promises, or refuses, the conversion does */
	dry = o;
	dry.dry_run = true;
	if (status != GPTQ_OK)
		MUST(gptq_convert(in_path, out_path, &dry, NULL, NULL) == status);
	if (status != GPTQ_OK) {
		MUST(!r && err.status == status && err.message[0] && access(out_path, F_OK) != 0);
		MUST(status == GPTQ_E_NOTFOUND || status == GPTQ_E_FORMAT || status == GPTQ_E_LIMIT ||
		     status == GPTQ_E_REFUSED || status == GPTQ_E_UNSUPPORTED || status == GPTQ_E_ARG);
		MUST(fuzz_entries_of(fuzz_folder()) == 1);
		return;
	}
	MUST(fuzz_entries_of(fuzz_folder()) == 2);
	check_done(r);
	gptq_convert_report_free(r);
	inspect(out_path, layout);
}

/*
 * The file with names that begin with "a." beginning with "b.", and eight spaces more behind its header: another shard,
 * where no other names are in it. *size is the file's.
 */
static uint8_t *second_file(const uint8_t *data, size_t *size)
{
	uint64_t header = *size >= 8 ? gq_load_le(data, 8) : 0;
	size_t at = header <= *size && *size - header >= 8 ? 8 + (size_t)header : *size;
	uint8_t *copy = malloc(*size + 8);

	MUST(copy);
	if (at)
		memcpy(copy, data, at);
	memset(copy + at, ' ', 8);
	if (at < *size)
		memcpy(copy + at + 8, data + at, *size - at);
	*size += 8;
	if (header)
		gq_store_le(copy, header + 8, 8);
	for (size_t i = 0; i + 2 < *size; i++)
		if (memcmp(copy + i, "\"a.", 3) == 0)
			copy[i + 1] = 'b';
	return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	unsigned choice = fuzz_u8(&in), layout = fuzz_u8(&in);
	size_t n = fuzz_u16(&in), got;
	const uint8_t *text = fuzz_bytes(&in, n, &got);
	struct files f = {.n = 0};
	uint8_t *second = NULL;
	size_t second_size;

	second_size = in.size;
	lone = layout & 4;
	make_places();
	add_file(&f, "model.safetensors", in.data, in.size);
	if (layout & 8)
		second = second_file(in.data, &second_size);
	if (second)
		add_file(&f, "other.safetensors", second, second_size);
	if (layout & 0x10)
		add_file(&f, "model.safetensors.index.json", text, got);
	else
		add_file(&f, layout & 1 ? "config.json" : "quantize_config.json", text, got);
	if (layout & 2)
		add_file(&f, layout & 1 ? "quant_config.json" : "config.json", text, got);
	write_files(&f);
	inspect(in_path, layout);
	convert(choice, layout);
	check_input_untouched(&f);
	free(second);
	fuzz_remove(in_dir);
	fuzz_remove(out_path);
	fuzz_remove(back_path);
	return 0;
}
