/* SPDX-License-Identifier: Apache-2.0 */

#include "window_share.h"

/* From the most urgent priority of a protocol down; those below the last have its share. */
static const unsigned shares[] = {100, 95, 85, 70};
enum { SHARE_COUNT = sizeof shares / sizeof shares[0], SHARE_OF_NONE = 85 };

unsigned window_share(const struct parley_protocol *protocol, struct parley_bytes priority) {
    if (protocol->priorities == NULL || priority.data == NULL) {
        return SHARE_OF_NONE;
    }
    size_t count = 0, rank = 0;
    for (; protocol->priorities[count] != NULL; count++) {
        if (parley_bytes_equal(priority, parley_bytes_of(protocol->priorities[count]))) {
            rank = count;
        }
    }
    const size_t below_top = count - 1 - rank;
    return shares[below_top < SHARE_COUNT ? below_top : SHARE_COUNT - 1];
}
