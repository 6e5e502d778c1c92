/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Descriptions of protocols and their rules, written from their tables alone: for the command line,
 * the server and the pages in docs/rules/. */

#include <parley/protocol.h>

#include "channel.h"

/* {"name","title","version","stream","subjects","types":[…],"lanes":[…],"encodings":[{"name",
 * "media_types","extensions"}],"rules":N}; lanes is null where the protocol has none, and N counts
 * its own rules.  `channel` NULL: the protocol's own stream and subjects; else those of this
 * server, and "links" to its addresses. */
void describe_protocol(struct parley_buffer *out, const struct parley_protocol *protocol,
                       const struct channel *channel);

/* All protocols as a JSON array, one a line.  `channels`: in the order of parley_protocols, or
 * NULL.
 */
void describe_protocols(struct parley_buffer *out, const struct channel *channels);

/* The protocol's examples as a JSON array of {"name","title","message"}. */
void describe_examples(struct parley_buffer *out, const struct parley_protocol *protocol);

/* The GW rules, then those of the protocol, or of all protocols where it is NULL, as a JSON array
 * of {"id","severity","summary","source","paths","hint"}. */
void describe_rules(struct parley_buffer *out, const struct parley_protocol *protocol);

/* One of these objects. */
void describe_rule(struct parley_buffer *out, const struct parley_rule *rule);
/* The rule's own hint, then those of its places, each once, with `separator` between. */
void describe_rule_hints(struct parley_buffer *out, const struct parley_rule *rule,
                         const char *separator);
/* The path of a place, or NULL when one before it has the same. */
const char *describe_rule_path(const struct parley_rule *rule, size_t place);

/* The rules as a page of Markdown, with an anchor for each rule. */
void describe_rules_page(struct parley_buffer *out, const struct parley_protocol *protocol);

/* The heading of the GW rules. */
extern const char describe_gateway_title[];

/* All protocols as rows of an HTML table: name and link, then a description. */
void describe_protocols_rows(struct parley_buffer *out);
