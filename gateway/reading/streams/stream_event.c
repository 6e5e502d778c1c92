/* SPDX-License-Identifier: Apache-2.0 */

/* Renders events, and holds them against filters. Every message is checked again when it is read,
 * since any client may publish to NATS. It deliberately does not decide which reader gets an event,
 * nor in which frame (lines, server-sent events). */

#include "stream_event.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "object_layout.h"
#include "stream_halt.h"
#include "stream_envelope.h"
#include "stream_rejected.h"
#include "stream_review.h"

enum {
    SCRATCH_KEPT_BYTES = 256 * 1024, /* a giant message must not keep its memory */
    SEQUENCE_DIGITS_MAX = 20,
    OWN_ID_MAX = 320, /* a stream's name or a request's id, with its members */
    OWN_DATA_MAX = 512,
    HEADER_ID_MAX = 256,
    NS_A_S = 1000000000,
    REASONS_MAX = 8, /* of a foreign message: that many violations are named */
    /* The limits were asked when a message was accepted, perhaps by a gateway that allows more
     * than this one. NATS takes this at the very most. */
    STORED_BYTES_MAX = 64 * 1024 * 1024,
};

struct stream_event *stream_event_ref(struct stream_event *event) {
    event->reference_count++;
    return event;
}

void stream_event_unref(struct stream_event *event) {
    if (event != NULL && --event->reference_count == 0) {
        stream_halt_destroy(event->halt);
        stream_review_destroy(event->review);
        free(event);
    }
}

/* ---- filters ---- */

static bool passes(const char *list, struct parley_bytes value) {
    return value.data != NULL && stream_list_has(list, value);
}

struct parley_bytes stream_type_name(struct parley_bytes type) {
    const char *dot = type.data != NULL ? memchr(type.data, '.', type.length) : NULL;
    if (dot == NULL) {
        return (struct parley_bytes){0};
    }
    return (struct parley_bytes){dot + 1, type.length - (size_t)(dot + 1 - type.data)};
}

/* A type may be asked for without its protocol's name, as most do, or with it. */
static bool passes_type(const char *list, struct parley_bytes type) {
    return passes(list, stream_type_name(type)) || passes(list, type);
}

static bool passes_thread(const char *list, const struct stream_event *event) {
    const struct parley_bytes thread = event->facts[STREAM_FILTER_THREAD];
    return event->is_thread_caseless && thread.data != NULL ? stream_list_has_caseless(list, thread)
                                                            : passes(list, thread);
}

static bool passes_receiver(const char *list, const struct stream_event *event) {
    for (size_t i = 0; i < event->receiver_count; i++) {
        if (passes(list, event->receivers[i])) {
            return true;
        }
    }
    return false;
}

static bool is_readable_by(const char *agent, const struct stream_event *event) {
    return !event->is_private ||
           parley_bytes_equal(event->facts[STREAM_FILTER_AGENT], parley_bytes_of(agent));
}

static bool passes_filter(const struct stream_event *event, enum stream_filter filter,
                          const char *list) {
    switch (filter) {
    case STREAM_FILTER_TYPE:
        return passes_type(list, event->facts[STREAM_FILTER_TYPE]);
    case STREAM_FILTER_THREAD:
        return passes_thread(list, event);
    case STREAM_FILTER_RECEIVER:
        return passes_receiver(list, event);
    case STREAM_FILTER_FOR:
        return event->is_for_all || passes_receiver(list, event);
    case STREAM_FILTER_READER:
        return is_readable_by(list, event);
    default:
        return passes(list, event->facts[filter]);
    }
}

/* Asked for each event and reader: most of them have no filter, and the others few. */
static inline bool passes_filters(const struct stream_event *event,
                                  const struct stream_query *query, unsigned set) {
    for (unsigned left = set; left != 0; left &= left - 1) {
        const enum stream_filter filter = (enum stream_filter)__builtin_ctz(left);
        if (!passes_filter(event, filter, query->filters[filter])) {
            return false;
        }
    }
    return true;
}

bool stream_event_matches(const struct stream_event *event, const struct stream_query *query) {
    return passes_filters(event, query, query->filter_set);
}

bool stream_event_matches_in_any_lane(const struct stream_event *event,
                                      const struct stream_query *query) {
    return passes_filters(event, query, query->filter_set & ~(1u << STREAM_FILTER_LANE));
}

/* Filters that no message of the conversation passes. */
static bool is_of_another(const struct stream_event *event, enum stream_filter filter,
                          const char *list) {
    const struct stream_halt *halt = event->halt;
    switch (filter) {
    case STREAM_FILTER_DOMAIN:
    case STREAM_FILTER_PRIORITY:
    case STREAM_FILTER_AGENT:
        return !passes(list, event->facts[filter]);
    case STREAM_FILTER_THREAD:
        return halt->thread.data != NULL ? !passes_thread(list, event) : halt->sender.data != NULL;
    case STREAM_FILTER_SENDER:
        return halt->sender.data != NULL && !passes(list, halt->sender);
    default:
        return false;
    }
}

bool stream_event_tells(const struct stream_event *event, const struct stream_query *query) {
    if (event->halt == NULL) {
        return false;
    }
    for (unsigned left = query->filter_set; left != 0; left &= left - 1) {
        const enum stream_filter filter = (enum stream_filter)__builtin_ctz(left);
        if (is_of_another(event, filter, query->filters[filter])) {
            return false;
        }
    }
    return true;
}

/* ---- moments ---- */

bool stream_query_follows(const struct stream_query *query) {
    const unsigned naming =
        1u << STREAM_FILTER_THREAD | 1u << STREAM_FILTER_RECEIVER | 1u << STREAM_FILTER_FOR;
    return (query->filter_set & naming) != 0;
}

static bool passes_moment(const struct moment *moment, enum stream_filter filter,
                          const char *list) {
    switch (filter) {
    case STREAM_FILTER_THREAD:
        return moment->protocol->is_thread_caseless ? stream_list_has_caseless(list, moment->thread)
                                                    : passes(list, moment->thread);
    case STREAM_FILTER_RECEIVER:
    case STREAM_FILTER_FOR:
        return passes(list, moment->receiver);
    case STREAM_FILTER_DOMAIN:
        return passes(list, moment->domain);
    case STREAM_FILTER_PRIORITY:
        return passes(list, moment->priority);
    case STREAM_FILTER_AGENT:
        return false;
    default:
        return true; /* it says what messages of the thread the reader gets */
    }
}

bool stream_moment_tells(const struct moment *moment, const struct stream_query *query) {
    for (unsigned left = query->filter_set; left != 0; left &= left - 1) {
        const enum stream_filter filter = (enum stream_filter)__builtin_ctz(left);
        if (!passes_moment(moment, filter, query->filters[filter])) {
            return false;
        }
    }
    return true;
}

/* ---- messages of a protocol ---- */

/* The header ce-id, which any publisher may write: data NULL for one that is not plain, or that
 * is percent-encoded. (Ours are UUIDs where the message has no id of its own.) */
static struct parley_bytes header_id(const struct jetstream_stored *stored) {
    const char *id = jetstream_stored_header(stored, "ce-id");
    size_t length = 0;
    while (id != NULL && id[length] > ' ' && id[length] <= '~' && id[length] != '%') {
        length++;
    }
    const bool is_plain = length > 0 && length <= HEADER_ID_MAX && id[length] == '\0';
    return is_plain ? (struct parley_bytes){id, length} : (struct parley_bytes){0};
}

/* Only parley writes pointers, together with this header. */
static bool has_object(const struct parley_protocol *protocol,
                       const struct jetstream_stored *stored) {
    return protocol->objects != NULL && jetstream_stored_header(stored, OBJECT_HEADER) != NULL;
}

/* Reads the payload and finds its route.  `out_is_ours`: it is a valid message; one over a limit of
 * the library is not. */
static enum parley_status read_message(struct stream_renderer *renderer,
                                       const struct jetstream_stored *stored,
                                       struct parley_route *route, bool *out_is_ours) {
    struct parley_message *message = &renderer->message;
    const struct parley_options options = {
        .message_bytes_max = STORED_BYTES_MAX,
        .subject_prefix = renderer->channel->prefix,
        .dialect = renderer->channel->dialect,
        .now_seconds = renderer->channel->dialect != NULL ? stored->time_ns / NS_A_S : 0,
        .stored_subject = stored->subject,
        .has_object = has_object(message->protocol, stored)};
    enum parley_status status = parley_message_check(message, stored->payload, &parley_codec_json,
                                                     &options, (struct parley_position){1, 1});
    *out_is_ours = status == PARLEY_OK && parley_message_is_valid(message);
    if (*out_is_ours) {
        return parley_message_route(message, route);
    }
    return status == PARLEY_E_MEMORY ? status : PARLEY_OK;
}

static struct stream_event *render_ours(struct stream_renderer *renderer, const char *created,
                                        const struct jetstream_stored *stored,
                                        const struct parley_route *route) {
    struct parley_message *message = &renderer->message;
    struct parley_buffer *text = &renderer->text;
    struct stream_layout layout = {0};
    const struct stream_envelope envelope = {.id = route->id.data != NULL ? route->id
                                                                          : header_id(stored),
                                             .source = route->source,
                                             .type = route->type,
                                             .time = route->time,
                                             .content_type = "application/json",
                                             .approval = renderer->approval};
    stream_write_stored(text, renderer->channel, created, stored, &envelope, &layout);
    parley_buffer_text(text, ",\"data\":");
    layout.bare_offset = text->length;
    if (message->protocol->encode(message, text) != PARLEY_OK) {
        return NULL;
    }
    layout.bare_length = text->length - layout.bare_offset;
    parley_buffer_char(text, '}');
    struct stream_event *event = stream_event_make(text, &layout, route->type, route);
    if (event != NULL) {
        event->is_for_all = message->protocol->has_receivers && route->receiver_count == 0;
        event->is_thread_caseless = message->protocol->is_thread_caseless;
        event->is_private = (message->protocol->private_types >> message->type & 1) != 0;
    }
    if (event != NULL && (!stream_halt_note(message->protocol, stored, route, &event->halt) ||
                          !stream_review_note(message->protocol, stored, route, &event->review))) {
        stream_event_unref(event);
        return NULL;
    }
    return event;
}

/* The violations, joined by semicolons. It is a string and not an array: attributes of a
 * CloudEvent are of simple types. */
static void write_reason(struct parley_buffer *out, const struct parley_findings *findings) {
    struct parley_buffer reason;
    size_t named_count = 0, other_count = findings->omitted_count;
    parley_buffer_init(&reason);
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_finding *finding = &findings->items[i];
        if (finding->rule->severity != PARLEY_ERROR) {
            continue;
        }
        if (named_count == REASONS_MAX) {
            other_count++;
            continue;
        }
        parley_buffer_format(&reason, "%s%s", named_count++ > 0 ? "; " : "", finding->rule->id);
        if (finding->path[0] != '\0') {
            parley_buffer_format(&reason, " %s", finding->path);
        }
        parley_buffer_format(&reason, ": %s", finding->message);
    }
    if (other_count > 0) {
        parley_buffer_format(&reason, "; and %zu more", other_count);
    }
    if (named_count == 0) {
        parley_buffer_text(&reason, "it is too large to be checked");
    }
    stream_blank_controls(&reason);
    stream_write_member(out, ",\"reason\":", parley_buffer_bytes(&reason));
    out->has_failed |= reason.has_failed;
    parley_buffer_finish(&reason);
}

/* An unreadable one may be a private message, of any agent. */
static struct stream_event *render_foreign(struct stream_renderer *renderer, const char *created,
                                           const struct jetstream_stored *stored) {
    struct parley_buffer *text = &renderer->text;
    struct stream_layout layout = {0};
    const struct stream_envelope envelope = {.type = PARLEY_BYTES("parley.foreign"),
                                             .approval = renderer->approval};
    stream_write_stored(text, renderer->channel, created, stored, &envelope, &layout);
    write_reason(text, &renderer->message.findings);
    stream_write_base64(text, stored->payload);
    parley_buffer_char(text, '}');
    struct stream_event *event = stream_event_make(text, &layout, envelope.type, NULL);
    if (event != NULL) {
        event->is_private = renderer->message.protocol->private_types != 0;
    }
    return event;
}

/* The next check resets the message too: that is left to it unless there is much to give back. */
static void clear_message(struct parley_message *message) {
    if (!message->is_certain || message->arena.used_bytes > SCRATCH_KEPT_BYTES) {
        parley_message_reset(message);
    }
}

static struct stream_event *render_message(struct stream_renderer *renderer, const char *created,
                                           const struct jetstream_stored *stored) {
    struct parley_route route = {0};
    struct stream_event *event = NULL;
    bool is_ours;
    if (read_message(renderer, stored, &route, &is_ours) == PARLEY_OK) {
        event = is_ours ? render_ours(renderer, created, stored, &route)
                        : render_foreign(renderer, created, stored);
    }
    clear_message(&renderer->message);
    return event;
}

static struct stream_event *render_rejected(struct stream_renderer *renderer, const char *created,
                                            const struct jetstream_stored *stored) {
    return stream_rejected_render(renderer->channel, created, stored, &renderer->text);
}

/* ---- renderers ---- */

void stream_renderer_init(struct stream_renderer *renderer, const struct parley_schema *schema,
                          const struct channel *channel) {
    *renderer = (struct stream_renderer){.channel = channel, .render = render_rejected};
    parley_buffer_init(&renderer->text);
    if (schema != NULL) {
        renderer->render = render_message;
        parley_message_init(&renderer->message, schema);
    }
}

void stream_renderer_finish(struct stream_renderer *renderer) {
    parley_message_finish(&renderer->message);
    parley_buffer_finish(&renderer->text);
}

static void clear_text(struct parley_buffer *text) {
    if (text->capacity > SCRATCH_KEPT_BYTES) {
        parley_buffer_finish(text);
    }
    parley_buffer_clear(text);
}

struct stream_event *stream_render(struct stream_renderer *renderer, const char *created,
                                   const struct jetstream_stored *stored) {
    struct stream_event *event = renderer->render(renderer, created, stored);
    clear_text(&renderer->text);
    if (event != NULL) {
        event->sequence = stored->sequence;
        event->time_ns = stored->time_ns;
    }
    return event;
}

struct stream_event *stream_render_approved(struct stream_renderer *renderer, const char *created,
                                            const struct jetstream_stored *stored,
                                            const struct stream_approval *approval) {
    renderer->approval = approval;
    struct stream_event *event = stream_render(renderer, created, stored);
    renderer->approval = NULL;
    if (event != NULL) {
        event->notice = approval->notice;
        event->time_ns = approval->time_ns;
    }
    return event;
}

/* ---- in another encoding ---- */

static enum parley_status convert(struct stream_renderer *renderer, struct parley_bytes text,
                                  const struct parley_codec *codec) {
    /* It was checked when it was rendered. */
    const struct parley_options options = {.message_bytes_max = STORED_BYTES_MAX,
                                           .has_object = true};
    struct parley_message *message = &renderer->message;
    PARLEY_TRY(parley_message_check(message, text, &parley_codec_json, &options,
                                    (struct parley_position){1, 1}));
    return message->protocol->convert(message, codec, &renderer->text);
}

struct stream_event *stream_render_converted(struct stream_renderer *renderer,
                                             const struct stream_event *event,
                                             const struct parley_codec *codec) {
    const struct stream_layout layout = {0};
    struct stream_event *converted = NULL;
    if (convert(renderer, event->bare, codec) == PARLEY_OK) {
        converted = stream_event_make(&renderer->text, &layout, (struct parley_bytes){0}, NULL);
    }
    clear_message(&renderer->message);
    clear_text(&renderer->text);
    if (converted != NULL) {
        converted->line.length--; /* without the newline that stream_event_make adds */
        converted->token = (struct parley_bytes){0};
        converted->text = (struct parley_bytes){NULL, event->text.length}; /* known again by it */
        converted->sequence = event->sequence;
        converted->time_ns = event->time_ns;
        converted->notice = event->notice;
    }
    return converted;
}

/* ---- events of parley's own ---- */

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct stream_event *render_own_at(int64_t time_ns, const char *id, const char *source,
                                          const char *type, struct parley_bytes token,
                                          struct parley_bytes data) {
    struct parley_buffer text;
    struct stream_layout layout = {0};
    parley_buffer_init(&text);
    const struct stream_own_event own = {
        .time_ns = time_ns, .id = id, .source = source, .type = type, .token = token, .data = data};
    stream_write_own(&text, &own, &layout);
    struct stream_event *event = stream_event_make(&text, &layout, parley_bytes_of(type), NULL);
    parley_buffer_finish(&text);
    return event;
}

static struct stream_event *render_own(const char *id, const char *source, const char *type,
                                       struct parley_bytes token, const char *data) {
    return render_own_at(now_ns(), id, source, type, token, parley_bytes_of(data));
}

struct stream_event *stream_render_halt(const struct channel *channel,
                                        const struct stream_event *event,
                                        struct parley_bytes token) {
    const bool is_release = event->halt->is_release;
    char id[OWN_ID_MAX], source[OWN_ID_MAX];
    snprintf(id, sizeof id, "%s:%ju:%s", channel->stream, (uintmax_t)event->sequence,
             is_release ? "released" : "halted");
    snprintf(source, sizeof source, "/%s", channel->name);
    return render_own_at(event->time_ns, id, source,
                         is_release ? "parley.released" : "parley.halted", token,
                         parley_bytes_of(event->halt->data));
}

struct stream_event *stream_render_moment(const struct moment *moment, struct parley_bytes token) {
    char number[SEQUENCE_DIGITS_MAX + 2] = "", id[OWN_ID_MAX], source[OWN_ID_MAX];
    char type[OWN_ID_MAX];
    if (moment->number != 0) {
        snprintf(number, sizeof number, ":%ju", (uintmax_t)moment->number);
    }
    snprintf(id, sizeof id, "%.*s:%s%s", (int)moment->thread.length, moment->thread.data,
             moment->what, number);
    snprintf(source, sizeof source, "/%s", moment->protocol->name);
    snprintf(type, sizeof type, "parley.%s", moment->what);
    return render_own_at(moment->at_ms * 1000000, id, source, type, token, moment->data);
}

struct stream_event *stream_render_gap(const struct channel *channel, uint64_t first, uint64_t last,
                                       struct parley_bytes token) {
    char last_text[SEQUENCE_DIGITS_MAX + 1] = "", id[OWN_ID_MAX], source[OWN_ID_MAX];
    char data[OWN_DATA_MAX];
    if (last != 0) {
        snprintf(last_text, sizeof last_text, "%ju", (uintmax_t)last);
    }
    snprintf(id, sizeof id, "%s:%ju-%s", channel->stream, (uintmax_t)first, last_text);
    snprintf(source, sizeof source, "/%s", channel->name);
    snprintf(data, sizeof data, "{\"stream\":\"%s\",\"first\":%ju,\"last\":%s}", channel->stream,
             (uintmax_t)first, last != 0 ? last_text : "null");
    return render_own(id, source, "parley.gap", token, data);
}

/* An id for one of several events of a response. */
static void write_own_id(char out[OWN_ID_MAX], const char *request_id, const char *what) {
    snprintf(out, OWN_ID_MAX, "%s:%s", request_id, what);
}

struct stream_event *stream_render_open(const char *id, const char *source,
                                        struct parley_bytes token, uint64_t waiting_for,
                                        uint64_t last) {
    char own_id[OWN_ID_MAX], data[OWN_DATA_MAX] = "{}";
    write_own_id(own_id, id, "open");
    if (waiting_for != 0) {
        snprintf(data, sizeof data, "{\"waiting_for\":%ju,\"last\":%ju}", (uintmax_t)waiting_for,
                 (uintmax_t)last);
    }
    return render_own(own_id, source, "parley.open", token, data);
}

struct stream_event *stream_render_keepalive(const char *id, const char *source,
                                             struct parley_bytes token) {
    char own_id[OWN_ID_MAX], time[SEQUENCE_DIGITS_MAX + 1];
    snprintf(time, sizeof time, "%jd", (intmax_t)(now_ns() / 1000000));
    write_own_id(own_id, id, time);
    return render_own(own_id, source, "parley.keepalive", token, NULL);
}

struct stream_event *stream_render_end(const char *id, const char *source,
                                       struct parley_bytes token, const char *reason) {
    struct parley_buffer data;
    parley_buffer_init(&data);
    stream_write_member(&data, "{\"reason\":", parley_bytes_of(reason));
    parley_buffer_text(&data, "}");
    parley_buffer_char(&data, '\0');
    struct stream_event *event =
        data.has_failed ? NULL : render_own(id, source, "parley.end", token, data.data);
    parley_buffer_finish(&data);
    return event;
}

struct stream_event *stream_render_bytes(const char *before, struct parley_bytes token,
                                         const char *after) {
    struct parley_buffer text;
    struct stream_layout layout = {0};
    parley_buffer_init(&text);
    parley_buffer_text(&text, before);
    parley_buffer_append(&text, token);
    parley_buffer_text(&text, after);
    struct stream_event *event = stream_event_make(&text, &layout, (struct parley_bytes){0}, NULL);
    parley_buffer_finish(&text);
    if (event != NULL) {
        event->line.length--; /* without the newline that make_event adds */
        event->text = event->token = (struct parley_bytes){0};
    }
    return event;
}
