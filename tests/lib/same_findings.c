/* SPDX-License-Identifier: Apache-2.0 */

#include "same_findings.h"

#include <string.h>

static bool is_same(const struct parley_finding *a, const struct parley_finding *b,
                    bool has_offsets) {
    return a->rule == b->rule && (!has_offsets || a->offset == b->offset) &&
           strcmp(a->path, b->path) == 0 && strcmp(a->message, b->message) == 0 &&
           strcmp(a->hint, b->hint) == 0;
}

bool findings_are_the_same(const struct parley_findings *a, const struct parley_findings *b,
                           bool has_offsets) {
    size_t same = 0;
    while (same < a->count && same < b->count &&
           is_same(&a->items[same], &b->items[same], has_offsets)) {
        same++;
    }
    return same == a->count && same == b->count && a->omitted_count == b->omitted_count &&
           a->has_error == b->has_error;
}
