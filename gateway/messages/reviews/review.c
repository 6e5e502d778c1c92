/* SPDX-License-Identifier: Apache-2.0 */

/* POST …/reviews/{STREAM:SEQ}: one decision on a message that waits for people. Of all that are
 * sent, to any gateway, the one that creates the message's key is the decision. A message in the
 * reviewer's name announces it, and a second key says where that is, so that the same decision,
 * sent again, is announced once: JetStream recognises the announcement within its dedupe window,
 * and after that the second key is there. */

#include "reviews.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "announcement.h"
#include "bucket_key.h"
#include "channel.h"
#include "check.h"
#include "halting.h"
#include "log.h"
#include "phase.h"
#include "review_value.h"
#include "small_body.h"
#include "stored_route.h"

/*   RECEIVING ── the body has ended ──▶ FETCHING ── the message waits for a review ──▶ DECIDING
 *
 *   DECIDING ── its key is created ──▶ TELLING
 *   DECIDING ── it has one already ──▶ COMPARING ── the same decision ──▶ FINDING
 *   FINDING ── it is not known to be announced ──▶ TELLING ── stored ──▶ NOTING
 *   any ── it is answered, or its client is gone and no ack is awaited ──▶ OVER
 */
enum review_phase {
    REVIEW_RECEIVING,
    REVIEW_FETCHING,  /* the message */
    REVIEW_DECIDING,  /* its key is being created */
    REVIEW_COMPARING, /* asking for the decision that was made before */
    REVIEW_FINDING,   /* asking for the place of its announcement */
    REVIEW_TELLING,   /* the announcement is being stored */
    REVIEW_NOTING,    /* and then its place */
    REVIEW_OVER,
};

struct review {
    struct request_options options;
    const struct channel *channel;
    struct http_request *request; /* NULL once it is gone */
    enum review_phase phase;
    struct small_body body;
    struct parley_arena arena;
    struct jetstream_request *asked;
    struct review_place place;
    char stream[JETSTREAM_STREAM_MAX]; /* of `place` */
    char shown[REVIEW_PLACE_MAX], key[REVIEW_KEY_MAX];
    struct review_value says; /* as the key has it; texts are in body or arena, or below */
    bool is_duplicate;
    struct parley_bytes message_id, thread; /* of the message; in the arena */
    char notice_id[37], now[32];
    struct parley_buffer notice; /* the place of the announcement, as JSON */
};

static void enter(struct review *review, enum review_phase phase) {
    static const unsigned allowed[] = {
        [REVIEW_RECEIVING] = PHASE(REVIEW_FETCHING) | PHASE(REVIEW_OVER),
        [REVIEW_FETCHING] = PHASE(REVIEW_DECIDING) | PHASE(REVIEW_OVER),
        [REVIEW_DECIDING] = PHASE(REVIEW_COMPARING) | PHASE(REVIEW_TELLING) | PHASE(REVIEW_OVER),
        [REVIEW_COMPARING] = PHASE(REVIEW_FINDING) | PHASE(REVIEW_OVER),
        [REVIEW_FINDING] = PHASE(REVIEW_TELLING) | PHASE(REVIEW_OVER),
        [REVIEW_TELLING] = PHASE(REVIEW_NOTING) | PHASE(REVIEW_OVER),
        [REVIEW_NOTING] = PHASE(REVIEW_OVER),
        [REVIEW_OVER] = 0,
    };
    review->phase = (enum review_phase)phase_after(allowed, review->phase, phase);
}

static struct gateway *gateway_of(const struct review *review) {
    return review->options.gateway;
}

static struct jetstream *jetstream_of(const struct review *review) {
    return review->options.gateway->jetstream;
}

static const struct parley_protocol *protocol_of(const struct review *review) {
    return review->options.protocol;
}

static void destroy(struct review *review) {
    small_body_finish(&review->body);
    parley_buffer_finish(&review->notice);
    parley_arena_finish(&review->arena);
    request_options_release(&review->options);
    free(review);
}

/* ---- answers ---- */

static void refuse_members(struct review *review, enum problem problem, const char *detail,
                           struct parley_bytes members) {
    enter(review, REVIEW_OVER);
    if (review->request == NULL) {
        destroy(review);
    } else {
        problem_respond_members(review->request, problem, detail, members);
    }
}

static void refuse(struct review *review, enum problem problem, const char *detail) {
    refuse_members(review, problem, detail, (struct parley_bytes){0});
}

/* `reason`: of NATS; NULL if it gave none. */
static void refuse_because(struct review *review, enum problem problem, const char *what,
                           const char *reason) {
    char detail[512];
    snprintf(detail, sizeof detail,
             "%s (%.200s). Send it again: a decision is made and announced "
             "once.",
             what, reason != NULL ? reason : "NATS did not answer in time");
    refuse(review, problem, detail);
}

static void respond(struct review *review) {
    struct parley_buffer out;
    enter(review, REVIEW_OVER);
    if (review->request == NULL) {
        destroy(review);
        return;
    }
    parley_buffer_init(&out);
    parley_buffer_text(&out, "{\"message\":");
    parley_buffer_json(&out, parley_bytes_of(review->shown));
    parley_buffer_char(&out, ',');
    review_value_write(&review->says, &out);
    parley_buffer_text(&out, ",\"notice\":");
    parley_buffer_append(&out, parley_buffer_bytes(&review->notice));
    parley_buffer_format(&out, ",\"duplicate\":%s}\n", review->is_duplicate ? "true" : "false");
    out.has_failed = out.has_failed || review->notice.has_failed;
    problem_or_json(review->request, &out);
}

static void respond_already(struct review *review, const struct review_value *first) {
    struct parley_buffer members;
    char detail[256];
    parley_buffer_init(&members);
    parley_buffer_char(&members, ',');
    review_value_write(first, &members);
    snprintf(detail, sizeof detail,
             "%.100s was reviewed before, and a message has one decision: the first, which this "
             "problem shows. Nothing was stored.",
             review->shown);
    refuse_members(review, members.has_failed ? PROBLEM_INTERNAL : PROBLEM_ALREADY_REVIEWED, detail,
                   parley_buffer_bytes(&members));
    parley_buffer_finish(&members);
}

/* ---- the announcement ---- */

static void write_announcement(const struct review *review, struct parley_buffer *out) {
    const struct review_value *says = &review->says;
    protocol_of(review)->reviews->write_review(
        &(struct parley_review){
            .is_approved = parley_bytes_equal(says->decision, parley_bytes_of(review_approve)),
            .by = says->by,
            .reason = says->reason,
            .id = says->id,
            .at = says->at,
            .place = review->shown,
            .message_id = review->message_id,
            .thread = review->thread},
        out);
}

static void on_noted(void *context, const struct jetstream_ack *ack) {
    (void)ack; /* without it, the same decision is announced again if it is sent after minutes */
    respond(context);
}

static void note(struct review *review, const struct jetstream_ack *ack) {
    char key[REVIEW_KEY_MAX];
    review_notice_place_write(ack->stream, ack->sequence, &review->notice);
    review_notice_key_write(&review->place, key);
    const struct bucket_value value = {.bucket = review->channel->review_bucket,
                                       .key = key,
                                       .value = parley_buffer_bytes(&review->notice)};
    enter(review, REVIEW_NOTING);
    if (review->notice.has_failed ||
        bucket_key_create(jetstream_of(review), &value, on_noted, review) != JETSTREAM_PUBLISHED) {
        respond(review);
    }
}

static void on_told(void *context, const struct jetstream_ack *ack) {
    struct review *review = context;
    if (ack->outcome == JETSTREAM_STORED) {
        note(review, ack);
    } else {
        refuse_because(review, PROBLEM_BUS_TIMEOUT,
                       "The decision is made, but perhaps it is not announced", ack->error);
    }
}

static void tell(struct review *review) {
    struct parley_buffer text;
    char message_id[REVIEW_PLACE_MAX + 16], header[REVIEW_PLACE_MAX + 16];
    snprintf(message_id, sizeof message_id, "review:%s", review->shown);
    snprintf(header, sizeof header, "%s %.*s", review->shown, (int)review->says.decision.length,
             review->says.decision.data);
    parley_buffer_init(&text);
    write_announcement(review, &text);
    const struct announcement announcement = {.protocol = protocol_of(review),
                                              .text = parley_buffer_bytes(&text),
                                              .message_id = message_id,
                                              .header = {REVIEW_HEADER, header}};
    enter(review, REVIEW_TELLING);
    if (text.has_failed || announcement_publish(gateway_of(review), &announcement, on_told,
                                                review) != JETSTREAM_PUBLISHED) {
        refuse_because(review, PROBLEM_BUS_UNAVAILABLE,
                       "The decision is made, but it is not announced",
                       jetstream_trouble(jetstream_of(review)));
    }
    parley_buffer_finish(&text);
}

/* ---- a decision that was made before ---- */

static void on_found(void *context, const struct jetstream_last *last) {
    struct review *review = context;
    review->asked = NULL;
    if (last->found == JETSTREAM_LAST_FOUND) {
        parley_buffer_append(&review->notice, last->payload);
        respond(review);
    } else if (last->found == JETSTREAM_LAST_NONE) {
        tell(review);
    } else {
        refuse_because(review, PROBLEM_BUS_UNAVAILABLE,
                       "The decision is made, and it could not be read whether it is announced",
                       last->error);
    }
}

static void find(struct review *review) {
    char key[REVIEW_KEY_MAX];
    review_notice_key_write(&review->place, key);
    enter(review, REVIEW_FINDING);
    review->asked =
        bucket_key_ask(jetstream_of(review), review->channel->review_bucket, key, on_found, review);
    if (review->asked == NULL) {
        refuse_because(review, PROBLEM_BUS_UNAVAILABLE, "NATS cannot be asked now",
                       jetstream_trouble(jetstream_of(review)));
    }
}

static void on_compared(void *context, const struct jetstream_last *last) {
    struct review *review = context;
    struct review_value first;
    review->asked = NULL;
    if (last->found != JETSTREAM_LAST_FOUND) {
        refuse_because(review, PROBLEM_BUS_UNAVAILABLE,
                       "The decision that was made before could not be read", last->error);
        return;
    }
    const char *text = parley_arena_copy(&review->arena, last->payload);
    if (text == NULL ||
        review_value_read(parley_bytes_of(text), &review->arena, &first) != PARLEY_OK) {
        refuse(review, PROBLEM_INTERNAL, "Out of memory.");
    } else if (review_value_is_same(&first, &review->says)) {
        review->says = first;
        review->is_duplicate = true;
        find(review);
    } else {
        respond_already(review, &first);
    }
}

static void compare(struct review *review) {
    enter(review, REVIEW_COMPARING);
    review->asked = bucket_key_ask(jetstream_of(review), review->channel->review_bucket,
                                   review->key, on_compared, review);
    if (review->asked == NULL) {
        refuse_because(review, PROBLEM_BUS_UNAVAILABLE, "NATS cannot be asked now",
                       jetstream_trouble(jetstream_of(review)));
    }
}

/* ---- the decision ---- */

static void log_decided(const struct review *review) {
    log_event(LOG_REVIEW_DECIDED, LOG_FIELDS(LOG_TEXT("protocol", protocol_of(review)->name),
                                             LOG_TEXT("message", review->shown),
                                             LOG_BYTES("decision", review->says.decision),
                                             LOG_BYTES("by", review->says.by),
                                             LOG_TEXT("principal", review->options.principal),
                                             LOG_BYTES("reason", review->says.reason)));
}

static void on_decided(void *context, const struct jetstream_ack *ack) {
    struct review *review = context;
    if (ack->outcome == JETSTREAM_STORED) {
        log_decided(review);
        tell(review);
    } else if (bucket_key_is_taken(ack)) {
        compare(review);
    } else if (ack->outcome == JETSTREAM_REFUSED) {
        refuse_because(review, PROBLEM_BUS_UNAVAILABLE, "Nothing is decided", ack->error);
    } else {
        refuse_because(review, PROBLEM_BUS_TIMEOUT, "It is not known whether that is decided",
                       ack->error);
    }
}

static void decide(struct review *review) {
    struct parley_buffer value;
    parley_buffer_init(&value);
    parley_buffer_char(&value, '{');
    review_value_write(&review->says, &value);
    parley_buffer_char(&value, '}');
    const struct bucket_value decision = {.bucket = review->channel->review_bucket,
                                          .key = review->key,
                                          .value = parley_buffer_bytes(&value)};
    enter(review, REVIEW_DECIDING);
    const enum jetstream_publish published =
        value.has_failed ? JETSTREAM_FAILED
                         : bucket_key_create(jetstream_of(review), &decision, on_decided, review);
    parley_buffer_finish(&value);
    if (published != JETSTREAM_PUBLISHED) {
        const struct failure failure = failure_of_refusal(&review->options, published);
        refuse(review, failure.problem, failure.detail);
    }
}

/* Whether the reviewer may announce it; if not, the request is answered. */
static bool may_announce(struct review *review) {
    struct request_options own = review->options;
    struct parley_message *message = gateway_message(gateway_of(review), protocol_of(review));
    struct parley_buffer text;
    own.codec = &parley_codec_json;
    own.check.stamp = false;
    request_options_of_server(&own);
    parley_buffer_init(&text);
    write_announcement(review, &text);
    const enum parley_status status =
        text.has_failed
            ? PARLEY_E_MEMORY
            : check_message(&own, parley_buffer_bytes(&text), (struct parley_position){1, 1});
    const bool is_valid = status == PARLEY_OK && parley_message_is_valid(message);
    if (status != PARLEY_OK) {
        refuse(review, PROBLEM_INTERNAL, parley_status_text(status));
    } else if (!is_valid) {
        enter(review, REVIEW_OVER);
        small_body_refuse_sender(review->request, message, "/by", "The decision is not valid");
    }
    gateway_forget_message(gateway_of(review), protocol_of(review));
    parley_buffer_finish(&text);
    return is_valid;
}

/* ---- the message ---- */

/* Returns: whether there was memory for it. */
static bool keep(struct review *review, struct parley_bytes text, struct parley_bytes *out) {
    if (text.data == NULL) {
        return true;
    }
    const char *copy = parley_arena_copy(&review->arena, text);
    *out = (struct parley_bytes){copy, text.length};
    return copy != NULL;
}

/* Reads what the announcement says of it. An approval waits, as the message would, for the release
 * of a halt of its conversation.  Returns: whether it can be decided on; if not, the request is
 * answered. */
static bool read_message(struct review *review, const struct jetstream_held *held) {
    struct parley_message *message = gateway_message(gateway_of(review), protocol_of(review));
    const bool is_approved =
        parley_bytes_equal(review->says.decision, parley_bytes_of(review_approve));
    struct parley_route route;
    struct failure failure = failure_of_status(PARLEY_E_MEMORY);
    const bool is_read = stored_route_read(message, review->channel, held->subject, held->payload,
                                           &route) == PARLEY_OK &&
                         keep(review, route.id, &review->message_id) &&
                         keep(review, route.thread, &review->thread) &&
                         !(is_approved && halting_stops(&review->options, &route, &failure));
    gateway_forget_message(gateway_of(review), protocol_of(review));
    if (!is_read) {
        refuse(review, failure.problem, failure.detail);
    }
    return is_read;
}

static void refuse_place(struct review *review, const char *why) {
    char detail[512];
    snprintf(detail, sizeof detail, "No message at %.300s waits for a review: %.100s.",
             review->shown, why);
    refuse(review, PROBLEM_NOT_FOUND, detail);
}

static void on_fetched(void *context, const struct jetstream_held *held) {
    struct review *review = context;
    review->asked = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        refuse_because(review, PROBLEM_BUS_UNAVAILABLE, "The message could not be read",
                       held->error);
    } else if (held->found == JETSTREAM_HELD_GONE) {
        refuse_place(review, "it is not stored, or not any more");
    } else if (!review_is_among(held->subject, review->channel->review_subjects)) {
        refuse_place(review, held->subject);
    } else if (read_message(review, held)) {
        decide(review);
    }
}

static void fetch(struct review *review) {
    enter(review, REVIEW_FETCHING);
    review->asked = jetstream_held_ask(jetstream_of(review), review->place.stream,
                                       review->place.sequence, on_fetched, review);
    if (review->asked == NULL) {
        refuse_because(review, PROBLEM_BUS_UNAVAILABLE, "NATS cannot be asked now",
                       jetstream_trouble(jetstream_of(review)));
    }
}

/* ---- the body ---- */

static size_t on_body(void *state, struct http_request *request, struct parley_bytes bytes) {
    struct review *review = state;
    return small_body_take(&review->body, request, bytes);
}

static void on_end(void *state, struct http_request *request) {
    struct review *review = state;
    if (!small_body_is_whole(&review->body, request)) {
        return;
    }
    const char *fault = review_body_read(parley_buffer_bytes(&review->body.bytes),
                                         &review->body.arena, &review->says);
    if (fault != NULL) {
        refuse(review, PROBLEM_MALFORMED, fault);
        return;
    }
    id_new_from(&gateway_of(review)->identities, review->notice_id);
    clock_now_text(review->now);
    review->says.id = parley_bytes_of(review->notice_id);
    review->says.at = parley_bytes_of(review->now);
    if (may_announce(review)) {
        fetch(review);
    }
}

/* Its client is gone. What waits for an ack continues: whether it is stored is not known. */
static void on_closed(void *state, bool is_complete) {
    struct review *review = state;
    (void)is_complete;
    review->request = NULL;
    jetstream_request_cancel(review->asked);
    if (review->asked != NULL || review->phase == REVIEW_RECEIVING ||
        review->phase == REVIEW_OVER) {
        destroy(review);
    }
}

/* ---- its beginning ---- */

static struct review *create(const struct request_options *options, struct http_request *request,
                             const struct channel *channel, const struct review_place *place) {
    struct review *review = calloc(1, sizeof *review);
    if (review == NULL || !request_options_keep(&review->options, options)) {
        free(review);
        return NULL;
    }
    review->request = request;
    review->channel = channel;
    snprintf(review->stream, sizeof review->stream, "%s", place->stream);
    review->place = (struct review_place){review->stream, place->sequence};
    review_place_write(place, review->shown);
    review_key_write(place, review->key);
    parley_buffer_init(&review->notice);
    small_body_init(&review->body, SMALL_BODY_BYTES_MAX);
    parley_arena_init(&review->arena, 0);
    return review;
}

/* Returns: whether `text` is a place of the stream that has the messages to be reviewed; if not,
 * the request is answered. */
static bool read_place(struct gateway *gateway, struct http_request *request,
                       const struct channel *channel, const char *text, struct review_place *out) {
    const struct jetstream_place *found =
        jetstream_place_find(gateway->jetstream, channel->review_subjects);
    if (found == NULL) {
        problem_respond(request, PROBLEM_BUS_UNAVAILABLE,
                        "The stream that has the messages for review is not known at present. Send "
                        "it again later.");
        return false;
    }
    if (!review_place_read(parley_bytes_of(text), found->stream, out)) {
        problem_respond_format(request, PROBLEM_NOT_FOUND,
                               "No message at %.300s waits for a review: expected %s:SEQ.", text,
                               found->stream);
        return false;
    }
    return true;
}

void review_serve(struct gateway *gateway, struct http_request *request,
                  const struct parley_protocol *protocol, const char *place) {
    static const struct http_handler handler = {
        .body = on_body, .end = on_end, .closed = on_closed};
    struct request_options options = {
        .gateway = gateway, .protocol = protocol, .task = INGEST_FORWARD};
    struct review_place read;
    if (protocol->reviews == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "Nothing waits for a review in %s.",
                               protocol->name);
        return;
    }
    const struct channel *channel = channel_find(gateway->configuration->channels, protocol);
    if (!request_options_read(&options, request) || !small_body_is_plain(&options, request) ||
        !read_place(gateway, request, channel, place, &read)) {
        return;
    }
    struct review *review = create(&options, request, channel, &read);
    if (review == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    http_request_serve(request, &handler, review);
    http_commit(request);
}
