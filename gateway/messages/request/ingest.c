/* SPDX-License-Identifier: Apache-2.0 */

/* Chooses who serves the body of a POST: an application/json body holds many messages when it
 * begins with a bracket. A compressed one is decompressed on its way. */

#include "ingest.h"

#include <stdlib.h>

#include <parley/objects.h>

#include "batch.h"
#include "conversion.h"
#include "decoding.h"
#include "encodings.h"
#include "problem.h"
#include "single.h"

/* A request that is being served. */
struct ingest {
    struct body body;
    struct request_options options;
    struct decoding *decoding; /* NULL: the body is not compressed */
    bool is_broken;            /* it has ended, and its handler was told */
    bool is_decided; /* whether it holds one message or many; until then `single` has it */
};

static bool is_blank(struct parley_bytes bytes, char *out_first) {
    for (size_t i = 0; i < bytes.length; i++) {
        *out_first = bytes.data[i];
        if (*out_first != ' ' && *out_first != '\t' && *out_first != '\r' && *out_first != '\n') {
            return false;
        }
    }
    return true;
}

static void refuse_many(const struct request_options *options, struct http_request *request) {
    char others[ENCODINGS_TEXT_MAX];
    encodings_list(options->protocol, true, others);
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "The query option `to` cannot be `%s` for many messages: that encoding "
                           "holds one. Convert to %s, or send one message at a time.",
                           options->to->name, others);
}

/* Returns: whether many messages can be taken; if not, the request is answered. */
static bool can_take_many(const struct request_options *options, struct http_request *request) {
    if (options->task == INGEST_CONVERT && !encodings_holds_many(options->to)) {
        refuse_many(options, request);
        return false;
    }
    if (options->task == INGEST_CONVERT) {
        return request_accepts_converted(options, request, true);
    }
    if (options->is_only_for_one) {
        problem_respond(request, PROBLEM_NOT_ACCEPTABLE,
                        "The answer to many messages is application/x-ndjson or application/json: "
                        "accept one of them, or send one message at a time.");
        return false;
    }
    if (options->wants_ack) {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                               "The query option `ack` is for one %s, answered in JSON: send it "
                               "alone in its request, or leave out `ack`.",
                               options->protocol->types[options->protocol->objects->type]);
        return false;
    }
    if (options->task == INGEST_FORWARD && !jetstream_is_accepting(options->gateway->jetstream)) {
        const char *trouble = jetstream_trouble(options->gateway->jetstream);
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE,
                               "%s. Nothing was read: send the body again later.",
                               trouble != NULL ? trouble : "NATS cannot take messages now");
        return false;
    }
    return true;
}

/* Returns: whether the handler has the body now; if not, the request is answered. */
static bool begin_with(struct ingest *ingest, const struct body_handler *handler,
                       enum parley_framing framing, struct http_request *request) {
    void *state = handler->create(&ingest->options, framing, request);
    if (state == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return false;
    }
    ingest->body = (struct body){handler, state};
    return true;
}

/* The body holds many messages, or one that is answered as a batch (PARLEY_FRAMING_WHOLE).
 * Returns: as begin_with. */
static bool begin_many(struct ingest *ingest, enum parley_framing framing,
                       struct http_request *request) {
    const struct body_handler *handler =
        ingest->options.task == INGEST_CONVERT ? &conversion_handler : &batch_handler;
    return can_take_many(&ingest->options, request) &&
           begin_with(ingest, handler, framing, request);
}

/* The body holds one message, answered as one.  Returns: as begin_with. */
static bool can_take_one(const struct ingest *ingest, struct http_request *request) {
    return rate_charge_admit(&ingest->options.meter, request,
                             request_message_bytes_max(&ingest->options));
}

static size_t give_body(struct ingest *ingest, struct parley_bytes bytes) {
    return ingest->body.handler->body(ingest->body.state, bytes);
}

/* The body is not for `single`, which returns the bytes that it has: blanks.  Returns: as
 * begin_with. */
static bool become_many(struct ingest *ingest, enum parley_framing framing,
                        struct http_request *request) {
    void *single = ingest->body.state;
    if (!begin_many(ingest, framing, request)) {
        return false;
    }
    give_body(ingest, single_text(single));
    single_handler.closed(single);
    return true;
}

/* `first`: the first byte that is not blank.  Returns: false: the request is answered. */
static bool decide(struct ingest *ingest, struct http_request *request, char first) {
    ingest->is_decided = true;
    if (first == '[') {
        return become_many(ingest, PARLEY_FRAMING_JSON, request);
    }
    return ingest->options.form == ANSWER_LINES ? become_many(ingest, PARLEY_FRAMING_WHOLE, request)
                                                : can_take_one(ingest, request);
}

/* A piece of the body that is not compressed, or no longer. */
static size_t take_body(void *context, struct http_request *request, struct parley_bytes bytes) {
    struct ingest *ingest = context;
    char first = ' ';
    if (!ingest->is_decided && !is_blank(bytes, &first) && !decide(ingest, request, first)) {
        return bytes.length;
    }
    return give_body(ingest, bytes);
}

/* The body has its end, or breaks off. */
static void end_body(struct ingest *ingest, struct http_request *request,
                     const struct body_fault *fault) {
    if (!ingest->is_decided && !decide(ingest, request, ' ')) {
        return;
    }
    if (fault != NULL) {
        ingest->is_broken = true;
        ingest->body.handler->broken(ingest->body.state, fault);
    } else {
        ingest->body.handler->end(ingest->body.state);
    }
}

static size_t on_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct ingest *ingest = OWNER_OF(state, struct ingest, body);
    if (ingest->decoding == NULL) {
        return take_body(ingest, request, bytes);
    }
    if (ingest->is_broken) {
        return bytes.length;
    }
    const size_t taken = decoding_body(ingest->decoding, request, bytes);
    const struct body_fault *fault = decoding_fault(ingest->decoding);
    if (taken == bytes.length && fault != NULL && !http_request_is_discarding(request)) {
        end_body(ingest, request, fault);
    }
    return taken;
}

static void on_end(void *state, struct http_request *request) {
    struct ingest *ingest = OWNER_OF(state, struct ingest, body);
    const struct body_fault *fault = NULL;
    if (ingest->is_broken) {
        return;
    }
    if (ingest->decoding != NULL) {
        decoding_end(ingest->decoding);
        fault = decoding_fault(ingest->decoding);
    }
    end_body(ingest, request, fault);
}

static void on_closed(void *state, bool is_complete) {
    struct ingest *ingest = OWNER_OF(state, struct ingest, body);
    (void)is_complete;
    ingest->body.handler->closed(ingest->body.state);
    decoding_destroy(ingest->decoding);
    free(ingest);
}

/* Returns: whether there is a handler for the body; if not, the request is answered. */
static bool begin_plain(struct ingest *ingest, struct http_request *request) {
    const enum parley_framing framing = ingest->options.codec->framing;
    const bool is_one = framing == PARLEY_FRAMING_WHOLE;
    ingest->is_decided = framing != PARLEY_FRAMING_JSON;
    if (ingest->is_decided && (!is_one || ingest->options.form == ANSWER_LINES)) {
        return begin_many(ingest, framing, request);
    }
    return (!ingest->is_decided || can_take_one(ingest, request)) &&
           begin_with(ingest, &single_handler, PARLEY_FRAMING_WHOLE, request);
}

/* Returns: as begin_plain. */
static bool begin(struct ingest *ingest, struct http_request *request) {
    const struct decoding_target target = {take_body, ingest};
    if (ingest->options.coding == CODING_IDENTITY) {
        return begin_plain(ingest, request);
    }
    ingest->options.meter.has_length = false; /* decompressed bytes are charged as they are made */
    ingest->decoding = decoding_create(&ingest->options, &target);
    if (ingest->decoding == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return false;
    }
    return begin_plain(ingest, request);
}

void ingest_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, enum ingest_task task) {
    static const struct http_handler handler = {
        .body = on_body, .end = on_end, .closed = on_closed};
    struct request_options options = {.gateway = gateway, .protocol = protocol, .task = task};
    rate_charge_begin(&options.meter, gateway->limits, &gateway->rate_headers, gateway->reactor,
                      request);
    if (!request_options_read(&options, request)) {
        rate_charge_charge(&options.meter, LIMITS_INVALID_COST, 0);
        return;
    }
    struct ingest *ingest = malloc(sizeof *ingest); /* calloc passes by malloc's cache */
    if (ingest == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *ingest = (struct ingest){.options = options};
    if (begin(ingest, request)) {
        http_request_serve(request, &handler, &ingest->body);
        if (task == INGEST_FORWARD) {
            http_commit(request);
        }
    } else {
        decoding_destroy(ingest->decoding);
        free(ingest);
    }
}
