/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The deltas of a body: what a delta block says, and JSON that would be lost because it is in none.
 */

#include "json_reader.h"
#include "body.h"
#include "body_findings.h"

/* Whether the text of a block is JSON, as the rules read it: nested no deeper than a message, and
 * its keys may repeat.  Owns: out_fault's path lives in the arena. */
enum json_reader_result brenner_delta_read(struct parley_bytes text, struct parley_arena *arena,
                                           struct json_fault *out_fault) PARLEY_MUST_CHECK;

/* Asks all rules about deltas (MB-004, MB-005, MB-104 to MB-107, MB-139 to MB-143). */
enum parley_status brenner_deltas_check(struct brenner_body *body,
                                        struct body_findings *findings) PARLEY_MUST_CHECK;
