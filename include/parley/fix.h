/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fixes: the smallest edit by which a violation goes away, made from the row that was broken and
 * the value that broke it (docs/api.md#fixes). A fix is safe if the message says the same
 * afterwards; any other is a suggestion. */

#include <parley/buffer.h>
#include <parley/message.h>

/* The operation of JSON Patch (RFC 6902) that it is. */
enum parley_fix_kind {
    PARLEY_FIX_NONE,
    PARLEY_FIX_ADD,     /* a member, or another value of it */
    PARLEY_FIX_REPLACE, /* the value */
    PARLEY_FIX_MOVE,    /* the member has another key */
};

struct parley_fix {
    enum parley_fix_kind kind;
    bool is_safe;
    struct parley_bytes value; /* PARLEY_FIX_ADD, PARLEY_FIX_REPLACE: JSON */
    struct parley_bytes key;   /* PARLEY_FIX_MOVE: the key that the member has */
};

/* The fix of a finding; kind PARLEY_FIX_NONE if its row knows none, or there is no memory, which
 * memory->has_failed says.
 * Owns: `memory` is overwritten, and has the value. */
void parley_fix_of(const struct parley_finding *finding, struct parley_buffer *memory,
                   struct parley_fix *out);

/* Appends a fix as the JSON Patch that it is: [{"op":"replace","path":"/seq","value":4}]. */
void parley_fix_write_patch(const struct parley_finding *finding, const struct parley_fix *fix,
                            struct parley_buffer *out);

/* A message is checked and fixed at most so often. */
#define PARLEY_FIX_PASSES_MAX 10

/* How a message was fixed. Zero-initialise it. */
struct parley_fixes {
    bool takes_suggestions;        /* else only safe fixes are applied */
    size_t count;                  /* fixes applied */
    struct parley_buffer applied;  /* the items of an array, with commas between them:
                                      {"rule":…,"path":…,"patch":[…]} */
    struct parley_buffer texts[2]; /* private: the message after a pass, and before it */
};

/* Frees all memory. */
void parley_fixes_finish(struct parley_fixes *fixes);

/* Checks a message in JSON as parley_message_check does, applies the fixes of its findings to the
 * text, and checks it again, until no fix is left. All bytes that no fix concerns stay as they are.
 * Afterwards `message` is the one that was fixed, its text in message->text, and its findings are
 * what remains. A message in another encoding is only checked.
 * Owns: as parley_message_check; the message borrows from `fixes`. */
enum parley_status parley_message_fix(struct parley_message *message, struct parley_bytes sent,
                                      const struct parley_codec *codec,
                                      const struct parley_options *options,
                                      struct parley_position origin,
                                      struct parley_fixes *fixes) PARLEY_MUST_CHECK;
