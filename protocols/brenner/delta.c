/* SPDX-License-Identifier: Apache-2.0 */

/* Deltas. The event reader tells what a delta says and where; nothing is built. */

#include "delta.h"

#include <stdlib.h>

#include "markup.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

enum operation { ADD, EDIT, KILL, NO_OPERATION };
static const char *const operations[] = {"ADD", "EDIT", "KILL", NULL};

/* ADD's payload has what `needs` names (rules.md, MB-142); a target's id begins with `letter`. */
static const struct target_section {
    const char *name;
    const char *letter;
    const char *const *needs;
} target_sections[] = {
    {"hypothesis_slate", "H", LIST("name", "claim", "mechanism", "anchors")},
    {"predictions_table", "P", LIST("condition", "predictions")},
    {"discriminative_tests", "T", LIST("name", "procedure", "discriminates", "expected_outcomes")},
    {"assumption_ledger", "A", LIST("name", "statement", "load", "test", "status")},
    {"anomaly_register", "X", LIST("name", "observation", "conflicts_with", "status")},
    {"adversarial_critique", "C", LIST("name", "attack", "evidence", "current_status")},
    {"research_thread", "RT", LIST(NULL)},
};
enum { SECTION_COUNT = sizeof target_sections / sizeof target_sections[0] };
#define RESEARCH_THREAD (&target_sections[SECTION_COUNT - 1])

/* The members that rules speak of: of a delta, and of its payload. */
enum member { OPERATION, SECTION, TARGET_ID, PAYLOAD, RATIONALE, MEMBER_COUNT };
static const char *const members[] = {"operation", "section",   "target_id",
                                      "payload",   "rationale", NULL};

enum { REASON, PAYLOAD_MEMBER_COUNT = 19 };
static const char *const payload_members[] = {
    "reason",         "name",        "claim",     "mechanism",      "anchors",
    "condition",      "predictions", "procedure", "discriminates",  "expected_outcomes",
    "statement",      "load",        "test",      "status",         "observation",
    "conflicts_with", "attack",      "evidence",  "current_status", NULL};

/* One value of JSON, seen as a delta. */
struct delta {
    struct parley_value whole;
    struct parley_value values[MEMBER_COUNT];
    struct parley_value payload[PAYLOAD_MEMBER_COUNT];
    bool is_whole; /* it has been read to its end */

    size_t depth; /* of what is told */
    int index;    /* of the member whose value comes next */
};

/* ---- reading ---- */

static int index_of(const char *const *names, struct parley_bytes name) {
    for (int i = 0; names[i] != NULL; i++) {
        if (parley_bytes_equal(parley_bytes_of(names[i]), name)) {
            return i;
        }
    }
    return -1;
}

/* Of a key that stands twice the last one counts. */
static bool on_value(void *context, const struct parley_value *value) {
    struct delta *delta = context;
    bool is_entered = false;
    if (delta->depth == 0) {
        delta->whole = *value;
        delta->is_whole = value->kind != PARLEY_OBJECT;
        is_entered = value->kind == PARLEY_OBJECT;
    } else if (delta->depth == 1) {
        delta->values[delta->index] = *value;
        is_entered = delta->index == PAYLOAD && value->kind == PARLEY_OBJECT;
        if (delta->index == PAYLOAD) {
            memset(delta->payload, 0, sizeof delta->payload);
        }
    } else {
        delta->payload[delta->index] = *value;
    }
    delta->depth += is_entered;
    return is_entered;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct delta *delta = context;
    delta->index = index_of(delta->depth == 1 ? members : payload_members, key);
    return delta->index >= 0;
}

static void on_leave(void *context, size_t count) {
    struct delta *delta = context;
    (void)count;
    delta->depth--;
    delta->is_whole = delta->depth == 0;
}

static enum json_text_result read_delta(struct parley_bytes text, struct parley_arena *arena,
                                        struct delta *delta, struct json_fault *out_fault) {
    *delta = (struct delta){0};
    const struct json_events events = {
        .context = delta, .value = on_value, .key = on_key, .leave = on_leave};
    return json_text_read(text, &events, arena, NULL, out_fault);
}

enum json_text_result brenner_delta_read(struct parley_bytes text, struct parley_arena *arena,
                                         struct json_fault *out_fault) {
    return json_text_read(text, NULL, arena, NULL, out_fault);
}

/* ---- the rules of one delta ---- */

struct checker {
    const struct brenner_body *body;
    struct brenner_remarks *remarks;
    struct parley_arena scratch; /* for decoded strings */
    struct parley_buffer words;  /* a value in words */
    const struct brenner_block *block;
    struct delta delta;
    enum operation operation;
    const struct target_section *section; /* NULL: none of ours */
};

static const struct parley_value *value_of(const struct checker *checker, enum member member) {
    return &checker->delta.values[member];
}

/* A value for the message of a remark: "missing", "an array", "\"DELETE\"". */
static const char *in_words(struct checker *checker, const struct parley_value *value) {
    switch (value->kind) {
    case PARLEY_ABSENT:
        return "missing";
    case PARLEY_NULL:
        return "null";
    case PARLEY_BOOLEAN:
        return value->number != 0 ? "true" : "false";
    case PARLEY_STRING:
        return brenner_quote(checker->remarks, &checker->words, value->text);
    case PARLEY_ARRAY:
        return "an array";
    case PARLEY_OBJECT:
        return "an object";
    case PARLEY_NUMBER:
    case PARLEY_INTEGER:
        break;
    }
    return "a number";
}

/* Where a value stands in the body; of one that is missing, where its object does. */
static struct parley_position place_of(const struct checker *checker,
                                       const struct parley_value *value,
                                       const struct parley_value *object) {
    if (!brenner_remarks_has_room(checker->remarks)) {
        return (struct parley_position){0};
    }
    return brenner_block_place(checker->body, checker->block,
                               value->kind != PARLEY_ABSENT ? value->offset : object->offset);
}

/* Remarks that `member` is what it is, and that `wanted` is wanted. */
static void remark_on(struct checker *checker, enum brenner_rule rule, enum member member,
                      const char *wanted) {
    const struct parley_value *value = value_of(checker, member);
    brenner_remark(checker->remarks, rule, place_of(checker, value, &checker->delta.whole), NULL,
                   "`%s` of delta block %zu is %s; %s is wanted", members[member],
                   checker->block->number, in_words(checker, value), wanted);
}

static void read_operation(struct checker *checker) {
    const struct parley_value *value = value_of(checker, OPERATION);
    const int index = value->kind == PARLEY_STRING ? index_of(operations, value->text) : -1;
    checker->operation = index >= 0 ? (enum operation)index : NO_OPERATION;
    if (index < 0) {
        remark_on(checker, MB_104, OPERATION, "ADD, EDIT or KILL");
    }
}

static void read_section(struct checker *checker) {
    checker->section = NULL;
    for (size_t i = 0; i < SECTION_COUNT; i++) {
        if (parley_value_is(value_of(checker, SECTION), target_sections[i].name)) {
            checker->section = &target_sections[i];
        }
    }
    if (checker->section == NULL) {
        remark_on(checker, MB_105, SECTION, "the name of one of the seven sections");
    }
}

static void check_target(struct checker *checker) {
    const struct parley_value *target = value_of(checker, TARGET_ID);
    if (checker->operation == EDIT && checker->section == RESEARCH_THREAD) {
        if (!parley_value_is_nothing(target) && !parley_value_is(target, "RT")) {
            remark_on(checker, MB_106, TARGET_ID, "\"RT\", or none,");
        }
    } else if ((checker->operation == EDIT || checker->operation == KILL) &&
               target->kind != PARLEY_STRING) {
        remark_on(checker, MB_106, TARGET_ID, "the id of an item");
    }
}

static void check_payload(struct checker *checker) {
    const struct parley_value *payload = value_of(checker, PAYLOAD);
    const struct parley_value *reason = &checker->delta.payload[REASON];
    if (checker->operation != NO_OPERATION && checker->operation != EDIT &&
        checker->section == RESEARCH_THREAD) {
        remark_on(checker, MB_107, OPERATION, "EDIT, the only one on research_thread,");
    }
    if ((checker->operation == ADD || checker->operation == EDIT) &&
        payload->kind != PARLEY_OBJECT) {
        remark_on(checker, MB_107, PAYLOAD, "an object");
    } else if (checker->operation == KILL && payload->kind != PARLEY_OBJECT) {
        remark_on(checker, MB_107, PAYLOAD, "an object with a `reason`");
    } else if (checker->operation == KILL && reason->kind != PARLEY_STRING) {
        brenner_remark(checker->remarks, MB_107, place_of(checker, reason, payload), NULL,
                       "`payload.reason` of delta block %zu is %s; a string is wanted",
                       checker->block->number, in_words(checker, reason));
    }
}

/* An id is letters, and what tells items apart behind them. */
static bool has_letter(struct parley_bytes id, const char *letter) {
    const size_t length = strlen(letter);
    const bool begins_so = id.length >= length && memcmp(id.data, letter, length) == 0;
    const char next = begins_so && id.length > length ? id.data[length] : '0';
    return begins_so && !((next | 32) >= 'a' && (next | 32) <= 'z');
}

static void check_letter(struct checker *checker) {
    const struct parley_value *target = value_of(checker, TARGET_ID);
    if (checker->section == NULL || target->kind != PARLEY_STRING ||
        has_letter(target->text, checker->section->letter)) {
        return;
    }
    brenner_remark(checker->remarks, MB_143, place_of(checker, target, &checker->delta.whole), NULL,
                   "`target_id` of delta block %zu is %s; the ids of %s begin with %s",
                   checker->block->number, in_words(checker, target), checker->section->name,
                   checker->section->letter);
}

static void check_needs(struct checker *checker) {
    const struct parley_value *payload = value_of(checker, PAYLOAD);
    if (checker->operation != ADD || checker->section == NULL || payload->kind != PARLEY_OBJECT) {
        return;
    }
    parley_buffer_clear(&checker->words);
    for (const char *const *need = checker->section->needs; *need != NULL; need++) {
        if (parley_value_is_nothing(
                &checker->delta.payload[index_of(payload_members, parley_bytes_of(*need))])) {
            parley_buffer_text(&checker->words, checker->words.length > 0 ? ", " : "");
            parley_buffer_text(&checker->words, *need);
        }
    }
    checker->remarks->is_out_of_memory |= checker->words.has_failed;
    if (checker->words.length > 0) {
        brenner_remark(checker->remarks, MB_142, place_of(checker, payload, payload), NULL,
                       "the payload of delta block %zu has no %.*s", checker->block->number,
                       (int)checker->words.length, checker->words.data);
    }
}

static void check_delta(struct checker *checker) {
    const struct parley_value *target = value_of(checker, TARGET_ID);
    if (checker->delta.whole.kind != PARLEY_OBJECT) {
        brenner_remark(checker->remarks, MB_104,
                       place_of(checker, &checker->delta.whole, &checker->delta.whole), NULL,
                       "delta block %zu is %s; an object is wanted", checker->block->number,
                       in_words(checker, &checker->delta.whole));
        return;
    }
    read_operation(checker);
    read_section(checker);
    check_target(checker);
    check_payload(checker);
    if (value_of(checker, RATIONALE)->kind != PARLEY_STRING) {
        remark_on(checker, MB_139, RATIONALE, "a string");
    }
    if (checker->operation == ADD && !parley_value_is_nothing(target)) {
        remark_on(checker, MB_140, TARGET_ID, "null, since ADD makes a new id,");
    }
    check_needs(checker);
    check_letter(checker);
}

static enum parley_status check_block(struct checker *checker) {
    struct json_fault fault;
    struct parley_position place = {0};
    parley_arena_reset(&checker->scratch);
    switch (read_delta(checker->block->text, &checker->scratch, &checker->delta, &fault)) {
    case JSON_TEXT_READ:
        check_delta(checker);
        return PARLEY_OK;
    case JSON_TEXT_FAULT:
        if (brenner_remarks_has_room(checker->remarks)) {
            place = brenner_block_place(checker->body, checker->block, fault.offset);
        }
        brenner_remark(checker->remarks, MB_005, place, NULL,
                       "delta block %zu cannot be read as JSON: %s", checker->block->number,
                       fault.message);
        return PARLEY_OK;
    case JSON_TEXT_MEMORY:
        break;
    }
    return PARLEY_E_MEMORY;
}

/* ---- JSON outside of delta blocks ---- */

/* No text that means to say something comes near it. */
enum { EFFORT_PER_BYTE = 16, EFFORT_AT_LEAST = 1 << 16 };

/* The source between delta blocks, and how far it has been looked at. */
struct prose {
    char *text; /* a copy of the source in which quotes have no markers; NULL: not made yet */
    size_t at, end;
    size_t place_at; /* whose place is … */
    struct parley_position place;
    size_t effort_left; /* bytes that may still be read */
};

/* A quoted object has a marker in front of each of its lines, which is no part of it. */
static void take_off_quote_markers(char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        const struct parley_bytes line = {text + at, length - at};
        for (size_t i = at; i < length && strchr("> \t", text[i]) != NULL; i++) {
            text[i] = text[i] == '>' ? ' ' : text[i];
        }
        at += markup_line_length(line);
    }
}

/* Whether no object begins with the brace that `rest` begins with; `*out_at`: where that is
 * seen. */
static bool is_mere_brace(struct parley_bytes rest, size_t *out_at) {
    size_t at = 1;
    while (at < rest.length && strchr(" \t\n\r", rest.data[at]) != NULL) {
        at++;
    }
    *out_at = at;
    return at == rest.length || (rest.data[at] != '"' && rest.data[at] != '}');
}

static bool make_text(struct prose *prose, struct parley_bytes source) {
    prose->text = malloc(source.length);
    if (prose->text != NULL) {
        memcpy(prose->text, source.data, source.length);
        take_off_quote_markers(prose->text, source.length);
    }
    return prose->text != NULL;
}

static void spend(struct prose *prose, size_t effort) {
    prose->effort_left -= effort < prose->effort_left ? effort : prose->effort_left;
}

/* Where reading goes on behind what stands at `brace`, and whether that would be lost. An object in
 * another one is read again with each attempt; text that makes a sport of it is given up. */
static enum parley_status read_object(struct checker *checker, struct prose *prose, size_t brace,
                                      size_t *out_next, bool *out_is_lost) {
    const struct parley_bytes rest = {prose->text + brace, prose->end - brace};
    struct json_fault fault;
    size_t effort;
    *out_next = brace + 1;
    *out_is_lost = false;
    if (is_mere_brace(rest, &effort)) {
        spend(prose, effort);
        return PARLEY_OK;
    }
    parley_arena_reset(&checker->scratch);
    const enum json_text_result result =
        read_delta(rest, &checker->scratch, &checker->delta, &fault);
    *out_is_lost = checker->delta.is_whole && value_of(checker, OPERATION)->kind != PARLEY_ABSENT &&
                   value_of(checker, SECTION)->kind != PARLEY_ABSENT;
    effort = result == JSON_TEXT_FAULT ? fault.offset : rest.length;
    spend(prose, effort);
    if (*out_is_lost) {
        *out_next = brace + effort;
    }
    return result == JSON_TEXT_MEMORY ? PARLEY_E_MEMORY : PARLEY_OK;
}

/* Most prose has no brace at all. */
static enum parley_status check_prose(struct checker *checker, struct prose *prose) {
    const struct parley_bytes source = checker->body->source;
    while (prose->at < prose->end && prose->effort_left > 0) {
        const char *brace = memchr(source.data + prose->at, '{', prose->end - prose->at);
        if (brace == NULL) {
            break;
        }
        if (prose->text == NULL && !make_text(prose, source)) {
            return PARLEY_E_MEMORY;
        }
        bool is_lost;
        const size_t start = (size_t)(brace - source.data);
        PARLEY_TRY(read_object(checker, prose, start, &prose->at, &is_lost));
        if (is_lost) {
            brenner_body_move(checker->body, &prose->place_at, &prose->place, start);
            brenner_remark(checker->remarks, MB_141, prose->place, NULL,
                           "this JSON object has an `operation` and a `section`, but stands in no "
                           "delta block: it would be lost");
        }
    }
    return PARLEY_OK;
}

static enum parley_status check_all_prose(struct checker *checker) {
    const struct parley_bytes source = checker->body->source;
    struct prose prose = {.place = {1, 1},
                          .effort_left = source.length * EFFORT_PER_BYTE + EFFORT_AT_LEAST};
    enum parley_status status = PARLEY_OK;
    const struct brenner_block *block = checker->body->deltas;
    for (; block != NULL && status == PARLEY_OK; block = block->next) {
        prose.end = block->start;
        status = check_prose(checker, &prose);
        prose.at = block->end;
    }
    if (status == PARLEY_OK) {
        prose.end = source.length;
        status = check_prose(checker, &prose);
    }
    free(prose.text);
    return status;
}

static enum parley_status check_all(struct checker *checker) {
    const struct brenner_block *first = checker->body->deltas;
    if (first == NULL) {
        brenner_remark(checker->remarks, MB_004, (struct parley_position){1, 1}, NULL,
                       "the body has no ```delta block");
    }
    for (checker->block = first; checker->block != NULL; checker->block = checker->block->next) {
        PARLEY_TRY(check_block(checker));
    }
    return check_all_prose(checker);
}

enum parley_status brenner_deltas_check(const struct brenner_body *body,
                                        struct brenner_remarks *remarks) {
    struct checker checker = {.body = body, .remarks = remarks};
    parley_arena_init(&checker.scratch, 0);
    parley_buffer_init(&checker.words);
    const enum parley_status status = check_all(&checker);
    parley_arena_finish(&checker.scratch);
    parley_buffer_finish(&checker.words);
    return status;
}
