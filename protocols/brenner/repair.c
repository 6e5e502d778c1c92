/* SPDX-License-Identifier: Apache-2.0 */

#include "repair.h"

#include <parley/fix.h>

#include "alike.h"
#include "delta.h"
#include "fence.h"
#include "json_pick.h"
#include "json_skip.h"

/* ---- JSON ---- */

/* The byte after the comment at `at`; `at` itself: there is none. */
static size_t skip_comment(struct parley_bytes text, size_t at) {
    if (at + 1 >= text.length || text.data[at] != '/') {
        return at;
    }
    size_t end = at + 2;
    if (text.data[at + 1] == '/') {
        while (end < text.length && text.data[end] != '\n' && text.data[end] != '\r') {
            end++;
        }
        return end;
    }
    if (text.data[at + 1] != '*') {
        return at;
    }
    while (end + 1 < text.length && !(text.data[end] == '*' && text.data[end + 1] == '/')) {
        end++;
    }
    return end + 1 < text.length ? end + 2 : at;
}

/* Whether only blanks and comments are between the comma before `at` and a closing brace or
 * bracket. */
static bool is_before_closing(struct parley_bytes text, size_t at) {
    for (size_t end; at < text.length; at = end) {
        end = strchr(" \t\r\n", text.data[at]) != NULL ? at + 1 : skip_comment(text, at);
        if (end == at) {
            return text.data[at] == '}' || text.data[at] == ']';
        }
    }
    return false;
}

/* The byte after the string at `at`, which may never end. */
static size_t skip_any_string(struct parley_bytes text, size_t at) {
    for (at++; at < text.length && text.data[at] != '"'; at++) {
        at += text.data[at] == '\\';
    }
    return at < text.length ? at + 1 : text.length;
}

static bool is_json(struct parley_bytes text, struct parley_buffer *out) {
    struct parley_arena arena;
    struct json_fault fault;
    parley_arena_init(&arena, 0);
    const enum json_reader_result result = brenner_delta_read(text, &arena, &fault);
    parley_arena_finish(&arena);
    out->has_failed |= result == JSON_READER_MEMORY;
    return result == JSON_READER_READ;
}

bool brenner_repair_json(struct parley_bytes text, struct parley_buffer *out) {
    const size_t start = out->length;
    size_t at = 0, copied = 0;
    while (at < text.length) {
        const size_t end = skip_comment(text, at);
        const bool is_comma = text.data[at] == ',' && is_before_closing(text, at + 1);
        if (end > at || is_comma) {
            parley_buffer_append(out, (struct parley_bytes){text.data + copied, at - copied});
            copied = is_comma ? at + 1 : end;
            at = copied;
        } else {
            at = text.data[at] == '"' ? skip_any_string(text, at) : at + 1;
        }
    }
    parley_buffer_append(out, (struct parley_bytes){text.data + copied, text.length - copied});
    const struct parley_bytes repaired = {out->data + start, out->length - start};
    return copied > 0 && !out->has_failed && is_json(repaired, out);
}

/* ---- members ---- */

enum said { OPERATION, SECTION, PAYLOAD, REASON, KILL_REASON, SAID_COUNT };

/* Owns: `arena` is to be finished, whatever is returned.  Returns: whether `text` could be read. */
static bool pick(struct parley_bytes text, struct parley_arena *arena,
                 struct json_pick said[SAID_COUNT], struct parley_buffer *out) {
    said[OPERATION] = (struct json_pick){.name = "operation"};
    said[SECTION] = (struct json_pick){.name = "section"};
    said[PAYLOAD] = (struct json_pick){.name = "payload"};
    said[REASON] = (struct json_pick){.parent = "payload", .name = "reason"};
    said[KILL_REASON] = (struct json_pick){.parent = "payload", .name = "kill_reason"};
    parley_arena_init(arena, 0);
    const enum parley_status status = json_pick(text, arena, said, SAID_COUNT);
    out->has_failed |= status == PARLEY_E_MEMORY;
    return status == PARLEY_OK;
}

static struct parley_bytes up_to(struct parley_bytes text, size_t end) {
    return (struct parley_bytes){text.data, end};
}

static struct parley_bytes from(struct parley_bytes text, size_t start) {
    return (struct parley_bytes){text.data + start, text.length - start};
}

/* The offset of the key whose value begins at `value`, if it is written so. */
static bool find_key(struct parley_bytes text, size_t value, struct parley_bytes key,
                     size_t *out_at) {
    while (value > 0 && strchr(" \t\r\n:", text.data[value - 1]) != NULL) {
        value--;
    }
    *out_at = value - key.length;
    return value >= key.length && memcmp(text.data + *out_at, key.data, key.length) == 0;
}

bool brenner_repair_reason(struct parley_bytes text, struct parley_buffer *out) {
    const struct parley_bytes key = PARLEY_BYTES("\"kill_reason\"");
    struct json_pick said[SAID_COUNT];
    struct parley_arena arena;
    size_t at = 0;
    const bool is_one =
        pick(text, &arena, said, out) && parley_value_is(&said[OPERATION].value, "KILL") &&
        said[PAYLOAD].value.kind == PARLEY_OBJECT && said[REASON].value.kind == PARLEY_ABSENT &&
        said[KILL_REASON].value.kind == PARLEY_STRING &&
        find_key(text, said[KILL_REASON].value.offset, key, &at);
    parley_arena_finish(&arena);
    if (is_one) {
        parley_buffer_append(out, up_to(text, at));
        parley_buffer_text(out, "\"reason\"");
        parley_buffer_append(out, from(text, at + key.length));
    }
    return is_one;
}

/* The next item of an array, from the one that ends at *end, or from its start.  Returns: whether
 * there is one. */
static bool next_item(struct parley_bytes text, size_t *start, size_t *end) {
    *start = json_skip_blank(text, text.data[*end] == '[' ? *end + 1 : *end);
    if (text.data[*start] == ',') {
        *start = json_skip_blank(text, *start + 1);
    }
    if (text.data[*start] == ']') {
        return false;
    }
    *end = json_skip_value(text, *start);
    return true;
}

/* How many objects are in the array; 0: it has another item. */
static size_t count_objects(struct parley_bytes text, size_t array) {
    size_t count = 0;
    for (size_t start, end = array; next_item(text, &start, &end); count++) {
        if (text.data[start] != '{') {
            return 0;
        }
    }
    return count;
}

bool brenner_repair_array(struct parley_bytes text, struct parley_bytes between, size_t length_max,
                          struct parley_buffer *out) {
    struct json_pick said[SAID_COUNT];
    struct parley_arena arena;
    const bool is_one = pick(text, &arena, said, out) &&
                        parley_value_is(&said[OPERATION].value, "ADD") &&
                        said[PAYLOAD].value.kind == PARLEY_ARRAY;
    const size_t array = said[PAYLOAD].value.offset;
    parley_arena_finish(&arena);
    const size_t count = is_one ? count_objects(text, array) : 0;
    if (count == 0) {
        return false;
    }
    const size_t after = json_skip_value(text, array);
    const size_t around = text.length - (after - array) + between.length;
    if (count > length_max / around || count * around + (after - array) > length_max) {
        return false;
    }
    size_t start, end = array;
    for (size_t i = 0; next_item(text, &start, &end); i++) {
        parley_buffer_append(out, i > 0 ? between : PARLEY_BYTES(""));
        parley_buffer_append(out, up_to(text, array));
        parley_buffer_append(out, (struct parley_bytes){text.data + start, end - start});
        parley_buffer_append(out, from(text, after));
    }
    return true;
}

const char *brenner_repair_choice(struct parley_bytes text, const char *const *choices,
                                  bool *out_is_safe) {
    const char *near = NULL;
    size_t near_count = 0;
    *out_is_safe = true;
    for (; *choices != NULL; choices++) {
        const struct parley_bytes choice = parley_bytes_of(*choices);
        if (alike_but_case(text, choice)) {
            return *choices;
        }
        if (alike_but_style(text, choice) || alike_but_letter(text, choice)) {
            near = *choices;
            near_count++;
        }
    }
    *out_is_safe = false;
    return near_count == 1 ? near : NULL;
}

/* ---- fixes ---- */

static bool is_inside_character(struct parley_bytes text, size_t at) {
    return at < text.length && ((unsigned char)text.data[at] & 0xC0) == 0x80;
}

/* The smallest edit that makes of the part what is in `memory`. */
static bool edit_part(const struct parley_finding *finding, const struct parley_buffer *memory,
                      size_t start, size_t length, struct parley_fix *out) {
    const struct parley_bytes old = {finding->part.text.data + start, length};
    const struct parley_bytes made = parley_buffer_bytes(memory);
    const size_t shorter = old.length < made.length ? old.length : made.length;
    size_t before = 0, after = 0;
    while (before < shorter && old.data[before] == made.data[before]) {
        before++;
    }
    while (is_inside_character(old, before) || is_inside_character(made, before)) {
        before--;
    }
    while (after < shorter - before &&
           old.data[old.length - 1 - after] == made.data[made.length - 1 - after]) {
        after++;
    }
    while (is_inside_character(old, old.length - after)) {
        after--;
    }
    out->edit =
        (struct parley_edit){.offset = start + before,
                             .removed = old.length - before - after,
                             .inserted = {made.data + before, made.length - before - after}};
    return before < old.length || before < made.length;
}

static struct parley_bytes part_of(const struct parley_finding *finding) {
    return (struct parley_bytes){finding->part.text.data + finding->part.start,
                                 finding->part.length};
}

static bool edit_whole(const struct parley_finding *finding, const struct parley_buffer *memory,
                       struct parley_fix *out) {
    out->is_safe = true;
    return !memory->has_failed &&
           edit_part(finding, memory, finding->part.start, finding->part.length, out);
}

bool brenner_fix_json(const struct parley_finding *finding, struct parley_buffer *memory,
                      struct parley_fix *out) {
    return brenner_repair_json(part_of(finding), memory) && edit_whole(finding, memory, out);
}

/* Appends what is between two blocks like the one whose content begins at `content`: the fence that
 * ends one, and the line that begins the next. */
static void write_between(struct parley_bytes body, size_t content, struct parley_buffer *out) {
    size_t line = content - 1, fence = 0;
    while (line > 0 && body.data[line - 1] != '\n') {
        line--;
    }
    while (body.data[line + fence] == body.data[line]) {
        fence++;
    }
    parley_buffer_append(out, (struct parley_bytes){body.data + line, fence});
    parley_buffer_text(out, "\n\n");
    parley_buffer_append(out, (struct parley_bytes){body.data + line, content - line});
}

static bool is_fence(char c) {
    return c == '`' || c == '~';
}

/* Whether the block's first line begins with its fence, so that a second one can be written. */
static bool begins_with_fence(struct parley_bytes body, size_t content) {
    size_t line = content > 0 ? content - 1 : 0;
    while (line > 0 && body.data[line - 1] != '\n') {
        line--;
    }
    return line < body.length && is_fence(body.data[line]);
}

static bool repair_array_in(struct parley_bytes body, size_t content, struct parley_bytes text,
                            size_t length_max, struct parley_buffer *out) {
    struct parley_buffer between;
    parley_buffer_init(&between);
    const bool is_fenced = begins_with_fence(body, content);
    if (is_fenced) {
        write_between(body, content, &between);
    }
    out->has_failed |= between.has_failed;
    const bool is_repaired =
        is_fenced && !between.has_failed &&
        brenner_repair_array(text, parley_buffer_bytes(&between), length_max, out);
    parley_buffer_finish(&between);
    return is_repaired;
}

bool brenner_fix_payload(const struct parley_finding *finding, struct parley_buffer *memory,
                         struct parley_fix *out) {
    const struct parley_bytes part = part_of(finding);
    return (brenner_repair_reason(part, memory) ||
            repair_array_in(finding->part.text, finding->part.start, part,
                            part.length + PARLEY_FIX_INSERTED_MAX, memory)) &&
           edit_whole(finding, memory, out);
}

bool brenner_fix_choice(const struct parley_finding *finding, struct parley_buffer *memory,
                        struct parley_fix *out) {
    const char *sections[BRENNER_SECTION_COUNT + 1] = {NULL};
    const struct parley_bytes part = part_of(finding);
    const bool is_operation = finding->rule == &brenner_rules[MB_104];
    struct json_pick said[SAID_COUNT];
    struct parley_arena arena;
    const char *choice = NULL;
    for (size_t i = 0; i < BRENNER_SECTION_COUNT; i++) {
        sections[i] = brenner_target_sections[i].name;
    }
    const bool is_read = pick(part, &arena, said, memory);
    const struct parley_value *value = &said[is_operation ? OPERATION : SECTION].value;
    if (is_read && value->kind == PARLEY_STRING) {
        choice = brenner_repair_choice(value->text, is_operation ? brenner_operations : sections,
                                       &out->is_safe);
    }
    parley_arena_finish(&arena);
    if (choice == NULL) {
        return false;
    }
    parley_buffer_json(memory, parley_bytes_of(choice));
    const size_t start = value->offset, end = json_skip_value(part, start);
    return edit_part(finding, memory, finding->part.start + start, end - start, out);
}

bool brenner_fix_fence(const struct parley_finding *finding, struct parley_buffer *memory,
                       struct parley_fix *out) {
    const struct parley_bytes body = finding->part.text;
    const size_t place = finding->part.start;
    const bool is_anywhere = finding->part.length > 0;
    struct brenner_fence fence = {.next = 0};
    bool is_found;
    do {
        is_found = brenner_fence_next(body, fence.next, &fence);
    } while (is_found &&
             (is_anywhere ? fence.character != ':' : fence.end <= place || place < fence.content));
    if (!is_found) {
        return false;
    }
    if (fence.character != ':') { /* another language: only its author knows */
        parley_buffer_text(memory, "delta\n");
        return edit_part(finding, memory, fence.info, fence.content - fence.info, out);
    }
    brenner_fence_write(body, &fence, memory);
    out->is_safe = is_anywhere; /* else the message may be valid, and what is in it not */
    return edit_part(finding, memory, fence.start, fence.closed - fence.start, out);
}

/* ---- bodies ---- */

/* Appends the body with backticks in place of colons. */
static void write_fences(struct parley_bytes body, struct parley_buffer *out) {
    struct brenner_fence fence = {.next = 0};
    size_t copied = 0;
    while (brenner_fence_next(body, fence.next, &fence)) {
        if (fence.character == ':') {
            parley_buffer_append(out,
                                 (struct parley_bytes){body.data + copied, fence.start - copied});
            brenner_fence_write(body, &fence, out);
            copied = fence.closed;
        }
    }
    parley_buffer_append(out, from(body, copied));
}

/* What a step of repairing made, in place of what it was made from. */
static struct parley_bytes take(struct parley_buffer *made, bool is_made,
                                struct parley_bytes text) {
    if (!is_made) {
        parley_buffer_clear(made);
    }
    return is_made ? parley_buffer_bytes(made) : text;
}

/* Appends the block's text, repaired as far as it can be. */
static void write_block(struct parley_bytes body, size_t content, struct parley_bytes text,
                        size_t length_max, struct parley_buffer *out) {
    struct parley_buffer made[3];
    for (size_t i = 0; i < 3; i++) {
        parley_buffer_init(&made[i]);
    }
    text = take(&made[0], !is_json(text, out) && brenner_repair_json(text, &made[0]), text);
    if (is_json(text, out)) {
        text = take(&made[1], brenner_repair_reason(text, &made[1]), text);
        text = take(&made[2], repair_array_in(body, content, text, length_max, &made[2]), text);
    }
    parley_buffer_append(out, text);
    for (size_t i = 0; i < 3; i++) {
        out->has_failed |= made[i].has_failed;
        parley_buffer_finish(&made[i]);
    }
}

/* Appends the body with all blocks repaired that are in it as they are. */
static enum parley_status write_blocks(struct parley_bytes text, size_t length_max,
                                       struct parley_buffer *out) {
    struct brenner_body body;
    size_t copied = 0;
    const enum parley_status status = brenner_body_read_deltas(&body, text);
    for (const struct brenner_block *block = status == PARLEY_OK ? body.deltas : NULL;
         block != NULL && out->length <= length_max; block = block->next) {
        const size_t content = block->content_start;
        const struct parley_bytes source = brenner_block_source(&body, block);
        if (!body.is_replaced && source.data != NULL) {
            parley_buffer_append(out, (struct parley_bytes){text.data + copied, content - copied});
            write_block(text, content, source, length_max, out);
            copied = content + source.length;
        }
    }
    parley_buffer_append(out, from(text, copied));
    brenner_body_finish(&body);
    return status;
}

enum parley_status brenner_repair_body(struct parley_bytes body, size_t length_max,
                                       struct parley_buffer *out) {
    struct parley_buffer fenced;
    const size_t start = out->length;
    parley_buffer_init(&fenced);
    write_fences(body, &fenced);
    enum parley_status status = parley_buffer_status(&fenced);
    if (status == PARLEY_OK) {
        status = write_blocks(parley_buffer_bytes(&fenced), length_max, out);
    }
    parley_buffer_finish(&fenced);
    PARLEY_TRY(status);
    PARLEY_TRY(parley_buffer_status(out));
    const struct parley_bytes repaired = {out->data + start, out->length - start};
    if (repaired.length > length_max || parley_bytes_equal(repaired, body)) {
        out->length = start;
    }
    return PARLEY_OK;
}
