/* SPDX-License-Identifier: Apache-2.0 */

/* The rule engine: asks each row of the table at its place, in one pass over what a reader tells.
 * A row may hold for some message types only, and the type may come last in the document: so such
 * a finding is kept with its types and dropped at the end if it does not count. */

#include "walk.h"

#include <assert.h>
#include <stdlib.h>

#include "constraint.h"

#define ALL_TYPES UINT32_MAX

void walk_begin(struct walk *walk, struct parley_message *message) {
    *walk = (struct walk){.message = message};
    memset(message->values, 0, sizeof message->values);
    message->type = PARLEY_TYPE_OTHER;
    message->findings = (struct parley_findings){0};
}

static void append_token(struct parley_buffer *path, struct parley_bytes token) {
    parley_buffer_char(path, '/');
    for (size_t i = 0; i < token.length; i++) {
        if (token.data[i] == '~') {
            parley_buffer_text(path, "~0");
        } else if (token.data[i] == '/') {
            parley_buffer_text(path, "~1");
        } else {
            parley_buffer_char(path, token.data[i]);
        }
    }
}

/* The JSON Pointer of the present value, or of its member `missing` when that has data. */
static const char *present_path(const struct walk *walk, struct parley_bytes missing) {
    struct parley_buffer path;
    parley_buffer_init(&path);
    for (size_t i = 0; i < walk->depth; i++) {
        const struct walk_frame *frame = &walk->frames[i];
        if (i + 1 == walk->depth && missing.data != NULL) {
            append_token(&path, missing);
        } else if (frame->kind == PARLEY_ARRAY) {
            parley_buffer_format(&path, "/%zu", frame->index - 1);
        } else {
            append_token(&path, frame->key);
        }
    }
    const char *copy = path.has_failed
                           ? NULL
                           : parley_arena_copy(&walk->message->arena, parley_buffer_bytes(&path));
    parley_buffer_finish(&path);
    return copy;
}

enum parley_status findings_add(struct parley_message *message, struct parley_finding finding) {
    struct parley_findings *findings = &message->findings;
    finding.discovered = findings->discovered_count++;
    if (findings->count == PARLEY_FINDINGS_MAX) {
        findings->omitted_count++;
        if (finding.rule->severity == PARLEY_ERROR) {
            findings->omitted_error_types |= finding.for_types;
        }
        return PARLEY_OK;
    }
    if (findings->count == findings->capacity) {
        const size_t capacity = findings->capacity == 0 ? 8 : findings->capacity * 2;
        struct parley_finding *items =
            parley_arena_allocate(&message->arena, capacity * sizeof *items);
        if (items == NULL) {
            return PARLEY_E_MEMORY;
        }
        if (findings->count > 0) {
            memcpy(items, findings->items, findings->count * sizeof *items);
        }
        findings->items = items;
        findings->capacity = capacity;
    }
    findings->items[findings->count++] = finding;
    return PARLEY_OK;
}

/* `missing`: the token of a member that is not there; `value` NULL then. */
static void report(struct walk *walk, const struct schema_check *check, uint32_t for_types,
                   struct parley_bytes missing, const struct parley_value *value, size_t offset) {
    struct parley_finding finding = {.rule = check->rule,
                                     .order = check->order,
                                     .for_types = for_types,
                                     .offset = offset,
                                     .hint = check->place->hint != NULL ? check->place->hint
                                                                        : check->rule->hint};
    if (walk->message->findings.count < PARLEY_FINDINGS_MAX) {
        finding.path = present_path(walk, missing);
        finding.message =
            check->place->message != NULL || finding.path == NULL
                ? check->place->message
                : constraint_message(&walk->message->arena, check->place, finding.path, value);
        if (finding.path == NULL || finding.message == NULL) {
            walk->status = PARLEY_E_MEMORY;
            return;
        }
    }
    const enum parley_status status = findings_add(walk->message, finding);
    walk->status = status != PARLEY_OK ? status : walk->status;
}

static uint32_t types_of(const struct schema_check *check) {
    return check->place->for_types != 0 ? check->place->for_types : ALL_TYPES;
}

/* `asked`: the message types for which a value may stand here at all.
 * Returns: those for which it may be what it is, so that what is in it is asked about. A warning
 * must not hide an error, so that it changes nothing there. */
static uint32_t ask_value(struct walk *walk, const struct schema_node *node,
                          const struct parley_value *value, uint32_t asked) {
    uint32_t inside = asked;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        const uint32_t types = types_of(check) & asked;
        if (types != 0 && !constraint_holds(check->place, value)) {
            report(walk, check, types, (struct parley_bytes){0}, value, value->offset);
            asked &= ~types;
            inside &= check->rule->severity == PARLEY_ERROR ? ~types : ALL_TYPES;
        }
    }
    return inside;
}

static void ask_missing(struct walk *walk, const struct schema_node *node,
                        const struct walk_frame *object) {
    uint32_t asked = object->types;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        const uint32_t types = types_of(check) & asked;
        if (types != 0 && check->place->is_required) {
            report(walk, check, types, node->token, NULL, object->offset);
            asked &= ~types;
        }
    }
}

/* Where the value that comes next stands in the trie; NULL: nobody asks about it. */
static const struct schema_node *next_node(struct walk *walk) {
    if (walk->depth == 0) {
        return &walk->message->schema->root;
    }
    struct walk_frame *frame = &walk->frames[walk->depth - 1];
    if (frame->kind == PARLEY_ARRAY) {
        frame->index++;
        return frame->node->every;
    }
    return frame->member;
}

bool walk_value(struct walk *walk, const struct parley_value *value) {
    const struct schema_node *node = next_node(walk);
    if (node == NULL) {
        return false;
    }
    if (node->field >= 0) {
        walk->message->values[node->field] = *value;
    }
    const uint32_t asked = walk->depth == 0 ? ALL_TYPES : walk->frames[walk->depth - 1].types;
    const uint32_t types = ask_value(walk, node, value, asked);
    const bool has_members = value->kind == PARLEY_OBJECT || value->kind == PARLEY_ARRAY;
    if (!has_members) {
        return false;
    }
    assert(walk->depth <= SCHEMA_DEPTH_MAX);
    walk->frames[walk->depth++] = (struct walk_frame){
        .node = node, .kind = value->kind, .types = types, .offset = value->offset};
    return true;
}

bool walk_key(struct walk *walk, struct parley_bytes key) {
    struct walk_frame *frame = &walk->frames[walk->depth - 1];
    frame->member = schema_member(frame->node, key);
    frame->key = key;
    if (frame->member != NULL && frame->member != frame->node->every) {
        frame->seen |= UINT64_C(1) << frame->member->index;
    }
    return frame->member != NULL;
}

void walk_leave(struct walk *walk, size_t count) {
    const struct walk_frame *frame = &walk->frames[walk->depth - 1];
    const struct schema_node *child = frame->kind == PARLEY_OBJECT ? frame->node->children : NULL;
    for (; child != NULL; child = child->next) {
        if ((frame->seen >> child->index & 1) == 0) {
            ask_missing(walk, child, frame);
        }
    }
    if (frame->node->field >= 0) {
        walk->message->values[frame->node->field].count = count;
    }
    walk->depth--;
}

static unsigned type_of(const struct parley_message *message) {
    const struct parley_value *type = &message->values[message->protocol->type_field];
    for (unsigned i = 0; type->kind == PARLEY_STRING && message->protocol->types[i] != NULL; i++) {
        if (parley_bytes_equal(type->text, parley_bytes_of(message->protocol->types[i]))) {
            return i;
        }
    }
    return PARLEY_TYPE_OTHER;
}

/* The value at a place that is a captured field, or NULL. */
static const struct parley_value *captured(const struct walk *walk, const char *path) {
    const struct parley_protocol *protocol = walk->message->protocol;
    for (size_t i = 0; protocol->fields[i] != NULL; i++) {
        if (strcmp(protocol->fields[i], path) == 0) {
            return &walk->message->values[i];
        }
    }
    return NULL;
}

static void ask_across(struct walk *walk, size_t root_offset) {
    struct parley_message *message = walk->message;
    const struct parley_facts facts = {
        .values = message->values, .type = message->type, .options = &message->options};
    const struct schema_check *check = message->schema->cross_checks;
    for (; check != NULL; check = check->next) {
        const bool counts = (types_of(check) & PARLEY_TYPE_BIT(message->type)) != 0;
        if (!counts || !check->place->is_broken(&facts)) {
            continue;
        }
        const struct parley_value *value = captured(walk, check->place->path);
        const bool is_there = value != NULL && value->kind != PARLEY_ABSENT;
        const struct parley_finding finding = {
            .rule = check->rule,
            .path = check->place->path,
            .message = check->place->message,
            .hint = check->place->hint != NULL ? check->place->hint : check->rule->hint,
            .order = check->order,
            .for_types = ALL_TYPES,
            .offset = is_there ? value->offset : root_offset};
        const enum parley_status status = findings_add(message, finding);
        walk->status = status != PARLEY_OK ? status : walk->status;
    }
}

static void drop_other_types(struct parley_message *message) {
    struct parley_findings *findings = &message->findings;
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if ((findings->items[i].for_types & PARLEY_TYPE_BIT(message->type)) != 0) {
            findings->items[kept++] = findings->items[i];
        }
    }
    findings->count = kept;
}

static int by_table(const void *left, const void *right) {
    const struct parley_finding *a = left, *b = right;
    if (a->order != b->order) {
        return a->order < b->order ? -1 : 1;
    }
    return a->discovered < b->discovered ? -1 : 1;
}

enum parley_status walk_end(struct walk *walk) {
    struct parley_message *message = walk->message;
    struct parley_findings *findings = &message->findings;
    assert(walk->depth == 0);
    message->type = type_of(message);
    drop_other_types(message);
    ask_across(walk, walk->frames[0].offset);
    findings->has_error = (findings->omitted_error_types & PARLEY_TYPE_BIT(message->type)) != 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].rule->severity == PARLEY_ERROR) {
            findings->has_error = true;
        }
    }
    if (findings->count > 1) {
        qsort(findings->items, findings->count, sizeof *findings->items, by_table);
    }
    return walk->status;
}

static int by_offset(const void *left, const void *right) {
    const struct parley_finding *const *a = left, *const *b = right;
    return ((*a)->offset > (*b)->offset) - ((*a)->offset < (*b)->offset);
}

/* From an offset in what was read to one in what was sent. */
static size_t sent_offset(const struct parley_message *message, size_t offset) {
    if (offset >= message->stamp_offset + message->stamp_length) {
        return offset - message->stamp_length;
    }
    return offset > message->stamp_offset ? message->stamp_offset : offset;
}

/* One pass over the text for all findings, in the order of their offsets. */
enum parley_status findings_locate(struct parley_message *message) {
    struct parley_findings *findings = &message->findings;
    if (findings->count == 0) {
        return PARLEY_OK;
    }
    struct parley_finding **sorted =
        parley_arena_allocate(&message->arena, findings->count * sizeof *sorted);
    if (sorted == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < findings->count; i++) {
        sorted[i] = &findings->items[i];
    }
    qsort(sorted, findings->count, sizeof *sorted, by_offset);
    struct parley_position here = message->origin;
    size_t at = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const size_t target = sent_offset(message, sorted[i]->offset);
        for (; at < target && at < message->sent.length; at++) {
            const unsigned char c = (unsigned char)message->sent.data[at];
            if (c == '\n') {
                here = (struct parley_position){.line = here.line + 1, .column = 1};
            } else if ((c & 0xC0) != 0x80) {
                here.column++;
            }
        }
        sorted[i]->at = here;
    }
    return PARLEY_OK;
}
