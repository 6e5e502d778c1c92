/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Deltas that say what they mean, but not in JSON, or not as the document asks: what Brenner's own
 * programs repair when they read them, and letter case. Fixes and the dialect `mail` share it. */

#include "body.h"
#include "body_findings.h"

/* Appends the text of a delta block without comments and without commas before a closing brace or
 * bracket.  Returns: whether it had any, and is JSON without them. */
bool brenner_repair_json(struct parley_bytes text, struct parley_buffer *out);

/* Appends the text of a KILL whose reason is in `payload.kill_reason`, with that as `reason`.
 * `text`: JSON.  Returns: whether it is one. */
bool brenner_repair_reason(struct parley_bytes text, struct parley_buffer *out);

/* Appends the text of an ADD whose payload is an array of objects as one for each, with
 * `between` between them.  `text`: JSON.  Returns: whether it is one, and they are no longer than
 * `length_max` together. */
bool brenner_repair_array(struct parley_bytes text, struct parley_bytes between, size_t length_max,
                          struct parley_buffer *out);

/* The only choice that `text` is but for its letters' case, which is safe, or one letter or its
 * dashes, which is not. NULL: none. */
const char *brenner_repair_choice(struct parley_bytes text, const char *const *choices,
                                  bool *out_is_safe);

/* Repairs all blocks of a body, those between colons too. Appends nothing if there was nothing to
 * repair, or it would be longer than `length_max`.
 * Returns: PARLEY_E_MEMORY, PARLEY_E_LIMIT as brenner_body_read. */
enum parley_status brenner_repair_body(struct parley_bytes body, size_t length_max,
                                       struct parley_buffer *out) PARLEY_MUST_CHECK;

/* The fixes of findings about a block or a section, whose part is its text (parley_part.fix). */
typedef bool brenner_fix(const struct parley_finding *finding, struct parley_buffer *memory,
                         struct parley_fix *out);
brenner_fix brenner_fix_json;    /* MB-005 */
brenner_fix brenner_fix_choice;  /* MB-104, MB-105: by the letter case of a member */
brenner_fix brenner_fix_payload; /* MB-107 */
brenner_fix brenner_fix_fence;   /* MB-004, MB-141: the part is where the fence may be */
