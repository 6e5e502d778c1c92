/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fixes as edits of a JSON text: which bytes change, so that all others stay as they are. */

#include <parley/message.h>

/* The edit of a fix in the text of a message that was read from JSON.
 * Owns: out->inserted is in the arena.
 * Returns: PARLEY_E_UNSUPPORTED: the value is not there, or is too deep in what is not. */
enum parley_status json_edit_of(struct parley_message *message,
                                const struct parley_finding *finding, const struct parley_fix *fix,
                                struct parley_edit *out) PARLEY_MUST_CHECK;
