/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Canonical JSON, in the sense of docs/api.md#nats: order and the spelling of numbers and strings
 * stay, only the blanks between tokens go. For texts that were read already: nothing here finds
 * faults.
 */

#include <parley/message.h>

/* Copies the string, array or object that begins at `at` into `out`, which has room for as many
 * bytes as there are up to `end`.  Returns: where it stopped writing. */
char *json_canonical_copy(const char *at, const char *end, char *out);

/* An object of those of the facts `fields` that the message has, each the top-level member of that
 * name, and each a string, array or object: {"from":"sir","payload":{…}}.
 * Owns: the arena. */
enum parley_status json_canonical_members(struct parley_message *message, const unsigned *fields,
                                          size_t count, struct parley_bytes *out) PARLEY_MUST_CHECK;
