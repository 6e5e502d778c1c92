/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kernel's figures for this process. */

#include "figures.h"

/* Sets its processor time and its memory. A figure that cannot be read stays unchanged.
 * Threads: the block's, as for the others. */
void process_read(struct figures *out);
/* Sets its open descriptors and their limit. Before Linux 6.2 they must be counted, 1 to 2 µs each:
 * some tens of milliseconds for 18,000. */
void process_read_fds(struct figures *out);
/* Sets when it started: now. */
void process_note_start(struct figures *out);
