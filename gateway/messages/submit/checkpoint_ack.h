/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* With `ack=true`: once a message is stored, the gateway publishes the one by which the other side
 * acknowledges it (parley/objects.h), in that side's name. Its Nats-Msg-Id is ack:<id>, so that a
 * message that is sent again leaves one. */

#include "receipt.h"

struct checkpoint_ack;
/* `failure`: why it is not known to be stored; NULL: it is. */
typedef void checkpoint_ack_fn(void *context, const struct failure *failure);

/* Whether the request asks for the acknowledgement of this valid message. */
bool checkpoint_ack_is_wanted(const struct request_options *options,
                              const struct parley_message *message);

/* Notes the data that the acknowledgement needs of a message that is about to be published, since
 * it is freed before its ack.  `size`: in bytes, of the stored message.  `done` is called for
 * checkpoint_ack_send.  Returns: NULL: no memory; else a new one, which the caller destroys. */
struct checkpoint_ack *checkpoint_ack_create(const struct parley_message *message, size_t size,
                                             checkpoint_ack_fn *done, void *context);
/* It waits for no ack. NULL is fine. */
void checkpoint_ack_destroy(struct checkpoint_ack *acknowledgement);

/* Publishes it, for the message stored at `place`; its own warnings may be noted in `receipt`, as
 * JSON.  `mark`: of that message.  Owns: copies `place`. Returns: whether `done` follows in a later
 * turn; if not, `out_failure` says why. */
bool checkpoint_ack_send(struct checkpoint_ack *acknowledgement,
                         const struct request_options *options, const struct receipt *receipt,
                         const struct publication_mark *mark, const struct receipt_place *place,
                         struct failure *out_failure);

/* The place of the message, with the acknowledgement as a further member of its receipt.  Owns:
 * borrowed from it. */
const struct receipt_place *checkpoint_ack_place(const struct checkpoint_ack *acknowledgement);
