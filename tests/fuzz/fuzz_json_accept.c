/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the fast path. Whatever the bytes: what it accepts, the careful readers accept, and they
 * see the same facts. */

#include "fuzz.h"

#include "lib/protocol_options.h"
#include "lib/cases.h"
#include "lib/json_accept_pair.h"

/* Made once: what is asked is what a schema does, not how it is made. */
static struct json_accept_pair *pair_of(size_t number, const char *protocol) {
    static struct {
        struct parley_schema *schema;
        struct json_accept_pair both;
    } pairs[3];
    if (pairs[number].schema == NULL) {
        const enum parley_status status = parley_schema_create(
            parley_protocol_find(parley_bytes_of(protocol)), &pairs[number].schema);
        require(status == PARLEY_OK, "the schema is made");
        json_accept_pair_init(&pairs[number].both, pairs[number].schema);
    }
    return &pairs[number].both;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"vlp", "roundtable", "supervisor"};
    const struct parley_bytes text = {(const char *)data, size};
    /* Options by the size, so that an input is the body and nothing else. */
    const struct parley_options asked = {.now_seconds = (size & 2) != 0 ? CASES_NOW_SECONDS : 0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct json_accept_pair *both = pair_of(i, names[i]);
        struct parley_options options = asked;
        set_option(&options, parley_protocol_find(parley_bytes_of(names[i])), "strict",
                   (size & 1) != 0 ? "true" : "false");
        require(json_accept_pair_agree(both, text, &options), both->difference);
    }
    return 0;
}
