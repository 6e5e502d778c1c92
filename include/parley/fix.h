/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fixes: the smallest edit by which a violation goes away, made from the row that was broken and
 * the value that broke it (docs/api.md#fixes). A fix is safe if the message says the same
 * afterwards; any other is a suggestion. */

#include <parley/buffer.h>
#include <parley/findings.h>

/* The operation of JSON Patch (RFC 6902) that it is. */
enum parley_fix_kind {
    PARLEY_FIX_NONE,
    PARLEY_FIX_ADD,     /* a member, or another value of it */
    PARLEY_FIX_REPLACE, /* the value */
    PARLEY_FIX_MOVE,    /* the member has another key */
    PARLEY_FIX_EDIT,    /* a part of the value, which is a text, is another one */
};

/* Other bytes in place of some. */
struct parley_edit {
    size_t offset, removed;
    struct parley_bytes inserted;
};

struct parley_fix {
    enum parley_fix_kind kind;
    bool is_safe;
    struct parley_bytes value; /* PARLEY_FIX_ADD, PARLEY_FIX_REPLACE: JSON */
    struct parley_bytes key;   /* PARLEY_FIX_MOVE: the key that the member has … */
    struct parley_bytes to;  /* … and the one that it should have; data NULL: that of the path */
    struct parley_edit edit; /* PARLEY_FIX_EDIT: of finding->part.text */
};

/* A fix inserts no more of a text than this; and all edits of the texts of a message are written
 * with their patches, which have the whole text, up to PARLEY_FIX_TEXTS_MAX. */
#define PARLEY_FIX_INSERTED_MAX 4096
#define PARLEY_FIX_TEXTS_MAX (16u << 10)

/* The fix of a finding; kind PARLEY_FIX_NONE if its row knows none, or there is no memory, which
 * memory->has_failed says.
 * Owns: `memory` is overwritten, and has the value, or what is inserted. */
void parley_fix_of(const struct parley_finding *finding, struct parley_buffer *memory,
                   struct parley_fix *out);

/* Appends a fix as the JSON Patch that it is: [{"op":"replace","path":"/seq","value":4}]. */
void parley_fix_write_patch(const struct parley_finding *finding, const struct parley_fix *fix,
                            struct parley_buffer *out);

/* Appends the edit of a fix of kind PARLEY_FIX_EDIT: {"offset":9,"delete":1,"insert":"\""}. */
void parley_fix_write_edit(const struct parley_finding *finding, const struct parley_fix *fix,
                           struct parley_buffer *out);

/* Which fixes parley_message_check applies to the text of a message (parley_options.fix), in JSON
 * or in another encoding that is text, all other bytes of which stay as they are. It checks the
 * fixed text again, until nothing is left to fix: the message is then the fixed one, and its
 * findings are what remains. */
enum parley_fixing { PARLEY_FIX_NOTHING, PARLEY_FIX_SAFELY, PARLEY_FIX_ALL };

/* A message is fixed at most so often … */
#define PARLEY_FIX_PASSES_MAX 10
/* … and only if it has at most so many bytes. */
#define PARLEY_FIX_BYTES_MAX (1u << 20)

/* How a message was fixed. */
struct parley_fixes {
    size_t count;                  /* fixes applied */
    struct parley_buffer applied;  /* the items of an array, with commas between them, to be applied
                                      in their order: {"rule":…,"path":…,"patch":[…]}, or "edit" */
    struct parley_buffer texts[2]; /* private: the message after a pass, and before it */
};
