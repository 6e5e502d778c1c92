/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Dialects: what programs that exist send in place of a protocol's messages (ADR 43). A protocol
 * gives a table of them. Its functions are pure, and fill in only what can be known; what is
 * missing then is the rules' to refuse. */

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

struct parley_message;
struct parley_protocol;
struct parley_schema;

struct parley_dialect {
    const char *name;    /* [a-z0-9-]+, unique in its protocol */
    const char *summary; /* whose it is, and what it sends: one sentence, Markdown */

    /* Writes the JSON of the contract's message that message->text means, on one line.  `message`:
     * decoded, and not checked; its options say when and where it came from. Writes nothing if the
     * text is the contract's already, or nothing that the dialect knows.
     * Threads: any; one message at a time per thread. */
    enum parley_status (*to_contract)(struct parley_message *message, struct parley_buffer *out);
    /* Writes a valid message of the contract as the dialect says it. `request`: the text of the
     * message that it answers, of the contract; data NULL: it is not known. Writes nothing
     * if the dialect has no such message. NULL: the dialect reads the contract's messages. */
    enum parley_status (*from_contract)(struct parley_message *message, struct parley_bytes request,
                                        struct parley_buffer *out);
};

/* Returns: NULL when the protocol has no dialect of that name. */
const struct parley_dialect *parley_dialect_find(const struct parley_protocol *protocol,
                                                 struct parley_bytes name);

/* Appends the names of a protocol's dialects for an error text: "knights", "a or b"; "left out:
 * vlp has no dialects". */
void parley_dialects_describe(const struct parley_protocol *protocol, struct parley_buffer *out);

/* Appends an event, which is JSON and whose last member is `data`, a message of the contract: as it
 * is, but for its data in the dialect's words, where that has them.  `schema`: of the protocol.
 * `request`: as of from_contract.  Returns: PARLEY_E_MEMORY. */
enum parley_status parley_dialect_event(const struct parley_dialect *dialect,
                                        const struct parley_schema *schema,
                                        struct parley_bytes event, struct parley_bytes request,
                                        struct parley_buffer *out) PARLEY_MUST_CHECK;
