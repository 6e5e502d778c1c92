/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Message objects for messages that earlier ones may decide on: such a message keeps its object
 * while it waits, and its verdict with it. The gateway's own object serves the next message. */

#include "request_options.h"

struct kept_message {
    struct parley_message message;
    struct stamped_values stamped; /* borrowed by the message's options */
    struct parley_buffer text;     /* its bytes, where these would not stay otherwise */
    SLIST_ENTRY(kept_message) link;
};

enum { KEPT_MESSAGES_MAX = 1024 }; /* in use, a worker; 12 KiB each, for most messages */

/* Takes one for a message of this request, before it is checked (check_message_in).
 * Returns: NULL if none of its messages ever waits for others, too many are in use, or there is no
 * memory: then gateway_message() is used, and a message that waits is checked again.
 * Owns: returns a new one, for kept_message_release. */
struct kept_message *kept_message_take(const struct request_options *options);
/* Copies the bytes of its message, before that is checked: `bytes` are the copy's afterwards.
 * Returns: false: no memory. */
bool kept_message_copy(struct kept_message *kept, struct parley_bytes *bytes);
/* NULL is fine. */
void kept_message_release(struct gateway *gateway, struct kept_message *kept);
/* Frees the unused ones. */
void kept_messages_finish(struct gateway *gateway);
