/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_ack.h. There is one ack for each message, so the usual one is read at a glance; any
 * other goes to the JSON reader. */

#include "jetstream_ack.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api_fields.h"

/* ---- the usual ack ---- */

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && *at == ' ') {
        at++;
    }
    return at;
}

/* Skips `text` and the blanks around it.  Returns: NULL if something else is there. */
static const char *skip_text(const char *at, const char *end, const char *text) {
    if (at == NULL) {
        return NULL;
    }
    size_t length = strlen(text);
    at = skip_blanks(at, end);
    if ((size_t)(end - at) < length || memcmp(at, text, length) != 0) {
        return NULL;
    }
    return skip_blanks(at + length, end);
}

static const char *skip_string(const char *at, const char *end, char *out, size_t out_size) {
    if (at == NULL || at == end || *at != '"') {
        return NULL;
    }
    at++;
    size_t length = 0;
    for (; at < end && *at != '"'; at++) {
        if (*at == '\\' || length + 1 >= out_size) {
            return NULL;
        }
        out[length++] = *at;
    }
    out[length] = '\0';
    return at < end ? at + 1 : NULL;
}

static const char *skip_number(const char *at, const char *end, uint64_t *out) {
    if (at == NULL || at == end || !isdigit((unsigned char)*at)) {
        return NULL;
    }
    uint64_t number = 0;
    for (; at < end && isdigit((unsigned char)*at); at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    *out = number;
    return at;
}

/* {"stream":"VLP", "domain":"x", "seq":42,"duplicate": true}: the members in the server's order;
 * domain and duplicate are optional. */
static bool read_usual_ack(struct parley_bytes payload, struct jetstream_ack_texts *texts,
                           struct jetstream_ack *out) {
    const char *end = payload.data + payload.length;
    const char *at = skip_text(skip_text(payload.data, end, "{"), end, "\"stream\"");
    at = skip_string(skip_text(at, end, ":"), end, texts->stream, sizeof texts->stream);
    at = skip_text(at, end, ",");
    const char *domain = skip_text(skip_text(at, end, "\"domain\""), end, ":");
    if (domain != NULL) {
        char ignored[256];
        at = skip_text(skip_string(domain, end, ignored, sizeof ignored), end, ",");
    }
    at = skip_number(skip_text(skip_text(at, end, "\"seq\""), end, ":"), end, &out->sequence);
    if (at == NULL) {
        return false;
    }
    const char *duplicate = skip_text(skip_text(at, end, ","), end, "\"duplicate\"");
    if (duplicate != NULL) {
        at = skip_text(skip_text(duplicate, end, ":"), end, "true");
        out->is_duplicate = true;
    }
    out->outcome = JETSTREAM_STORED;
    out->stream = texts->stream;
    return skip_text(at, end, "}") == end;
}

/* ---- any other ---- */

enum { STREAM = ANSWER_ERROR_COUNT, SEQUENCE, DUPLICATE, MEMBER_COUNT };

/* Returns: `out`; NULL if the member is not a string. */
static const char *copy_text(const struct answer_member *member, char *out, size_t size) {
    if (member->value.kind != PARLEY_STRING) {
        return NULL;
    }
    const struct parley_bytes text = member->value.text;
    snprintf(out, size, "%.*s", (int)(text.length < size ? text.length : size), text.data);
    return out;
}

static bool read_any_ack(struct parley_bytes payload, struct jetstream_ack_texts *texts,
                         struct parley_arena *arena, struct jetstream_ack *out) {
    struct answer_member members[MEMBER_COUNT] = {
        ANSWER_ERROR_MEMBERS,
        [STREAM] = {.name = "stream"},
        [SEQUENCE] = {.name = "seq"},
        [DUPLICATE] = {.name = "duplicate"},
    };
    const bool has_all = api_fields_read(payload, members, MEMBER_COUNT, arena) == PARLEY_OK;
    const int code = answer_error(payload, members);
    *out = (struct jetstream_ack){
        .stream = copy_text(&members[STREAM], texts->stream, sizeof texts->stream)};
    if (code > 0 || (code != 0 && has_all)) { /* the server writes the codes first */
        const char *text =
            copy_text(&members[ANSWER_DESCRIPTION], texts->error, sizeof texts->error);
        out->outcome = JETSTREAM_REFUSED;
        out->error_code = code;
        out->error = text != NULL ? text
                     : has_all    ? "JetStream gave no reason"
                                  : "parley had no memory to read the reason";
        return true;
    }
    if (!has_all) {
        out->outcome = JETSTREAM_TIMEOUT;
        out->error = "parley had no memory to read JetStream's acknowledgement. The message may "
                     "have been stored.";
        return true;
    }
    out->outcome = JETSTREAM_STORED;
    out->sequence = answer_member_number(payload, &members[SEQUENCE]);
    out->is_duplicate =
        members[DUPLICATE].value.kind == PARLEY_BOOLEAN && members[DUPLICATE].value.number != 0;
    return out->stream != NULL;
}

bool jetstream_ack_read(struct parley_bytes payload, struct jetstream_ack_texts *texts,
                        struct jetstream_ack *out) {
    *out = (struct jetstream_ack){0};
    if (read_usual_ack(payload, texts, out)) {
        return true;
    }
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    const bool is_ack = read_any_ack(payload, texts, &arena, out);
    parley_arena_finish(&arena);
    return is_ack;
}
