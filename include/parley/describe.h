/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a protocol's rule table says, for programs that do not link parley. */

#include <parley/protocol.h>

/* Appends the protocol's rules as a JSON Schema (draft 2020-12), indented, with a line feed at its
 * end. It contains the rules of severity error over one value, those over several members that are
 * made of tests (rule.h), each for its types, and GW-006. Its $comment lists the ids of all other
 * rules by the reason: a schema cannot express it, it is checked only if a request option asks for
 * it, or it is a warning. "(in part: PATHS)" follows an id of which other places are expressed.
 * Each subschema that states a rule has its id in its title. Times are `"format": "date-time"`,
 * which the validator must assert. */
enum parley_status parley_protocol_write_json_schema(const struct parley_protocol *protocol,
                                                     struct parley_buffer *out) PARLEY_MUST_CHECK;
