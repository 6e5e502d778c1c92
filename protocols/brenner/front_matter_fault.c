/* SPDX-License-Identifier: Apache-2.0 */

/* Faults of front matter as a table. libyaml's problems are recognised by their text, the only
 * thing it provides; one that is not in the table is passed on as it is. */

#include "front_matter_fault.h"

#include "text.h"

static const char generic_hint[] =
    "Fix the YAML at this place; a value that is text can always be put in double quotes.";

struct front_matter_fault front_matter_fault_of(enum front_matter_flaw flaw, size_t offset) {
    static const struct {
        enum parley_gateway_rule rule;
        const char *message, *hint;
    } flaws[] = {
        [FRONT_MATTER_ANCHOR] = {PARLEY_GW_PARSE, "anchors (&) are not allowed in front matter",
                                 "Write the value out in each place that needs it; text that "
                                 "begins with & needs double quotes."},
        [FRONT_MATTER_ALIAS] = {PARLEY_GW_PARSE, "aliases (*) are not allowed in front matter",
                                "Write the value itself here; text that begins with * needs "
                                "double quotes."},
        [FRONT_MATTER_TAG] =
            {PARLEY_GW_PARSE, "tags (!) are not allowed in front matter",
             "Remove the tag: a value in quotes is text, and one without quotes can be a number or "
             "a boolean; text that begins with ! needs double quotes."},
        [FRONT_MATTER_DOCUMENT] = {PARLEY_GW_PARSE,
                                   "document markers are not allowed in front matter",
                                   "Write only the members: front matter is one YAML document "
                                   "between two lines that contain nothing but ---."},
        [FRONT_MATTER_INFINITE] =
            {PARLEY_GW_PARSE, "this number is not finite, or too large for a double",
             "Send a number between -1.7e308 and 1.7e308, or put text in double "
             "quotes."},
        [FRONT_MATTER_KEY_KIND] = {PARLEY_GW_PARSE, "a key must be a string",
                                   "Put the key in double quotes."},
        [FRONT_MATTER_KEY_NUL] = {PARLEY_GW_PARSE, "a key cannot contain a NUL character",
                                  "Remove the \\0 from the key."},
        [FRONT_MATTER_QUESTION] = {PARLEY_GW_PARSE,
                                   "text in brackets or braces cannot begin with a question mark",
                                   "Put the text in double quotes."},
        [FRONT_MATTER_TOP_LEVEL] =
            {PARLEY_GW_TOP_LEVEL, "the front matter is not a mapping",
             "Write one member per line, as in  subject: \"INFO: done\".  A body that begins with "
             "a horizontal rule needs front matter before it, or *** for the rule."},
        [FRONT_MATTER_DIRECTIVE] = {PARLEY_GW_PARSE,
                                    "directives (%) are not allowed in front matter",
                                    "Remove this line; text that begins with % needs double "
                                    "quotes."},
        [FRONT_MATTER_HEADER_COMMENT] =
            {PARLEY_GW_PARSE, "a comment after | or > needs a space before it",
             "Put a space before the #, or put the text in double quotes."},
        [FRONT_MATTER_UNFIT] = {PARLEY_GW_PARSE,
                                "this invisible character is allowed only between quotes",
                                "Remove it, put the value in double quotes, or write it there as "
                                "an escape, as in \"\\u2028\"."},
        [FRONT_MATTER_CONTROL] = {PARLEY_GW_PARSE,
                                  "control characters are not allowed in front matter",
                                  "Remove it, or write it as an escape in double quotes, as in "
                                  "\"\\x01\"."},
        [FRONT_MATTER_RETURN] =
            {PARLEY_GW_PARSE, "a carriage return alone does not end a line",
             "End lines with a line feed, or with a carriage return and a line feed; write a "
             "carriage return inside a text as \\r in double quotes."},
        [FRONT_MATTER_UTF8] = {PARLEY_GW_UTF8, "these bytes are not valid UTF-8", NULL},
    };
    return (struct front_matter_fault){.rule = flaws[flaw].rule,
                                       .offset = offset,
                                       .message = flaws[flaw].message,
                                       .hint = flaws[flaw].hint,
                                       .path = ""};
}

/* ---- what libyaml says ---- */

static const struct explanation {
    const char *problem;
    const char *message;
    const char *hint;
    bool is_at_context; /* the place to fix is the start of what libyaml was reading */
} explanations[] = {
    {"mapping values are not allowed in this context", "a value that contains ': ' needs quotes",
     "Put the whole value in double quotes.", false},
    {"could not find expected ':'", "expected ': ' after the name of a member",
     "Write  name: value,  with a space after the colon, on its own line.", true},
    {"found unexpected end of stream", "this quote is never closed",
     "Close the quote; inside the text, write '' in single quotes and \\\" in double quotes.",
     true},
    {"found character that cannot start any token", "a value cannot begin with this character",
     "Put the whole value in double quotes.", false},
    {"did not find expected alphabetic or numeric character",
     "a value without quotes cannot begin with * or &", "Put the whole value in double quotes.",
     true},
    {"found unknown escape character", "unknown escape in double quotes",
     "Double the backslash, or use single quotes, where a backslash has no special meaning.",
     false},
    {"found invalid Unicode character escape code", "this escape does not stand for a character",
     "Write the character itself; half of a surrogate pair is not one.", false},
    {"block sequence entries are not allowed in this context",
     "a list cannot begin on the line of its name",
     "Begin the list on the next line, or write it in brackets; text that begins with a dash and a "
     "space needs double quotes.",
     false},
    {"did not find expected ',' or ']'", "expected ',' or ']'",
     "Close the bracket; put an item that contains a colon, a comma or a bracket in double quotes.",
     false},
    {"did not find expected ',' or '}'", "expected ',' or '}'",
     "Close the brace; put a value that contains a colon, a comma or a brace in double quotes.",
     false},
    {"did not find expected key", "expected a key: this does not continue the member before it",
     "Begin all members at the same column; nothing but a comment can follow a closing quote or "
     "bracket.",
     false},
    {"did not find expected <document start>", "unexpected text after the members",
     "Begin all members at the same column, and write one YAML document without directives.",
     false},
    {"did not find expected '-' indicator",
     "expected '- ' and an item: this does not continue the list before it",
     "Begin all items of a list at the same column, and all members at theirs.", false},
    {"did not find expected node content", "expected a value",
     "Write a value, or put text that begins with this character in double quotes.", false},
};

static const struct explanation *explanation_of(const char *problem) {
    for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++) {
        if (strcmp(explanations[i].problem, problem) == 0) {
            return &explanations[i];
        }
    }
    return NULL;
}

static struct parley_bytes line_around(struct parley_bytes text, size_t at) {
    size_t start = at, end = at;
    while (start > 0 && text.data[start - 1] != '\n') {
        start--;
    }
    while (end < text.length && text.data[end] != '\n' && text.data[end] != '\r') {
        end++;
    }
    return (struct parley_bytes){text.data + start, end - start};
}

static struct parley_bytes trim(struct parley_bytes text) {
    while (text.length > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text = (struct parley_bytes){text.data + 1, text.length - 1};
    }
    while (text.length > 0 && strchr(" \t", text.data[text.length - 1]) != NULL) {
        text.length--;
    }
    return text;
}

/* The line `name: a: b`, split after its first colon, if the value is plain text that begins and
 * ends on this line. */
static bool cut_line(struct parley_bytes line, size_t problem_at, struct parley_bytes *name,
                     struct parley_bytes *value) {
    enum { SHOWN_MAX = 200 };
    for (size_t i = 0; i + 1 < line.length && i < problem_at; i++) {
        if (line.data[i] == ':' && (line.data[i + 1] == ' ' || line.data[i + 1] == '\t')) {
            *name = trim((struct parley_bytes){line.data, i});
            *value = trim((struct parley_bytes){line.data + i + 1, line.length - i - 1});
            return value->length > 0 && line.length <= SHOWN_MAX &&
                   strchr("\"'[]{}&*!|>#%@`,?-", value->data[0]) == NULL;
        }
    }
    return false;
}

/* Writes a hint: the member at the problem with its value in quotes. */
static bool show_quoted(struct parley_bytes yaml, size_t at, struct parley_arena *arena,
                        struct front_matter_fault *out) {
    const struct parley_bytes line = line_around(yaml, at);
    struct parley_bytes name, value;
    if (!cut_line(line, at - (size_t)(line.data - yaml.data), &name, &value)) {
        return true;
    }
    struct parley_buffer hint;
    parley_buffer_init(&hint);
    parley_buffer_text(&hint, "Put the value in double quotes:  ");
    parley_buffer_append(&hint, name);
    parley_buffer_text(&hint, ": ");
    parley_buffer_json(&hint, value);
    out->hint = hint.has_failed ? NULL : parley_arena_copy(arena, parley_buffer_bytes(&hint));
    parley_buffer_finish(&hint);
    return out->hint != NULL;
}

/* Whether the first line that is neither blank nor a comment is a directive. */
static bool begins_with_directive(struct parley_bytes yaml, size_t *out_at) {
    for (size_t at = 0; at < yaml.length;) {
        const struct parley_bytes line = line_around(yaml, at);
        const struct parley_bytes content = trim(line);
        if (content.length > 0 && content.data[0] != '#') {
            *out_at = at;
            return line.data[0] == '%';
        }
        const char *feed = memchr(yaml.data + at, '\n', yaml.length - at);
        at = feed != NULL ? (size_t)(feed + 1 - yaml.data) : yaml.length;
    }
    return false;
}

bool front_matter_explain(struct parley_bytes yaml, const struct front_matter_problem *problem,
                          struct parley_arena *arena, struct front_matter_fault *out) {
    const struct explanation *known = explanation_of(problem->text);
    size_t directive;
    if (begins_with_directive(yaml, &directive) && directive <= problem->at) {
        *out = front_matter_fault_of(FRONT_MATTER_DIRECTIVE, directive);
        return true;
    }
    *out = (struct front_matter_fault){.rule = PARLEY_GW_PARSE,
                                       .offset = problem->at,
                                       .message = problem->text,
                                       .hint = generic_hint,
                                       .path = ""};
    if (known == NULL) {
        return true;
    }
    out->offset = known->is_at_context ? problem->context_at : problem->at;
    out->message = known->message;
    out->hint = known->hint;
    if (problem->at < yaml.length && yaml.data[problem->at] == '\t') {
        out->message = "tabs are not allowed as indentation";
        out->hint = "Indent with spaces.";
    }
    return known != &explanations[0] || show_quoted(yaml, problem->at, arena, out);
}

/* ---- characters ---- */

bool front_matter_is_unfit(const char *at, size_t length) {
    static const char *const unfit[] = {"\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF",
                                        "\xEF\xBF\xBE", "\xEF\xBF\xBF"};
    const unsigned char first = (unsigned char)at[0];
    if (length == 1) {
        const bool is_blank = first == '\t' || first == '\n' || first == '\r';
        return (first < 0x20 && !is_blank) || first == 0x7F;
    }
    if (length == 2) {
        return first == 0xC2 && (unsigned char)at[1] < 0xA0;
    }
    for (size_t i = 0; length == 3 && i < sizeof unfit / sizeof unfit[0]; i++) {
        if (memcmp(at, unfit[i], length) == 0) {
            return true;
        }
    }
    return false;
}

bool front_matter_has_unfit(struct parley_bytes yaml) {
    for (size_t i = 0, length; i < yaml.length; i += length) {
        length = text_utf8_sequence(yaml.data + i, yaml.length - i);
        if (length == 0 || front_matter_is_unfit(yaml.data + i, length)) {
            return true;
        }
    }
    return false;
}

bool front_matter_find_unreadable(struct parley_bytes yaml, struct front_matter_fault *out) {
    for (size_t i = 0, length; i < yaml.length; i += length) {
        const char c = yaml.data[i];
        length = text_utf8_sequence(yaml.data + i, yaml.length - i);
        const bool is_return = c == '\r' && (i + 1 == yaml.length || yaml.data[i + 1] != '\n');
        const bool is_control =
            length == 1 && (unsigned char)c < ' ' && strchr("\t\n\r", c) == NULL;
        if (length == 0 || is_return || is_control || c == '\0') {
            *out = front_matter_fault_of(length == 0 ? FRONT_MATTER_UTF8
                                         : is_return ? FRONT_MATTER_RETURN
                                                     : FRONT_MATTER_CONTROL,
                                         i);
            return true;
        }
    }
    return false;
}
