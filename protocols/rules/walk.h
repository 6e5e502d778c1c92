/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The rule engine. A reader reads a document and reports its values; the walk checks the
 * rules of each place, captures the captures, and adds findings to the message. It keeps no
 * document, allocates only for findings, and works for any encoding.
 *
 *   walk_begin
 *     walk_value (an object) → true: its members matter
 *       walk_key → true: its value matters
 *         walk_value …
 *     walk_leave
 *   walk_end */

#include <parley/message.h>

#include "constraint.h"
#include "findings.h"

struct walk_frame {
    const struct schema_node *node;
    const struct schema_node *member; /* in an object: the member whose value comes next */
    struct parley_bytes key;          /* the key of that member, for paths below `every` */
    enum parley_kind kind;
    uint32_t types; /* the types for which its kind is right, so that its content is checked */
    uint64_t seen;  /* the members so far, by schema_node.bit */
    size_t index;   /* of the next item, in an array */
    size_t offset;
    size_t first_stray;              /* of an object, among those of the walk */
    struct constraint_rising rising; /* of an array */
};

/* The keys of open objects that no rule names are kept, since one may be a misspelt member: so many
 * of them. */
#define WALK_STRAYS_MAX 16
struct walk_stray {
    struct parley_bytes key;
    const struct schema_node *meant; /* GW-103: the only member that it is like; NULL: none */
    bool is_fitting;                 /* its value is right for that */
    size_t offset;                   /* of the value */
};

struct walk {
    struct parley_message *message;
    struct walk_frame frames[SCHEMA_DEPTH_MAX + 1];
    size_t depth; /* frames in use */
    enum parley_status status;
    uint32_t types;                 /* the types whose rows are checked */
    const struct schema_node *root; /* of the top level */
    const char *base;               /* its JSON Pointer … */
    bool is_inside; /* … below that of the message: no captures, one offset for all findings */
    size_t inside_offset;
    struct walk_stray strays[WALK_STRAYS_MAX];
    size_t stray_count;
    bool has_spelling;        /* GW-103 is checked … */
    struct walk_stray *asked; /* … and the next value is that of this one; NULL: it is not */
};

/* The types of a walk if the message's type is not known beforehand. */
#define WALK_EVERY_TYPE UINT32_MAX

/* Clears the captures and the type of a message. */
void walk_forget_captures(struct parley_message *message);

/* `types`: PARLEY_TYPE_BIT of the message's type if the reader knows it beforehand, so that rows
 * for other types cost nothing; else WALK_EVERY_TYPE.
 * Owns: the message is borrowed; its captures and findings are cleared. */
void walk_begin(struct walk *walk, struct parley_message *message, uint32_t types);

/* Begins a walk over a value at `path` that is encoded in the message (such as compressed data),
 * during its inspection: findings have paths below `path` and the position of `offset`. There is no
 * walk_end; the inspection returns `status`. */
void walk_begin_inside(struct walk *walk, struct parley_message *message, const char *path,
                       size_t offset);

/* The next value: the top level, an item, or the value of the last key.  Owns: value->text must
 * live as long as the message is used.
 * Returns: whether to read the content of this array or object; then walk_leave must follow. */
bool walk_value(struct walk *walk, const struct parley_value *value);

/* The next member of the current object.  Returns: whether any rule checks its value; if not, the
 * reader skips the value without reporting it. */
bool walk_key(struct walk *walk, struct parley_bytes key);

/* The current array or object ends. `count`: the number of its items or members, including skipped
 * ones. */
void walk_leave(struct walk *walk, size_t count);

/* Checks the rules over several members, drops findings for other types than the message's, and
 * sorts.
 * Returns: PARLEY_E_MEMORY if a finding could not be stored. */
enum parley_status walk_end(struct walk *walk) PARLEY_MUST_CHECK;
