/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Slows a body of many down to its sender's rate: how much of a piece may be taken now, and when
 * there may be more. Nothing is refused. The bytes taken are charged with each piece, so that
 * bodies and messages of one sender that arrive at the same time share its rate. While the server
 * shuts down no body is slowed, so that received messages are handled in time. */

#include <stdbool.h>

#include "gateway.h"
#include "rate_charge.h"

/* The owner embeds it.
 *
 *   between pieces ── body_throttle_begin ──▶ a piece ── body_throttle_end ──▶ between pieces
 *
 * After a piece of which the rate left something, the timer runs, and no message may be taken. */
struct body_throttle {
    const struct rate_charge *meter;
    const struct gateway *gateway;
    struct http_request *request; /* NULL once it is gone */
    struct reactor_timer timer;
    uint64_t messages_left;  /* that may be taken now */
    uint64_t messages_spent; /* not charged yet */
};

/* Owns: `meter` is borrowed, as long as the pace lives. */
void body_throttle_init(struct body_throttle *pace, const struct rate_charge *meter,
                        const struct gateway *gateway, struct http_request *request);
/* The request is gone. */
void body_throttle_close(struct body_throttle *pace);

/* A piece of `offered` bytes has come.  Returns: how many of them may be taken now. */
size_t body_throttle_begin(struct body_throttle *pace, size_t offered);
/* So many of it were taken: if the rate left any, http_wake follows. */
void body_throttle_end(struct body_throttle *pace, size_t offered, size_t taken);

/* Whether a message may be taken now. */
static inline bool body_throttle_is_open(const struct body_throttle *pace) {
    return pace->messages_left > 0;
}

/* A message was taken. */
void body_throttle_note(struct body_throttle *pace, bool is_valid);
