/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The meaning of JetStream's err_codes for refused messages. They are read here alone, and of every
 * version of nats-server alike: codes that a version does not send do not occur. */

#include "jetstream_types.h"

enum jetstream_reason {
    JETSTREAM_REASON_OTHER,
    JETSTREAM_REASON_UNDECIDED, /* an earlier message with this id, or to this subject, is on its
                                   way to the replicas: it may be stored, or not */
    JETSTREAM_REASON_BEHIND,    /* the subject has another last message than the expected one */
    JETSTREAM_REASON_NO_LEADER, /* no server listens, or not the one that could store it */
    JETSTREAM_REASON_NO_ROOM,
    JETSTREAM_REASON_OVER_PAYLOAD, /* larger than its server accepts (max_payload): permanent */
    JETSTREAM_REASON_OVER_STREAM,  /* larger than its stream accepts (max_msg_size): permanent */
};

/* `code`: the answer's err_code, JETSTREAM_NO_RESPONDERS or JETSTREAM_OVER_PAYLOAD. */
enum jetstream_reason jetstream_reason_of(int code);

/* Whether a message was refused since its subject has another last message than the one that
 * `Nats-Expected-Last-Subject-Sequence` names. */
bool jetstream_ack_is_behind(const struct jetstream_ack *ack);
