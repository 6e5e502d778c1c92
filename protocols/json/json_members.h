/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Members of a JSON message that no rule needs as a capture: found by reading its text once more.
 * For messages that were read from JSON and are valid. */

#include <parley/message.h>

#define JSON_MEMBERS_MAX 8

/* A member and its name in the output. */
struct json_member {
    const char *name, *as; /* as NULL: the same */
};

/* Appends those of `members` (name NULL ends them) that the object at the top-level member `parent`
 * has (NULL: the message itself), without white space: ,"name":value. Where `parent` is an array of
 * objects, the last value of each name counts. */
enum parley_status json_members_append(struct parley_message *message, const char *parent,
                                       const struct json_member *members,
                                       struct parley_buffer *out) PARLEY_MUST_CHECK;

/* Calls `each` with every string in the array `name` of the object at `parent`, until it returns
 * false.  Owns: texts are borrowed for the call. */
enum parley_status json_members_each_text(struct parley_message *message, const char *parent,
                                          const char *name,
                                          bool (*each)(void *context, struct parley_bytes text),
                                          void *context) PARLEY_MUST_CHECK;
