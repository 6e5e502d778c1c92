/* SPDX-License-Identifier: Apache-2.0 */

/* See index_fetch.h. Other clients may have published a message, and a stream may have been created
 * again since it was indexed: each is checked and looked at again. */

#include "index_fetch.h"

#include <stdlib.h>
#include <string.h>

#include "object_store.h"
#include "stored_headers.h"
#include "stream_envelope.h"

enum { PAGE_BYTES_MAX = 1 << 20, HEADER_BYTES_MAX = 512 };

enum parley_status index_fetcher_init(struct index_fetcher *fetcher, struct jetstream *jetstream,
                                      struct parley_schema *const *schemas,
                                      const struct channel *channels) {
    fetcher->jetstream = jetstream;
    fetcher->readers = calloc(parley_protocol_count(), sizeof *fetcher->readers);
    if (fetcher->readers == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        index_reader_init(&fetcher->readers[i], schemas[i], &channels[i]);
    }
    return PARLEY_OK;
}

void index_fetcher_finish(struct index_fetcher *fetcher) {
    for (size_t i = 0; fetcher->readers != NULL && i < parley_protocol_count(); i++) {
        index_reader_finish(&fetcher->readers[i]);
    }
    free(fetcher->readers);
    fetcher->readers = NULL;
}

/* ---- a message ---- */

/* The headers that are read of a message. */
struct headers {
    char id[HEADER_BYTES_MAX], trace[HEADER_BYTES_MAX], object[HEADER_BYTES_MAX];
    struct jetstream_header known[4];
};

static void read_headers(struct headers *headers, struct parley_bytes text) {
    const struct {
        const char *name;
        char *room;
    } rows[] = {{STORED_ID_HEADER, headers->id},
                {"traceparent", headers->trace},
                {OBJECT_HEADER, headers->object}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    for (size_t i = 0; i < ROWS; i++) {
        const bool is_there =
            text.data != NULL && held_header(text, rows[i].name, rows[i].room, HEADER_BYTES_MAX);
        headers->known[i] = (struct jetstream_header){.name = rows[i].name,
                                                      .value = is_there ? rows[i].room : NULL};
    }
    headers->known[ROWS] = (struct jetstream_header){.name = NULL};
}

/* A stream may hold other subjects, too: PREFIX.> are the protocol's. */
static bool is_of_channel(const struct channel *channel, const char *subject) {
    return strncmp(subject, channel->subjects, strlen(channel->subjects) - 1) == 0;
}

static enum parley_status write_data(struct index_reader *reader, const struct index_row *row,
                                     struct parley_bytes payload, struct parley_buffer *out) {
    if (row->entry == NULL) {
        stream_write_base64(out, payload);
        return PARLEY_OK;
    }
    parley_buffer_text(out, ",\"datacontenttype\":\"application/json\",\"data\":");
    return reader->message.protocol->encode(&reader->message, out);
}

static enum parley_status write_item(struct index_fetch *fetch, const struct index_place_of *place,
                                     const struct jetstream_stored *stored) {
    struct index_reader *reader = &fetch->fetcher->readers[place->protocol];
    struct index_row row;
    struct index_room room;
    struct index_message message;
    PARLEY_TRY(index_reader_read(reader, 0, stored, &row));
    index_message_of(&row, &room, &message);
    const bool is_same = place->stored_ms == 0 || place->stored_ms == row.stored_ms;
    if (!is_same || !index_message_is_visible(&message, fetch->readable, fetch->own)) {
        return PARLEY_OK;
    }
    if (!fetch->is_open) {
        index_list_item(fetch->out, fetch->is_lines, fetch->count);
    }
    fetch->count++;
    index_message_write(fetch->out, place->stream, &message);
    PARLEY_TRY(write_data(reader, &row, stored->payload, fetch->out));
    if (row.entry != NULL && fetch->add != NULL) {
        PARLEY_TRY(fetch->add(&reader->message, fetch->out));
    }
    if (!fetch->is_open) {
        index_list_item_end(fetch->out, fetch->is_lines);
    }
    return parley_buffer_status(fetch->out);
}

/* ---- one after the other ---- */

static void go_on(struct index_fetch *fetch);

static void on_held(void *context, const struct jetstream_held *held) {
    struct index_fetch *fetch = context;
    const struct index_place_of *place = &fetch->places->items[fetch->at];
    struct headers headers;
    enum parley_status status = PARLEY_OK;
    fetch->request = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        fetch->done(fetch, INDEX_FETCH_FAILED);
        return;
    }
    if (held->found == JETSTREAM_HELD_FOUND &&
        is_of_channel(fetch->fetcher->readers[place->protocol].channel, held->subject)) {
        read_headers(&headers, held->headers);
        const struct jetstream_stored stored = {.sequence = held->sequence,
                                                .time_ns = held->time_ns,
                                                .subject = held->subject,
                                                .payload = held->payload,
                                                .known = headers.known};
        status = write_item(fetch, place, &stored);
    }
    fetch->at++;
    if (status != PARLEY_OK) {
        fetch->done(fetch, INDEX_FETCH_NO_ROOM);
    } else {
        go_on(fetch);
    }
}

static void go_on(struct index_fetch *fetch) {
    if (fetch->at == fetch->places->count) {
        fetch->done(fetch, INDEX_FETCHED);
        return;
    }
    if (fetch->out->length >= PAGE_BYTES_MAX) {
        fetch->done(fetch, INDEX_FETCH_FULL);
        return;
    }
    const struct index_place_of *place = &fetch->places->items[fetch->at];
    fetch->request = jetstream_held_ask(fetch->fetcher->jetstream, place->stream, place->sequence,
                                        on_held, fetch);
    if (fetch->request == NULL) {
        fetch->done(fetch, INDEX_FETCH_FAILED);
    }
}

void index_fetch_begin(struct index_fetch *fetch) {
    fetch->at = fetch->count = 0;
    go_on(fetch);
}

void index_fetch_cancel(struct index_fetch *fetch) {
    jetstream_request_cancel(fetch->request);
    fetch->request = NULL;
}
