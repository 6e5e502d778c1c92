/* SPDX-License-Identifier: Apache-2.0 */

/* The plugin table: every protocol that parley speaks, a line each. */

#include <parley/protocol.h>

extern const struct parley_protocol vlp_protocol;
extern const struct parley_protocol roundtable_protocol;
extern const struct parley_protocol supervisor_protocol;
extern const struct parley_protocol brenner_protocol;

/* A line each, so that a new one is a line of a change. */
/* clang-format off */
const struct parley_protocol *const parley_protocols[] = {
    &vlp_protocol,
    &roundtable_protocol,
    &supervisor_protocol,
    &brenner_protocol,
    NULL,
};
/* clang-format on */

size_t parley_protocol_count(void) {
    return sizeof parley_protocols / sizeof parley_protocols[0] - 1;
}

const struct parley_protocol *parley_protocol_find(struct parley_bytes name) {
    for (const struct parley_protocol *const *at = parley_protocols; *at != NULL; at++) {
        if (parley_bytes_equal(parley_bytes_of((*at)->name), name)) {
            return *at;
        }
    }
    return NULL;
}
