/* SPDX-License-Identifier: Apache-2.0 */

/* The Validation Error body (brenner-message-bodies.md, Error Responses). Quoted text is escaped
 * and stays on one line: a sender's text never becomes Markdown. */

#include "markdown.h"

#include <ctype.h>

#include "text.h"
#include "json_tokens.h"

/* Longer quotations are cut: the message itself is with its sender. */
enum { QUOTED_BYTES_MAX = 1000 };

static bool is_alphanumeric(struct parley_bytes text, size_t at) {
    return at < text.length && isalnum((unsigned char)text.data[at]);
}

/* Whether the character, if it is Markdown at all, would be that here. */
static bool is_markup(struct parley_bytes text, size_t at, bool is_first, bool is_in_number) {
    switch (text.data[at]) {
    case '_': /* is none within a word */
        return at == 0 || !is_alphanumeric(text, at - 1) || !is_alphanumeric(text, at + 1);
    case '#':
    case '+':
    case '-':
    case '=':
        return is_first;
    case '.':
    case ')':
        return is_in_number; /* a list's */
    default:
        return text.data[at] != '\0' && strchr("\\`*[]<>&~", text.data[at]) != NULL;
    }
}

/* The length of the code span that our own texts have at `at`, or 0. Nothing in one is markup. */
static size_t span_length(struct parley_bytes text, size_t at) {
    size_t end = at + 1;
    while (end < text.length && text.data[end] != '`' && (unsigned char)text.data[end] >= ' ') {
        end++;
    }
    const bool is_closed = end < text.length && end > at + 1 && text.data[end] == '`';
    const bool is_single = (at == 0 || text.data[at - 1] != '`') &&
                           (end + 1 >= text.length || text.data[end + 1] != '`');
    return is_closed && is_single ? end + 1 - at : 0;
}

/* Appends text as one line of Markdown that means just that text. `is_ours`: of its backticks, the
 * pairs are Markdown. */
static void append_text(struct parley_buffer *out, struct parley_bytes text, bool is_ours) {
    bool is_first = true, is_in_number = true, has_blank = false;
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c == 0x7F) {
            has_blank = true;
            continue;
        }
        if (has_blank && !is_first) {
            parley_buffer_char(out, ' ');
            is_in_number = false;
        }
        const size_t span = is_ours && c == '`' ? span_length(text, i) : 0;
        if (span > 0) {
            parley_buffer_append(out, (struct parley_bytes){text.data + i, span});
            i += span - 1;
        } else {
            const bool is_escaped = is_markup(text, i, is_first, is_in_number && !is_first);
            parley_buffer_text(out, is_escaped ? "\\" : "");
            parley_buffer_char(out, (char)c);
        }
        is_in_number = is_in_number && isdigit(c);
        is_first = has_blank = false;
    }
}

static void append_quotation(struct parley_buffer *out, struct parley_bytes text, bool is_ours) {
    const struct parley_bytes shown = text_prefix(text, QUOTED_BYTES_MAX);
    append_text(out, shown, is_ours);
    parley_buffer_text(out, shown.length < text.length ? " …" : "");
}

/* ---- which message ---- */

/* The text of a string or number; of anything else, none.  Owns: as json_token_decode.
 * Returns: false when there is no memory. */
static bool text_of(struct parley_bytes value, struct parley_buffer *scratch,
                    struct parley_bytes *out) {
    if (value.data[0] == '"') {
        return json_token_decode(value, scratch, out);
    }
    const bool is_number = value.data[0] == '-' || isdigit((unsigned char)value.data[0]);
    *out = is_number ? value : (struct parley_bytes){0};
    return true;
}

/* Appends the member `name` of the message, if it is text. */
static void append_member(struct parley_buffer *out, struct parley_bytes message,
                          struct parley_bytes name) {
    struct json_members members = {.rest = message};
    struct json_member member;
    struct parley_buffer scratch;
    struct parley_bytes text;
    parley_buffer_init(&scratch);
    while (json_member_next(&members, &member)) {
        if (!parley_bytes_equal(member.key, name)) {
            continue;
        }
        if (text_of(member.value, &scratch, &text)) {
            append_quotation(out, text, false);
        } else {
            out->has_failed = true;
        }
    }
    out->has_failed |= members.has_failed;
    parley_buffer_finish(&scratch);
    json_members_finish(&members);
}

static void append_name(struct parley_buffer *out, const struct parley_message *message) {
    static const char *const names[] = {"id", "subject", NULL};
    parley_buffer_text(out, "## Message\n");
    const size_t start = out->length;
    for (size_t i = 0; message->is_decoded && names[i] != NULL && out->length == start; i++) {
        append_member(out, message->text, parley_bytes_of(names[i]));
    }
    parley_buffer_text(out, out->length > start ? "\n\n" : "No id or subject could be read.\n\n");
}

/* ---- the findings ---- */

static bool is_error(const struct parley_finding *finding) {
    return finding->rule->severity == PARLEY_ERROR;
}

static void append_errors(struct parley_buffer *out, const struct parley_findings *findings) {
    parley_buffer_text(out, "## Errors\n");
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_finding *finding = &findings->items[i];
        if (!is_error(finding)) {
            continue;
        }
        parley_buffer_format(out, "- %s: ", finding->rule->id);
        append_quotation(out, parley_bytes_of(finding->message), true);
        if (finding->body_at.line != 0) {
            parley_buffer_format(out, " (line %zu of the body)", finding->body_at.line);
        } else if (finding->at.line != 0) {
            parley_buffer_format(out, " (line %zu)", finding->at.line);
        }
        parley_buffer_char(out, '\n');
    }
    if (findings->omitted_count > 0) {
        parley_buffer_format(out, "- and %zu more\n", findings->omitted_count);
    }
    parley_buffer_char(out, '\n');
}

static bool was_suggested(const struct parley_findings *findings, size_t end) {
    const char *hint = findings->items[end].hint;
    for (size_t i = 0; i < end; i++) {
        if (is_error(&findings->items[i]) && strcmp(findings->items[i].hint, hint) == 0) {
            return true;
        }
    }
    return false;
}

static void append_suggestions(struct parley_buffer *out, const struct parley_findings *findings) {
    parley_buffer_text(out, "## Suggestion\n");
    for (size_t i = 0; i < findings->count; i++) {
        if (is_error(&findings->items[i]) && !was_suggested(findings, i)) {
            parley_buffer_text(out, "- ");
            append_quotation(out, parley_bytes_of(findings->items[i].hint), true);
            parley_buffer_char(out, '\n');
        }
    }
}

enum parley_status markdown_write_refusal(struct parley_message *message,
                                          struct parley_buffer *out) {
    parley_buffer_text(out, "# Validation Error\n\n");
    append_name(out, message);
    append_errors(out, &message->findings);
    append_suggestions(out, &message->findings);
    return parley_buffer_status(out);
}
