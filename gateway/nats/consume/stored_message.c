/* SPDX-License-Identifier: Apache-2.0 */

/* See stored_message.h. The payload, in base64, is most of the answer: it is decoded from the
 * answer without a copy. */

#include "stored_message.h"

#include <ctype.h>
#include <string.h>

#include <sodium.h>

#include "jetstream_request.h"
#include "jetstream_state.h"

static const char out_of_memory[] = "parley has no memory to read the answer";

static const struct parley_value *value_of(const struct stored_message *answer, size_t member) {
    return &answer->members[member].value;
}

void stored_message_init(struct stored_message *answer, struct parley_bytes text,
                         bool is_unanswerable) {
    *answer = (struct stored_message){
        .members = {ANSWER_ERROR_MEMBERS, [MESSAGE_ANSWER_MESSAGE] = {.name = "message"},
                    [MESSAGE_ANSWER_SUBJECT] = {.object = "message", .name = "subject"},
                    [MESSAGE_ANSWER_HEADERS] = {.object = "message", .name = "hdrs"},
                    [MESSAGE_ANSWER_DATA] = {.object = "message", .name = "data"},
                    [MESSAGE_ANSWER_TIME] = {.object = "message", .name = "time"},
                    [MESSAGE_ANSWER_SEQUENCE] = {.object = "message", .name = "seq"}}};
    parley_arena_init(&answer->arena, 0);
    if (is_unanswerable) {
        answer->error = JETSTREAM_NO_RESPONDERS;
        answer->reason = MESSAGE_ANSWER_NO_RESPONDERS;
        return;
    }
    if (api_fields_read(text, answer->members, MESSAGE_ANSWER_MEMBER_COUNT, &answer->arena) !=
        PARLEY_OK) {
        answer->error = -1;
        answer->reason = out_of_memory;
        return;
    }
    answer->error = answer_error(text, answer->members);
    if (answer->error == 0) {
        return;
    }
    const struct parley_value *reason = value_of(answer, ANSWER_DESCRIPTION);
    answer->reason = reason->kind == PARLEY_STRING ? parley_arena_copy(&answer->arena, reason->text)
                                                   : "JetStream gave no reason";
    answer->reason = answer->reason != NULL ? answer->reason : out_of_memory;
}

void stored_message_finish(struct stored_message *answer) {
    parley_arena_finish(&answer->arena);
}

/* Decodes a member in base64, which is empty if there is none.
 * Returns: PARLEY_E_UNSUPPORTED if it is not base64. */
static enum parley_status read_base64(struct stored_message *answer, size_t member,
                                      struct parley_bytes *out) {
    const struct parley_value *value = value_of(answer, member);
    if (value->kind != PARLEY_STRING) {
        return PARLEY_OK;
    }
    const size_t room = value->text.length / 4 * 3 + 1;
    char *bytes = parley_arena_allocate(&answer->arena, room);
    if (bytes == NULL) {
        return PARLEY_E_MEMORY;
    }
    out->data = bytes;
    return sodium_base642bin((unsigned char *)bytes, room, value->text.data, value->text.length,
                             NULL, &out->length, NULL, sodium_base64_VARIANT_ORIGINAL) == 0
               ? PARLEY_OK
               : PARLEY_E_UNSUPPORTED;
}

/* A key-value bucket marks a key that was deleted or purged by a message with this header. */
static bool is_deletion(struct parley_bytes headers) {
    static const char name[] = "\r\nKV-Operation:";
    return headers.length > 0 &&
           memmem(headers.data, headers.length, name, sizeof name - 1) != NULL;
}

static uint64_t read_sequence(const struct stored_message *answer) {
    const struct parley_value *value = value_of(answer, MESSAGE_ANSWER_SEQUENCE);
    return value->kind == PARLEY_NUMBER && value->number >= 0 ? (uint64_t)value->number : 0;
}

/* The number in a header that parley writes, with one blank before it. */
static uint64_t read_count(struct parley_bytes headers) {
    static const char name[] = "\r\n" JETSTREAM_COUNT_HEADER ": ";
    const char *at =
        headers.length > 0 ? memmem(headers.data, headers.length, name, sizeof name - 1) : NULL;
    uint64_t count = 0;
    if (at == NULL) {
        return 0;
    }
    const char *end = headers.data + headers.length;
    for (at += sizeof name - 1; at < end && isdigit((unsigned char)*at); at++) {
        count = count * 10 + (uint64_t)(*at - '0');
    }
    return count;
}

/* Returns: 0 where there is none, or no memory. */
static int64_t read_time(struct stored_message *answer) {
    const struct parley_value *value = value_of(answer, MESSAGE_ANSWER_TIME);
    return value->kind == PARLEY_STRING
               ? jetstream_time_ns(parley_arena_copy(&answer->arena, value->text))
               : 0;
}

static void read_last_message(struct stored_message *answer, struct jetstream_last *out) {
    struct parley_bytes headers = {0}, payload = {0};
    enum parley_status status = read_base64(answer, MESSAGE_ANSWER_HEADERS, &headers);
    if (status == PARLEY_OK && is_deletion(headers)) {
        out->found = JETSTREAM_LAST_NONE;
        out->sequence = read_sequence(answer);
        return;
    }
    if (status != PARLEY_E_MEMORY) {
        status = read_base64(answer, MESSAGE_ANSWER_DATA, &payload);
    }
    if (status == PARLEY_OK) {
        out->found = JETSTREAM_LAST_FOUND;
        out->payload = payload;
        out->sequence = read_sequence(answer);
        out->count = read_count(headers);
        out->time_ns = read_time(answer);
    } else if (status == PARLEY_E_MEMORY) {
        out->error = out_of_memory;
    }
}

void stored_message_last(struct stored_message *answer, struct jetstream_last *out) {
    *out = (struct jetstream_last){.found = JETSTREAM_LAST_UNKNOWN};
    if (answer->error == JETSTREAM_E_NO_MESSAGE) {
        out->found = JETSTREAM_LAST_NONE;
    } else if (answer->error == JETSTREAM_E_NO_STREAM) {
        out->found = JETSTREAM_LAST_NO_STREAM;
    } else if (answer->error != 0) {
        out->error = answer->reason;
    } else if (value_of(answer, MESSAGE_ANSWER_MESSAGE)->kind == PARLEY_OBJECT) {
        read_last_message(answer, out);
    }
}

static void read_held_message(struct stored_message *answer, struct jetstream_held *out) {
    struct parley_bytes headers = {0}, payload = {0};
    const char *subject =
        parley_arena_copy(&answer->arena, value_of(answer, MESSAGE_ANSWER_SUBJECT)->text);
    enum parley_status status =
        subject != NULL ? read_base64(answer, MESSAGE_ANSWER_HEADERS, &headers) : PARLEY_E_MEMORY;
    if (status == PARLEY_OK) {
        status = read_base64(answer, MESSAGE_ANSWER_DATA, &payload);
    }
    if (status == PARLEY_OK) {
        out->found = JETSTREAM_HELD_FOUND;
        out->payload = payload;
        out->time_ns = read_time(answer);
        out->sequence = read_sequence(answer);
        out->subject = subject;
        out->headers = headers;
    } else if (status == PARLEY_E_MEMORY) {
        out->error = out_of_memory;
    }
}

void stored_message_held(struct stored_message *answer, struct jetstream_held *out) {
    *out = (struct jetstream_held){.found = JETSTREAM_HELD_UNKNOWN};
    if (answer->error == JETSTREAM_E_NO_MESSAGE) {
        out->found = JETSTREAM_HELD_GONE;
    } else if (answer->error != 0) {
        out->error = answer->reason;
    } else if (value_of(answer, MESSAGE_ANSWER_SUBJECT)->kind == PARLEY_STRING) {
        read_held_message(answer, out);
    }
}
