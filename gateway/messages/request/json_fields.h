/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The members of a JSON object, with the bytes in which each value was written: what a client
 * passes on to another address (a message, an id) goes there as it came. */

#include <stdbool.h>

#include <parley/arena.h>
#include <parley/rule.h>

struct json_object;

/* A member.  Owns: all bytes are borrowed from the text or are in the arena. */
struct json_field {
    const char *name;           /* the one that is looked for: the caller's; NULL: in a list */
    struct json_object *inside; /* the caller's: what is read of an object; NULL: nothing */
    enum parley_kind kind;      /* PARLEY_ABSENT: it is not there */
    struct parley_bytes raw;    /* the value as it was written */
    struct parley_bytes text;   /* of a string, decoded */
    double number;              /* of a number; of a boolean 0 or 1 */
    struct parley_bytes key;    /* in a list: its name */
};

/* What is read of an object. */
struct json_object {
    struct json_field *fields;
    size_t count;      /* of fields */
    bool is_list;      /* the fields become the first members; else they look for theirs */
    bool is_unread;    /* arrays and objects in it are left unread: only their ends are found */
    size_t item_count; /* of a list: how many members there are */
    bool has_unread;   /* one was left unread */
    /* Of fields that look for members: */
    struct parley_bytes unknown; /* the first member that is none of them; data NULL: none */
    bool is_repeated;            /* one is there twice */
    /* While it is read: */
    struct json_field *current; /* whose key was read last */
    struct json_object *around; /* NULL: it is the text */
};

enum json_fields_result {
    JSON_FIELDS_READ,
    JSON_FIELDS_NOT_JSON,  /* or nested too deep */
    JSON_FIELDS_NO_OBJECT, /* but JSON */
    JSON_FIELDS_REPEATED,  /* a field is there twice */
    JSON_FIELDS_MEMORY,
};

/* Fills in an object and those inside of it, in one pass. All members but those of the caller are
 * zero before.  Returns: not JSON_FIELDS_REPEATED: the objects say it. */
enum json_fields_result json_object_read(struct parley_bytes text, struct json_object *object,
                                         struct parley_arena *arena);

/* Fills in the `count` fields that the object `text` has. `out_unknown`: the name of the first
 * member that is none of them, data NULL if there is none; NULL: others may be there. */
enum json_fields_result json_fields_read(struct parley_bytes text, struct json_field *fields,
                                         size_t count, struct parley_arena *arena,
                                         struct parley_bytes *out_unknown);

/* Whether a text that was left unread is JSON.  Returns: JSON_FIELDS_READ, JSON_FIELDS_NOT_JSON or
 * JSON_FIELDS_MEMORY. */
enum json_fields_result json_fields_check(struct parley_bytes text, struct parley_arena *arena);

/* Calls `each` with every member of the object `text`, until it returns false: a scalar's value, or
 * the kind of another.  Returns: false: it is no object, or `each` has returned false. */
bool json_fields_each_member(struct parley_bytes text, struct parley_arena *arena,
                             bool (*each)(void *context, struct parley_bytes name,
                                          const struct parley_value *value),
                             void *context);

/* The same with every item of an array. */
bool json_fields_each_item(struct parley_bytes text, struct parley_arena *arena,
                           bool (*each)(void *context, const struct parley_value *value),
                           void *context);

/* Finds the next object of an array of objects that has no fault, from `*at` on, which is 0 at
 * first. Returns: false: there are no more. */
bool json_fields_next_object(struct parley_bytes array, size_t *at, struct parley_bytes *out);
