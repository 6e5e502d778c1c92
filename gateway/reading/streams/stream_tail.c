/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_tail.h"

static void on_held(void *context, const struct jetstream_held *held) {
    struct stream_tail *rest = context;
    rest->request = NULL;
    if (held->found != JETSTREAM_HELD_UNKNOWN) {
        rest->known(rest, held->found == JETSTREAM_HELD_FOUND ? held->sequence : UINT64_MAX);
    }
}

void stream_tail_ask(struct stream_tail *rest, const struct stream_hub *hub, uint64_t from) {
    if (rest->request == NULL) {
        rest->from = from;
        rest->request = jetstream_next_held_ask(hub->jetstream, stream_hub_channel(hub)->stream,
                                                stream_hub_filter(hub), from, on_held, rest);
    }
}

uint64_t stream_tail_bound(const struct stream_tail *rest, uint64_t first, uint64_t bound) {
    return rest->from <= bound && first > bound ? rest->from - 1 : bound;
}

void stream_tail_forget(struct stream_tail *rest) {
    jetstream_request_cancel(rest->request);
    rest->request = NULL;
}
