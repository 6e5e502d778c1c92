/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the fast reader of MessagePack. Whatever the bytes: it is unsure of faults alone, what it
 * finds right is right, and it sees the facts that others see. */

#include "fuzz.h"

#include "lib/protocol_options.h"
#include "lib/msgpack_pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const sides[] = {NULL, NULL, "gerbil", "elixir"};
    /* Made once: what is asked is what a schema does, not how it is made. */
    static struct parley_schema *schema;
    static struct msgpack_pair pair;
    static const struct parley_codec *codec;
    if (schema == NULL) {
        const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("supervisor"));
        require(parley_schema_create(protocol, &schema) == PARLEY_OK, "the schema is made");
        codec = parley_codec_find(protocol, PARLEY_BYTES("application/msgpack"));
        msgpack_pair_init(&pair, schema);
    }
    /* Options by the size, so that an input is the body and nothing else. */
    struct parley_options options = {.stamp = false};
    set_option(&options, parley_protocol_find(PARLEY_BYTES("supervisor")), "from", sides[size & 3]);
    require(
        msgpack_pair_agree(&pair, (struct parley_bytes){(const char *)data, size}, codec, &options),
        pair.difference);
    return 0;
}
