/* SPDX-License-Identifier: Apache-2.0 */

/* What a message says of itself: the members of its route, and what its protocol adds. */

#include <parley/index.h>
#include <parley/message.h>

enum parley_status parley_message_index(struct parley_message *message, struct parley_buffer *words,
                                        struct parley_index_entry *out) {
    const struct parley_index_kind *kind = message->protocol->index;
    struct parley_route route;
    if (kind == NULL) {
        return PARLEY_E_UNSUPPORTED;
    }
    PARLEY_TRY(parley_message_route(message, &route));
    const bool has_many = route.receiver_count > PARLEY_INDEX_RECEIVERS_MAX;
    out->id = route.id;
    out->type = route.type;
    out->lane = route.lane;
    out->source = route.source;
    out->thread = route.thread;
    out->sender = route.sender;
    out->agent = route.agent;
    out->time = route.time;
    out->part = 0;
    out->receivers = route.receivers;
    out->receiver_count = has_many ? PARLEY_INDEX_RECEIVERS_MAX : route.receiver_count;
    out->reference_count = 0;
    out->members_length = 0;
    out->is_waiting = false;
    out->has_more = has_many;
    out->words = words;
    const enum parley_status status = kind->read(message, out);
    return status == PARLEY_OK && words != NULL ? parley_buffer_status(words) : status;
}
