/* SPDX-License-Identifier: Apache-2.0 */

/* Those that wait, and where they are in reply_phase. What reads the bucket and fetches replies for
 * them is in reply_source.c. */

#include "replies.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "reply_source.h"

struct replies {
    struct waiters *waiters;
    struct reply_source *sources; /* one per protocol */
    size_t count;
};

static void forget(struct reply_wait *wait) {
    jetstream_request_cancel(wait->request);
    jetstream_request_cancel(wait->lapse.request);
    reply_source_remove(wait->source, wait);
    waiter_leave(&wait->place);
    free(wait->key);
    wait->key = NULL;
    wait->request = wait->lapse.request = NULL;
    wait->phase = REPLY_NONE;
}

void reply_finish(struct reply_wait *wait, enum reply_end end, struct parley_bytes event) {
    forget(wait);
    wait->over(wait, end, event);
}

/* One that has not begun is told when it does: its message is being published. */
static void on_place_over(struct waiter *place, enum waiter_end end) {
    struct reply_wait *wait = OWNER_OF(place, struct reply_wait, place);
    (void)end;
    if (wait->phase == REPLY_EXPECTED) {
        wait->is_late = true;
    } else {
        reply_finish(wait, REPLY_MISSING, (struct parley_bytes){0});
    }
}

bool reply_enter(struct replies *replies, struct reply_wait *wait,
                 const struct parley_protocol *protocol, struct parley_bytes key, int64_t wait_ms) {
    assert(wait->phase == REPLY_NONE);
    size_t number = 0;
    while (number < replies->count && parley_protocols[number] != protocol) {
        number++;
    }
    if (number == replies->count || !reply_source_is_usable(&replies->sources[number])) {
        return false;
    }
    wait->key = parley_bytes_copy(key);
    wait->place = (struct waiter){.over = on_place_over};
    if (wait->key == NULL || !waiters_enter(replies->waiters, &wait->place, wait_ms)) {
        free(wait->key);
        wait->key = NULL;
        return false;
    }
    wait->source = &replies->sources[number];
    wait->phase = REPLY_EXPECTED;
    wait->is_late = false;
    wait->request = NULL;
    wait->reply.sequence = 0;
    wait->lapse.due_ms = INT64_MAX;
    wait->lapse.request = NULL;
    reply_source_add(wait->source, wait);
    return true;
}

bool reply_begin(struct reply_wait *wait) {
    assert(wait->phase == REPLY_EXPECTED);
    if (wait->is_late) {
        forget(wait);
        return false;
    }
    if (wait->reply.sequence > 0) {
        reply_source_fetch(wait->source, wait);
    } else {
        reply_source_ask(wait->source, wait);
        reply_lapse_begin(wait);
    }
    return true;
}

void reply_leave(struct reply_wait *wait) {
    if (wait->phase != REPLY_NONE) {
        forget(wait);
    }
}

void replies_drain(struct replies *replies) {
    waiters_drain(replies->waiters);
}

size_t replies_count(const struct replies *replies) {
    return waiters_count(replies->waiters);
}

enum parley_status replies_create(struct reactor *reactor, struct jetstream *jetstream,
                                  struct parley_schema *const *schemas,
                                  const struct channel *channels, struct replies **out) {
    struct replies *replies = calloc(1, sizeof *replies);
    if (replies == NULL) {
        return PARLEY_E_MEMORY;
    }
    const size_t count = parley_protocol_count();
    enum parley_status status = waiters_create(reactor, REPLIES_MAX, &replies->waiters);
    replies->sources = calloc(count, sizeof *replies->sources);
    if (status != PARLEY_OK || replies->sources == NULL) {
        replies_destroy(replies);
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        reply_source_init(&replies->sources[i], reactor, jetstream, schemas[i], &channels[i]);
    }
    replies->count = count;
    *out = replies;
    return PARLEY_OK;
}

void replies_destroy(struct replies *replies) {
    if (replies == NULL) {
        return;
    }
    for (size_t i = 0; i < replies->count; i++) {
        reply_source_finish(&replies->sources[i]);
    }
    free(replies->sources);
    waiters_destroy(replies->waiters);
    free(replies);
}
