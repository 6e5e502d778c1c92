/* SPDX-License-Identifier: Apache-2.0 */

/* Answers in a dialect: what the contract's messages say to who speaks it. */

#include <parley/dialect.h>
#include <parley/message.h>

#include "json_pick.h"
#include "json_skip.h"

/* Appends a message of the contract as the dialect says it; nothing, if it does not. */
static enum parley_status write_message(const struct parley_dialect *dialect,
                                        struct parley_message *message, struct parley_bytes text,
                                        struct parley_bytes request, struct parley_buffer *out) {
    static const struct parley_options none;
    PARLEY_TRY(parley_message_check(message, text, &parley_codec_json, &none,
                                    (struct parley_position){1, 1}));
    return parley_message_is_valid(message) ? dialect->from_contract(message, request, out)
                                            : PARLEY_OK;
}

static enum parley_status write_event(const struct parley_dialect *dialect,
                                      struct parley_message *message, struct parley_bytes event,
                                      struct parley_bytes request, struct parley_buffer *out) {
    struct json_pick data = {.name = "data"};
    PARLEY_TRY(json_pick(event, &message->arena, &data, 1));
    const size_t start = data.value.offset;
    if (data.value.kind != PARLEY_OBJECT || dialect->from_contract == NULL) {
        parley_buffer_append(out, event);
        return parley_buffer_status(out);
    }
    const size_t end = json_skip_value(event, start);
    const size_t before = out->length + start;
    parley_buffer_append(out, (struct parley_bytes){event.data, start});
    PARLEY_TRY(write_message(dialect, message,
                             (struct parley_bytes){event.data + start, end - start}, request, out));
    const size_t rest = out->length > before ? end : start;
    parley_buffer_append(out, (struct parley_bytes){event.data + rest, event.length - rest});
    return parley_buffer_status(out);
}

enum parley_status parley_dialect_event(const struct parley_dialect *dialect,
                                        const struct parley_schema *schema,
                                        struct parley_bytes event, struct parley_bytes request,
                                        struct parley_buffer *out) {
    struct parley_message message;
    parley_message_init(&message, schema);
    const enum parley_status status = write_event(dialect, &message, event, request, out);
    parley_message_finish(&message);
    return status;
}
