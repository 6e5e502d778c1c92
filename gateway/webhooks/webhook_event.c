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

const char *webhook_source_event(const struct webhook_source *source) {
    return source->notice != NULL ? source->notice->event
           : source->is_of_losses ? webhook_lost
                                  : webhook_halted;
}

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
    write_head(out, webhook_source_event(source), stored->time_ns / NS_A_S);
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

/* ---- moments ---- */

static enum webhook_writing write_task(const struct webhook *webhook,
                                       const struct webhook_source *source,
                                       const struct jetstream_stored *stored,
                                       struct parley_arena *arena, struct parley_buffer *out) {
    struct json_field fields[] = {{.name = "domain"}, {.name = "from"}};
    const enum json_fields_result read = json_fields_read(stored->payload, fields, 2, arena, NULL);
    if (read == JSON_FIELDS_MEMORY) {
        return WEBHOOK_FAILED;
    }
    if (read != JSON_FIELDS_READ || !webhook_list_has(webhook->domains, fields[0].text) ||
        !webhook_list_has(webhook->senders, fields[1].text)) {
        return WEBHOOK_OTHER;
    }
    write_begin(out, source, stored);
    parley_buffer_text(out, ",\"task\":");
    parley_buffer_append(out, stored->payload);
    return end(out);
}

/* A key that was deleted has no value. */
enum webhook_writing webhook_event_write_moment(const struct webhook *webhook,
                                                const struct webhook_source *source,
                                                const struct jetstream_stored *stored,
                                                struct parley_buffer *out) {
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    const enum webhook_writing written = stored->payload.length > WEBHOOK_MESSAGE_BYTES_MAX
                                             ? WEBHOOK_OTHER
                                             : write_task(webhook, source, stored, &arena, out);
    parley_arena_finish(&arena);
    return written;
}

/* ---- agents ---- */

/* An agent belongs to no domain. */
static enum webhook_writing write_agent(const struct webhook *webhook,
                                        const struct webhook_source *source,
                                        const struct jetstream_stored *stored,
                                        struct parley_arena *arena, struct parley_buffer *out) {
    struct json_field field = {.name = "agent"};
    const enum json_fields_result read = json_fields_read(stored->payload, &field, 1, arena, NULL);
    if (read == JSON_FIELDS_MEMORY) {
        return WEBHOOK_FAILED;
    }
    if (read != JSON_FIELDS_READ || field.text.data == NULL || webhook->domains != NULL ||
        !webhook_list_has(webhook->senders, field.text)) {
        return WEBHOOK_OTHER;
    }
    write_begin(out, source, stored);
    parley_buffer_text(out, ",\"agent\":");
    parley_buffer_append(out, stored->payload);
    return end(out);
}

enum webhook_writing webhook_event_write_loss(const struct webhook *webhook,
                                              const struct webhook_source *source,
                                              const struct jetstream_stored *stored,
                                              struct parley_buffer *out) {
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    const enum webhook_writing written = stored->payload.length > WEBHOOK_MESSAGE_BYTES_MAX
                                             ? WEBHOOK_OTHER
                                             : write_agent(webhook, source, stored, &arena, out);
    parley_arena_finish(&arena);
    return written;
}

/* ---- halts ---- */

/* A halt belongs to no domain. A key that is released, or deleted, is not one any more. */
static bool wants_halt(const struct webhook *webhook, const struct halt_value *halt) {
    return halt->name.data != NULL && halt->released_at.data == NULL && webhook->domains == NULL &&
           webhook_list_has(webhook->senders, halt->by);
}

enum webhook_writing webhook_event_write_halt(const struct webhook *webhook,
                                              const struct webhook_source *source,
                                              const struct jetstream_stored *stored,
                                              struct parley_buffer *out) {
    struct parley_arena arena;
    struct halt_value halt = {0};
    parley_arena_init(&arena, 0);
    enum webhook_writing written = WEBHOOK_FAILED;
    const bool is_small = stored->payload.length <= WEBHOOK_MESSAGE_BYTES_MAX;
    if (is_small && halt_value_read(stored->payload, &arena, &halt) != PARLEY_OK) {
        written = WEBHOOK_FAILED;
    } else if (!wants_halt(webhook, &halt)) {
        written = WEBHOOK_OTHER;
    } else {
        write_begin(out, source, stored);
        parley_buffer_text(out, ",\"halt\":");
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
