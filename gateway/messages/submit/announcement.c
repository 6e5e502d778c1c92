/* SPDX-License-Identifier: Apache-2.0 */

#include "announcement.h"

#include "channel.h"
#include "publication.h"

static enum parley_status prepare(struct gateway *gateway, const struct announcement *announcement,
                                  struct publication *out) {
    struct parley_message *message = gateway_message(gateway, announcement->protocol);
    const struct channel *channel =
        channel_find(gateway->configuration->channels, announcement->protocol);
    const struct parley_options options = {.subject_prefix = channel->prefix};
    const struct publication_context context = {.identities = &gateway->identities};
    PARLEY_TRY(parley_message_check(message, announcement->text, &parley_codec_json, &options,
                                    (struct parley_position){1, 1}));
    return parley_message_is_valid(message)
               ? publication_prepare(message, &context, 1, (struct parley_bytes){0},
                                     gateway_payload(gateway), out)
               : PARLEY_E_UNSUPPORTED;
}

/* Returns: whether there is room for it. */
static bool add_header(struct publication *publication, struct bus_header header) {
    const bool has_room = publication->header_count < PUBLICATION_HEADERS_MAX;
    if (has_room) {
        publication->headers[publication->header_count++] = header;
    }
    return has_room;
}

enum jetstream_publish announcement_publish(struct gateway *gateway,
                                            const struct announcement *announcement,
                                            jetstream_ack_fn *done, void *context) {
    struct publication publication;
    const struct bus_header message_id = {"Nats-Msg-Id", announcement->message_id};
    enum jetstream_publish published = JETSTREAM_FAILED;
    if (prepare(gateway, announcement, &publication) == PARLEY_OK &&
        add_header(&publication, message_id) &&
        (announcement->header.name == NULL || add_header(&publication, announcement->header))) {
        const struct jetstream_message message = {.subject = publication.route.subject.data,
                                                  .headers = publication.headers,
                                                  .header_count = publication.header_count,
                                                  .payload = publication.payload};
        published = jetstream_publish(gateway->jetstream, &message, done, context);
    }
    gateway_forget_message(gateway, announcement->protocol);
    return published;
}
