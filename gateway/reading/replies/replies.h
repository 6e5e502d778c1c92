/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The replies that senders wait for (`Prefer: wait`), on one reactor. A message may be answered by
 * a fact (parley_route.answer_key): a key of its protocol's bucket, which names the message that is
 * the reply. It is looked for in two ways, so that none is missed: an ordered reading of the
 * bucket, begun before the message is published and open while any sender waits; and the key
 * itself, asked for once the message is stored, whenever that reading begins again, and every few
 * seconds.
 *
 * Everything is called on the reactor's thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <parley/bytes.h>
#include <parley/message.h>
#include <parley/tasks.h>

#include "channel.h"
#include "fact_place.h"
#include "jetstream.h"
#include "waiters.h"

struct replies;
struct reply_source;

/* At once, on one reactor. */
#define REPLIES_MAX 256

/* `schemas`, `channels`: of parley_protocols.  Owns: borrows all; returns a new one, to be
 * destroyed once the reactor has stopped, before the jetstream. */
enum parley_status replies_create(struct reactor *reactor, struct jetstream *jetstream,
                                  struct parley_schema *const *schemas,
                                  const struct channel *channels,
                                  struct replies **out) PARLEY_MUST_CHECK;
/* No request may be waiting. NULL is allowed. */
void replies_destroy(struct replies *replies);

/*  NONE ──enter──▶ EXPECTED ──begin──▶ ASKING ◀──every few seconds── WATCHING
 *                     │                   │  └──the key has no value──▶ │
 *                     │                   ▼                             │
 *                     └──known ─────▶ FETCHING ◀───the key is written───┘
 *                                         └──▶ NONE, and `over`
 *
 * From each of them: time up, drain ──▶ NONE, and `over`; leave ──▶ NONE. From ASKING and WATCHING:
 * the work has lapsed (reply_lapse.c) ──▶ NONE, and `over`.
 */
enum reply_phase {
    REPLY_NONE,
    REPLY_EXPECTED, /* the message is not stored yet */
    REPLY_ASKING,   /* for the key */
    REPLY_WATCHING,
    REPLY_FETCHING, /* the message that the key names */
};

enum reply_end {
    REPLY_CAME,
    REPLY_MISSING, /* none has come in time, or it cannot be read */
    REPLY_LAPSED,  /* none will come: the work was not claimed by its deadline */
};

/* One that waits.  Owns: the caller embeds it, zeroed but for `over`, and calls reply_leave before
 * it frees it. */
struct reply_wait {
    /* `event`: the reply that came, as streams show it. It is NONE again, and may be freed; not
     * called before reply_begin. */
    void (*over)(struct reply_wait *wait, enum reply_end end, struct parley_bytes event);

    /* Private. */
    enum reply_phase phase;
    bool is_late; /* its time was up before it began */
    struct waiter place;
    struct reply_source *source;
    struct jetstream_request *request; /* under way; NULL for none */
    char *key;
    struct fact_place reply; /* its sequence is 0: not known */
    struct {
        enum parley_task_fact fact;        /* which is asked for next … */
        int64_t due_ms;                    /* … at this time, Unix time; INT64_MAX: none is */
        struct jetstream_request *request; /* under way; NULL for none */
    } lapse;
    LIST_ENTRY(reply_wait) links;
};

/* Called before the message is published. `key`: the one that answers it.  Returns: false: that
 * cannot be waited for, or too many wait already: it stays NONE.  Owns: copies the key. */
bool reply_enter(struct replies *replies, struct reply_wait *wait,
                 const struct parley_protocol *protocol, struct parley_bytes key,
                 int64_t wait_ms) PARLEY_MUST_CHECK;
/* The message is stored, now or before.  Returns: whether `over` follows, in a later turn; false:
 * its time was up by then, and it is NONE. */
bool reply_begin(struct reply_wait *wait) PARLEY_MUST_CHECK;
/* Ends the wait. Harmless when it is NONE. */
void reply_leave(struct reply_wait *wait);

/* Ends all waits; none begins from now on. */
void replies_drain(struct replies *replies);
size_t replies_count(const struct replies *replies);
