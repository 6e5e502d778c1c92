/* SPDX-License-Identifier: Apache-2.0 */

/* Writing a message as Markdown. Values are YAML flow on one line, so that nothing depends on
 * indentation; strings are plain only if no YAML reader could read them as anything else. */

#include "markdown.h"

#include "text.h"
#include "front_matter_fault.h"
#include "json_tokens.h"
#include "yaml_scalar.h"

/* libyaml allows keys of at most 1,024 characters, and a byte becomes at most six. */
enum { IMPLICIT_KEY_BYTES_MAX = 128 };

/* Words that YAML 1.1 readers do not read as text. */
static bool is_word_of_yaml(struct parley_bytes text) {
    static const char *const words[] = {"y",  "n",   "yes",  "no",    "true",
                                        "on", "off", "null", "false", NULL};
    for (const char *const *word = words; *word != NULL; word++) {
        size_t i = 0;
        while (i < text.length && (text.data[i] | 32) == (*word)[i]) { /* no word has a NUL */
            i++;
        }
        if (i == text.length && (*word)[i] == '\0') {
            return true;
        }
    }
    return false;
}

static bool is_letter(char c) {
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

/* Letters first; then digits, dots and dashes too. */
static bool is_plain(struct parley_bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const bool is_inner = (c >= '0' && c <= '9') || c == '.' || c == '-';
        if (!is_letter(c) && (i == 0 || !is_inner)) {
            return false;
        }
    }
    return text.length > 0 && text.length <= IMPLICIT_KEY_BYTES_MAX && !is_word_of_yaml(text);
}

/* Whether the character (UTF-8) can be written without an escape in double quotes on one line. */
static bool is_printed(const char *at, size_t length) {
    return !front_matter_is_unfit(at, length) && strchr("\"\\\t\n\r", at[0]) == NULL;
}

static void append_escape(struct parley_buffer *out, const char *at, size_t length) {
    const unsigned char first = (unsigned char)at[0];
    if (length == 1) {
        switch (first) {
        case '"':
        case '\\':
            parley_buffer_format(out, "\\%c", first);
            break;
        case '\n':
            parley_buffer_text(out, "\\n");
            break;
        case '\t':
            parley_buffer_text(out, "\\t");
            break;
        default:
            parley_buffer_format(out, "\\u%04X", first);
        }
        return;
    }
    unsigned code = first & (length == 2 ? 0x1FU : 0x0FU);
    for (size_t i = 1; i < length; i++) {
        code = code << 6 | ((unsigned char)at[i] & 0x3FU);
    }
    parley_buffer_format(out, "\\u%04X", code);
}

static void append_quoted(struct parley_buffer *out, struct parley_bytes text) {
    size_t plain_start = 0;
    parley_buffer_char(out, '"');
    for (size_t i = 0, length; i < text.length; i += length) {
        length = text_utf8_sequence(text.data + i, text.length - i);
        if (!is_printed(text.data + i, length)) {
            parley_buffer_append(out,
                                 (struct parley_bytes){text.data + plain_start, i - plain_start});
            append_escape(out, text.data + i, length);
            plain_start = i + length;
        }
    }
    parley_buffer_append(out,
                         (struct parley_bytes){text.data + plain_start, text.length - plain_start});
    parley_buffer_char(out, '"');
}

static void append_string(struct parley_buffer *out, struct parley_bytes text) {
    if (is_plain(text)) {
        parley_buffer_append(out, text);
    } else {
        append_quoted(out, text);
    }
}

static void append_key(struct parley_buffer *out, struct parley_bytes key) {
    parley_buffer_text(out, key.length > IMPLICIT_KEY_BYTES_MAX ? "? " : "");
    append_string(out, key);
}

/* Appends a JSON value as YAML flow. */
static enum parley_status append_value(struct parley_buffer *out, struct parley_bytes json,
                                       struct parley_buffer *scratch) {
    struct json_token token, next;
    struct parley_bytes text;
    for (bool is_more = json_token_next(&json, &token); is_more; token = next) {
        is_more = json_token_next(&json, &next);
        if (token.kind == '"') {
            if (!json_token_decode(token.text, scratch, &text)) {
                return PARLEY_E_MEMORY;
            }
            (is_more && next.kind == ':' ? append_key : append_string)(out, text);
        } else if (token.kind == ':' || token.kind == ',') {
            parley_buffer_text(out, token.kind == ':' ? ": " : ", ");
        } else {
            parley_buffer_append(out, token.text);
        }
    }
    return PARLEY_OK;
}

static bool is_body(const struct json_member *member) {
    return parley_bytes_equal(member->key, PARLEY_BYTES("body_md")) ||
           parley_bytes_equal(member->key, PARLEY_BYTES("body"));
}

bool markdown_is_derived(struct parley_bytes key) {
    return parley_bytes_equal(key, PARLEY_BYTES("sections")) ||
           parley_bytes_equal(key, PARLEY_BYTES("deltas"));
}

/* `out_body`: the token of the body; data NULL if there is none. */
static enum parley_status append_members(struct parley_buffer *out, struct json_members *members,
                                         struct parley_buffer *scratch,
                                         struct parley_bytes *out_body) {
    struct json_member member;
    bool is_body_md = false;
    while (json_member_next(members, &member)) {
        if (is_body(&member)) {
            const bool is_new = out_body->data == NULL || !is_body_md;
            if (member.value.data[0] == '"' && is_new) {
                *out_body = member.value;
                is_body_md = member.key.length > strlen("body");
            }
        } else if (!markdown_is_derived(member.key)) {
            append_key(out, member.key);
            parley_buffer_text(out, member.key.length > IMPLICIT_KEY_BYTES_MAX ? "\n: " : ": ");
            PARLEY_TRY(append_value(out, member.value, scratch));
            parley_buffer_char(out, '\n');
        }
    }
    return members->has_failed ? PARLEY_E_MEMORY : PARLEY_OK;
}

static enum parley_status append_all(struct parley_buffer *out, struct json_members *members,
                                     struct parley_buffer *scratch) {
    struct parley_bytes body = {0}, text;
    parley_buffer_text(out, "---\n");
    PARLEY_TRY(append_members(out, members, scratch, &body));
    parley_buffer_text(out, "---\n");
    if (body.data != NULL) {
        if (!json_token_decode(body, scratch, &text)) {
            return PARLEY_E_MEMORY;
        }
        parley_buffer_append(out, text);
    }
    return parley_buffer_status(out);
}

enum parley_status markdown_write(struct parley_message *message, struct parley_buffer *out) {
    PARLEY_TRY(markdown_complete(message));
    struct json_members members = {.rest = message->text};
    struct parley_buffer scratch;
    parley_buffer_init(&scratch);
    const enum parley_status status = append_all(out, &members, &scratch);
    parley_buffer_finish(&scratch);
    json_members_finish(&members);
    return status;
}
