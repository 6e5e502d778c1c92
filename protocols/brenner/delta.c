/* SPDX-License-Identifier: Apache-2.0 */

/* Deltas. The event reader reports the content of a delta and its places; no tree is built. */

#include "delta.h"

#include "object_search.h"
#include "repair.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

enum operation { ADD, EDIT, KILL, NO_OPERATION };
const char *const brenner_operations[] = {"ADD", "EDIT", "KILL", NULL};

const struct brenner_target_section brenner_target_sections[] = {
    [BRENNER_HYPOTHESES] = {"hypothesis_slate", "H", LIST("name", "claim", "mechanism", "anchors")},
    [BRENNER_PREDICTIONS] = {"predictions_table", "P", LIST("condition", "predictions")},
    [BRENNER_TESTS] = {"discriminative_tests", "T",
                       LIST("name", "procedure", "discriminates", "expected_outcomes")},
    [BRENNER_ASSUMPTIONS] = {"assumption_ledger", "A",
                             LIST("name", "statement", "load", "test", "status")},
    [BRENNER_ANOMALIES] = {"anomaly_register", "X",
                           LIST("name", "observation", "conflicts_with", "status")},
    [BRENNER_CRITIQUES] = {"adversarial_critique", "C",
                           LIST("name", "attack", "evidence", "current_status")},
    [BRENNER_RESEARCH_THREAD] = {"research_thread", "RT", LIST(NULL)},
};
#define RESEARCH_THREAD (&brenner_target_sections[BRENNER_RESEARCH_THREAD])

/* The members that rules name: of a delta, and of its payload. */
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

    size_t depth; /* of the findings reported */
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

/* The last one of duplicate keys counts. */
static bool on_value(void *context, const struct parley_value *value) {
    struct delta *delta = context;
    bool is_entered = false;
    if (delta->depth == 0) {
        delta->whole = *value;
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
}

static enum json_reader_result read_delta(struct parley_bytes text, struct parley_arena *arena,
                                          struct delta *delta, struct json_fault *out_fault) {
    *delta = (struct delta){0};
    const struct json_events events = {
        .context = delta, .value = on_value, .key = on_key, .leave = on_leave};
    return json_reader_read(text, &events, arena, NULL, out_fault);
}

enum json_reader_result brenner_delta_read(struct parley_bytes text, struct parley_arena *arena,
                                           struct json_fault *out_fault) {
    return json_reader_read(text, NULL, arena, NULL, out_fault);
}

/* ---- the rules of one delta ---- */

struct checker {
    struct brenner_body *body;
    struct body_findings *findings;
    struct parley_arena scratch; /* for decoded strings */
    struct parley_buffer words;  /* a value in words */
    const struct brenner_block *block;
    struct delta delta;
    enum operation operation;
    const struct brenner_target_section *section; /* NULL: not a member that rules name */
};

static const struct parley_value *value_of(const struct checker *checker, enum member member) {
    return &checker->delta.values[member];
}

/* A value for a message: "missing", "an array", "\"DELETE\"". */
static const char *in_words(struct checker *checker, const struct parley_value *value) {
    switch (value->kind) {
    case PARLEY_ABSENT:
        return "missing";
    case PARLEY_NULL:
        return "null";
    case PARLEY_BOOLEAN:
        return value->number != 0 ? "true" : "false";
    case PARLEY_STRING:
        return body_findings_quote(checker->findings, &checker->words, value->text);
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

/* The place of a value in the body; for a missing one, of its object. */
static struct parley_position place_of(const struct checker *checker,
                                       const struct parley_value *value,
                                       const struct parley_value *object) {
    if (!body_findings_has_room(checker->findings)) {
        return (struct parley_position){0};
    }
    return brenner_block_place(checker->body, checker->block,
                               value->kind != PARLEY_ABSENT ? value->offset : object->offset);
}

/* Adds a finding: `member` has a wrong value; `expected` says which are right. */
static void add_expected(struct checker *checker, enum brenner_rule rule, enum member member,
                         const char *expected) {
    const struct parley_value *value = value_of(checker, member);
    body_findings_add(checker->findings, rule, place_of(checker, value, &checker->delta.whole),
                      NULL, "`%s` of delta block %zu is %s; expected %s", members[member],
                      checker->block->number, in_words(checker, value), expected);
}

/* Says how the last finding is fixed, if the block's lines are known. */
static void offer(struct checker *checker, enum brenner_rule rule, brenner_fix *fix) {
    const struct parley_bytes source = brenner_block_source(checker->body, checker->block);
    if (!checker->body->is_replaced && source.data != NULL) {
        body_findings_offer(checker->findings, rule,
                            (struct parley_part){.fix = fix,
                                                 .start = checker->block->content_start,
                                                 .length = source.length});
    }
}

static void read_operation(struct checker *checker) {
    const struct parley_value *value = value_of(checker, OPERATION);
    const int index = value->kind == PARLEY_STRING ? index_of(brenner_operations, value->text) : -1;
    checker->operation = index >= 0 ? (enum operation)index : NO_OPERATION;
    if (index < 0) {
        add_expected(checker, MB_104, OPERATION, "ADD, EDIT or KILL");
        offer(checker, MB_104, brenner_fix_choice);
    }
}

static void read_section(struct checker *checker) {
    checker->section = NULL;
    for (size_t i = 0; i < BRENNER_SECTION_COUNT; i++) {
        if (parley_value_is(value_of(checker, SECTION), brenner_target_sections[i].name)) {
            checker->section = &brenner_target_sections[i];
        }
    }
    if (checker->section == NULL) {
        add_expected(checker, MB_105, SECTION, "the name of one of the seven sections");
        offer(checker, MB_105, brenner_fix_choice);
    }
}

static void check_target(struct checker *checker) {
    const struct parley_value *target = value_of(checker, TARGET_ID);
    if (checker->operation == EDIT && checker->section == RESEARCH_THREAD) {
        if (!parley_value_is_nothing(target) && !parley_value_is(target, "RT")) {
            add_expected(checker, MB_106, TARGET_ID, "\"RT\", or no `target_id`");
        }
    } else if ((checker->operation == EDIT || checker->operation == KILL) &&
               target->kind != PARLEY_STRING) {
        add_expected(checker, MB_106, TARGET_ID, "the id of an item");
    }
}

static void check_payload(struct checker *checker) {
    const struct parley_value *payload = value_of(checker, PAYLOAD);
    const struct parley_value *reason = &checker->delta.payload[REASON];
    if (checker->operation != NO_OPERATION && checker->operation != EDIT &&
        checker->section == RESEARCH_THREAD) {
        add_expected(checker, MB_107, OPERATION, "EDIT, the only operation on research_thread");
    }
    if ((checker->operation == ADD || checker->operation == EDIT) &&
        payload->kind != PARLEY_OBJECT) {
        add_expected(checker, MB_107, PAYLOAD, "an object");
        offer(checker, MB_107, brenner_fix_payload);
    } else if (checker->operation == KILL && payload->kind != PARLEY_OBJECT) {
        add_expected(checker, MB_107, PAYLOAD, "an object with a `reason`");
    } else if (checker->operation == KILL && reason->kind != PARLEY_STRING) {
        body_findings_add(checker->findings, MB_107, place_of(checker, reason, payload), NULL,
                          "`payload.reason` of delta block %zu is %s; expected a string",
                          checker->block->number, in_words(checker, reason));
        offer(checker, MB_107, brenner_fix_payload);
    }
}

/* An id is letters, followed by what distinguishes items. */
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
    body_findings_add(checker->findings, MB_143, place_of(checker, target, &checker->delta.whole),
                      NULL, "`target_id` of delta block %zu is %s; the ids of %s begin with %s",
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
    checker->findings->is_out_of_memory |= checker->words.has_failed;
    if (checker->words.length > 0) {
        body_findings_add(checker->findings, MB_142, place_of(checker, payload, payload), NULL,
                          "the payload of delta block %zu lacks %.*s", checker->block->number,
                          (int)checker->words.length, checker->words.data);
    }
}

static void check_delta(struct checker *checker) {
    const struct parley_value *target = value_of(checker, TARGET_ID);
    if (checker->delta.whole.kind != PARLEY_OBJECT) {
        body_findings_add(checker->findings, MB_104,
                          place_of(checker, &checker->delta.whole, &checker->delta.whole), NULL,
                          "delta block %zu is %s; expected an object", checker->block->number,
                          in_words(checker, &checker->delta.whole));
        return;
    }
    read_operation(checker);
    read_section(checker);
    check_target(checker);
    check_payload(checker);
    if (value_of(checker, RATIONALE)->kind != PARLEY_STRING) {
        add_expected(checker, MB_139, RATIONALE, "a string");
    }
    if (checker->operation == ADD && !parley_value_is_nothing(target)) {
        add_expected(checker, MB_140, TARGET_ID, "null: ADD makes a new id");
    }
    check_needs(checker);
    check_letter(checker);
}

static enum parley_status check_block(struct checker *checker) {
    struct json_fault fault;
    struct parley_position place = {0};
    parley_arena_reset(&checker->scratch);
    switch (read_delta(checker->block->text, &checker->scratch, &checker->delta, &fault)) {
    case JSON_READER_READ:
        check_delta(checker);
        return PARLEY_OK;
    case JSON_READER_FAULT:
        if (body_findings_has_room(checker->findings)) {
            place = brenner_block_place(checker->body, checker->block, fault.offset);
        }
        body_findings_add(checker->findings, MB_005, place, NULL,
                          "delta block %zu is not valid JSON: %s", checker->block->number,
                          fault.message);
        offer(checker, MB_005, brenner_fix_json);
        return PARLEY_OK;
    case JSON_READER_MEMORY:
        break;
    }
    return PARLEY_E_MEMORY;
}

/* ---- JSON outside of delta blocks ---- */

/* The source between delta blocks. */
struct prose {
    struct checker *checker;
    struct parley_bytes text; /* the source without markers of quotes; data NULL: not made yet */
    size_t start;             /* of the part that is searched */
    size_t place_at;          /* whose place is … */
    struct parley_position place;
};

static void add_lost(void *context, size_t at) {
    struct prose *prose = context;
    brenner_body_move(prose->checker->body, &prose->place_at, &prose->place, prose->start + at);
    body_findings_add(prose->checker->findings, MB_141, prose->place, NULL,
                      "this JSON object has an `operation` and a `section`, but is not in a delta "
                      "block: it would be ignored");
    if (!prose->checker->body->is_replaced) {
        body_findings_offer(
            prose->checker->findings, MB_141,
            (struct parley_part){.fix = brenner_fix_fence, .start = prose->start + at});
    }
}

/* Most prose has no brace at all. */
static enum parley_status check_prose(struct prose *prose, size_t start, size_t end) {
    static const char *const names[] = {"operation", "section", NULL};
    struct brenner_body *body = prose->checker->body;
    if (start >= end || memchr(body->source.data + start, '{', end - start) == NULL) {
        return PARLEY_OK;
    }
    if (prose->text.data == NULL) {
        prose->text = brenner_body_unquoted(body);
    }
    if (prose->text.data == NULL) {
        return PARLEY_E_MEMORY;
    }
    const struct parley_bytes part = {prose->text.data + start, end - start};
    prose->start = start;
    return object_search(part, names, add_lost, prose) ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status check_all_prose(struct checker *checker) {
    struct prose prose = {.checker = checker, .place = {1, 1}};
    size_t start = 0;
    const struct brenner_block *block = checker->body->deltas;
    for (; block != NULL; block = block->next) {
        PARLEY_TRY(check_prose(&prose, start, block->start));
        start = block->end;
    }
    return check_prose(&prose, start, checker->body->source.length);
}

static enum parley_status check_all(struct checker *checker) {
    const struct brenner_block *first = checker->body->deltas;
    if (first == NULL) {
        body_findings_add(checker->findings, MB_004, (struct parley_position){1, 1}, NULL,
                          "the body has no ```delta block");
        if (!checker->body->is_replaced) {
            body_findings_offer(checker->findings, MB_004,
                                (struct parley_part){.fix = brenner_fix_fence,
                                                     .length = checker->body->source.length});
        }
    }
    for (checker->block = first; checker->block != NULL; checker->block = checker->block->next) {
        PARLEY_TRY(check_block(checker));
    }
    return check_all_prose(checker);
}

enum parley_status brenner_deltas_check(struct brenner_body *body, struct body_findings *findings) {
    struct checker checker = {.body = body, .findings = findings};
    parley_arena_init(&checker.scratch, 0);
    parley_buffer_init(&checker.words);
    const enum parley_status status = check_all(&checker);
    parley_arena_finish(&checker.scratch);
    parley_buffer_finish(&checker.words);
    return status;
}
