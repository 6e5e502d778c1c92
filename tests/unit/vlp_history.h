/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Generated histories of VLP messages that support, answer and correct each other, some under one
 * id; and what a plain reading says that they mean. */

#include <stdbool.h>
#include <stdint.h>

enum {
    VLP,
    MESSAGES = 40,
    REFERENCES = 3,
    HISTORIES = 30,
    IDS = 10,
    SESSIONS = 3,
    SENDERS = 3,
    NONE = -1
};

enum said_type { CLAIM, EVIDENCE, QUERY, RESPONSE, CORRECTION, NOTICE, CONTEXT, SAID_TYPES };
enum said_lane { SAFE, REVIEW, BLOCK, SAID_LANES };
extern const char *const said_types[], *const said_lanes[];

struct said {
    int id, sender, session; /* session 0: it has none */
    int references[REFERENCES], reference_count;
    enum said_type type;
    enum said_lane lane;
    bool is_bare; /* it names no source; evidence always does */
};

/* Of the first `types`. */
void history_make(struct said said[MESSAGES], unsigned seed, enum said_type types);
/* Stores a message, whose ids begin with the number of the history. Sessions are "HISTORY-1",
 * senders "A1". */
void history_store(int history, const struct said *said);

/* For cmocka: opens and closes an index (index_fixture.h) for them. */
int history_set_up(void **state);
int history_tear_down(void **state);
/* Makes a history and stores it.  Returns: the sequence of its first message. */
uint64_t history_begin(int history, struct said said[MESSAGES], enum said_type types);

/* Which of the messages the one with the number `from` means by an id: of those that bear it one of
 * its session, else its sender's, else any; the newest before it.  Returns: NONE. */
int history_meant(const struct said *said, int from, int id);
bool history_refers(const struct said *said, int from, int to);
bool history_is_kin(const struct said *one, const struct said *other);
