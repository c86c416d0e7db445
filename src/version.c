/* SPDX-License-Identifier: Apache-2.0 */
#include "gptq/gptq.h"

#include "config.h"

const char *gptq_version(void)
{
	return GQ_VERSION;
}
