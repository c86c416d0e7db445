/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One safetensors file through gptq_convert_stream in chunks that the input chooses, and through gptq_convert. Where
 * both succeed the bytes are the same. A stream that ends well holds the same zero points and the same other tensors,
 * also where a file would have been refused; one that fails says why and has put out less than a whole file.
 *
 *   byte 0   as in model.h: to, style, from, relabel, accept damaged
 *   byte 1   0x03: 1 from a path, 2 into a path, else both are pipes   0x0c: --bits, none, 4, 3 or 8
 *            0xf0: how many sizes of chunks follow; none: all at once
 *   byte 2   size of the config that follows the sizes; 0: there is none
 */
#define _GNU_SOURCE
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROOM ((size_t)1 << 20)

static char in_path[400], config_path[400], file_path[400], stream_path[400];

/* What feeds the pipe before each read, and empties the other one before each write. Both are asked for in a hook. */
struct pump {
	const uint8_t *data; /* what is still to be fed */
	size_t left;
	const uint8_t *sizes; /* of chunks, less one; over and over */
	size_t n_sizes, turn;
	int in[2], out[2]; /* -1 where there is none */
	uint8_t *got;
	size_t n_got;
};

static void feed(struct pump *p)
{
	size_t n = p->left;
	int waiting = 0;

	if (p->in[1] < 0)
		return;
	MUST(ioctl(p->in[0], FIONREAD, &waiting) == 0);
	if (waiting)
		return;
	if (p->n_sizes && n > (size_t)p->sizes[p->turn % p->n_sizes] + 1)
		n = (size_t)p->sizes[p->turn % p->n_sizes] + 1;
	n = n < 4096 ? n : 4096;
	p->turn++;
	MUST(write(p->in[1], p->data, n) == (ssize_t)n);
	p->data += n;
	p->left -= n;
	if (p->left == 0) {
		close(p->in[1]);
		p->in[1] = -1;
	}
}

static void drain(struct pump *p)
{
	ssize_t n;

	if (p->out[0] < 0)
		return;
	while ((n = read(p->out[0], p->got + p->n_got, ROOM - p->n_got)) > 0)
		p->n_got += (size_t)n;
	MUST(n < 0 && errno == EAGAIN && p->n_got < ROOM);
}

static bool turn(void *ctx)
{
	feed(ctx);
	drain(ctx);
	return false;
}

static void close_all(struct pump *p)
{
	for (unsigned i = 0; i < 2; i++) {
		if (p->in[i] >= 0)
			close(p->in[i]);
		if (p->out[i] >= 0)
			close(p->out[i]);
	}
}

/* Does it hold all the tensors that its header announces? */
static bool is_whole(const uint8_t *data, size_t size)
{
	struct gptq_error err;
	struct gq_st *st = NULL;
	uint64_t n;
	bool whole = gq_st_header_size(data, size, size, NULL, &n, NULL, &err) == GPTQ_OK &&
		     gq_st_parse((const char *)data + 8, (size_t)n, size - 8 - n, NULL, &st, NULL, &err) == GPTQ_OK;

	gq_st_free(st);
	return whole;
}

/* A stream that ended well, whatever became of the file. */
static void check_whole(const struct gptq_convert_report *r, const struct gptq_convert_options *o)
{
	struct gq_source_options so = {.config_path = o->config, .bits = o->bits};
	struct gq_source a, b;
	enum gptq_v1_style style;

	fuzz_open(in_path, &so, &a);
	fuzz_open(stream_path, &so, &b);
	fuzz_compare_tensors(&a, &b, r->unchanged);
	if (!r->unchanged && r->from != GPTQ_ZEROS_NONE && fuzz_one_style(r, &style))
		fuzz_compare_zeros(&a, &b, r, style);
	gq_source_close(&a);
	gq_source_close(&b);
}

/* The bytes of a file, in p->got. */
static void slurp(struct pump *p, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	MUST(fd >= 0);
	n = read(fd, p->got, ROOM);
	MUST(n >= 0 && (size_t)n < ROOM);
	p->n_got = (size_t)n;
	close(fd);
}

static void check_failed(const struct pump *p, bool into_path, enum gptq_status by_file)
{
	uint8_t *whole;
	int fd;

	MUST(access(stream_path, F_OK) != 0 && (!into_path || p->n_got == 0));
	MUST(!is_whole(fuzz_guarded(SLOT_B, p->got, p->n_got), p->n_got));
	if (by_file != GPTQ_OK || p->n_got == 0)
		return;
	whole = malloc(p->n_got);
	fd = open(file_path, O_RDONLY | O_CLOEXEC);
	MUST(whole && fd >= 0 && read(fd, whole, p->n_got) == (ssize_t)p->n_got);
	MUST(memcmp(whole, p->got, p->n_got) == 0);
	close(fd);
	free(whole);
}

static void convert(struct pump *p, struct gptq_convert_options *o, bool from_path, bool into_path)
{
	struct gptq_hooks hooks = {.ctx = p, .cancelled = turn};
	struct gptq_convert_report *r = NULL;
	struct gptq_error err;
	enum gptq_status by_file = gptq_convert(in_path, file_path, o, NULL, &err), status;

	o->hooks = &hooks;
	status = gptq_convert_stream(from_path ? in_path : NULL, p->in[0], into_path ? stream_path : NULL, p->out[1], o,
				     &r, &err);
	drain(p);
	if (status != GPTQ_OK) {
		MUST(!r && err.status == status && err.message[0]);
		MUST(status == GPTQ_E_NOTFOUND || status == GPTQ_E_FORMAT || status == GPTQ_E_LIMIT ||
		     status == GPTQ_E_REFUSED || status == GPTQ_E_UNSUPPORTED || status == GPTQ_E_ARG);
		MUST(!from_path || by_file != GPTQ_OK); /* judged alike */
		check_failed(p, into_path, by_file);
		return;
	}
	MUST(r && !r->dry_run && (!from_path || by_file == GPTQ_OK));
	if (into_path)
		slurp(p, stream_path);
	else
		fuzz_write(stream_path, p->got, p->n_got);
	MUST(by_file != GPTQ_OK || fuzz_file_is(file_path, p->got, p->n_got));
	check_whole(r, o);
	gptq_convert_report_free(r);
}

static void make_places(void)
{
	fuzz_place(in_path, sizeof(in_path), fuzz_folder(), "in.safetensors");
	fuzz_place(config_path, sizeof(config_path), fuzz_folder(), "c.json");
	fuzz_place(file_path, sizeof(file_path), fuzz_folder(), "file.safetensors");
	fuzz_place(stream_path, sizeof(stream_path), fuzz_folder(), "stream.safetensors");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned widths[] = {0, 4, 3, 8};
	struct fuzz_input in = {data, size};
	struct gptq_convert_options o = fuzz_convert_options(fuzz_u8(&in) & 0xdfu);
	unsigned how = fuzz_u8(&in), n_config = fuzz_u8(&in);
	bool from_path = (how & 3) == 1, into_path = (how & 3) == 2;
	struct pump p = {.in = {-1, -1}, .out = {-1, -1}, .got = malloc(ROOM)};
	const uint8_t *config;
	size_t got;

	MUST(p.got);
	make_places();
	p.sizes = fuzz_bytes(&in, how >> 4, &p.n_sizes);
	config = fuzz_bytes(&in, n_config, &got);
	o.bits = widths[how >> 2 & 3];
	if (got) {
		fuzz_write(config_path, config, got);
		o.config = config_path;
		o.bits = 0;
	}
	p.data = in.data;
	p.left = in.size;
	fuzz_write(in_path, in.data, in.size);
	MUST(from_path || pipe2(p.in, O_CLOEXEC) == 0);
	MUST(into_path || pipe2(p.out, O_CLOEXEC | O_NONBLOCK) == 0);
	convert(&p, &o, from_path, into_path);
	MUST(fuzz_file_is(in_path, in.data, in.size));
	close_all(&p);
	free(p.got);
	fuzz_remove(in_path);
	fuzz_remove(config_path);
	fuzz_remove(file_path);
	fuzz_remove(stream_path);
	MUST(fuzz_entries_of(fuzz_folder()) == 0);
	return 0;
}
