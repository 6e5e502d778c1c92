/* SPDX-License-Identifier: Apache-2.0 */

#include "webhook_event.h"

#include <parley/notice.h>

#include "halt_value.h"
#include "json_fields.h"
#include "text.h"

enum {
    STORED_BYTES_MAX = 64 * 1024 * 1024, /* the most that NATS takes */
    TEXT_BYTES_MAX = 256,
    NS_A_S = 1000000000,
};

/* ---- text ---- */

/* `name`: with what precedes the value: `,"id":`. Long texts are cut. */
static void write_member(struct parley_buffer *out, const char *name, struct parley_bytes text) {
    if (text.data != NULL) {
        parley_buffer_text(out, name);
        parley_buffer_json(out, text_prefix(text, TEXT_BYTES_MAX));
    }
}

static void write_head(struct parley_buffer *out, const char *event, int64_t time_s) {
    char time[TEXT_TIME_SIZE];
    text_write_unix_time((double)time_s, time);
    write_member(out, "{\"type\":", parley_bytes_of(event));
    write_member(out, ",\"timestamp\":", parley_bytes_of(time));
    parley_buffer_text(out, ",\"data\":{");
}

static void write_begin(struct parley_buffer *out, const struct webhook_source *source,
                        const struct jetstream_stored *stored) {
    write_head(out, source->event, stored->time_ns / NS_A_S);
    write_member(out, "\"protocol\":", parley_bytes_of(source->channel->protocol->name));
}

static enum webhook_writing end(struct parley_buffer *out) {
    parley_buffer_text(out, "}}");
    return out->has_failed ? WEBHOOK_FAILED : WEBHOOK_WRITTEN;
}

/* ---- messages ---- */

static void write_place(struct parley_buffer *out, struct parley_bytes stream,
                        const struct jetstream_stored *stored) {
    write_member(out, ",\"stream\":", stream);
    parley_buffer_text(out, ",\"sequence\":");
    parley_buffer_uint(out, stored->sequence);
    if (stored->subject != NULL) {
        write_member(out, ",\"subject\":", parley_bytes_of(stored->subject));
    }
}

static void write_route(struct parley_buffer *out, const struct parley_route *route) {
    write_member(out, ",\"message_type\":", route->type);
    write_member(out, ",\"id\":", route->id);
    write_member(out, ",\"sender\":", route->sender);
    if (route->receiver_count == 1) {
        write_member(out, ",\"receiver\":", route->receivers[0]);
    }
    write_member(out, ",\"thread\":", route->thread);
    write_member(out, ",\"domain\":", route->domain);
    write_member(out, ",\"lane\":", route->lane);
}

static bool wants_message(const struct webhook *webhook, const struct parley_route *route) {
    return webhook_list_has(webhook->domains, route->domain) &&
           webhook_list_has(webhook->senders, route->sender);
}

static enum webhook_writing try_message(const struct webhook *webhook,
                                        const struct webhook_source *source,
                                        struct parley_bytes stream,
                                        const struct jetstream_stored *stored,
                                        struct parley_buffer *out) {
    struct parley_route route;
    struct parley_message *message = source->message;
    struct parley_options options = {
        .message_bytes_max = STORED_BYTES_MAX,
        .subject_prefix = source->channel->prefix,
        .dialect = source->channel->dialect,
        .now_seconds = source->channel->dialect != NULL ? stored->time_ns / NS_A_S : 0,
        .stored_subject = stored->subject,
        .has_object = true};
    memcpy(options.values, source->values, sizeof options.values);
    if (parley_message_check(message, stored->payload, &parley_codec_json, &options,
                             (struct parley_position){1, 1}) != PARLEY_OK) {
        return WEBHOOK_FAILED;
    }
    if (!parley_message_is_valid(message)) {
        return WEBHOOK_OTHER;
    }
    if (parley_message_route(message, &route) != PARLEY_OK) {
        return WEBHOOK_FAILED;
    }
    if (!wants_message(webhook, &route)) {
        return WEBHOOK_OTHER;
    }
    write_begin(out, source, stored);
    write_place(out, stream, stored);
    write_route(out, &route);
    if (stored->payload.length <= WEBHOOK_MESSAGE_BYTES_MAX) {
        parley_buffer_text(out, ",\"message\":");
        parley_buffer_append(out, message->dialect != NULL ? message->sent : stored->payload);
    }
    return end(out);
}

enum webhook_writing webhook_event_write_message(const struct webhook *webhook,
                                                 const struct webhook_source *source,
                                                 struct parley_bytes stream,
                                                 const struct jetstream_stored *stored,
                                                 struct parley_buffer *out) {
    const enum webhook_writing written = try_message(webhook, source, stream, stored, out);
    parley_message_reset(source->message);
    return written;
}

enum webhook_writing webhook_event_write_gone(const struct webhook_source *source,
                                              const struct fact_place *place, int64_t time_ns,
                                              struct parley_buffer *out) {
    const struct jetstream_stored stored = {.sequence = place->sequence, .time_ns = time_ns};
    write_begin(out, source, &stored);
    write_place(out, parley_bytes_of(place->stream), &stored);
    return end(out);
}

/* ---- keys ---- */

/* The value of a key, as far as webhooks choose by it. */
struct key_value {
    bool is_event;
    struct parley_bytes domain, sender; /* data NULL: it has none */
};

static enum parley_status read_moment(struct parley_bytes text, struct parley_arena *arena,
                                      struct key_value *out) {
    struct json_field fields[] = {{.name = "domain"}, {.name = "from"}};
    const enum json_fields_result read = json_fields_read(text, fields, 2, arena, NULL);
    *out = (struct key_value){
        .is_event = read == JSON_FIELDS_READ, .domain = fields[0].text, .sender = fields[1].text};
    return read == JSON_FIELDS_MEMORY ? PARLEY_E_MEMORY : PARLEY_OK;
}

static enum parley_status read_loss(struct parley_bytes text, struct parley_arena *arena,
                                    struct key_value *out) {
    struct json_field agent = {.name = "agent"};
    const enum json_fields_result read = json_fields_read(text, &agent, 1, arena, NULL);
    *out = (struct key_value){.is_event = read == JSON_FIELDS_READ && agent.text.data != NULL,
                              .sender = agent.text};
    return read == JSON_FIELDS_MEMORY ? PARLEY_E_MEMORY : PARLEY_OK;
}

/* It is of the agent that asked for the acknowledgement. */
static enum parley_status read_overdue(struct parley_bytes text, struct parley_arena *arena,
                                       struct key_value *out) {
    struct json_field fields[] = {{.name = "message"}, {.name = "sender"}};
    const enum json_fields_result read = json_fields_read(text, fields, 2, arena, NULL);
    *out = (struct key_value){.is_event = read == JSON_FIELDS_READ && fields[0].text.data != NULL,
                              .sender = fields[1].text};
    return read == JSON_FIELDS_MEMORY ? PARLEY_E_MEMORY : PARLEY_OK;
}

static enum parley_status read_halt(struct parley_bytes text, struct parley_arena *arena,
                                    struct key_value *out) {
    struct halt_value halt;
    PARLEY_TRY(halt_value_read(text, arena, &halt));
    *out = (struct key_value){.is_event = halt.name.data != NULL && halt.released_at.data == NULL,
                              .sender = halt.by};
    return PARLEY_OK;
}

static const struct key_kind {
    const char *member; /* of the event's data: the value */
    enum parley_status (*read)(struct parley_bytes text, struct parley_arena *arena,
                               struct key_value *out);
} key_kinds[] = {
    [WEBHOOK_KEY_MOMENT] = {",\"task\":", read_moment},
    [WEBHOOK_KEY_LOSS] = {",\"agent\":", read_loss},
    [WEBHOOK_KEY_OVERDUE] = {",\"acknowledgement\":", read_overdue},
    [WEBHOOK_KEY_HALT] = {",\"halt\":", read_halt},
};

/* A webhook with domains does not want what belongs to none. */
static bool wants_key(const struct webhook *webhook, const struct key_value *value) {
    return value->is_event &&
           (webhook->domains == NULL ||
            (value->domain.data != NULL && webhook_list_has(webhook->domains, value->domain))) &&
           webhook_list_has(webhook->senders, value->sender);
}

enum webhook_writing webhook_event_write_key(const struct webhook *webhook,
                                             const struct webhook_source *source,
                                             const struct jetstream_stored *stored,
                                             struct parley_buffer *out) {
    const struct key_kind *kind = &key_kinds[source->key];
    struct parley_arena arena;
    struct key_value value;
    if (stored->payload.length > WEBHOOK_MESSAGE_BYTES_MAX) {
        return WEBHOOK_OTHER;
    }
    parley_arena_init(&arena, 0);
    const enum parley_status status = kind->read(stored->payload, &arena, &value);
    enum webhook_writing written = status == PARLEY_OK ? WEBHOOK_OTHER : WEBHOOK_FAILED;
    if (status == PARLEY_OK && wants_key(webhook, &value)) {
        write_begin(out, source, stored);
        parley_buffer_text(out, kind->member);
        parley_buffer_append(out, stored->payload);
        written = end(out);
    }
    parley_arena_finish(&arena);
    return written;
}

/* ---- a test ---- */

void webhook_event_write_test(const struct webhook *webhook, int64_t now_s,
                              struct parley_buffer *out) {
    write_head(out, "webhook.test", now_s);
    write_member(out, "\"webhook\":", parley_bytes_of(webhook->name));
    parley_buffer_text(out, "}}");
}
