/* SPDX-License-Identifier: Apache-2.0 */

/* Steps through JSON that is known to be valid: the event reader or the fast path has read it. */

#include "json_tokens.h"

#include "json_string.h"

static bool is_one_of(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

static void skip(struct parley_bytes *text, size_t count) {
    text->data += count;
    text->length -= count;
}

static size_t string_length(struct parley_bytes text) {
    size_t at = 1;
    while (text.data[at] != '"') {
        at += text.data[at] == '\\' ? 2 : 1;
    }
    return at + 1;
}

static size_t word_length(struct parley_bytes text) {
    size_t at = 0;
    while (at < text.length && !is_one_of(text.data[at], " \t\r\n,]}")) {
        at++;
    }
    return at;
}

bool json_token_next(struct parley_bytes *rest, struct json_token *out) {
    while (rest->length > 0 && is_one_of(rest->data[0], " \t\r\n")) {
        skip(rest, 1);
    }
    if (rest->length == 0) {
        return false;
    }
    const char first = rest->data[0];
    const bool is_mark = is_one_of(first, "{}[],:");
    out->kind = is_mark || first == '"' ? first : '\0';
    out->text.data = rest->data;
    out->text.length = is_mark ? 1 : first == '"' ? string_length(*rest) : word_length(*rest);
    skip(rest, out->text.length);
    return true;
}

bool json_token_decode(struct parley_bytes token, struct parley_buffer *scratch,
                       struct parley_bytes *out) {
    const struct parley_bytes raw = {token.data + 1, token.length - 2};
    *out = raw;
    if (memchr(raw.data, '\\', raw.length) == NULL) {
        return true;
    }
    parley_buffer_clear(scratch);
    if (!parley_buffer_reserve(scratch, raw.length)) {
        return false;
    }
    scratch->length = json_string_write(raw, scratch->data);
    *out = parley_buffer_bytes(scratch);
    return true;
}

/* From the token that begins a value to the one that ends it. */
static struct parley_bytes take_value(struct parley_bytes *rest) {
    const char *start = NULL;
    size_t depth = 0;
    struct json_token token;
    while (json_token_next(rest, &token)) {
        start = start != NULL ? start : token.text.data;
        depth += token.kind == '{' || token.kind == '[';
        depth -= token.kind == '}' || token.kind == ']';
        if (depth == 0) {
            break;
        }
    }
    return (struct parley_bytes){start, (size_t)(rest->data - start)};
}

bool json_member_next(struct json_members *members, struct json_member *out) {
    struct json_token token;
    do { /* the opening brace, or the comma */
        if (!json_token_next(&members->rest, &token) || token.kind == '}') {
            return false;
        }
    } while (token.kind != '"');
    members->has_failed = !json_token_decode(token.text, &members->decoded, &out->key);
    json_token_next(&members->rest, &token);
    out->value = take_value(&members->rest);
    return !members->has_failed;
}

void json_members_finish(struct json_members *members) {
    parley_buffer_finish(&members->decoded);
}
