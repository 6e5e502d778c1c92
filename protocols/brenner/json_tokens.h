/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The tokens and members of a JSON text that is known to be valid, as they were written. Writers of
 * messages use them, so that the spelling of numbers is kept. */

#include <parley/buffer.h>

struct json_token {
    char kind;                /* { } [ ] , : or " (a string) or 0 (a number, or a word) */
    struct parley_bytes text; /* of a string, with its quotes */
};

/* Takes the next token off `rest`, which is JSON or the rest of it.  Returns: false at the end. */
bool json_token_next(struct parley_bytes *rest, struct json_token *out);

/* A member of an object. */
struct json_member {
    struct parley_bytes key;   /* decoded */
    struct parley_bytes value; /* as written, without white space around it */
};

/* The members of a top-level object, in the order written. Begin with `rest` the whole text and the
 * rest zero.
 * Owns: a decoded key is valid until the next call, or until json_members_finish. */
struct json_members {
    struct parley_bytes rest;
    struct parley_buffer decoded;
    bool has_failed; /* no memory to decode a key */
};
bool json_member_next(struct json_members *members, struct json_member *out);
void json_members_finish(struct json_members *members);

/* Decodes a string token.
 * Owns: `out` is in `scratch`, which is cleared first, or in the token.  Returns: false when there
 * is no memory. */
bool json_token_decode(struct parley_bytes token, struct parley_buffer *scratch,
                       struct parley_bytes *out);
