/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_publisher.h. Each publication owns a mailbox. All deadlines are equally far away,
 * so the list of publications is in the order of their deadlines, and one timer serves them all.
 * Nothing is ever sent twice: that is the client's decision. */

#include "jetstream_publisher.h"

#include "jetstream_ack.h"
#include "jetstream_state.h"
#include "jetstream_trouble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM_POLL_MS = 50, /* while the bus itself is full, which has no event for its end */
};

/* ---- the window ---- */

static bool has_room(const struct jetstream *jetstream) {
    const struct jetstream_window *window = &jetstream->window;
    /* One message may exceed the bytes: otherwise a large one could starve among small ones. */
    return window->count < jetstream->options.in_flight_count_max &&
           window->bytes < jetstream->options.in_flight_bytes_max && bus_has_room(jetstream->bus);
}

static struct jetstream_publication *allocate_publication(struct jetstream_window *window) {
    struct jetstream_publication *publication = window->free;
    if (publication != NULL) {
        window->free = publication->next;
        return publication;
    }
    return &window->pool[window->pool_used++];
}

static void free_publication(struct jetstream_window *window,
                             struct jetstream_publication *publication) {
    publication->next = window->free;
    window->free = publication;
}

static void note_room(struct jetstream *jetstream) {
    struct jetstream_window *window = &jetstream->window;
    if (window->waiter_count > 0 &&
        (!window->room.is_armed || window->room.due_ms > reactor_now_ms(jetstream->reactor))) {
        reactor_timer_set(jetstream->reactor, &window->room, 0);
    }
}

static void complete(struct jetstream_publication *publication, const struct jetstream_ack *ack) {
    struct jetstream *jetstream = publication->jetstream;
    struct jetstream_window *window = &jetstream->window;
    jetstream_ack_fn *done = publication->done;
    void *context = publication->context;
    publication->previous->next = publication->next;
    publication->next->previous = publication->previous;
    window->count--;
    window->bytes -= publication->bytes;
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
        complete(first->next, &(struct jetstream_ack){.outcome = JETSTREAM_TIMEOUT});
    }
    if (first->next != first) {
        reactor_timer_set(jetstream->reactor, timer, first->next->deadline_ms - now_ms);
    }
}

/* ---- what the server forbids ---- */

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

/* The server sends no ack for a message that it does not permit. What `done` publishes meanwhile is
 * at the end of the list, after those that are looked at. */
void jetstream_publisher_refuse(struct jetstream *jetstream, const char *subject) {
    const uint64_t hash = hash_subject(subject);
    char error[JETSTREAM_SUBJECT_MAX];
    snprintf(error, sizeof error, "NATS does not permit this user to publish to %.256s", subject);
    struct jetstream_publication *next = jetstream->window.in_flight.next;
    for (size_t left = jetstream->window.count; left > 0; left--) {
        struct jetstream_publication *publication = next;
        next = publication->next;
        if (publication->subject_hash == hash) {
            complete(publication,
                     &(struct jetstream_ack){.outcome = JETSTREAM_REFUSED, .error = error});
        }
    }
}

/* ---- acks ---- */

static bool is_out_of_storage(int code) {
    return code == JETSTREAM_E_INSUFFICIENT_RESOURCES || code == JETSTREAM_E_STORAGE_RESOURCES ||
           code == JETSTREAM_E_ACCOUNT_RESOURCES || code == JETSTREAM_E_STORE_FAILED ||
           code == JETSTREAM_E_MEMORY_RESOURCES;
}

/* `stream`: the one that refused it, or NULL. */
static void complete_refused(struct jetstream_publication *publication, int code, const char *error,
                             const char *stream) {
    struct jetstream *jetstream = publication->jetstream;
    if (is_out_of_storage(code)) {
        jetstream_refusal_note(jetstream, stream != NULL ? stream : "", code, error);
    } else if (code == JETSTREAM_NO_RESPONDERS || code == JETSTREAM_E_SEALED) {
        jetstream_recheck(jetstream);
    } else {
        jetstream_note_good(jetstream);
    }
    complete(publication, &(struct jetstream_ack){
                              .outcome = JETSTREAM_REFUSED, .error_code = code, .error = error});
}

static void on_ack(void *context, const struct bus_message *message) {
    struct jetstream_publication *publication = context;
    struct jetstream_ack_texts texts;
    struct jetstream_ack ack;
    if (jetstream_ack_read(message->payload, &texts, &ack)) {
        if (ack.outcome == JETSTREAM_REFUSED) {
            complete_refused(publication, ack.error_code, ack.error, ack.stream);
            return;
        }
        if (ack.outcome == JETSTREAM_STORED) {
            jetstream_note_good(publication->jetstream);
        }
        complete(publication, &ack);
    } else if (bus_message_status(message) == JETSTREAM_NO_RESPONDERS) {
        complete_refused(publication, JETSTREAM_NO_RESPONDERS,
                         "no stream listens on this subject: its stream is missing and is being "
                         "created again, or has no leader at present",
                         NULL);
    }
    /* Else it is not an ack but the answer of another subscriber. The ack may still come. */
}

/* Costs one comparison in the usual case. */
static bool is_barred(struct jetstream *jetstream, const char *subject) {
    return jetstream->setup.unusable_count > 0 && jetstream_is_barred(jetstream, subject);
}

static enum jetstream_publish publish(struct jetstream *jetstream, const char *subject,
                                      const struct bus_header *headers, size_t header_count,
                                      struct parley_bytes payload, jetstream_ack_fn *done,
                                      void *context) {
    struct jetstream_window *window = &jetstream->window;
    struct jetstream_publication *publication = allocate_publication(window);
    if (bus_mailbox_open(jetstream->bus, on_ack, publication, &publication->mailbox) != PARLEY_OK) {
        free_publication(window, publication);
        return JETSTREAM_FAILED;
    }
    char reply[BUS_SUBJECT_MAX];
    bus_mailbox_address(jetstream->bus, publication->mailbox, reply);
    enum bus_send sent =
        bus_publish(jetstream->bus, subject, reply, headers, header_count, payload);
    if (sent != BUS_SENT) {
        bus_mailbox_close(jetstream->bus, publication->mailbox);
        free_publication(window, publication);
        static const enum jetstream_publish outcomes[] = {[BUS_AWAY] = JETSTREAM_AWAY,
                                                          [BUS_FULL] = JETSTREAM_FULL,
                                                          [BUS_TOO_LARGE] = JETSTREAM_TOO_LARGE,
                                                          [BUS_FAILED] = JETSTREAM_FAILED};
        return outcomes[sent];
    }
    publication->jetstream = jetstream;
    publication->subject_hash = hash_subject(subject);
    publication->done = done;
    publication->context = context;
    publication->bytes = payload.length + bus_headers_bytes(headers, header_count);
    publication->deadline_ms =
        reactor_now_ms(jetstream->reactor) + jetstream->options.ack_timeout_ms;
    publication->next = &window->in_flight;
    publication->previous = window->in_flight.previous;
    publication->previous->next = publication;
    window->in_flight.previous = publication;
    window->count++;
    window->bytes += publication->bytes;
    if (!window->deadline.is_armed) {
        reactor_timer_set(jetstream->reactor, &window->deadline, jetstream->options.ack_timeout_ms);
    }
    return JETSTREAM_PUBLISHED;
}

enum jetstream_publish jetstream_publish(struct jetstream *jetstream, const char *subject,
                                         const struct bus_header *headers, size_t header_count,
                                         struct parley_bytes payload, jetstream_ack_fn *done,
                                         void *context) {
    if (!jetstream_can_publish(jetstream)) {
        return JETSTREAM_AWAY;
    }
    if (is_barred(jetstream, subject)) {
        return JETSTREAM_BARRED;
    }
    if (!has_room(jetstream)) {
        return JETSTREAM_FULL;
    }
    return publish(jetstream, subject, headers, header_count, payload, done, context);
}

/* The first message took a place below the limit, so the second exceeds it by one at most. */
enum jetstream_publish jetstream_publish_second(struct jetstream *jetstream, const char *subject,
                                                const struct bus_header *headers,
                                                size_t header_count, struct parley_bytes payload,
                                                jetstream_ack_fn *done, void *context) {
    if (!jetstream_can_publish(jetstream)) {
        return JETSTREAM_AWAY;
    }
    if (is_barred(jetstream, subject)) {
        return JETSTREAM_BARRED;
    }
    if (jetstream->window.count > jetstream->options.in_flight_count_max) {
        return JETSTREAM_FULL;
    }
    return publish(jetstream, subject, headers, header_count, payload, done, context);
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
    if (!jetstream->is_ready || has_room(jetstream)) {
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

/* Wakes as many waiters as there is room for, in the order in which they came; one that waits again
 * meanwhile is woken in a later turn. */
static void on_room(struct reactor_timer *timer) {
    struct jetstream *jetstream = OWNER_OF(timer, struct jetstream, window.room);
    struct jetstream_window *window = &jetstream->window;
    size_t left = window->waiter_count;
    if (jetstream->is_ready) {
        size_t free_count =
            has_room(jetstream) ? jetstream->options.in_flight_count_max - window->count : 0;
        left = left < free_count ? left : free_count;
    }
    for (; left > 0 && window->waiter_count > 0; left--) {
        struct jetstream_waiter *waiter = window->waiters.next;
        remove_waiter(window, waiter);
        waiter->room(waiter);
    }
    if (window->waiter_count > 0) {
        bool has_more = !jetstream->is_ready || has_room(jetstream);
        reactor_timer_set(jetstream->reactor, timer, has_more ? 0 : ROOM_POLL_MS);
    }
}

/* ---- creation ---- */

enum parley_status jetstream_publisher_init(struct jetstream *jetstream) {
    struct jetstream_window *window = &jetstream->window;
    window->in_flight.next = window->in_flight.previous = &window->in_flight;
    window->waiters.next = window->waiters.previous = &window->waiters;
    window->deadline.fire = on_deadline;
    window->room.fire = on_room;
    window->pool = calloc(jetstream->options.in_flight_count_max + 1, sizeof *window->pool);
    return window->pool != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

void jetstream_publisher_finish(struct jetstream *jetstream) {
    reactor_timer_clear(jetstream->reactor, &jetstream->window.deadline);
    reactor_timer_clear(jetstream->reactor, &jetstream->window.room);
    free(jetstream->window.pool);
    jetstream->window.pool = NULL;
}

void jetstream_publisher_lose_all(struct jetstream *jetstream) {
    struct jetstream_publication *first = &jetstream->window.in_flight;
    while (first->next != first) {
        complete(first->next, &(struct jetstream_ack){.outcome = JETSTREAM_LOST});
    }
    note_room(jetstream);
}
