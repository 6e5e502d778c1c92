/* SPDX-License-Identifier: Apache-2.0 */

/* See checkpoint_ack.h. It is checked and addressed like a message that the other side has sent.
 * Without it the message is stored all the same: then its sender is told to send it again. */

#include "checkpoint_ack.h"

#include <stdio.h>
#include <stdlib.h>

#include <parley/objects.h>

#include "check.h"
#include "retry_advice.h"
#include "verdict.h"

static const struct parley_bytes member_name = {",\"ack\":", sizeof ",\"ack\":" - 1};

struct checkpoint_ack {
    struct parley_buffer member; /* of the receipt: its name, and the message */
    struct jetstream_sender sender;
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    enum publication_repeat repeat; /* of the message that is acknowledged */
    struct receipt_place place;
    char stream[256]; /* of `place` */
    checkpoint_ack_fn *done;
    void *context;
};

bool checkpoint_ack_is_wanted(const struct request_options *options,
                              const struct parley_message *message) {
    return options->wants_ack && options->is_alone &&
           message->type == message->protocol->objects->type;
}

struct checkpoint_ack *checkpoint_ack_create(const struct parley_message *message, size_t size,
                                             checkpoint_ack_fn *done, void *context) {
    struct checkpoint_ack *acknowledgement = malloc(sizeof *acknowledgement);
    if (acknowledgement == NULL) {
        return NULL;
    }
    *acknowledgement =
        (struct checkpoint_ack){.protocol = message->protocol, .done = done, .context = context};
    parley_buffer_init(&acknowledgement->member);
    parley_buffer_append(&acknowledgement->member, member_name);
    message->protocol->objects->begin_ack(message, size, &acknowledgement->member);
    return acknowledgement;
}

void checkpoint_ack_destroy(struct checkpoint_ack *acknowledgement) {
    if (acknowledgement != NULL) {
        parley_buffer_finish(&acknowledgement->member);
        free(acknowledgement);
    }
}

const struct receipt_place *checkpoint_ack_place(const struct checkpoint_ack *acknowledgement) {
    return &acknowledgement->place;
}

/* ---- its end ---- */

static struct failure failed(const struct checkpoint_ack *acknowledgement, enum retry_time time,
                             const char *why) {
    struct failure failure = {.problem = PROBLEM_BUS_TIMEOUT};
    char advice[RETRY_TEXT_MAX];
    retry_advice(acknowledgement->gateway, acknowledgement->protocol, acknowledgement->repeat, time,
                 advice);
    snprintf(failure.detail, sizeof failure.detail,
             "The message is stored, but perhaps not its acknowledgement (%.150s). %s", why,
             advice);
    return failure;
}

/* Returns: NULL: it is stored. */
static const char *why_not(const struct jetstream_ack *ack) {
    switch (ack->outcome) {
    case JETSTREAM_STORED:
        return NULL;
    case JETSTREAM_REFUSED:
        return ack->error != NULL ? ack->error : "JetStream refused it";
    case JETSTREAM_TIMEOUT:
        return ack->error != NULL ? ack->error : "no ack came in time";
    case JETSTREAM_LOST:
        break;
    }
    return "the connection to NATS broke";
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct checkpoint_ack *acknowledgement = context;
    const char *why = why_not(ack);
    if (why == NULL) {
        acknowledgement->done(acknowledgement->context, NULL);
        return;
    }
    const struct failure failure =
        failed(acknowledgement, ack->outcome == JETSTREAM_TIMEOUT ? RETRY_LATE : RETRY_SOON, why);
    acknowledgement->done(acknowledgement->context, &failure);
}

/* ---- its message ---- */

static void keep_place(struct checkpoint_ack *acknowledgement, const struct receipt_place *place) {
    acknowledgement->place = *place;
    snprintf(acknowledgement->stream, sizeof acknowledgement->stream, "%s", place->stream);
    acknowledgement->place.stream = acknowledgement->stream;
    acknowledgement->place.members = parley_buffer_bytes(&acknowledgement->member);
}

static struct parley_bytes text_of(const struct checkpoint_ack *acknowledgement) {
    const struct parley_bytes member = parley_buffer_bytes(&acknowledgement->member);
    return (struct parley_bytes){member.data + member_name.length,
                                 member.length - member_name.length};
}

/* ack:<id>, of an id in JSON's quotes. */
static void write_message_id(struct parley_bytes id, struct parley_buffer *out) {
    parley_buffer_text(out, "ack:");
    parley_buffer_append(out, (struct parley_bytes){id.data + 1, id.length - 2});
}

/* Makes the options of a message of the other side, in the same request: the request's own options
 * do not concern it. */
static struct request_options options_of(const struct request_options *options) {
    struct request_options own = *options;
    own.codec = &parley_codec_json;
    request_options_of_server(&own);
    own.check.stamp = false;
    own.publication.idempotency_key = NULL;
    return own;
}

static enum parley_status prepare(struct request_options *options, struct parley_bytes text,
                                  struct parley_bytes message_id, struct publication *out) {
    struct gateway *gateway = options->gateway;
    PARLEY_TRY(check_message(options, text, (struct parley_position){1, 1}));
    struct parley_message *message = gateway_message(gateway, options->protocol);
    return parley_message_is_valid(message)
               ? publication_prepare(message, &options->publication, 1, message_id,
                                     gateway_payload(gateway), out)
               : PARLEY_E_UNSUPPORTED;
}

/* Returns: NULL: its ack will come; else why it was not published. */
static const char *publish(struct checkpoint_ack *acknowledgement,
                           const struct request_options *options, struct parley_bytes message_id) {
    struct request_options own = options_of(options);
    struct publication publication;
    const enum parley_status status =
        prepare(&own, text_of(acknowledgement), message_id, &publication);
    if (status != PARLEY_OK) {
        return parley_status_text(status);
    }
    switch (halting_publish(&own, &publication, &acknowledgement->sender, NULL, on_ack,
                            acknowledgement)) {
    case JETSTREAM_PUBLISHED:
        return NULL;
    case JETSTREAM_FULL:
        return jetstream_bound(own.gateway->jetstream);
    default:
        return "NATS cannot take it now";
    }
}

bool checkpoint_ack_send(struct checkpoint_ack *acknowledgement,
                         const struct request_options *options, const struct receipt *receipt,
                         const struct publication_mark *mark, const struct receipt_place *place,
                         struct failure *out_failure) {
    const struct parley_bytes id = receipt_id(receipt);
    struct parley_buffer message_id;
    parley_buffer_init(&message_id);
    write_message_id(id, &message_id);
    parley_buffer_append(&acknowledgement->member, id);
    parley_buffer_char(&acknowledgement->member, '}');
    acknowledgement->gateway = options->gateway;
    acknowledgement->repeat = mark->repeat;
    keep_place(acknowledgement, place);
    const char *why = acknowledgement->member.has_failed || message_id.has_failed
                          ? parley_status_text(PARLEY_E_MEMORY)
                          : publish(acknowledgement, options, parley_buffer_bytes(&message_id));
    parley_buffer_finish(&message_id);
    if (why != NULL) {
        *out_failure = failed(acknowledgement, RETRY_SOON, why);
    }
    return why == NULL;
}
