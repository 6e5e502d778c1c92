/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns freed memory to the kernel, on the main thread, while workers run. */

#include "reactor.h"

/* The owner embeds it. */
struct memory_trim {
    struct reactor *reactor;
    struct reactor_timer timer;
    size_t kept_bytes; /* resident, and neither in use nor given back by the last attempt */
    int64_t pause_ms;  /* until the next look */
};

/* Configures the C library and starts checking.  Owns: the reactor is borrowed. */
void memory_trim_start(struct memory_trim *trim, struct reactor *reactor);
void memory_trim_stop(struct memory_trim *trim);
