/* SPDX-License-Identifier: Apache-2.0 */

/* Folds deltas into an artifact, in the order of the stream. What cannot be applied is listed. The
 * companion document on merging sorts deltas by their timestamps; messages here have none. */

#include "artifact.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "text.h"

enum operation { ADD, EDIT, KILL, NO_OPERATION };
static const char *const operations[] = {"ADD", "EDIT", "KILL", NULL};

/* One delta of a message, while it is folded. */
struct folding {
    struct parley_artifact *artifact;
    const struct parley_artifact_place *place;
    struct parley_bytes from;
    size_t number; /* of the delta in its message */
    enum operation operation;
    enum brenner_target section; /* BRENNER_SECTION_COUNT: none that there is */
    struct parley_bytes payload; /* data NULL: it has none */
    struct parley_buffer target; /* decoded; empty: it has none */
    struct parley_buffer text;   /* the delta, as artifact_value_write spells it */
    struct parley_buffer value;  /* of a field */
    struct parley_arena scratch;
    bool was_applied; /* one of the message was */
    bool has_failed;  /* there was no memory to read a key */
};

/* ---- what is said about a delta ---- */

static enum parley_status note(struct folding *folding, enum artifact_code code,
                               const char *sentence) {
    struct parley_artifact *artifact = folding->artifact;
    struct artifact_events *events =
        code < ARTIFACT_AUTO_CORRECTED ? &artifact->not_applied : &artifact->corrections;
    if (events->count == ARTIFACT_NOTED_MAX) {
        events->omitted_count++;
        return PARLEY_OK;
    }
    struct artifact_event *event = &events->items[events->count++];
    *event = (struct artifact_event){.code = code,
                                     .sequence = folding->place->sequence,
                                     .delta = folding->number,
                                     .operation = operations[folding->operation],
                                     .section = brenner_target_sections[folding->section].name};
    const struct parley_bytes target = parley_buffer_bytes(&folding->target);
    PARLEY_TRY(artifact_text_set(artifact, &event->from, text_prefix(folding->from, 128)));
    PARLEY_TRY(artifact_text_set(artifact, &event->target, text_prefix(target, 64)));
    return artifact_text_set(artifact, &event->text, parley_bytes_of(sentence));
}

__attribute__((format(printf, 3, 4))) static enum parley_status
note_format(struct folding *folding, enum artifact_code code, const char *format, ...) {
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return note(folding, code, sentence);
}

/* ---- fields ---- */

/* Those that the fold sets itself, or that say how to merge. */
static const char *const own_fields[] = {
    "id",          "killed",    "killed_by", "killed_at",       "reason",
    "kill_reason", "rationale", "replace",   "anchors_replace", NULL};
/* Keys that break programs in JavaScript. */
static const char *const forbidden[] = {"__proto__", "constructor", "prototype", NULL};
static const char *const united[] = {"anchors", "conflicts_with", "references", NULL};
static const char *const aliases[][2] = {
    {"title", "name"}, {"protocol", "procedure"}, {"methodology", "procedure"}};
/* Those that readers expect to be texts. */
static const char *const texts[] = {"calculation",
                                    "statement",
                                    "claim",
                                    "mechanism",
                                    "procedure",
                                    "discriminates",
                                    "name",
                                    "potency_check",
                                    "feasibility",
                                    "observation",
                                    "attack",
                                    "evidence",
                                    "implication",
                                    "current_status",
                                    "load",
                                    "resolution_plan",
                                    "context",
                                    "why_it_matters",
                                    "condition",
                                    "test",
                                    "proposed_alternative",
                                    NULL};

static bool has_member(struct folding *folding, struct parley_bytes object, const char *key,
                       struct parley_bytes *out) {
    struct json_members members = {.rest = object};
    struct json_member member;
    bool has = false;
    while (!has && json_member_next(&members, &member)) {
        has = parley_bytes_equal(member.key, parley_bytes_of(key));
        *out = member.value;
    }
    folding->has_failed = folding->has_failed || members.has_failed;
    json_members_finish(&members);
    return has;
}

/* The name that an alias stands for; NULL: it is none, or the payload has the name too. */
static const char *meaning_of(struct folding *folding, struct parley_bytes key) {
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        struct parley_bytes other;
        if (parley_bytes_equal(key, parley_bytes_of(aliases[i][0]))) {
            return has_member(folding, folding->payload, aliases[i][1], &other) ? NULL
                                                                                : aliases[i][1];
        }
    }
    return NULL;
}

static bool replaces(struct folding *folding, struct parley_bytes key) {
    struct parley_bytes value = {NULL, 0};
    return (has_member(folding, folding->payload, "replace", &value) &&
            artifact_value_is_true(value)) ||
           (parley_bytes_equal(key, PARLEY_BYTES("anchors")) &&
            has_member(folding, folding->payload, "anchors_replace", &value) &&
            artifact_value_is_true(value));
}

/* The sum of the four parts that are numbers. */
static double score_of(struct folding *folding, struct parley_bytes score) {
    static const char *const parts[] = {"likelihood_ratio", "cost", "speed", "ambiguity"};
    double sum = 0;
    for (size_t i = 0; i < 4 && artifact_value_kind(score) == ARTIFACT_OBJECT; i++) {
        char number[32];
        struct parley_bytes part;
        if (has_member(folding, score, parts[i], &part) && part.length < sizeof number &&
            artifact_value_kind(part) == ARTIFACT_OTHER) {
            memcpy(number, part.data, part.length);
            number[part.length] = '\0';
            const double value = strtod(number, NULL); /* true and false are 0 */
            sum += fabs(value) < 1e6 ? value : 0;
        }
    }
    return sum;
}

static enum parley_status set_field(struct folding *folding, struct artifact_item *item,
                                    struct parley_bytes key, struct parley_bytes value) {
    struct artifact_field *field = artifact_field(item, key);
    bool has_all = true;
    if (field == NULL && item->field_count == ARTIFACT_FIELDS_MAX) {
        return note_format(folding, ARTIFACT_ITEM_LIMIT_EXCEEDED,
                           "`%.*s` was left out: an item has at most %d members",
                           (int)text_prefix(key, 64).length, key.data, ARTIFACT_FIELDS_MAX);
    }
    if (folding->section == BRENNER_TESTS && parley_bytes_equal(key, PARLEY_BYTES("score"))) {
        item->score = score_of(folding, value);
    }
    field = artifact_field_make(folding->artifact, item, key);
    if (field == NULL) {
        return PARLEY_E_MEMORY;
    }
    if (folding->operation != EDIT || !text_is_one_of(key, united) ||
        artifact_value_kind(value) != ARTIFACT_ARRAY || replaces(folding, key)) {
        return artifact_field_set(folding->artifact, field, value);
    }
    PARLEY_TRY(artifact_field_unite(folding->artifact, field, value, &has_all));
    return has_all ? PARLEY_OK
                   : note_format(folding, ARTIFACT_ITEM_LIMIT_EXCEEDED,
                                 "`%.*s` has %d elements, the most that are united",
                                 (int)key.length, key.data, ARTIFACT_ELEMENTS_MAX);
}

static enum parley_status take_member(struct folding *folding, struct artifact_item *item,
                                      const struct json_member *member) {
    struct parley_bytes key = member->key, value = member->value;
    if (text_is_one_of(key, own_fields)) {
        return PARLEY_OK;
    }
    if (text_is_one_of(key, forbidden)) {
        return note_format(folding, ARTIFACT_FORBIDDEN_PAYLOAD_KEY, "the key `%.*s` was left out",
                           (int)key.length, key.data);
    }
    const char *meaning = meaning_of(folding, key);
    if (meaning != NULL) {
        PARLEY_TRY(note_format(folding, ARTIFACT_AUTO_CORRECTED, "`%.*s` was read as `%s`",
                               (int)key.length, key.data, meaning));
        key = parley_bytes_of(meaning);
    }
    const enum artifact_value_kind kind = artifact_value_kind(value);
    if (text_is_one_of(key, texts) && kind != ARTIFACT_STRING && kind != ARTIFACT_NONE) {
        PARLEY_TRY(note_format(folding, ARTIFACT_AUTO_CORRECTED, "`%.*s` was made a text",
                               (int)key.length, key.data));
        parley_buffer_clear(&folding->value);
        parley_buffer_json(&folding->value, value);
        PARLEY_TRY(parley_buffer_status(&folding->value));
        value = parley_buffer_bytes(&folding->value);
    }
    return set_field(folding, item, key, value);
}

/* The payload has each key once, and is an object. */
static enum parley_status take_payload(struct folding *folding, struct artifact_item *item) {
    struct json_members members = {.rest = folding->payload};
    struct json_member member;
    enum parley_status status = PARLEY_OK;
    while (status == PARLEY_OK && json_member_next(&members, &member)) {
        status = take_member(folding, item, &member);
    }
    status = status == PARLEY_OK && members.has_failed ? PARLEY_E_MEMORY : status;
    json_members_finish(&members);
    return status;
}

/* ---- operations ---- */

static enum parley_status add(struct folding *folding, bool *out_applied) {
    struct parley_artifact *artifact = folding->artifact;
    if (folding->section == BRENNER_RESEARCH_THREAD) {
        return note(folding, ARTIFACT_RT_ADD_NOT_ALLOWED,
                    "research_thread is one item, which is only edited");
    }
    if (folding->section == BRENNER_HYPOTHESES &&
        artifact->sections[BRENNER_HYPOTHESES].living_count >= ARTIFACT_HYPOTHESES_MAX) {
        return note_format(folding, ARTIFACT_SECTION_LIMIT_EXCEEDED,
                           "hypothesis_slate has %d living items, the most that it may have",
                           ARTIFACT_HYPOTHESES_MAX);
    }
    struct artifact_item *item = artifact_item_add(artifact, folding->section);
    *out_applied = true;
    return item != NULL ? take_payload(folding, item) : PARLEY_E_MEMORY;
}

static enum parley_status refuse_target(struct folding *folding) {
    const struct parley_bytes id = text_prefix(parley_buffer_bytes(&folding->target), 64);
    return note_format(folding, ARTIFACT_INVALID_TARGET, "there is no `%.*s` in %s", (int)id.length,
                       id.data, brenner_target_sections[folding->section].name);
}

static enum parley_status edit(struct folding *folding, bool *out_applied) {
    struct parley_artifact *artifact = folding->artifact;
    struct artifact_item *item =
        artifact_item(artifact, folding->section, parley_buffer_bytes(&folding->target));
    if (item == NULL && folding->section == BRENNER_RESEARCH_THREAD) {
        item = artifact_item_add(artifact, BRENNER_RESEARCH_THREAD);
        if (item == NULL) {
            return PARLEY_E_MEMORY;
        }
    }
    if (item == NULL) {
        return refuse_target(folding);
    }
    if (item->is_killed) {
        return note(folding, ARTIFACT_TARGET_KILLED, "it was killed before, and is not edited");
    }
    *out_applied = true;
    return take_payload(folding, item);
}

static enum parley_status kill_item(struct folding *folding, bool *out_applied) {
    struct parley_artifact *artifact = folding->artifact;
    struct artifact_item *item =
        folding->section == BRENNER_RESEARCH_THREAD
            ? NULL
            : artifact_item(artifact, folding->section, parley_buffer_bytes(&folding->target));
    struct parley_bytes reason = {NULL, 0};
    if (item == NULL) {
        return refuse_target(folding);
    }
    *out_applied = true;
    if (item->is_killed) {
        return PARLEY_OK;
    }
    item->is_killed = true;
    item->killed_seconds = folding->place->seconds;
    artifact->sections[folding->section].living_count--;
    has_member(folding, folding->payload, "reason", &reason);
    PARLEY_TRY(artifact_text_set(artifact, &item->killed_by, folding->from));
    return artifact_text_set(artifact, &item->kill_reason,
                             artifact_value_text(reason, &folding->value));
}

/* ---- deltas ---- */

/* Reads the delta that `text` is.  Returns: false: it is none, or there is no memory. */
static bool read_delta(struct folding *folding) {
    const struct parley_bytes text = parley_buffer_bytes(&folding->text);
    struct parley_bytes operation = {NULL, 0}, section = {NULL, 0}, target = {NULL, 0};
    folding->payload = (struct parley_bytes){NULL, 0};
    folding->operation = NO_OPERATION;
    folding->section = BRENNER_SECTION_COUNT;
    if (artifact_value_kind(text) != ARTIFACT_OBJECT) {
        return false;
    }
    has_member(folding, text, "operation", &operation);
    has_member(folding, text, "section", &section);
    for (size_t i = 0; operations[i] != NULL; i++) {
        const struct parley_bytes spelled = artifact_value_text(operation, &folding->value);
        if (parley_bytes_equal(spelled, parley_bytes_of(operations[i]))) {
            folding->operation = (enum operation)i;
        }
    }
    for (size_t i = 0; i < BRENNER_SECTION_COUNT; i++) {
        const struct parley_bytes spelled = artifact_value_text(section, &folding->value);
        if (parley_bytes_equal(spelled, parley_bytes_of(brenner_target_sections[i].name))) {
            folding->section = (enum brenner_target)i;
        }
    }
    parley_buffer_clear(&folding->target);
    if (has_member(folding, text, "target_id", &target) &&
        artifact_value_kind(target) == ARTIFACT_STRING) {
        parley_buffer_append(&folding->target, artifact_value_text(target, &folding->value));
    }
    return folding->operation != NO_OPERATION && folding->section != BRENNER_SECTION_COUNT &&
           has_member(folding, text, "payload", &folding->payload) &&
           artifact_value_kind(folding->payload) == ARTIFACT_OBJECT;
}

static enum parley_status apply(struct folding *folding) {
    struct parley_artifact *artifact = folding->artifact;
    bool is_applied = false;
    PARLEY_TRY(folding->operation == ADD    ? add(folding, &is_applied)
               : folding->operation == EDIT ? edit(folding, &is_applied)
                                            : kill_item(folding, &is_applied));
    if (folding->has_failed || folding->value.has_failed) {
        return PARLEY_E_MEMORY;
    }
    artifact->applied_count += is_applied;
    artifact->skipped_count += !is_applied;
    folding->was_applied = folding->was_applied || is_applied;
    return PARLEY_OK;
}

/* What a delta of that many bytes takes at most, about: its values may be spelled longer, and
 * each member has a field. */
static size_t room_for(struct parley_bytes text) {
    size_t fields = 0;
    for (size_t i = 0; i < text.length; i++) {
        fields += text.data[i] == ':';
    }
    fields = fields < ARTIFACT_FIELDS_MAX ? fields : ARTIFACT_FIELDS_MAX;
    return 4 * text.length + 2 * fields * sizeof(struct artifact_field) + 1024;
}

static enum parley_status fold_block(struct folding *folding, const struct brenner_block *block) {
    struct json_fault fault;
    folding->number = block->number;
    if (!artifact_has_room(folding->artifact, room_for(block->text))) {
        return PARLEY_E_LIMIT;
    }
    parley_arena_reset(&folding->scratch);
    switch (brenner_delta_read(block->text, &folding->scratch, &fault)) {
    case JSON_READER_MEMORY:
        return PARLEY_E_MEMORY;
    case JSON_READER_FAULT:
        return PARLEY_OK; /* not in a valid message */
    case JSON_READER_READ:
        break;
    }
    parley_buffer_clear(&folding->text);
    parley_buffer_clear(&folding->value);
    PARLEY_TRY(artifact_value_write(block->text, &folding->scratch, &folding->text));
    const bool is_delta = read_delta(folding);
    if (folding->has_failed || folding->value.has_failed || folding->target.has_failed) {
        return PARLEY_E_MEMORY;
    }
    return is_delta ? apply(folding) : PARLEY_OK;
}

static enum parley_status note_contributor(struct folding *folding) {
    struct parley_artifact *artifact = folding->artifact;
    struct artifact_contributor *contributor = artifact_contributor(artifact, folding->from);
    if (contributor == NULL) {
        return PARLEY_E_MEMORY;
    }
    contributor->seconds = folding->place->seconds;
    artifact->updated_seconds = folding->place->seconds;
    artifact->version++;
    artifact->since_compiled++;
    return PARLEY_OK;
}

static enum parley_status fold_deltas(struct parley_artifact *artifact, struct parley_bytes body,
                                      struct parley_bytes from,
                                      const struct parley_artifact_place *place) {
    struct folding folding = {.artifact = artifact, .place = place, .from = from};
    struct brenner_body read;
    parley_arena_init(&folding.scratch, 0);
    parley_buffer_init(&folding.target);
    parley_buffer_init(&folding.text);
    parley_buffer_init(&folding.value);
    enum parley_status status = brenner_body_read_deltas(&read, body);
    const struct brenner_block *block = status == PARLEY_OK ? read.deltas : NULL;
    for (; block != NULL && status == PARLEY_OK; block = block->next) {
        status = fold_block(&folding, block);
    }
    if (folding.was_applied && (status == PARLEY_OK || status == PARLEY_E_LIMIT)) {
        const enum parley_status noted = note_contributor(&folding);
        status = noted != PARLEY_OK ? noted : status;
    }
    brenner_body_finish(&read);
    parley_arena_finish(&folding.scratch);
    parley_buffer_finish(&folding.target);
    parley_buffer_finish(&folding.text);
    parley_buffer_finish(&folding.value);
    return status;
}

enum parley_status artifact_fold(struct parley_artifact *artifact, struct parley_message *message,
                                 const struct parley_artifact_place *place) {
    const struct parley_bytes body = parley_message_text(message, brenner_body_field(message)),
                              from = parley_message_text(message, brenner_sender_field(message));
    if (!artifact->has_begun) {
        artifact->has_begun = true;
        artifact->created_seconds = artifact->updated_seconds = place->seconds;
    }
    if (body.data == NULL) {
        return PARLEY_OK;
    }
    if (message->type == BRENNER_COMPILED) {
        return artifact_compare(artifact, body, from, place);
    }
    return message->type == BRENNER_DELTA ? fold_deltas(artifact, body, from, place) : PARLEY_OK;
}
