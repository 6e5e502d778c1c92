/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What there is to say about a body. It is asked for twice where the fast path was not sure, by
 * that and by the walk; the body is read once, and what was found is kept and said again. */

#include "brenner.h"

struct brenner_remark {
    enum brenner_rule rule;
    struct parley_position body_at;
    const char *message;
    const char *hint; /* NULL: the rule's */
};

struct brenner_remarks {
    struct parley_arena *arena;
    struct brenner_remark *items;
    size_t count; /* at most PARLEY_FINDINGS_MAX … */
    size_t capacity;
    size_t omitted[BRENNER_RULE_COUNT]; /* … and how many more there were, by rule */
    bool is_out_of_memory;
};

/* Whether another remark would be kept; if not, its text need not be written, nor its place found.
 */
bool brenner_remarks_has_room(const struct brenner_remarks *remarks);

/* Adds a remark, its message written as printf does.  `hint`: static, or NULL. */
void brenner_remark(struct brenner_remarks *remarks, enum brenner_rule rule,
                    struct parley_position body_at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Reports them all to a walk. `field` holds the body. */
enum parley_status brenner_remarks_report(const struct brenner_remarks *remarks, struct walk *walk,
                                          enum brenner_field field) PARLEY_MUST_CHECK;

/* At most 60 bytes of text in quotes, as JSON, for the messages of remarks.  Owns: the buffer. */
const char *brenner_quote(struct brenner_remarks *remarks, struct parley_buffer *buffer,
                          struct parley_bytes text);
