/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a JSON message says of itself, by a table of its members: found by reading its text once
 * more. For messages that were read from JSON and are valid. */

#include <parley/index.h>
#include <parley/message.h>

#define JSON_INDEX_MEMBER (-1)
#define JSON_INDEX_WORDS (-2)
#define JSON_INDEX_CONTENT (-3)

/* A member of the message, or of the object that its member `parent` is. */
struct json_index_row {
    const char *parent; /* NULL: the message */
    const char *name;   /* NULL ends the rows */
    /* Of a reference: its text, or each text of an array, is the target; else JSON_INDEX_MEMBER: a
     * scalar is a member of the entry; JSON_INDEX_WORDS: all texts in it, but for keys, are words;
     * JSON_INDEX_CONTENT: those in its member `content` are. */
    int relation;
    uint32_t for_types; /* set of PARLEY_TYPE_BIT; 0: every type */
};

enum parley_status json_index_read(struct parley_message *message,
                                   const struct json_index_row *rows,
                                   struct parley_index_entry *out) PARLEY_MUST_CHECK;
