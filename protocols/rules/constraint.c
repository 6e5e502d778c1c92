/* SPDX-License-Identifier: Apache-2.0 */

/* The checks of the rows of a rule table. Each is about one value; rules over several members
 * consist of tests, or are the protocol's is_broken. */

#include "constraint.h"

#include <math.h>

#include "text.h"

enum parley_kind constraint_kind(enum parley_constraint constraint) {
    switch (constraint) {
    case PARLEY_RANGE:
    case PARLEY_MINIMUM:
    case PARLEY_INCREASING:
        return PARLEY_NUMBER;
    case PARLEY_MIN_ITEMS:
        return PARLEY_ARRAY;
    case PARLEY_ANY:
        return PARLEY_ABSENT;
    default:
        return PARLEY_STRING;
    }
}

unsigned constraint_wrong_kinds(const struct parley_place *place) {
    unsigned right = place->kinds != 0 ? place->kinds : ~0u;
    right |= (right & PARLEY_NUMBER) != 0 ? (unsigned)PARLEY_INTEGER : 0;
    right |= (right & PARLEY_INTEGER) != 0 ? (unsigned)PARLEY_NUMBER : 0; /* it may be whole */
    return ~right;
}

unsigned constraint_asked_kinds(const struct parley_place *place) {
    unsigned asked = (unsigned)constraint_kind(place->constraint);
    asked |= (asked & PARLEY_NUMBER) != 0 ? (unsigned)PARLEY_INTEGER : 0;
    if ((place->kinds & PARLEY_INTEGER) != 0 && (place->kinds & PARLEY_NUMBER) == 0) {
        asked |= PARLEY_NUMBER; /* whether it is whole */
    }
    return asked & ~constraint_wrong_kinds(place);
}

/* Whether an integer is expected, and `value` is one. */
static bool is_wanted_integer(const struct parley_place *place, const struct parley_value *value) {
    return (place->kinds & PARLEY_INTEGER) != 0 && value->kind == PARLEY_NUMBER &&
           value->number == floor(value->number);
}

/* In code points; 0: any number of them. */
static bool is_at_most(struct parley_bytes text, double maximum) {
    return maximum == 0 || (double)text.length <= maximum ||
           (double)text_code_points(text) <= maximum;
}

static bool string_holds(const struct schema_check *check, struct parley_bytes text) {
    const struct parley_place *place = check->place;
    switch (place->constraint) {
    case PARLEY_MIN_LENGTH: /* a code point has at most four bytes */
        return (double)(ptrdiff_t)text.length >= place->minimum * 4 ||
               (double)text_code_points(text) >= place->minimum;
    case PARLEY_ONE_OF:
        return text_is_one_of(text, place->choices);
    case PARLEY_TIME:
        return text_is_time(text);
    case PARLEY_TIME_UTC:
        return text_is_time(text) && text_time_is_utc(text);
    case PARLEY_UUID:
        return text_is_uuid(text, false);
    case PARLEY_UUID4:
        return text_is_uuid(text, true);
    case PARLEY_TOKEN:
        return text_is_token(text) && is_at_most(text, place->maximum);
    case PARLEY_MAX_LENGTH:
        return (double)text_code_points(text) <= place->maximum;
    case PARLEY_PATTERN:
        return is_at_most(text, place->maximum) && pattern_matches(check->pattern, text);
    case PARLEY_ANY:
    case PARLEY_RANGE:
    case PARLEY_MINIMUM:
    case PARLEY_MIN_ITEMS:
    case PARLEY_INCREASING:
        break;
    }
    return true;
}

static bool number_holds(const struct parley_place *place, double number) {
    switch (place->constraint) {
    case PARLEY_RANGE:
        return number >= place->minimum && number <= place->maximum;
    case PARLEY_MINIMUM:
        return number >= place->minimum;
    default:
        return true;
    }
}

bool constraint_holds(const struct schema_check *check, const struct parley_value *value) {
    const struct parley_place *place = check->place;
    if (place->kinds != 0 && (place->kinds & value->kind) == 0 &&
        !is_wanted_integer(place, value)) {
        return false;
    }
    switch (value->kind) {
    case PARLEY_STRING:
        return string_holds(check, value->text);
    case PARLEY_NUMBER:
        return number_holds(place, value->number);
    default:
        return true;
    }
}

static bool test_holds(const struct parley_test *test, const struct parley_value *value) {
    switch (test->asks) {
    case PARLEY_IS_THERE:
        return test->kinds == 0 ? value->kind != PARLEY_ABSENT : (test->kinds & value->kind) != 0;
    case PARLEY_IS_TEXT:
        return parley_value_is(value, test->text);
    case PARLEY_IS_TRUE:
        return value->kind == PARLEY_BOOLEAN && value->number != 0;
    case PARLEY_IS_WITHIN:
        return value->kind == PARLEY_NUMBER && value->number >= test->minimum &&
               value->number <= test->maximum;
    case PARLEY_HAS_ITEMS:
        return value->kind == PARLEY_ARRAY && value->count > 0;
    case PARLEY_HAS_MAX_LENGTH:
        return value->kind == PARLEY_STRING && is_at_most(value->text, test->maximum);
    case PARLEY_IS_FILLED:
        return !parley_value_is_nothing(value) &&
               !(value->kind == PARLEY_STRING && value->text.length == 0) &&
               !(value->kind == PARLEY_ARRAY && value->count == 0);
    case PARLEY_TEST_END:
        break;
    }
    return false;
}

bool place_is_broken(const struct parley_place *place, const struct parley_captures *captures) {
    if (place->is_asked != NULL && !place->is_asked(captures->options)) {
        return false;
    }
    if (place->is_broken != NULL) {
        return place->is_broken(captures);
    }
    const struct parley_test *test = place->when;
    for (; test != NULL && test->asks != PARLEY_TEST_END; test++) {
        if (!test_holds(test, &captures->values[test->field])) {
            return false;
        }
    }
    for (test = place->wants; test->asks != PARLEY_TEST_END; test++) {
        if (test_holds(test, &captures->values[test->field])) {
            return false;
        }
    }
    return true;
}

/* A string in quotes, cut to a length that fits into a line of text. */
static void write_string(struct parley_buffer *out, struct parley_bytes text) {
    enum { SHOWN_BYTES = 60 };
    const struct parley_bytes shown = text_prefix(text, SHOWN_BYTES);
    parley_buffer_json(out, shown);
    if (shown.length < text.length) {
        parley_buffer_format(out, "… (%zu bytes)", text.length);
    }
}

static void write_value(struct parley_buffer *out, const struct parley_value *value) {
    switch (value->kind) {
    case PARLEY_NULL:
        parley_buffer_text(out, "null");
        break;
    case PARLEY_BOOLEAN:
        parley_buffer_text(out, value->number != 0 ? "true" : "false");
        break;
    case PARLEY_NUMBER:
    case PARLEY_INTEGER:
        parley_buffer_number(out, value->number);
        break;
    case PARLEY_STRING:
        write_string(out, value->text);
        break;
    case PARLEY_ARRAY:
        parley_buffer_text(out, "an array");
        break;
    case PARLEY_OBJECT:
        parley_buffer_text(out, "an object");
        break;
    case PARLEY_ABSENT:
        parley_buffer_text(out, "missing");
        break;
    }
}

static void describe_string(const struct parley_place *place, struct parley_buffer *out) {
    switch (place->constraint) {
    case PARLEY_MIN_LENGTH:
        if (place->minimum <= 1) {
            parley_buffer_text(out, "a string that is not empty");
        } else {
            parley_buffer_format(out, "a string of at least %.0f characters", place->minimum);
        }
        break;
    case PARLEY_ONE_OF:
        parley_buffer_text(out, place->choices[1] == NULL ? "" : "one of ");
        for (size_t i = 0; place->choices[i] != NULL; i++) {
            parley_buffer_text(out, i == 0 ? "" : ", ");
            parley_buffer_json(out, parley_bytes_of(place->choices[i]));
        }
        break;
    case PARLEY_TIME:
        parley_buffer_text(out, "an RFC 3339 date-time (2025-12-14T10:30:00Z)");
        break;
    case PARLEY_TIME_UTC:
        parley_buffer_text(out, "a time in UTC (2025-12-14T10:30:00Z)");
        break;
    case PARLEY_UUID:
        parley_buffer_text(out, "a UUID");
        break;
    case PARLEY_UUID4:
        parley_buffer_text(out, "a UUID of version 4");
        break;
    case PARLEY_MAX_LENGTH:
        parley_buffer_format(out, "a string of at most %.0f characters", place->maximum);
        break;
    case PARLEY_TOKEN:
    case PARLEY_PATTERN:
        parley_buffer_text(out, place->words);
        break;
    case PARLEY_ANY:
    case PARLEY_RANGE:
    case PARLEY_MINIMUM:
    case PARLEY_MIN_ITEMS:
    case PARLEY_INCREASING:
        parley_buffer_text(out, "a string");
        break;
    }
}

static void describe_number(const struct parley_place *place, const char *noun,
                            struct parley_buffer *out) {
    parley_buffer_text(out, noun);
    if (place->constraint == PARLEY_RANGE) {
        parley_buffer_text(out, " from ");
        parley_buffer_number(out, place->minimum);
        parley_buffer_text(out, " to ");
        parley_buffer_number(out, place->maximum);
    } else if (place->constraint == PARLEY_MINIMUM) {
        parley_buffer_text(out, " of ");
        parley_buffer_number(out, place->minimum);
        parley_buffer_text(out, " or more");
    } else if (place->constraint == PARLEY_INCREASING) {
        parley_buffer_text(out, " greater than that of the item before");
    }
}

static void describe_kind(const struct parley_place *place, unsigned kind,
                          struct parley_buffer *out) {
    switch (kind) {
    case PARLEY_STRING:
        describe_string(place, out);
        break;
    case PARLEY_NUMBER:
        describe_number(place, "a number", out);
        break;
    case PARLEY_INTEGER:
        describe_number(place, "an integer", out);
        break;
    case PARLEY_OBJECT:
        parley_buffer_text(out, "an object");
        break;
    case PARLEY_ARRAY:
        if (place->constraint == PARLEY_MIN_ITEMS && place->minimum > 1) {
            parley_buffer_format(out, "an array of at least %.0f items", place->minimum);
        } else {
            parley_buffer_text(out, place->constraint == PARLEY_MIN_ITEMS
                                        ? "an array that is not empty"
                                        : "an array");
        }
        break;
    case PARLEY_BOOLEAN:
        parley_buffer_text(out, "true or false");
        break;
    default:
        parley_buffer_text(out, "null");
    }
}

void constraint_describe(const struct parley_place *place, struct parley_buffer *out) {
    static const unsigned in_order[] = {PARLEY_STRING,  PARLEY_NUMBER, PARLEY_INTEGER,
                                        PARLEY_BOOLEAN, PARLEY_OBJECT, PARLEY_ARRAY,
                                        PARLEY_NULL};
    const unsigned kinds =
        place->kinds != 0 ? place->kinds : (unsigned)constraint_kind(place->constraint);
    bool is_first = true;
    for (size_t i = 0; i < sizeof in_order / sizeof in_order[0]; i++) {
        if ((kinds & in_order[i]) != 0) {
            parley_buffer_text(out, is_first ? "" : " or ");
            describe_kind(place, in_order[i], out);
            is_first = false;
        }
    }
    if (is_first) {
        parley_buffer_text(out, "a value");
    }
}

const char *constraint_message(struct parley_arena *arena, const struct parley_place *place,
                               const char *path, const struct parley_value *value) {
    static const struct parley_value missing = {.kind = PARLEY_ABSENT};
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "`%s` is ", path[0] == '/' ? path + 1 : "the message");
    write_value(&text, value != NULL ? value : &missing);
    parley_buffer_text(&text, "; expected ");
    constraint_describe(place, &text);
    const char *message =
        text.has_failed ? NULL : parley_arena_copy(arena, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    return message;
}
