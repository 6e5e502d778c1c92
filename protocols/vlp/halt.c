/* SPDX-License-Identifier: Apache-2.0 */

/* A block halts its session, or its sender's messages without a session: those for the lane safe
 * are refused until people release it (overview, "IF block → HALT"). Review does not latch, and
 * review and block always pass, so that people can still be told. A block that breaks a rule is
 * refused, and halts all the same, if its level and its session or sender can be read. */

#include "vlp.h"

#include "json_reader.h"
#include "text.h"

static const char *const kinds[] = {"session", "sender", NULL};

enum { WHY_MAX = 256 };

/* ---- why: `content`, if it is a text. It is no capture, for other messages do not need it. ----
 */

struct content {
    bool is_in_object;
    struct parley_bytes text;
};

static bool content_value(void *context, const struct parley_value *value) {
    struct content *content = context;
    const bool is_message = !content->is_in_object;
    content->is_in_object = true;
    if (!is_message) {
        content->text = parley_value_text(value);
    }
    return is_message;
}

static bool content_key(void *context, struct parley_bytes key) {
    (void)context;
    return parley_bytes_equal(key, PARLEY_BYTES("content"));
}

static void content_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

static enum parley_status read_content(struct parley_message *message, struct parley_bytes *out) {
    struct content content = {0};
    struct json_fault fault;
    const struct json_events events = {
        .context = &content, .value = content_value, .key = content_key, .leave = content_leave};
    if (json_reader_read(message->text, &events, &message->arena, NULL, &fault) !=
        JSON_READER_READ) {
        return PARLEY_E_MEMORY; /* this text was read before: it has no fault */
    }
    *out = text_prefix(content.text, WHY_MAX);
    return PARLEY_OK;
}

/* ---- the route ---- */

/* Whether it says which conversation it is of. A session that is not a text is none that a valid
 * message could be of; neither is the empty sender. */
static bool names_conversation(const struct parley_message *message,
                               const struct parley_route *route) {
    return route->thread.data != NULL ||
           (parley_value_is_nothing(&message->values[VLP_SESSION_ID]) && route->sender.length > 0);
}

enum parley_status vlp_halt(struct parley_message *message, enum vlp_lane lane,
                            struct parley_route *out) {
    const bool has_session = out->thread.data != NULL;
    const bool is_valid = parley_message_is_valid(message);
    if (!is_valid && (lane != VLP_BLOCK || !names_conversation(message, out))) {
        return PARLEY_OK;
    }
    out->halt_role = lane == VLP_BLOCK  ? PARLEY_HALT_LATCHES
                     : lane == VLP_SAFE ? PARLEY_HALT_OBEYS
                                        : PARLEY_HALT_NONE;
    out->halt_kind = kinds[has_session ? 0 : 1];
    out->halt_name = has_session ? out->thread : out->sender;
    return lane == VLP_BLOCK ? read_content(message, &out->halt_why) : PARLEY_OK;
}

/* ---- the notice ---- */

static void write_release(const struct parley_release *release, struct parley_buffer *out) {
    const bool has_session = release->kind != NULL && strcmp(release->kind, kinds[0]) == 0;
    const bool has_sender = release->kind != NULL && !has_session;
    const struct parley_bytes none = {0};
    vlp_notice_write(&(struct vlp_notice){.id = parley_bytes_of(release->id),
                                          .now = parley_bytes_of(release->now),
                                          .sender = PARLEY_BYTES("parley"),
                                          .session = has_session ? release->name : none,
                                          .receiver = has_sender ? release->name : none,
                                          .title = "Halt released: ",
                                          .text = release->reason,
                                          .source = "parley:halts",
                                          .refers_to = release->ids,
                                          .reference_count = release->id_count},
                     out);
}

const struct parley_halts_kind vlp_halts = {
    .bucket = "parley_halts",
    .subjects = "block.>",
    .kinds = kinds,
    .mode = &vlp_options[VLP_ON_HALT],
    .write_release = write_release,
};
