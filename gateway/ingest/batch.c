/* SPDX-License-Identifier: Apache-2.0 */

/* Many messages in one request: each is checked and published as its bytes arrive. Results are
 * written in the order sent: they queue until those before them are known, and go to the outlet,
 * which is the answer. What is in memory is bounded by the window: when it is full, or the outlet
 * has no room, no more of the body is read.
 *
 * A large message is offloaded, and until what follows from it is done, nothing behind it is
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
    struct batch *batch;
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
    struct correlation_lookup lookup;
    struct offload *offload; /* the batch's: what came of the check; NULL: it is checked again */
    char bytes[];            /* of the slice; of one that was offloaded, none */
};

struct batch {
    struct request_options options;
    struct http_request *request; /* NULL once it is gone */
    struct parley_splitter splitter;
    struct outlet outlet;
    struct result *first, **end; /* whose results are not written yet */
    struct result *free_results; /* to be used again */
    size_t window_count, window_bytes;
    size_t awaited_count; /* published, ack still to come */
    uint64_t counts[STATUS_COUNT], received_count, omitted_count;
    struct pending *first_pending, **pending_end; /* in the order sent */
    struct offload *offload;  /* the large message that is not done with; NULL: none */
    struct budget_share held; /* taken for what the splitter holds */
    struct jetstream_waiter waiter;
    bool is_full;   /* the first of those that are pending waits for room in JetStream's window */
    bool owes_byte; /* the next byte of the body was seen already, but not called taken */
    bool is_offloaded;       /* the worker pool has the large message … */
    bool is_offload_pending; /* … or had it, and it waits for what it needs */
    bool is_shed;            /* the message that is being read found no room in the budget */
    bool is_ended;           /* the whole body has come … */
    bool is_cut;             /* … and all messages of it were seen */
    bool is_answered;
    bool has_failed; /* of ours: the answer cannot be whole, and nothing more is read */
    bool has_logged;
};

static void on_capacity(struct jetstream_waiter *waiter);
static void on_output_room(void *context);

/* Its answer is the valid messages and nothing else. */
static bool is_filter(const struct request_options *options) {
    return options->task == INGEST_VALIDATE && options->emit == EMIT_MESSAGES;
}

struct batch *batch_create(const struct request_options *options, enum parley_framing framing,
                           struct http_request *request) {
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL || !request_options_keep(&batch->options, options)) {
        free(batch);
        return NULL;
    }
    batch->options.publication.is_batch = framing != PARLEY_FRAMING_WHOLE;
    batch->request = request;
    batch->end = &batch->first;
    batch->pending_end = &batch->first_pending;
    batch->waiter.room = on_capacity;
    parley_splitter_init(&batch->splitter, framing, request_message_bytes_max(options));
    const struct outlet_options outlet = {
        .reactor = options->gateway->reactor,
        .request = request,
        .data = options->gateway->configuration->data,
        .quota = options->gateway->spools,
        .idle_timeout_ms = options->gateway->configuration->idle_timeout_ms,
        .media_type = options->wants_document ? "application/json" : options->lines_type,
        .form = !options->wants_document ? OUTLET_LINES
                : is_filter(options)     ? OUTLET_ARRAY
                                         : OUTLET_DOCUMENT,
        .on_room = on_output_room,
        .context = batch};
    outlet_init(&batch->outlet, &outlet);
    return batch;
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
static void release_slice(struct batch *batch) {
    parley_splitter_release(&batch->splitter);
    budget_uncover(batch->options.gateway->budget, &batch->held);
}

static void release_offload(struct batch *batch) {
    offload_release(batch->offload);
    batch->offload = NULL;
    release_slice(batch);
}

static void pop_pending(struct batch *batch) {
    struct pending *pending = batch->first_pending;
    batch->first_pending = pending->next;
    if (batch->first_pending == NULL) {
        batch->pending_end = &batch->first_pending;
    }
    batch->window_bytes -= pending->slice.bytes.length;
    if (pending->offload != NULL) {
        batch->is_offload_pending = false;
        release_offload(batch);
    }
    correlation_lookup_finish(&pending->lookup);
    free(pending);
}

static void drop_pending(struct batch *batch) {
    while (batch->first_pending != NULL) {
        pop_pending(batch);
    }
}

static void destroy(struct batch *batch) {
    jetstream_wait_cancel(batch->options.gateway->jetstream, &batch->waiter);
    drop_pending(batch);
    free_list(batch->first);
    free_list(batch->free_results);
    budget_uncover(batch->options.gateway->budget, &batch->held);
    parley_splitter_finish(&batch->splitter);
    outlet_finish(&batch->outlet);
    gateway_forget_message(batch->options.gateway, batch->options.protocol);
    request_options_release(&batch->options);
    free(batch);
}

/* Nobody reads what comes of it any more.  Returns: whether the batch is gone. */
static bool destroy_if_over(struct batch *batch) {
    if (batch->request != NULL || batch->first_pending != NULL || batch->awaited_count > 0 ||
        batch->is_offloaded) {
        return false;
    }
    destroy(batch);
    return true;
}

/* Whether a message that came whole is served though the client is gone. */
static bool is_served_anyway(const struct batch *batch) {
    return batch->options.task == INGEST_FORWARD && !batch->has_failed;
}

/* The client is gone. What came whole is published all the same; but nobody makes room any more
 * while the server shuts down. */
static void go_on_alone(struct batch *batch) {
    if (!is_served_anyway(batch) || (batch->is_full && batch->options.gateway->is_draining)) {
        jetstream_wait_cancel(batch->options.gateway->jetstream, &batch->waiter);
        drop_pending(batch);
    }
    destroy_if_over(batch);
}

/* Nobody wants to know any more whether they are the same. */
static void cancel_duplicates(struct batch *batch) {
    for (struct result *result = batch->first; result != NULL; result = result->next) {
        if (result->duplicate != NULL) {
            duplicate_cancel(result->duplicate);
            result->duplicate = NULL;
            batch->awaited_count--;
        }
    }
}

void batch_closed(struct batch *batch) {
    batch->request = NULL;
    cancel_duplicates(batch);
    outlet_close(&batch->outlet);
    go_on_alone(batch);
}

/* ---- results ---- */

static struct result *result_begin(struct batch *batch, size_t number) {
    struct result *result = batch->free_results;
    if (result != NULL) {
        batch->free_results = result->next;
    } else {
        result = calloc(1, sizeof *result);
        if (result == NULL) {
            return NULL;
        }
    }
    parley_buffer_clear(&result->text);
    result->batch = batch;
    result->number = number;
    result->id_end = result->warnings_offset = 0;
    result->is_known = false;
    result->next = NULL;
    *batch->end = result;
    batch->end = &result->next;
    batch->window_count++;
    batch->received_count++;
    return result;
}

/* Whether anybody wants to read a result of this status. */
static bool is_wanted(const struct batch *batch, enum result_status status) {
    if (is_filter(&batch->options)) {
        return status == ACCEPTED;
    }
    switch (batch->options.results) {
    case RESULTS_ALL:
        return true;
    case RESULTS_ERRORS:
        return status != ACCEPTED && status != DUPLICATE;
    case RESULTS_SUMMARY:
        break;
    }
    return false;
}

static void omit(struct batch *batch) {
    batch->omitted_count++;
    batch->has_failed = batch->has_failed || is_filter(&batch->options);
}

/* What was written to the outlet is a result. */
static void end_written(struct batch *batch) {
    if (!outlet_end_item(&batch->outlet)) {
        omit(batch);
    }
}

static void keep(struct batch *batch, const struct result *result) {
    struct parley_buffer *out = result->text.has_failed ? NULL : outlet_begin_item(&batch->outlet);
    if (out == NULL) {
        omit(batch);
        return;
    }
    parley_buffer_append(out, parley_buffer_bytes(&result->text));
    end_written(batch);
}

/* Writes what is known, up to the first result that is not. */
static void flush_results(struct batch *batch) {
    while (batch->first != NULL && batch->first->is_known && outlet_has_room(&batch->outlet)) {
        struct result *result = batch->first;
        batch->first = result->next;
        if (batch->first == NULL) {
            batch->end = &batch->first;
        }
        if (result->text.length > 0 || result->text.has_failed) {
            keep(batch, result);
        }
        batch->window_count--;
        batch->window_bytes -= result->text.length;
        /* The window bounds what its results hold, not what unused ones would go on holding. */
        if (result->text.capacity > RESULT_KEPT_BYTES) {
            parley_buffer_finish(&result->text);
        }
        result->next = batch->free_results;
        batch->free_results = result;
    }
}

/* `result` is complete. Its text may have changed its length since it was counted. */
static void result_end(struct result *result, enum result_status status, size_t counted_bytes) {
    struct batch *batch = result->batch;
    result->status = status;
    result->is_known = true;
    batch->counts[status]++;
    /* A filter's output is whole, or it is broken off. */
    batch->has_failed = batch->has_failed || (status == FAILED && is_filter(&batch->options));
    if (!is_wanted(batch, status)) {
        parley_buffer_clear(&result->text);
    }
    batch->window_bytes += result->text.length - counted_bytes;
    flush_results(batch);
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
static void log_once(struct batch *batch, const char *detail) {
    if (!batch->has_logged && batch->request != NULL) {
        batch->has_logged = true;
        problem_log(batch->request, detail);
    }
}

/* `members`: of the problem, with a comma each; not in the result's text. */
static void end_failed_with(struct result *result, enum problem problem, const char *detail,
                            struct parley_bytes members, size_t counted_bytes) {
    if (problem == PROBLEM_INTERNAL) {
        log_once(result->batch, detail);
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
    struct batch *batch = result->batch;
    struct parley_buffer *out = NULL;
    if (result == batch->first && outlet_has_room(&batch->outlet)) {
        out = outlet_begin_item(&batch->outlet);
    }
    if (out == NULL) {
        return false;
    }
    write_stored(result, place, status, out);
    end_written(batch);
    parley_buffer_clear(&result->text);
    return true;
}

static void end_stored(struct result *result, const char *stream, uint64_t sequence,
                       bool is_duplicate) {
    const struct place place = {stream, sequence};
    const enum result_status status = is_duplicate ? DUPLICATE : ACCEPTED;
    const size_t counted_bytes = result->text.length;
    if (is_wanted(result->batch, status) && !write_first(result, place, status)) {
        struct parley_buffer line;
        parley_buffer_init(&line);
        write_stored(result, place, status, &line);
        parley_buffer_finish(&result->text);
        result->text = line;
    }
    result_end(result, status, counted_bytes);
}

/* Whether the next message has to wait for the last one, whatever room there is. */
static bool is_held_up(const struct batch *batch) {
    return batch->is_full || batch->offload != NULL;
}

static bool has_room(struct batch *batch) {
    return !is_held_up(batch) && batch->window_count < WINDOW_COUNT &&
           batch->window_bytes < WINDOW_BYTES && outlet_has_room(&batch->outlet);
}

static void finish(struct batch *batch);

/* Something was settled: answer, or read on. */
static void go_on(struct batch *batch) {
    if (batch->is_ended) {
        finish(batch);
    } else if (has_room(batch)) {
        http_wake(batch->request);
    }
}

/* Of a message that was published. `stream` NULL: none. */
static void end_published(struct result *result, const struct failure *failure, const char *stream,
                          uint64_t sequence) {
    enum { BEFORE_ID = sizeof ",\"id\":" - 1 };
    struct parley_bytes id = {0};
    struct parley_buffer members;
    if (result->id_end > BEFORE_ID) {
        id = (struct parley_bytes){result->text.data + BEFORE_ID, result->id_end - BEFORE_ID};
    }
    parley_buffer_init(&members);
    failure_write_members(failure->problem, id, stream, sequence, &members);
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
    result->batch->window_bytes += text.length - sent.length;
    parley_buffer_finish(&result->text);
    result->text = text;
}

static void on_compared(void *context, const struct duplicate_answer *answer) {
    struct result *result = context;
    struct batch *batch = result->batch;
    batch->awaited_count--;
    result->duplicate = NULL;
    if (answer->verdict != DUPLICATE_SAME) {
        end_published(result, &answer->failure, answer->stream, answer->sequence);
    } else {
        if (answer->subject != NULL && result->warnings_offset > 0 && !result->text.has_failed) {
            name_stored(result, answer);
        }
        end_stored(result, answer->stream, answer->sequence, true);
    }
    go_on(batch);
}

/* Returns: whether it is under way; else the result is ended. */
static bool compare(struct result *result, const struct jetstream_ack *ack) {
    struct failure failure;
    result->duplicate =
        duplicate_begin(&result->batch->options, &result->mark, ack, on_compared, result, &failure);
    if (result->duplicate == NULL) {
        end_published(result, &failure, ack->stream, ack->sequence);
    }
    return result->duplicate != NULL;
}

static void on_ack(void *context, const struct jetstream_ack *ack) {
    struct result *result = context;
    struct batch *batch = result->batch;
    batch->awaited_count--;
    if (batch->request == NULL) {
        destroy_if_over(batch);
        return;
    }
    if (duplicate_is_open(&result->mark, ack)) {
        if (compare(result, ack)) {
            batch->awaited_count++;
            return;
        }
    } else if (ack->outcome == JETSTREAM_STORED) {
        end_stored(result, ack->stream, ack->sequence, ack->is_duplicate);
    } else {
        const struct failure failure = failure_of_ack(&batch->options, &result->mark, ack);
        end_published(result, &failure, NULL, 0);
    }
    go_on(batch);
}

/* What will be said of a message once it is stored, or once that is not sure. */
static void note_message(struct result *result, const struct parley_message *message,
                         const struct publication *publication) {
    const struct parley_route *route = &publication->route;
    result->mark = publication->mark;
    if (result->batch->options.results == RESULTS_SUMMARY) {
        return;
    }
    parley_buffer_text(&result->text, ",\"id\":");
    if (route->id.data != NULL) {
        parley_buffer_json(&result->text, route->id);
    } else {
        parley_buffer_text(&result->text, "null");
    }
    result->id_end = result->text.length;
    if (result->batch->options.results == RESULTS_ALL) {
        parley_buffer_text(&result->text, ",\"subject\":");
        parley_buffer_json(&result->text, route->subject);
        result->warnings_offset = result->text.length;
        parley_findings_write(&message->findings, &result->text);
    }
    result->batch->window_bytes += result->text.length;
}

static void swap(struct parley_buffer *a, struct parley_buffer *b) {
    const struct parley_buffer other = *a;
    *a = *b;
    *b = other;
}

/* What the worker pool made of the message already; NULL: nothing. */
static struct offload *prepared_of(const struct batch *batch,
                                   const struct parley_message *message) {
    struct offload *offload = batch->offload;
    return offload != NULL && message == &offload->message && offload->is_prepared ? offload : NULL;
}

static enum parley_status prepare(const struct batch *batch, struct parley_message *message,
                                  const struct parley_slice *slice, struct publication *out) {
    const struct offload *prepared = prepared_of(batch, message);
    if (prepared == NULL) {
        return ingest_prepare(&batch->options, message, slice->number, out);
    }
    *out = prepared->publication;
    return prepared->prepared;
}

/* The worker pool's payload takes the place of the gateway's meanwhile. */
static enum jetstream_publish hand_over(struct batch *batch, struct result *result,
                                        const struct parley_message *message,
                                        const struct publication *publication) {
    struct parley_buffer *payload = &batch->options.gateway->payload;
    struct offload *prepared = prepared_of(batch, message);
    if (prepared != NULL) {
        swap(payload, &prepared->payload);
    }
    const enum jetstream_publish published =
        correlation_lookup_publish(&batch->options, publication, on_ack, result);
    if (prepared != NULL) {
        swap(payload, &prepared->payload);
    }
    return published;
}

/* A large one is not written out in vain. */
static bool is_in_vain(const struct batch *batch) {
    return batch->offload != NULL && !jetstream_is_ready(batch->options.gateway->jetstream);
}

/* Returns: false: there is no room, and nothing has been done. */
static bool publish(struct batch *batch, struct result *result, struct parley_message *message,
                    const struct parley_slice *slice) {
    struct publication publication;
    enum jetstream_publish published = JETSTREAM_AWAY;
    if (!is_in_vain(batch)) {
        const enum parley_status status = prepare(batch, message, slice, &publication);
        if (status != PARLEY_OK && status != PARLEY_E_LIMIT) {
            end_internal(result, status);
            return true;
        }
        published = status == PARLEY_E_LIMIT ? JETSTREAM_TOO_LARGE
                                             : hand_over(batch, result, message, &publication);
    }
    if (published == JETSTREAM_FULL) {
        return false;
    }
    if (published == JETSTREAM_PUBLISHED) {
        note_message(result, message, &publication);
        batch->awaited_count++;
    } else {
        const struct failure failure = failure_of_refusal(&batch->options, published);
        end_failed(result, failure.problem, failure.detail, 0);
    }
    return true;
}

/* ---- validating ---- */

static enum parley_status write_message(const struct batch *batch, struct parley_message *message,
                                        struct parley_buffer *out) {
    const struct offload *prepared = prepared_of(batch, message);
    if (prepared == NULL) {
        return message->protocol->encode(message, out);
    }
    parley_buffer_append(out, parley_buffer_bytes(&prepared->payload));
    return prepared->prepared;
}

/* The worker pool has done it already for what was checked there. */
static enum parley_status warn_of_size(const struct batch *batch, struct parley_message *message,
                                       size_t number) {
    struct gateway *gateway = batch->options.gateway;
    if (batch->offload != NULL && message == &batch->offload->message) {
        return PARLEY_OK;
    }
    return check_warn_of_size(&batch->options, message, number,
                              jetstream_max_payload_bytes(gateway->jetstream), &gateway->payload);
}

/* Nothing of it for a filter, when it is invalid. */
static void write_verdict(const struct batch *batch, size_t number, struct parley_message *message,
                          struct parley_buffer *out) {
    const bool is_valid = parley_message_is_valid(message);
    const enum ingest_emit emit = batch->options.emit;
    enum parley_status status = PARLEY_OK;
    if (emit == EMIT_MESSAGES && is_valid) {
        status = write_message(batch, message, out);
        parley_buffer_char(out, '\n');
    } else if (emit != EMIT_MESSAGES) {
        parley_buffer_text(out, "{\"line\":");
        parley_buffer_uint(out, number);
        parley_buffer_char(out, ',');
        status = is_valid ? warn_of_size(batch, message, number) : PARLEY_OK;
        status = status != PARLEY_OK ? status : parley_message_write_verdict(message, out);
        if (emit == EMIT_BOTH) {
            parley_buffer_text(out, ",\"message\":");
            if (is_valid && status == PARLEY_OK) {
                status = write_message(batch, message, out);
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

static void end_verdict(struct batch *batch, struct result *result,
                        struct parley_message *message) {
    write_verdict(batch, result->number, message, &result->text);
    result_end(result, verdict_of(message), 0);
}

/* Of a message that waits for nothing, behind none that waits. */
static void tell_verdict(struct batch *batch, size_t number, struct parley_message *message) {
    const enum result_status status = verdict_of(message);
    batch->received_count++;
    batch->counts[status]++;
    if (!is_wanted(batch, status)) {
        return;
    }
    struct parley_buffer *out = outlet_begin_item(&batch->outlet);
    if (out == NULL) {
        omit(batch);
        return;
    }
    write_verdict(batch, number, message, out);
    end_written(batch);
}

/* ---- what has to wait ---- */

/* What follows from a valid message.  Returns: false: there is no room for it. */
static bool finish_valid(struct batch *batch, struct result *result, struct parley_message *message,
                         const struct parley_slice *slice) {
    if (batch->options.task == INGEST_FORWARD) {
        return publish(batch, result, message, slice);
    }
    end_verdict(batch, result, message);
    return true;
}

static void wait_for_room(struct batch *batch) {
    batch->is_full = true;
    jetstream_wait_for_room(batch->options.gateway->jetstream, &batch->waiter);
}

/* The message object has served others meanwhile, unless it is one of its own. */
static enum parley_status check_pending(struct batch *batch, const struct pending *pending,
                                        struct parley_message **out_message) {
    struct request_options *options = &batch->options;
    const struct correlation_lookup *lookup = &pending->lookup;
    const char *recalled = lookup->has_failed ? NULL : lookup->text;
    if (pending->offload != NULL) {
        *out_message = &pending->offload->message;
        (*out_message)->options.recalled = recalled;
        return PARLEY_OK;
    }
    *out_message = gateway_message(options->gateway, options->protocol);
    options->check.recalled = recalled;
    const enum parley_status status =
        check_message(options, pending->slice.bytes, pending->slice.origin);
    options->check.recalled = NULL;
    return status;
}

static bool finish_pending(struct batch *batch, struct pending *pending) {
    const struct correlation_lookup *lookup = &pending->lookup;
    if (lookup->has_failed && batch->options.task == INGEST_FORWARD) {
        const struct failure failure = correlation_lookup_failure(lookup);
        end_failed(pending->result, failure.problem, failure.detail, 0);
        return true;
    }
    struct parley_message *message;
    const enum parley_status status = check_pending(batch, pending, &message);
    if (status != PARLEY_OK) {
        end_internal(pending->result, status);
        return true;
    }
    return finish_valid(batch, pending->result, message, &pending->slice);
}

/* Goes on with what waits, in the order sent, up to one that has to wait longer. */
static void finish_all(struct batch *batch) {
    while (batch->first_pending != NULL && !batch->first_pending->lookup.is_asking &&
           !batch->is_full) {
        if (finish_pending(batch, batch->first_pending)) {
            pop_pending(batch);
        } else {
            wait_for_room(batch);
        }
    }
}

static void on_lookup(struct correlation_lookup *lookup) {
    struct pending *pending = OWNER_OF(lookup, struct pending, lookup);
    struct batch *batch = pending->result->batch;
    finish_all(batch);
    if (!destroy_if_over(batch) && batch->request != NULL) {
        go_on(batch);
    }
}

/* Copies the message, but for a large one: nothing is read behind it.
 * Returns: NULL without memory: the result is ended. */
static struct pending *add_pending(struct batch *batch, struct result *result,
                                   const struct parley_slice *slice) {
    const bool is_copied = batch->offload == NULL;
    struct pending *pending = malloc(sizeof *pending + (is_copied ? slice->bytes.length : 0));
    if (pending == NULL) {
        end_internal(result, PARLEY_E_MEMORY);
        return NULL;
    }
    *pending = (struct pending){
        .result = result, .slice = *slice, .lookup.on_ready = on_lookup, .offload = batch->offload};
    if (is_copied) {
        memcpy(pending->bytes, slice->bytes.data, slice->bytes.length);
        pending->slice.bytes.data = pending->bytes;
    }
    batch->is_offload_pending = !is_copied;
    batch->window_bytes += slice->bytes.length;
    *batch->pending_end = pending;
    batch->pending_end = &pending->next;
    return pending;
}

/* `key`: what it has to know first; data NULL: nothing, but others are before it. */
static void wait_in_line(struct batch *batch, struct result *result, struct parley_message *message,
                         const struct parley_slice *slice, struct parley_bytes key) {
    struct pending *pending = add_pending(batch, result, slice);
    if (pending == NULL) {
        return;
    }
    if (key.data != NULL) {
        correlation_lookup_begin(&pending->lookup, &batch->options, key);
    } else {
        const char *known = message->options.recalled;
        pending->lookup.text = known != NULL ? strdup(known) : NULL;
        pending->lookup.has_failed = known != NULL && pending->lookup.text == NULL;
        correlation_lookup_keep_early(&batch->options, message);
    }
    finish_all(batch);
}

/* `key`: as of wait_in_line. */
static void wait_or_finish(struct batch *batch, struct result *result,
                           struct parley_message *message, const struct parley_slice *slice,
                           struct parley_bytes key) {
    if (key.data != NULL || batch->first_pending != NULL) {
        wait_in_line(batch, result, message, slice, key);
    } else if (!finish_valid(batch, result, message, slice) &&
               add_pending(batch, result, slice) != NULL) {
        wait_for_room(batch);
    }
}

/* ---- the body ---- */

/* What follows from the verdict on a message. */
static void on_verdict(struct batch *batch, struct parley_message *message,
                       const struct parley_slice *slice, enum parley_status status) {
    const bool is_validated = batch->options.task == INGEST_VALIDATE;
    struct parley_bytes key = {0};
    const bool is_valid = status == PARLEY_OK && parley_message_is_valid(message);
    if (is_valid) {
        status = correlation_lookup_need(&batch->options, message, &key);
    }
    if (status == PARLEY_OK && is_validated && key.data == NULL && batch->first == NULL) {
        tell_verdict(batch, slice->number, message);
        return;
    }
    struct result *result = result_begin(batch, slice->number);
    if (result == NULL) {
        batch->has_failed = true;
    } else if (status != PARLEY_OK) {
        end_internal(result, status);
    } else if (is_valid) {
        wait_or_finish(batch, result, message, slice, key);
    } else if (is_validated) {
        end_verdict(batch, result, message);
    } else {
        end_invalid(result, message);
    }
}

static void go_on_after_check(struct batch *batch);

static void on_checked(struct offload *offload, void *context) {
    struct batch *batch = context;
    batch->is_offloaded = false;
    if (batch->request != NULL || is_served_anyway(batch)) {
        parley_splitter_note_verdict(&batch->splitter, &offload->message);
        on_verdict(batch, &offload->message, &offload->slice, offload->status);
    }
    if (!batch->is_offload_pending) {
        release_offload(batch);
    }
    go_on_after_check(batch);
}

/* Returns: whether the worker pool has it now. */
static bool check_offloaded(struct batch *batch, const struct parley_slice *slice) {
    if (slice->bytes.length < OFFLOAD_BYTES_MIN ||
        !parley_splitter_keeps(&batch->splitter, slice)) {
        return false;
    }
    batch->offload = offload_begin(&batch->options, slice, on_checked, batch);
    batch->is_offloaded = batch->offload != NULL;
    return batch->is_offloaded;
}

static void check(struct batch *batch, enum parley_split split, const struct parley_slice *slice) {
    const enum parley_status status = check_slice(&batch->options, split, slice, &batch->splitter);
    on_verdict(batch, gateway_message(batch->options.gateway, batch->options.protocol), slice,
               status);
}

static void refuse_overloaded(struct batch *batch, const struct parley_slice *slice) {
    const struct failure failure = failure_overloaded(&batch->options);
    struct result *result = result_begin(batch, slice->number);
    if (result == NULL) {
        batch->has_failed = true;
    } else {
        end_failed(result, failure.problem, failure.detail, 0);
    }
}

/* Reaches a verdict on a message, and does what follows from it, or leaves that to the worker pool.
 */
static void handle_slice(struct batch *batch, enum parley_split split,
                         const struct parley_slice *slice) {
    const bool is_shed = batch->is_shed && split == PARLEY_SPLIT_SIZE;
    batch->is_shed = false;
    if (is_shed) {
        refuse_overloaded(batch, slice);
    } else if (split != PARLEY_SPLIT_MESSAGE || !check_offloaded(batch, slice)) {
        check(batch, split, slice);
    }
    if (batch->offload == NULL &&
        (budget_is_taken(&batch->held) || slice->bytes.length > SLICE_KEPT_BYTES)) {
        release_slice(batch);
    }
}

/* Sees to it that what the splitter holds is counted, or that it is not held. */
static void count_held(struct batch *batch) {
    struct budget *budget = batch->options.gateway->budget;
    if (!budget_cover(budget, &batch->held, parley_splitter_held_bytes(&batch->splitter))) {
        parley_splitter_pass_by(&batch->splitter);
        budget_uncover(budget, &batch->held);
        batch->is_shed = true;
    }
}

/* The results find no room, and a client of this kind can read none of them before it has sent all:
 * what was sent until now is served, and nothing more is read. */
static void give_up(struct batch *batch) {
    batch->is_answered = true;
    problem_respond_format(
        batch->request, PROBLEM_TOO_LARGE,
        "The results of this body find no room to wait in until it has ended (--spool-max, or the "
        "disk of the data folder). %" PRIu64
        " of its messages were read, and what is valid of them "
        "was passed on; nothing after them was read. Use HTTP/1.1, which takes results while the "
        "body is sent, or send less at once, or ask for results=summary.",
        batch->received_count);
}

static void wait_for_output(struct batch *batch) {
    if (!batch->is_answered && !outlet_wait(&batch->outlet)) {
        give_up(batch);
    }
}

static void on_output_room(void *context) {
    struct batch *batch = context;
    flush_results(batch);
    go_on(batch);
}

/* What follows can never be told. */
static void break_off(struct batch *batch) {
    outlet_wake(&batch->outlet);
}

/* Nothing more is cut out of the body. */
static void stop_holding(struct batch *batch) {
    if (batch->offload == NULL) {
        release_slice(batch);
    }
}

/* While a message finds no room, or the worker pool has it, not all is called taken: so the client
 * is not read from. */
size_t batch_body(struct batch *batch, struct parley_bytes bytes) {
    struct parley_bytes left = bytes;
    outlet_begin(&batch->outlet, false);
    if (batch->owes_byte && !is_held_up(batch)) {
        batch->owes_byte = false;
        left = (struct parley_bytes){bytes.data + 1, bytes.length - 1};
    }
    while (left.length > 0 && has_room(batch) && !batch->has_failed) {
        struct parley_slice slice;
        const enum parley_split split = parley_splitter_next(&batch->splitter, &left, &slice);
        if (split == PARLEY_SPLIT_MEMORY) {
            batch->has_failed = true;
        } else if (split != PARLEY_SPLIT_MORE) {
            handle_slice(batch, split, &slice);
        }
    }
    if (batch->has_failed) {
        stop_holding(batch);
        break_off(batch);
        return bytes.length;
    }
    count_held(batch);
    wait_for_output(batch);
    batch->owes_byte = batch->owes_byte || (is_held_up(batch) && left.length == 0);
    return bytes.length - left.length - (batch->owes_byte && left.length == 0);
}

/* ---- the answer ---- */

static void write_summary(struct batch *batch) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    const uint64_t *counts = batch->counts;
    if (batch->options.task == INGEST_VALIDATE) {
        parley_buffer_format(
            &text, "\"summary\":{\"received\":%llu,\"valid\":%llu,\"invalid\":%llu",
            (unsigned long long)batch->received_count, (unsigned long long)counts[ACCEPTED],
            (unsigned long long)counts[INVALID]);
        if (counts[FAILED] > 0) {
            parley_buffer_format(&text, ",\"failed\":%llu", (unsigned long long)counts[FAILED]);
        }
    } else {
        parley_buffer_format(
            &text,
            "\"summary\":{\"received\":%llu,\"accepted\":%llu,\"duplicate\":%llu,"
            "\"invalid\":%llu,\"failed\":%llu",
            (unsigned long long)batch->received_count, (unsigned long long)counts[ACCEPTED],
            (unsigned long long)counts[DUPLICATE], (unsigned long long)counts[INVALID],
            (unsigned long long)counts[FAILED]);
    }
    if (batch->omitted_count > 0) {
        parley_buffer_format(&text, ",\"omitted\":%llu", (unsigned long long)batch->omitted_count);
    }
    parley_buffer_char(&text, '}');
    batch->has_failed = !outlet_end(&batch->outlet, &text);
    parley_buffer_finish(&text);
}

static void log_failure(struct batch *batch) {
    if (batch->has_failed || batch->outlet.spool.has_failed) {
        log_once(batch, "The results are not whole: memory, the data folder or --gather-max ran "
                        "out.");
    }
}

/* What the end of the body makes a message of. */
static void cut_end(struct batch *batch) {
    while (!batch->is_cut && !batch->has_failed && batch->offload == NULL) {
        struct parley_slice slice;
        const enum parley_split split = parley_splitter_end(&batch->splitter, &slice);
        batch->is_cut = split == PARLEY_SPLIT_END;
        if (split == PARLEY_SPLIT_MEMORY) {
            batch->has_failed = true;
        } else if (!batch->is_cut) {
            handle_slice(batch, split, &slice);
        }
    }
}

/* The body has ended: answer, or end the answer, when every result is known. */
static void finish(struct batch *batch) {
    cut_end(batch);
    if (batch->first != NULL && batch->first->is_known) {
        wait_for_output(batch);
    }
    if (batch->is_answered || batch->first != NULL || batch->offload != NULL) {
        return;
    }
    batch->is_answered = true;
    log_failure(batch);
    /* A response without the summary was cut short, and this one is. */
    if (!batch->has_failed && is_filter(&batch->options)) {
        batch->has_failed = !outlet_end(&batch->outlet, NULL);
    } else if (!batch->has_failed) {
        write_summary(batch);
    }
    outlet_send(&batch->outlet);
}

ssize_t batch_read(struct batch *batch, char *buffer, size_t size) {
    const ssize_t count = outlet_read(&batch->outlet, buffer, size);
    if (count > 0) {
        return count;
    }
    if (count < 0 || batch->has_failed) {
        log_failure(batch);
        return HTTP_SOURCE_ABORT;
    }
    return batch->is_answered ? HTTP_SOURCE_END : 0;
}

void batch_end(struct batch *batch) {
    batch->is_ended = true;
    outlet_begin(&batch->outlet, true);
    finish(batch);
}

static void go_on_after_check(struct batch *batch) {
    if (batch->request == NULL) {
        go_on_alone(batch);
        return;
    }
    if (batch->has_failed) {
        break_off(batch);
    }
    go_on(batch);
}

static void on_capacity(struct jetstream_waiter *waiter) {
    struct batch *batch = OWNER_OF(waiter, struct batch, waiter);
    batch->is_full = false;
    finish_all(batch);
    if (!destroy_if_over(batch) && batch->request != NULL) {
        go_on(batch);
    }
}
