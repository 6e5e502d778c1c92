/* SPDX-License-Identifier: Apache-2.0 */

#include "index_message.h"

#include "object_store.h"
#include "stored_headers.h"

enum { MESSAGE_BYTES_MAX = 64 << 20, HEADER_ID_MAX = 256, NS_A_MS = 1000000, NS_A_S = 1000000000 };

void index_reader_init(struct index_reader *reader, const struct parley_schema *schema,
                       const struct channel *channel) {
    *reader = (struct index_reader){.channel = channel};
    while (parley_protocols[reader->protocol] != channel->protocol) {
        reader->protocol++;
    }
    parley_message_init(&reader->message, schema);
    parley_buffer_init(&reader->words);
}

void index_reader_finish(struct index_reader *reader) {
    parley_message_finish(&reader->message);
    parley_buffer_finish(&reader->words);
}

/* The event's id that the gateway gave a message without one; any publisher may write it. */
static struct parley_bytes header_id(const struct jetstream_stored *stored) {
    const char *id = jetstream_stored_header(stored, STORED_ID_HEADER);
    size_t length = 0;
    while (id != NULL && id[length] > ' ' && id[length] <= '~' && id[length] != '%') {
        length++;
    }
    const bool is_plain = length > 0 && length <= HEADER_ID_MAX && id[length] == '\0';
    return is_plain ? (struct parley_bytes){id, length} : (struct parley_bytes){0};
}

/* 00-TRACE-SPAN-FLAGS */
static struct parley_bytes trace_of(const struct jetstream_stored *stored) {
    enum { START = 3, LENGTH = 32 };
    const char *header = jetstream_stored_header(stored, "traceparent");
    const bool is_whole = header != NULL && strlen(header) > START + LENGTH &&
                          header[START - 1] == '-' && header[START + LENGTH] == '-';
    return is_whole ? (struct parley_bytes){header + START, LENGTH} : (struct parley_bytes){0};
}

static enum parley_status read_entry(struct index_reader *reader,
                                     const struct jetstream_stored *stored, bool *out_is_valid) {
    struct parley_message *message = &reader->message;
    const bool has_object = message->protocol->objects != NULL &&
                            jetstream_stored_header(stored, OBJECT_HEADER) != NULL;
    const struct parley_options options = {
        .message_bytes_max = MESSAGE_BYTES_MAX,
        .subject_prefix = reader->channel->prefix,
        .dialect = reader->channel->dialect,
        .now_seconds = reader->channel->dialect != NULL ? stored->time_ns / NS_A_S : 0,
        .stored_subject = stored->subject,
        .has_object = has_object};
    parley_message_reset(message);
    parley_buffer_clear(&reader->words);
    enum parley_status status = parley_message_check(message, stored->payload, &parley_codec_json,
                                                     &options, (struct parley_position){1, 1});
    *out_is_valid = status == PARLEY_OK && parley_message_is_valid(message);
    if (*out_is_valid) {
        status = parley_message_index(message, reader->has_words ? &reader->words : NULL,
                                      &reader->entry);
        *out_is_valid = status == PARLEY_OK;
    }
    return status == PARLEY_E_MEMORY ? status : PARLEY_OK;
}

enum parley_status index_reader_read(struct index_reader *reader, unsigned stream,
                                     const struct jetstream_stored *stored, struct index_row *out) {
    bool is_valid;
    PARLEY_TRY(read_entry(reader, stored, &is_valid));
    const unsigned type = reader->message.type;
    *out = (struct index_row){
        .stream = stream,
        .sequence = stored->sequence,
        .stored_ms = stored->time_ns / NS_A_MS,
        .protocol = reader->protocol,
        .type = is_valid && type != PARLEY_TYPE_OTHER ? type : INDEX_TYPE_FOREIGN,
        .id = is_valid && reader->entry.id.data != NULL ? reader->entry.id : header_id(stored),
        .subject = parley_bytes_of(stored->subject),
        .trace = trace_of(stored),
        .words = is_valid ? parley_buffer_bytes(&reader->words) : (struct parley_bytes){0},
        .size = stored->payload.length,
        .entry = is_valid ? &reader->entry : NULL};
    return PARLEY_OK;
}
