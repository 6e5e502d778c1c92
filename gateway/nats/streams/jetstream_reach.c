/* SPDX-License-Identifier: Apache-2.0 */

#include "jetstream_reach.h"

#include <string.h>

enum { LOST_MS = 30000 };

static struct jetstream_check *check_after(const struct jetstream *jetstream, const char *stream,
                                           const struct jetstream_check *previous) {
    struct jetstream_check *checks = jetstream->setup.checks;
    const size_t count = jetstream_check_count(jetstream);
    for (size_t i = previous != NULL ? (size_t)(previous - checks) + 1 : 0; i < count; i++) {
        if (checks[i].copies > 1 && strcmp(checks[i].place.stream, stream) == 0) {
            return &checks[i];
        }
    }
    return NULL;
}

bool jetstream_reach_of(const struct jetstream *jetstream, const char *stream, uint64_t *out) {
    const struct jetstream_check *check = check_after(jetstream, stream, NULL);
    const bool has_copies = check != NULL;
    *out = 0;
    for (; check != NULL; check = check_after(jetstream, stream, check)) {
        *out = check->reached > *out ? check->reached : *out;
    }
    return has_copies;
}

void jetstream_reach_note(struct jetstream *jetstream, const char *stream, uint64_t sequence) {
    struct jetstream_check *check = check_after(jetstream, stream, NULL);
    for (; check != NULL; check = check_after(jetstream, stream, check)) {
        check->reached = sequence > check->reached ? sequence : check->reached;
    }
}

void jetstream_reach_look(struct jetstream_check *check, uint64_t last_sequence) {
    const int64_t now_ms = reactor_now_ms(check->jetstream->reactor);
    if (last_sequence >= check->reached) {
        check->is_short = false;
    } else if (!check->is_short) {
        check->is_short = true;
        check->short_ms = now_ms;
    }
    if (!check->is_short || now_ms - check->short_ms >= LOST_MS) {
        check->reached = last_sequence;
        check->is_short = false;
    }
}
