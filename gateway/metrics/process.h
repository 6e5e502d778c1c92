/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the kernel says of this process. */

#include "figures.h"

/* Sets the process's figures, but for its start. A figure that cannot be read stays what it was.
 * Threads: any, one at a time for a block. */
void process_read(struct figures *out);
/* Sets when it started: now. */
void process_note_start(struct figures *out);
