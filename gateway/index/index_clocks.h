/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads what index_pace.h asks for. Threads: the one whose time is measured. */

#include "index_pace.h"

struct index_clocks {
    int waits_fd; /* -1: the kernel does not say how long the thread waited */
};

void index_clocks_open(struct index_clocks *clocks);
void index_clocks_close(struct index_clocks *clocks);
/* Fills `out`, except `lag`. */
void index_clocks_read(const struct index_clocks *clocks, struct index_pace_sample *out);
/* Returns the number of processors that the process may use, at least 1. */
unsigned index_clocks_processors(void);
