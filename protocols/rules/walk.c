/* SPDX-License-Identifier: Apache-2.0 */

/* The rule engine: checks each row of the table at its place, in one pass over the values that a
 * reader reports. A row may apply to some message types only, and the type may come last in the
 * document: so a finding is kept with its types, and dropped at the end if the message has another
 * type. */

#include "walk.h"

#include <assert.h>
#include <stdlib.h>

#include "alike.h"
#include "text.h"

void walk_forget_captures(struct parley_message *message) {
    memset(message->values, 0, message->schema->field_count * sizeof message->values[0]);
    message->type = PARLEY_TYPE_OTHER;
}

void walk_begin(struct walk *walk, struct parley_message *message, uint32_t types) {
    if (types == PARLEY_TYPE_BIT(PARLEY_TYPE_OTHER)) {
        types = WALK_EVERY_TYPE; /* it may be meant to be another one */
    }
    *walk = (struct walk){.message = message,
                          .types = types,
                          .root = &message->schema->root,
                          .base = "",
                          .has_spelling = message->options.has_spelling};
    walk_forget_captures(message);
    message->findings = (struct parley_findings){0};
}

void walk_begin_inside(struct walk *walk, struct parley_message *message, const char *path,
                       size_t offset) {
    *walk = (struct walk){.message = message,
                          .types = PARLEY_TYPE_BIT(message->type),
                          .root = schema_at(message->schema, path),
                          .base = path,
                          .is_inside = true,
                          .inside_offset = offset};
}

/* The JSON Pointer of the current value, or of its member `missing` if that has data. */
static const char *present_path(const struct walk *walk, struct parley_bytes missing) {
    struct parley_buffer path;
    parley_buffer_init(&path);
    parley_buffer_text(&path, walk->base);
    for (size_t i = 0; i < walk->depth; i++) {
        const struct walk_frame *frame = &walk->frames[i];
        if (i + 1 == walk->depth && missing.data != NULL) {
            text_append_token(&path, missing);
        } else if (frame->kind == PARLEY_ARRAY) {
            parley_buffer_format(&path, "/%zu", frame->index - 1);
        } else {
            text_append_token(&path, frame->key);
        }
    }
    const char *copy = path.has_failed
                           ? NULL
                           : parley_arena_copy(&walk->message->arena, parley_buffer_bytes(&path));
    parley_buffer_finish(&path);
    return copy;
}

static bool is_alike(struct parley_bytes stray, struct parley_bytes member) {
    return alike_but_style(stray, member) || alike_but_letter(stray, member);
}

/* Whether a key that no rule names seems to be that of `member`, and of no other. */
static bool is_meant(const struct schema_node *object, const struct parley_place *place,
                     struct parley_bytes member, struct parley_bytes stray) {
    if (place->aliases != NULL && text_is_one_of(stray, place->aliases)) {
        return true;
    }
    const struct schema_node *child = object->children;
    while (child != NULL &&
           (!is_alike(stray, child->token) || parley_bytes_equal(child->token, member))) {
        child = child->next;
    }
    return child == NULL && is_alike(stray, member);
}

/* The key that a missing member of the current object seems to have; data NULL: none, or several
 * might be it. */
static struct parley_bytes stray_for(const struct walk *walk, const struct parley_place *place,
                                     struct parley_bytes member) {
    const struct walk_frame *frame = &walk->frames[walk->depth - 1];
    struct parley_bytes found = {0};
    for (size_t i = frame->first_stray; i < walk->stray_count; i++) {
        if (is_meant(frame->node, place, member, walk->strays[i].key)) {
            if (found.data != NULL) {
                return (struct parley_bytes){0};
            }
            found = walk->strays[i].key;
        }
    }
    return found;
}

/* `missing`: the token of a missing member; `value` is then NULL. */
static void report(struct walk *walk, const struct schema_check *check, uint32_t for_types,
                   struct parley_bytes missing, const struct parley_value *value, size_t offset) {
    struct parley_finding finding = {.rule = check->rule,
                                     .order = check->order,
                                     .for_types = for_types,
                                     .offset = walk->is_inside ? walk->inside_offset : offset,
                                     .check = check,
                                     .is_encoded = walk->is_inside,
                                     .hint = check->place->hint != NULL ? check->place->hint
                                                                        : check->rule->hint};
    const bool has_space = findings_has_room(&walk->message->findings, check->rule->severity);
    if (value != NULL) {
        finding.value = walk->is_inside ? (struct parley_value){.kind = PARLEY_ABSENT} : *value;
    } else {
        finding.stray = stray_for(walk, check->place, missing);
    }
    if (has_space) {
        finding.path = present_path(walk, missing);
        finding.message =
            check->place->message != NULL || finding.path == NULL
                ? check->place->message
                : constraint_message(&walk->message->arena, check->place, finding.path, value);
    }
    const bool is_complete = finding.path != NULL && finding.message != NULL;
    const bool is_kept = is_complete || !has_space;
    const enum parley_status status = is_kept ? findings_add(walk->message, finding)
                                              : findings_do_without(walk->message, &finding);
    walk->status = status != PARLEY_OK ? status : walk->status;
}

/* PARLEY_INCREASING: whether the value is greater than at the same place of the items before it. */
static bool rises(struct walk *walk, const struct schema_check *check,
                  const struct parley_value *value) {
    if (check->place->constraint != PARLEY_INCREASING || value->kind != PARLEY_NUMBER) {
        return true;
    }
    size_t depth = walk->depth;
    while (walk->frames[depth - 1].kind != PARLEY_ARRAY) { /* the path of the place has a `*` */
        depth--;
    }
    return constraint_rises(&walk->frames[depth - 1].rising, check->place, value->number);
}

/* `asked`: the message types whose rows are checked here.
 * Returns: the types for which the value has passed, so that its content is checked. A warning must
 * not hide an error, so it removes no types. */
static uint32_t ask_value(struct walk *walk, const struct schema_node *node,
                          const struct parley_value *value, uint32_t asked) {
    uint32_t inside = asked;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        const uint32_t types = schema_types(check) & asked;
        if (types != 0 && !(constraint_holds(check, value) && rises(walk, check, value))) {
            report(walk, check, types, (struct parley_bytes){0}, value, value->offset);
            asked &= ~types;
            inside &= check->rule->severity == PARLEY_ERROR ? ~types : WALK_EVERY_TYPE;
        }
    }
    return inside;
}

static void report_missing(struct walk *walk, const struct schema_node *node,
                           const struct walk_frame *object) {
    uint32_t asked = object->types;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        const uint32_t types = schema_types(check) & asked;
        if (types != 0 && check->place->is_required) {
            report(walk, check, types, node->token, NULL, object->offset);
            asked &= ~types;
        }
    }
}

/* The node of the next value; NULL: no rule checks it. */
static const struct schema_node *next_node(struct walk *walk) {
    if (walk->depth == 0) {
        return walk->root;
    }
    struct walk_frame *frame = &walk->frames[walk->depth - 1];
    if (frame->kind == PARLEY_ARRAY) {
        frame->index++;
        return frame->node->every;
    }
    return frame->member;
}

/* ---- members that may be misspelt (GW-103) ---- */

/* The value of a key that may be misspelt. What is inside it is not read, so that it is not known
 * to fit. */
static void ask_stray(struct walk *walk, const struct parley_value *value) {
    struct walk_stray *stray = walk->asked;
    walk->asked = NULL;
    stray->offset = value->offset;
    stray->is_fitting = (value->kind & (PARLEY_OBJECT | PARLEY_ARRAY)) == 0;
    for (const struct schema_check *check = stray->meant->checks; check != NULL;
         check = check->next) {
        stray->is_fitting = stray->is_fitting && constraint_holds(check, value);
    }
}

/* The types for which a member is checked, and may be left out: where it may not, the finding that
 * it is missing has the fix. */
static uint32_t types_where_optional(const struct schema_node *node) {
    uint32_t types = 0, required = 0;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        types |= schema_types(check);
        required |= check->place->is_required ? schema_types(check) : 0;
    }
    return types & ~required;
}

static void report_stray(struct walk *walk, const struct walk_frame *object,
                         const struct walk_stray *stray) {
    struct parley_message *message = walk->message;
    const struct parley_rule *rule = &parley_gateway_rules[PARLEY_GW_SPELLING];
    struct parley_finding finding = {.rule = rule,
                                     .hint = rule->hint,
                                     .for_types =
                                         types_where_optional(stray->meant) & object->types,
                                     .offset = stray->offset,
                                     .stray = stray->key,
                                     .meant = stray->meant->token,
                                     .is_fitting = stray->is_fitting};
    if (finding.for_types == 0) {
        return;
    }
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "the protocol does not name ");
    parley_buffer_json(&text, stray->key);
    parley_buffer_text(&text, ", but ");
    parley_buffer_json(&text, stray->meant->token);
    parley_buffer_text(&text, ", which is missing");
    finding.path = present_path(walk, stray->key);
    finding.message =
        text.has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    const enum parley_status status = finding.path != NULL && finding.message != NULL
                                          ? findings_add(message, finding)
                                          : findings_do_without(message, &finding);
    walk->status = status != PARLEY_OK ? status : walk->status;
}

static void report_strays(struct walk *walk, const struct walk_frame *object) {
    for (size_t i = object->first_stray; i < walk->stray_count; i++) {
        const struct walk_stray *stray = &walk->strays[i];
        if (stray->meant != NULL && (object->seen & stray->meant->bit) == 0) {
            report_stray(walk, object, stray);
        }
    }
}

/* ---- values, keys and ends ---- */

bool walk_value(struct walk *walk, const struct parley_value *value) {
    if (walk->asked != NULL) {
        ask_stray(walk, value);
        return false;
    }
    const struct schema_node *node = next_node(walk);
    if (node == NULL) {
        return false;
    }
    if (node->field >= 0 && !walk->is_inside) {
        walk->message->values[node->field] = *value;
    }
    const uint32_t asked = walk->depth == 0 ? walk->types : walk->frames[walk->depth - 1].types;
    const uint32_t types = ask_value(walk, node, value, asked);
    const bool has_members = value->kind == PARLEY_OBJECT || value->kind == PARLEY_ARRAY;
    if (!has_members) {
        return false;
    }
    assert(walk->depth <= SCHEMA_DEPTH_MAX);
    walk->frames[walk->depth++] = (struct walk_frame){.node = node,
                                                      .kind = value->kind,
                                                      .types = types,
                                                      .offset = value->offset,
                                                      .first_stray = walk->stray_count};
    return true;
}

bool walk_key(struct walk *walk, struct parley_bytes key) {
    struct walk_frame *frame = &walk->frames[walk->depth - 1];
    frame->member = schema_member(frame->node, key);
    frame->key = key;
    frame->seen |= frame->member != NULL ? frame->member->bit : 0;
    if (frame->member != NULL || walk->stray_count == WALK_STRAYS_MAX) {
        return frame->member != NULL;
    }
    struct walk_stray *stray = &walk->strays[walk->stray_count++];
    *stray = (struct walk_stray){.key = key};
    stray->meant = walk->has_spelling ? schema_member_like(frame->node, key) : NULL;
    walk->asked = stray->meant != NULL ? stray : NULL;
    return walk->asked != NULL;
}

/* The number of items of an array is known only at its end. */
static void ask_count(struct walk *walk, const struct walk_frame *array, size_t count) {
    const struct parley_value value = {.kind = PARLEY_ARRAY, .count = count};
    const struct schema_check *check = array->node->checks;
    for (; check != NULL; check = check->next) {
        const uint32_t types = schema_types(check) & array->types;
        if (types != 0 && check->place->constraint == PARLEY_MIN_ITEMS &&
            !constraint_has_items(check->place, count)) {
            report(walk, check, types, (struct parley_bytes){0}, &value, array->offset);
        }
    }
}

void walk_leave(struct walk *walk, size_t count) {
    const struct walk_frame *frame = &walk->frames[walk->depth - 1];
    const struct schema_node *child = frame->kind == PARLEY_OBJECT ? frame->node->children : NULL;
    for (; child != NULL; child = child->next) {
        if ((frame->seen & child->bit) == 0) {
            report_missing(walk, child, frame);
        }
    }
    report_strays(walk, frame);
    if (frame->node->field >= 0 && !walk->is_inside) {
        walk->message->values[frame->node->field].count = count;
    }
    walk->depth--;
    walk->stray_count = frame->first_stray;
    if (frame->kind == PARLEY_ARRAY) {
        ask_count(walk, frame, count);
    }
}

/* The start of the value at `path` or, if it is missing or not a capture, of the nearest one around
 * it. */
static size_t offset_of(const struct walk *walk, const char *path) {
    const struct parley_protocol *protocol = walk->message->protocol;
    size_t offset = walk->frames[0].offset, best = 0;
    for (size_t i = 0; protocol->fields[i] != NULL; i++) {
        const size_t length = strlen(protocol->fields[i]);
        const bool is_around = strncmp(protocol->fields[i], path, length) == 0 &&
                               (path[length] == '/' || path[length] == '\0');
        if (is_around && length > best && walk->message->values[i].kind != PARLEY_ABSENT) {
            best = length;
            offset = walk->message->values[i].offset;
        }
    }
    return offset;
}

static void ask_across(struct walk *walk) {
    struct parley_message *message = walk->message;
    const struct parley_captures captures = {
        .values = message->values, .type = message->type, .options = &message->options};
    const struct schema_check *check = message->schema->cross_checks;
    for (; check != NULL; check = check->next) {
        const bool counts = (schema_types(check) & PARLEY_TYPE_BIT(message->type)) != 0;
        if (!counts || !place_is_broken(check->place, &captures)) {
            continue;
        }
        const int field = check->node != NULL ? check->node->field : -1;
        const struct parley_finding finding = {
            .rule = check->rule,
            .path = check->place->path,
            .message = check->place->message,
            .hint = check->place->hint != NULL ? check->place->hint : check->rule->hint,
            .order = check->order,
            .for_types = PARLEY_TYPE_BIT(message->type),
            .check = check,
            .is_missing = field >= 0 && message->values[field].kind == PARLEY_ABSENT,
            .offset = offset_of(walk, check->place->path)};
        const enum parley_status status = findings_add(message, finding);
        walk->status = status != PARLEY_OK ? status : walk->status;
    }
}

static enum parley_status inspect(struct parley_message *message) {
    return message->protocol->inspect != NULL ? message->protocol->inspect(message) : PARLEY_OK;
}

/* The only type that an unknown one is like, which it seems to be; else the message's. */
static unsigned probable_type(const struct parley_message *message) {
    const struct parley_protocol *protocol = message->protocol;
    const struct parley_bytes text = parley_value_text(&message->values[protocol->type_field]);
    unsigned found = PARLEY_TYPE_OTHER;
    if (message->type != PARLEY_TYPE_OTHER || text.data == NULL || protocol->type_of != NULL) {
        return message->type;
    }
    for (unsigned i = 0; protocol->types[i] != NULL; i++) {
        if (is_alike(text, parley_bytes_of(protocol->types[i]))) {
            if (found != PARLEY_TYPE_OTHER) {
                return PARLEY_TYPE_OTHER;
            }
            found = i;
        }
    }
    return found;
}

static void drop_other_types(struct parley_message *message, unsigned probable) {
    struct parley_findings *findings = &message->findings;
    const uint32_t own = PARLEY_TYPE_BIT(message->type);
    const uint32_t asked = own | PARLEY_TYPE_BIT(probable);
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const uint32_t types = findings->items[i].for_types;
        if ((types & asked) != 0) {
            findings->items[kept] = findings->items[i];
            findings->items[kept].is_provisional = (types & own) == 0;
            findings->items[kept++].for_types = types & asked;
        }
    }
    findings->count = kept;
}

enum parley_status walk_end(struct walk *walk) {
    struct parley_message *message = walk->message;
    assert(walk->depth == 0);
    message->type =
        schema_type_of(message->schema, &message->values[message->protocol->type_field]);
    drop_other_types(message, probable_type(message));
    ask_across(walk);
    PARLEY_TRY(inspect(message));
    findings_settle(message);
    return walk->status;
}
