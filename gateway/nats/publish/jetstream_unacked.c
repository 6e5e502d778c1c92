/* SPDX-License-Identifier: Apache-2.0 */

#include "jetstream_unacked.h"

#include "jetstream.h"
#include "jetstream_placement.h"
#include "jetstream_state.h"

/* A stream that refused one message may take another. */
static bool is_possible(struct jetstream *jetstream, const char *subject, size_t bytes) {
    const struct jetstream_check *check = jetstream_place_check(jetstream, subject);
    const bool takes_messages = check != NULL && check->grade <= JETSTREAM_REFUSES;
    return jetstream_can_publish(jetstream) && takes_messages && bus_is_quiet(jetstream->bus) &&
           bytes <= bus_max_payload_bytes(jetstream->bus);
}

bool jetstream_post(struct jetstream *jetstream, const struct jetstream_message *message) {
    const size_t headers_bytes = bus_headers_bytes(message->headers, message->header_count);
    const size_t bytes = headers_bytes + message->payload.length;
    struct parley_buffer text;
    if (!is_possible(jetstream, message->subject, bytes)) {
        return false;
    }
    parley_buffer_init(&text);
    bool is_sent = parley_buffer_reserve(&text, bytes) &&
                   bus_headers_write(&text, message->headers, message->header_count);
    parley_buffer_append(&text, message->payload);
    is_sent = is_sent && bus_publish_text(jetstream->bus, message->subject, NULL,
                                          parley_buffer_bytes(&text), headers_bytes) == BUS_SENT;
    parley_buffer_finish(&text);
    return is_sent;
}
