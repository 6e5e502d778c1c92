/* SPDX-License-Identifier: Apache-2.0 */

/* See object_upload.h. JSON on one line is its own payload, and is uploaded in place; a message
 * that must be converted takes memory of its own until then, which counts as gathered. */

#include "object_upload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <parley/objects.h>

#include "budget.h"

enum {
    ENVELOPE_BYTES = 4096, /* of headers, at most */
    EXPANSION_MAX = 6,     /* bytes of JSON for a byte of another encoding */
};

size_t object_upload_limit(const struct request_options *options) {
    const struct gateway *gateway = options->gateway;
    if (options->protocol->objects == NULL) {
        return DEPOSIT_BYTES_MIN;
    }
    const struct channel *channel =
        channel_find(gateway->configuration->channels, options->protocol);
    const size_t nats_bytes_max =
        jetstream_message_bytes_max(gateway->jetstream, channel->subjects);
    const size_t most = nats_bytes_max > ENVELOPE_BYTES ? nats_bytes_max - ENVELOPE_BYTES : 0;
    return most > 0 && most < DEPOSIT_BYTES_MIN ? most : DEPOSIT_BYTES_MIN;
}

static bool is_json(const struct request_options *options) {
    return options->codec == &parley_codec_json || options->codec == &parley_codec_ndjson;
}

static bool has_store(const struct request_options *options) {
    return options->protocol->objects != NULL && options->task == INGEST_FORWARD &&
           options->is_alone && gateway_object_store(options->gateway, options->protocol) != NULL;
}

bool object_upload_is_possible(const struct request_options *options, size_t bytes, size_t limit) {
    return has_store(options) && bytes > (is_json(options) ? limit : limit / EXPANSION_MAX);
}

bool object_upload_is_due(const struct request_options *options,
                          const struct parley_message *message, size_t limit) {
    return object_upload_is_possible(options, message->text.length, limit) &&
           message->type == options->protocol->objects->type;
}

/* ---- the payload ---- */

static struct parley_bytes part_of(struct parley_bytes text, size_t start, size_t end) {
    return (struct parley_bytes){text.data + start, end - start};
}

/* JSON that is stored as it came is on one line, without that line's end. */
static bool is_one_line(struct parley_bytes text) {
    return memchr(text.data, '\n', text.length) == NULL &&
           memchr(text.data, '\r', text.length) == NULL;
}

static struct parley_bytes without_line_end(struct parley_bytes text) {
    while (text.length > 0 &&
           (text.data[text.length - 1] == '\n' || text.data[text.length - 1] == '\r')) {
        text.length--;
    }
    return text;
}

/* Encodes within so much memory, which counts as gathered, as does the message itself.  Returns:
 * PARLEY_E_LIMIT: it does not suffice, or there is not so much (room). */
static enum parley_status encode_within(struct object_upload *deposit, struct budget *budget,
                                        struct parley_message *message, size_t bytes,
                                        struct parley_buffer *payload) {
    if (!budget_cover(budget, &deposit->held, bytes)) {
        deposit->room = message->text.length + bytes > budget->max_bytes ? DEPOSIT_TOO_LARGE
                                                                         : DEPOSIT_OVERLOADED;
        return PARLEY_E_LIMIT;
    }
    parley_buffer_finish(payload);
    payload->limit_bytes = bytes;
    const enum parley_status status = message->protocol->encode(message, payload);
    payload->limit_bytes = 0;
    return status;
}

/* MessagePack of texts becomes hardly longer, that of small numbers several times as long. */
static enum parley_status encode(struct object_upload *deposit,
                                 const struct request_options *options,
                                 struct parley_message *message, struct parley_buffer *payload) {
    struct budget *budget = options->gateway->budget;
    const size_t length = message->text.length, most = length * EXPANSION_MAX;
    size_t bytes = length + length / 4;
    enum parley_status status = encode_within(deposit, budget, message, bytes, payload);
    while (status == PARLEY_E_LIMIT && deposit->room == DEPOSIT_HAS_ROOM && bytes < most) {
        bytes = 2 * bytes < most ? 2 * bytes : most;
        status = encode_within(deposit, budget, message, bytes, payload);
    }
    return status;
}

static enum parley_status payload_of(struct object_upload *deposit,
                                     const struct request_options *options,
                                     struct parley_message *message, struct parley_buffer *payload,
                                     struct parley_bytes *out) {
    *out = without_line_end(message->text);
    if (is_json(options) && is_one_line(*out)) {
        return PARLEY_OK;
    }
    const enum parley_status status = encode(deposit, options, message, payload);
    *out = parley_buffer_bytes(payload);
    return status;
}

/* ---- the object ---- */

/* Finds the object in the payload, and its digest. */
static enum parley_status find_object(struct object_put *put, struct parley_bytes payload,
                                      const char *member) {
    struct object_digest digest;
    size_t start, end;
    if (object_place_find(payload, member, &start, &end) != PARLEY_OK) {
        return PARLEY_E_LIMIT;
    }
    put->bytes = part_of(payload, start, end);
    object_digest_begin(&digest);
    object_digest_add(&digest, put->bytes);
    return object_digest_end(&digest, put->digest) ? PARLEY_OK : PARLEY_E_MEMORY;
}

static void write_message(struct object_upload *deposit, const struct parley_bytes parts[2]) {
    const struct object_pointer pointer = {.name = parley_bytes_of(deposit->put.name),
                                           .digest = parley_bytes_of(deposit->put.digest),
                                           .size = deposit->put.bytes.length};
    parley_buffer_append(&deposit->text, parts[0]);
    object_pointer_write(&pointer, &deposit->text);
    parley_buffer_append(&deposit->text, parts[1]);
}

/* Splits the payload into the object, and the message around it. */
static enum parley_status split(struct object_upload *deposit,
                                const struct request_options *options,
                                struct parley_message *message, struct parley_bytes payload) {
    struct object_put *put = &deposit->put;
    struct parley_route route;
    PARLEY_TRY(parley_message_route(message, &route));
    PARLEY_TRY(find_object(put, payload, options->protocol->objects->member));
    const char *end = put->bytes.data + put->bytes.length;
    const struct parley_bytes parts[] = {{payload.data, (size_t)(put->bytes.data - payload.data)},
                                         {end, (size_t)(payload.data + payload.length - end)}};
    object_id_write(route.agent, parts, deposit->put.digest, deposit->id);
    if (!object_name_write(route.agent, parley_bytes_of(deposit->id), deposit->put.name)) {
        return PARLEY_E_LIMIT;
    }
    write_message(deposit, parts);
    return parley_buffer_status(&deposit->text);
}

enum parley_status object_upload_prepare(struct object_upload *deposit,
                                         const struct request_options *options,
                                         struct parley_message *message, size_t number,
                                         size_t limit, struct parley_buffer *payload,
                                         struct publication *out) {
    const struct publication_object object = {.id = deposit->id,
                                              .headers = {{OBJECT_HEADER, deposit->put.name},
                                                          {OBJECT_SIZE_HEADER, deposit->size},
                                                          {OBJECT_BEGUN_HEADER, deposit->begun}}};
    struct parley_bytes text;
    PARLEY_TRY(payload_of(deposit, options, message, payload, &text));
    deposit->is_needed = text.length > limit;
    if (!deposit->is_needed) {
        return publication_describe(message, &options->publication, number,
                                    (struct parley_bytes){0}, text, NULL, out);
    }
    deposit->text.limit_bytes = limit;
    PARLEY_TRY(split(deposit, options, message, text));
    snprintf(deposit->size, sizeof deposit->size, "%zu", deposit->put.bytes.length);
    snprintf(deposit->begun, sizeof deposit->begun, "0");
    return publication_describe(message, &options->publication, number, (struct parley_bytes){0},
                                parley_buffer_bytes(&deposit->text), &object, out);
}

void object_upload_finish(struct object_upload *deposit, struct budget *budget) {
    parley_buffer_finish(&deposit->text);
    budget_uncover(budget, &deposit->held);
}

/* ---- when the request began ---- */

enum {
    BEGIN_BYTES_MIN = 4096, /* a shorter one arrives with its head */
    BEGIN_MS_MIN = 100,     /* what arrives faster than NATS answers takes no time */
};

static void on_info(void *context, const struct jetstream_stream_info *info) {
    struct object_upload_begin *begin = context;
    begin->request = NULL;
    begin->sequence = info->is_known ? info->last_sequence : 0;
}

void object_upload_begin(struct object_upload_begin *begin, const struct request_options *options,
                         int64_t length) {
    struct gateway *gateway = options->gateway;
    const bool is_short = length >= 0 && length <= BEGIN_BYTES_MIN;
    if (!has_store(options) || (is_short && options->coding == CODING_IDENTITY)) {
        return;
    }
    const struct channel *channel =
        channel_find(gateway->configuration->channels, options->protocol);
    const struct jetstream_place *place =
        jetstream_place_find(gateway->jetstream, channel->families[0]);
    if (place != NULL) {
        begin->request = jetstream_stream_ask(gateway->jetstream, place->stream, on_info, begin);
        begin->asked_ms = reactor_now_ms(gateway->reactor);
    }
}

void object_upload_begin_add(struct object_upload_begin *begin,
                             const struct request_options *options,
                             const struct parley_message *message,
                             struct publication *publication) {
    const struct parley_objects *objects = options->protocol->objects;
    if (begin->asked_ms == 0 || objects == NULL || message->type != objects->type) {
        return;
    }
    const int64_t took_ms = reactor_now_ms(options->gateway->reactor) - begin->asked_ms;
    if (begin->sequence > 0 || took_ms >= BEGIN_MS_MIN) {
        snprintf(begin->text, sizeof begin->text, "%" PRIu64, begin->sequence);
        publication->headers[publication->header_count++] =
            (struct bus_header){OBJECT_BEGUN_HEADER, begin->text};
    }
}

void object_upload_begin_finish(struct object_upload_begin *begin) {
    if (begin->request != NULL) {
        jetstream_request_cancel(begin->request);
        begin->request = NULL;
    }
}
