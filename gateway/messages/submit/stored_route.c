/* SPDX-License-Identifier: Apache-2.0 */

#include "stored_route.h"

enum { STORED_BYTES_MAX = 64 * 1024 * 1024 }; /* the most that NATS takes */

enum parley_status stored_route_read(struct parley_message *message, const struct channel *channel,
                                     const char *subject, struct parley_bytes payload,
                                     struct parley_route *out) {
    const struct parley_options options = {.message_bytes_max = STORED_BYTES_MAX,
                                           .subject_prefix = channel->prefix,
                                           .dialect = channel->dialect,
                                           .stored_subject = subject};
    *out = (struct parley_route){0};
    PARLEY_TRY(parley_message_check(message, payload, &parley_codec_json, &options,
                                    (struct parley_position){1, 1}));
    return message->is_decoded ? parley_message_route(message, out) : PARLEY_OK;
}
