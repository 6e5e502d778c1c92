/* SPDX-License-Identifier: Apache-2.0 */

#include "log_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

enum {
    TAIL_BYTES = 32, /* kept for log_line_end */
    ESCAPE_MAX = 6,  /* \u202e */
    MARK_LENGTH = 3, /* of the ellipsis */
    REPLACED_LENGTH = 3,
};

static const char grey[] = "\x1b[2m", plain[] = "\x1b[0m";

/* Appends if there is room before `end`.  Returns: whether there was. */
static bool append(struct log_line *line, size_t end, const char *text, size_t length) {
    if (length > end - line->length) {
        return false;
    }
    memcpy(line->text + line->length, text, length);
    line->length += length;
    return true;
}

static bool append_field(struct log_line *line, const char *text, size_t length) {
    return append(line, LOG_LINE_MAX - TAIL_BYTES, text, length);
}

static bool append_text(struct log_line *line, const char *text) {
    return append_field(line, text, strlen(text));
}

void log_line_begin(struct log_line *line, enum log_format format, bool is_coloured) {
    line->format = format;
    line->is_coloured = is_coloured && format == LOG_LOGFMT;
    line->is_cut = false;
    line->length = 0;
    append_text(line, format == LOG_JSON ? "{" : "");
}

/* ---- values ---- */

static uint32_t code_point(const char *at, size_t length) {
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = (unsigned char)at[0] & masks[length];
    for (size_t i = 1; i < length; i++) {
        code = code << 6 | ((unsigned char)at[i] & 0x3F);
    }
    return code;
}

/* Whether a character moves the cursor, ends a line somewhere, or changes the order in which text
 * is shown: the controls of ASCII and ISO 6429, the separators and the bidirectional formatting of
 * Unicode. */
static bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C ||
           (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

/* Writes the character at `at` in its form within quotes.  Returns: how many bytes were written;
 * *out_read: how many were read. */
static size_t escape(const char *at, size_t left, char out[ESCAPE_MAX + 1], size_t *out_read) {
    const size_t length = text_utf8_sequence(at, left);
    *out_read = length > 0 ? length : 1;
    if (length == 0) {
        memcpy(out, "\xEF\xBF\xBD", REPLACED_LENGTH); /* U+FFFD */
        return REPLACED_LENGTH;
    }
    const uint32_t code = code_point(at, length);
    if (code == '"' || code == '\\' || code == '\n' || code == '\t') {
        out[0] = '\\';
        out[1] = code == '\n' ? 'n' : code == '\t' ? 't' : (char)code;
        return 2;
    }
    if (is_control(code)) {
        return (size_t)snprintf(out, ESCAPE_MAX + 1, "\\u%04" PRIx32, code);
    }
    memcpy(out, at, length);
    return length;
}

static bool append_quoted(struct log_line *line, struct parley_bytes value) {
    bool has_room = append_text(line, "\"");
    size_t written = 0;
    for (size_t at = 0, read; has_room && at < value.length; at += read) {
        char out[ESCAPE_MAX + 1];
        const size_t length = escape(value.data + at, value.length - at, out, &read);
        written += length;
        if (written > LOG_VALUE_MAX - MARK_LENGTH) {
            has_room = append_text(line, "\xE2\x80\xA6");
            break;
        }
        has_room = append_field(line, out, length);
    }
    return has_room && append_text(line, "\"");
}

/* Whether a value of logfmt needs no quotes. */
static bool is_bare(struct parley_bytes value) {
    for (size_t i = 0; i < value.length; i++) {
        const unsigned char c = (unsigned char)value.data[i];
        if (c <= ' ' || c >= 0x7F || c == '"' || c == '=' || c == '\\') {
            return false;
        }
    }
    return value.length > 0 && value.length <= LOG_VALUE_MAX;
}

/* ---- fields ---- */

static bool append_key(struct log_line *line, const char *key) {
    const bool is_first = line->length == (line->format == LOG_JSON);
    if (line->format == LOG_JSON) {
        return append_text(line, is_first ? "\"" : ",\"") && append_text(line, key) &&
               append_text(line, "\":");
    }
    return append_text(line, is_first ? "" : " ") &&
           (!line->is_coloured || append_text(line, grey)) && append_text(line, key) &&
           append_text(line, "=") && (!line->is_coloured || append_text(line, plain));
}

/* A field that does not fit is taken back whole. */
static void settle(struct log_line *line, size_t before, bool has_room) {
    if (!has_room) {
        line->length = before;
        line->is_cut = true;
    }
}

void log_line_text(struct log_line *line, const char *key, struct parley_bytes value) {
    const size_t before = line->length;
    const bool is_plain = line->format == LOG_LOGFMT && is_bare(value);
    settle(line, before,
           append_key(line, key) && (is_plain ? append_field(line, value.data, value.length)
                                              : append_quoted(line, value)));
}

static void add_bare(struct log_line *line, const char *key, const char *value) {
    const size_t before = line->length;
    settle(line, before, append_key(line, key) && append_text(line, value));
}

void log_line_number(struct log_line *line, const char *key, int64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    add_bare(line, key, text);
}

void log_line_flag(struct log_line *line, const char *key, bool value) {
    add_bare(line, key, value ? "true" : "false");
}

void log_line_level(struct log_line *line, const char *name, unsigned rank) {
    static const char *const colours[] = {"\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[36m"};
    if (!line->is_coloured) {
        log_line_text(line, "level", parley_bytes_of(name));
        return;
    }
    append_text(line, grey);
    append_text(line, " level=");
    append_text(line, plain);
    append_text(line, colours[rank % (sizeof colours / sizeof colours[0])]);
    append_text(line, name);
    append_text(line, plain);
}

void log_line_end(struct log_line *line) {
    const bool is_json = line->format == LOG_JSON;
    const char *cut = !line->is_cut ? "" : is_json ? ",\"cut\":true" : " cut=true";
    append(line, LOG_LINE_MAX, cut, strlen(cut));
    append(line, LOG_LINE_MAX, is_json ? "}\n" : "\n", is_json ? 2 : 1);
}
