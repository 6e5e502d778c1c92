/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The id and the signature of a webhook's request.
 * Source: Standard Webhooks 1.0.0, "Signature scheme" and "Webhook Headers"
 * (https://github.com/standard-webhooks/standard-webhooks). */

#include <stdint.h>

#include <parley/buffer.h>

#include "webhook.h"

#define WEBHOOK_ID_SIZE 37 /* "msg_", 32 digits, a NUL */

/* The id of an event, the same each time that it is sent, whichever gateway does it.
 * `stream`, `sequence`, `time_ns`: where and when it was stored. */
void webhook_id_write(const char *event, struct parley_bytes stream, uint64_t sequence,
                      int64_t time_ns, char out[WEBHOOK_ID_SIZE]);

/* Appends the value of webhook-signature: one "v1,…" for each secret, separated by blanks. */
void webhook_sign(const struct webhook *webhook, const char *id, int64_t timestamp_s,
                  struct parley_bytes body, struct parley_buffer *out);
