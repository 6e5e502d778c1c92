/* SPDX-License-Identifier: Apache-2.0 */

/* See agent_reader.h. */

#include "agent_reader.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object_layout.h"
#include "stored_headers.h"

enum {
    PULL_COUNT = 256,
    PULL_BYTES = 256 * 1024,
    TEXT_BYTES_MAX = 16 * 1024, /* of the report of one message on its agent; more is left out */
    STORED_BYTES_MAX = 64 * 1024 * 1024, /* the limit of NATS */
    SUBJECT_MAX = AGENT_TOKEN_SIZE + 200,
};

/* One source. The consumer is closed once it is done. */
struct feed {
    struct agent_reader *reader;
    unsigned source;
    char subject[SUBJECT_MAX]; /* of the consumer */
    struct ordered_consumer *consumer;
};

struct agent_reader {
    struct agent_reader_options options;
    struct parley_message message;
    struct parley_buffer text, guarded;
    char id[STORED_ID_SIZE]; /* of the message that is reported */
    size_t open_count;       /* feeds that are not done; live: that have not begun */
    unsigned depth;          /* of callbacks in which it is used */
    bool is_closed;
    struct feed feeds[PARLEY_AGENT_SOURCES_MAX];
};

static const struct parley_agents *agents_of(const struct agent_reader *reader) {
    return reader->options.channel->protocol->agents;
}

/* ---- names ---- */

static bool is_unreserved(char c) {
    return isalnum((unsigned char)c) != 0 || c == '-' || c == '_' || c == '~';
}

static int hex_digit(char c) {
    return isxdigit((unsigned char)c) == 0  ? -1
           : isdigit((unsigned char)c) != 0 ? c - '0'
                                            : toupper((unsigned char)c) - 'A' + 10;
}

/* Takes a character off *at, which may be encoded. */
static char next_char(const char **at) {
    const int high = **at == '%' ? hex_digit((*at)[1]) : -1;
    const int low = high >= 0 ? hex_digit((*at)[2]) : -1;
    const char c = low >= 0 ? (char)(16 * high + low) : **at;
    *at += low >= 0 ? 3 : 1;
    return c;
}

bool agent_token(const char *name, char out[AGENT_TOKEN_SIZE]) {
    size_t length = 0;
    while (*name != '\0' && length < AGENT_TOKEN_SIZE - 3) {
        const char c = next_char(&name);
        if (is_unreserved(c)) {
            out[length++] = c;
        } else {
            length += (size_t)snprintf(out + length, 4, "%%%02X", (unsigned char)c);
        }
    }
    out[length] = '\0';
    return *name == '\0' && length > 0;
}

/* The token of `subject` where the source's pattern has its asterisk; data NULL if it cannot be an
 * agent. */
static struct parley_bytes name_in(const struct agent_reader *reader,
                                   const struct parley_agent_source *source, const char *subject) {
    const char *at = strchr(subject, '.');
    for (const char *c = source->subject; at != NULL && *c != '*'; c++) {
        at = *c == '.' ? strchr(at + 1, '.') : at;
    }
    const struct parley_bytes name = {at != NULL ? at + 1 : NULL,
                                      at != NULL ? strcspn(at + 1, ".") : 0};
    for (size_t i = 0; i < name.length; i++) {
        if (!is_unreserved(name.data[i]) && name.data[i] != '%') {
            return (struct parley_bytes){0};
        }
    }
    /* Where messages name no sender, `_` stands for no agent. */
    const bool is_nobody = reader->options.channel->protocol->sender_field == NULL &&
                           parley_bytes_equal(name, PARLEY_BYTES("_"));
    return is_nobody || name.length == 0 || name.length >= AGENT_TOKEN_SIZE
               ? (struct parley_bytes){0}
               : name;
}

/* ---- messages ---- */

enum parley_status agent_message_check(struct parley_message *message,
                                       const struct channel *channel, const char *subject,
                                       struct parley_bytes payload, bool has_object,
                                       bool *out_is_ours) {
    const struct parley_options options = {.message_bytes_max = STORED_BYTES_MAX,
                                           .subject_prefix = channel->prefix,
                                           .dialect = channel->dialect,
                                           .stored_subject = subject,
                                           .has_object = has_object};
    struct parley_route route = {0};
    const enum parley_status status = parley_message_check(
        message, payload, &parley_codec_json, &options, (struct parley_position){1, 1});
    *out_is_ours = status == PARLEY_OK && parley_message_is_valid(message);
    if (*out_is_ours) {
        PARLEY_TRY(parley_message_route(message, &route));
        *out_is_ours = parley_bytes_equal(route.subject, parley_bytes_of(subject));
    }
    return status == PARLEY_E_MEMORY ? status : PARLEY_OK;
}

static size_t size_of(const struct jetstream_stored *stored) {
    const char *size = jetstream_stored_header(stored, OBJECT_SIZE_HEADER);
    size = size != NULL ? size : jetstream_stored_header(stored, "Nats-Msg-Size");
    return size != NULL ? (size_t)strtoull(size, NULL, 10) : stored->payload.length;
}

bool agent_is_guarded(const char *own, struct parley_bytes agent) {
    char token[AGENT_TOKEN_SIZE];
    return own != NULL &&
           !(agent_token(own, token) && parley_bytes_equal(agent, parley_bytes_of(token)));
}

static enum parley_status match(struct agent_reader *reader, struct agent_news *news) {
    const char *value = reader->options.value;
    news->is_match = value == NULL;
    return news->is_beat && value != NULL
               ? agents_of(reader)->matches(&reader->message, parley_bytes_of(value),
                                            &news->is_match)
               : PARLEY_OK;
}

static struct parley_bytes short_text(const struct parley_buffer *text) {
    return text->length <= TEXT_BYTES_MAX ? parley_buffer_bytes(text) : (struct parley_bytes){0};
}

/* What is unread has no text that lasts: its age is in it. */
static enum parley_status report_guarded(struct agent_reader *reader,
                                         struct parley_agent_report *of, struct agent_news *news) {
    if (of->message == NULL || reader->options.channel->protocol->private_types == 0) {
        return PARLEY_OK;
    }
    parley_buffer_clear(&reader->guarded);
    of->is_guarded = true;
    PARLEY_TRY(agents_of(reader)->report(of, &reader->guarded));
    news->guarded = short_text(&reader->guarded);
    news->has_guarded = !parley_bytes_equal(news->guarded, news->text);
    return parley_buffer_status(&reader->guarded);
}

static enum parley_status report(struct agent_reader *reader, const struct feed *feed,
                                 const struct jetstream_stored *stored, struct agent_news *news) {
    const struct parley_agent_source *source = &agents_of(reader)->sources[feed->source];
    char at[AGENT_TIME_SIZE];
    agent_time_text(stored->time_ns, at);
    stored_id(jetstream_stored_header(stored, STORED_ID_HEADER), stored->sequence, reader->id);
    struct parley_agent_report of = {
        .source = feed->source,
        .message = source->is_unread ? NULL : &reader->message,
        .is_guarded = agent_is_guarded(reader->options.own, news->name),
        .size_bytes = size_of(stored),
        .id = reader->id,
        .at = at,
        .age_seconds = agent_age_seconds(stored->time_ns, reader->options.now_ns),
        .sequence = stored->sequence,
        .missing = reader->options.missing};
    parley_buffer_clear(&reader->text);
    PARLEY_TRY(agents_of(reader)->report(&of, &reader->text));
    PARLEY_TRY(match(reader, news));
    news->text = short_text(&reader->text);
    if (reader->options.is_kept) {
        news->source = feed->source;
        news->subject = stored->subject;
        news->payload = source->is_unread ? (struct parley_bytes){0} : stored->payload;
        news->size_bytes = of.size_bytes;
        news->id = reader->id;
        PARLEY_TRY(report_guarded(reader, &of, news));
    }
    return reader->options.note(reader->options.context, news);
}

static enum parley_status read_message(struct agent_reader *reader, const struct feed *feed,
                                       const struct jetstream_stored *stored) {
    const struct parley_agent_source *source = &agents_of(reader)->sources[feed->source];
    struct agent_news news = {.name = name_in(reader, source, stored->subject),
                              .part = source->part,
                              .sequence = stored->sequence,
                              .is_beat = feed->source == 0,
                              .time_ns = stored->time_ns};
    bool is_ours = news.name.data != NULL;
    if (is_ours && !source->is_unread) {
        PARLEY_TRY(agent_message_check(&reader->message, reader->options.channel, stored->subject,
                                       stored->payload, false, &is_ours));
    }
    return is_ours ? report(reader, feed, stored, &news) : PARLEY_OK;
}

/* ---- consumers ---- */

static void free_reader(struct agent_reader *reader) {
    parley_message_finish(&reader->message);
    parley_buffer_finish(&reader->text);
    parley_buffer_finish(&reader->guarded);
    free(reader);
}

static void enter(struct agent_reader *reader) {
    reader->depth++;
}

static void leave(struct agent_reader *reader) {
    if (--reader->depth == 0 && reader->is_closed) {
        free_reader(reader);
    }
}

static void close_feed(struct feed *feed) {
    ordered_consumer_close(feed->consumer);
    feed->consumer = NULL;
}

static void fail(struct agent_reader *reader, enum parley_status status, const char *error) {
    for (size_t i = 0; i < PARLEY_AGENT_SOURCES_MAX; i++) {
        close_feed(&reader->feeds[i]);
    }
    reader->options.done(reader->options.context, status, error);
}

static void feed_is_done(struct agent_reader *reader) {
    if (--reader->open_count == 0) {
        reader->options.done(reader->options.context, PARLEY_OK, NULL);
    }
}

static void on_opened(void *context, uint64_t next_sequence) {
    const struct feed *feed = context;
    struct agent_reader *reader = feed->reader;
    (void)next_sequence;
    enter(reader);
    if (reader->options.is_live) {
        feed_is_done(reader);
    } else {
        ordered_consumer_pull(feed->consumer, PULL_COUNT, PULL_BYTES);
    }
    leave(reader);
}

static void on_pull_ended(void *context) {
    const struct feed *feed = context;
    if (feed->consumer != NULL) {
        ordered_consumer_pull(feed->consumer, PULL_COUNT, PULL_BYTES);
    }
}

static void on_stored(void *context, const struct jetstream_stored *stored) {
    const struct feed *feed = context;
    struct agent_reader *reader = feed->reader;
    enter(reader);
    const enum parley_status status = read_message(reader, feed, stored);
    parley_message_reset(&reader->message);
    if (status != PARLEY_OK) {
        fail(reader, status, NULL);
    }
    leave(reader);
}

static void on_current(void *context) {
    struct feed *feed = context;
    struct agent_reader *reader = feed->reader;
    enter(reader);
    close_feed(feed);
    feed_is_done(reader);
    leave(reader);
}

static void on_cut(void *context) {
    const struct feed *feed = context;
    feed->reader->options.cut(feed->reader->options.context);
}

static void on_refused(void *context, const char *error) {
    const struct feed *feed = context;
    struct agent_reader *reader = feed->reader;
    enter(reader);
    fail(reader, PARLEY_E_IO, error);
    leave(reader);
}

/* ---- its life ---- */

/* The source's subject, on this server, with the name of the agent if it is one. */
static void write_subject(const struct agent_reader *reader, struct feed *feed) {
    const struct channel *channel = reader->options.channel;
    const char *pattern = agents_of(reader)->sources[feed->source].subject;
    const char *star = strchr(pattern, '*');
    const struct parley_bytes agent =
        reader->options.agent.data != NULL ? reader->options.agent : PARLEY_BYTES("*");
    snprintf(feed->subject, sizeof feed->subject, "%s.%.*s%.*s%s",
             channel->prefix != NULL ? channel->prefix : channel->protocol->name,
             (int)(star - pattern), pattern, (int)agent.length, agent.data, star + 1);
}

static enum parley_status open_feed(struct agent_reader *reader, unsigned source) {
    struct feed *feed = &reader->feeds[source];
    *feed = (struct feed){.reader = reader, .source = source};
    write_subject(reader, feed);
    const struct jetstream_place *place =
        jetstream_place_find(reader->options.jetstream, feed->subject);
    if (!jetstream_place_takes_consumers(place)) {
        return PARLEY_E_IO;
    }
    const bool is_live = reader->options.is_live;
    const struct jetstream_start start = {
        .from = is_live ? JETSTREAM_FROM_NEW : JETSTREAM_FROM_LAST,
        .filter = feed->subject,
        .is_headers_only = agents_of(reader)->sources[source].is_unread};
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_stored,
                                                   .pull_ended = on_pull_ended,
                                                   .refused = on_refused,
                                                   .current = is_live ? NULL : on_current,
                                                   .cut = is_live ? on_cut : NULL,
                                                   .context = feed};
    reader->open_count++;
    return ordered_consumer_open(reader->options.jetstream, place->stream, start,
                                 is_live ? ORDERED_FOLLOW : ORDERED_REPLAY, &events,
                                 &feed->consumer);
}

enum parley_status agent_reader_open(const struct agent_reader_options *options,
                                     struct agent_reader **out) {
    struct agent_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return PARLEY_E_MEMORY;
    }
    reader->options = *options;
    parley_message_init(&reader->message, options->schema);
    parley_buffer_init(&reader->text);
    parley_buffer_init(&reader->guarded);
    enum parley_status status = PARLEY_OK;
    for (unsigned i = 0; status == PARLEY_OK && agents_of(reader)->sources[i].subject != NULL;
         i++) {
        const bool is_of_life = i == 0 || agents_of(reader)->sources[i].is_end;
        status = is_of_life || !options->is_of_lives ? open_feed(reader, i) : PARLEY_OK;
    }
    if (status != PARLEY_OK) {
        agent_reader_close(reader);
        return status;
    }
    *out = reader;
    return PARLEY_OK;
}

void agent_reader_close(struct agent_reader *reader) {
    if (reader == NULL) {
        return;
    }
    for (size_t i = 0; i < PARLEY_AGENT_SOURCES_MAX; i++) {
        close_feed(&reader->feeds[i]);
    }
    reader->is_closed = true;
    if (reader->depth == 0) {
        free_reader(reader);
    }
}
