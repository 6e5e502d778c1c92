/* SPDX-License-Identifier: Apache-2.0 */

/* Where a VLP message goes: vlp.<lane>.<type>. Lanes only sort messages: a reader of vlp.safe.>
 * does not see a block, and continues. What halts is in halt.c. */

#include "vlp.h"

#include "text.h"

/* The lane is safety.level; without `safety` it is safe. One that cannot be read is none: its place
 * is that of the NULL after the lanes. */
static enum vlp_lane lane_of(const struct parley_message *message) {
    if (message->values[VLP_SAFETY].kind == PARLEY_ABSENT) {
        return VLP_SAFE;
    }
    return (enum vlp_lane)text_choice(parley_message_text(message, VLP_SAFETY_LEVEL), vlp_lanes);
}

/* Lane and type are from closed lists, so that no token needs a check. */
static enum parley_status address(struct parley_message *message, enum vlp_lane lane,
                                  struct parley_route *out) {
    struct parley_arena *arena = &message->arena;
    const struct parley_bytes type = parley_bytes_of(vlp_types[message->type]);
    out->subject = TEXT_JOIN(arena, PARLEY_BYTES("vlp"), parley_bytes_of(vlp_lanes[lane]), type);
    out->type = TEXT_JOIN(arena, PARLEY_BYTES("vlp"), type);
    out->source = text_percent_encode(arena, PARLEY_BYTES("/vlp/"), out->sender);
    return out->subject.data != NULL && out->type.data != NULL && out->source.data != NULL
               ? PARLEY_OK
               : PARLEY_E_MEMORY;
}

enum parley_status vlp_route(struct parley_message *message, struct parley_route *out) {
    const enum vlp_lane lane = lane_of(message);
    *out = (struct parley_route){.id = parley_message_text(message, VLP_ID),
                                 .lane = parley_bytes_of(vlp_lanes[lane]),
                                 .time = parley_message_text(message, VLP_TIMESTAMP),
                                 .sender = parley_message_text(message, VLP_SENDER),
                                 .thread = parley_message_text(message, VLP_SESSION_ID),
                                 .dedupe = PARLEY_DEDUPE_PAYLOAD};
    const struct parley_value *receiver = &message->values[VLP_RECEIVER];
    if (receiver->kind == PARLEY_STRING) {
        out->receivers = &receiver->text;
        out->receiver_count = 1;
    }
    if (parley_message_is_valid(message)) {
        PARLEY_TRY(address(message, lane, out));
    }
    return vlp_halt(message, lane, out);
}
