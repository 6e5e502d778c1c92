/* SPDX-License-Identifier: Apache-2.0 */

#include "receipt.h"

#include <parley/dialect.h>

/* The sources of the members. */
struct facts {
    size_t number;
    enum result_status status;
    const struct parley_message *message;
    const struct parley_route *route;
    const struct receipt_place *place;
    struct receipt *receipt; /* notes where values are that may be replaced; NULL: need not */
};

#define QUOTED(text)                                                                               \
    { "\"" text "\"", sizeof(text) + 1 }

static const struct parley_bytes status_names[RESULT_STATUS_COUNT] = {
    [RESULT_ACCEPTED] = QUOTED("accepted"),
    [RESULT_DUPLICATE] = QUOTED("duplicate"),
    [RESULT_INVALID] = QUOTED("invalid"),
    [RESULT_FAILED] = QUOTED("failed")};

/* ---- members, each with its comma ---- */

static void write_text_or_null(struct parley_buffer *out, struct parley_bytes text) {
    if (text.data != NULL) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, "null");
    }
}

static void write_number(size_t number, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"line\":");
    parley_buffer_uint(out, number);
}

static void write_line(const struct facts *facts, struct parley_buffer *out) {
    write_number(facts->number, out);
}

static void write_status(const struct facts *facts, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"status\":");
    parley_buffer_append(out, status_names[facts->status]);
}

static void write_protocol(const struct facts *facts, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"protocol\":\"");
    parley_buffer_text(out, facts->message->protocol->name);
    parley_buffer_char(out, '"');
}

static void write_type(const struct facts *facts, struct parley_buffer *out) {
    const struct parley_message *message = facts->message;
    parley_buffer_text(out, ",\"type\":");
    parley_buffer_json(out, parley_bytes_of(message->protocol->types[message->type]));
}

static void write_id(const struct facts *facts, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"id\":");
    const size_t start = out->length;
    write_text_or_null(out, facts->route->id);
    if (facts->receipt != NULL) {
        facts->receipt->id_start = start;
        facts->receipt->id_end = out->length;
    }
}

static void write_lane(const struct facts *facts, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"lane\":");
    write_text_or_null(out, facts->route->lane);
}

static void write_subject(const struct facts *facts, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"subject\":");
    facts->receipt->subject_start = out->length;
    parley_buffer_json(out, facts->route->subject);
    facts->receipt->subject_end = out->length;
}

static void write_escalated(const struct facts *facts, struct parley_buffer *out) {
    if (facts->message->is_escalated) {
        parley_buffer_text(out, ",\"escalated\":true");
    }
}

static void write_dialect(const struct facts *facts, struct parley_buffer *out) {
    if (facts->message->dialect != NULL) {
        parley_buffer_text(out, ",\"dialect\":");
        parley_buffer_json(out, parley_bytes_of(facts->message->dialect->name));
    }
}

static void write_stream(const struct facts *facts, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"stream\":");
    parley_buffer_json(out, parley_bytes_of(facts->place->stream));
}

static void write_seq(const struct facts *facts, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"seq\":");
    parley_buffer_uint(out, facts->place->sequence);
}

static void write_duplicate(const struct facts *facts, struct parley_buffer *out) {
    parley_buffer_text(out, ",\"duplicate\":");
    parley_buffer_text(out, facts->place->is_duplicate ? "true" : "false");
}

static void write_traceparent(const struct facts *facts, struct parley_buffer *out) {
    if (facts->place->traceparent != NULL) {
        parley_buffer_text(out, ",\"traceparent\":");
        parley_buffer_json(out, parley_bytes_of(facts->place->traceparent));
    }
}

/* ---- all members, in their order: a new one is a line here, and its function ---- */

/* Writes the members of every result. */
static void write_of_result(const struct facts *facts, struct parley_buffer *out) {
    write_line(facts, out);
    write_status(facts, out);
}

/* Writes the members of the message: noted before it is published. */
static void write_of_message(const struct facts *facts, enum receipt_form form,
                             struct parley_buffer *out) {
    if (form == RECEIPT_OBJECT) {
        write_protocol(facts, out);
        write_type(facts, out);
    }
    write_id(facts, out);
    if (form == RECEIPT_OBJECT) {
        write_lane(facts, out);
    }
    if (form != RECEIPT_ID_ONLY) {
        write_subject(facts, out);
        write_escalated(facts, out);
        write_dialect(facts, out);
    }
}

/* Writes the members of its ack. The noted warnings follow. */
static void write_of_ack(const struct facts *facts, enum receipt_form form,
                         struct parley_buffer *out) {
    write_stream(facts, out);
    write_seq(facts, out);
    if (form == RECEIPT_OBJECT) {
        write_duplicate(facts, out);
        write_traceparent(facts, out);
    }
}

/* ---- the receipt ---- */

void receipt_finish(struct receipt *receipt) {
    parley_buffer_finish(&receipt->text);
}

void receipt_clear(struct receipt *receipt) {
    parley_buffer_clear(&receipt->text);
    receipt->id_start = receipt->id_end = receipt->subject_start = receipt->subject_end = 0;
    receipt->members_end = 0;
}

void receipt_note(struct receipt *receipt, enum receipt_form form,
                  const struct parley_message *message, const struct parley_route *route) {
    const struct facts facts = {.message = message, .route = route, .receipt = receipt};
    receipt->form = form;
    if (form == RECEIPT_NONE) {
        return;
    }
    write_of_message(&facts, form, &receipt->text);
    receipt->members_end = receipt->text.length;
    if (form != RECEIPT_ID_ONLY) {
        parley_findings_write(&message->findings, &receipt->text);
    }
}

struct parley_bytes receipt_id(const struct receipt *receipt) {
    const size_t length = receipt->id_end - receipt->id_start;
    return length > 0 ? (struct parley_bytes){receipt->text.data + receipt->id_start, length}
                      : (struct parley_bytes){0};
}

static struct parley_bytes part_of(const struct parley_buffer *text, size_t start, size_t end) {
    return (struct parley_bytes){text->data + start, end - start};
}

void receipt_name_stored(struct receipt *receipt, const struct duplicate_answer *stored) {
    struct parley_buffer *sent = &receipt->text, text;
    if (stored->subject == NULL || receipt->subject_end == 0 || sent->has_failed) {
        return;
    }
    parley_buffer_init(&text);
    parley_buffer_append(&text, part_of(sent, 0, receipt->id_start));
    if (stored->id != NULL) {
        parley_buffer_json(&text, parley_bytes_of(stored->id));
    } else {
        parley_buffer_append(&text, receipt_id(receipt));
    }
    parley_buffer_append(&text, part_of(sent, receipt->id_end, receipt->subject_start));
    parley_buffer_json(&text, parley_bytes_of(stored->subject));
    receipt->members_end = text.length + receipt->members_end - receipt->subject_end;
    parley_buffer_append(&text, part_of(sent, receipt->subject_end, sent->length));
    parley_buffer_finish(sent);
    *sent = text;
}

void receipt_change_warnings(struct receipt *receipt, struct parley_bytes warnings) {
    if (receipt->form < RECEIPT_ID_ONLY && !receipt->text.has_failed) {
        receipt->text.length = receipt->members_end;
        parley_buffer_append(&receipt->text, warnings);
    }
}

void receipt_write(const struct receipt *receipt, const struct receipt_place *place,
                   struct parley_buffer *out) {
    const struct parley_buffer *text = &receipt->text;
    if (text->has_failed) { /* the copied part may end before members_end */
        out->has_failed = true;
        return;
    }
    const enum result_status status = place->is_duplicate ? RESULT_DUPLICATE : RESULT_ACCEPTED;
    const struct facts facts = {.number = place->number, .status = status, .place = place};
    if (receipt->form == RECEIPT_LINE) {
        write_of_result(&facts, out);
    }
    parley_buffer_append(out, part_of(text, 0, receipt->members_end));
    write_of_ack(&facts, receipt->form, out);
    parley_buffer_append(out, place->members);
    parley_buffer_text(out, ",\"warnings\":");
    parley_buffer_append(out, part_of(text, receipt->members_end, text->length));
    parley_buffer_char(out, '}');
}

/* ---- other lines of a batch ---- */

static void begin_line(size_t number, enum result_status status, struct parley_buffer *out) {
    const struct facts facts = {.number = number, .status = status};
    write_of_result(&facts, out);
}

void receipt_begin_verdict(size_t number, struct parley_buffer *out) {
    write_number(number, out);
    parley_buffer_char(out, ',');
}

/* An invalid message may have no route, and no id. */
static void write_id_if_any(struct parley_message *message, struct parley_buffer *out) {
    struct parley_route route = {0};
    if (message->is_decoded && parley_message_route(message, &route) == PARLEY_OK &&
        route.id.data != NULL) {
        const struct facts facts = {.message = message, .route = &route};
        write_of_message(&facts, RECEIPT_ID_ONLY, out);
    }
}

void receipt_write_invalid(size_t number, struct parley_message *message, bool is_halting,
                           struct parley_buffer *out) {
    begin_line(number, RESULT_INVALID, out);
    write_id_if_any(message, out);
    parley_buffer_text(out, is_halting ? ",\"halted\":true,\"violations\":" : ",\"violations\":");
    parley_findings_write(&message->findings, out);
    parley_buffer_char(out, '}');
}

void receipt_write_failed(size_t number, const struct failure *failure, struct parley_bytes members,
                          struct parley_buffer *out) {
    begin_line(number, RESULT_FAILED, out);
    parley_buffer_text(out, ",\"problem\":");
    problem_write_members(out, failure->problem, failure->detail, members);
    parley_buffer_char(out, '}');
}
