/* SPDX-License-Identifier: Apache-2.0 */

/* Puts together what goes to NATS. The headers are CloudEvents' binary mode (NATS protocol
 * binding, section 3.1), JetStream's Nats-Msg-Id, Parley-Digest where that id is not itself a
 * digest: it says whether what JetStream calls a duplicate is one; and those of the protocol's
 * options that have one. */

#include "publication.h"

#include <ctype.h>
#include <stdio.h>

#include <parley/objects.h>

#include "object_layout.h"

enum {
    HEADER_VALUE_MAX = 256, /* one that would be longer is left out */
    ENCODED_MAX = 3,        /* "%2F" */
};

static enum parley_status add(struct publication *out, const char *name, const char *value) {
    if (value == NULL) {
        return PARLEY_E_MEMORY;
    }
    out->headers[out->header_count++] = (struct bus_header){name, value};
    return PARLEY_OK;
}

static const char hex_digits[] = "0123456789ABCDEF";

/* CloudEvents' HTTP binding, section 3.1.3.2: characters other than printable ASCII, a blank, a
 * double quote and a percent sign are percent-encoded. */
static bool is_plain(char c) {
    return c > 0x20 && c < 0x7F && c != '"' && c != '%';
}

/* Eight of them at once. Each term has a high bit set if a byte is below 0x21, equal to the other
 * operand of ^, or not ASCII (Bit Twiddling Hacks, "hasless" and "haszero"). */
static bool are_plain(const char *eight) {
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t word;
    memcpy(&word, eight, sizeof word);
    const uint64_t quote = word ^ ones * '"', percent = word ^ ones * '%', del = word ^ ones * 0x7F;
    return (((word - ones * 0x21) | (quote - ones) | (percent - ones) | (del - ones) | word) &
            high) == 0;
}

static size_t plain_length(struct parley_bytes text) {
    size_t length = 0;
    while (text.length - length >= sizeof(uint64_t) && are_plain(text.data + length)) {
        length += sizeof(uint64_t);
    }
    while (length < text.length && is_plain(text.data[length])) {
        length++;
    }
    return length;
}

/* Returns: the length, 1 or ENCODED_MAX. */
static size_t write_encoded(char c, bool is_sent_as_is, char *out) {
    const unsigned char byte = (unsigned char)c;
    if (is_sent_as_is) {
        out[0] = c;
        return 1;
    }
    out[0] = '%';
    out[1] = hex_digits[byte >> 4];
    out[2] = hex_digits[byte & 15];
    return ENCODED_MAX;
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
        const bool is_sent_as_is = is_plain(text.data[i]);
        if (length + (is_sent_as_is ? 1 : ENCODED_MAX) > HEADER_VALUE_MAX) {
            return PARLEY_OK;
        }
        length += write_encoded(text.data[i], is_sent_as_is, value + length);
    }
    return add(out, name, parley_arena_copy(arena, (struct parley_bytes){value, length}));
}

void publication_encode(struct parley_bytes text, struct parley_buffer *out) {
    for (size_t i = 0; i < text.length; i++) {
        char encoded[ENCODED_MAX];
        const size_t length = write_encoded(text.data[i], is_plain(text.data[i]), encoded);
        parley_buffer_append(out, (struct parley_bytes){encoded, length});
    }
}

/* ---- digests ---- */

/* The owner of the message, where only the request names it: the agent, and the side that sends it.
 */
static struct parley_bytes author_of(const struct publication *publication) {
    const struct parley_route *route = &publication->route;
    return route->agent.data != NULL ? route->source : (struct parley_bytes){0};
}

static enum parley_status add_digest(struct publication *out, struct parley_arena *arena,
                                     struct parley_bytes author, struct parley_bytes of) {
    digest_write(author, of, out->mark.digest);
    out->mark.is_compared = true;
    return add(out, PUBLICATION_DIGEST_HEADER,
               parley_arena_copy(arena, parley_bytes_of(out->mark.digest)));
}

/* ---- Nats-Msg-Id ----  Source: docs/api.md#nats. */

static const char message_id[] = "Nats-Msg-Id";

/* "ci:". Colons of the name are percent-encoded, so that the first one ends it: another name and
 * key never give the same text.  Returns: the length, at most ENCODED_MAX * strlen(name) + 1. */
static size_t write_owner(const char *name, char *out) {
    size_t length = 0;
    for (const char *at = name; *at != '\0'; at++) {
        length += write_encoded(*at, is_plain(*at) && *at != ':', out + length);
    }
    out[length++] = ':';
    return length;
}

/* "key:ci:nightly-1:7".  Returns: NULL: no memory. */
static const char *key_text(struct parley_arena *arena, const struct publication_context *context,
                            size_t number) {
    enum { EXTRA_BYTES = 32 }; /* what surrounds owner and key, and the digits of a number */
    const char *owner = context->key_owner != NULL ? context->key_owner : "";
    const size_t size =
        ENCODED_MAX * strlen(owner) + strlen(context->idempotency_key) + EXTRA_BYTES;
    char *text = parley_arena_allocate(arena, size);
    if (text == NULL) {
        return NULL;
    }
    size_t length = (size_t)snprintf(text, size, "key:");
    length += owner[0] != '\0' ? write_owner(owner, text + length) : 0;
    length += (size_t)snprintf(text + length, size - length, "%s", context->idempotency_key);
    if (context->is_batch) {
        snprintf(text + length, size - length, ":%zu", number);
    }
    return text;
}

static enum parley_status identify_by_key(struct publication *out, struct parley_message *message,
                                          const struct publication_context *context, size_t number,
                                          const struct parley_bytes *pointing) {
    struct parley_bytes sent;
    out->mark.repeat = PUBLICATION_REPEAT_KEY;
    PARLEY_TRY(add(out, message_id, key_text(&message->arena, context, number)));
    if (pointing != NULL) { /* the object is in it by its digest */
        return add_digest(out, &message->arena, author_of(out), *pointing);
    }
    PARLEY_TRY(parley_message_as_sent(message, &sent));
    return add_digest(out, &message->arena, author_of(out), sent);
}

static enum parley_status identify_by_payload(struct publication *out,
                                              struct parley_message *message,
                                              struct parley_bytes payload) {
    char text[DIGEST_LENGTH + 1];
    out->mark.repeat = message->options.stamp && message->stamp_length > 0
                           ? PUBLICATION_REPEAT_STAMPED
                           : PUBLICATION_REPEAT_SAME;
    digest_write(author_of(out), payload, text);
    return add(out, message_id, parley_arena_copy(&message->arena, parley_bytes_of(text)));
}

/* "task.request:550e8400-…" */
static const char *type_and_id(struct parley_message *message, struct parley_bytes id) {
    const struct parley_bytes type = parley_message_type(message);
    char *text = parley_arena_allocate(&message->arena, type.length + id.length + 2);
    if (text == NULL) {
        return NULL;
    }
    memcpy(text, type.data, type.length);
    text[type.length] = ':';
    for (size_t i = 0; i < id.length; i++) {
        text[type.length + 1 + i] = (char)tolower((unsigned char)id.data[i]);
    }
    text[type.length + 1 + id.length] = '\0';
    return text;
}

static enum parley_status identify_as(struct publication *out, struct parley_message *message,
                                      const char *value, struct parley_bytes payload) {
    const struct parley_options *options = &message->options;
    const bool is_stamped =
        options->stamp && parley_bytes_equal(out->route.id, parley_bytes_of(options->fresh_id));
    struct parley_bytes same = payload;
    out->mark.repeat = is_stamped ? PUBLICATION_REPEAT_STAMPED_ID : PUBLICATION_REPEAT_ID;
    PARLEY_TRY(add(out, message_id, value));
    if (message->protocol->fingerprint != NULL) {
        PARLEY_TRY(message->protocol->fingerprint(message, &same));
    }
    return add_digest(out, &message->arena, (struct parley_bytes){0}, same);
}

static enum parley_status identify(struct publication *out, struct parley_message *message,
                                   const struct publication_context *context, size_t number,
                                   struct parley_bytes decided, struct parley_bytes payload,
                                   bool is_pointing) {
    if (decided.data != NULL) {
        return identify_as(out, message, parley_arena_copy(&message->arena, decided), payload);
    }
    if (context->idempotency_key != NULL) {
        return identify_by_key(out, message, context, number, is_pointing ? &payload : NULL);
    }
    switch (context->has_dedupe ? out->route.dedupe : PARLEY_DEDUPE_NONE) {
    case PARLEY_DEDUPE_PAYLOAD:
        return identify_by_payload(out, message, payload);
    case PARLEY_DEDUPE_ID:
        return identify_as(out, message, type_and_id(message, out->route.id), payload);
    case PARLEY_DEDUPE_NONE:
        break;
    }
    return PARLEY_OK;
}

static struct parley_bytes copy_id(struct parley_message *message, const char *id) {
    return parley_bytes_of(parley_arena_copy(&message->arena, parley_bytes_of(id)));
}

/* Sent again, a message that JetStream recognises has the same id, so that the receipt of the
 * duplicate names the stored one. `known`: its Nats-Msg-Id, which a key reuses for another message
 * once the dedupe window has passed: the digest of the message is in the id, too. */
static void write_known_id(const struct publication *out, const char *known,
                           char id[DIGEST_ID_SIZE]) {
    char digest[DIGEST_LENGTH + 1];
    if (!out->mark.is_compared) { /* it is a digest itself */
        digest_write_id(known, id);
        return;
    }
    digest_write(parley_bytes_of(out->mark.digest), parley_bytes_of(known), digest);
    digest_write_id(digest, id);
}

/* CloudEvents requires an id, also of a message that has none: the route has it from here on. That
 * of a message which may be in an object store is the same wherever it is stored. */
static enum parley_status name_event(struct publication *out, struct parley_message *message,
                                     const struct publication_context *context,
                                     struct parley_bytes payload,
                                     const struct publication_object *object) {
    const struct parley_objects *objects = message->protocol->objects;
    char id[OBJECT_ID_SIZE > DIGEST_ID_SIZE ? OBJECT_ID_SIZE : DIGEST_ID_SIZE];
    if (object != NULL) {
        out->route.id = parley_bytes_of(object->id);
        return PARLEY_OK;
    }
    if (objects != NULL && message->type == objects->type && out->route.agent.data != NULL) {
        PARLEY_TRY(object_id_of(out->route.agent, payload, objects->member, id));
    } else if (out->route.id.data != NULL) {
        return PARLEY_OK;
    } else if (out->header_count > 0) { /* Nats-Msg-Id is the first one */
        write_known_id(out, out->headers[0].value, id);
    } else {
        id_new_from(context->identities, id);
    }
    out->route.id = copy_id(message, id);
    return out->route.id.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status add_trace(struct publication *out,
                                    const struct publication_context *context) {
    PARLEY_TRY(add(out, "traceparent", context->traceparent));
    return context->tracestate != NULL ? add(out, "tracestate", context->tracestate) : PARLEY_OK;
}

static void clear(struct publication *out) {
    out->header_count = 0;
    out->mark.repeat = PUBLICATION_REPEAT_ANOTHER;
    out->mark.is_compared = false;
    out->mark.digest[0] = '\0';
}

static enum parley_status add_object(struct publication *out,
                                     const struct publication_object *object) {
    for (size_t i = 0; object != NULL && i < PUBLICATION_OBJECT_HEADERS; i++) {
        PARLEY_TRY(add(out, object->headers[i].name, object->headers[i].value));
    }
    return PARLEY_OK;
}

static enum parley_status add_option(struct publication *out, struct parley_arena *arena,
                                     const struct parley_option *option,
                                     union parley_option_value value) {
    struct parley_buffer text;
    const char *copy = NULL;
    parley_buffer_init(&text);
    const bool is_given = parley_option_write(option, value, &text);
    if (is_given && parley_buffer_status(&text) == PARLEY_OK) {
        copy = parley_arena_copy(arena, parley_buffer_bytes(&text));
    }
    parley_buffer_finish(&text);
    return is_given ? add(out, option->header, copy) : PARLEY_OK;
}

static enum parley_status add_options(struct publication *out, struct parley_message *message) {
    const struct parley_option *rows = message->protocol->options;
    for (size_t i = 0; rows != NULL && rows[i].help.name != NULL; i++) {
        if (rows[i].header != NULL && (rows[i].header_types >> message->type & 1) != 0) {
            PARLEY_TRY(add_option(out, &message->arena, &rows[i], message->options.values[i]));
        }
    }
    return PARLEY_OK;
}

/* The digest of what was sent, for anyone who has kept that. */
static enum parley_status add_original(struct publication *out, struct parley_message *message) {
    struct object_digest digest;
    char value[OBJECT_DIGEST_MAX];
    if (message->dialect == NULL) {
        return PARLEY_OK;
    }
    object_digest_begin(&digest);
    object_digest_add(&digest, message->original);
    if (!object_digest_end(&digest, value)) {
        return PARLEY_E_MEMORY;
    }
    return add(out, PUBLICATION_ORIGINAL_HEADER,
               parley_arena_copy(&message->arena, parley_bytes_of(value)));
}

enum parley_status publication_describe(struct parley_message *message,
                                        const struct publication_context *context, size_t number,
                                        struct parley_bytes decided, struct parley_bytes payload,
                                        const struct publication_object *object,
                                        struct publication *out) {
    struct parley_arena *arena = &message->arena;
    clear(out);
    out->payload = payload;
    PARLEY_TRY(parley_message_route(message, &out->route));
    PARLEY_TRY(identify(out, message, context, number, decided, payload, object != NULL));
    PARLEY_TRY(name_event(out, message, context, payload, object));
    PARLEY_TRY(add(out, "ce-specversion", "1.0"));
    PARLEY_TRY(add_encoded(out, arena, "ce-id", out->route.id));
    PARLEY_TRY(add_encoded(out, arena, "ce-source", out->route.source));
    PARLEY_TRY(add_encoded(out, arena, "ce-type", out->route.type));
    PARLEY_TRY(add_encoded(out, arena, "ce-time", out->route.time));
    PARLEY_TRY(add_object(out, object));
    PARLEY_TRY(add_options(out, message));
    PARLEY_TRY(add_original(out, message));
    return context->traceparent != NULL ? add_trace(out, context) : PARLEY_OK;
}

enum parley_status publication_prepare(struct parley_message *message,
                                       const struct publication_context *context, size_t number,
                                       struct parley_bytes decided, struct parley_buffer *payload,
                                       struct publication *out) {
    clear(out);
    parley_buffer_clear(payload);
    PARLEY_TRY(message->protocol->encode(message, payload));
    return publication_describe(message, context, number, decided, parley_buffer_bytes(payload),
                                NULL, out);
}
