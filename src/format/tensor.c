/* SPDX-License-Identifier: Apache-2.0 */
/* What a tensor's name says. */
#include "format/shards.h"

#include <string.h>

bool gq_tensor_is(const struct gq_tensor *t, const char *suffix, size_t *module_len)
{
	size_t m = strlen(suffix);

	if (t->name_len < m || memcmp(t->name + t->name_len - m, suffix, m) != 0)
		return false;
	if (t->name_len > m && t->name[t->name_len - m - 1] != '.')
		return false;
	*module_len = t->name_len == m ? 0 : t->name_len - m - 1;
	return true;
}

bool gq_shards_hold_qzeros(const struct gq_shards *shards)
{
	size_t module_len;

	for (size_t i = 0; i < shards->n_tensors; i++)
		if (gq_tensor_is(&shards->tensors[i], "qzeros", &module_len))
			return true;
	return false;
}
