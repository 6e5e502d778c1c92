/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Faults of JSON texts in words: a table of messages and hints, and the functions that classify a
 * fault by the bytes around it. */

#include <stdbool.h>
#include <stddef.h>

#include <parley/rule.h>

enum json_flaw {
    JSON_FLAW_UTF8,
    JSON_FLAW_DEPTH,
    JSON_FLAW_DUPLICATE_KEY,
    JSON_FLAW_TOP_LEVEL,

    JSON_FLAW_EMPTY,
    JSON_FLAW_BYTE_ORDER_MARK,
    JSON_FLAW_END_OF_VALUE,
    JSON_FLAW_END_OF_WORD,
    JSON_FLAW_END_OF_STRING,
    JSON_FLAW_END_OF_ARRAY,
    JSON_FLAW_END_OF_OBJECT,
    JSON_FLAW_AFTER_MESSAGE,
    JSON_FLAW_ANOTHER_MESSAGE,
    JSON_FLAW_EXTRA_BRACKET,

    JSON_FLAW_VALUE,
    JSON_FLAW_NO_VALUE,
    JSON_FLAW_NO_ITEM,
    JSON_FLAW_WORD,
    JSON_FLAW_WORD_CASE,
    JSON_FLAW_WORD_NULL,
    JSON_FLAW_NOT_FINITE,
    JSON_FLAW_KEY,
    JSON_FLAW_KEY_UNQUOTED,
    JSON_FLAW_NO_KEY,
    JSON_FLAW_COLON,
    JSON_FLAW_EQUALS,
    JSON_FLAW_COMMA_OR_BRACE,
    JSON_FLAW_COMMA_OR_BRACKET,
    JSON_FLAW_MISSING_COMMA_IN_OBJECT,
    JSON_FLAW_MISSING_COMMA_IN_ARRAY,
    JSON_FLAW_COLON_IN_ARRAY,
    JSON_FLAW_BRACKET_FOR_BRACE,
    JSON_FLAW_BRACE_FOR_BRACKET,
    JSON_FLAW_TRAILING_COMMA_IN_OBJECT,
    JSON_FLAW_TRAILING_COMMA_IN_ARRAY,
    JSON_FLAW_COMMENT,
    JSON_FLAW_SINGLE_QUOTE,
    JSON_FLAW_CURLY_QUOTE,
    JSON_FLAW_NUL,

    JSON_FLAW_CONTROL,
    JSON_FLAW_LINE_BREAK,
    JSON_FLAW_TAB,
    JSON_FLAW_ESCAPE,
    JSON_FLAW_HEX,
    JSON_FLAW_KEY_NUL,
    JSON_FLAW_FIRST_SURROGATE,
    JSON_FLAW_SECOND_SURROGATE,

    JSON_FLAW_DIGIT,
    JSON_FLAW_PLUS,
    JSON_FLAW_POINT,
    JSON_FLAW_LEADING_ZERO,
    JSON_FLAW_NOT_DECIMAL,
    JSON_FLAW_TOO_LARGE,
    JSON_FLAW_COUNT,
};

struct json_flaw_words {
    enum parley_gateway_rule rule;
    const char *message;
    const char *hint; /* NULL: the rule's */
};

extern const struct json_flaw_words json_flaws[JSON_FLAW_COUNT];

/* Classify a fault at `at`, a byte of the text from `start` to `end`, or its end …
 * … where a value is expected, */
enum json_flaw json_flaw_at_value(const char *start, const char *at, const char *end);
/* … where a key is, */
enum json_flaw json_flaw_at_key(const char *start, const char *at, const char *end);
/* … where the colon after a key is, */
enum json_flaw json_flaw_at_colon(const char *at, const char *end);
/* … where a value of an array or object has ended, */
enum json_flaw json_flaw_after_value(const char *at, const char *end, bool is_in_array);
/* … where the whole message has ended (`at` < `end`), */
enum json_flaw json_flaw_after_message(const char *at);
/* … within the word that begins at `word`, */
enum json_flaw json_flaw_in_word(const char *word, const char *at, const char *end);
/* … or where a digit is expected. */
enum json_flaw json_flaw_at_digit(const char *at, const char *end);
/* Describes a control character in a string. */
enum json_flaw json_flaw_of_control(char c);
