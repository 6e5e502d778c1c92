/* SPDX-License-Identifier: Apache-2.0 */

/* Values of an artifact: JSON that is known to be valid, in one spelling. */

#include "artifact.h"

#include "last_keys.h"

/* Strings are decoded and written again, so that two that are equal are spelled alike. */
static enum parley_status spell(struct parley_bytes json, struct parley_buffer *out) {
    struct parley_buffer decoded;
    struct json_token token;
    bool has_memory = true;
    parley_buffer_init(&decoded);
    while (has_memory && json_token_next(&json, &token)) {
        if (token.kind == '"') {
            struct parley_bytes text;
            has_memory = json_token_decode(token.text, &decoded, &text);
            parley_buffer_json(out, has_memory ? text : (struct parley_bytes){0});
        } else {
            parley_buffer_append(out, token.text);
        }
    }
    parley_buffer_finish(&decoded);
    return has_memory ? parley_buffer_status(out) : PARLEY_E_MEMORY;
}

enum parley_status artifact_value_write(struct parley_bytes json, struct parley_arena *scratch,
                                        struct parley_buffer *out) {
    struct parley_buffer once;
    parley_buffer_init(&once);
    enum parley_status status = last_keys_write(json, scratch, &once);
    if (status == PARLEY_OK) {
        status = spell(parley_buffer_bytes(&once), out);
    }
    parley_buffer_finish(&once);
    return status;
}

enum artifact_value_kind artifact_value_kind(struct parley_bytes value) {
    if (value.length == 0 || parley_bytes_equal(value, PARLEY_BYTES("null"))) {
        return ARTIFACT_NONE;
    }
    return value.data[0] == '"'   ? ARTIFACT_STRING
           : value.data[0] == '[' ? ARTIFACT_ARRAY
           : value.data[0] == '{' ? ARTIFACT_OBJECT
                                  : ARTIFACT_OTHER;
}

bool artifact_value_is_true(struct parley_bytes value) {
    return parley_bytes_equal(value, PARLEY_BYTES("true"));
}

struct parley_bytes artifact_value_text(struct parley_bytes value, struct parley_buffer *scratch) {
    struct parley_bytes text = {"", 0};
    if (artifact_value_kind(value) != ARTIFACT_STRING) {
        return value.data != NULL ? value : text;
    }
    return !scratch->has_failed && json_token_decode(value, scratch, &text)
               ? text
               : (struct parley_bytes){"", 0};
}

bool artifact_element_next(struct parley_bytes *rest, struct parley_bytes *out) {
    struct json_token token;
    size_t depth = 0;
    const char *start = NULL;
    if (!json_token_next(rest, &token) || token.kind == ']') { /* the bracket, or a comma */
        return false;
    }
    while (json_token_next(rest, &token)) {
        if (start == NULL && token.kind == ']') { /* of an empty array */
            return false;
        }
        start = start != NULL ? start : token.text.data;
        depth += token.kind == '{' || token.kind == '[';
        depth -= token.kind == '}' || token.kind == ']';
        if (depth == 0) {
            *out = (struct parley_bytes){start, (size_t)(rest->data - start)};
            return true;
        }
    }
    return false;
}

/* Whether JSON text between quotes is only white space: spaces, and the escapes of others. */
static bool is_blank(struct parley_bytes raw) {
    for (size_t i = 0; i < raw.length; i++) {
        if (raw.data[i] == '\\' && strchr("ntrf", raw.data[i + 1]) != NULL) {
            i++;
        } else if (raw.data[i] != ' ') {
            return false;
        }
    }
    return true;
}

bool artifact_value_says(struct parley_bytes value) {
    switch (artifact_value_kind(value)) {
    case ARTIFACT_NONE:
        return false;
    case ARTIFACT_STRING:
        return !is_blank((struct parley_bytes){value.data + 1, value.length - 2});
    case ARTIFACT_ARRAY:
    case ARTIFACT_OBJECT:
        return value.length > 2;
    case ARTIFACT_OTHER:
        break;
    }
    return true;
}
