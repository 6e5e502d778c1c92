/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The rule engine. A reader walks a document in its order and tells what it sees; the walk asks
 * the rules of each place, captures the facts, and leaves findings in the message. It keeps no
 * document, allocates only for findings, and is driven alike by the bytes of a JSON text or by
 * another encoding.
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
    const struct schema_node *member; /* whose value comes next, in an object */
    struct parley_bytes key;          /* that member's, for paths below `every` */
    enum parley_kind kind;
    uint32_t types; /* for which it is of the right kind, so that what is in it is asked about */
    uint64_t seen;  /* members, by schema_node.bit */
    size_t index;   /* of the next item, in an array */
    size_t offset;
    struct constraint_rising rising; /* of an array */
};

struct walk {
    struct parley_message *message;
    struct walk_frame frames[SCHEMA_DEPTH_MAX + 1];
    size_t depth; /* frames in use */
    enum parley_status status;
    uint32_t types;                 /* for which rows are asked */
    const struct schema_node *root; /* where the top level stands */
    const char *base;               /* its JSON Pointer … */
    bool is_inside; /* … which is not the message's: no facts, one offset for all */
    size_t inside_offset;
};

/* The set of types for which a walk asks, when the message's type is not known beforehand. */
#define WALK_EVERY_TYPE UINT32_MAX

/* The number of the type that the value of the type member names. */
unsigned walk_type_of(const struct parley_protocol *protocol, const struct parley_value *value);

/* Clears the facts and the type of a message. */
void walk_forget_facts(struct parley_message *message);

/* `types`: PARLEY_TYPE_BIT of the message's type where the reader can tell it before it begins, so
 * that rows for others cost nothing; else WALK_EVERY_TYPE.
 * Owns: the message is borrowed; its facts and findings are cleared. */
void walk_begin(struct walk *walk, struct parley_message *message, uint32_t types);

/* Begins a walk over a value that stands at `path` in another encoding (a compressed one), in the
 * inspection of the message: findings bear paths below `path`, and the place of `offset`. There is
 * no walk_end; what `status` says is returned by the inspection. */
void walk_begin_inside(struct walk *walk, struct parley_message *message, const char *path,
                       size_t offset);

/* The next value: the top level, an item, or the value of the last key.  Owns: value->text must
 * live as long as the message is used.
 * Returns: whether to go into this array or object; then walk_leave must follow. */
bool walk_value(struct walk *walk, const struct parley_value *value);

/* The next member of the present object.  Returns: whether any rule asks about its value; if not,
 * the reader skips that value without a word. */
bool walk_key(struct walk *walk, struct parley_bytes key);

/* The present array or object ends. `count`: how many items or members it had, skipped ones too.*/
void walk_leave(struct walk *walk, size_t count);

/* Asks the rules over several members, drops what does not hold for the message's type, and sorts.
 * Returns: PARLEY_E_MEMORY if a finding found no room. */
enum parley_status walk_end(struct walk *walk) PARLEY_MUST_CHECK;
