/* SPDX-License-Identifier: Apache-2.0 */

/* What a sender may set, and to what. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <parley/dialect.h>
#include <parley/message.h>

static struct parley_options options;

/* The protocol that has an option of that name, and the option's place; for others the first one.
 */
static const struct parley_protocol *owner_of(const char *name, size_t *out_place) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_option *rows = parley_protocols[i]->options;
        for (*out_place = 0; rows != NULL && rows[*out_place].help.name != NULL; ++*out_place) {
            if (strcmp(rows[*out_place].help.name, name) == 0) {
                return parley_protocols[i];
            }
        }
    }
    return parley_protocols[0];
}

static union parley_option_value value_of(const char *name) {
    size_t place;
    owner_of(name, &place);
    return options.values[place];
}

static enum parley_option_result set_more(const char *name, const char *value) {
    const char *wants = NULL;
    size_t place;
    const enum parley_option_result result =
        parley_options_set(&options, owner_of(name, &place), name, value, &wants);
    if (result != PARLEY_OPTION_UNKNOWN) {
        assert_non_null(wants);
    }
    return result;
}

static enum parley_option_result set(const char *name, const char *value) {
    options = (struct parley_options){0};
    return set_more(name, value);
}

static void assert_refuses(const char *name, const char *value) {
    static const struct parley_options untouched;
    if (set(name, value) != PARLEY_OPTION_INVALID) {
        fail_msg("%s=%s was taken", name, value);
    }
    assert_memory_equal(&options, &untouched, sizeof options);
}

static void test_flags_are_true_or_false(void **state) {
    (void)state;
    assert_int_equal(set("strict", "true"), PARLEY_OPTION_SET);
    assert_true(value_of("strict").is_on);
    assert_false(options.stamp);
    assert_int_equal(set("stamp", "true"), PARLEY_OPTION_SET);
    assert_true(options.stamp);
    assert_false(value_of("strict").is_on);
    static const char *const wrong[] = {"", "1", "yes", "TRUE", "true ", " true", "truefalse"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_refuses("strict", wrong[i]);
        assert_refuses("stamp", wrong[i]);
    }
}

static void test_a_flag_may_be_taken_back(void **state) {
    (void)state;
    assert_int_equal(set("strict", "true"), PARLEY_OPTION_SET);
    assert_int_equal(set_more("strict", "false"), PARLEY_OPTION_SET);
    assert_false(value_of("strict").is_on);
}

static void test_from_is_what_the_protocol_says(void **state) {
    (void)state;
    static const struct {
        const char *protocol, *value;
        enum parley_option_result result;
    } rows[] = {
        {"supervisor", "gerbil", PARLEY_OPTION_SET},
        {"supervisor", "elixir", PARLEY_OPTION_SET},
        {"supervisor", "", PARLEY_OPTION_INVALID},
        {"supervisor", "Gerbil", PARLEY_OPTION_INVALID},
        {"supervisor", "erlang", PARLEY_OPTION_INVALID},
        {"roundtable", "Gerbil", PARLEY_OPTION_SET},
        {"roundtable", "Zo\xC3\xAB", PARLEY_OPTION_SET},
        {"roundtable", "", PARLEY_OPTION_INVALID},
        {"roundtable", "a.b", PARLEY_OPTION_INVALID},
        {"roundtable", "a\xFF", PARLEY_OPTION_INVALID},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct parley_protocol *its = parley_protocol_find(parley_bytes_of(rows[i].protocol));
        const char *wants;
        options = (struct parley_options){0};
        assert_int_equal(parley_options_set(&options, its, "from", rows[i].value, &wants),
                         rows[i].result);
    }
}

static void test_a_dialect_is_one_of_the_protocol(void **state) {
    (void)state;
    const struct parley_protocol *roundtable = parley_protocol_find(PARLEY_BYTES("roundtable"));
    const struct parley_protocol *vlp = parley_protocol_find(PARLEY_BYTES("vlp"));
    const char *wants;
    options = (struct parley_options){0};
    assert_int_equal(parley_options_set(&options, roundtable, "dialect", "knights", &wants),
                     PARLEY_OPTION_SET);
    assert_ptr_equal(options.dialect, parley_dialect_find(roundtable, PARLEY_BYTES("knights")));
    assert_int_equal(parley_options_set(&options, roundtable, "dialect", "knight", &wants),
                     PARLEY_OPTION_INVALID);
    assert_int_equal(parley_options_set(&options, roundtable, "dialect", "", &wants),
                     PARLEY_OPTION_INVALID);
    assert_int_equal(parley_options_set(&options, vlp, "dialect", "knights", &wants),
                     PARLEY_OPTION_INVALID);
}

static void test_a_domain_is_one_token_of_a_subject(void **state) {
    (void)state;
    char longest[130];
    memset(longest, 'a', sizeof longest);
    longest[128] = '\0';
    assert_int_equal(set("domain", "research_2-x"), PARLEY_OPTION_SET);
    assert_string_equal(value_of("domain").text, "research_2-x");
    assert_int_equal(set("domain", "Research"), PARLEY_OPTION_SET);
    assert_int_equal(set("domain", longest), PARLEY_OPTION_SET);
    longest[128] = 'a';
    longest[129] = '\0';
    static const char *const wrong[] = {"", "a.b", "*", ">", "a b", "a@b", "\xC3\xA9", "a\n"};
    assert_refuses("domain", longest);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_refuses("domain", wrong[i]);
    }
}

static void test_an_agent_is_one_token_that_begins_with_a_letter_or_digit(void **state) {
    (void)state;
    char longest[66];
    memset(longest, 'a', sizeof longest);
    longest[64] = '\0';
    const char *const right[] = {"a", "0", "Coder-1", "a_b-C9", longest};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_int_equal(set("agent", right[i]), PARLEY_OPTION_SET);
        assert_string_equal(options.agent, right[i]);
    }
    longest[64] = 'a';
    longest[65] = '\0';
    const char *const wrong[] = {"",  "_",   "-a", "_a",       "a.b", "*",
                                 ">", "a b", "a/", "\xC3\xA9", "a\n", longest};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_refuses("agent", wrong[i]);
    }
}

static void test_a_count_is_a_whole_number_in_its_range(void **state) {
    (void)state;
    static const struct {
        const char *name, *value;
        uint64_t number;
    } right[] = {{"lease", "60", 60},
                 {"lease", "86400", 86400},
                 {"lease", "0000900", 900},
                 {"attempts", "1", 1},
                 {"attempts", "100", 100}};
    static const struct {
        const char *name, *value;
    } wrong[] = {{"lease", "59"},     {"lease", "86401"},    {"lease", "60.5"},
                 {"lease", "-60"},    {"lease", " 60"},      {"lease", "60s"},
                 {"lease", ""},       {"lease", "6e2"},      {"attempts", "0"},
                 {"attempts", "101"}, {"attempts", "three"}, {"attempts", "18446744073709551617"}};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_int_equal(set(right[i].name, right[i].value), PARLEY_OPTION_SET);
        assert_int_equal(value_of(right[i].name).number, right[i].number);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_refuses(wrong[i].name, wrong[i].value);
    }
}

enum { NOW = 1770564000, DAY = 86400 }; /* 2026-02-08T15:20:00Z */

static enum parley_option_result set_due(const char *value) {
    options = (struct parley_options){.now_seconds = NOW};
    return set_more("not_before", value);
}

static void test_a_moment_is_a_time_or_a_length_of_time_from_now_on(void **state) {
    (void)state;
    static const struct {
        const char *value;
        uint64_t number;
    } right[] = {{"2026-02-08T15:20:01Z", NOW + 1},
                 {"2026-02-08t16:20:00.25+01:00", NOW + 1},
                 {"2026-02-08T15:00:00Z", NOW - 1200},
                 {"1969-12-31T23:59:59Z", 1},
                 {"2026-03-10T15:20:00Z", NOW + 30 * DAY},
                 {"0s", NOW},
                 {"90s", NOW + 90},
                 {"15m", NOW + 900},
                 {"24h", NOW + DAY},
                 {"30d", NOW + 30 * DAY},
                 {"720h", NOW + 30 * DAY}};
    static const char *const wrong[] = {"",
                                        "30",
                                        "1w",
                                        "1.5h",
                                        "-1h",
                                        "1h30m",
                                        " 1h",
                                        "1h ",
                                        "31d",
                                        "721h",
                                        "2592001s",
                                        "1D",
                                        "soon",
                                        "15:20",
                                        "d",
                                        "1ms",
                                        "99999999999999999999d",
                                        "2026-02-08",
                                        "2026-02-08T15:20:00",
                                        "2026-02-30T15:20:00Z",
                                        "2026-03-10T15:20:01Z"};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_int_equal(set_due(right[i].value), PARLEY_OPTION_SET);
        assert_int_equal(value_of("not_before").number, right[i].number);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (set_due(wrong[i]) != PARLEY_OPTION_INVALID) {
            fail_msg("not_before=%s was taken", wrong[i]);
        }
    }
}

/* ---- headers ---- */

static const struct parley_protocol *roundtable(void) {
    return parley_protocol_find(PARLEY_BYTES("roundtable"));
}

static void test_a_header_says_the_value_of_an_option(void **state) {
    (void)state;
    static const struct {
        const char *name, *value, *header, *text; /* text NULL: it is not said */
    } rows[] = {{"lease", "0900", "Parley-Lease", "900"},
                {"attempts", "5", "Parley-Attempts", "5"},
                {"not_before", "1h", "Parley-Not-Before", "2026-02-08T16:20:00Z"},
                {"lease", NULL, "Parley-Lease", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_buffer out;
        size_t place;
        owner_of(rows[i].name, &place);
        const struct parley_option *option = &roundtable()->options[place];
        options = (struct parley_options){.now_seconds = NOW};
        if (rows[i].value != NULL) {
            assert_int_equal(set_more(rows[i].name, rows[i].value), PARLEY_OPTION_SET);
        }
        parley_buffer_init(&out);
        assert_string_equal(option->header, rows[i].header);
        assert_int_equal(parley_option_write(option, value_of(rows[i].name), &out),
                         rows[i].text != NULL);
        assert_true(parley_bytes_equal(parley_buffer_bytes(&out),
                                       parley_bytes_of(rows[i].text != NULL ? rows[i].text : "")));
        parley_buffer_finish(&out);
    }
}

struct header {
    const char *name, *value;
};

static const char *find_header(void *context, const char *name) {
    const struct header *header = context;
    return strcmp(header->name, name) == 0 ? header->value : NULL;
}

static void test_an_option_is_read_from_its_header_unless_that_is_not_allowed(void **state) {
    (void)state;
    struct {
        struct header header;
        const char *option;
        uint64_t number;
    } rows[] = {{{"Parley-Lease", "900"}, "lease", 900},
                {{"Parley-Lease", "59"}, "lease", 0},
                {{"Parley-Lease", ""}, "lease", 0},
                {{"Parley-Attempts", "100"}, "attempts", 100},
                {{"Parley-Attempts", "101"}, "attempts", 0},
                {{"Parley-Not-Before", "60s"}, "not_before", NOW + 60},
                {{"Parley-Not-Before", "2026-02-08T15:20:30Z"}, "not_before", NOW + 30},
                {{"Parley-Not-Before", "31d"}, "not_before", 0},
                {{"Parley-Digest", "900"}, "lease", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        options = (struct parley_options){.now_seconds = NOW};
        parley_options_read_headers(&options, roundtable(), find_header, &rows[i].header);
        assert_int_equal(value_of(rows[i].option).number, rows[i].number);
    }
}

static void test_an_option_of_another_protocol_is_checked_and_does_nothing(void **state) {
    (void)state;
    static const struct parley_options untouched;
    const struct parley_protocol *vlp = parley_protocol_find(PARLEY_BYTES("vlp"));
    const char *wants;
    options = untouched;
    assert_int_equal(parley_options_set(&options, vlp, "domain", "security", &wants),
                     PARLEY_OPTION_SET);
    assert_int_equal(parley_options_set(&options, vlp, "domain", "a.b", &wants),
                     PARLEY_OPTION_INVALID);
    assert_string_equal(wants, "1 to 128 of A-Z a-z 0-9 _ -");
    assert_memory_equal(&options, &untouched, sizeof options);
}

static void test_what_only_the_operator_decides_is_no_option_of_a_request(void **state) {
    (void)state;
    static const char *const names[] = {"on-halt", "lifecycle", "checkpoints-keep", "wal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(set(names[i], "on"), PARLEY_OPTION_UNKNOWN);
    }
}

static void test_other_names_are_unknown(void **state) {
    (void)state;
    static const char *const names[] = {"", "Strict", "strict ", "message_bytes_max", "now", "id"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(set(names[i], "true"), PARLEY_OPTION_UNKNOWN);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags_are_true_or_false),
        cmocka_unit_test(test_a_flag_may_be_taken_back),
        cmocka_unit_test(test_from_is_what_the_protocol_says),
        cmocka_unit_test(test_a_dialect_is_one_of_the_protocol),
        cmocka_unit_test(test_a_domain_is_one_token_of_a_subject),
        cmocka_unit_test(test_an_agent_is_one_token_that_begins_with_a_letter_or_digit),
        cmocka_unit_test(test_a_count_is_a_whole_number_in_its_range),
        cmocka_unit_test(test_a_moment_is_a_time_or_a_length_of_time_from_now_on),
        cmocka_unit_test(test_a_header_says_the_value_of_an_option),
        cmocka_unit_test(test_an_option_is_read_from_its_header_unless_that_is_not_allowed),
        cmocka_unit_test(test_an_option_of_another_protocol_is_checked_and_does_nothing),
        cmocka_unit_test(test_what_only_the_operator_decides_is_no_option_of_a_request),
        cmocka_unit_test(test_other_names_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
