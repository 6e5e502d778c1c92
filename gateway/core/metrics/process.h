/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the kernel says of this process. */

#include "figures.h"

/* Sets its processor time and its memory. A figure that cannot be read stays what it was.
 * Threads: the block's, as for the others. */
void process_read(struct figures *out);
/* Sets its open descriptors and their limit. Before Linux 6.2 they have to be counted, 1 to 2 µs
 * each: some tens of milliseconds for 18,000. */
void process_read_fds(struct figures *out);
/* Sets when it started: now. */
void process_note_start(struct figures *out);
