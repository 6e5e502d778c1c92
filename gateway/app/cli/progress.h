/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A progress line on a terminal, rewritten in place, for work that takes more than two seconds. */

#include <stdbool.h>
#include <stdint.h>

struct progress {
    int fd; /* -1: not a terminal */
    bool is_shown;
    int64_t next_ms;
};

/* Shows nothing if `fd` is not a terminal, nor in the first two seconds. */
void progress_init(struct progress *progress, int fd, int64_t now_ms);

/* Whether it is time to update the line. */
bool progress_is_due(const struct progress *progress, int64_t now_ms);

void progress_show(struct progress *progress, int64_t now_ms, const char *text);

/* Clears the line, so that something else can be written there. */
void progress_clear(struct progress *progress);
