/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_publisher.h. Each publication owns a mailbox. All deadlines are equally far away,
 * so the list of publications in flight is in the order of their deadlines, and one timer serves
 * them all. A publication is kept until its ack, since jetstream_away_queue.c may publish it
 * again. */

#include "jetstream_publisher.h"

#include "jetstream_ack.h"
#include "jetstream_api.h"
#include "jetstream_codes.h"
#include "jetstream_away_queue.h"
#include "jetstream_map.h"
#include "jetstream_state.h"
#include "jetstream_trouble.h"
#include "jetstream_undecided.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM_POLL_MS = 50, /* while the bus itself is full, which has no event for its end */
    /* Memory of texts that is kept for the next ones: of one, and of all. */
    SPARE_TEXT_MAX = 4 * 1024,
    SPARE_BYTES_MAX = 1024 * 1024,
};

/* ---- the window ---- */

/* Rounded up, so that there is always room for one. */
static size_t part_of(size_t whole, unsigned share) {
    return share == 0 ? whole : whole / 100 * share + (whole % 100 * share + 99) / 100;
}

static bool has_count(const struct jetstream *jetstream, unsigned share) {
    return jetstream->window.count < part_of(jetstream->options.in_flight_count_max, share);
}

/* One message may exceed the bytes: otherwise a large one could starve among small ones. */
static bool has_bytes(const struct jetstream *jetstream, unsigned share) {
    return jetstream->window.bytes < part_of(jetstream->options.in_flight_bytes_max, share);
}

static bool has_room(const struct jetstream *jetstream, unsigned share) {
    return has_count(jetstream, share) && has_bytes(jetstream, share) &&
           bus_has_room(jetstream->bus);
}

/* Which one it is that has no room. */
static void note_bound(struct jetstream *jetstream, unsigned share) {
    char *bound = jetstream->window.bound, part[80] = "";
    const size_t size = sizeof jetstream->window.bound;
    if (share > 0 && share < 100) {
        snprintf(part, sizeof part, "%u %% of ", share);
    }
    if (!has_count(jetstream, share)) {
        snprintf(bound, size, "the messages in flight have reached %s%zu a worker (--in-flight)",
                 part, jetstream->options.in_flight_count_max);
    } else if (!has_bytes(jetstream, share)) {
        snprintf(bound, size, "the messages in flight have reached %s%zu bytes a worker", part,
                 jetstream->options.in_flight_bytes_max);
    } else {
        snprintf(bound, size, "NATS reads more slowly than messages come");
    }
}

const char *jetstream_bound(const struct jetstream *jetstream) {
    return jetstream->window.bound;
}

static struct jetstream_publication *allocate_publication(struct jetstream_window *window) {
    struct jetstream_publication *publication = window->free;
    if (publication != NULL) {
        window->free = publication->next;
        window->spare_bytes -= publication->text.capacity;
        return publication;
    }
    return &window->pool[window->pool_used++];
}

static void free_publication(struct jetstream_window *window,
                             struct jetstream_publication *publication) {
    const size_t capacity = publication->text.capacity;
    if (capacity > SPARE_TEXT_MAX || window->spare_bytes + capacity > SPARE_BYTES_MAX) {
        parley_buffer_finish(&publication->text);
    }
    window->spare_bytes += publication->text.capacity;
    publication->next = window->free;
    window->free = publication;
}

static size_t bytes_of(const struct jetstream_publication *publication) {
    return publication->text.length - publication->subject_size;
}

static void note_room(struct jetstream *jetstream) {
    struct jetstream_window *window = &jetstream->window;
    if (window->waiter_count > 0 &&
        (!window->room.is_armed || window->room.due_ms > reactor_now_ms(jetstream->reactor))) {
        reactor_timer_set(jetstream->reactor, &window->room, 0);
    }
}

void jetstream_publication_withdraw(struct jetstream_publication *publication) {
    jetstream_flow_note_end(publication);
    publication->previous->next = publication->next;
    publication->next->previous = publication->previous;
    publication->place = JETSTREAM_NOWHERE;
}

/* A duplicate of another message has its own place, which says nothing of its sender's order. */
static void note_stored(const struct jetstream_publication *publication,
                        const struct jetstream_ack *ack) {
    struct jetstream_sender *sender = publication->sender;
    const bool is_own = !ack->is_duplicate || ack->is_again;
    if (publication->flow != NULL && ack->sequence > 0) {
        publication->flow->last_sequence = ack->sequence;
    }
    if (sender != NULL && is_own && publication->sender_number > sender->stored) {
        sender->stored = publication->sender_number;
    }
}

void jetstream_publication_complete(struct jetstream_publication *publication,
                                    const struct jetstream_ack *ack) {
    struct jetstream *jetstream = publication->jetstream;
    struct jetstream_window *window = &jetstream->window;
    jetstream_ack_fn *done = publication->done;
    void *context = publication->context;
    if (publication->place != JETSTREAM_NOWHERE) {
        jetstream_publication_withdraw(publication);
    }
    if (ack->outcome == JETSTREAM_STORED) {
        note_stored(publication, ack);
    }
    window->count--;
    window->bytes -= bytes_of(publication);
    bus_mailbox_close(jetstream->bus, publication->mailbox);
    free_publication(window, publication);
    note_room(jetstream);
    done(context, ack);
}

static void on_deadline(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, window.deadline);
    struct jetstream_publication *first = &jetstream->window.in_flight;
    int64_t now_ms = reactor_now_ms(jetstream->reactor);
    while (first->next != first && first->next->deadline_ms <= now_ms) {
        jetstream_publication_complete(first->next,
                                       &(struct jetstream_ack){.outcome = JETSTREAM_TIMEOUT});
    }
    if (first->next != first) {
        reactor_timer_set(jetstream->reactor, timer, first->next->deadline_ms - now_ms);
    }
}

/* ---- forbidden subjects ---- */

/* Eight bytes at a time, since every publication computes it. */
static uint64_t hash_subject(const char *subject) {
    const size_t length = strlen(subject);
    uint64_t hash = length;
    for (size_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, subject + at, length - at < 8 ? length - at : 8);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash;
}

/* The server sends no ack for a message that it does not permit. Messages that `done` publishes in
 * the meantime are at the end of the list, after those that are checked. */
void jetstream_publisher_refuse(struct jetstream *jetstream, const char *subject) {
    const uint64_t hash = hash_subject(subject);
    const struct jetstream_publication *end = &jetstream->window.in_flight;
    const uint64_t last = jetstream->window.published_count;
    char error[JETSTREAM_SUBJECT_MAX];
    snprintf(error, sizeof error, "NATS does not permit this user to publish to %.256s", subject);
    struct jetstream_publication *next;
    for (struct jetstream_publication *at = end->next; at != end && at->number <= last; at = next) {
        next = at->next;
        if (at->subject_hash == hash) {
            struct jetstream_flow *flow = at->flow;
            at->unknown_count--;
            jetstream_publication_refuse(at, 0, error);
            jetstream_flow_go_on(flow);
        }
    }
}

/* ---- acks ---- */

/* One that was published before, without an answer, may be stored nevertheless. */
void jetstream_publication_refuse(struct jetstream_publication *publication, int code,
                                  const char *error) {
    const struct jetstream_place *place =
        jetstream_place_find(publication->jetstream, publication->text.data);
    struct jetstream_ack ack = {.outcome = JETSTREAM_REFUSED,
                                .error_code = code,
                                .error = error,
                                .bytes_max = place != NULL ? place->bytes_max : 0};
    if (publication->unknown_count > 0) {
        ack = (struct jetstream_ack){.outcome = JETSTREAM_TIMEOUT};
    }
    jetstream_publication_complete(publication, &ack);
}

/* JetStream is there, but an earlier message with its id or to its subject is not decided. */
static void take_undecided(struct jetstream_publication *publication) {
    struct jetstream_flow *flow = publication->flow;
    jetstream_note_good(publication->jetstream);
    if (jetstream_undecided_hold(publication)) {
        return;
    }
    jetstream_undecided_add(publication);
    jetstream_flow_go_on(flow);
}

/* `stream`: the one that refused it, or NULL. */
static void refuse(struct jetstream_publication *publication, int code, const char *error,
                   const char *stream) {
    struct jetstream *jetstream = publication->jetstream;
    struct jetstream_flow *flow = publication->flow;
    const enum jetstream_reason reason = jetstream_reason_of(code);
    const bool has_no_leader = reason == JETSTREAM_REASON_NO_LEADER;
    if (reason == JETSTREAM_REASON_UNDECIDED) {
        take_undecided(publication);
        return;
    }
    if (reason == JETSTREAM_REASON_NO_ROOM) {
        jetstream_refusal_note(jetstream, stream != NULL ? stream : "", code, error);
    } else if (has_no_leader || code == JETSTREAM_E_SEALED) {
        jetstream_recheck(jetstream);
    } else {
        jetstream_note_good(jetstream);
    }
    if (has_no_leader && jetstream_flow_take_back(publication)) {
        return;
    }
    jetstream_publication_refuse(publication, code, error);
    if (!has_no_leader) {
        jetstream_flow_go_on(flow);
    }
}

/* Whether the ack belongs to an earlier, unanswered publication of this message. */
static bool is_again(const struct jetstream_publication *publication,
                     const struct jetstream_ack *ack) {
    return ack->is_duplicate && publication->unknown_count > 0 &&
           ack->sequence > publication->stored_before;
}

static void take_stored(struct jetstream_publication *publication, struct jetstream_ack *ack) {
    struct jetstream_flow *flow = publication->flow;
    jetstream_note_good(publication->jetstream);
    ack->is_again = is_again(publication, ack);
    jetstream_publication_complete(publication, ack);
    jetstream_flow_go_on(flow);
}

/* A message on its way to the replicas has no sequence so far (nats-server 2.10). */
static bool is_undecided(const struct jetstream_ack *ack) {
    return ack->is_duplicate && ack->sequence == 0;
}

static void on_ack(void *context, const struct bus_message *message) {
    struct jetstream_publication *publication = context;
    struct jetstream_flow *flow = publication->flow;
    struct jetstream_ack_texts texts;
    struct jetstream_ack ack;
    if (jetstream_ack_read(message->payload, &texts, &ack)) {
        publication->unknown_count--;
        if (ack.outcome == JETSTREAM_REFUSED) {
            refuse(publication, ack.error_code, ack.error, ack.stream);
        } else if (is_undecided(&ack)) {
            take_undecided(publication);
        } else if (ack.outcome == JETSTREAM_STORED) {
            take_stored(publication, &ack);
        } else {
            jetstream_publication_complete(publication, &ack);
            jetstream_flow_go_on(flow);
        }
    } else if (bus_message_status(message) == JETSTREAM_NO_RESPONDERS) {
        publication->unknown_count--;
        refuse(publication, JETSTREAM_NO_RESPONDERS,
               "no stream listens on this subject: its stream is missing and is being created "
               "again, or has no leader at present",
               NULL);
    }
    /* Else it is not an ack but the answer of another subscriber. The ack may still come. */
}

/* Costs one comparison in the usual case. */
static bool is_barred(struct jetstream *jetstream, const char *subject) {
    return jetstream->setup.unusable_count > 0 && jetstream_is_barred(jetstream, subject);
}

/* ---- publishing ---- */

enum bus_send jetstream_publication_send(struct jetstream_publication *publication) {
    struct jetstream *jetstream = publication->jetstream;
    struct jetstream_window *window = &jetstream->window;
    const char *subject = publication->text.data;
    const struct parley_bytes text = {subject + publication->subject_size, bytes_of(publication)};
    char reply[BUS_SUBJECT_MAX];
    bus_mailbox_address(jetstream->bus, publication->mailbox, reply);
    const enum bus_send sent =
        bus_publish_text(jetstream->bus, subject, reply, text, publication->headers_bytes);
    if (sent != BUS_SENT) {
        return sent;
    }
    publication->deadline_ms =
        reactor_now_ms(jetstream->reactor) + jetstream->options.ack_timeout_ms;
    publication->unknown_count++;
    publication->place = JETSTREAM_IN_FLIGHT;
    publication->next = &window->in_flight;
    publication->previous = window->in_flight.previous;
    publication->previous->next = publication;
    window->in_flight.previous = publication;
    if (!window->deadline.is_armed) {
        reactor_timer_set(jetstream->reactor, &window->deadline, jetstream->options.ack_timeout_ms);
    }
    jetstream_flow_note_sent(publication);
    return BUS_SENT;
}

/* Returns: whether there was memory for it, and its headers can be. */
static bool write_text(struct jetstream_publication *publication,
                       const struct jetstream_message *message) {
    struct parley_buffer *text = &publication->text;
    const size_t subject_size = strlen(message->subject) + 1;
    const size_t headers_bytes = bus_headers_bytes(message->headers, message->header_count);
    parley_buffer_clear(text); /* it may have memory of the one before */
    if (!parley_buffer_reserve(text, subject_size + headers_bytes + message->payload.length)) {
        return false;
    }
    parley_buffer_append(text, (struct parley_bytes){message->subject, subject_size});
    publication->subject_size = subject_size;
    publication->headers_bytes = headers_bytes;
    if (headers_bytes > 0 && !bus_headers_write(text, message->headers, message->header_count)) {
        return false;
    }
    parley_buffer_append(text, message->payload);
    return true;
}

/* How long JetStream recognises the message if it is published again: by its id, half of the window
 * to be on the safe side; or always, if it is refused once its subject has a message. */
static int64_t repeatable_ms(const struct jetstream *jetstream, const struct jetstream_flow *flow,
                             const struct jetstream_message *message) {
    for (size_t i = 0; flow != NULL && i < message->header_count; i++) {
        const char *name = message->headers[i].name;
        if (strcmp(name, "Nats-Msg-Id") == 0) {
            const size_t stream = (size_t)(flow - jetstream->patience.flows);
            return jetstream_group_dedupe_window_ms(&jetstream->setup.groups[stream]) / 2;
        }
        if (strcmp(name, "Nats-Expected-Last-Subject-Sequence") == 0) {
            return INT64_MAX / 2;
        }
    }
    return 0;
}

static void give_times(struct jetstream_publication *publication,
                       const struct jetstream_message *message) {
    const struct jetstream *jetstream = publication->jetstream;
    const struct jetstream_flow *flow = publication->flow;
    const int64_t now_ms = reactor_now_ms(jetstream->reactor);
    const bool is_patient = flow != NULL && jetstream_flow_is_patient(flow);
    const int64_t within_ms = message->within_ms > 0 ? message->within_ms : INT64_MAX / 2;
    const int64_t patience_ms = is_patient ? jetstream->options.patience_ms : 0;
    const int64_t repeated_ms = repeatable_ms(jetstream, flow, message);
    publication->patient_until_ms = now_ms + (patience_ms < within_ms ? patience_ms : within_ms);
    publication->stored_before = flow != NULL ? flow->last_sequence : 0;
    publication->outage_count = flow != NULL ? flow->outage_count : 0;
    publication->repeatable_until_ms = now_ms + (repeated_ms < within_ms ? repeated_ms : within_ms);
}

/* Returns: NULL without memory. */
static struct jetstream_publication *create_publication(struct jetstream *jetstream,
                                                        struct jetstream_flow *flow,
                                                        const struct jetstream_message *message) {
    struct jetstream_window *window = &jetstream->window;
    struct jetstream_publication *publication = allocate_publication(window);
    *publication = (struct jetstream_publication){.jetstream = jetstream,
                                                  .flow = flow,
                                                  .sender = message->sender,
                                                  .text = publication->text,
                                                  .subject_hash = hash_subject(message->subject),
                                                  .number = ++window->published_count};
    if (!write_text(publication, message) ||
        bus_mailbox_open(jetstream->bus, on_ack, publication, &publication->mailbox) != PARLEY_OK) {
        free_publication(window, publication);
        return NULL;
    }
    if (message->sender != NULL) {
        publication->sender_number = ++message->sender->published_count;
    }
    give_times(publication, message);
    window->count++;
    window->bytes += bytes_of(publication);
    return publication;
}

/* It was not published, and `done` is not called. */
static void destroy_publication(struct jetstream_publication *publication) {
    struct jetstream *jetstream = publication->jetstream;
    jetstream->window.count--;
    jetstream->window.bytes -= bytes_of(publication);
    bus_mailbox_close(jetstream->bus, publication->mailbox);
    free_publication(&jetstream->window, publication);
}

static enum jetstream_publish send_or_wait(struct jetstream_publication *publication, bool waits) {
    const size_t bytes_max = bus_max_payload_bytes(publication->jetstream->bus);
    const bool is_too_large = waits && bytes_max > 0 && bytes_of(publication) > bytes_max;
    enum bus_send sent = is_too_large ? BUS_TOO_LARGE
                         : waits      ? BUS_AWAY
                                      : jetstream_publication_send(publication);
    if (sent == BUS_AWAY && publication->flow != NULL &&
        jetstream_flow_is_patient(publication->flow)) {
        jetstream_flow_add(publication);
        return JETSTREAM_PUBLISHED;
    }
    static const enum jetstream_publish outcomes[] = {[BUS_SENT] = JETSTREAM_PUBLISHED,
                                                      [BUS_AWAY] = JETSTREAM_AWAY,
                                                      [BUS_FULL] = JETSTREAM_FULL,
                                                      [BUS_TOO_LARGE] = JETSTREAM_TOO_LARGE,
                                                      [BUS_FAILED] = JETSTREAM_FAILED};
    if (sent != BUS_SENT) {
        destroy_publication(publication);
    }
    return outcomes[sent];
}

static enum jetstream_publish publish(struct jetstream *jetstream,
                                      const struct jetstream_message *message, bool is_full,
                                      jetstream_ack_fn *done, void *context) {
    struct jetstream_flow *flow = jetstream_flow_of(jetstream, message->subject);
    const bool can_publish = jetstream_can_publish(jetstream);
    const bool waits = flow != NULL && (!can_publish || jetstream_flow_is_held(flow)) &&
                       jetstream_flow_is_patient(flow);
    if (!can_publish && !waits) {
        return JETSTREAM_AWAY;
    }
    if (is_barred(jetstream, message->subject)) {
        return JETSTREAM_BARRED;
    }
    if (is_full) {
        note_bound(jetstream, message->share);
        return JETSTREAM_FULL;
    }
    struct jetstream_publication *publication = create_publication(jetstream, flow, message);
    if (publication == NULL) {
        return JETSTREAM_FAILED;
    }
    publication->done = done;
    publication->context = context;
    return send_or_wait(publication, waits);
}

enum jetstream_publish jetstream_publish(struct jetstream *jetstream,
                                         const struct jetstream_message *message,
                                         jetstream_ack_fn *done, void *context) {
    return publish(jetstream, message, !has_room(jetstream, message->share), done, context);
}

/* The first message took a place below the limit, so the second exceeds it by one at most. */
enum jetstream_publish jetstream_publish_second(struct jetstream *jetstream,
                                                const struct jetstream_message *message,
                                                jetstream_ack_fn *done, void *context) {
    const bool is_full = jetstream->window.count > jetstream->options.in_flight_count_max;
    return publish(jetstream, message, is_full, done, context);
}

size_t jetstream_in_flight_count(const struct jetstream *jetstream) {
    return jetstream->window.count;
}

/* ---- waiting for room ---- */

static void remove_waiter(struct jetstream_window *window, struct jetstream_waiter *waiter) {
    waiter->previous->next = waiter->next;
    waiter->next->previous = waiter->previous;
    waiter->is_waiting = false;
    window->waiter_count--;
}

static bool can_go_on(const struct jetstream *jetstream, const struct jetstream_waiter *waiter) {
    return has_room(jetstream, waiter->share) || !jetstream_is_accepting(jetstream);
}

static bool can_any_go_on(const struct jetstream *jetstream) {
    const struct jetstream_waiter *end = &jetstream->window.waiters, *at = end->next;
    while (at != end && !can_go_on(jetstream, at)) {
        at = at->next;
    }
    return at != end;
}

void jetstream_wait_for_room(struct jetstream *jetstream, struct jetstream_waiter *waiter) {
    struct jetstream_window *window = &jetstream->window;
    if (waiter->is_waiting) {
        return;
    }
    waiter->next = &window->waiters;
    waiter->previous = window->waiters.previous;
    waiter->previous->next = waiter;
    window->waiters.previous = waiter;
    waiter->is_waiting = true;
    window->waiter_count++;
    if (can_go_on(jetstream, waiter)) {
        note_room(jetstream);
    } else if (!window->room.is_armed) {
        reactor_timer_set(jetstream->reactor, &window->room, ROOM_POLL_MS);
    }
}

void jetstream_wait_cancel(struct jetstream *jetstream, struct jetstream_waiter *waiter) {
    if (waiter->is_waiting) {
        remove_waiter(&jetstream->window, waiter);
    }
}

/* Wakes those for which there is room, in the order in which they came; one that starts to wait
 * again is at the end of the list, and woken in a later turn. */
static void on_room(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, window.room);
    struct jetstream_window *window = &jetstream->window;
    struct jetstream_waiter *next = window->waiters.next;
    for (size_t left = window->waiter_count; left > 0; left--) {
        struct jetstream_waiter *waiter = next;
        next = waiter->next;
        if (can_go_on(jetstream, waiter)) {
            remove_waiter(window, waiter);
            waiter->room(waiter);
        }
    }
    if (window->waiter_count > 0) {
        reactor_timer_set(jetstream->reactor, timer, can_any_go_on(jetstream) ? 0 : ROOM_POLL_MS);
    }
}

/* ---- creation ---- */

enum parley_status jetstream_publisher_init(struct jetstream *jetstream) {
    struct jetstream_window *window = &jetstream->window;
    window->in_flight.next = window->in_flight.previous = &window->in_flight;
    window->waiters.next = window->waiters.previous = &window->waiters;
    window->deadline.fire = on_deadline;
    window->room.fire = on_room;
    jetstream_undecided_init(jetstream);
    window->pool = calloc(jetstream->options.in_flight_count_max + 1, sizeof *window->pool);
    return window->pool != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

void jetstream_publisher_finish(struct jetstream *jetstream) {
    reactor_timer_clear(jetstream->reactor, &jetstream->window.deadline);
    reactor_timer_clear(jetstream->reactor, &jetstream->window.room);
    jetstream_undecided_finish(jetstream);
    for (size_t i = 0; i < jetstream->window.pool_used; i++) {
        parley_buffer_finish(&jetstream->window.pool[i].text);
    }
    free(jetstream->window.pool);
    jetstream->window.pool = NULL;
    jetstream->window.pool_used = 0;
}

void jetstream_publisher_lose_all(struct jetstream *jetstream) {
    struct jetstream_publication *first = &jetstream->window.in_flight;
    jetstream_away_queue_begin(jetstream);
    while (first->next != first) {
        jetstream_publication_complete(first->next,
                                       &(struct jetstream_ack){.outcome = JETSTREAM_LOST});
    }
    note_room(jetstream);
}

void jetstream_give_up(struct jetstream *jetstream) {
    struct jetstream_publication *first = &jetstream->window.in_flight;
    jetstream_away_queue_give_up(jetstream);
    while (first->next != first) {
        jetstream_publication_complete(first->next,
                                       &(struct jetstream_ack){.outcome = JETSTREAM_TIMEOUT});
    }
    note_room(jetstream);
}
