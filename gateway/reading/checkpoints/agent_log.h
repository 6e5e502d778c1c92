/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The log of an agent, from a sequence of the stream up to what its leader held when the reading
 * began, in the order of storage. Each kind of log is a subject of its own, and is read with a
 * consumer of its own; the entries of all are merged. */

#include <sys/queue.h>

#include "ordered_consumer.h"
#include "log_gaps.h"
#include "checkpoint_scope.h"

struct agent_log_events {
    /* Entries, each with a comma in front.  Owns: borrowed for the call.
     * Returns: NULL, or why they cannot be taken (half a sentence): `ended` follows with it. */
    const char *(*entries)(void *context, struct parley_bytes text);
    /* Whether no entries are wanted now; agent_log_go_on follows. */
    bool (*is_full)(void *context);
    /* All were given, or (`error`: half a sentence) that cannot be. Called once. */
    void (*ended)(void *context, const char *error);
    void *context;
};

struct agent_log;

struct agent_log_item {
    STAILQ_ENTRY(agent_log_item) link;
    uint64_t sequence;
    struct parley_buffer text, runs; /* of its entries, and of their numbers */
};

struct agent_log_feed {
    struct agent_log *log;
    char subject[CHECKPOINT_SUBJECT_MAX];
    uint64_t first, last; /* to be read, as the leader says; 0 if it is not known */
    struct jetstream_request *request;
    struct ordered_consumer *consumer;
    bool has_begun; /* the first one came */
    bool is_over;   /* nothing more comes into the queue */
    bool is_idle;   /* nothing of the last pull is still to come */
    STAILQ_HEAD(, agent_log_item) queue;
};

struct agent_log {
    const struct checkpoint_scope *scope;
    const struct parley_checkpoint *after;
    uint64_t start;
    struct parley_message *message; /* to check entries with */
    size_t bytes_max;               /* of messages; more of them end it with an error. 0: none */
    struct agent_log_events events;
    struct log_gaps holes; /* of the entries given; read it once all are */

    /* Private. */
    size_t feed_count, unknown_count; /* whose last message is not known so far */
    size_t bytes;                     /* of the messages that came */
    bool is_ended, is_giving;
    struct agent_log_feed feeds[PARLEY_RESTORE_LOGS_MAX];
};

/* Owns: the caller embeds it, sets the members that are not private, and closes it. */
void agent_log_open(struct agent_log *log);
void agent_log_go_on(struct agent_log *log);
/* Not from `entries` and `is_full`. Harmless before agent_log_open, and a second time. */
void agent_log_close(struct agent_log *log);
