/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The reply that the client of one message waits for (`Prefer: wait`), from before the message is
 * published until the request is answered with it, or without. */

#include "receipt.h"
#include "request_options.h"

struct awaited_reply;

/* Before the message is published, which is `message`. `options` and `request`: of the message,
 * borrowed as long as it lives. `done`: the request is answered.  Returns: NULL if nothing waits,
 * since the request does not ask for it, may not read, no message answers this one, or too many
 * wait already.  Owns: returns a new one, to be given to awaited_reply_drop. */
struct awaited_reply *awaited_reply_expect(const struct request_options *options,
                                           struct http_request *request,
                                           const struct parley_route *route,
                                           struct parley_message *message,
                                           void (*done)(void *context), void *context);
/* The message is stored: its receipt, as written, and its id are copied.  Returns: whether the
 * request waits, and `done` follows; false: it is answered. */
bool awaited_reply_begin(struct awaited_reply *awaited, struct parley_bytes receipt,
                         const struct receipt *noted) PARLEY_MUST_CHECK;
/* Ends the wait. NULL is allowed. */
void awaited_reply_drop(struct awaited_reply *awaited);
