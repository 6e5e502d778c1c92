/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What all workers know to be wrong with NATS, as lines of the log: each once when it begins and
 * once when it ends, however many workers find it out, and not before it has lasted a moment, so
 * that what comes and goes writes nothing. */

#include <parley/status.h>

#include "reactor.h"

struct troubles;

/* Lines are written on the thread of `reactor`. */
enum parley_status troubles_create(struct reactor *reactor,
                                   struct troubles **out) PARLEY_MUST_CHECK;
/* The workers must have ended. NULL is allowed. */
void troubles_destroy(struct troubles *troubles);

/* A worker (from 0) says what is wrong with `subject` ("NATS", "stream VLP"); NULL: nothing, as
 * far as it knows.  Threads: any. */
void troubles_note(struct troubles *troubles, unsigned worker, const char *subject,
                   const char *text);

/* Writes at once what would be written in a moment.  Returns: how many troubles there are.
 * Threads: the reactor's. */
unsigned troubles_flush(struct troubles *troubles);
