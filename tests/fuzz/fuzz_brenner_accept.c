/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the fast path of Brenner messages: whatever the bytes, nothing that is told of them
 * depends on the way that they took. An input is a message, and a body. */

#include "fuzz.h"

#include "brenner/brenner.h"
#include "brenner/markdown.h"
#include "lib/brenner_accept_pair.h"

/* Made once: what is asked is what a schema does, not how it is made. */
static struct brenner_accept_pair *get_pair(void) {
    static struct parley_schema *schema;
    static struct brenner_accept_pair both;
    if (schema == NULL) {
        const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("brenner"));
        require(parley_schema_create(protocol, &schema) == PARLEY_OK, "the schema is made");
        brenner_accept_pair_init(&both, schema);
    }
    return &both;
}

/* As a message, and as a body: below front matter, by the first byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const subjects[] = {"DELTA[a]", "KICKOFF", "COMPILED", "CRITIQUE", "ACK",
                                           "CLAIM",    "HANDOFF", "BLOCKED",  "QUESTION", "INFO"};
    struct brenner_accept_pair *both = get_pair();
    const struct parley_bytes text = {(const char *)data, size};
    require(brenner_accept_pair_agree(
                both, text, markdown_begins(text) ? &brenner_codec_markdown : &parley_codec_json),
            "a message has one verdict");
    if (size == 0) {
        return 0;
    }
    struct parley_buffer message;
    parley_buffer_init(&message);
    parley_buffer_format(&message, "---\nsubject: \"%s: x\"\nack_required: %s\n---\n",
                         subjects[data[0] % 10], (data[0] & 64) != 0 ? "true" : "false");
    parley_buffer_append(&message, (struct parley_bytes){text.data + 1, size - 1});
    require(brenner_accept_pair_agree(both, parley_buffer_bytes(&message), &brenner_codec_markdown),
            "a body has one verdict");
    parley_buffer_finish(&message);
    return 0;
}
