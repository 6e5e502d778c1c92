/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The deltas of a body: the content of delta blocks, and JSON that would be ignored because it is
 * not in one.
 *  */

#include "json_reader.h"
#include "body.h"
#include "body_findings.h"

/* The sections of an artifact, in the order of MB-105. */
enum brenner_target {
    BRENNER_HYPOTHESES,
    BRENNER_PREDICTIONS,
    BRENNER_TESTS,
    BRENNER_ASSUMPTIONS,
    BRENNER_ANOMALIES,
    BRENNER_CRITIQUES,
    BRENNER_RESEARCH_THREAD,
    BRENNER_SECTION_COUNT,
};

/* The payload of an ADD has what `needs`, which ends with NULL, names
 * (docs/rules/brenner.md#MB-142); the ids of the section's items begin with `letter`. */
struct brenner_target_section {
    const char *name;
    const char *letter;
    const char *const *needs;
};
extern const struct brenner_target_section brenner_target_sections[BRENNER_SECTION_COUNT];
extern const char *const brenner_operations[]; /* ADD, EDIT, KILL; NULL ends them */

/* Whether the text of a block is JSON in the sense of the rules: nested no deeper than a message;
 * keys may repeat.  Owns: out_fault's path is in the arena. */
enum json_reader_result brenner_delta_read(struct parley_bytes text, struct parley_arena *arena,
                                           struct json_fault *out_fault) PARLEY_MUST_CHECK;

/* Checks all rules about deltas (MB-004, MB-005, MB-104 to MB-107, MB-139 to MB-143). */
enum parley_status brenner_deltas_check(struct brenner_body *body,
                                        struct body_findings *findings) PARLEY_MUST_CHECK;
