/* SPDX-License-Identifier: Apache-2.0 */

/* Writes events: one allocation each, which holds the text and what the filters ask for. Every
 * message is checked again when it is read, since anybody may publish to NATS. It deliberately
 * does not decide who gets an event, nor in which frame (lines, server-sent events). */

#include "stream_event.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum {
    SCRATCH_KEPT_BYTES = 256 * 1024, /* a giant message must not hold its memory for ever */
    SEQUENCE_DIGITS_MAX = 20,
    OWN_ID_MAX = 320, /* a stream's name or a request's id, and what is said of it */
    OWN_DATA_MAX = 512,
    HEADER_ID_MAX = 256,
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
    default:
        return passes(list, event->facts[filter]);
    }
}

/* Asked for each event and reader: most of them have no filter, and the others few. */
bool stream_event_matches(const struct stream_event *event, const struct stream_query *query) {
    for (unsigned left = query->filter_set; left != 0; left &= left - 1) {
        const enum stream_filter filter = (enum stream_filter)__builtin_ctz(left);
        if (!passes_filter(event, filter, query->filters[filter])) {
            return false;
        }
    }
    return true;
}

/* ---- making one ---- */

/* Where things lie in a text that is still growing. */
struct layout {
    size_t token_offset, token_length;
    size_t bare_offset, bare_length; /* length 0: none */
};

static struct parley_bytes copy_fact(char **free_space, struct parley_bytes fact) {
    if (fact.data == NULL) {
        return fact;
    }
    struct parley_bytes copy = {*free_space, fact.length};
    memcpy(*free_space, fact.data, fact.length);
    *free_space += fact.length;
    return copy;
}

/* `route` NULL: nothing for filters but the type. */
static void gather_facts(struct parley_bytes facts[STREAM_FACT_COUNT], struct parley_bytes type,
                         const struct parley_route *route) {
    facts[STREAM_FILTER_TYPE] = type;
    facts[STREAM_FILTER_LANE] = route->lane;
    facts[STREAM_FILTER_SENDER] = route->sender;
    facts[STREAM_FILTER_THREAD] = route->thread;
    facts[STREAM_FILTER_DOMAIN] = route->domain;
    facts[STREAM_FILTER_PRIORITY] = route->priority;
    facts[STREAM_FILTER_AGENT] = route->agent;
}

static struct stream_event *make_event(struct parley_buffer *text, const struct layout *layout,
                                       struct parley_bytes type, const struct parley_route *route) {
    parley_buffer_char(text, '\n');
    if (text->has_failed) {
        return NULL;
    }
    static const struct parley_route nothing = {0};
    const struct parley_route *known = route != NULL ? route : &nothing;
    struct parley_bytes facts[STREAM_FACT_COUNT];
    gather_facts(facts, type, known);
    size_t size = sizeof(struct stream_event) +
                  known->receiver_count * sizeof(struct parley_bytes) + text->length;
    for (size_t i = 0; i < STREAM_FACT_COUNT; i++) {
        size += facts[i].length;
    }
    for (size_t i = 0; i < known->receiver_count; i++) {
        size += known->receivers[i].length;
    }
    struct stream_event *event = malloc(size);
    if (event == NULL) {
        return NULL;
    }
    char *space = (char *)&event->receivers[known->receiver_count];
    *event = (struct stream_event){.reference_count = 1, .size_bytes = size};
    event->line = copy_fact(&space, parley_buffer_bytes(text));
    event->text = (struct parley_bytes){event->line.data, event->line.length - 1};
    event->token =
        (struct parley_bytes){event->text.data + layout->token_offset, layout->token_length};
    if (layout->bare_length > 0) {
        event->bare =
            (struct parley_bytes){event->text.data + layout->bare_offset, layout->bare_length};
    }
    for (size_t i = 0; i < STREAM_FACT_COUNT; i++) {
        event->facts[i] = copy_fact(&space, facts[i]);
    }
    event->receiver_count = known->receiver_count;
    for (size_t i = 0; i < known->receiver_count; i++) {
        event->receivers[i] = copy_fact(&space, known->receivers[i]);
    }
    return event;
}

/* ---- writing one ---- */

static void write_member(struct parley_buffer *out, const char *name, struct parley_bytes value) {
    parley_buffer_text(out, name);
    parley_buffer_json(out, value);
}

static void write_digits(struct parley_buffer *out, int number, size_t count) {
    char digits[16];
    for (size_t i = count; i-- > 0; number /= 10) {
        digits[i] = (char)('0' + number % 10);
    }
    parley_buffer_append(out, (struct parley_bytes){digits, count});
}

static void write_time(struct parley_buffer *out, int64_t time_ns) {
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL) {
        return;
    }
    const struct {
        const char *before;
        int number;
        size_t digits;
    } parts[] = {{",\"time\":\"", utc.tm_year + 1900, 4},
                 {"-", utc.tm_mon + 1, 2},
                 {"-", utc.tm_mday, 2},
                 {"T", utc.tm_hour, 2},
                 {":", utc.tm_min, 2},
                 {":", utc.tm_sec, 2},
                 {".", (int)(time_ns % 1000000000), 9}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        parley_buffer_text(out, parts[i].before);
        write_digits(out, parts[i].number, parts[i].digits);
    }
    parley_buffer_text(out, "Z\"");
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void open_token(struct parley_buffer *out, struct layout *layout) {
    parley_buffer_text(out, ",\"resume\":\"");
    layout->token_offset = out->length;
}

static void close_token(struct parley_buffer *out, struct layout *layout) {
    layout->token_length = out->length - layout->token_offset;
    parley_buffer_char(out, '"');
}

static void write_token(struct parley_buffer *out, struct parley_bytes token,
                        struct layout *layout) {
    open_token(out, layout);
    parley_buffer_append(out, token);
    close_token(out, layout);
}

/* STREAM:<created>:<sequence> */
static void write_token_of(struct parley_buffer *out, const char *stream, const char *created,
                           uint64_t sequence, struct layout *layout) {
    open_token(out, layout);
    parley_buffer_text(out, stream);
    parley_buffer_char(out, ':');
    parley_buffer_text(out, created);
    parley_buffer_char(out, ':');
    parley_buffer_uint(out, sequence);
    close_token(out, layout);
}

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

/* Its own id, else the one that its publisher gave it, else STREAM:sequence. */
static void write_id(struct parley_buffer *out, const struct channel *channel,
                     const struct jetstream_stored *stored, const struct parley_route *route) {
    parley_buffer_text(out, "{\"specversion\":\"1.0\",\"id\":");
    struct parley_bytes id = route != NULL ? route->id : (struct parley_bytes){0};
    if (route != NULL && id.data == NULL) {
        id = header_id(stored);
    }
    if (id.data != NULL) {
        parley_buffer_json(out, id);
        return;
    }
    parley_buffer_char(out, '"');
    parley_buffer_text(out, channel->stream);
    parley_buffer_char(out, ':');
    parley_buffer_uint(out, stored->sequence);
    parley_buffer_char(out, '"');
}

/* The members that every event of a stream has, up to and including the token.  `route` NULL: it
 * is foreign. */
static void write_stored(struct stream_renderer *renderer, const char *created,
                         const struct jetstream_stored *stored, const struct parley_route *route,
                         struct layout *layout) {
    struct parley_buffer *out = &renderer->text;
    const struct channel *channel = renderer->channel;
    write_id(out, channel, stored, route);
    if (route != NULL) {
        write_member(out, ",\"source\":", route->source);
        write_member(out, ",\"type\":", route->type);
    } else {
        parley_buffer_text(out, ",\"source\":\"/");
        parley_buffer_text(out, channel->protocol->name);
        parley_buffer_text(out, "\",\"type\":\"parley.foreign\"");
    }
    write_member(out, ",\"subject\":", parley_bytes_of(stored->subject));
    if (route != NULL && route->time.data != NULL) {
        write_member(out, ",\"time\":", route->time);
    } else {
        write_time(out, stored->time_ns);
    }
    if (route != NULL) {
        parley_buffer_text(out, ",\"datacontenttype\":\"application/json\"");
    }
    parley_buffer_text(out, ",\"sequence\":\"");
    parley_buffer_uint(out, stored->sequence);
    parley_buffer_char(out, '"');
    write_token_of(out, channel->stream, created, stored->sequence, layout);
}

static void write_base64(struct parley_buffer *out, struct parley_bytes bytes) {
    size_t size = sodium_base64_ENCODED_LEN(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    if (!parley_buffer_reserve(out, size)) {
        return;
    }
    sodium_bin2base64(out->data + out->length, size, (const unsigned char *)bytes.data,
                      bytes.length, sodium_base64_VARIANT_ORIGINAL);
    out->length += size - 1; /* without its NUL */
}

/* ---- rendering ---- */

void stream_renderer_init(struct stream_renderer *renderer, const struct parley_schema *schema,
                          const struct channel *channel) {
    *renderer = (struct stream_renderer){.channel = channel};
    parley_message_init(&renderer->message, schema);
    parley_buffer_init(&renderer->text);
}

void stream_renderer_finish(struct stream_renderer *renderer) {
    parley_message_finish(&renderer->message);
    parley_buffer_finish(&renderer->text);
}

/* Reads the payload and says where it would go.  `out_is_ours`: it is a valid message; so is
 * nothing that is over a limit of the library. */
static enum parley_status read_message(struct stream_renderer *renderer,
                                       const struct jetstream_stored *stored,
                                       struct parley_route *route, bool *out_is_ours) {
    const struct parley_options options = {.message_bytes_max = STORED_BYTES_MAX,
                                           .subject_prefix = renderer->channel->prefix,
                                           .stored_subject = stored->subject};
    struct parley_message *message = &renderer->message;
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
    struct layout layout = {0};
    write_stored(renderer, created, stored, route, &layout);
    parley_buffer_text(text, ",\"data\":");
    layout.bare_offset = text->length;
    if (message->protocol->encode(message, text) != PARLEY_OK) {
        return NULL;
    }
    layout.bare_length = text->length - layout.bare_offset;
    parley_buffer_char(text, '}');
    struct stream_event *event = make_event(text, &layout, route->type, route);
    if (event != NULL) {
        event->is_for_all = message->protocol->has_receivers && route->receiver_count == 0;
        event->is_thread_caseless = message->protocol->is_thread_caseless;
    }
    return event;
}

/* CloudEvents, Type System: a String holds no control characters (U+0000-001F, U+007F-009F), and
 * a finding may quote some of what it is about. Each becomes a blank, in place. */
static void blank_controls(struct parley_buffer *text) {
    for (size_t i = 0; i < text->length; i++) {
        const unsigned char c = (unsigned char)text->data[i];
        const unsigned char second = i + 1 < text->length ? (unsigned char)text->data[i + 1] : 0;
        if (c < 0x20 || c == 0x7f) {
            text->data[i] = ' ';
        } else if (c == 0xc2 && second >= 0x80 && second <= 0x9f) {
            text->data[i] = text->data[i + 1] = ' ';
        }
    }
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
    blank_controls(&reason);
    write_member(out, ",\"reason\":", parley_buffer_bytes(&reason));
    out->has_failed |= reason.has_failed;
    parley_buffer_finish(&reason);
}

static struct stream_event *render_foreign(struct stream_renderer *renderer, const char *created,
                                           const struct jetstream_stored *stored) {
    struct parley_buffer *text = &renderer->text;
    struct layout layout = {0};
    write_stored(renderer, created, stored, NULL, &layout);
    write_reason(text, &renderer->message.findings);
    parley_buffer_text(text, ",\"data_base64\":\"");
    write_base64(text, stored->payload);
    parley_buffer_text(text, "\"}");
    return make_event(text, &layout, PARLEY_BYTES("parley.foreign"), NULL);
}

/* The next check resets the message too: that is left to it unless there is much to give back. */
static void clear_scratch(struct stream_renderer *renderer) {
    struct parley_message *message = &renderer->message;
    if (!message->is_certain || message->arena.used_bytes > SCRATCH_KEPT_BYTES) {
        parley_message_reset(message);
    }
    if (renderer->text.capacity > SCRATCH_KEPT_BYTES) {
        parley_buffer_finish(&renderer->text);
    }
    parley_buffer_clear(&renderer->text);
}

struct stream_event *stream_render(struct stream_renderer *renderer, const char *created,
                                   const struct jetstream_stored *stored) {
    struct parley_route route = {0};
    struct stream_event *event = NULL;
    bool is_ours;
    if (read_message(renderer, stored, &route, &is_ours) == PARLEY_OK) {
        event = is_ours ? render_ours(renderer, created, stored, &route)
                        : render_foreign(renderer, created, stored);
    }
    clear_scratch(renderer);
    if (event != NULL) {
        event->sequence = stored->sequence;
        event->time_ns = stored->time_ns;
    }
    return event;
}

/* ---- events of parley's own ---- */

/* `data`: JSON; NULL: none. */
static struct stream_event *render_own(const char *id, const char *source, const char *type,
                                       struct parley_bytes token, const char *data) {
    struct parley_buffer text;
    struct layout layout = {0};
    parley_buffer_init(&text);
    write_member(&text, "{\"specversion\":\"1.0\",\"id\":", parley_bytes_of(id));
    write_member(&text, ",\"source\":", parley_bytes_of(source));
    write_member(&text, ",\"type\":", parley_bytes_of(type));
    write_time(&text, now_ns());
    if (data != NULL) {
        parley_buffer_text(&text, ",\"datacontenttype\":\"application/json\"");
    }
    write_token(&text, token, &layout);
    if (data != NULL) {
        parley_buffer_text(&text, ",\"data\":");
        parley_buffer_text(&text, data);
    }
    parley_buffer_char(&text, '}');
    struct stream_event *event = make_event(&text, &layout, parley_bytes_of(type), NULL);
    parley_buffer_finish(&text);
    return event;
}

struct stream_event *stream_render_gap(const struct channel *channel, uint64_t first, uint64_t last,
                                       struct parley_bytes token) {
    char last_text[SEQUENCE_DIGITS_MAX + 1] = "", id[OWN_ID_MAX], source[OWN_ID_MAX];
    char data[OWN_DATA_MAX];
    if (last != 0) {
        snprintf(last_text, sizeof last_text, "%ju", (uintmax_t)last);
    }
    snprintf(id, sizeof id, "%s:%ju-%s", channel->stream, (uintmax_t)first, last_text);
    snprintf(source, sizeof source, "/%s", channel->protocol->name);
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
    write_member(&data, "{\"reason\":", parley_bytes_of(reason));
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
    struct layout layout = {0};
    parley_buffer_init(&text);
    parley_buffer_text(&text, before);
    parley_buffer_append(&text, token);
    parley_buffer_text(&text, after);
    struct stream_event *event = make_event(&text, &layout, (struct parley_bytes){0}, NULL);
    parley_buffer_finish(&text);
    if (event != NULL) {
        event->line.length--; /* without the newline that make_event adds */
        event->text = event->token = (struct parley_bytes){0};
    }
    return event;
}
