/* SPDX-License-Identifier: Apache-2.0 */
/* The input is the text of model.safetensors.index.json. */
#include "fuzz.h"

#include "base/mem.h"
#include "format/index.h"

#include <string.h>

static void check_name(const char *s)
{
	size_t n = strlen(s);

	MUST(n > 12 && n < 256 && !strchr(s, '/') && strcmp(s + n - 12, ".safetensors") == 0);
}

/* Entry by entry: the name and the shard that the text gives. */
static void check_entries(const struct gq_index *index, const char *text, size_t size)
{
	struct gq_json_tree parsed, *tree = &parsed;
	uint32_t at;

	MUST(gq_json_parse(text, size, 0, tree, NULL) == GPTQ_OK);
	at = tree->nodes[gq_json_get(tree, 0, "weight_map")].first;

	for (size_t i = 0; i < index->n_entries; i++, at = tree->nodes[at].next) {
		const struct gq_index_entry *e = &index->entries[i];
		const struct gq_json_node *nd = &tree->nodes[at];
		const char *file = index->files[e->file];

		MUST(at && gq_json_string_is(tree->text, nd->begin, nd->end, file, strlen(file)));
		MUST(gq_json_string_is(tree->text, nd->key_begin, nd->key_end, gq_index_name(index, e), e->tensor_len));
	}
	MUST(at == 0);
	gq_json_tree_free(tree);
}

/* No shard could be opened, so nothing may be said about what they hold. */
static void compare(const struct gq_index *index)
{
	struct gq_shards shards = {.n = index->n_files};
	struct gq_problems problems = {0};
	struct gptq_error err;

	shards.items = gq_calloc(index->n_files, sizeof(*shards.items));
	MUST(shards.items);
	gq_map_init(&shards.by_name);
	MUST(gq_index_compare(index, &shards, &problems, &err) == GPTQ_OK);
	MUST(problems.n == 0);
	gq_problems_free(&problems);
	gq_free(shards.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gq_index index;
	struct gptq_error err;
	enum gptq_status status;

	fuzz_file(data, size);
	status = gq_index_read("/proc/self/fd", strrchr(fuzz_file_path(), '/') + 1, &index, &err);
	if (status != GPTQ_OK) {
		MUST(status == GPTQ_E_FORMAT && err.message[0] && (err.offset == GPTQ_NO_OFFSET || err.offset <= size));
		return 0;
	}
	MUST(index.n_files && index.n_entries >= index.n_files);
	for (size_t i = 0; i < index.n_files; i++) {
		check_name(index.files[i]);
		MUST(i == 0 || strcmp(index.files[i - 1], index.files[i]) < 0);
	}
	for (size_t i = 0; i < index.n_entries; i++)
		MUST(index.entries[i].file < index.n_files && index.entries[i].tensor_len <= size);
	check_entries(&index, (const char *)data, size);
	compare(&index);
	gq_index_free(&index);
	return 0;
}
