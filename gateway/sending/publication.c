/* SPDX-License-Identifier: Apache-2.0 */

/* Puts together what goes to NATS. The headers are CloudEvents' binary mode (NATS protocol
 * binding, section 3.1) and JetStream's Nats-Msg-Id. */

#include "publication.h"

#include <ctype.h>
#include <stdio.h>

#include <sodium.h>

enum {
    HEADER_VALUE_MAX = 256, /* one that would be longer is left out */
    DIGEST_BYTES = 16,
};

static enum parley_status add(struct publication *out, const char *name, const char *value) {
    if (value == NULL) {
        return PARLEY_E_MEMORY;
    }
    out->headers[out->header_count++] = (struct bus_header){name, value};
    return PARLEY_OK;
}

static const char hex_digits[] = "0123456789ABCDEF";

/* CloudEvents' HTTP binding, section 3.1.3.2: what is not printable ASCII, a blank, a double quote
 * and a percent sign are percent-encoded. */
static bool is_plain(char c) {
    return c > 0x20 && c < 0x7F && c != '"' && c != '%';
}

static size_t plain_length(struct parley_bytes text) {
    size_t length = 0;
    while (length < text.length && is_plain(text.data[length])) {
        length++;
    }
    return length;
}

static enum parley_status add_encoded(struct publication *out, struct parley_arena *arena,
                                      const char *name, struct parley_bytes text) {
    char value[HEADER_VALUE_MAX];
    const size_t plain = plain_length(text);
    if (text.data == NULL || text.length > HEADER_VALUE_MAX) {
        return PARLEY_OK;
    }
    if (plain == text.length) {
        return add(out, name, parley_arena_copy(arena, text));
    }
    memcpy(value, text.data, plain);
    size_t length = plain;
    for (size_t i = plain; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (length + (is_plain(text.data[i]) ? 1 : 3) > HEADER_VALUE_MAX) {
            return PARLEY_OK;
        }
        if (is_plain(text.data[i])) {
            value[length++] = text.data[i];
        } else {
            value[length++] = '%';
            value[length++] = hex_digits[c >> 4];
            value[length++] = hex_digits[c & 15];
        }
    }
    return add(out, name, parley_arena_copy(arena, (struct parley_bytes){value, length}));
}

/* Lower case; nothing secret is in it, which sodium_bin2hex takes three times as long for. */
static const char *digest(struct parley_arena *arena, struct parley_bytes payload) {
    unsigned char hash[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)payload.data, payload.length, NULL,
                       0);
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        hex[2 * i] = (char)(hex_digits[hash[i] >> 4] | 0x20);
        hex[2 * i + 1] = (char)(hex_digits[hash[i] & 15] | 0x20);
    }
    return parley_arena_copy(arena, (struct parley_bytes){hex, sizeof hex});
}

static const char *lower(struct parley_arena *arena, struct parley_bytes text) {
    char *copy = parley_arena_copy(arena, text);
    for (size_t i = 0; copy != NULL && i < text.length; i++) {
        copy[i] = (char)tolower((unsigned char)copy[i]);
    }
    return copy;
}

/* Source: api.md, NATS, Nats-Msg-Id. */
static enum parley_status add_message_id(struct publication *out, struct parley_arena *arena,
                                         const struct publication_context *context, size_t number,
                                         struct parley_bytes payload) {
    if (context->idempotency_key != NULL && context->is_batch) {
        char key[192];
        snprintf(key, sizeof key, "%s:%zu", context->idempotency_key, number);
        return add(out, "Nats-Msg-Id", parley_arena_copy(arena, parley_bytes_of(key)));
    }
    if (context->idempotency_key != NULL) {
        return add(out, "Nats-Msg-Id", context->idempotency_key);
    }
    if (!context->has_dedupe || out->route.id.data == NULL) {
        return PARLEY_OK;
    }
    switch (out->route.dedupe) {
    case PARLEY_DEDUPE_PAYLOAD:
        return add(out, "Nats-Msg-Id", digest(arena, payload));
    case PARLEY_DEDUPE_ID:
        return add(out, "Nats-Msg-Id", lower(arena, out->route.id));
    case PARLEY_DEDUPE_NONE:
        break;
    }
    return PARLEY_OK;
}

enum parley_status publication_prepare(struct parley_message *message,
                                       const struct publication_context *context, size_t number,
                                       struct parley_buffer *payload, struct publication *out) {
    struct parley_arena *arena = &message->arena;
    out->header_count = 0;
    parley_buffer_clear(payload);
    PARLEY_TRY(parley_message_route(message, &out->route));
    PARLEY_TRY(message->protocol->encode(message, payload));
    PARLEY_TRY(add_message_id(out, arena, context, number, parley_buffer_bytes(payload)));
    PARLEY_TRY(add(out, "ce-specversion", "1.0"));
    PARLEY_TRY(add_encoded(out, arena, "ce-id", out->route.id));
    PARLEY_TRY(add_encoded(out, arena, "ce-source", out->route.source));
    PARLEY_TRY(add_encoded(out, arena, "ce-type", out->route.type));
    PARLEY_TRY(add_encoded(out, arena, "ce-time", out->route.time));
    return context->traceparent != NULL ? add(out, "traceparent", context->traceparent) : PARLEY_OK;
}
