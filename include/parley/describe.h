/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Describes a protocol's rule table for programs that do not link parley. */

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

/* Parts of that schema, without its head, for documents that have a schema for each type. A message
 * of a type satisfies its draft schema and that of its type, and has the required stamps; where a
 * text decides the type (protocol->type_of), there are no rows for a type. */

/* The schema for every type; members that `stamp` fills in may be missing. */
enum parley_status parley_protocol_write_draft_schema(const struct parley_protocol *protocol,
                                                      struct parley_buffer *out) PARLEY_MUST_CHECK;
/* The schema of one type, an index into protocol->types: its name, and the rules for some types
 * that are for this one. */
enum parley_status parley_protocol_write_type_schema(const struct parley_protocol *protocol,
                                                     unsigned type,
                                                     struct parley_buffer *out) PARLEY_MUST_CHECK;
/* The members that `stamp` fills in and the rules require, as an array of strings. */
enum parley_status
parley_protocol_write_required_stamps(const struct parley_protocol *protocol,
                                      struct parley_buffer *out) PARLEY_MUST_CHECK;
