/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The requests of an ordered consumer to the server: how many messages, how many bytes, and when.
 * Private to ordered_*.c. */

#include "ordered_state.h"

/* Requests more, if that is due. Does nothing unless the consumer is running. */
void ordered_flow_top_up(struct ordered_consumer *consumer);
/* A message of `bytes` came. */
void ordered_flow_received(struct ordered_consumer *consumer, size_t bytes);
/* A request ended early: `left` of its messages will not come.
 * Returns: false if a message for which it had no room will not come either, unless the consumer is
 * replaced. */
bool ordered_flow_request_ended(struct ordered_consumer *consumer, size_t left,
                                bool is_out_of_bytes);
/* A message is about to be delivered. */
void ordered_flow_delivering(struct ordered_consumer *consumer);
/* Called after a message was delivered: ends a pull that is exhausted, or for which the next
 * message would hardly fit. */
void ordered_flow_delivered(struct ordered_consumer *consumer);
/* Ends requests of which the server has not reported the end in time. */
void ordered_flow_expire(struct ordered_consumer *consumer, int64_t now_ms);
/* Deletes the consumer on the server. Its requests count until the server has confirmed that. */
void ordered_flow_drop(struct ordered_consumer *consumer);
/* Gives the bytes that are free to the consumers that wait for them. */
void ordered_flow_serve_queue(struct jetstream *jetstream);
/* Forgets the requests of consumers that were deleted. */
void ordered_flow_forget_debts(struct jetstream *jetstream);
