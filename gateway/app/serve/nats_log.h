/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Logs problems with NATS: one line when a problem begins and one when it ends, however many
 * workers see it. A problem is logged only after it has lasted half a second, so that brief ones
 * are not. */

#include <parley/status.h>

#include "reactor.h"

struct nats_log;

/* Lines are written on the thread of `reactor`. */
enum parley_status nats_log_create(struct reactor *reactor,
                                   struct nats_log **out) PARLEY_MUST_CHECK;
/* The workers must have ended. NULL is allowed. */
void nats_log_destroy(struct nats_log *troubles);

/* Worker number `worker` (from 0) reports a problem with `subject` ("NATS", "stream VLP"). `text`
 * is NULL once it sees none.  Threads: any. */
void nats_log_note(struct nats_log *troubles, unsigned worker, const char *subject,
                   const char *text);

/* Writes pending lines at once.  Returns: how many problems there are now.
 * Threads: the reactor's. */
unsigned nats_log_flush(struct nats_log *troubles);
