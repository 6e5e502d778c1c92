/* SPDX-License-Identifier: Apache-2.0 */

/* A fault is classified by the byte where it is and, if that is not enough, by the last byte before
 * it that is not white space. This runs once, for a text that is refused. */

#include "json_fault.h"

#include <string.h>
#include <strings.h>

#define BOTH_QUOTES "Use plain double quotes (\") around strings and keys."

const struct json_flaw_words json_flaws[JSON_FLAW_COUNT] = {
    [JSON_FLAW_UTF8] = {PARLEY_GW_UTF8, "these bytes are not valid UTF-8", NULL},
    [JSON_FLAW_DEPTH] = {PARLEY_GW_DEPTH, "nested deeper than 64 levels", NULL},
    [JSON_FLAW_DUPLICATE_KEY] = {PARLEY_GW_DUPLICATE_KEY, "duplicate key", NULL},
    [JSON_FLAW_TOP_LEVEL] = {PARLEY_GW_TOP_LEVEL, "the message is not an object", NULL},

    [JSON_FLAW_EMPTY] = {PARLEY_GW_PARSE, "the text is empty",
                         "Send the message as one JSON object, { … }."},
    [JSON_FLAW_BYTE_ORDER_MARK] = {PARLEY_GW_PARSE, "a byte-order mark is not allowed before JSON",
                                   "Send UTF-8 without a byte-order mark (U+FEFF)."},
    [JSON_FLAW_END_OF_VALUE] = {PARLEY_GW_PARSE, "the text ends where a value is expected",
                                "Send the whole message: its end is missing."},
    [JSON_FLAW_END_OF_WORD] = {PARLEY_GW_PARSE, "the text ends inside a word",
                               "Send the whole message: its end is missing."},
    [JSON_FLAW_END_OF_STRING] =
        {PARLEY_GW_PARSE, "the text ends inside a string",
         "Close the string with a double quote; write a double quote inside the text as \\\"."},
    [JSON_FLAW_END_OF_ARRAY] =
        {PARLEY_GW_PARSE, "the text ends inside an array",
         "Close the array with ], and check that the whole message is sent."},
    [JSON_FLAW_END_OF_OBJECT] = {PARLEY_GW_PARSE, "the text ends inside an object",
                                 "Close the object with }, and check that the whole message is "
                                 "sent."},
    [JSON_FLAW_AFTER_MESSAGE] = {PARLEY_GW_PARSE, "unexpected data after the message",
                                 "Remove what follows the message."},
    [JSON_FLAW_ANOTHER_MESSAGE] = {PARLEY_GW_PARSE, "unexpected data after the message",
                                   "Send several messages as a JSON array, or as "
                                   "application/x-ndjson with one message per line."},
    [JSON_FLAW_EXTRA_BRACKET] = {PARLEY_GW_PARSE, "unexpected data after the message",
                                 "Remove the closing bracket: it has no opening bracket."},

    [JSON_FLAW_VALUE] = {PARLEY_GW_PARSE, "expected a value",
                         "Write an object, an array, a number, text in double quotes, true, false "
                         "or null."},
    [JSON_FLAW_NO_VALUE] = {PARLEY_GW_PARSE, "expected a value after ':'",
                            "Write a value for this key, write null, or leave the key out."},
    [JSON_FLAW_NO_ITEM] = {PARLEY_GW_PARSE, "expected a value before ','",
                           "Remove the extra comma, or write null in its place."},
    [JSON_FLAW_WORD] = {PARLEY_GW_PARSE, "unknown word: JSON has only true, false and null",
                        "Put text in double quotes."},
    [JSON_FLAW_WORD_CASE] = {PARLEY_GW_PARSE, "unknown word: JSON has only true, false and null",
                             "Write true, false and null in lower case."},
    [JSON_FLAW_WORD_NULL] = {PARLEY_GW_PARSE, "unknown word: JSON has only true, false and null",
                             "Write null, or leave the member out."},
    [JSON_FLAW_NOT_FINITE] = {PARLEY_GW_PARSE, "NaN and Infinity are not allowed in JSON",
                              "Send a finite number, null, or a string."},
    [JSON_FLAW_KEY] = {PARLEY_GW_PARSE, "expected a key in double quotes",
                       "Write each member of an object as \"key\": value."},
    [JSON_FLAW_KEY_UNQUOTED] = {PARLEY_GW_PARSE, "expected a key in double quotes",
                                "Put the key in double quotes."},
    [JSON_FLAW_NO_KEY] = {PARLEY_GW_PARSE, "expected a key in double quotes",
                          "Remove the extra comma."},
    [JSON_FLAW_COLON] =
        {PARLEY_GW_PARSE, "expected ':' after the key",
         "Put a colon between the key and its value: every member of an object has both."},
    [JSON_FLAW_EQUALS] = {PARLEY_GW_PARSE, "expected ':' after the key",
                          "Write a colon instead of the equals sign."},
    [JSON_FLAW_COMMA_OR_BRACE] = {PARLEY_GW_PARSE, "expected ',' or '}'",
                                  "Put a comma before the next member, or close the object with }; "
                                  "write a double quote inside a string as \\\"."},
    [JSON_FLAW_COMMA_OR_BRACKET] = {PARLEY_GW_PARSE, "expected ',' or ']'",
                                    "Put a comma before the next item, or close the array with ]; "
                                    "write a double quote inside a string as \\\"."},
    [JSON_FLAW_MISSING_COMMA_IN_OBJECT] = {PARLEY_GW_PARSE, "expected ',' or '}'",
                                           "Put a comma between two members."},
    [JSON_FLAW_MISSING_COMMA_IN_ARRAY] = {PARLEY_GW_PARSE, "expected ',' or ']'",
                                          "Put a comma between two items."},
    [JSON_FLAW_COLON_IN_ARRAY] = {PARLEY_GW_PARSE, "expected ',' or ']'",
                                  "An array has no keys: write an object, {\"key\": value}."},
    [JSON_FLAW_BRACKET_FOR_BRACE] = {PARLEY_GW_PARSE, "expected ',' or '}'",
                                     "Close the object with }, not ]."},
    [JSON_FLAW_BRACE_FOR_BRACKET] = {PARLEY_GW_PARSE, "expected ',' or ']'",
                                     "Close the array with ], not }."},
    [JSON_FLAW_TRAILING_COMMA_IN_OBJECT] = {PARLEY_GW_PARSE, "expected a key after ','",
                                            "Remove the comma before }: JSON has no trailing "
                                            "commas."},
    [JSON_FLAW_TRAILING_COMMA_IN_ARRAY] = {PARLEY_GW_PARSE, "expected a value after ','",
                                           "Remove the comma before ]: JSON has no trailing "
                                           "commas."},
    [JSON_FLAW_COMMENT] = {PARLEY_GW_PARSE, "not valid JSON; comments are not allowed",
                           "Remove the comment."},
    [JSON_FLAW_SINGLE_QUOTE] = {PARLEY_GW_PARSE, "single quotes are not allowed", BOTH_QUOTES},
    [JSON_FLAW_CURLY_QUOTE] = {PARLEY_GW_PARSE, "typographic quotes are not allowed", BOTH_QUOTES},
    [JSON_FLAW_NUL] = {PARLEY_GW_PARSE, "a NUL byte is not allowed here",
                       "Remove it; if every second byte is NUL, the text is UTF-16: send UTF-8."},

    [JSON_FLAW_CONTROL] =
        {PARLEY_GW_PARSE, "a control character in a string must be written as an escape",
         "Write it as \\u and its code in four hexadecimal digits, as in \\u0001."},
    [JSON_FLAW_LINE_BREAK] = {PARLEY_GW_PARSE,
                              "a line break in a string must be written as an escape",
                              "Write the line break as \\n, or close the string before it."},
    [JSON_FLAW_TAB] = {PARLEY_GW_PARSE, "a tab in a string must be written as an escape",
                       "Write the tab as \\t."},
    [JSON_FLAW_ESCAPE] = {PARLEY_GW_PARSE, "unknown escape",
                          "JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX; write a "
                          "backslash inside the text as \\\\."},
    [JSON_FLAW_HEX] =
        {PARLEY_GW_PARSE, "expected four hexadecimal digits after \\u",
         "Write the code of the character in four hexadecimal digits, as in \\u00e9."},
    [JSON_FLAW_KEY_NUL] = {PARLEY_GW_PARSE, "a key cannot contain a NUL character",
                           "Remove \\u0000 from the key."},
    [JSON_FLAW_FIRST_SURROGATE] = {PARLEY_GW_PARSE,
                                   "lone surrogate: the first half of a pair without the second",
                                   "Write both halves, as in \\ud83d\\ude00, or the character "
                                   "itself."},
    [JSON_FLAW_SECOND_SURROGATE] = {PARLEY_GW_PARSE,
                                    "lone surrogate: the second half of a pair without the first",
                                    "Write both halves, as in \\ud83d\\ude00, or the character "
                                    "itself."},

    [JSON_FLAW_DIGIT] = {PARLEY_GW_PARSE, "expected a digit",
                         "Write a number as -12, 0.5 or 1e9: with digits on both sides of the "
                         "point, and after e."},
    [JSON_FLAW_PLUS] = {PARLEY_GW_PARSE, "a number cannot begin with '+'", "Remove the plus sign."},
    [JSON_FLAW_POINT] = {PARLEY_GW_PARSE, "a number cannot begin with '.'",
                         "Write a zero before the point, as in 0.5."},
    [JSON_FLAW_LEADING_ZERO] = {PARLEY_GW_PARSE, "a number cannot have leading zeros",
                                "Remove the leading zeros, or put the digits in double quotes."},
    [JSON_FLAW_NOT_DECIMAL] = {PARLEY_GW_PARSE, "a number must be decimal",
                               "Write the number in decimal digits, or in double quotes."},
    [JSON_FLAW_TOO_LARGE] = {PARLEY_GW_PARSE, "this number is too large for a double",
                             "Send a number between -1.7e308 and 1.7e308, or a string."},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$';
}

static bool begins_with(const char *at, const char *end, const char *with) {
    const size_t length = strlen(with);
    return (size_t)(end - at) >= length && memcmp(at, with, length) == 0;
}

/* The last byte before `at` that is not white space; NUL: there is none. */
static char byte_before(const char *start, const char *at) {
    while (at > start && strchr(" \t\r\n", at[-1]) != NULL && at[-1] != '\0') {
        at--;
    }
    return at > start ? at[-1] : '\0';
}

/* Recognises common text that JSON does not allow anywhere.  Returns: `other` if it is none of
 * these. */
static enum json_flaw of_foreign(const char *at, const char *end, enum json_flaw other) {
    if (*at == '\0') {
        return JSON_FLAW_NUL;
    }
    if (*at == '/' || *at == '#') {
        return JSON_FLAW_COMMENT;
    }
    if (*at == '\'' || *at == '`') {
        return JSON_FLAW_SINGLE_QUOTE;
    }
    static const char *const curly[] = {"\xE2\x80\x98", "\xE2\x80\x99", "\xE2\x80\x9C",
                                        "\xE2\x80\x9D", "\xE2\x80\x9E", "\xC2\xAB"};
    for (size_t i = 0; i < sizeof curly / sizeof curly[0]; i++) {
        if (begins_with(at, end, curly[i])) {
            return JSON_FLAW_CURLY_QUOTE;
        }
    }
    return other;
}

enum json_flaw json_flaw_in_word(const char *word, const char *at, const char *end) {
    static const struct {
        const char *word;
        enum json_flaw flaw;
    } words[] = {
        {"true", JSON_FLAW_WORD_CASE},      {"false", JSON_FLAW_WORD_CASE},
        {"null", JSON_FLAW_WORD_CASE},      {"none", JSON_FLAW_WORD_NULL},
        {"nil", JSON_FLAW_WORD_NULL},       {"undefined", JSON_FLAW_WORD_NULL},
        {"nan", JSON_FLAW_NOT_FINITE},      {"inf", JSON_FLAW_NOT_FINITE},
        {"infinity", JSON_FLAW_NOT_FINITE},
    };
    const char *word_end = word;
    while (word_end < end && is_letter(*word_end)) {
        word_end++;
    }
    const size_t length = (size_t)(word_end - word);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (length == strlen(words[i].word) && strncasecmp(word, words[i].word, length) == 0) {
            return words[i].flaw;
        }
    }
    return at == end ? JSON_FLAW_END_OF_WORD : JSON_FLAW_WORD;
}

enum json_flaw json_flaw_at_value(const char *start, const char *at, const char *end) {
    const char before = byte_before(start, at);
    if (at == end) {
        return before == '\0' ? JSON_FLAW_EMPTY : JSON_FLAW_END_OF_VALUE;
    }
    if (before == '\0' && begins_with(at, end, "\xEF\xBB\xBF")) {
        return JSON_FLAW_BYTE_ORDER_MARK;
    }
    switch (*at) {
    case '+':
        return JSON_FLAW_PLUS;
    case '.':
        return JSON_FLAW_POINT;
    case ']':
    case '}':
    case ',':
        return before == ':'                 ? JSON_FLAW_NO_VALUE
               : *at == ','                  ? JSON_FLAW_NO_ITEM
               : before == ',' && *at == ']' ? JSON_FLAW_TRAILING_COMMA_IN_ARRAY
                                             : JSON_FLAW_VALUE;
    default:
        return is_letter(*at) ? json_flaw_in_word(at, at, end)
                              : of_foreign(at, end, JSON_FLAW_VALUE);
    }
}

enum json_flaw json_flaw_at_key(const char *start, const char *at, const char *end) {
    if (at == end) {
        return JSON_FLAW_END_OF_OBJECT;
    }
    if (*at == '}' && byte_before(start, at) == ',') {
        return JSON_FLAW_TRAILING_COMMA_IN_OBJECT;
    }
    return *at == ','                        ? JSON_FLAW_NO_KEY
           : is_letter(*at) || is_digit(*at) ? JSON_FLAW_KEY_UNQUOTED
                                             : of_foreign(at, end, JSON_FLAW_KEY);
}

enum json_flaw json_flaw_at_colon(const char *at, const char *end) {
    return at == end    ? JSON_FLAW_END_OF_OBJECT
           : *at == '=' ? JSON_FLAW_EQUALS
                        : of_foreign(at, end, JSON_FLAW_COLON);
}

enum json_flaw json_flaw_after_value(const char *at, const char *end, bool is_in_array) {
    if (at == end) {
        return is_in_array ? JSON_FLAW_END_OF_ARRAY : JSON_FLAW_END_OF_OBJECT;
    }
    switch (*at) {
    case '"':
    case '{':
    case '[':
        return is_in_array ? JSON_FLAW_MISSING_COMMA_IN_ARRAY : JSON_FLAW_MISSING_COMMA_IN_OBJECT;
    case ':':
        return is_in_array ? JSON_FLAW_COLON_IN_ARRAY : JSON_FLAW_COMMA_OR_BRACE;
    case ']':
        return JSON_FLAW_BRACKET_FOR_BRACE;
    case '}':
        return JSON_FLAW_BRACE_FOR_BRACKET;
    case 'x':
    case 'X':
        return at[-1] == '0' ? JSON_FLAW_NOT_DECIMAL /* 0x1F */
               : is_in_array ? JSON_FLAW_COMMA_OR_BRACKET
                             : JSON_FLAW_COMMA_OR_BRACE;
    default:
        return of_foreign(at, end,
                          is_in_array ? JSON_FLAW_COMMA_OR_BRACKET : JSON_FLAW_COMMA_OR_BRACE);
    }
}

enum json_flaw json_flaw_after_message(const char *at) {
    return *at == '{' || *at == ','   ? JSON_FLAW_ANOTHER_MESSAGE
           : *at == '}' || *at == ']' ? JSON_FLAW_EXTRA_BRACKET
           : *at == '\0'              ? JSON_FLAW_NUL
                                      : JSON_FLAW_AFTER_MESSAGE;
}

enum json_flaw json_flaw_at_digit(const char *at, const char *end) {
    const enum json_flaw flaw = at < end ? json_flaw_in_word(at, at, end) : JSON_FLAW_DIGIT;
    return flaw == JSON_FLAW_NOT_FINITE ? flaw : JSON_FLAW_DIGIT;
}

enum json_flaw json_flaw_of_control(char c) {
    return c == '\n' || c == '\r' ? JSON_FLAW_LINE_BREAK
           : c == '\t'            ? JSON_FLAW_TAB
                                  : JSON_FLAW_CONTROL;
}
