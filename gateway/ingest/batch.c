/* SPDX-License-Identifier: Apache-2.0 */

/* Many messages in one request: each is checked and published as its bytes arrive. Results are
 * written in the order sent: they queue until those before them are known, and go to the outlet,
 * which is the answer. What is in memory is bounded by the window: when it is full, or the outlet
 * has no room, no more of the body is read.
 *
 * A large message is checked aside, and until what follows from it is done, nothing behind it is
 * read: its bytes stay where they are, the splitter's, and its result keeps its place. What is held
 * of a message that is not whole yet comes out of the budget; one that finds no room there has
 * failed, and the next one has its chance. */

#include "offload.h"
#include "duplicates.h"
#include "correlation_lookup.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "outlet.h"

enum {
    WINDOW_COUNT = 4096, /* results of one body that wait for an ack before them */
    WINDOW_BYTES = 4 << 20,
    RESULT_KEPT_BYTES = 1024, /* of a result that is used again: most are smaller */
};

enum result_status { ACCEPTED, DUPLICATE, INVALID, FAILED, STATUS_COUNT };

static const char *const status_names[STATUS_COUNT] = {"accepted", "duplicate", "invalid",
                                                       "failed"};

/* One message's result, in the order sent. */
struct result {
    struct bulk *bulk;
    struct result *next;
    size_t number;
    enum result_status status;
    bool is_known;
    struct parley_buffer text; /* of an awaited one: its id, subject and warnings */
    size_t id_end, warnings_offset;
    struct publication_mark mark; /* of an awaited one */
    struct duplicate *duplicate;  /* it is being compared with what is stored; NULL: it is not */
};

/* A message that cannot be published yet: it found no room in JetStream's window, or it, or one
 * before it, has to know of an earlier message first. */
struct pending {
    struct pending *next;
    struct result *result;
    struct parley_slice slice;
    struct recalling recalling;
    struct aside *aside; /* the bulk's: what came of the check; NULL: it is checked again */
    char bytes[];        /* of the slice; of one that was checked aside, none */
};

struct bulk {
    struct sending sending;
    struct http_request *request; /* NULL once it is gone */
    struct parley_splitter splitter;
    struct outlet outlet;
    struct result *first, **end; /* whose results are not written yet */
    struct result *free_results; /* to be used again */
    size_t window_count, window_bytes;
    size_t awaited_count; /* published, ack still to come */
    uint64_t counts[STATUS_COUNT], received_count, omitted_count;
    struct pending *first_pending, **pending_end; /* in the order sent */
    struct aside *aside;      /* the large message that is not done with; NULL: none */
    struct budget_share held; /* taken for what the splitter holds */
    struct jetstream_waiter waiter;
    bool is_full;   /* the first of those that are pending waits for room in JetStream's window */
    bool owes_byte; /* the next byte of the body was seen already, but not called taken */
    bool is_aside;  /* the crew has the large message … */
    bool is_aside_pending; /* … or had it, and it waits for what it needs */
    bool is_shed;          /* the message that is being read found no room in the budget */
    bool is_ended;         /* the whole body has come … */
    bool is_cut;           /* … and all messages of it were seen */
    bool is_answered;
    bool has_failed; /* of ours: the answer cannot be whole, and nothing more is read */
    bool has_logged;
};

static void room_again(struct jetstream_waiter *waiter);
static void on_output_room(void *context);

/* Its answer is the valid messages and nothing else. */
static bool is_filter(const struct sending *sending) {
    return sending->task == SENDING_VALIDATE && sending->emit == EMIT_MESSAGES;
}

struct bulk *bulk_create(const struct sending *sending, enum parley_framing framing,
                         struct http_request *request) {
    struct bulk *bulk = calloc(1, sizeof *bulk);
    if (bulk == NULL || !sending_keep(&bulk->sending, sending)) {
        free(bulk);
        return NULL;
    }
    bulk->sending.publication.is_batch = framing != PARLEY_FRAMING_WHOLE;
    bulk->request = request;
    bulk->end = &bulk->first;
    bulk->pending_end = &bulk->first_pending;
    bulk->waiter.room = room_again;
    parley_splitter_init(&bulk->splitter, framing, sending_message_bytes_max(sending));
    const struct outlet_options options = {
        .reactor = sending->gateway->reactor,
        .request = request,
        .data = sending->gateway->configuration->data,
        .quota = sending->gateway->spools,
        .idle_timeout_ms = sending->gateway->configuration->idle_timeout_ms,
        .media_type = sending->wants_document ? "application/json" : sending->lines_type,
        .form = !sending->wants_document ? OUTLET_LINES
                : is_filter(sending)     ? OUTLET_ARRAY
                                         : OUTLET_DOCUMENT,
        .on_room = on_output_room,
        .context = bulk};
    outlet_init(&bulk->outlet, &options);
    return bulk;
}

static void free_list(struct result *result) {
    while (result != NULL) {
        struct result *next = result->next;
        parley_buffer_finish(&result->text);
        free(result);
        result = next;
    }
}

/* The splitter holds nothing, and nobody looks at what it handed out any more. */
static void release_slice(struct bulk *bulk) {
    parley_splitter_release(&bulk->splitter);
    budget_uncover(bulk->sending.gateway->budget, &bulk->held);
}

static void release_aside(struct bulk *bulk) {
    aside_release(bulk->aside);
    bulk->aside = NULL;
    release_slice(bulk);
}

static void pop_pending(struct bulk *bulk) {
    struct pending *pending = bulk->first_pending;
    bulk->first_pending = pending->next;
    if (bulk->first_pending == NULL) {
        bulk->pending_end = &bulk->first_pending;
    }
    bulk->window_bytes -= pending->slice.bytes.length;
    if (pending->aside != NULL) {
        bulk->is_aside_pending = false;
        release_aside(bulk);
    }
    recalling_finish(&pending->recalling);
    free(pending);
}

static void drop_pending(struct bulk *bulk) {
    while (bulk->first_pending != NULL) {
        pop_pending(bulk);
    }
}

static void destroy(struct bulk *bulk) {
    jetstream_wait_cancel(bulk->sending.gateway->jetstream, &bulk->waiter);
    drop_pending(bulk);
    free_list(bulk->first);
    free_list(bulk->free_results);
    budget_uncover(bulk->sending.gateway->budget, &bulk->held);
    parley_splitter_finish(&bulk->splitter);
    outlet_finish(&bulk->outlet);
    gateway_forget_message(bulk->sending.gateway, bulk->sending.protocol);
    sending_release(&bulk->sending);
    free(bulk);
}

/* Nobody reads what comes of it any more.  Returns: whether the bulk is gone. */
static bool destroy_if_over(struct bulk *bulk) {
    if (bulk->request != NULL || bulk->first_pending != NULL || bulk->awaited_count > 0 ||
        bulk->is_aside) {
        return false;
    }
    destroy(bulk);
    return true;
}

/* Whether a message that came whole is served though the client is gone. */
static bool is_served_anyway(const struct bulk *bulk) {
    return bulk->sending.task == SENDING_FORWARD && !bulk->has_failed;
}

/* The client is gone. What came whole is published all the same; but nobody makes room any more
 * while the server shuts down. */
static void go_on_alone(struct bulk *bulk) {
    if (!is_served_anyway(bulk) || (bulk->is_full && bulk->sending.gateway->is_draining)) {
        jetstream_wait_cancel(bulk->sending.gateway->jetstream, &bulk->waiter);
        drop_pending(bulk);
    }
    destroy_if_over(bulk);
}

/* Nobody wants to know any more whether they are the same. */
static void cancel_duplicates(struct bulk *bulk) {
    for (struct result *result = bulk->first; result != NULL; result = result->next) {
        if (result->duplicate != NULL) {
            duplicate_cancel(result->duplicate);
            result->duplicate = NULL;
            bulk->awaited_count--;
        }
    }
}

void bulk_closed(struct bulk *bulk) {
    bulk->request = NULL;
    cancel_duplicates(bulk);
    outlet_close(&bulk->outlet);
    go_on_alone(bulk);
}

/* ---- results ---- */

static struct result *result_begin(struct bulk *bulk, size_t number) {
    struct result *result = bulk->free_results;
    if (result != NULL) {
        bulk->free_results = result->next;
    } else {
        result = calloc(1, sizeof *result);
        if (result == NULL) {
            return NULL;
        }
    }
    parley_buffer_clear(&result->text);
    result->bulk = bulk;
    result->number = number;
    result->id_end = result->warnings_offset = 0;
    result->is_known = false;
    result->next = NULL;
    *bulk->end = result;
    bulk->end = &result->next;
    bulk->window_count++;
    bulk->received_count++;
    return result;
}

/* Whether anybody wants to read a result of this status. */
static bool is_wanted(const struct bulk *bulk, enum result_status status) {
    if (is_filter(&bulk->sending)) {
        return status == ACCEPTED;
    }
    switch (bulk->sending.results) {
    case RESULTS_ALL:
        return true;
    case RESULTS_ERRORS:
        return status != ACCEPTED && status != DUPLICATE;
    case RESULTS_SUMMARY:
        break;
    }
    return false;
}

static void omit(struct bulk *bulk) {
    bulk->omitted_count++;
    bulk->has_failed = bulk->has_failed || is_filter(&bulk->sending);
}

/* What was written to the outlet is a result. */
static void end_written(struct bulk *bulk) {
    if (!outlet_end_item(&bulk->outlet)) {
        omit(bulk);
    }
}

static void keep(struct bulk *bulk, const struct result *result) {
    struct parley_buffer *out = result->text.has_failed ? NULL : outlet_begin_item(&bulk->outlet);
    if (out == NULL) {
        omit(bulk);
        return;
    }
    parley_buffer_append(out, parley_buffer_bytes(&result->text));
    end_written(bulk);
}

/* Writes what is known, up to the first result that is not. */
static void flush_results(struct bulk *bulk) {
    while (bulk->first != NULL && bulk->first->is_known && outlet_has_room(&bulk->outlet)) {
        struct result *result = bulk->first;
        bulk->first = result->next;
        if (bulk->first == NULL) {
            bulk->end = &bulk->first;
        }
        if (result->text.length > 0 || result->text.has_failed) {
            keep(bulk, result);
        }
        bulk->window_count--;
        bulk->window_bytes -= result->text.length;
        /* The window bounds what its results hold, not what unused ones would go on holding. */
        if (result->text.capacity > RESULT_KEPT_BYTES) {
            parley_buffer_finish(&result->text);
        }
        result->next = bulk->free_results;
        bulk->free_results = result;
    }
}

/* `result` is complete. Its text may have changed its length since it was counted. */
static void result_end(struct result *result, enum result_status status, size_t counted_bytes) {
    struct bulk *bulk = result->bulk;
    result->status = status;
    result->is_known = true;
    bulk->counts[status]++;
    /* A filter's output is whole, or it is broken off. */
    bulk->has_failed = bulk->has_failed || (status == FAILED && is_filter(&bulk->sending));
    if (!is_wanted(bulk, status)) {
        parley_buffer_clear(&result->text);
    }
    bulk->window_bytes += result->text.length - counted_bytes;
    flush_results(bulk);
}

static void write_status(struct parley_buffer *out, size_t number, enum result_status status) {
    parley_buffer_text(out, "{\"line\":");
    parley_buffer_uint(out, number);
    parley_buffer_text(out, ",\"status\":\"");
    parley_buffer_text(out, status_names[status]);
    parley_buffer_char(out, '"');
}

static void begin_line(struct result *result, enum result_status status) {
    parley_buffer_clear(&result->text);
    write_status(&result->text, result->number, status);
}

static void write_id(struct parley_buffer *out, const struct parley_message *message) {
    struct parley_route route = {0};
    if (message->is_decoded &&
        parley_message_route((struct parley_message *)message, &route) == PARLEY_OK &&
        route.id.data != NULL) {
        parley_buffer_text(out, ",\"id\":");
        parley_buffer_json(out, route.id);
    }
}

static void end_invalid(struct result *result, struct parley_message *message) {
    begin_line(result, INVALID);
    write_id(&result->text, message);
    parley_buffer_text(&result->text, ",\"violations\":");
    parley_findings_write(&message->findings, &result->text);
    parley_buffer_text(&result->text, "}\n");
    result_end(result, INVALID, 0);
}

/* A defect of ours: once a body is enough. */
static void log_once(struct bulk *bulk, const char *detail) {
    if (!bulk->has_logged && bulk->request != NULL) {
        bulk->has_logged = true;
        problem_log(bulk->request, detail);
    }
}

/* `members`: of the problem, with a comma each; not in the result's text. */
static void end_failed_with(struct result *result, enum problem problem, const char *detail,
                            struct parley_bytes members, size_t counted_bytes) {
    if (problem == PROBLEM_INTERNAL) {
        log_once(result->bulk, detail);
    }
    begin_line(result, FAILED);
    parley_buffer_text(&result->text, ",\"problem\":");
    problem_write_members(&result->text, problem, detail, members);
    parley_buffer_text(&result->text, "}\n");
    result_end(result, FAILED, counted_bytes);
}

static void end_failed(struct result *result, enum problem problem, const char *detail,
                       size_t counted_bytes) {
    end_failed_with(result, problem, detail, (struct parley_bytes){0}, counted_bytes);
}

static void end_internal(struct result *result, enum parley_status status) {
    end_failed(result, PROBLEM_INTERNAL, parley_status_text(status), 0);
}

/* ---- publishing ---- */

struct place {
    const char *stream;
    uint64_t sequence;
};

/* The result's text is `,"id":…,"subject":…` and then the warnings; stream and seq go in between.
 */
static void write_stored(const struct result *result, struct place place, enum result_status status,
                         struct parley_buffer *out) {
    const struct parley_bytes text = parley_buffer_bytes(&result->text);
    write_status(out, result->number, status);
    parley_buffer_append(out, (struct parley_bytes){text.data, result->warnings_offset});
    parley_buffer_text(out, ",\"stream\":");
    parley_buffer_json(out, parley_bytes_of(place.stream));
    parley_buffer_text(out, ",\"seq\":");
    parley_buffer_uint(out, place.sequence);
    parley_buffer_text(out, ",\"warnings\":");
    parley_buffer_append(out, (struct parley_bytes){text.data + result->warnings_offset,
                                                    text.length - result->warnings_offset});
    parley_buffer_text(out, "}\n");
    out->has_failed = out->has_failed || result->text.has_failed;
}

/* The one that all others wait for goes straight to the outlet.  Returns: whether it did. */
static bool write_first(struct result *result, struct place place, enum result_status status) {
    struct bulk *bulk = result->bulk;
    struct parley_buffer *out = NULL;
    if (result == bulk->first && outlet_has_room(&bulk->outlet)) {
        out = outlet_begin_item(&bulk->outlet);
    }
    if (out == NULL) {
        return false;
    }
    write_stored(result, place, status, out);
    end_written(bulk);
    parley_buffer_clear(&result->text);
    return true;
}

static void end_stored(struct result *result, const char *stream, uint64_t sequence,
                       bool is_duplicate) {
    const struct place place = {stream, sequence};
    const enum result_status status = is_duplicate ? DUPLICATE : ACCEPTED;
    const size_t counted_bytes = result->text.length;
    if (is_wanted(result->bulk, status) && !write_first(result, place, status)) {
        struct parley_buffer line;
        parley_buffer_init(&line);
        write_stored(result, place, status, &line);
        parley_buffer_finish(&result->text);
        result->text = line;
    }
    result_end(result, status, counted_bytes);
}

/* Whether the next message has to wait for the last one, whatever room there is. */
static bool is_held_up(const struct bulk *bulk) {
    return bulk->is_full || bulk->aside != NULL;
}

static bool has_room(struct bulk *bulk) {
    return !is_held_up(bulk) && bulk->window_count < WINDOW_COUNT &&
           bulk->window_bytes < WINDOW_BYTES && outlet_has_room(&bulk->outlet);
}

static void finish(struct bulk *bulk);

/* Something was settled: answer, or read on. */
static void go_on(struct bulk *bulk) {
    if (bulk->is_ended) {
        finish(bulk);
    } else if (has_room(bulk)) {
        http_wake(bulk->request);
    }
}

/* Of a message that was published. `stream` NULL: none. */
static void end_published(struct result *result, const struct sending_failure *failure,
                          const char *stream, uint64_t sequence) {
    enum { BEFORE_ID = sizeof ",\"id\":" - 1 };
    struct parley_bytes id = {0};
    struct parley_buffer members;
    if (result->id_end > BEFORE_ID) {
        id = (struct parley_bytes){result->text.data + BEFORE_ID, result->id_end - BEFORE_ID};
    }
    parley_buffer_init(&members);
    sending_failure_members(failure->problem, id, stream, sequence, &members);
    end_failed_with(result, failure->problem, failure->detail, parley_buffer_bytes(&members),
                    result->text.length);
    parley_buffer_finish(&members);
}

/* A receipt names what is stored, not what was sent. */
static void name_stored(struct result *result, const struct duplicate_answer *stored) {
    const struct parley_bytes sent = parley_buffer_bytes(&result->text);
    const struct parley_bytes warnings = {sent.data + result->warnings_offset,
                                          sent.length - result->warnings_offset};
    const bool has_id = sent.data[result->id_end - 1] == '"' && stored->id != NULL;
    struct parley_buffer text;
    parley_buffer_init(&text);
    if (has_id) {
        parley_buffer_text(&text, ",\"id\":");
        parley_buffer_json(&text, parley_bytes_of(stored->id));
    } else {
        parley_buffer_append(&text, (struct parley_bytes){sent.data, result->id_end});
    }
    parley_buffer_text(&text, ",\"subject\":");
    parley_buffer_json(&text, parley_bytes_of(stored->subject));
    result->warnings_offset = text.length;
    parley_buffer_append(&text, warnings);
    result->bulk->window_bytes += text.length - sent.length;
    parley_buffer_finish(&result->text);
    result->text = text;
}

static void on_compared(void *context, const struct duplicate_answer *answer) {
    struct result *result = context;
    struct bulk *bulk = result->bulk;
    bulk->awaited_count--;
    result->duplicate = NULL;
    if (answer->verdict != DUPLICATE_SAME) {
        end_published(result, &answer->failure, answer->stream, answer->sequence);
    } else {
        if (answer->subject != NULL && result->warnings_offset > 0 && !result->text.has_failed) {
            name_stored(result, answer);
        }
        end_stored(result, answer->stream, answer->sequence, true);
    }
    go_on(bulk);
}

/* Returns: whether it is under way; else the result is ended. */
static bool compare(struct result *result, const struct jetstream_ack *ack) {
    struct sending_failure failure;
    result->duplicate =
        duplicate_begin(&result->bulk->sending, &result->mark, ack, on_compared, result, &failure);
    if (result->duplicate == NULL) {
        end_published(result, &failure, ack->stream, ack->sequence);
    }
    return result->duplicate != NULL;
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct result *result = context;
    struct bulk *bulk = result->bulk;
    bulk->awaited_count--;
    if (bulk->request == NULL) {
        destroy_if_over(bulk);
        return;
    }
    if (duplicate_is_open(&result->mark, ack)) {
        if (compare(result, ack)) {
            bulk->awaited_count++;
            return;
        }
    } else if (ack->outcome == JETSTREAM_STORED) {
        end_stored(result, ack->stream, ack->sequence, ack->is_duplicate);
    } else {
        const struct sending_failure failure = sending_failed(&bulk->sending, &result->mark, ack);
        end_published(result, &failure, NULL, 0);
    }
    go_on(bulk);
}

/* What will be said of a message once it is stored, or once that is not sure. */
static void note_message(struct result *result, const struct parley_message *message,
                         const struct publication *publication) {
    const struct parley_route *route = &publication->route;
    result->mark = publication->mark;
    if (result->bulk->sending.results == RESULTS_SUMMARY) {
        return;
    }
    parley_buffer_text(&result->text, ",\"id\":");
    if (route->id.data != NULL) {
        parley_buffer_json(&result->text, route->id);
    } else {
        parley_buffer_text(&result->text, "null");
    }
    result->id_end = result->text.length;
    if (result->bulk->sending.results == RESULTS_ALL) {
        parley_buffer_text(&result->text, ",\"subject\":");
        parley_buffer_json(&result->text, route->subject);
        result->warnings_offset = result->text.length;
        parley_findings_write(&message->findings, &result->text);
    }
    result->bulk->window_bytes += result->text.length;
}

static void swap(struct parley_buffer *a, struct parley_buffer *b) {
    const struct parley_buffer other = *a;
    *a = *b;
    *b = other;
}

/* What the crew made of the message already; NULL: nothing. */
static struct aside *prepared_of(const struct bulk *bulk, const struct parley_message *message) {
    struct aside *aside = bulk->aside;
    return aside != NULL && message == &aside->message && aside->is_prepared ? aside : NULL;
}

static enum parley_status prepare(const struct bulk *bulk, struct parley_message *message,
                                  const struct parley_slice *slice, struct publication *out) {
    const struct aside *prepared = prepared_of(bulk, message);
    if (prepared == NULL) {
        return sending_prepare(&bulk->sending, message, slice->number, out);
    }
    *out = prepared->publication;
    return prepared->prepared;
}

/* The crew's payload takes the place of the gateway's meanwhile. */
static enum jetstream_publish hand_over(struct bulk *bulk, struct result *result,
                                        const struct parley_message *message,
                                        const struct publication *publication) {
    struct parley_buffer *payload = &bulk->sending.gateway->payload;
    struct aside *prepared = prepared_of(bulk, message);
    if (prepared != NULL) {
        swap(payload, &prepared->payload);
    }
    const enum jetstream_publish published =
        recalling_publish(&bulk->sending, publication, on_ack, result);
    if (prepared != NULL) {
        swap(payload, &prepared->payload);
    }
    return published;
}

/* A large one is not written out in vain. */
static bool is_in_vain(const struct bulk *bulk) {
    return bulk->aside != NULL && !jetstream_is_ready(bulk->sending.gateway->jetstream);
}

/* Returns: false: there is no room, and nothing has been done. */
static bool publish(struct bulk *bulk, struct result *result, struct parley_message *message,
                    const struct parley_slice *slice) {
    struct publication publication;
    enum jetstream_publish published = JETSTREAM_AWAY;
    if (!is_in_vain(bulk)) {
        const enum parley_status status = prepare(bulk, message, slice, &publication);
        if (status != PARLEY_OK && status != PARLEY_E_LIMIT) {
            end_internal(result, status);
            return true;
        }
        published = status == PARLEY_E_LIMIT ? JETSTREAM_TOO_LARGE
                                             : hand_over(bulk, result, message, &publication);
    }
    if (published == JETSTREAM_FULL) {
        return false;
    }
    if (published == JETSTREAM_PUBLISHED) {
        note_message(result, message, &publication);
        bulk->awaited_count++;
    } else {
        const struct sending_failure failure = sending_refused(&bulk->sending, published);
        end_failed(result, failure.problem, failure.detail, 0);
    }
    return true;
}

/* ---- validating ---- */

static enum parley_status write_message(const struct bulk *bulk, struct parley_message *message,
                                        struct parley_buffer *out) {
    const struct aside *prepared = prepared_of(bulk, message);
    if (prepared == NULL) {
        return message->protocol->encode(message, out);
    }
    parley_buffer_append(out, parley_buffer_bytes(&prepared->payload));
    return prepared->prepared;
}

/* The crew has done it already for what was checked there. */
static enum parley_status warn_of_size(const struct bulk *bulk, struct parley_message *message,
                                       size_t number) {
    struct gateway *gateway = bulk->sending.gateway;
    if (bulk->aside != NULL && message == &bulk->aside->message) {
        return PARLEY_OK;
    }
    return sending_warn_of_size(&bulk->sending, message, number,
                                jetstream_max_payload_bytes(gateway->jetstream), &gateway->payload);
}

/* Nothing of it for a filter, when it is invalid. */
static void write_verdict(const struct bulk *bulk, size_t number, struct parley_message *message,
                          struct parley_buffer *out) {
    const bool is_valid = parley_message_is_valid(message);
    const enum sending_emit emit = bulk->sending.emit;
    enum parley_status status = PARLEY_OK;
    if (emit == EMIT_MESSAGES && is_valid) {
        status = write_message(bulk, message, out);
        parley_buffer_char(out, '\n');
    } else if (emit != EMIT_MESSAGES) {
        parley_buffer_text(out, "{\"line\":");
        parley_buffer_uint(out, number);
        parley_buffer_char(out, ',');
        status = is_valid ? warn_of_size(bulk, message, number) : PARLEY_OK;
        status = status != PARLEY_OK ? status : parley_message_write_verdict(message, out);
        if (emit == EMIT_BOTH) {
            parley_buffer_text(out, ",\"message\":");
            if (is_valid && status == PARLEY_OK) {
                status = write_message(bulk, message, out);
            } else {
                parley_buffer_text(out, "null");
            }
        }
        parley_buffer_text(out, "}\n");
    }
    out->has_failed = out->has_failed || status != PARLEY_OK;
}

static enum result_status verdict_of(const struct parley_message *message) {
    return parley_message_is_valid(message) ? ACCEPTED : INVALID;
}

static void end_verdict(struct bulk *bulk, struct result *result, struct parley_message *message) {
    write_verdict(bulk, result->number, message, &result->text);
    result_end(result, verdict_of(message), 0);
}

/* Of a message that waits for nothing, behind none that waits. */
static void tell_verdict(struct bulk *bulk, size_t number, struct parley_message *message) {
    const enum result_status status = verdict_of(message);
    bulk->received_count++;
    bulk->counts[status]++;
    if (!is_wanted(bulk, status)) {
        return;
    }
    struct parley_buffer *out = outlet_begin_item(&bulk->outlet);
    if (out == NULL) {
        omit(bulk);
        return;
    }
    write_verdict(bulk, number, message, out);
    end_written(bulk);
}

/* ---- what has to wait ---- */

/* What follows from a valid message.  Returns: false: there is no room for it. */
static bool conclude(struct bulk *bulk, struct result *result, struct parley_message *message,
                     const struct parley_slice *slice) {
    if (bulk->sending.task == SENDING_FORWARD) {
        return publish(bulk, result, message, slice);
    }
    end_verdict(bulk, result, message);
    return true;
}

static void wait_for_room(struct bulk *bulk) {
    bulk->is_full = true;
    jetstream_wait_for_room(bulk->sending.gateway->jetstream, &bulk->waiter);
}

/* The message object has served others meanwhile, unless it is one of its own. */
static enum parley_status check_pending(struct bulk *bulk, const struct pending *pending,
                                        struct parley_message **out_message) {
    struct sending *sending = &bulk->sending;
    const struct recalling *recalling = &pending->recalling;
    const char *recalled = recalling->has_failed ? NULL : recalling->text;
    if (pending->aside != NULL) {
        *out_message = &pending->aside->message;
        (*out_message)->options.recalled = recalled;
        return PARLEY_OK;
    }
    *out_message = gateway_message(sending->gateway, sending->protocol);
    sending->options.recalled = recalled;
    const enum parley_status status =
        sending_check(sending, pending->slice.bytes, pending->slice.origin);
    sending->options.recalled = NULL;
    return status;
}

static bool conclude_pending(struct bulk *bulk, struct pending *pending) {
    const struct recalling *recalling = &pending->recalling;
    if (recalling->has_failed && bulk->sending.task == SENDING_FORWARD) {
        const struct sending_failure failure = recalling_failure(recalling);
        end_failed(pending->result, failure.problem, failure.detail, 0);
        return true;
    }
    struct parley_message *message;
    const enum parley_status status = check_pending(bulk, pending, &message);
    if (status != PARLEY_OK) {
        end_internal(pending->result, status);
        return true;
    }
    return conclude(bulk, pending->result, message, &pending->slice);
}

/* Goes on with what waits, in the order sent, up to one that has to wait longer. */
static void conclude_all(struct bulk *bulk) {
    while (bulk->first_pending != NULL && !bulk->first_pending->recalling.is_asking &&
           !bulk->is_full) {
        if (conclude_pending(bulk, bulk->first_pending)) {
            pop_pending(bulk);
        } else {
            wait_for_room(bulk);
        }
    }
}

static void on_told(struct recalling *recalling) {
    struct pending *pending = OWNER_OF(recalling, struct pending, recalling);
    struct bulk *bulk = pending->result->bulk;
    conclude_all(bulk);
    if (!destroy_if_over(bulk) && bulk->request != NULL) {
        go_on(bulk);
    }
}

/* Copies the message, but for a large one: nothing is read behind it.
 * Returns: NULL without memory: the result is ended. */
static struct pending *add_pending(struct bulk *bulk, struct result *result,
                                   const struct parley_slice *slice) {
    const bool is_copied = bulk->aside == NULL;
    struct pending *pending = malloc(sizeof *pending + (is_copied ? slice->bytes.length : 0));
    if (pending == NULL) {
        end_internal(result, PARLEY_E_MEMORY);
        return NULL;
    }
    *pending = (struct pending){
        .result = result, .slice = *slice, .recalling.told = on_told, .aside = bulk->aside};
    if (is_copied) {
        memcpy(pending->bytes, slice->bytes.data, slice->bytes.length);
        pending->slice.bytes.data = pending->bytes;
    }
    bulk->is_aside_pending = !is_copied;
    bulk->window_bytes += slice->bytes.length;
    *bulk->pending_end = pending;
    bulk->pending_end = &pending->next;
    return pending;
}

/* `key`: what it has to know first; data NULL: nothing, but others are before it. */
static void wait_in_line(struct bulk *bulk, struct result *result, struct parley_message *message,
                         const struct parley_slice *slice, struct parley_bytes key) {
    struct pending *pending = add_pending(bulk, result, slice);
    if (pending == NULL) {
        return;
    }
    if (key.data != NULL) {
        recalling_begin(&pending->recalling, &bulk->sending, key);
    } else {
        const char *known = message->options.recalled;
        pending->recalling.text = known != NULL ? strdup(known) : NULL;
        pending->recalling.has_failed = known != NULL && pending->recalling.text == NULL;
        recalling_keep_early(&bulk->sending, message);
    }
    conclude_all(bulk);
}

/* `key`: as of wait_in_line. */
static void wait_or_conclude(struct bulk *bulk, struct result *result,
                             struct parley_message *message, const struct parley_slice *slice,
                             struct parley_bytes key) {
    if (key.data != NULL || bulk->first_pending != NULL) {
        wait_in_line(bulk, result, message, slice, key);
    } else if (!conclude(bulk, result, message, slice) &&
               add_pending(bulk, result, slice) != NULL) {
        wait_for_room(bulk);
    }
}

/* ---- the body ---- */

/* What follows from the verdict on a message. */
static void judge(struct bulk *bulk, struct parley_message *message,
                  const struct parley_slice *slice, enum parley_status status) {
    const bool is_validated = bulk->sending.task == SENDING_VALIDATE;
    struct parley_bytes key = {0};
    const bool is_valid = status == PARLEY_OK && parley_message_is_valid(message);
    if (is_valid) {
        status = recalling_need(&bulk->sending, message, &key);
    }
    if (status == PARLEY_OK && is_validated && key.data == NULL && bulk->first == NULL) {
        tell_verdict(bulk, slice->number, message);
        return;
    }
    struct result *result = result_begin(bulk, slice->number);
    if (result == NULL) {
        bulk->has_failed = true;
    } else if (status != PARLEY_OK) {
        end_internal(result, status);
    } else if (is_valid) {
        wait_or_conclude(bulk, result, message, slice, key);
    } else if (is_validated) {
        end_verdict(bulk, result, message);
    } else {
        end_invalid(result, message);
    }
}

static void go_on_after_check(struct bulk *bulk);

static void on_checked(struct aside *aside, void *context) {
    struct bulk *bulk = context;
    bulk->is_aside = false;
    if (bulk->request != NULL || is_served_anyway(bulk)) {
        parley_splitter_note_verdict(&bulk->splitter, &aside->message);
        judge(bulk, &aside->message, &aside->slice, aside->status);
    }
    if (!bulk->is_aside_pending) {
        release_aside(bulk);
    }
    go_on_after_check(bulk);
}

/* Returns: whether the crew has it now. */
static bool check_aside(struct bulk *bulk, const struct parley_slice *slice) {
    if (slice->bytes.length < ASIDE_BYTES_MIN || !parley_splitter_keeps(&bulk->splitter, slice)) {
        return false;
    }
    bulk->aside = aside_begin(&bulk->sending, slice, on_checked, bulk);
    bulk->is_aside = bulk->aside != NULL;
    return bulk->is_aside;
}

static void check(struct bulk *bulk, enum parley_split split, const struct parley_slice *slice) {
    const enum parley_status status =
        sending_check_slice(&bulk->sending, split, slice, &bulk->splitter);
    judge(bulk, gateway_message(bulk->sending.gateway, bulk->sending.protocol), slice, status);
}

static void refuse_overloaded(struct bulk *bulk, const struct parley_slice *slice) {
    const struct sending_failure failure = sending_overloaded(&bulk->sending);
    struct result *result = result_begin(bulk, slice->number);
    if (result == NULL) {
        bulk->has_failed = true;
    } else {
        end_failed(result, failure.problem, failure.detail, 0);
    }
}

/* Reaches a verdict on a message, and does what follows from it, or leaves that to the crew. */
static void take(struct bulk *bulk, enum parley_split split, const struct parley_slice *slice) {
    const bool is_shed = bulk->is_shed && split == PARLEY_SPLIT_SIZE;
    bulk->is_shed = false;
    if (is_shed) {
        refuse_overloaded(bulk, slice);
    } else if (split != PARLEY_SPLIT_MESSAGE || !check_aside(bulk, slice)) {
        check(bulk, split, slice);
    }
    if (bulk->aside == NULL &&
        (budget_is_taken(&bulk->held) || slice->bytes.length > SLICE_KEPT_BYTES)) {
        release_slice(bulk);
    }
}

/* Sees to it that what the splitter holds is counted, or that it is not held. */
static void count_held(struct bulk *bulk) {
    struct budget *budget = bulk->sending.gateway->budget;
    if (!budget_cover(budget, &bulk->held, parley_splitter_held_bytes(&bulk->splitter))) {
        parley_splitter_pass_by(&bulk->splitter);
        budget_uncover(budget, &bulk->held);
        bulk->is_shed = true;
    }
}

/* The results find no room, and a client of this kind can read none of them before it has sent all:
 * what was sent until now is served, and nothing more is read. */
static void give_up(struct bulk *bulk) {
    bulk->is_answered = true;
    problem_respond_format(
        bulk->request, PROBLEM_TOO_LARGE,
        "The results of this body find no room to wait in until it has ended (--spool-max, or the "
        "disk of the data folder). %" PRIu64
        " of its messages were read, and what is valid of them "
        "was passed on; nothing after them was read. Use HTTP/1.1, which takes results while the "
        "body is sent, or send less at once, or ask for results=summary.",
        bulk->received_count);
}

static void wait_for_output(struct bulk *bulk) {
    if (!bulk->is_answered && !outlet_wait(&bulk->outlet)) {
        give_up(bulk);
    }
}

static void on_output_room(void *context) {
    struct bulk *bulk = context;
    flush_results(bulk);
    go_on(bulk);
}

/* What follows can never be told. */
static void break_off(struct bulk *bulk) {
    outlet_wake(&bulk->outlet);
}

/* Nothing more is cut out of the body. */
static void stop_holding(struct bulk *bulk) {
    if (bulk->aside == NULL) {
        release_slice(bulk);
    }
}

/* While a message finds no room, or the crew has it, not all is called taken: so the client is not
 * read from. */
size_t bulk_body(struct bulk *bulk, struct parley_bytes bytes) {
    struct parley_bytes left = bytes;
    outlet_begin(&bulk->outlet, false);
    if (bulk->owes_byte && !is_held_up(bulk)) {
        bulk->owes_byte = false;
        left = (struct parley_bytes){bytes.data + 1, bytes.length - 1};
    }
    while (left.length > 0 && has_room(bulk) && !bulk->has_failed) {
        struct parley_slice slice;
        const enum parley_split split = parley_splitter_next(&bulk->splitter, &left, &slice);
        if (split == PARLEY_SPLIT_MEMORY) {
            bulk->has_failed = true;
        } else if (split != PARLEY_SPLIT_MORE) {
            take(bulk, split, &slice);
        }
    }
    if (bulk->has_failed) {
        stop_holding(bulk);
        break_off(bulk);
        return bytes.length;
    }
    count_held(bulk);
    wait_for_output(bulk);
    bulk->owes_byte = bulk->owes_byte || (is_held_up(bulk) && left.length == 0);
    return bytes.length - left.length - (bulk->owes_byte && left.length == 0);
}

/* ---- the answer ---- */

static void write_summary(struct bulk *bulk) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    const uint64_t *counts = bulk->counts;
    if (bulk->sending.task == SENDING_VALIDATE) {
        parley_buffer_format(
            &text, "\"summary\":{\"received\":%llu,\"valid\":%llu,\"invalid\":%llu",
            (unsigned long long)bulk->received_count, (unsigned long long)counts[ACCEPTED],
            (unsigned long long)counts[INVALID]);
        if (counts[FAILED] > 0) {
            parley_buffer_format(&text, ",\"failed\":%llu", (unsigned long long)counts[FAILED]);
        }
    } else {
        parley_buffer_format(
            &text,
            "\"summary\":{\"received\":%llu,\"accepted\":%llu,\"duplicate\":%llu,"
            "\"invalid\":%llu,\"failed\":%llu",
            (unsigned long long)bulk->received_count, (unsigned long long)counts[ACCEPTED],
            (unsigned long long)counts[DUPLICATE], (unsigned long long)counts[INVALID],
            (unsigned long long)counts[FAILED]);
    }
    if (bulk->omitted_count > 0) {
        parley_buffer_format(&text, ",\"omitted\":%llu", (unsigned long long)bulk->omitted_count);
    }
    parley_buffer_char(&text, '}');
    bulk->has_failed = !outlet_end(&bulk->outlet, &text);
    parley_buffer_finish(&text);
}

static void log_failure(struct bulk *bulk) {
    if (bulk->has_failed || bulk->outlet.spool.has_failed) {
        log_once(bulk, "The results are not whole: memory, the data folder or --gather-max ran "
                       "out.");
    }
}

/* What the end of the body makes a message of. */
static void cut_end(struct bulk *bulk) {
    while (!bulk->is_cut && !bulk->has_failed && bulk->aside == NULL) {
        struct parley_slice slice;
        const enum parley_split split = parley_splitter_end(&bulk->splitter, &slice);
        bulk->is_cut = split == PARLEY_SPLIT_END;
        if (split == PARLEY_SPLIT_MEMORY) {
            bulk->has_failed = true;
        } else if (!bulk->is_cut) {
            take(bulk, split, &slice);
        }
    }
}

/* The body has ended: answer, or end the answer, when every result is known. */
static void finish(struct bulk *bulk) {
    cut_end(bulk);
    if (bulk->first != NULL && bulk->first->is_known) {
        wait_for_output(bulk);
    }
    if (bulk->is_answered || bulk->first != NULL || bulk->aside != NULL) {
        return;
    }
    bulk->is_answered = true;
    log_failure(bulk);
    /* A response without the summary was cut short, and this one is. */
    if (!bulk->has_failed && is_filter(&bulk->sending)) {
        bulk->has_failed = !outlet_end(&bulk->outlet, NULL);
    } else if (!bulk->has_failed) {
        write_summary(bulk);
    }
    outlet_send(&bulk->outlet);
}

ssize_t bulk_read(struct bulk *bulk, char *buffer, size_t size) {
    const ssize_t count = outlet_read(&bulk->outlet, buffer, size);
    if (count > 0) {
        return count;
    }
    if (count < 0 || bulk->has_failed) {
        log_failure(bulk);
        return HTTP_SOURCE_ABORT;
    }
    return bulk->is_answered ? HTTP_SOURCE_END : 0;
}

void bulk_end(struct bulk *bulk) {
    bulk->is_ended = true;
    outlet_begin(&bulk->outlet, true);
    finish(bulk);
}

static void go_on_after_check(struct bulk *bulk) {
    if (bulk->request == NULL) {
        go_on_alone(bulk);
        return;
    }
    if (bulk->has_failed) {
        break_off(bulk);
    }
    go_on(bulk);
}

static void room_again(struct jetstream_waiter *waiter) {
    struct bulk *bulk = OWNER_OF(waiter, struct bulk, waiter);
    bulk->is_full = false;
    conclude_all(bulk);
    if (!destroy_if_over(bulk) && bulk->request != NULL) {
        go_on(bulk);
    }
}
