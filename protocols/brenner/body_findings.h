/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The findings about a body. If the fast path is not sure, both it and the walk need them; the body
 * is read once, and the findings are kept for the second time. */

#include "brenner.h"

struct body_finding {
    enum brenner_rule rule;
    struct parley_position body_at;
    const char *message;
    const char *hint;        /* NULL: the rule's */
    struct parley_part part; /* text: of the message, once it is reported */
};

struct body_findings {
    struct parley_arena *arena;
    struct body_finding *items;
    size_t count; /* at most PARLEY_FINDINGS_MAX … */
    size_t capacity;
    size_t omitted[BRENNER_RULE_COUNT]; /* … and the number of further ones, by rule */
    bool is_out_of_memory;
    /* In whose name the body speaks, if that is not options.only_sender; data NULL: it is, or of no
     * one. */
    struct parley_bytes other_speaker;
    const char *speaker_section;       /* "`## Agent`"; static */
    struct parley_position speaker_at; /* in the body */
};

/* Whether another finding would be kept; if not, its text and place are not needed.
 *  */
bool body_findings_has_room(const struct body_findings *findings);

/* Adds a finding, with a message in the format of printf.  `hint`: static, or NULL. */
void body_findings_add(struct body_findings *findings, enum brenner_rule rule,
                       struct parley_position body_at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Says how the finding that was added last, by this rule, is fixed, in which part of the body. */
void body_findings_offer(struct body_findings *findings, enum brenner_rule rule,
                         struct parley_part part);

/* Reports them all to the message. `field` holds the body. */
enum parley_status body_findings_report(const struct body_findings *findings,
                                        struct parley_message *message,
                                        enum brenner_field field) PARLEY_MUST_CHECK;

/* At most 60 bytes of text in quotes, as JSON, for messages.  Returns: text in `buffer`. */
const char *body_findings_quote(struct body_findings *findings, struct parley_buffer *buffer,
                                struct parley_bytes text);
