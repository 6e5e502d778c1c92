/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_codes.h. */

#include "jetstream_codes.h"

#include "jetstream_state.h"

enum jetstream_reason jetstream_reason_of(int code) {
    switch (code) {
    case JETSTREAM_E_ID_IN_PROCESS:
    case JETSTREAM_E_LAST_SEQUENCE_IN_PROCESS:
        return JETSTREAM_REASON_UNDECIDED;
    case JETSTREAM_E_WRONG_LAST_SEQUENCE:
        return JETSTREAM_REASON_BEHIND;
    case JETSTREAM_NO_RESPONDERS:
    case JETSTREAM_E_NOT_AVAILABLE:
        return JETSTREAM_REASON_NO_LEADER;
    case JETSTREAM_E_INSUFFICIENT_RESOURCES:
    case JETSTREAM_E_STORAGE_RESOURCES:
    case JETSTREAM_E_ACCOUNT_RESOURCES:
    case JETSTREAM_E_STORE_FAILED:
    case JETSTREAM_E_MEMORY_RESOURCES:
        return JETSTREAM_REASON_NO_ROOM;
    case JETSTREAM_OVER_PAYLOAD:
        return JETSTREAM_REASON_OVER_PAYLOAD;
    case JETSTREAM_E_MESSAGE_SIZE:
        return JETSTREAM_REASON_OVER_STREAM;
    default:
        return JETSTREAM_REASON_OTHER;
    }
}

bool jetstream_ack_is_behind(const struct jetstream_ack *ack) {
    return ack->outcome == JETSTREAM_REFUSED &&
           jetstream_reason_of(ack->error_code) == JETSTREAM_REASON_BEHIND;
}
