/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* With `ack=true`: once a message is stored, the gateway publishes the one by which the other side
 * acknowledges it (parley/objects.h), in that side's name. Its Nats-Msg-Id is ack:<id>, so that a
 * message that is sent again leaves one. */

#include "receipt.h"

struct acknowledgement;
/* `failure`: why it is not known to be stored; NULL: it is. */
typedef void acknowledgement_fn(void *context, const struct failure *failure);

/* Whether the request asks for the acknowledgement of this valid message. */
bool acknowledgement_is_wanted(const struct request_options *options,
                               const struct parley_message *message);

/* Notes what the acknowledgement will say of a message that is about to be published, which is gone
 * by the time of its ack.  `size`: in bytes, of what is stored.  `done` is called for
 * acknowledgement_send.  Returns: NULL: no memory; else a new one, which the caller destroys. */
struct acknowledgement *acknowledgement_create(const struct parley_message *message, size_t size,
                                               acknowledgement_fn *done, void *context);
/* It waits for no ack. NULL is fine. */
void acknowledgement_destroy(struct acknowledgement *acknowledgement);

/* Publishes it, for the message that lies at `place`; what it has to say itself may be noted in
 * `receipt`, as JSON.  `mark`: of that message.  Owns: copies `place`.
 * Returns: whether `done` follows in a later turn; if not, `out_failure` says why. */
bool acknowledgement_send(struct acknowledgement *acknowledgement,
                          const struct request_options *options, const struct receipt *receipt,
                          const struct publication_mark *mark, const struct receipt_place *place,
                          struct failure *out_failure);

/* The place of the message, with the acknowledgement as a further member of its receipt.  Owns:
 * borrowed from it. */
const struct receipt_place *acknowledgement_place(const struct acknowledgement *acknowledgement);
