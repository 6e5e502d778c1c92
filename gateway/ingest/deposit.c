/* SPDX-License-Identifier: Apache-2.0 */

/* See deposit.h. JSON on one line is its own payload, and goes to the store from where it is; what
 * has to be converted takes memory of its own meanwhile, which counts as what is gathered. */

#include "deposit.h"

#include <inttypes.h>
#include <stdio.h>

#include <sodium.h>

#include <parley/objects.h>

#include "budget.h"

enum {
    ENVELOPE_BYTES = 4096, /* of headers, at most */
    EXPANSION_MAX = 6,     /* bytes of JSON for a byte of another encoding */
    ID_BYTES = 16,
};

size_t deposit_limit(size_t nats_bytes_max) {
    const size_t most = nats_bytes_max > ENVELOPE_BYTES ? nats_bytes_max - ENVELOPE_BYTES : 0;
    return most > 0 && most < DEPOSIT_BYTES_MIN ? most : DEPOSIT_BYTES_MIN;
}

static bool is_json(const struct request_options *options) {
    return options->codec == &parley_codec_json || options->codec == &parley_codec_ndjson;
}

bool deposit_is_possible(const struct request_options *options, size_t bytes, size_t limit) {
    return options->protocol->objects != NULL && options->task == INGEST_FORWARD &&
           options->is_alone && gateway_object_store(options->gateway, options->protocol) != NULL &&
           bytes > (is_json(options) ? limit : limit / EXPANSION_MAX);
}

bool deposit_is_due(const struct request_options *options, const struct parley_message *message,
                    size_t limit) {
    return deposit_is_possible(options, message->text.length, limit) &&
           message->type == options->protocol->objects->type;
}

/* ---- the payload ---- */

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

/* Encodes within so much memory, which is taken from what may be gathered, where the message itself
 * is, too.  Returns: PARLEY_E_LIMIT: it does not suffice, or there is not so much (room). */
static enum parley_status encode_within(struct deposit *deposit, struct budget *budget,
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
static enum parley_status encode(struct deposit *deposit, const struct request_options *options,
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

static enum parley_status payload_of(struct deposit *deposit, const struct request_options *options,
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

static bool digest_object(struct deposit *deposit) {
    struct object_digest digest;
    object_digest_begin(&digest);
    object_digest_add(&digest, deposit->put.bytes);
    return object_digest_end(&digest, deposit->put.digest);
}

/* A UUID (version 8) of what the message says, and of its agent. The object is in it by its digest.
 */
static void identify(struct deposit *deposit, struct parley_bytes agent,
                     const struct parley_bytes parts[2]) {
    unsigned char hash[ID_BYTES];
    char hex[2 * ID_BYTES + 1];
    const unsigned char length = (unsigned char)agent.length; /* 64 at most */
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    crypto_generichash_update(&state, &length, 1);
    crypto_generichash_update(&state, (const unsigned char *)agent.data, agent.length);
    crypto_generichash_update(&state, (const unsigned char *)parts[0].data, parts[0].length);
    crypto_generichash_update(&state, (const unsigned char *)deposit->put.digest,
                              strlen(deposit->put.digest));
    crypto_generichash_update(&state, (const unsigned char *)parts[1].data, parts[1].length);
    crypto_generichash_final(&state, hash, sizeof hash);
    hash[6] = (unsigned char)(0x80 | (hash[6] & 0x0F));
    hash[8] = (unsigned char)(0x80 | (hash[8] & 0x3F));
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    snprintf(deposit->id, sizeof deposit->id, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12,
             hex + 16, hex + 20);
}

static void write_message(struct deposit *deposit, const struct parley_bytes parts[2]) {
    const struct object_pointer pointer = {.name = parley_bytes_of(deposit->put.name),
                                           .digest = parley_bytes_of(deposit->put.digest),
                                           .size = deposit->put.bytes.length};
    parley_buffer_append(&deposit->text, parts[0]);
    object_pointer_write(&pointer, &deposit->text);
    parley_buffer_append(&deposit->text, parts[1]);
}

/* Splits the payload into the object, and the message around it. */
static enum parley_status split(struct deposit *deposit, const struct request_options *options,
                                struct parley_message *message, struct parley_bytes payload) {
    struct parley_route route;
    size_t start, end;
    PARLEY_TRY(parley_message_route(message, &route));
    if (object_place_find(payload, options->protocol->objects->member, &start, &end) != PARLEY_OK) {
        return PARLEY_E_LIMIT;
    }
    const struct parley_bytes parts[] = {{payload.data, start},
                                         {payload.data + end, payload.length - end}};
    deposit->put.bytes = (struct parley_bytes){payload.data + start, end - start};
    if (!digest_object(deposit)) {
        return PARLEY_E_MEMORY;
    }
    identify(deposit, route.agent, parts);
    if (!object_name_write(route.agent, parley_bytes_of(deposit->id), deposit->put.name)) {
        return PARLEY_E_LIMIT;
    }
    write_message(deposit, parts);
    return parley_buffer_status(&deposit->text);
}

enum parley_status deposit_prepare(struct deposit *deposit, const struct request_options *options,
                                   struct parley_message *message, size_t number, size_t limit,
                                   struct parley_buffer *payload, struct publication *out) {
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

void deposit_finish(struct deposit *deposit, struct budget *budget) {
    parley_buffer_finish(&deposit->text);
    budget_uncover(budget, &deposit->held);
}

/* ---- when the request began ---- */

static void on_info(void *context, const struct jetstream_stream_info *info) {
    struct deposit_begin *begin = context;
    begin->request = NULL;
    begin->sequence = info->is_known ? info->last_sequence : 0;
}

void deposit_begin(struct deposit_begin *begin, const struct request_options *options,
                   int64_t length) {
    struct gateway *gateway = options->gateway;
    const size_t limit = deposit_limit(jetstream_max_payload_bytes(gateway->jetstream));
    const bool is_known = length >= 0 && options->coding == CODING_IDENTITY;
    if (!deposit_is_possible(options, is_known ? (size_t)length : SIZE_MAX, limit)) {
        return;
    }
    const struct channel *channel =
        channel_find(gateway->configuration->channels, options->protocol);
    const struct jetstream_place *place =
        jetstream_place_find(gateway->jetstream, channel->families[0]);
    if (place != NULL) {
        begin->request = jetstream_stream_ask(gateway->jetstream, place->stream, on_info, begin);
    }
}

void deposit_begin_finish(struct deposit_begin *begin) {
    if (begin->request != NULL) {
        jetstream_request_cancel(begin->request);
        begin->request = NULL;
    }
}
