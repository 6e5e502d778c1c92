/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A message as an item of a list: its event without data, and what it says of itself; and what is
 * between items. It knows nothing of the file. */

#include <parley/buffer.h>

#include "index_store.h"

/* Where the next page begins: after the row that was stored then, at that place. */
struct index_cursor {
    int64_t stored, pos;
};

/* Owns: texts are borrowed, of a row until the statement's next step; data NULL: it has none. */
struct index_message {
    struct index_cursor at;
    const struct parley_protocol *protocol;
    unsigned protocol_number, type;
    struct parley_bytes lane, source, id, thread, sender, agent, time, subject, trace, members;
    int64_t size;
    bool has_more;
    bool is_waiting; /* as parley_index_entry.is_waiting */
};

#define INDEX_STREAM_SIZE 256
#define INDEX_CURSOR_SIZE 320

/* Room for texts that are cut in a row. */
struct index_room {
    char id[INDEX_DIGEST_SIZE], sender[INDEX_DIGEST_SIZE], thread[INDEX_TEXT_MAX];
};

/* As it would be read from its row.  Owns: borrows the row, and `room`. */
void index_message_of(const struct index_row *row, struct index_room *room,
                      struct index_message *out);

/* Whether who reads these protocols (bit I: parley_protocols[I]) may see it.  `own`: the only agent
 * whose private messages are shown; NULL: all are. */
bool index_message_is_visible(const struct index_message *message, uint64_t readable,
                              const char *own);

/* Appends its event without data, and without the closing brace. */
void index_message_write(struct parley_buffer *out, const char *stream,
                         const struct index_message *message);

static inline uint64_t index_sequence_of(int64_t pos) {
    return (uint64_t)pos & ((UINT64_C(1) << INDEX_SEQUENCE_BITS) - 1);
}

/* ---- lists ---- */

/* What precedes item `number`, counted from 0, and what ends it. `is_lines`: NDJSON. */
void index_list_item(struct parley_buffer *out, bool is_lines, size_t number);
void index_list_item_end(struct parley_buffer *out, bool is_lines);
/* What follows the last of `count`, up to the cursor of the next page; NULL: there is none. `list`:
 * its name (list_cursor.h). The object is not closed. */
void index_list_next(struct parley_buffer *out, bool is_lines, size_t count, const char *list,
                     const char *next);

/* The cursor TIME:SEQUENCE:STREAM. */
void index_cursor_write(int64_t stored, uint64_t sequence, const char *stream,
                        char out[INDEX_CURSOR_SIZE]);

/* ---- places ---- */

/* A message whose data is wanted. */
struct index_place_of {
    unsigned protocol; /* index into parley_protocols */
    uint64_t sequence;
    int64_t stored_ms; /* as its row says; 0: not known */
    char stream[INDEX_STREAM_SIZE];
};

/* Owns: zeroed is empty; index_places_finish frees it. */
struct index_places {
    struct index_place_of *items;
    size_t count, capacity;
    char next[INDEX_CURSOR_SIZE]; /* the cursor of the next page; "": there is none */
};

enum parley_status index_places_add(struct index_places *places,
                                    const struct index_place_of *place) PARLEY_MUST_CHECK;
void index_places_clear(struct index_places *places);
void index_places_finish(struct index_places *places);
