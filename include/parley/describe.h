/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a protocol's rule table says, for programs that do not link parley. */

#include <parley/protocol.h>

/* Appends the protocol's rules as a JSON Schema (draft 2020-12), indented, with a line feed at its
 * end. It holds those of severity error that look at one value at a time, and those over several
 * members that are made of tests (rule.h), for the types that they are for, and of the GW rules the
 * one on the top level; its $comment lists the ids of all others by the reason: no schema can say
 * it, only an option of a request asks for it, it is a warning. "(in part: PATHS)" stands after one
 * of which other places are expressed. Each subschema that states a rule
 * bears its id in its title. Times are `"format": "date-time"`, which the reader must assert. */
enum parley_status parley_protocol_write_json_schema(const struct parley_protocol *protocol,
                                                     struct parley_buffer *out) PARLEY_MUST_CHECK;
