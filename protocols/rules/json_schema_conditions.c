/* SPDX-License-Identifier: Apache-2.0 */

/* The conditions of a schema: an if/then for each set of message types that rows are for, and one
 * for each row over several members that is made of tests. */

#include "constraint.h"
#include "json_schema.h"

/* ---- message types ---- */

static void write_type_names(struct writer *writer, uint32_t types) {
    const char *const *names = writer->protocol->types;
    writer_keyword(writer, "enum");
    parley_buffer_char(writer->out, '[');
    for (unsigned i = 0; names[i] != NULL; i++) {
        if ((types & PARLEY_TYPE_BIT(i)) != 0) {
            writer_short_item(writer, parley_bytes_of(names[i]));
        }
    }
    parley_buffer_char(writer->out, ']');
}

/* Opens a subschema of the value at `path`, which must be there, up to the conditions on the value.
 * Returns: the depth to which close_path() goes back. */
static unsigned open_path(struct writer *writer, const char *path) {
    const unsigned depth = writer->depth;
    writer_open(writer, '{');
    while (*path == '/') {
        const struct parley_bytes token = {path + 1, strcspn(path + 1, "/")};
        writer_text(writer, "type", "object");
        writer_keyword(writer, "required");
        parley_buffer_char(writer->out, '[');
        writer_short_item(writer, token);
        parley_buffer_char(writer->out, ']');
        writer_keyword(writer, "properties");
        writer_open(writer, '{');
        writer_member(writer, token);
        writer_open(writer, '{');
        path = token.data + token.length;
    }
    return depth;
}

static void close_path(struct writer *writer, unsigned depth) {
    while (writer->depth > depth) {
        writer_close(writer, '}');
    }
}

/* That the message is of one of `types`. */
static void write_type_condition(struct writer *writer, uint32_t types) {
    const char *path = writer->protocol->fields[writer->protocol->type_field];
    const unsigned depth = open_path(writer, path);
    writer_text(writer, "type", "string");
    write_type_names(writer, types);
    close_path(writer, depth);
}

/* Rows that also apply to unknown types apply unless the type is one of the others. */
static bool holds_for_others(uint32_t types) {
    return (types & PARLEY_TYPE_BIT(PARLEY_TYPE_OTHER)) != 0;
}

static void write_conditional(struct writer *writer, const struct schema_node *root) {
    const bool has_other = holds_for_others(writer->types);
    writer_item(writer);
    writer_open(writer, '{');
    writer_keyword(writer, "if");
    write_type_condition(writer, has_other ? writer->every_type & ~writer->types : writer->types);
    writer_keyword(writer, has_other ? "else" : "then");
    writer_open(writer, '{');
    writer_value(writer, PARLEY_OBJECT, NULL, root);
    writer_close(writer, '}');
    writer_close(writer, '}');
}

/* ---- rows over several members ---- */

static void write_filled(struct writer *writer) {
    static const struct parley_place filled[] = {
        {.constraint = PARLEY_MIN_LENGTH, .minimum = 1},
        {.constraint = PARLEY_MIN_ITEMS, .minimum = 1},
    };
    writer_keyword(writer, "anyOf");
    writer_open(writer, '[');
    for (size_t i = 0; i < sizeof filled / sizeof filled[0]; i++) {
        writer_item(writer);
        writer_open(writer, '{');
        writer_value(writer, (unsigned)constraint_kind(filled[i].constraint), &filled[i], NULL);
        writer_close(writer, '}');
    }
    writer_close(writer, ']');
}

/* That this test holds. */
static void write_test(struct writer *writer, const struct parley_test *test) {
    const unsigned depth = open_path(writer, writer->protocol->fields[test->field]);
    const struct parley_place item_count = {.constraint = PARLEY_MIN_ITEMS, .minimum = 1};
    const struct parley_place length = {.constraint = PARLEY_MAX_LENGTH, .maximum = test->maximum};
    const struct parley_place range = {
        .constraint = PARLEY_RANGE, .minimum = test->minimum, .maximum = test->maximum};
    switch (test->asks) {
    case PARLEY_IS_THERE:
        writer_value(writer, test->kinds, NULL, NULL);
        break;
    case PARLEY_IS_TEXT:
        writer_text(writer, "type", "string");
        writer_text(writer, "const", test->text);
        break;
    case PARLEY_IS_TRUE:
        writer_text(writer, "type", "boolean");
        writer_keyword(writer, "const");
        parley_buffer_text(writer->out, "true");
        break;
    case PARLEY_IS_WITHIN:
        writer_value(writer, PARLEY_NUMBER, &range, NULL);
        break;
    case PARLEY_HAS_ITEMS:
        writer_value(writer, PARLEY_ARRAY, &item_count, NULL);
        break;
    case PARLEY_HAS_MAX_LENGTH:
        writer_value(writer, PARLEY_STRING, &length, NULL);
        break;
    case PARLEY_IS_FILLED:
        write_filled(writer);
        break;
    case PARLEY_TEST_END:
        break;
    }
    close_path(writer, depth);
}

static size_t count_tests(const struct parley_test *tests) {
    size_t count = 0;
    while (tests != NULL && tests[count].asks != PARLEY_TEST_END) {
        count++;
    }
    return count;
}

/* That the message is of one of `types`, or, if these include the unknown type, of none of the
 * others. */
static void write_types(struct writer *writer, uint32_t types) {
    if (!holds_for_others(types)) {
        write_type_condition(writer, types);
        return;
    }
    writer_open(writer, '{');
    writer_keyword(writer, "not");
    write_type_condition(writer, writer->every_type & ~types);
    writer_close(writer, '}');
}

/* That the message is of one of the place's types, if it is not for all, and that all of `when`
 * hold. */
static void write_when(struct writer *writer, const struct parley_place *place) {
    const uint32_t types = writer_types_of(writer, place);
    const bool is_conditional = types != writer->every_type && !writer->is_of_one_type;
    const size_t count = count_tests(place->when);
    if (is_conditional && count == 0) {
        write_types(writer, types);
        return;
    }
    if (!is_conditional && count <= 1) {
        if (count == 1) {
            write_test(writer, place->when);
        } else { /* not `true`, which some readers of OpenAPI do not know as a schema */
            parley_buffer_text(writer->out, "{}");
        }
        return;
    }
    writer_open(writer, '{');
    writer_keyword(writer, "allOf");
    writer_open(writer, '[');
    if (is_conditional) {
        writer_item(writer);
        write_types(writer, types);
    }
    for (size_t i = 0; i < count; i++) {
        writer_item(writer);
        write_test(writer, &place->when[i]);
    }
    writer_close(writer, ']');
    writer_close(writer, '}');
}

static void write_wants(struct writer *writer, const struct parley_test *wants) {
    const size_t count = count_tests(wants);
    if (count == 1) {
        write_test(writer, wants);
        return;
    }
    writer_open(writer, '{');
    writer_keyword(writer, "anyOf");
    writer_open(writer, '[');
    for (size_t i = 0; i < count; i++) {
        writer_item(writer);
        write_test(writer, &wants[i]);
    }
    writer_close(writer, ']');
    writer_close(writer, '}');
}

static void write_across(struct writer *writer, const struct parley_rule *rule,
                         const struct parley_place *place) {
    struct parley_buffer title;
    parley_buffer_init(&title);
    parley_buffer_format(&title, "%s: %s", rule->id, rule->summary);
    writer_item(writer);
    writer_open(writer, '{');
    writer_buffer(writer, "title", &title);
    writer_text(writer, "description", place->hint != NULL ? place->hint : rule->hint);
    writer_keyword(writer, "if");
    write_when(writer, place);
    writer_keyword(writer, "then");
    write_wants(writer, place->wants);
    writer_close(writer, '}');
    parley_buffer_finish(&title);
}

/* Whether rows before this one were for the same types, and so are written. */
static bool is_written(const struct writer *writer, size_t rule_index, size_t place_index) {
    const struct parley_rule *rules = writer->protocol->rules;
    for (size_t i = 0; i <= rule_index; i++) {
        const size_t end = i < rule_index ? rules[i].place_count : place_index;
        for (size_t j = 0; j < end; j++) {
            if (writer_is_expressed(writer, &rules[i], &rules[i].places[j]) &&
                writer_types_of(writer, &rules[i].places[j]) == writer->types) {
                return true;
            }
        }
    }
    return false;
}

/* Begins the list of conditionals, unless `*is_begun`. */
static void begin_conditionals(struct writer *writer, bool *is_begun) {
    if (!*is_begun) {
        writer_keyword(writer, "allOf");
        writer_open(writer, '[');
        *is_begun = true;
    }
}

void writer_conditionals(struct writer *writer, const struct schema_node *root) {
    const struct parley_protocol *protocol = writer->protocol;
    bool is_begun = false;
    for (size_t i = 0; i < protocol->rule_count; i++) {
        const struct parley_rule *rule = &protocol->rules[i];
        for (size_t j = 0; j < rule->place_count; j++) {
            const enum schema_form form = writer_form_of(writer, rule, &rule->places[j]);
            writer->types = writer_types_of(writer, &rule->places[j]);
            if (form == FORM_TESTS) {
                begin_conditionals(writer, &is_begun);
                write_across(writer, rule, &rule->places[j]);
            } else if (form == FORM_NODE && writer->types != writer->every_type &&
                       !is_written(writer, i, j)) {
                begin_conditionals(writer, &is_begun);
                write_conditional(writer, root);
            }
        }
    }
    if (is_begun) {
        writer_close(writer, ']');
    }
}

void writer_conditions_across(struct writer *writer) {
    const struct parley_protocol *protocol = writer->protocol;
    bool is_begun = false;
    for (size_t i = 0; i < protocol->rule_count; i++) {
        const struct parley_rule *rule = &protocol->rules[i];
        for (size_t j = 0; j < rule->place_count; j++) {
            const struct parley_place *place = &rule->places[j];
            if (writer_form_of(writer, rule, place) == FORM_TESTS && writer_is_due(writer, place)) {
                begin_conditionals(writer, &is_begun);
                write_across(writer, rule, place);
            }
        }
    }
    if (is_begun) {
        writer_close(writer, ']');
    }
}
