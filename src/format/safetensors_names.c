/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a tensor name stand twice? Writers put tensors by name, or by width of elements and then by name: so names come
 * in a few runs in each of which they ascend, and runs are compared with each other at a fraction of what a map costs.
 * Where names come in any other order, a map it is.
 */
#include "base/bytes.h"
#include "format/safetensors_private.h"

void gq_st_names_init(struct gq_st_names *names, bool mapped)
{
	*names = (struct gq_st_names){.mapped = mapped};
	gq_map_init(&names->map);
}

void gq_st_names_free(struct gq_st_names *names)
{
	gq_map_free(&names->map);
}

static int compare(const struct gq_st_tensor *a, const struct gq_st_tensor *b)
{
	return gq_compare_bytes(a->name, a->name_size, b->name, b->name_size);
}

/* From here on all names are in the map. One that stands twice among them is found when the file is read again. */
static enum gq_map_result go_to_map(struct gq_st_names *names, const struct gq_st_tensor *tensors, uint32_t n)
{
	enum gq_map_result result = GQ_MAP_NEW;

	names->mapped = true;
	for (uint32_t i = 0; i < n && result != GQ_MAP_NOMEM; i++) {
		result = gq_map_insert(&names->map, tensors[i].name, tensors[i].name_size, i, NULL);
		names->twice = names->twice || result == GQ_MAP_OLD;
	}
	return result == GQ_MAP_NOMEM ? result : GQ_MAP_NEW;
}

enum gq_map_result gq_st_names_add(struct gq_st_names *names, const struct gq_st_tensor *tensors, uint32_t n,
				   uint32_t *before)
{
	const struct gq_st_tensor *t = &tensors[n];

	if (!names->mapped && n && compare(t - 1, t) < 0)
		return GQ_MAP_NEW;
	if (!names->mapped && names->n_runs < GQ_ST_RUNS) {
		names->begin[names->n_runs++] = n;
		return GQ_MAP_NEW;
	}
	if (!names->mapped && go_to_map(names, tensors, n) == GQ_MAP_NOMEM)
		return GQ_MAP_NOMEM;
	return gq_map_insert(&names->map, t->name, t->name_size, n, before);
}

/* Does a name stand in both of two runs, a..a_end and b..b_end? */
static bool share(const struct gq_st_tensor *a, const struct gq_st_tensor *a_end, const struct gq_st_tensor *b,
		  const struct gq_st_tensor *b_end)
{
	while (a < a_end && b < b_end) {
		int c = compare(a, b);

		if (c == 0)
			return true;
		if (c < 0)
			a++;
		else
			b++;
	}
	return false;
}

bool gq_st_names_differ(const struct gq_st_names *names, const struct gq_st_tensor *tensors, uint32_t n)
{
	if (names->mapped)
		return !names->twice;
	for (uint32_t i = 0; i < names->n_runs; i++) {
		const struct gq_st_tensor *run = tensors + names->begin[i];

		for (uint32_t j = i + 1; j < names->n_runs; j++)
			if (share(run, tensors + names->begin[i + 1], tensors + names->begin[j],
				  tensors + (j + 1 < names->n_runs ? names->begin[j + 1] : n)))
				return false;
	}
	return true;
}
