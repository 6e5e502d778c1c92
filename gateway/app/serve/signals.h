/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Handles signals: SIGTERM and SIGINT end the process, SIGHUP makes it read files again or, if the
 * terminal of the start is gone, ends it too. On the main thread. */

#include <stdbool.h>

#include <parley/status.h>

#include "reactor.h"

/* A member of its owner, zero at first but for the functions. */
struct signals {
    void (*end)(struct signals *signals, const char *reason); /* may be called again */
    void (*reload)(struct signals *signals);
    struct reactor *reactor; /* borrowed; this and the members below are private */
    struct reactor_watch watch;
    struct reactor_timer hangup_timer;
    bool has_terminal; /* it had one at the start */
};

/* Threads: before any other is made; they inherit that the signals are blocked.
 * Returns: an error, with errno set: signals_close all the same. */
enum parley_status signals_watch(struct signals *signals, struct reactor *reactor);

/* While workers drain, the main thread waits for them: from now on SIGTERM and SIGINT end the
 * process at once. */
void signals_let_kill(void);

void signals_close(struct signals *signals);
