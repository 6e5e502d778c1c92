/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests to webhooks, several at a time, on a reactor.  Threads: the reactor's. */

#include "reactor.h"
#include "webhook_request.h"

struct webhook_sender;

/* Owns: the caller embeds it, zeroed at first, and keeps it until `done`, or until it is dropped.
 */
struct webhook_sending {
    struct webhook_request request;
    void (*done)(struct webhook_sending *sending, const struct webhook_result *result);
};

enum parley_status webhook_sender_create(struct reactor *reactor,
                                         struct webhook_sender **out) PARLEY_MUST_CHECK;
/* No sending is left.  NULL is allowed. */
void webhook_sender_destroy(struct webhook_sender *sender);

/* Sends sending->request, which was prepared. `done` is called in a later turn, when nothing of the
 * request is left.  Returns: false: no memory; `done` is not called. */
bool webhook_sender_start(struct webhook_sender *sender, struct webhook_sending *sending);
/* Ends one that was started, without calling `done`. */
void webhook_sender_drop(struct webhook_sender *sender, struct webhook_sending *sending);
