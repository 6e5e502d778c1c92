/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The spelling of a JSON text that has been decoded: its tokens and members, as they were written.
 * A tree has numbers as doubles; whoever writes a message again takes them from here. */

#include <parley/buffer.h>

struct token {
    char kind;                /* { } [ ] , : or " (a string) or 0 (a number, or a word) */
    struct parley_bytes text; /* of a string, with its quotes */
};

/* Takes the next token off `rest`, which is JSON or the rest of one.  Returns: false at the end. */
bool token_next(struct parley_bytes *rest, struct token *out);

/* A member of an object. */
struct member {
    struct parley_bytes key;   /* decoded */
    struct parley_bytes value; /* as written, with no blanks around it */
};

/* The members of a top-level object, in the order written. Begin with `*rest` the whole text.
 * Owns: a decoded key is valid until the next call, or until member_release. */
struct members {
    struct parley_bytes rest;
    void *decoded;
    bool has_failed; /* no memory to decode a key */
};
bool member_next(struct members *members, struct member *out);
void member_release(struct members *members);

/* What a string token means.  Owns: *owner, if it comes back as not NULL, holds the text: give it
 * to string_release().  Returns: data NULL when there is no memory. */
struct parley_bytes string_decode(struct parley_bytes token, void **owner);
void string_release(void *owner);
