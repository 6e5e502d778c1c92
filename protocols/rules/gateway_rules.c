/* SPDX-License-Identifier: Apache-2.0 */

/* The GW rules, which hold for every protocol. They have no places: decoders and splitters report
 * them where reading stopped, and the gateway those about forwarding. */

#include <parley/rule.h>

const struct parley_rule parley_gateway_rules[PARLEY_GW_COUNT] = {
    [PARLEY_GW_PARSE] =
        {
            .id = "GW-001",
            .severity = PARLEY_ERROR,
            .summary = "the body is well-formed JSON, MessagePack or front matter",
            .source = "docs/rules.md#gw",
            .hint = "Fix the syntax here, and send the message again.",
        },
    [PARLEY_GW_SIZE] =
        {
            .id = "GW-002",
            .severity = PARLEY_ERROR,
            .summary = "the message is within the size limit",
            .source = "docs/rules.md#gw",
            .hint = "Send less in one message: put bulk data elsewhere and refer to it.",
        },
    [PARLEY_GW_DUPLICATE_KEY] =
        {
            .id = "GW-003",
            .severity = PARLEY_ERROR,
            .summary = "no object has duplicate keys",
            .source = "docs/rules.md#gw",
            .hint = "Keep one of the two members: readers disagree on which of them counts.",
        },
    [PARLEY_GW_DEPTH] =
        {
            .id = "GW-004",
            .severity = PARLEY_ERROR,
            .summary = "nesting is at most 64 levels deep; the message itself is level 1",
            .source = "docs/rules.md#gw",
            .hint = "Flatten the data: 64 levels of objects and arrays are the limit.",
        },
    [PARLEY_GW_UTF8] =
        {
            .id = "GW-005",
            .severity = PARLEY_ERROR,
            .summary = "text is UTF-8",
            .source = "docs/rules.md#gw",
            .hint = "Encode the whole body as UTF-8.",
        },
    [PARLEY_GW_TOP_LEVEL] =
        {
            .id = "GW-006",
            .severity = PARLEY_ERROR,
            .summary = "the top level is an object",
            .source = "docs/rules.md#gw",
            .hint = "Send the message as one object, { … }.",
        },
    [PARLEY_GW_TRANSPORT] =
        {
            .id = "GW-101",
            .severity = PARLEY_WARNING,
            .summary = "the message fits into NATS's `max_payload` (reported by /validate only: "
                       "the message is valid, but could not be forwarded)",
            .source = "docs/rules.md#gw",
            .hint = "Send less in one message, or ask the operator to raise NATS's max_payload.",
        },
    [PARLEY_GW_SENDER] =
        {
            .id = "GW-102",
            .severity = PARLEY_ERROR,
            .summary = "the sender is the agent that the token is bound to (checked by a server "
                       "with tokens)",
            .source = "docs/rules.md#gw",
            .hint = "Name as the sender the agent that the token is for, or use that sender's "
                    "token.",
        },
    [PARLEY_GW_SPELLING] =
        {
            .id = "GW-103",
            .severity = PARLEY_WARNING,
            .summary = "no member that the protocol does not name is one letter from one that it "
                       "names and that is missing (reported by /validate and `parley check` only)",
            .source = "docs/rules.md#gw",
            .hint = "Rename the member if its name is misspelt. A member that the protocol does "
                    "not name is forwarded, but not checked.",
        },
};
