/* SPDX-License-Identifier: Apache-2.0 */

/* See index_item.h. */

#include "index_item.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list_cursor.h"
#include "stream_envelope.h"

enum { NS_A_MS = 1000000, PLACES_FIRST = 64 };

/* ---- messages ---- */

void index_message_of(const struct index_row *row, struct index_room *room,
                      struct index_message *out) {
    static const struct parley_index_entry nothing = {.has_more = false};
    const struct parley_index_entry *entry = row->entry != NULL ? row->entry : &nothing;
    const struct parley_protocol *protocol = parley_protocols[row->protocol];
    *out = (struct index_message){
        .at = {.stored = row->stored_ms,
               .pos = (int64_t)((uint64_t)row->stream << INDEX_SEQUENCE_BITS | row->sequence)},
        .protocol = protocol,
        .protocol_number = row->protocol,
        .type = row->type,
        .lane = entry->lane,
        .source = entry->source,
        .id = index_short_text(row->id, room->id),
        .thread = index_thread_text(protocol, entry->thread, room->thread),
        .sender = index_short_text(entry->sender, room->sender),
        .agent = entry->agent,
        .time = entry->time,
        .subject = row->subject,
        .trace = row->trace,
        .members = {entry->members_length > 0 ? entry->members : NULL, entry->members_length},
        .size = (int64_t)row->size,
        .has_more = entry->has_more,
        .is_waiting = entry->is_waiting};
}

/* An unreadable one may be private, of any agent: as readers of streams see it. */
bool index_message_is_visible(const struct index_message *message, uint64_t readable,
                              const char *own) {
    const struct parley_protocol *protocol = message->protocol;
    const bool is_private = message->type == INDEX_TYPE_FOREIGN
                                ? protocol->private_types != 0
                                : (protocol->private_types >> message->type & 1) != 0;
    return (readable >> message->protocol_number & 1) != 0 &&
           (!is_private || own == NULL || parley_bytes_equal(message->agent, parley_bytes_of(own)));
}

static void write_type(struct parley_buffer *out, const struct index_message *message) {
    if (message->type == INDEX_TYPE_FOREIGN) {
        parley_buffer_text(out, ",\"type\":\"parley.foreign\"");
    } else {
        parley_buffer_format(out, ",\"type\":\"%s.%s\"", message->protocol->name,
                             message->protocol->types[message->type]);
    }
}

static void write_member(struct parley_buffer *out, const char *name, struct parley_bytes text) {
    if (text.data != NULL) {
        stream_write_member(out, name, text);
    }
}

/* A message without any id is known by its place. */
static void write_head(struct parley_buffer *out, const char *stream,
                       const struct index_message *message) {
    const uint64_t sequence = index_sequence_of(message->at.pos);
    parley_buffer_text(out, "{\"specversion\":\"1.0\"");
    if (message->id.data != NULL) {
        stream_write_member(out, ",\"id\":", message->id);
    } else {
        parley_buffer_format(out, ",\"id\":\"%s:%" PRIu64 "\"", stream, sequence);
    }
    if (message->source.data != NULL) {
        stream_write_member(out, ",\"source\":", message->source);
    } else {
        parley_buffer_format(out, ",\"source\":\"/%s\"", message->protocol->name);
    }
    write_type(out, message);
    parley_buffer_format(out, ",\"stream\":\"%s\",\"sequence\":\"%" PRIu64 "\"", stream, sequence);
}

void index_message_write(struct parley_buffer *out, const char *stream,
                         const struct index_message *message) {
    write_head(out, stream, message);
    write_member(out, ",\"subject\":", message->subject);
    if (message->time.data != NULL) {
        stream_write_member(out, ",\"time\":", message->time);
    } else {
        stream_write_time(out, ",\"time\":", message->at.stored * NS_A_MS);
    }
    write_member(out, ",\"lane\":", message->lane);
    write_member(out, ",\"thread\":", message->thread);
    write_member(out, ",\"sender\":", message->sender);
    write_member(out, ",\"agent\":", message->agent);
    write_member(out, ",\"trace\":", message->trace);
    parley_buffer_format(out, ",\"size\":%" PRId64, message->size);
    if (message->members.data != NULL) {
        parley_buffer_text(out, ",\"members\":");
        parley_buffer_append(out, message->members);
    }
    parley_buffer_text(out, message->has_more ? ",\"more\":true" : "");
}

/* ---- lists ---- */

void index_list_item(struct parley_buffer *out, bool is_lines, size_t number) {
    if (!is_lines) {
        parley_buffer_text(out, number == 0 ? "{\"items\":[" : ",");
    }
}

void index_list_item_end(struct parley_buffer *out, bool is_lines) {
    parley_buffer_text(out, is_lines ? "}\n" : "}");
}

void index_list_next(struct parley_buffer *out, bool is_lines, size_t count, const char *list,
                     const char *next) {
    if (!is_lines) {
        parley_buffer_text(out, count == 0 ? "{\"items\":[]," : "],");
    }
    parley_buffer_text(out, is_lines ? "{\"next\":" : "\"next\":");
    if (next != NULL) {
        char cursor[LIST_NAME_SIZE + INDEX_CURSOR_SIZE];
        snprintf(cursor, sizeof cursor, "%s:%s", list, next);
        parley_buffer_json(out, parley_bytes_of(cursor));
    } else {
        parley_buffer_text(out, "null");
    }
}

void index_cursor_write(int64_t stored, uint64_t sequence, const char *stream,
                        char out[INDEX_CURSOR_SIZE]) {
    snprintf(out, INDEX_CURSOR_SIZE, "%" PRId64 ":%" PRIu64 ":%s", stored, sequence, stream);
}

/* ---- places ---- */

enum parley_status index_places_add(struct index_places *places,
                                    const struct index_place_of *place) {
    if (places->count == places->capacity) {
        const size_t capacity = places->capacity > 0 ? 2 * places->capacity : PLACES_FIRST;
        struct index_place_of *items = realloc(places->items, capacity * sizeof *items);
        if (items == NULL) {
            return PARLEY_E_MEMORY;
        }
        places->items = items;
        places->capacity = capacity;
    }
    places->items[places->count++] = *place;
    return PARLEY_OK;
}

void index_places_clear(struct index_places *places) {
    places->count = 0;
    places->next[0] = '\0';
}

void index_places_finish(struct index_places *places) {
    free(places->items);
    *places = (struct index_places){.count = 0};
}
