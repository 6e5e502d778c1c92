/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Logs what is wrong with NATS: one line when a problem begins and one when it ends, however many
 * workers see it. A problem is logged only after it has lasted half a second, so that brief ones
 * are not. */

#include <parley/status.h>

#include "reactor.h"

struct troubles;

/* Lines are written on the thread of `reactor`. */
enum parley_status troubles_create(struct reactor *reactor,
                                   struct troubles **out) PARLEY_MUST_CHECK;
/* The workers must have ended. NULL is allowed. */
void troubles_destroy(struct troubles *troubles);

/* Worker number `worker` (from 0) reports a problem with `subject` ("NATS", "stream VLP"). `text`
 * NULL: it sees none any more.  Threads: any. */
void troubles_note(struct troubles *troubles, unsigned worker, const char *subject,
                   const char *text);

/* Writes pending lines at once.  Returns: how many problems there are now.
 * Threads: the reactor's. */
unsigned troubles_flush(struct troubles *troubles);
