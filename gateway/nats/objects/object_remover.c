/* SPDX-License-Identifier: Apache-2.0 */

/* See object_remover.h. A piece is the set of messages that a purge with a `keep` removes. An
 * object that several gateways remove at the same time is there or not: a purge that finds fewer
 * messages than it should keep does nothing. */

#include "object_remover.h"

#include <stdio.h>
#include <stdlib.h>

#include "object_layout.h"

enum {
    REMOVALS_MAX = 1024,
    PIECE_MESSAGES = 16,   /* of 128 KiB: 4 ms */
    COUNT_MAX = 64 * 1024, /* of messages that are removed in pieces; the rest is one */
    AGAIN_MS = 250,
};

struct object_removal {
    uint64_t left_count; /* after the piece that is the next */
    uint64_t last;       /* sequence, of a single piece; 0: all */
    char subject[OBJECT_SUBJECT_MAX];
    TAILQ_ENTRY(object_removal) links;
};

static uint64_t without_piece(uint64_t count) {
    return count > PIECE_MESSAGES ? count - PIECE_MESSAGES : 0;
}

static void ask(struct object_remover *remover);

static void end_first(struct object_remover *remover) {
    struct object_removal *first = TAILQ_FIRST(&remover->line);
    TAILQ_REMOVE(&remover->line, first, links);
    remover->count--;
    free(first);
}

static void on_removed(void *context, bool is_done) {
    struct object_remover *remover = context;
    struct object_removal *first = TAILQ_FIRST(&remover->line);
    remover->request = NULL;
    if (!is_done) {
        reactor_timer_set(remover->reactor, &remover->again, AGAIN_MS);
        return;
    }
    if (first->left_count > 0) {
        first->left_count = without_piece(first->left_count);
    } else {
        end_first(remover);
    }
    ask(remover);
}

static void ask(struct object_remover *remover) {
    const struct object_removal *first = TAILQ_FIRST(&remover->line);
    if (first == NULL) {
        return;
    }
    const struct jetstream_removal piece = {.subject = first->subject,
                                            .keep = first->left_count,
                                            .before = first->last > 0 ? first->last + 1 : 0};
    remover->request =
        jetstream_purge_ask(remover->jetstream, remover->stream, &piece, on_removed, remover);
    if (remover->request == NULL) {
        reactor_timer_set(remover->reactor, &remover->again, AGAIN_MS);
    }
}

static void on_again(struct reactor_timer *timer) {
    ask(OWNER_OF(timer, struct object_remover, again));
}

static void add(struct object_remover *remover, const char *subject, uint64_t left_count,
                uint64_t last) {
    struct object_removal *removal = remover->count < REMOVALS_MAX ? malloc(sizeof *removal) : NULL;
    if (removal == NULL) {
        return;
    }
    const bool is_first = TAILQ_EMPTY(&remover->line);
    removal->left_count = left_count;
    removal->last = last;
    snprintf(removal->subject, sizeof removal->subject, "%s", subject);
    TAILQ_INSERT_TAIL(&remover->line, removal, links);
    remover->count++;
    if (is_first) {
        ask(remover);
    }
}

void object_remover_add(struct object_remover *remover, const char *subject, uint64_t count) {
    add(remover, subject, without_piece(count < COUNT_MAX ? count : COUNT_MAX), 0);
}

void object_remover_add_up_to(struct object_remover *remover, const char *subject,
                              uint64_t sequence) {
    add(remover, subject, 0, sequence);
}

void object_remover_init(struct object_remover *remover, struct reactor *reactor,
                         struct jetstream *jetstream, const char *stream) {
    *remover = (struct object_remover){
        .reactor = reactor, .jetstream = jetstream, .stream = stream, .again = {.fire = on_again}};
    TAILQ_INIT(&remover->line);
}

void object_remover_finish(struct object_remover *remover) {
    jetstream_request_cancel(remover->request);
    reactor_timer_clear(remover->reactor, &remover->again);
    while (!TAILQ_EMPTY(&remover->line)) {
        end_first(remover);
    }
}
