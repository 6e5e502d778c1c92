/* SPDX-License-Identifier: Apache-2.0 */

#include "repair.h"

#include <parley/fix.h>

#include "alike.h"
#include "container.h"
#include "delta.h"
#include "fence.h"
#include "json_pick.h"
#include "json_skip.h"
#include "markup.h"

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
    if (copied == 0 || out->has_failed || out->length == start) {
        return false;
    }
    return is_json((struct parley_bytes){out->data + start, out->length - start}, out);
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

/* Whether a character or the end of a line would be cut in two there. */
static bool is_inside(struct parley_bytes text, size_t at) {
    return at > 0 && at < text.length &&
           (((unsigned char)text.data[at] & 0xC0) == 0x80 ||
            (text.data[at] == '\n' && text.data[at - 1] == '\r'));
}

/* The smallest edit that makes `made` of `old`. */
static struct parley_edit difference(struct parley_bytes old, struct parley_bytes made) {
    const size_t shorter = old.length < made.length ? old.length : made.length;
    size_t before = 0, after = 0;
    while (before < shorter && old.data[before] == made.data[before]) {
        before++;
    }
    while (is_inside(old, before) || is_inside(made, before)) {
        before--;
    }
    while (after < shorter - before &&
           old.data[old.length - 1 - after] == made.data[made.length - 1 - after]) {
        after++;
    }
    while (is_inside(old, old.length - after) || is_inside(made, made.length - after)) {
        after--;
    }
    return (struct parley_edit){.offset = before,
                                .removed = old.length - before - after,
                                .inserted = {made.data + before, made.length - before - after}};
}

/* The same of the text of a finding, whose bytes from `start` on are to be what is in `memory`. */
static bool edit_text(const struct parley_finding *finding, const struct parley_buffer *memory,
                      size_t start, size_t length, struct parley_fix *out) {
    const struct parley_bytes old = {finding->part.text.data + start, length};
    out->edit = difference(old, parley_buffer_bytes(memory));
    out->edit.offset += start;
    return out->edit.removed > 0 || out->edit.inserted.length > 0;
}

/* Appends what the lines of a block should be.  Returns: whether it knows. */
typedef bool block_repair(const struct parley_finding *finding,
                          const struct brenner_content *content, struct parley_bytes plain,
                          struct parley_buffer *made, bool *out_is_safe);

/* The part is the content of a block. */
static bool fix_content(const struct parley_finding *finding, block_repair *repair,
                        struct parley_buffer *memory, struct parley_fix *out) {
    const struct brenner_content content =
        brenner_content_of(finding->part.text, finding->part.start, finding->part.length);
    struct parley_buffer plain, made;
    parley_buffer_init(&plain);
    parley_buffer_init(&made);
    brenner_content_write(&content, &plain);
    bool is_fixed = plain.length > 0 && !plain.has_failed &&
                    repair(finding, &content, parley_buffer_bytes(&plain), &made, &out->is_safe);
    if (is_fixed && !made.has_failed) {
        const struct parley_edit edit =
            difference(parley_buffer_bytes(&plain), parley_buffer_bytes(&made));
        is_fixed =
            brenner_content_edit(&content, &edit, PARLEY_FIX_INSERTED_MAX, memory, &out->edit);
        out->edit.offset += finding->part.start;
    }
    memory->has_failed |= plain.has_failed || made.has_failed;
    parley_buffer_finish(&plain);
    parley_buffer_finish(&made);
    return is_fixed && !memory->has_failed;
}

static bool repair_json(const struct parley_finding *finding, const struct brenner_content *content,
                        struct parley_bytes plain, struct parley_buffer *made, bool *out_is_safe) {
    (void)finding, (void)content;
    *out_is_safe = true;
    return brenner_repair_json(plain, made);
}

bool brenner_fix_json(const struct parley_finding *finding, struct parley_buffer *memory,
                      struct parley_fix *out) {
    return fix_content(finding, repair_json, memory, out);
}

static bool is_fence(char c) {
    return c == '`' || c == '~';
}

/* Appends what is between two blocks like this one: the fence that ends one, an empty line, and the
 * line that begins the next. */
static void write_between(const struct brenner_content *content, struct parley_buffer *out) {
    const struct parley_bytes line = content->fence;
    const size_t end = line.length - markup_line_end_length(line);
    size_t fence = 0;
    while (fence < end && is_fence(line.data[fence])) {
        fence++;
    }
    parley_buffer_append(out, up_to(line, fence));
    parley_buffer_append(out, from(line, end));
    parley_buffer_append(out, from(line, end));
    parley_buffer_append(out, line);
}

static bool repair_array(const struct brenner_content *content, struct parley_bytes plain,
                         size_t length_max, struct parley_buffer *made) {
    struct parley_buffer between;
    parley_buffer_init(&between);
    write_between(content, &between);
    made->has_failed |= between.has_failed;
    const bool is_repaired =
        !between.has_failed &&
        brenner_repair_array(plain, parley_buffer_bytes(&between), length_max, made);
    parley_buffer_finish(&between);
    return is_repaired;
}

static bool repair_payload(const struct parley_finding *finding,
                           const struct brenner_content *content, struct parley_bytes plain,
                           struct parley_buffer *made, bool *out_is_safe) {
    (void)finding;
    *out_is_safe = true;
    return brenner_repair_reason(plain, made) ||
           repair_array(content, plain, plain.length + PARLEY_FIX_INSERTED_MAX, made);
}

bool brenner_fix_payload(const struct parley_finding *finding, struct parley_buffer *memory,
                         struct parley_fix *out) {
    return fix_content(finding, repair_payload, memory, out);
}

static bool repair_choice(const struct parley_finding *finding,
                          const struct brenner_content *content, struct parley_bytes plain,
                          struct parley_buffer *made, bool *out_is_safe) {
    const char *sections[BRENNER_SECTION_COUNT + 1] = {NULL};
    const bool is_operation = finding->rule == &brenner_rules[MB_104];
    struct json_pick said[SAID_COUNT];
    struct parley_arena arena;
    const char *choice = NULL;
    (void)content;
    for (size_t i = 0; i < BRENNER_SECTION_COUNT; i++) {
        sections[i] = brenner_target_sections[i].name;
    }
    const bool is_read = pick(plain, &arena, said, made);
    const struct parley_value *value = &said[is_operation ? OPERATION : SECTION].value;
    if (is_read && value->kind == PARLEY_STRING) {
        choice = brenner_repair_choice(value->text, is_operation ? brenner_operations : sections,
                                       out_is_safe);
    }
    parley_arena_finish(&arena);
    if (choice == NULL) {
        return false;
    }
    parley_buffer_append(made, up_to(plain, value->offset));
    parley_buffer_json(made, parley_bytes_of(choice));
    parley_buffer_append(made, from(plain, json_skip_value(plain, value->offset)));
    return true;
}

bool brenner_fix_choice(const struct parley_finding *finding, struct parley_buffer *memory,
                        struct parley_fix *out) {
    return fix_content(finding, repair_choice, memory, out);
}

/* The fence that holds the byte at `place`; place 0: the first one of colons, rather outside of
 * quotes. */
static bool find_fence(struct parley_bytes body, bool is_anywhere, size_t place, bool takes_quotes,
                       struct brenner_fence *out) {
    *out = (struct brenner_fence){.next = 0};
    while (brenner_fence_next(body, out->next, out)) {
        if (is_anywhere ? out->character == ':' && (takes_quotes || !out->container.has_quote)
                        : out->content <= place && place < out->end) {
            return true;
        }
    }
    return false;
}

bool brenner_fix_fence(const struct parley_finding *finding, struct parley_buffer *memory,
                       struct parley_fix *out) {
    const struct parley_bytes body = finding->part.text;
    const size_t place = finding->part.start;
    const bool is_anywhere = finding->part.length > 0;
    struct brenner_fence fence;
    if (!find_fence(body, is_anywhere, place, false, &fence) &&
        !(is_anywhere && find_fence(body, is_anywhere, place, true, &fence))) {
        return false;
    }
    if (fence.character != ':') { /* another language: only its author knows */
        const struct parley_bytes info = {body.data + fence.info, fence.content - fence.info};
        parley_buffer_text(memory, "delta");
        return edit_text(finding, memory, fence.info, info.length - markup_line_end_length(info),
                         out);
    }
    brenner_fence_write(body, &fence, memory);
    /* Beside other blocks the message may be valid, and this one not; a quote may be the words of
     * another. */
    out->is_safe = is_anywhere && !fence.container.has_quote;
    return edit_text(finding, memory, fence.start, fence.closed - fence.start, out);
}

/* ---- bodies ---- */

/* Appends the body with backticks in place of colons; a quote may be the words of another. */
static void write_fences(struct parley_bytes body, struct parley_buffer *out) {
    struct brenner_fence fence = {.next = 0};
    size_t copied = 0;
    while (brenner_fence_next(body, fence.next, &fence)) {
        if (fence.character == ':' && !fence.container.has_quote) {
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

/* Appends the source of a block, with `made` in place of its lines. */
static void write_edited(const struct brenner_content *content, struct parley_bytes plain,
                         struct parley_bytes made, size_t length_max, struct parley_buffer *out) {
    const struct parley_edit edit = difference(plain, made);
    struct parley_edit in_source = {.offset = 0};
    struct parley_buffer inserted;
    parley_buffer_init(&inserted);
    if (brenner_content_edit(content, &edit, length_max, &inserted, &in_source)) {
        parley_buffer_append(out, up_to(content->source, in_source.offset));
        parley_buffer_append(out, in_source.inserted);
        parley_buffer_append(out, from(content->source, in_source.offset + in_source.removed));
    } else {
        parley_buffer_append(out, content->source);
    }
    out->has_failed |= inserted.has_failed;
    parley_buffer_finish(&inserted);
}

/* Appends the text of a block, repaired as far as it can be.  Returns: whether that is another. */
static bool repair_block(const struct brenner_content *content, struct parley_bytes plain,
                         size_t length_max, struct parley_buffer *out) {
    struct parley_buffer made[3];
    struct parley_bytes text = plain;
    for (size_t i = 0; i < 3; i++) {
        parley_buffer_init(&made[i]);
    }
    text = take(&made[0], !is_json(text, out) && brenner_repair_json(text, &made[0]), text);
    if (is_json(text, out)) {
        text = take(&made[1], brenner_repair_reason(text, &made[1]), text);
        text = take(&made[2], repair_array(content, text, length_max, &made[2]), text);
    }
    const bool is_other = text.data != plain.data;
    parley_buffer_append(out, text);
    for (size_t i = 0; i < 3; i++) {
        out->has_failed |= made[i].has_failed;
        parley_buffer_finish(&made[i]);
    }
    return is_other;
}

/* Appends the source of a block, repaired as far as it can be. */
static void write_block(const struct brenner_content *content, size_t length_max,
                        struct parley_buffer *out) {
    struct parley_buffer plain, made;
    parley_buffer_init(&plain);
    parley_buffer_init(&made);
    brenner_content_write(content, &plain);
    if (plain.length > 0 && repair_block(content, parley_buffer_bytes(&plain), length_max, &made)) {
        write_edited(content, parley_buffer_bytes(&plain), parley_buffer_bytes(&made), length_max,
                     out);
    } else {
        parley_buffer_append(out, content->source);
    }
    out->has_failed |= plain.has_failed || made.has_failed;
    parley_buffer_finish(&plain);
    parley_buffer_finish(&made);
}

/* Appends the body with all blocks repaired that are in no quote. */
static enum parley_status write_blocks(struct parley_bytes text, size_t length_max,
                                       struct parley_buffer *out) {
    struct brenner_body body;
    size_t copied = 0;
    const enum parley_status status = brenner_body_read_deltas(&body, text);
    for (const struct brenner_block *block = status == PARLEY_OK ? body.deltas : NULL;
         block != NULL && out->length <= length_max; block = block->next) {
        const size_t start = block->content_start;
        const struct parley_bytes source = brenner_block_source(&body, block);
        const struct brenner_content content =
            brenner_content_of(body.source, start, source.length);
        if (!body.is_replaced && source.data != NULL && !content.container.has_quote) {
            parley_buffer_append(out, (struct parley_bytes){text.data + copied, start - copied});
            write_block(&content, length_max, out);
            copied = start + source.length;
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
