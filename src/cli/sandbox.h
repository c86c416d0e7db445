/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GQ_CLI_SANDBOX_H
#define GQ_CLI_SANDBOX_H

#include <stdbool.h>

/*
 * From here on this thread, and those it starts, can create, write, truncate, rename and remove nothing in any file
 * system; descriptors that are open stay as they are. Best effort: false where the kernel has no Landlock, or has it
 * switched off, and then nothing has changed. Irrevocable.
 */
bool cli_forbid_writing(void);

#endif
