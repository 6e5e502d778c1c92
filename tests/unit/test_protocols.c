/* SPDX-License-Identifier: Apache-2.0 */

/* The plugin tables: whole, consistent, and built into schemas. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <parley/message.h>

#include "rules/constraint.h"
#include "rules/schema.h"

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
static const char option_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

static void test_every_protocol_has_its_mandatory_parts(void **state) {
    (void)state;
    assert_non_null(parley_protocols[0]);
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        assert_non_null(protocol->name);
        assert_int_equal(strspn(protocol->name, name_letters), strlen(protocol->name));
        assert_true(protocol->name[0] != '\0');
        assert_non_null(protocol->title);
        assert_non_null(protocol->spec_version);
        assert_non_null(protocol->stream);
        assert_non_null(protocol->subjects);
        assert_true(protocol->message_bytes_max > 0);
        assert_non_null(protocol->types);
        assert_non_null(protocol->fields);
        assert_non_null(protocol->rules);
        assert_non_null(protocol->codecs);
        assert_non_null(protocol->codecs[0]);
        assert_true(protocol->decode != NULL && protocol->validate != NULL &&
                    protocol->encode != NULL && protocol->route != NULL);
    }
}

static void test_the_subjects_of_a_protocol_are_those_below_its_name(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        const size_t length = strlen(protocol->name);
        assert_int_equal(strncmp(protocol->subjects, protocol->name, length), 0);
        assert_string_equal(protocol->subjects + length, ".>");
    }
}

static size_t count_options_named(const char *name) {
    size_t count = 0;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_option *at = parley_protocols[i]->options;
        for (; at != NULL && at->help.name != NULL; at++) {
            count += strcmp(at->help.name, name) == 0;
        }
    }
    return count;
}

static void check_option(const struct parley_option *option) {
    assert_int_equal(strspn(option->help.name, option_letters), strlen(option->help.name));
    assert_true(option->server.help == NULL || count_options_named(option->help.name) == 1);
    assert_string_not_equal(option->help.name, "stamp");
    assert_string_not_equal(option->help.name, "agent");
    assert_string_not_equal(option->help.name, "dialect");
    assert_true(option->help.does != NULL || option->server.help != NULL);
    assert_true((option->type == PARLEY_OPTION_SWITCH) == (option->value_name == NULL));
    assert_true((option->type == PARLEY_OPTION_CHOICE) == (option->choices != NULL));
    assert_true((option->type == PARLEY_OPTION_TEXT) == (option->is_text != NULL));
    if (option->help.does != NULL) {
        assert_true(option->help.wants != NULL && option->help.schema != NULL);
        assert_int_not_equal(option->type, PARLEY_OPTION_TIME);
    }
    if (option->header != NULL) { /* its value outlives no header */
        assert_true(option->help.does != NULL && option->header_types != 0);
        assert_int_not_equal(option->type, PARLEY_OPTION_TEXT);
    }
    if (option->server.help != NULL) {
        assert_non_null(option->server.fallback);
        assert_int_not_equal(option->type, PARLEY_OPTION_TEXT);
        assert_int_not_equal(option->type, PARLEY_OPTION_MOMENT);
    }
}

static void test_every_option_is_whole_and_has_a_name_of_its_own(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_option *options = parley_protocols[i]->options;
        for (size_t k = 0; options != NULL && options[k].help.name != NULL; k++) {
            assert_in_range(k, 0, PARLEY_OPTIONS_MAX - 1);
            check_option(&options[k]);
        }
    }
}

static void test_every_problem_is_whole(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_problem *at = parley_protocols[i]->problems;
        for (; at != NULL && at->name != NULL; at++) {
            assert_int_equal(strspn(at->name, name_letters), strlen(at->name));
            assert_in_range(at->status, 400, 499);
            assert_true(at->title != NULL && at->advice != NULL);
        }
    }
}

static void test_names_and_streams_are_unique(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(parley_protocols[i]->name, parley_protocols[j]->name);
            assert_string_not_equal(parley_protocols[i]->stream, parley_protocols[j]->stream);
        }
    }
}

static void test_a_protocol_is_found_by_its_whole_name(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        assert_ptr_equal(parley_protocol_find(parley_bytes_of(parley_protocols[i]->name)),
                         parley_protocols[i]);
    }
    assert_null(parley_protocol_find(PARLEY_BYTES("")));
    assert_null(parley_protocol_find(PARLEY_BYTES("vl")));
    assert_null(parley_protocol_find(PARLEY_BYTES("vlpx")));
    assert_null(parley_protocol_find(PARLEY_BYTES("VLP")));
    assert_null(parley_protocol_find(PARLEY_BYTES("vlp\0")));
}

static size_t count_of(const char *const *list) {
    size_t count = 0;
    while (list[count] != NULL) {
        for (size_t i = 0; i < count; i++) {
            assert_string_not_equal(list[i], list[count]);
        }
        count++;
    }
    return count;
}

static void test_types_lanes_and_fields_fit_and_are_unique(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        assert_in_range(count_of(protocol->types), 1, PARLEY_TYPE_OTHER);
        assert_in_range(count_of(protocol->fields), 1, PARLEY_FIELDS_MAX);
        assert_true(protocol->type_field < count_of(protocol->fields));
        if (protocol->lanes != NULL) {
            assert_true(count_of(protocol->lanes) > 0);
        }
    }
}

static void assert_sentence(const char *text, const char *of) {
    if (text == NULL || strlen(text) < 2) {
        fail_msg("%s lacks a text", of);
    }
}

static void check_places(const struct parley_rule *rule) {
    assert_true(rule->place_count > 0);
    for (size_t i = 0; i < rule->place_count; i++) {
        const struct parley_place *place = &rule->places[i];
        assert_true(place->path[0] == '/' || place->path[0] == '\0');
        if (place->hint == NULL) {
            assert_sentence(rule->hint, rule->id);
        } else {
            assert_sentence(place->hint, rule->id);
        }
        if (place_is_over_members(place)) {
            assert_sentence(place->message, rule->id);
        }
        assert_true(place->is_broken == NULL || place->wants == NULL);
        assert_true(place->when == NULL || place->wants != NULL);
        if (place->constraint == PARLEY_ONE_OF) {
            assert_true(count_of(place->choices) > 0);
        }
    }
}

static void check_rule(const struct parley_rule *rule) {
    assert_sentence(rule->id, "a rule");
    assert_sentence(rule->summary, rule->id);
    assert_sentence(rule->source, rule->id);
    if (rule->summary[strlen(rule->summary) - 1] == '.') {
        fail_msg("the summary of %s ends with a full stop", rule->id);
    }
    assert_true(rule->severity == PARLEY_ERROR || rule->severity == PARLEY_WARNING);
}

static void test_every_rule_has_its_texts_and_places(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        for (size_t j = 0; j < parley_protocols[i]->rule_count; j++) {
            check_rule(&parley_protocols[i]->rules[j]);
            check_places(&parley_protocols[i]->rules[j]);
        }
    }
    for (size_t i = 0; i < PARLEY_GW_COUNT; i++) {
        check_rule(&parley_gateway_rules[i]);
        assert_sentence(parley_gateway_rules[i].hint, parley_gateway_rules[i].id);
        assert_int_equal(parley_gateway_rules[i].severity,
                         i == PARLEY_GW_TRANSPORT || i == PARLEY_GW_SPELLING ? PARLEY_WARNING
                                                                             : PARLEY_ERROR);
    }
}

/* The hint of the row that demands this member, or NULL. */
static const char *hint_of_required(const struct parley_protocol *protocol, const char *member) {
    for (size_t i = 0; i < protocol->rule_count; i++) {
        const struct parley_rule *rule = &protocol->rules[i];
        for (size_t j = 0; j < rule->place_count; j++) {
            const struct parley_place *place = &rule->places[j];
            if (place->is_required && strcmp(place->path + 1, member) == 0) {
                return place->hint != NULL ? place->hint : rule->hint;
            }
        }
    }
    return NULL;
}

/* (protocols c 1-7: the documents' own messages leave these members out) */
static void test_the_hint_at_a_member_that_stamp_fills_names_stamp(void **state) {
    (void)state;
    size_t count = 0;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_stamp *stamp = parley_protocols[i]->stamps;
        for (; stamp != NULL && stamp->member != NULL; stamp++) {
            const char *hint = hint_of_required(parley_protocols[i], stamp->member);
            if (hint != NULL && strstr(hint, "`stamp=true`") == NULL) {
                fail_msg("%s, %s: %s", parley_protocols[i]->name, stamp->member, hint);
            }
            count += hint != NULL;
        }
    }
    assert_true(count >= 7);
}

/* (contract 12) That the section exists is tests/docs/rules_have_pages' to check. */
static void test_every_source_names_a_section_of_its_protocols_page(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        char page[64];
        const int length =
            snprintf(page, sizeof page, "docs/protocols/%s.md#", parley_protocols[i]->name);
        assert_in_range(length, 1, sizeof page - 1);
        for (size_t j = 0; j < parley_protocols[i]->rule_count; j++) {
            const struct parley_rule *rule = &parley_protocols[i]->rules[j];
            if (strncmp(rule->source, page, (size_t)length) != 0 || rule->source[length] == '\0') {
                fail_msg("%s: %s", rule->id, rule->source);
            }
        }
    }
    for (size_t i = 0; i < PARLEY_GW_COUNT; i++) {
        assert_string_equal(parley_gateway_rules[i].source, "docs/rules.md#gw");
    }
}

static void check_order_below(const struct schema_node *node) {
    bool has_warning = false;
    for (const struct schema_check *check = node->checks; check != NULL; check = check->next) {
        if (check->rule->severity == PARLEY_ERROR && has_warning) {
            fail_msg("%s, an error, stands below a warning", check->rule->id);
        }
        has_warning = has_warning || check->rule->severity == PARLEY_WARNING;
    }
    for (const struct schema_node *child = node->children; child != NULL; child = child->next) {
        check_order_below(child);
    }
    if (node->every != NULL) {
        check_order_below(node->every);
    }
}

static void test_rule_ids_are_unique_and_in_order(void **state) {
    (void)state;
    enum { RULES_MAX = 512 };
    const char *ids[RULES_MAX + 1] = {NULL};
    size_t count = 0;
    for (; count < PARLEY_GW_COUNT; count++) {
        ids[count] = parley_gateway_rules[count].id;
    }
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        for (size_t j = 0; j < protocol->rule_count; j++) {
            assert_true(count < RULES_MAX);
            ids[count++] = protocol->rules[j].id;
            if (j > 0) {
                assert_true(strcmp(protocol->rules[j - 1].id, protocol->rules[j].id) < 0);
            }
        }
    }
    assert_int_equal(count_of(ids), count);
}

/* At one place the rules below one that failed are not asked: an error must stand above. */
static void test_no_warning_stands_above_an_error_at_its_place(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        struct parley_schema *schema = NULL;
        assert_int_equal(parley_schema_create(parley_protocols[i], &schema), PARLEY_OK);
        check_order_below(&schema->root);
        parley_schema_destroy(schema);
    }
}

static void test_every_codec_of_a_protocol_has_media_types_of_its_own(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        for (size_t j = 0; protocol->codecs[j] != NULL; j++) {
            const struct parley_codec *codec = protocol->codecs[j];
            assert_non_null(codec->name);
            assert_true(count_of(codec->media_types) > 0);
            assert_true(count_of(codec->extensions) > 0);
            for (size_t k = 0; codec->media_types[k] != NULL; k++) {
                assert_ptr_equal(
                    parley_codec_find(protocol, parley_bytes_of(codec->media_types[k])), codec);
            }
        }
    }
}

static void test_a_codec_is_found_in_any_case_and_with_parameters(void **state) {
    (void)state;
    const struct parley_protocol *protocol = parley_protocols[0];
    static const char *const known[] = {
        "application/json",      "Application/JSON",    "application/json; charset=utf-8",
        "application/json ;x=y", " application/json\t", "application/json;"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_ptr_equal(parley_codec_find(protocol, parley_bytes_of(known[i])),
                         &parley_codec_json);
    }
    static const char *const unknown[] = {"",
                                          " ",
                                          ";",
                                          "application",
                                          "application/jsonx",
                                          "application/ json",
                                          "text/json",
                                          "*/*",
                                          "application/json, application/x-ndjson"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_null(parley_codec_find(protocol, parley_bytes_of(unknown[i])));
    }
    assert_null(parley_codec_find(protocol, (struct parley_bytes){NULL, 0}));
}

static void test_every_schema_is_built(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        struct parley_schema *schema = NULL;
        assert_int_equal(parley_schema_create(parley_protocols[i], &schema), PARLEY_OK);
        parley_schema_destroy(schema);
    }
    parley_schema_destroy(NULL);
}

static void assert_flawless(struct parley_message *message, const struct parley_example *example) {
    const struct parley_options options = {0};
    assert_int_equal(parley_message_check(message, parley_bytes_of(example->text),
                                          &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    if (message->findings.count > 0) {
        const struct parley_finding *finding = &message->findings.items[0];
        fail_msg("the example %s of %s: %s %s: %s", example->name, message->protocol->name,
                 finding->rule->id, finding->path, finding->message);
    }
}

static void test_an_example_keeps_every_rule_and_gives_no_warning(void **state) {
    (void)state;
    size_t count = 0;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_example *examples = parley_protocols[i]->examples;
        struct parley_schema *schema;
        struct parley_message message;
        assert_int_equal(parley_schema_create(parley_protocols[i], &schema), PARLEY_OK);
        parley_message_init(&message, schema);
        for (size_t j = 0; examples != NULL && examples[j].name != NULL; j++) {
            assert_true(strspn(examples[j].name, name_letters) == strlen(examples[j].name));
            assert_non_null(examples[j].title);
            for (size_t k = 0; k < j; k++) {
                assert_string_not_equal(examples[k].name, examples[j].name);
            }
            assert_flawless(&message, &examples[j]);
            count++;
        }
        parley_message_finish(&message);
        parley_schema_destroy(schema);
    }
    assert_true(count > 0);
}

static void test_every_status_has_a_text(void **state) {
    (void)state;
#define X(name, text) assert_string_equal(parley_status_text(name), text);
    PARLEY_STATUS_LIST(X)
#undef X
    assert_non_null(parley_status_text((enum parley_status)1000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_protocol_has_its_mandatory_parts),
        cmocka_unit_test(test_the_subjects_of_a_protocol_are_those_below_its_name),
        cmocka_unit_test(test_every_option_is_whole_and_has_a_name_of_its_own),
        cmocka_unit_test(test_every_problem_is_whole),
        cmocka_unit_test(test_names_and_streams_are_unique),
        cmocka_unit_test(test_a_protocol_is_found_by_its_whole_name),
        cmocka_unit_test(test_types_lanes_and_fields_fit_and_are_unique),
        cmocka_unit_test(test_every_rule_has_its_texts_and_places),
        cmocka_unit_test(test_the_hint_at_a_member_that_stamp_fills_names_stamp),
        cmocka_unit_test(test_every_source_names_a_section_of_its_protocols_page),
        cmocka_unit_test(test_rule_ids_are_unique_and_in_order),
        cmocka_unit_test(test_no_warning_stands_above_an_error_at_its_place),
        cmocka_unit_test(test_every_codec_of_a_protocol_has_media_types_of_its_own),
        cmocka_unit_test(test_a_codec_is_found_in_any_case_and_with_parameters),
        cmocka_unit_test(test_every_schema_is_built),
        cmocka_unit_test(test_an_example_keeps_every_rule_and_gives_no_warning),
        cmocka_unit_test(test_every_status_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
