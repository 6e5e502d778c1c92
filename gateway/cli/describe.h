/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Protocols and their rules put into words, from their tables alone: for the command line, the
 * documents in docs/rules/ and whoever else must never say anything but what the tables say. */

#include <parley/protocol.h>

/* {"name":…,"title":…,"version":…,"stream":…,"subjects":…,"types":[…],"lanes":[…],
 * "media_types":[…]}; lanes is null where the protocol has none. */
void describe_protocol(struct parley_buffer *out, const struct parley_protocol *protocol);

/* The GW rules, then those of the protocol, or of all protocols where it is NULL, as a JSON array
 * of {"id","severity","summary","source","paths","hint"}. */
void describe_rules(struct parley_buffer *out, const struct parley_protocol *protocol);

/* The same as a page of Markdown, with an anchor for each rule. */
void describe_rules_page(struct parley_buffer *out, const struct parley_protocol *protocol);

/* "error" or "warning". */
const char *describe_severity(enum parley_severity severity);

/* How the set of rules with the GW ids is called, for a heading. */
extern const char describe_gateway_title[];
