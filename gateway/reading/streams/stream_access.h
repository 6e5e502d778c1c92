/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether the readers of open streams may still read, and for the agent for whom they began. All of
 * them are looked at when tokens, keys or options have changed, and when the first of their tokens
 * expires; an event costs nothing. */

#include <sys/queue.h>

#include "configuration.h"
#include "guard.h"
#include "reactor.h"

/* An open response.  Owns: its reader embeds it, zeroed at first. */
struct stream_access_entry {
    struct http_request *request;
    uint64_t reads;    /* bit I: parley_protocols[I]; then refused messages */
    const char *agent; /* to whom its reader was bound at its beginning; NULL: to none */
    /* The response is to end.  `reason`: static */
    void (*end)(struct stream_access_entry *entry, const char *reason);

    /* Private. */
    TAILQ_ENTRY(stream_access_entry) link;
    uint64_t round; /* in which it was looked at; 0: it is not in the list */
};
TAILQ_HEAD(stream_access_entries, stream_access_entry);

/* Owns: the caller embeds it. */
struct stream_access {
    struct reactor *reactor;
    const struct guard *guard; /* NULL: every client may read */
    const struct configuration *configuration;
    struct stream_access_entries entries; /* those first that this round has not looked at */
    uint64_t round;
    int64_t expires_at; /* the first of those that were looked at, Unix time; INT64_MAX: none */
    struct reactor_timer timer;
};

/* Owns: borrows all of them. */
void stream_access_init(struct stream_access *access, struct reactor *reactor,
                        const struct guard *guard, const struct configuration *configuration);
void stream_access_finish(struct stream_access *access);

/* Looks after an open response from now on. One that may not be read, or no longer, is ended. */
void stream_access_add(struct stream_access *access, struct stream_access_entry *entry);
/* One that was not added is allowed. */
void stream_access_remove(struct stream_access *access, struct stream_access_entry *entry);

/* Called when the tokens or keys of the guard, or the configuration, have changed. */
void stream_access_changed(struct stream_access *access);
