/* SPDX-License-Identifier: Apache-2.0 */

/* Rounds over all readers, in slices: verifying a JSON Web Token again takes as long as some
 * messages do, and there can be thousands of readers. One that was looked at goes to the end of the
 * queue, so that a round ends when the first one is of this round. */

#include "stream_access.h"

#include <string.h>
#include <time.h>

enum {
    LOOKS_A_TURN = 64,
    PAUSE_MAX_S = 60, /* between rounds while anything expires: the wall clock may be set */
};

static uint64_t bits_of_protocols(void) {
    return (UINT64_C(1) << parley_protocol_count()) - 1;
}

/* Bit I: who has `scopes` may read hubs[I]: those of the protocols, and after them that of what
 * was refused. */
static uint64_t readable(const struct scopes *scopes) {
    const uint64_t protocols = bits_of_protocols();
    return (scopes->read & protocols) | (scopes->admin ? ~protocols : 0);
}

/* Private messages are left out of a stream as decided at its beginning. Nothing is left out of
 * refused messages. */
static bool is_bound_as_before(const struct stream_access *access,
                               const struct stream_access_entry *entry) {
    const char *before = entry->agent;
    const char *now =
        principal_agent(guard_principal(entry->request), access->configuration->bind_sender);
    return (entry->reads & bits_of_protocols()) == 0 ||
           (before == NULL || now == NULL ? before == now : strcmp(before, now) == 0);
}

static const char *objection(const struct stream_access *access,
                             const struct stream_access_entry *entry) {
    const char *reason = guard_objection(access->guard, entry->request);
    if (reason != NULL) {
        return reason;
    }
    const struct scopes *scopes = &guard_principal(entry->request)->scopes;
    return (entry->reads & ~readable(scopes)) != 0 ? "scope-missing"
           : !is_bound_as_before(access, entry)    ? "binding-changed"
                                                   : NULL;
}

static void look_at(struct stream_access *access, struct stream_access_entry *entry) {
    const char *reason = objection(access, entry);
    entry->round = access->round;
    if (reason != NULL) {
        entry->end(entry, reason);
        return;
    }
    const int64_t expires_at = guard_expires_at(entry->request);
    if (expires_at < access->expires_at) {
        access->expires_at = expires_at;
    }
}

static bool is_round_over(const struct stream_access *access) {
    const struct stream_access_entry *first = TAILQ_FIRST(&access->entries);
    return first == NULL || first->round == access->round;
}

static void begin_round(struct stream_access *access) {
    access->round++;
    access->expires_at = INT64_MAX;
}

static int64_t pause_ms(const struct stream_access *access) {
    const int64_t pause_s = access->expires_at - (int64_t)time(NULL);
    return 1000 * (pause_s < 1 ? 1 : pause_s > PAUSE_MAX_S ? PAUSE_MAX_S : pause_s);
}

static void set_timer(struct stream_access *access) {
    if (!is_round_over(access)) {
        reactor_timer_set(access->reactor, &access->timer, 0);
    } else if (access->expires_at != INT64_MAX) {
        reactor_timer_set(access->reactor, &access->timer, pause_ms(access));
    }
}

static void timer_fired(struct reactor_timer *timer) {
    struct stream_access *access = OWNER_OF(timer, struct stream_access, timer);
    if (is_round_over(access)) {
        begin_round(access);
    }
    for (size_t i = 0; i < LOOKS_A_TURN && !is_round_over(access); i++) {
        struct stream_access_entry *entry = TAILQ_FIRST(&access->entries);
        TAILQ_REMOVE(&access->entries, entry, link);
        TAILQ_INSERT_TAIL(&access->entries, entry, link);
        look_at(access, entry);
    }
    set_timer(access);
}

void stream_access_init(struct stream_access *access, struct reactor *reactor,
                        const struct guard *guard, const struct configuration *configuration) {
    *access = (struct stream_access){.reactor = reactor,
                                     .guard = guard,
                                     .configuration = configuration,
                                     .round = 1,
                                     .expires_at = INT64_MAX,
                                     .timer.fire = timer_fired};
    TAILQ_INIT(&access->entries);
}

void stream_access_finish(struct stream_access *access) {
    reactor_timer_clear(access->reactor, &access->timer);
}

/* The sooner it expires, the sooner the next round. */
void stream_access_add(struct stream_access *access, struct stream_access_entry *entry) {
    if (access->guard == NULL) {
        return;
    }
    const int64_t expires_at = access->expires_at;
    TAILQ_INSERT_TAIL(&access->entries, entry, link);
    look_at(access, entry);
    if (access->expires_at != expires_at) {
        set_timer(access);
    }
}

void stream_access_remove(struct stream_access *access, struct stream_access_entry *entry) {
    if (entry->round != 0) {
        TAILQ_REMOVE(&access->entries, entry, link);
        entry->round = 0;
    }
}

void stream_access_changed(struct stream_access *access) {
    begin_round(access);
    set_timer(access);
}
