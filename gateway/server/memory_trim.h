/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Has what was freed go back to the kernel, on the main thread, while workers go on. */

#include "reactor.h"

/* The owner embeds it. */
struct memory_trim {
    struct reactor *reactor;
    struct reactor_timer timer;
    size_t kept_bytes; /* resident, and neither in use nor given back by the last attempt */
    int64_t pause_ms;  /* until the next look */
};

/* Sets the C library up for it, and looks from now on.  Owns: the reactor is borrowed. */
void memory_trim_start(struct memory_trim *trim, struct reactor *reactor);
void memory_trim_stop(struct memory_trim *trim);
