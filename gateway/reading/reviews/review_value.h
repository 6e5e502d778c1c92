/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A decision on a message, as it is kept in NATS: a key of the bucket of reviews, a value that is
 * JSON, and a header of the message that announces it. */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

enum { REVIEW_PLACE_MAX = 320, REVIEW_KEY_MAX = REVIEW_PLACE_MAX }; /* with their NUL */

/* The header of a message that announces a decision: "VLP:42 approve". */
#define REVIEW_HEADER "Parley-Reviewed"

/* The place of a message in NATS: "VLP:42" in an address. The key of its decision is "VLP.42", and
 * "VLP.42.notice" is that of the place of the message that announces it. */
struct review_place {
    const char *stream;
    uint64_t sequence;
};
/* Reads a sequence, which has no leading zeros: a message has one place. */
bool review_sequence_read(struct parley_bytes text, uint64_t *out);
/* `text`: as in an address, where the colon may be percent-encoded.  Returns: whether it is a place
 * of that stream. */
bool review_place_read(struct parley_bytes text, const char *stream, struct review_place *out);
void review_place_write(const struct review_place *place, char out[REVIEW_PLACE_MAX]);
void review_key_write(const struct review_place *place, char out[REVIEW_KEY_MAX]);
void review_notice_key_write(const struct review_place *place, char out[REVIEW_KEY_MAX]);
/* Appends the value of that second key: where the message that announces the decision is stored. */
void review_notice_place_write(const char *stream, uint64_t sequence, struct parley_buffer *out);

/* Reads REVIEW_HEADER, which any client of NATS may have written: whether it says that a message is
 * approved, and which. The stream's name can be a token of a subject.  Owns: `stream` has the name;
 * `out` borrows it. */
bool review_header_read(const char *header, char stream[REVIEW_PLACE_MAX],
                        struct review_place *out);

/* Whether a subject is one of `subjects`, which end in ">". */
bool review_is_among(const char *subject, const char *subjects);

/* Owns: borrowed. */
struct review_value {
    struct parley_bytes decision, by, reason;
    struct parley_bytes at, id; /* when, and the id of the message that announces it */
};
extern const char review_approve[], review_reject[]; /* the decisions */

/* Appends the members of a JSON object, without its braces. */
void review_value_write(const struct review_value *value, struct parley_buffer *out);
/* Of a value that is not valid, `out` is empty.  Owns: decoded texts are in `arena`, others in
 * `text`. */
enum parley_status review_value_read(struct parley_bytes text, struct parley_arena *arena,
                                     struct review_value *out) PARLEY_MUST_CHECK;
/* Whether one is the other, sent again. */
bool review_value_is_same(const struct review_value *one, const struct review_value *other);

/* Reads the body of a request.  Returns: NULL, or the fault of the body (static). */
const char *review_body_read(struct parley_bytes body, struct parley_arena *arena,
                             struct review_value *out);
