/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Formats of text: UTF-8, times, UUIDs, domains, percent-encoding. Pure functions. */

#include <stdbool.h>

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/bytes.h>

/* The length of the UTF-8 sequence at `at`, or 0 if it is not valid (overlong forms, surrogates and
 * code points above U+10FFFF are not). `left` > 0. */
size_t text_utf8_sequence(const char *at, size_t left);

/* The end of a run of UTF-8 sequences that are not ASCII: at ASCII, at bytes that are not valid, or
 * at `end`. */
const char *text_utf8_run(const char *at, const char *end);

/* The length of the longest prefix of `text` that is valid UTF-8. */
size_t text_utf8_prefix(struct parley_bytes text);

/* The longest prefix of `text`, which is UTF-8, of at most `length_max` bytes and whole code
 * points. */
struct parley_bytes text_prefix(struct parley_bytes text, size_t length_max);

/* The number of code points in `text`, which is UTF-8. */
size_t text_code_points(struct parley_bytes text);

/* An RFC 3339 date-time (sections 5.6 and 5.7; docs/rules.md#readings): `t` and `z` may be lower
 * case, the date must exist, and a second of 60 is allowed only where a leap second can be. */
bool text_is_time(struct parley_bytes text);

/* Whether the offset of `text`, a date-time, is UTC. */
bool text_time_is_utc(struct parley_bytes text);

/* The Unix time of a date-time, including its offset and fraction; a leap second counts as the next
 * second.  Returns: false if `text` is not a date-time. */
bool text_unix_time(struct parley_bytes text, double *out_seconds);

/* Writes a Unix time as an RFC 3339 date-time in UTC, without a fraction: a time before the year 0
 * as its beginning, one after the year 9999 as its end. */
#define TEXT_TIME_SIZE sizeof "2026-02-08T15:00:00Z"
void text_write_unix_time(double seconds, char out[TEXT_TIME_SIZE]);

/* RFC 9562, section 4, case-insensitive; with `is_version_4` only version 4 and its variant. */
bool text_is_uuid(struct parley_bytes text, bool is_version_4);

/* A domain of Round Table tasks, one token of a subject: 1 to 128 of A-Z a-z 0-9 _ -. */
bool text_is_domain(struct parley_bytes text);

/* An agent named in a request, one token of a subject: 1 to 64 of A-Z a-z 0-9 _ -, the first a
 * letter or digit (so that a bare `_` can mean "none"). */
bool text_is_agent(struct parley_bytes text);

/* One token of a NATS subject: not empty, no space, no control character of Unicode (U+0000 to
 * U+001F, U+007F to U+009F), none of `.`, `*` and `>`. `text` is UTF-8. */
bool text_is_token(struct parley_bytes text);

/* The index of `text` in `choices`, which end with NULL, compared byte by byte; the index of that
 * NULL if it is not among them. */
size_t text_choice(struct parley_bytes text, const char *const *choices);

/* Whether `text` is one of `choices`, which end with NULL, compared byte by byte. */
bool text_is_one_of(struct parley_bytes text, const char *const *choices);

/* `prefix`, then `text` with every byte but RFC 3986's unreserved ones percent-encoded.
 * Returns: text in the arena; data NULL when there is no memory. */
struct parley_bytes text_percent_encode(struct parley_arena *arena, struct parley_bytes prefix,
                                        struct parley_bytes text);

/* Joins `parts`, up to one whose data is NULL, with dots: a subject.
 * Returns: NUL-terminated text in the arena; data NULL when there is no memory. */
struct parley_bytes text_join(struct parley_arena *arena, const struct parley_bytes *parts);
#define TEXT_JOIN(arena, ...) text_join(arena, (const struct parley_bytes[]){__VA_ARGS__, {0}})

/* Appends a slash and `token` as RFC 6901 escapes it: one step of a JSON Pointer. */
void text_append_token(struct parley_buffer *pointer, struct parley_bytes token);
