/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The forms that text may have: UTF-8, times, UUIDs, domains, percent-encoding. Pure functions. */

#include <stdbool.h>

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/bytes.h>

/* The length of the UTF-8 sequence that starts at `at`, or 0 when it is none (overlong forms,
 * surrogates and what lies beyond U+10FFFF are none). `left` > 0. */
size_t text_utf8_sequence(const char *at, size_t left);

/* Where a run of UTF-8 sequences that are not ASCII ends: at ASCII, at what is no sequence, or at
 * `end`. */
const char *text_utf8_run(const char *at, const char *end);

/* How many bytes from the start of `text` on are UTF-8. */
size_t text_utf8_prefix(struct parley_bytes text);

/* `text`, which is UTF-8, or so much of its start as takes at most `length_max` bytes and cuts no
 * code point. */
struct parley_bytes text_prefix(struct parley_bytes text, size_t length_max);

/* How many code points `text`, which is UTF-8, has. */
size_t text_code_points(struct parley_bytes text);

/* An RFC 3339 date-time (section 5.6, 5.7) as docs/rules.md#readings has it: `t` and `z` may be
 * lower case, the date must exist, a second of 60 stands only where a leap second can. */
bool text_is_time(struct parley_bytes text);

/* Whether the offset of a date-time, which `text` is, is UTC. */
bool text_time_is_utc(struct parley_bytes text);

/* The Unix time of such a date-time, its offset and its fraction counted; a leap second is the one
 * behind it.  Returns: false when it is none. */
bool text_unix_time(struct parley_bytes text, double *out_seconds);

/* RFC 9562, section 4, in either case; with `is_version_4` that version and its variant. */
bool text_is_uuid(struct parley_bytes text, bool is_version_4);

/* A domain of Round Table tasks, one token of a subject: 1 to 128 of A-Z a-z 0-9 _ -. */
bool text_is_domain(struct parley_bytes text);

/* An agent that a request names, one token of a subject: 1 to 64 of A-Z a-z 0-9 _ -, first a letter
 * or digit (so that a bare `_` is free for "none"). */
bool text_is_agent(struct parley_bytes text);

/* One token of a NATS subject: not empty, no space, no control character of Unicode (U+0000 to
 * U+001F, U+007F to U+009F), none of `.`, `*` and `>`. `text` is UTF-8. */
bool text_is_token(struct parley_bytes text);

/* The number of the first of `choices`, which end with NULL, that `text` is byte for byte, or of
 * that NULL. */
size_t text_choice(struct parley_bytes text, const char *const *choices);

/* Whether `text` is one of `choices`, which end with NULL, byte for byte. */
bool text_is_one_of(struct parley_bytes text, const char *const *choices);

/* `prefix`, then `text` with every byte but RFC 3986's unreserved ones percent-encoded.
 * Owns: the arena. Returns: data NULL when there is no memory. */
struct parley_bytes text_percent_encode(struct parley_arena *arena, struct parley_bytes prefix,
                                        struct parley_bytes text);

/* `parts` up to one whose data is NULL, with dots between them: a subject.
 * Owns: the arena, NUL-terminated.  Returns: data NULL when there is no memory. */
struct parley_bytes text_join(struct parley_arena *arena, const struct parley_bytes *parts);
#define TEXT_JOIN(arena, ...) text_join(arena, (const struct parley_bytes[]){__VA_ARGS__, {0}})

/* Appends a slash and `token` as RFC 6901 escapes it: one step of a JSON Pointer. */
void text_append_token(struct parley_buffer *pointer, struct parley_bytes token);
