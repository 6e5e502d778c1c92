/* SPDX-License-Identifier: Apache-2.0 */

/* See stream_envelope.h. An event is one allocation, which holds the text and the values for
 * filters. */

#include "stream_envelope.h"

#include <sodium.h>
#include <stdlib.h>
#include <time.h>

/* ---- making an event ---- */

static struct parley_bytes copy_fact(char **free_space, struct parley_bytes fact) {
    if (fact.data == NULL) {
        return fact;
    }
    struct parley_bytes copy = {*free_space, fact.length};
    memcpy(*free_space, fact.data, fact.length);
    *free_space += fact.length;
    return copy;
}

/* `route` is NULL if filters have only the type. */
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

struct stream_event *stream_event_make(struct parley_buffer *text,
                                       const struct stream_layout *layout, struct parley_bytes type,
                                       const struct parley_route *route) {
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

/* ---- its text ---- */

void stream_write_member(struct parley_buffer *out, const char *name, struct parley_bytes value) {
    parley_buffer_text(out, name);
    parley_buffer_json(out, value);
}

static void put_digits(char *out, int number, size_t count) {
    for (size_t i = count; i-- > 0; number /= 10) {
        out[i] = (char)('0' + number % 10);
    }
}

void stream_write_time(struct parley_buffer *out, const char *name, int64_t time_ns) {
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL) {
        return;
    }
    char text[] = "\"YYYY-MM-DDThh:mm:ss.nnnnnnnnnZ\"";
    const struct {
        size_t at;
        int number;
        size_t digits;
    } parts[] = {{1, utc.tm_year + 1900, 4},
                 {6, utc.tm_mon + 1, 2},
                 {9, utc.tm_mday, 2},
                 {12, utc.tm_hour, 2},
                 {15, utc.tm_min, 2},
                 {18, utc.tm_sec, 2},
                 {21, (int)(time_ns % 1000000000), 9}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        put_digits(text + parts[i].at, parts[i].number, parts[i].digits);
    }
    parley_buffer_text(out, name);
    parley_buffer_append(out, (struct parley_bytes){text, sizeof text - 1});
}

static void open_token(struct parley_buffer *out, struct stream_layout *layout) {
    parley_buffer_text(out, ",\"resume\":\"");
    layout->token_offset = out->length;
}

static void close_token(struct parley_buffer *out, struct stream_layout *layout) {
    layout->token_length = out->length - layout->token_offset;
    parley_buffer_char(out, '"');
}

void stream_write_token(struct parley_buffer *out, struct parley_bytes token,
                        struct stream_layout *layout) {
    if (token.length == 0) {
        return; /* of streams that cannot be resumed */
    }
    open_token(out, layout);
    parley_buffer_append(out, token);
    close_token(out, layout);
}

/* STREAM:<created>:<sequence> */
static void write_token_of(struct parley_buffer *out, const char *stream,
                           const struct stream_token *token, struct stream_layout *layout) {
    open_token(out, layout);
    parley_buffer_text(out, stream);
    parley_buffer_char(out, ':');
    parley_buffer_append(out, token->created);
    parley_buffer_char(out, ':');
    parley_buffer_text(out, stream_token_mark(token));
    parley_buffer_uint(out, token->sequence);
    close_token(out, layout);
}

static void write_reviewed(struct parley_buffer *out, const struct review_value *value) {
    stream_write_member(out, ",\"reviewed\":{\"by\":", value->by);
    stream_write_member(out, ",\"at\":", value->at);
    stream_write_member(out, ",\"reason\":", value->reason);
    parley_buffer_char(out, '}');
}

/* STREAM:sequence, if it has no other. */
static void write_id(struct parley_buffer *out, struct parley_bytes id,
                     const struct channel *channel, uint64_t sequence) {
    parley_buffer_text(out, "{\"specversion\":\"1.0\",\"id\":");
    if (id.data != NULL) {
        parley_buffer_json(out, id);
        return;
    }
    parley_buffer_char(out, '"');
    parley_buffer_text(out, channel->stream);
    parley_buffer_char(out, ':');
    parley_buffer_uint(out, sequence);
    parley_buffer_char(out, '"');
}

static void write_source(struct parley_buffer *out, struct parley_bytes source,
                         const struct channel *channel) {
    if (source.data != NULL) {
        stream_write_member(out, ",\"source\":", source);
        return;
    }
    parley_buffer_text(out, ",\"source\":\"/");
    parley_buffer_text(out, channel->name);
    parley_buffer_char(out, '"');
}

void stream_write_stored(struct parley_buffer *out, const struct channel *channel,
                         const char *created, const struct jetstream_stored *stored,
                         const struct stream_envelope *envelope, struct stream_layout *layout) {
    write_id(out, envelope->id, channel,
             created != NULL ? stored->sequence : (uint64_t)stored->time_ns);
    write_source(out, envelope->source, channel);
    stream_write_member(out, ",\"type\":", envelope->type);
    stream_write_member(out, ",\"subject\":", parley_bytes_of(stored->subject));
    if (envelope->time.data != NULL) {
        stream_write_member(out, ",\"time\":", envelope->time);
    } else {
        stream_write_time(out, ",\"time\":", stored->time_ns);
    }
    if (envelope->content_type != NULL) {
        stream_write_member(out, ",\"datacontenttype\":", parley_bytes_of(envelope->content_type));
    }
    const struct stream_approval *approval = envelope->approval;
    if (created != NULL) {
        const struct stream_token token = {.created = parley_bytes_of(created),
                                           .sequence = approval != NULL ? approval->notice - 1
                                                                        : stored->sequence,
                                           .is_reviewed = approval != NULL};
        parley_buffer_text(out, ",\"sequence\":\"");
        parley_buffer_uint(out, stored->sequence);
        parley_buffer_char(out, '"');
        stream_write_time(out, ",\"recordedtime\":", stored->time_ns);
        write_token_of(out, channel_token(channel), &token, layout);
    }
    if (approval != NULL) {
        write_reviewed(out, &approval->value);
    }
}

void stream_write_own(struct parley_buffer *out, const struct stream_own_event *event,
                      struct stream_layout *layout) {
    stream_write_member(out, "{\"specversion\":\"1.0\",\"id\":", parley_bytes_of(event->id));
    stream_write_member(out, ",\"source\":", parley_bytes_of(event->source));
    stream_write_member(out, ",\"type\":", parley_bytes_of(event->type));
    stream_write_time(out, ",\"time\":", event->time_ns);
    if (event->data.data != NULL) {
        parley_buffer_text(out, ",\"datacontenttype\":\"application/json\"");
    }
    stream_write_token(out, event->token, layout);
    if (event->data.data != NULL) {
        parley_buffer_text(out, ",\"data\":");
        parley_buffer_append(out, event->data);
    }
    parley_buffer_char(out, '}');
}

void stream_blank_controls(struct parley_buffer *text) {
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

void stream_write_base64(struct parley_buffer *out, struct parley_bytes bytes) {
    const size_t size = sodium_base64_ENCODED_LEN(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    parley_buffer_text(out, ",\"data_base64\":\"");
    if (!parley_buffer_reserve(out, size)) {
        return;
    }
    sodium_bin2base64(out->data + out->length, size, (const unsigned char *)bytes.data,
                      bytes.length, sodium_base64_VARIANT_ORIGINAL);
    out->length += size - 1; /* without its NUL */
    parley_buffer_char(out, '"');
}
