/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/dispatch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const struct gq_kernels *const gq_kernels_all[] = {
#if defined(__x86_64__)
	&gq_kernels_avx512,
	&gq_kernels_avx2,
#elif defined(GQ_HAVE_NEON)
	&gq_kernels_neon,
#endif
	&gq_kernels_generic,
	NULL,
};

/* Two threads may choose at once: they choose the same. */
static _Atomic(const struct gq_kernels *) chosen;

bool gq_kernels_usable(const struct gq_kernels *kernels)
{
	return !kernels->usable || kernels->usable();
}

static const struct gq_kernels *best(const struct gq_kernels *const *from)
{
	while (!gq_kernels_usable(*from))
		from++;
	return *from;
}

#ifdef GQ_TEST_HOOKS
static const struct gq_kernels *const *masked(void)
{
	static const char *const other_machines[] = {"generic", "avx2", "avx512", "neon"};
	const char *name = getenv("GQ_CPU");

	if (!name)
		return gq_kernels_all;
	for (const struct gq_kernels *const *k = gq_kernels_all; *k; k++)
		if (strcmp((*k)->name, name) == 0)
			return k;
	for (size_t i = 0; i < sizeof(other_machines) / sizeof(other_machines[0]); i++)
		if (strcmp(other_machines[i], name) == 0)
			return gq_kernels_all;
	abort();
}

void gq_kernels_set(const struct gq_kernels *kernels)
{
	atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
}
#else
static const struct gq_kernels *const *masked(void)
{
	return gq_kernels_all;
}
#endif

const struct gq_kernels *gq_kernels_get(void)
{
	const struct gq_kernels *kernels = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!kernels) {
		kernels = best(masked());
		atomic_store_explicit(&chosen, kernels, memory_order_relaxed);
	}
	return kernels;
}

const char *gq_kernels_name(void)
{
	return gq_kernels_get()->name;
}
