/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What is sent of an event: whether a stored message is one that a webhook wants, and the text.
 * Source: Standard Webhooks 1.0.0, "Payload structure". */

#include <parley/message.h>

#include "channel.h"
#include "fact_place.h"
#include "jetstream_types.h"
#include "webhook.h"

struct parley_notice;

enum { WEBHOOK_MESSAGE_BYTES_MAX = 16384 }; /* of a message that is sent with its event */

enum webhook_writing {
    WEBHOOK_WRITTEN,
    WEBHOOK_OTHER,  /* it is not the event, or the webhook does not want it */
    WEBHOOK_FAILED, /* no memory */
};

/* The keys whose values are events. */
enum webhook_key {
    WEBHOOK_KEY_NONE, /* the event is a message */
    WEBHOOK_KEY_MOMENT,
    WEBHOOK_KEY_LOSS,    /* of an agent */
    WEBHOOK_KEY_OVERDUE, /* an acknowledgement */
    WEBHOOK_KEY_HALT,
};

/* Where events come from: a channel's messages, facts that name them, or keys.  Owns: borrowed. */
struct webhook_source {
    const struct channel *channel;
    const char *event; /* its name; static */
    enum webhook_key key;
    const struct parley_notice *notice;      /* of messages and moments; else NULL */
    struct parley_message *message;          /* of the protocol, used during the call only */
    const union parley_option_value *values; /* of the protocol's options */
};

/* These append the text of an event: of a message in `stream` … */
enum webhook_writing webhook_event_write_message(const struct webhook *webhook,
                                                 const struct webhook_source *source,
                                                 struct parley_bytes stream,
                                                 const struct jetstream_stored *stored,
                                                 struct parley_buffer *out);
/* … of a message that is not stored any more, whatever the webhook's filters … */
enum webhook_writing webhook_event_write_gone(const struct webhook_source *source,
                                              const struct fact_place *place, int64_t time_ns,
                                              struct parley_buffer *out);
/* … of a key, which has no value if it was deleted. */
enum webhook_writing webhook_event_write_key(const struct webhook *webhook,
                                             const struct webhook_source *source,
                                             const struct jetstream_stored *stored,
                                             struct parley_buffer *out);

/* The text that `parley webhooks test` sends. */
void webhook_event_write_test(const struct webhook *webhook, int64_t now_s,
                              struct parley_buffer *out);
