/* SPDX-License-Identifier: Apache-2.0 */

#include "review_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text_object.h"

enum { BY_BYTES_MAX = 256, REASON_BYTES_MAX = 4096, DIGITS_MAX = 19 };

const char review_approve[] = "approve", review_reject[] = "reject";

/* ---- places ---- */

bool review_sequence_read(struct parley_bytes text, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        *out = *out * 10 + (uint64_t)(text.data[i] - '0');
    }
    return text.length > 0 && text.length <= DIGITS_MAX && text.data[0] != '0';
}

static bool takes(struct parley_bytes *text, struct parley_bytes what) {
    const bool begins = text->length >= what.length &&
                        (what.length == 0 || memcmp(text->data, what.data, what.length) == 0);
    if (begins) {
        text->data += what.length;
        text->length -= what.length;
    }
    return begins;
}

bool review_place_read(struct parley_bytes text, const char *stream, struct review_place *out) {
    out->stream = stream;
    return takes(&text, parley_bytes_of(stream)) &&
           (takes(&text, PARLEY_BYTES(":")) || takes(&text, PARLEY_BYTES("%3A")) ||
            takes(&text, PARLEY_BYTES("%3a"))) &&
           review_sequence_read(text, &out->sequence);
}

void review_place_write(const struct review_place *place, char out[REVIEW_PLACE_MAX]) {
    snprintf(out, REVIEW_PLACE_MAX, "%s:%" PRIu64, place->stream, place->sequence);
}

void review_key_write(const struct review_place *place, char out[REVIEW_KEY_MAX]) {
    snprintf(out, REVIEW_KEY_MAX, "%s.%" PRIu64, place->stream, place->sequence);
}

void review_notice_key_write(const struct review_place *place, char out[REVIEW_KEY_MAX]) {
    snprintf(out, REVIEW_KEY_MAX, "%s.%" PRIu64 ".notice", place->stream, place->sequence);
}

void review_notice_place_write(const char *stream, uint64_t sequence, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"stream\":");
    parley_buffer_json(out, parley_bytes_of(stream));
    parley_buffer_text(out, ",\"seq\":");
    parley_buffer_uint(out, sequence);
    parley_buffer_char(out, '}');
}

/* ---- the header ---- */

/* What NATS allows in the name of a stream. */
static size_t name_length(const char *text) {
    size_t length = 0;
    while (text[length] > ' ' && text[length] < 0x7f && strchr(".*>/\\:", text[length]) == NULL) {
        length++;
    }
    return length;
}

bool review_header_read(const char *header, char stream[REVIEW_PLACE_MAX],
                        struct review_place *out) {
    const char *blank = strrchr(header, ' ');
    const size_t length = name_length(header);
    if (blank == NULL || strcmp(blank + 1, review_approve) != 0 || length == 0 ||
        length >= REVIEW_PLACE_MAX - DIGITS_MAX - sizeof ":.notice") {
        return false;
    }
    snprintf(stream, REVIEW_PLACE_MAX, "%.*s", (int)length, header);
    return review_place_read((struct parley_bytes){header, (size_t)(blank - header)}, stream, out);
}

bool review_is_among(const char *subject, const char *subjects) {
    return strncmp(subject, subjects, strlen(subjects) - 1) == 0;
}

/* ---- values ---- */

static void write_member(struct parley_buffer *out, const char *name, struct parley_bytes text) {
    parley_buffer_text(out, name);
    parley_buffer_json(out, text);
}

void review_value_write(const struct review_value *value, struct parley_buffer *out) {
    write_member(out, "\"decision\":", value->decision);
    write_member(out, ",\"by\":", value->by);
    write_member(out, ",\"reason\":", value->reason);
    write_member(out, ",\"at\":", value->at);
    write_member(out, ",\"id\":", value->id);
}

enum parley_status review_value_read(struct parley_bytes text, struct parley_arena *arena,
                                     struct review_value *out) {
    *out = (struct review_value){0};
    const struct text_member rows[] = {{"decision", &out->decision},
                                       {"by", &out->by},
                                       {"reason", &out->reason},
                                       {"at", &out->at},
                                       {"id", &out->id},
                                       {.name = NULL}};
    const enum parley_status status =
        text_object_read(&(struct text_object){.rows = rows}, text, arena);
    if (status == PARLEY_E_UNSUPPORTED) {
        *out = (struct review_value){0};
        return PARLEY_OK;
    }
    return status;
}

bool review_value_is_same(const struct review_value *one, const struct review_value *other) {
    return parley_bytes_equal(one->decision, other->decision) &&
           parley_bytes_equal(one->by, other->by) && parley_bytes_equal(one->reason, other->reason);
}

/* ---- bodies ---- */

static bool is_within(struct parley_bytes text, size_t length_max) {
    return text.length > 0 && text.length <= length_max;
}

const char *review_body_read(struct parley_bytes body, struct parley_arena *arena,
                             struct review_value *out) {
    *out = (struct review_value){0};
    const struct text_member rows[] = {
        {"decision", &out->decision}, {"by", &out->by}, {"reason", &out->reason}, {.name = NULL}};
    struct text_object object = {.rows = rows};
    switch (text_object_read(&object, body, arena)) {
    case PARLEY_OK:
        break;
    case PARLEY_E_UNSUPPORTED:
        return "The body is not a JSON object: send {\"decision\":\"approve\",\"by\":\"NAME\","
               "\"reason\":\"TEXT\"}.";
    default:
        return "Out of memory.";
    }
    if (object.has_other || object.has_repeated) {
        return "The members of the body are `decision`, `by` and `reason`, each of them once.";
    }
    if (!parley_bytes_equal(out->decision, parley_bytes_of(review_approve)) &&
        !parley_bytes_equal(out->decision, parley_bytes_of(review_reject))) {
        return "`decision` is \"approve\" or \"reject\".";
    }
    if (!is_within(out->by, BY_BYTES_MAX)) {
        return "`by`, the name of the reviewer, is a text of 1 to 256 bytes.";
    }
    if (!is_within(out->reason, REASON_BYTES_MAX)) {
        return "`reason`, for people, is a text of 1 to 4096 bytes.";
    }
    return NULL;
}
