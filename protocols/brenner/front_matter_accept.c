/* SPDX-License-Identifier: Apache-2.0 */

/* Common front matter, read without libyaml: one key and value per line, and lists of scalars. It
 * accepts only what libyaml reads the same way. Each text begins with a letter, a digit or a quote,
 * so that it does not begin with an indicator of YAML; a plain one contains neither `: ` nor ` #`;
 * no value continues on the next line or has an escape.
 *
 * Functions that read return false when they are not sure. */

#include "front_matter_accept.h"

#include "front_matter_fault.h"
#include "yaml_scalar.h"

enum { KEYS_MAX = 32, KEY_BYTES_MAX = 64 };

struct reader {
    const char *at, *end; /* there is a line feed before the end */
    struct parley_buffer *out;
    struct parley_bytes keys[KEYS_MAX];
    size_t key_count;
};

/* ---- characters ---- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

static bool is_ascii(char c) {
    return (unsigned char)c < 0x80;
}

/* Characters that are not ASCII have been checked before. */
static bool is_printed(char c) {
    return !is_ascii(c) || (c >= ' ' && c <= '~');
}

static bool begins_plain(char c) {
    return is_letter(c) || is_digit(c) || !is_ascii(c);
}

/* In brackets there are more indicators, so that only names are left. */
static bool is_in_brackets(char c) {
    return begins_plain(c) || c == ' ' || c == '-' || c == '.' || c == '/' || c == '@';
}

static bool is_all_ascii(struct parley_bytes text) {
    unsigned char all = 0;
    for (size_t i = 0; i < text.length; i++) {
        all |= (unsigned char)text.data[i];
    }
    return all < 0x80;
}

static void skip_blanks(struct reader *reader) {
    while (*reader->at == ' ') { /* a line ends before the text does */
        reader->at++;
    }
}

/* Spaces, and then the end of the line. */
static bool end_line(struct reader *reader) {
    skip_blanks(reader);
    return *reader->at++ == '\n';
}

/* ---- scalars ---- */

static bool write_plain(struct reader *reader, struct parley_bytes text) {
    const enum yaml_scalar kind = yaml_scalar_write(text, reader->out);
    if (kind == YAML_SCALAR_STRING) {
        parley_buffer_json(reader->out, text);
    }
    return kind != YAML_SCALAR_INFINITE;
}

/* Up to the end of the line. */
static bool read_plain(struct reader *reader) {
    const char *start = reader->at;
    const char *at = start;
    for (; *at != '\n'; at++) {
        if (!is_printed(*at) || (*at == ':' && (at[1] == ' ' || at[1] == '\n')) ||
            (*at == ' ' && (at[1] == '#' || at[1] == '\n'))) {
            return false;
        }
    }
    reader->at = at;
    return write_plain(reader, (struct parley_bytes){start, (size_t)(at - start)});
}

static bool read_plain_in_brackets(struct reader *reader) {
    const char *start = reader->at;
    while (is_in_brackets(*reader->at)) {
        reader->at++;
    }
    const char *end = reader->at;
    while (end[-1] == ' ') { /* the first one is none */
        end--;
    }
    return write_plain(reader, (struct parley_bytes){start, (size_t)(end - start)});
}

static bool read_quoted(struct reader *reader) {
    const char quote = *reader->at;
    const char *start = ++reader->at;
    while (*reader->at != quote) {
        if (!is_printed(*reader->at) || (*reader->at == '\\' && quote == '"')) {
            return false;
        }
        reader->at++;
    }
    parley_buffer_json(reader->out, (struct parley_bytes){start, (size_t)(reader->at - start)});
    reader->at++;
    return true;
}

static bool is_quote(char c) {
    return c == '"' || c == '\'';
}

/* A scalar that a line ends with. */
static bool read_scalar(struct reader *reader) {
    return (is_quote(*reader->at)       ? read_quoted(reader)
            : begins_plain(*reader->at) ? read_plain(reader)
                                        : false) &&
           end_line(reader);
}

/* ---- lists ---- */

/* [a, "b"] */
static bool read_flow_list(struct reader *reader) {
    reader->at++;
    parley_buffer_char(reader->out, '[');
    skip_blanks(reader);
    for (bool is_first = true; *reader->at != ']' || !is_first; is_first = false) {
        parley_buffer_text(reader->out, is_first ? "" : ",");
        if (!(is_quote(*reader->at)       ? read_quoted(reader)
              : begins_plain(*reader->at) ? read_plain_in_brackets(reader)
                                          : false)) {
            return false;
        }
        skip_blanks(reader);
        if (*reader->at == ']') {
            break;
        }
        if (*reader->at++ != ',') {
            return false;
        }
        skip_blanks(reader);
    }
    reader->at++;
    parley_buffer_char(reader->out, ']');
    return end_line(reader);
}

/* The number of spaces before a list item that begins in this line; -1: none begins. */
static int item_indent(const struct reader *reader) {
    const char *at = reader->at;
    while (at < reader->end && *at == ' ') {
        at++;
    }
    const bool is_item = at < reader->end && at[0] == '-' && at[1] == ' ';
    return is_item ? (int)(at - reader->at) : -1;
}

/* The items below a key, each on its own line, or null if there are none. */
static bool read_block_list(struct reader *reader) {
    const int indent = item_indent(reader);
    if (indent < 0) {
        parley_buffer_text(reader->out, "null");
        return true;
    }
    parley_buffer_char(reader->out, '[');
    for (bool is_first = true; item_indent(reader) == indent; is_first = false) {
        parley_buffer_text(reader->out, is_first ? "" : ",");
        reader->at += indent + 1;
        skip_blanks(reader);
        if (!read_scalar(reader)) {
            return false;
        }
    }
    parley_buffer_char(reader->out, ']');
    return true;
}

/* ---- members ---- */

/* There is only one body, and there are no duplicate keys. */
static bool is_new(const struct reader *reader, struct parley_bytes key) {
    bool is_known = parley_bytes_equal(key, PARLEY_BYTES("body")) ||
                    parley_bytes_equal(key, PARLEY_BYTES("body_md"));
    for (size_t i = 0; i < reader->key_count && !is_known; i++) {
        is_known = parley_bytes_equal(key, reader->keys[i]);
    }
    return !is_known;
}

static bool read_key(struct reader *reader) {
    const char *start = reader->at;
    if (!is_letter(*start)) {
        return false;
    }
    while (is_letter(*reader->at) || is_digit(*reader->at)) {
        reader->at++;
    }
    const struct parley_bytes key = {start, (size_t)(reader->at - start)};
    if (*reader->at++ != ':' || key.length > KEY_BYTES_MAX || reader->key_count == KEYS_MAX ||
        !is_new(reader, key)) {
        return false;
    }
    const size_t length = reader->out->length;
    if (yaml_scalar_write(key, reader->out) != YAML_SCALAR_STRING) {
        return false; /* null, true: not a string */
    }
    reader->out->length = length;
    parley_buffer_text(reader->out, reader->key_count > 0 ? "," : "");
    parley_buffer_json(reader->out, key);
    parley_buffer_char(reader->out, ':');
    reader->keys[reader->key_count++] = key;
    return *reader->at == ' ' || *reader->at == '\n';
}

static bool read_member(struct reader *reader) {
    if (!read_key(reader)) {
        return false;
    }
    skip_blanks(reader);
    switch (*reader->at) {
    case '[':
        return read_flow_list(reader);
    case '\n':
        reader->at++;
        return read_block_list(reader);
    default:
        return read_scalar(reader);
    }
}

bool front_matter_accept(struct parley_bytes yaml, struct parley_buffer *out) {
    struct reader reader; /* its array is written before it is read */
    reader.at = yaml.data;
    reader.end = yaml.data + yaml.length;
    reader.out = out;
    reader.key_count = 0;
    if (yaml.length == 0 || reader.end[-1] != '\n' ||
        (!is_all_ascii(yaml) && front_matter_has_unfit(yaml))) {
        return false;
    }
    while (reader.at < reader.end) {
        if (!read_member(&reader)) {
            return false;
        }
    }
    return !out->has_failed;
}
