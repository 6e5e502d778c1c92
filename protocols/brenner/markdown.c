/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a Markdown message. It is converted to JSON, which the engine checks; only places are
 * mapped back to the Markdown by the data kept here. */

#include "markdown.h"

#include <stdlib.h>

#include "brenner.h"
#include "json_accept.h"
#include "json_message.h"
#include "text.h"
#include "walk.h"
#include "front_matter_accept.h"

/* The further needs of the arena: the JSON, in which a byte may become six, again with what stamp
 * adds; and the places of members. */
enum { ARENA_BYTES_PER_BYTE = 12, ARENA_BYTES_PER_FRONT_MATTER_BYTE = 16 };

/* Of the subject, if a document begins with its body. */
static const char no_front_matter_hint[] =
    "Begin the document with front matter: a line ---, then a line such as subject: \"INFO: server "
    "restarts at 02:00\", then another line ---, and the body below it.";

static const char byte_order_mark[] = "\xEF\xBB\xBF";

/* A document in its three parts. */
struct parts {
    struct parley_bytes yaml; /* data NULL: no front matter */
    struct parley_bytes body;
    bool is_open; /* the front matter never ends */
};

/* message->source */
struct markdown_source {
    struct front_matter front_matter; /* its places count from … */
    size_t yaml_at;                   /* … here, in message->sent */
    size_t body_at;
    struct parley_bytes body; /* data not NULL: message->text is still without it */
};

/* ---- parts ---- */

static struct parley_bytes rest_from(struct parley_bytes text, size_t at) {
    return (struct parley_bytes){text.data + at, text.length - at};
}

/* The length of the first line with its end. */
static size_t line_length(struct parley_bytes text) {
    const char *end = memchr(text.data, '\n', text.length);
    return end != NULL ? (size_t)(end + 1 - text.data) : text.length;
}

static bool is_dashes(const char *line, size_t length) {
    while (length > 0 && strchr(" \t\r\n", line[length - 1]) != NULL && line[length - 1] != '\0') {
        length--;
    }
    return length == 3 && memcmp(line, "---", 3) == 0;
}

static struct parts split(struct parley_bytes text) {
    if (text.length >= 3 && memcmp(text.data, byte_order_mark, 3) == 0) {
        text = rest_from(text, 3);
    }
    size_t length = line_length(text);
    if (!is_dashes(text.data, length)) {
        return (struct parts){.body = text};
    }
    const struct parley_bytes yaml = rest_from(text, length);
    for (struct parley_bytes rest = yaml; rest.length > 0; rest = rest_from(rest, length)) {
        length = line_length(rest);
        if (is_dashes(rest.data, length)) {
            return (struct parts){.yaml = {yaml.data, (size_t)(rest.data - yaml.data)},
                                  .body = rest_from(rest, length)};
        }
    }
    return (struct parts){.yaml = yaml, .is_open = true};
}

/* ---- faults ---- */

/* `fault`'s offset is one in message->sent. */
static enum parley_status add_fault(struct parley_message *message,
                                    const struct front_matter_fault *fault) {
    const struct parley_rule *rule = &parley_gateway_rules[fault->rule];
    message->findings.has_error = true;
    PARLEY_TRY(findings_add(
        message, (struct parley_finding){.rule = rule,
                                         .path = fault->path,
                                         .message = fault->message,
                                         .hint = fault->hint != NULL ? fault->hint : rule->hint,
                                         .for_types = UINT32_MAX,
                                         .offset = fault->offset}));
    return findings_locate(message);
}

/* Whether `part`, of message->sent, is UTF-8. */
static bool is_utf8(const struct parley_message *message, struct parley_bytes part,
                    struct front_matter_fault *out) {
    const size_t valid = text_utf8_prefix(part);
    if (valid < part.length) {
        *out =
            (struct front_matter_fault){.rule = PARLEY_GW_UTF8,
                                        .offset = (size_t)(part.data + valid - message->sent.data),
                                        .message = "these bytes are not valid UTF-8",
                                        .path = ""};
    }
    return valid == part.length;
}

/* Whether the document has parts that can be read. */
static bool has_parts(const struct parley_message *message, const struct parts *parts,
                      struct front_matter_fault *out) {
    if (parts->is_open) {
        *out = (struct front_matter_fault){
            .rule = PARLEY_GW_PARSE,
            .message = "the front matter that begins here has no end",
            .hint = "End it with a line that contains nothing but ---; if the first line is meant "
                    "as a horizontal rule, write *** instead.",
            .path = ""};
        is_utf8(message, parts->yaml, out); /* or else, that fault comes first */
        return false;
    }
    if (parts->yaml.data == NULL && parts->body.length == 0) {
        *out = (struct front_matter_fault){
            .rule = PARLEY_GW_PARSE,
            .message = "the document is empty",
            .hint = "Send front matter with a subject, and a body below it.",
            .path = ""};
        return false;
    }
    return true;
}

/* The only place of the body is below the front matter. */
static bool has_one_body(const struct front_matter *front_matter, struct front_matter_fault *out) {
    for (size_t i = 0; i < front_matter->member_count; i++) {
        const struct front_matter_member *member = &front_matter->members[i];
        const bool is_body = parley_bytes_equal(member->name, PARLEY_BYTES("body"));
        if (is_body || parley_bytes_equal(member->name, PARLEY_BYTES("body_md"))) {
            *out = (struct front_matter_fault){
                .rule = PARLEY_GW_DUPLICATE_KEY,
                .offset = member->at,
                .message = "duplicate body: one is in the front matter, another after it",
                .hint = "Remove this member: the body is what follows the front matter.",
                .path = is_body ? "/body" : "/body_md"};
            return false;
        }
    }
    return true;
}

/* ---- reading ---- */

/* Appends the members; a fault's offset becomes one in message->sent. */
static enum front_matter_result read_members(struct parley_message *message,
                                             struct parley_bytes yaml, struct parley_buffer *out,
                                             struct front_matter_fault *fault) {
    struct markdown_source *source = message->source;
    enum front_matter_result result =
        front_matter_read(yaml, &message->arena, out, &source->front_matter, fault);
    if (result == FRONT_MATTER_READ && !has_one_body(&source->front_matter, fault)) {
        result = FRONT_MATTER_FAULT;
    }
    fault->offset += source->yaml_at;
    return result;
}

/* Appends the message as JSON. */
static enum front_matter_result to_json(struct parley_message *message, const struct parts *parts,
                                        struct parley_buffer *out,
                                        struct front_matter_fault *fault) {
    enum front_matter_result result = FRONT_MATTER_READ;
    parley_buffer_char(out, '{');
    if (parts->yaml.data != NULL) {
        result = read_members(message, parts->yaml, out, fault);
    }
    if (result != FRONT_MATTER_READ) {
        return result;
    }
    if (!is_utf8(message, parts->body, fault)) {
        return FRONT_MATTER_FAULT;
    }
    parley_buffer_text(out, out->length > 1 ? ",\"body_md\":" : "\"body_md\":");
    parley_buffer_json(out, parts->body);
    parley_buffer_char(out, '}');
    return out->has_failed ? FRONT_MATTER_MEMORY : FRONT_MATTER_READ;
}

static enum parley_status keep_source(struct parley_message *message, const struct parts *parts) {
    struct markdown_source *source = parley_arena_allocate(&message->arena, sizeof *source);
    if (source == NULL) {
        return PARLEY_E_MEMORY;
    }
    const char *start = message->sent.data;
    const bool has_front_matter = parts->yaml.data != NULL;
    *source = (struct markdown_source){
        .yaml_at = has_front_matter ? (size_t)(parts->yaml.data - start) : 0,
        .body_at = has_front_matter ? (size_t)(parts->body.data - start) : 0};
    message->source = source;
    return PARLEY_OK;
}

/* ---- fast ---- */

/* Appends the members of the front matter as JSON.  Returns: false when it is not sure. */
static bool accept_members(struct parley_message *message, struct parley_bytes yaml) {
    struct parley_buffer json;
    parley_buffer_init(&json);
    parley_buffer_reserve(&json, yaml.length * 2);
    parley_buffer_char(&json, '{');
    const bool is_read = front_matter_accept(yaml, &json);
    parley_buffer_char(&json, '}');
    char *copy = is_read && !json.has_failed
                     ? parley_arena_copy(&message->arena, parley_buffer_bytes(&json))
                     : NULL;
    message->text = (struct parley_bytes){copy, json.length};
    parley_buffer_finish(&json);
    return copy != NULL;
}

/* GW-102, whose finding needs the places of members. */
static bool has_other_speaker(const struct parley_message *message) {
    const char *only = message->options.only_sender;
    return only != NULL &&
           (!parley_bytes_equal(parley_message_text(message, brenner_claimed_field(message)),
                                parley_bytes_of(only)) ||
            brenner_other_speaker(message).name.data != NULL);
}

/* Whether the message certainly keeps every rule. Its body is not copied. If it is not sure, it
 * keeps only the findings of the body. */
static bool accepts(struct parley_message *message, const struct parts *parts) {
    if (parts->yaml.data == NULL || parts->is_open || message->options.stamp ||
        text_utf8_prefix(parts->body) < parts->body.length) {
        return false;
    }
    const size_t used_bytes = message->arena.used_bytes;
    struct markdown_source *source = parley_arena_allocate(&message->arena, sizeof *source);
    const struct parley_value body = {.kind = PARLEY_STRING, .text = parts->body};
    if (source != NULL && accept_members(message, parts->yaml) &&
        json_accept_with(message, PARLEY_BYTES("body_md"), &body) && !has_other_speaker(message)) {
        *source = (struct markdown_source){.body = parts->body};
        message->source = source;
        message->is_decoded = message->is_certain = true;
        return true;
    }
    message->text = message->sent;
    message->arena.limit_bytes += message->arena.used_bytes - used_bytes;
    return false;
}

/* Writes the message as JSON on one line: the same text as by decoding carefully. */
static void append_whole(const struct parley_message *message, struct parley_buffer *out) {
    const struct markdown_source *source = message->source;
    parley_buffer_append(out, (struct parley_bytes){message->text.data, message->text.length - 1});
    parley_buffer_text(out, message->text.length > 2 ? ",\"body_md\":" : "\"body_md\":");
    parley_buffer_json(out, source->body);
    parley_buffer_char(out, '}');
}

static bool lacks_body(const struct parley_message *message) {
    const struct markdown_source *source = message->source;
    return source != NULL && source->body.data != NULL;
}

enum parley_status markdown_encode(struct parley_message *message, struct parley_buffer *out) {
    if (!lacks_body(message)) {
        return json_encode(message, out);
    }
    append_whole(message, out);
    return parley_buffer_status(out);
}

enum parley_status markdown_complete(struct parley_message *message) {
    if (!lacks_body(message)) {
        return PARLEY_OK;
    }
    struct parley_buffer json;
    parley_buffer_init(&json);
    append_whole(message, &json);
    const char *copy =
        json.has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(&json));
    if (copy != NULL) {
        struct markdown_source *source = message->source;
        source->body = (struct parley_bytes){0};
        message->text = (struct parley_bytes){copy, json.length};
    }
    parley_buffer_finish(&json);
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status decode(struct parley_message *message, const struct parts *parts) {
    struct front_matter_fault fault = {0};
    if (!has_parts(message, parts, &fault)) {
        return add_fault(message, &fault);
    }
    message->arena.limit_bytes += message->sent.length * ARENA_BYTES_PER_BYTE +
                                  parts->yaml.length * ARENA_BYTES_PER_FRONT_MATTER_BYTE;
    PARLEY_TRY(keep_source(message, parts));
    struct parley_buffer json;
    parley_buffer_init(&json);
    const enum front_matter_result result = to_json(message, parts, &json, &fault);
    if (result == FRONT_MATTER_READ) {
        message->text.data = parley_arena_copy(&message->arena, parley_buffer_bytes(&json));
        message->text.length = json.length;
    }
    parley_buffer_finish(&json);
    if (result == FRONT_MATTER_FAULT) {
        return add_fault(message, &fault);
    }
    return result == FRONT_MATTER_MEMORY || message->text.data == NULL
               ? PARLEY_E_MEMORY
               : json_decode_carefully(message);
}

enum parley_status markdown_decode(struct parley_message *message) {
    const struct parts parts = split(message->sent);
    return accepts(message, &parts) ? PARLEY_OK : decode(message, &parts);
}

enum parley_status markdown_decode_carefully(struct parley_message *message) {
    const struct parts parts = split(message->sent);
    return decode(message, &parts);
}

bool markdown_begins(struct parley_bytes head) {
    if (head.length >= 3 && memcmp(head.data, byte_order_mark, 3) == 0) {
        head = rest_from(head, 3);
    }
    while (head.length > 0 && head.data[0] != '\0' && strchr(" \t\r\n", head.data[0]) != NULL) {
        head = rest_from(head, 1);
    }
    return head.length == 0 || (head.data[0] != '{' && head.data[0] != '[');
}

/* ---- places ---- */

static const struct front_matter_member *find_member(const struct markdown_source *source,
                                                     struct parley_bytes name) {
    for (size_t i = 0; i < source->front_matter.member_count; i++) {
        if (parley_bytes_equal(source->front_matter.members[i].name, name)) {
            return &source->front_matter.members[i];
        }
    }
    return NULL;
}

/* Finds the places of paths, many of which may be in one member of very many. */
struct finder {
    const struct markdown_source *source;
    struct parley_bytes name;
    const struct front_matter_member *member; /* of that name, or NULL */
};

/* The offset in message->sent of the value at `path`, or of the nearest known value around it: a
 * member, or an item of one. No member that rules name has an escape in its name. */
static size_t path_offset(struct finder *finder, const char *path) {
    const char *start = path[0] == '/' ? path + 1 : path;
    const struct parley_bytes name = {start, strcspn(start, "/")};
    if (finder->name.data == NULL || !parley_bytes_equal(finder->name, name)) {
        finder->name = name;
        finder->member = find_member(finder->source, name);
    }
    const struct front_matter_member *member = finder->member;
    if (member == NULL) {
        return parley_bytes_equal(name, PARLEY_BYTES("body_md")) ? finder->source->body_at : 0;
    }
    size_t at = member->at;
    if (start[name.length] == '/' && member->item_count > 0) {
        const size_t index = strtoul(start + name.length + 1, NULL, 10);
        at = index < member->item_count ? member->items[index] : at;
    }
    return finder->source->yaml_at + at;
}

static struct parley_position position_of(const struct parley_message *message, size_t offset) {
    struct parley_position here = message->origin;
    for (size_t i = 0; i < offset; i++) {
        const unsigned char c = (unsigned char)message->sent.data[i];
        if (c == '\n') {
            here = (struct parley_position){.line = here.line + 1, .column = 1};
        } else if ((c & 0xC0) != 0x80) {
            here.column++;
        }
    }
    return here;
}

struct parley_position markdown_place(const struct parley_message *message, const char *path) {
    struct finder finder = {.source = message->source};
    return finder.source == NULL || lacks_body(message)
               ? (struct parley_position){0}
               : position_of(message, path_offset(&finder, path));
}

/* From a place in the body, which begins at `body`, to one in the document. */
static struct parley_position in_document(struct parley_position body,
                                          struct parley_position in_body) {
    return (struct parley_position){.line = body.line + in_body.line - 1,
                                    .column = in_body.line == 1 ? body.column + in_body.column - 1
                                                                : in_body.column};
}

struct parley_position markdown_body_place(const struct parley_message *message,
                                           struct parley_position in_body) {
    const struct markdown_source *source = message->source;
    return source == NULL || lacks_body(message)
               ? (struct parley_position){0}
               : in_document(position_of(message, source->body_at), in_body);
}

enum parley_status markdown_validate(struct parley_message *message) {
    const struct markdown_source *source = message->source;
    struct finder finder = {.source = source};
    if (!message->is_certain) {
        PARLEY_TRY(json_walk(message));
    }
    if (message->findings.count == 0) {
        return PARLEY_OK;
    }
    const struct parley_position body = position_of(message, source->body_at);
    for (size_t i = 0; i < message->findings.count; i++) {
        struct parley_finding *finding = &message->findings.items[i];
        const struct parley_position in_body = finding->body_at;
        finding->offset = path_offset(&finder, finding->path);
        finding->at = finding->body_at = (struct parley_position){0};
        finding->part.text_at = source->body_at;
        if (source->yaml_at == 0 && strcmp(finding->path, "/subject") == 0) {
            finding->hint = no_front_matter_hint;
        }
        if (in_body.line != 0) {
            finding->at = in_document(body, in_body);
        }
    }
    message->stamp_offset = message->stamp_length = 0; /* offsets are in the text sent */
    return findings_locate(message);
}

/* ---- edits ---- */

/* A member of the front matter that is one line: `key: value`, from the first column on. Offsets
 * are in message->sent. */
struct front_matter_line {
    size_t key, value, end;
};

/* The end of the scalar at `at`, on its line; `at` itself: it is not written as one, or not on one
 * line. */
static size_t scalar_end(struct parley_bytes text, size_t at, size_t line_end) {
    const char first = at < line_end ? text.data[at] : '\0';
    size_t end = at + 1;
    if (first == '"' || first == '\'') {
        while (end < line_end && text.data[end] != first) {
            end += first == '"' && text.data[end] == '\\' ? 2 : 1;
        }
        const bool is_doubled = end + 1 < line_end && text.data[end + 1] == first;
        return end < line_end && !is_doubled ? end + 1 : at;
    }
    if (first == '\0' || strchr("[{|>&*!%@`#?-", first) != NULL) {
        return at;
    }
    while (end < line_end && !(text.data[end] == '#' && text.data[end - 1] == ' ')) {
        end++;
    }
    while (end > at && strchr(" \t\r#", text.data[end - 1]) != NULL) {
        end--;
    }
    return end;
}

/* Finds the line of a member; `value` is the offset of its value. */
static bool find_line(struct parley_bytes text, struct parley_bytes key, size_t value,
                      struct front_matter_line *out) {
    const char *feed = memchr(text.data + value, '\n', text.length - value);
    const size_t line_end = feed != NULL ? (size_t)(feed - text.data) : text.length;
    size_t line = value;
    while (line > 0 && text.data[line - 1] != '\n') {
        line--;
    }
    size_t at = line + key.length;
    *out = (struct front_matter_line){
        .key = line, .value = value, .end = scalar_end(text, value, line_end)};
    if (at >= value || memcmp(text.data + line, key.data, key.length) != 0 ||
        text.data[at] != ':' || out->end == value) {
        return false;
    }
    for (at++; at < value; at++) {
        if (text.data[at] != ' ') {
            return false;
        }
    }
    /* The next line does not go on with the value. */
    return line_end + 1 >= text.length || strchr(" \t", text.data[line_end + 1]) == NULL;
}

static enum parley_status edit_to(struct parley_message *message, size_t start, size_t end,
                                  struct parley_bytes inserted, struct parley_edit *out) {
    const char *copy = parley_arena_copy(&message->arena, inserted);
    *out = (struct parley_edit){
        .offset = start, .removed = end - start, .inserted = {copy, inserted.length}};
    return copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* A name that YAML reads as the text that it is. */
static bool is_plain_key(struct parley_bytes key) {
    size_t i = 0;
    while (i < key.length && ((key.data[i] >= 'a' && key.data[i] <= 'z') || key.data[i] == '_')) {
        i++;
    }
    return i > 0 && i == key.length;
}

static enum parley_status edit_front_matter(struct parley_message *message,
                                            const struct parley_finding *finding,
                                            const struct parley_fix *fix, struct parley_edit *out) {
    const struct markdown_source *source = message->source;
    const bool is_move = fix->kind == PARLEY_FIX_MOVE;
    const struct parley_bytes name = parley_bytes_of(finding->path + 1);
    const struct parley_bytes key = is_move ? fix->key : name;
    const struct parley_bytes to = fix->to.data != NULL ? fix->to : name;
    const struct front_matter_member *member = find_member(source, key);
    struct front_matter_line line;
    if (member == NULL || fix->kind == PARLEY_FIX_NONE || (is_move && !is_plain_key(to)) ||
        !find_line(message->sent, key, source->yaml_at + member->at, &line)) {
        return PARLEY_E_UNSUPPORTED;
    }
    return is_move ? edit_to(message, line.key, line.key + key.length, to, out)
                   : edit_to(message, line.value, line.end, fix->value, out);
}

enum parley_status markdown_edit_of(struct parley_message *message,
                                    const struct parley_finding *finding,
                                    const struct parley_fix *fix, struct parley_edit *out) {
    if (message->source == NULL || lacks_body(message)) {
        return PARLEY_E_UNSUPPORTED;
    }
    if (fix->kind != PARLEY_FIX_EDIT) {
        return edit_front_matter(message, finding, fix, out);
    }
    const size_t start = finding->part.text_at + fix->edit.offset;
    return edit_to(message, start, start + fix->edit.removed, fix->edit.inserted, out);
}
