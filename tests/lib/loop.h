/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A reactor on a thread of its own, for tests: the test's thread asks it to do things and waits
 * for what comes of them. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "reactor.h"

struct loop {
    struct reactor *reactor;
    pthread_t thread;
};

/* Creates the reactor; what hangs on it is created between this and loop_start. */
void loop_create(struct loop *loop);
void loop_start(struct loop *loop);
/* Ends the thread; what hangs on the reactor is destroyed between this and loop_destroy. */
void loop_stop(struct loop *loop);
void loop_destroy(struct loop *loop);

/* Runs `work` on the reactor's thread and waits until it is done. */
void loop_do(struct loop *loop, void (*work)(void *context), void *context);

/* A timeout that only a defect reaches, however busy the machine is. */
enum { LOOP_PATIENCE_MS = 120000 };

/* Waits until `holds`, called on the reactor's thread, says true.  Returns: false after
 * `timeout_ms`. */
bool loop_wait(struct loop *loop, bool (*holds)(void *context), void *context, int timeout_ms);

/* Sleeps a little between two polls of something outside. */
void loop_pause(void);

/* How long the calling thread has slept since loop_nap_begin: neither run nor waited for a
 * processor. So it tells a call that blocks from one that a busy machine delays. A thread that
 * never gave up its processor has not slept, though the host of a virtual machine may have halted
 * it. */
struct loop_nap {
    int64_t slept_ns;
    long count;
};
void loop_nap_begin(struct loop_nap *nap);
long loop_nap_ms(const struct loop_nap *nap);
