/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a safetensors file. From memory and from a descriptor the same must come out; what is accepted must
 * tile the data, and be found by its names.
 */
#include "fuzz.h"

#include "base/map.h"
#include "format/safetensors.h"

#include <string.h>

static void check_table(const struct gq_st *st, bool any_size)
{
	struct gq_map names;
	uint64_t at = 0;

	gq_map_init(&names);
	for (uint32_t i = 0; i < st->n_tensors; i++) {
		const struct gq_st_tensor *t = &st->tensors[i];
		const struct gq_st_tensor *by_place = &st->tensors[st->by_offset[i]];

		MUST(gq_map_insert(&names, t->name, t->name_size, i, NULL) == GQ_MAP_NEW);
		MUST(t->entry_begin < t->entry_end && t->entry_end <= st->header_size);
		MUST(st->header[t->entry_begin] == '{' && st->header[t->entry_end - 1] == '}');
		MUST(t->end >= t->begin);
		MUST(by_place->begin == at);
		at = by_place->end;
	}
	gq_map_free(&names);
	MUST(any_size || at == st->data_size);
	for (uint32_t i = 0; i < st->n_metadata; i++) {
		const struct gq_st_meta *m = &st->metadata[i];

		MUST(m->value_end > m->value_begin + 1 && m->value_end <= st->header_size);
		MUST(st->header[m->value_begin] == '"' && st->header[m->value_end - 1] == '"');
		if (!memchr(m->key, 0, m->key_size)) {
			char key[256];

			if (m->key_size >= sizeof(key))
				continue;
			memcpy(key, m->key, m->key_size);
			key[m->key_size] = '\0';
			MUST(gq_st_find_meta(st, key) == m);
		}
	}
}

static void same_tables(const struct gq_st *a, const struct gq_st *b)
{
	MUST(a->n_tensors == b->n_tensors && a->n_metadata == b->n_metadata);
	MUST(a->header_size == b->header_size && a->data_start == b->data_start && a->data_size == b->data_size);
	MUST(memcmp(a->header, b->header, (size_t)a->header_size) == 0);
	MUST(a->n_misaligned == b->n_misaligned && a->unpadded == b->unpadded);
	for (uint32_t i = 0; i < a->n_tensors; i++) {
		MUST(a->tensors[i].begin == b->tensors[i].begin && a->tensors[i].end == b->tensors[i].end);
		MUST(a->tensors[i].dtype == b->tensors[i].dtype && a->tensors[i].rank == b->tensors[i].rank);
	}
}

static void run(const uint8_t *data, size_t size, const struct gq_st_limits *limits)
{
	struct gq_st_diagnosis d_mem = {0}, d_fd = {0};
	struct gptq_error e_mem, e_fd;
	struct gq_st *mem = NULL, *fd = NULL;
	uint64_t n = 0;
	size_t first = size < GQ_SNIFF_BYTES ? size : GQ_SNIFF_BYTES;
	enum gptq_status s_mem, s_fd;
	char text[4096];

	s_mem = gq_st_header_size(fuzz_guarded(SLOT_B, data, first), first, size, limits, &n, &d_mem, &e_mem);
	if (s_mem == GPTQ_OK) {
		const char *header = fuzz_guarded(SLOT_B, data + 8, (size_t)n);

		MUST(n <= size - 8);
		s_mem = gq_st_parse(header, (size_t)n, size - 8 - n, limits, &mem, &d_mem, &e_mem);
	}
	s_fd = gq_st_open(fuzz_file(data, size), size, "F", limits, &fd, &d_fd, &e_fd);
	/* with all of a file at hand, what is no header is looked at once more: another format may explain it */
	MUST(s_mem == s_fd && d_mem.nbytes == d_fd.nbytes);
	MUST(d_mem.fault == d_fd.fault || (s_fd != GPTQ_OK && d_fd.fault == GQ_ST_NOT_SAFETENSORS));
	MUST((s_mem == GPTQ_OK) == (mem != NULL) && (s_fd == GPTQ_OK) == (fd != NULL));
	if (s_fd != GPTQ_OK) {
		MUST(e_fd.message[0] && e_fd.status == s_fd && d_fd.fault != GQ_ST_NONE);
		MUST(e_fd.offset == GPTQ_NO_OFFSET || e_fd.offset <= size);
		MUST(gptq_error_format(&e_fd, text, sizeof(text)) > 0);
	} else {
		check_table(mem, limits && limits->any_size);
		same_tables(mem, fd);
	}
	gq_st_free(mem);
	gq_st_free(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gq_st_limits loose = {.any_size = true}, tight = {.max_header = 200};

	run(data, size, NULL);
	run(data, size, &loose);
	run(data, size, &tight);
	return 0;
}
