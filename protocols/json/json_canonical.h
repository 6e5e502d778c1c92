/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Canonical JSON (docs/api.md#nats): the order of members and the spelling of numbers and strings
 * are kept, only the white space between tokens is removed. For texts known to be valid. */

#include <parley/message.h>

/* Copies the string, array or object at `at` into `out`, which must have room for `end - at` bytes.
 * Returns: the end of the written text. */
char *json_canonical_copy(const char *at, const char *end, char *out);

/* Builds an object, in the arena, of those of the captures `fields` that the message has; each must
 * be a top-level member that is a string, array or object: {"from":"sir","payload":{…}}. */
enum parley_status json_canonical_members(struct parley_message *message, const unsigned *fields,
                                          size_t count, struct parley_bytes *out) PARLEY_MUST_CHECK;
