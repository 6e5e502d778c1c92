/* SPDX-License-Identifier: Apache-2.0 */

/* In which streams families lie, by the subjects of the streams that there are. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jetstream_check.h"
#include "jetstream_map_build.h"
#include "jetstream_placement.h"

enum { STREAMS_MAX = 3 };

static const char *const FAMILIES[] = {"f.tasks.>", "f.events.>", "f.results.>", NULL};
static const struct jetstream_stream STREAM = {
    .name = "OWN", .subjects = "f.>", .families = FAMILIES};

struct row {
    const char *name;
    struct {
        const char *name, *subjects; /* separated by spaces */
    } streams[STREAMS_MAX];
    bool is_ours;      /* parley has made them */
    const char *at;    /* of each family: its stream, separated by spaces; NULL: a fault */
    const char *fault; /* parts of it, separated by a bar */
};

static const struct row ROWS[] = {
    {.name = "there is no stream", .at = "OWN OWN OWN"},
    {.name = "the own one has all", .streams = {{"OWN", "f.>"}}, .at = "OWN OWN OWN"},
    {.name = "another one has all", .streams = {{"x", "f.>"}}, .at = "x x x"},
    {.name = "one has everything there is", .streams = {{"x", ">"}}, .at = "x x x"},
    {.name = "one has what a wildcard covers", .streams = {{"x", "*.tasks.>"}}, .at = "x OWN OWN"},
    {.name = "an operator of Round Table",
     .streams = {{"f_tasks", "f.tasks.>"}, {"f_results", "f.results.>"}},
     .at = "f_tasks OWN f_results"},
    {.name = "one stream has two families and something else",
     .streams = {{"x", "a.> f.results.> f.tasks.>"}},
     .at = "x OWN x"},
    {.name = "one has no subject in common",
     .streams = {{"x", "g.> f.task.>"}},
     .at = "OWN OWN OWN"},
    {.name = "a family is covered in part",
     .streams = {{"x", "f.tasks.research.>"}},
     .fault = "the subjects f.tasks.> lie in part in stream x (f.tasks.research.>)|"
              "give one stream all of f.tasks.>"},
    {.name = "a family is covered by several together",
     .streams = {{"x", "f.results.*"}, {"y", "f.results.*.>"}},
     .fault = "the subjects f.results.> lie in part in|stream x (f.results.*)|"
              "stream y (f.results.*.>)"},
    {.name = "a part of it is in the own one", /* that is not enough, even so */
     .streams = {{"OWN", "f.events.task.claimed"}},
     .fault = "f.events.>|stream OWN (f.events.task.claimed)"},
    {.name = "parley has made the own one",
     .is_ours = true,
     .streams = {{"OWN", "f.>"}},
     .at = "OWN OWN OWN"},
    {.name = "parley has made one for another protocol",
     .is_ours = true,
     .streams = {{"OTHER_F", "f.>"}},
     .fault = "stream OTHER_F, which parley has made for another protocol|another subject prefix"},
    {.name = "parley has made one for families of another protocol",
     .is_ours = true,
     .streams = {{"OTHER_F", "f.beats.> f.tasks.>"}},
     .fault = "the subjects f.tasks.> lie in stream OTHER_F"},
    {.name = "an operator has given one of parley's further subjects",
     .is_ours = true,
     .streams = {{"OTHER", "other.> f.>"}},
     .at = "OTHER OTHER OTHER"},
    {.name = "a name that resume tokens cannot have",
     .streams = {{"a:b", "f.tasks.>"}},
     .fault = "f.tasks.>|not allowed"},
};

static json_t *read_subjects(const char *text) {
    json_t *subjects = json_array();
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, " ");
        json_array_append_new(subjects, json_stringn(text, length));
        text += length + (text[length] == ' ' ? 1 : 0);
    }
    return json_pack("{s:o}", "subjects", subjects);
}

static void assert_placed(const char *at, const struct jetstream_map_build *placing,
                          const struct jetstream_found found[]) {
    char places[256] = "";
    assert_string_equal(placing->fault, "");
    for (size_t i = 0; FAMILIES[i] != NULL; i++) {
        strcat(places, i > 0 ? " " : "");
        strcat(places, placing->at[i] < 0 ? STREAM.name : found[placing->at[i]].name);
    }
    assert_string_equal(places, at);
}

static void assert_refused(const char *parts, const char *fault) {
    while (*parts != '\0') {
        char part[256];
        const size_t length = strcspn(parts, "|");
        memcpy(part, parts, length);
        part[length] = '\0';
        if (strstr(fault, part) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", part, fault);
        }
        parts += length + (parts[length] == '|' ? 1 : 0);
    }
}

static void test_a_family_lies_in_the_stream_that_covers_it(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const struct row *row = &ROWS[i];
        struct jetstream_found found[STREAMS_MAX];
        json_t *configs[STREAMS_MAX];
        size_t count = 0;
        print_message("%s\n", row->name);
        for (; count < STREAMS_MAX && row->streams[count].name != NULL; count++) {
            configs[count] = read_subjects(row->streams[count].subjects);
            json_object_set_new(configs[count], "description",
                                json_string(row->is_ours ? "parley, layout 1" : "mine"));
            found[count] = (struct jetstream_found){row->streams[count].name, configs[count]};
        }
        struct jetstream_map_build placing;
        jetstream_map_build_find(&STREAM, found, count, &placing);
        if (row->at != NULL) {
            assert_placed(row->at, &placing, found);
        } else {
            assert_refused(row->fault, placing.fault);
        }
        while (count > 0) {
            json_decref(configs[--count]);
        }
    }
}

/* A long list of streams does not overflow the sentence. */
static void test_a_fault_is_cut_where_it_is_too_long(void **state) {
    (void)state;
    char name[JETSTREAM_STREAM_MAX];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    json_t *config = read_subjects("f.tasks.a");
    const struct jetstream_found found[] = {{name, config}, {name, config}, {name, config}};
    struct jetstream_map_build placing;
    jetstream_map_build_find(&STREAM, found, 3, &placing);
    assert_int_equal(strlen(placing.fault), JETSTREAM_TROUBLE_MAX - 1);
    json_decref(config);
}

static void test_subjects_collide_where_one_matches_both(void **state) {
    (void)state;
    static const struct {
        const char *one, *other;
        bool collide;
    } rows[] = {
        {"a.>", "a.b", true},     {"a.>", "a", false},      {"a.*", "a.b.c", false},
        {"a.*.c", "a.b.>", true}, {"*.b", "a.*", true},     {"*.b", "a.c", false},
        {">", "a", true},         {"a.b.c", "a.b.c", true}, {"a.b", "a.bc", false},
        {"a.b", "a.b.c", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(jetstream_collides(rows[i].one, rows[i].other), rows[i].collide);
        assert_int_equal(jetstream_collides(rows[i].other, rows[i].one), rows[i].collide);
    }
}

/* It may have several copies, or allow no direct requests. */
static void test_of_another_stream_nothing_is_known_before_it_is_looked_at(void **state) {
    (void)state;
    static struct jetstream jetstream;
    static struct jetstream_check checks[2];
    struct jetstream_group group = {
        .jetstream = &jetstream, .stream = &STREAM, .checks = checks, .check_count = 2};
    const struct jetstream_map_build placing = {.at = {0, -1, -1}};
    jetstream.setup = (struct jetstream_setup){.checks = checks, .check_count = 2};
    for (size_t i = 0; i < 2; i++) {
        checks[i] = (struct jetstream_check){.jetstream = &jetstream,
                                             .group = &group,
                                             .copies = 1,
                                             .direct = JETSTREAM_DIRECT_ON,
                                             .reached = 7};
    }
    strcpy(checks[0].place.stream, STREAM.name);
    strcpy(checks[1].place.stream, "x");
    jetstream_map_assign(&group, &placing, &(struct jetstream_found){.name = "y"});
    assert_int_equal(checks[0].direct, JETSTREAM_DIRECT_ON);
    assert_string_equal(checks[1].place.stream, "y");
    assert_int_equal(checks[1].direct, JETSTREAM_DIRECT_OFF);
    assert_int_equal(checks[1].copies, 0);
    assert_int_equal(checks[1].reached, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_family_lies_in_the_stream_that_covers_it),
        cmocka_unit_test(test_a_fault_is_cut_where_it_is_too_long),
        cmocka_unit_test(test_subjects_collide_where_one_matches_both),
        cmocka_unit_test(test_of_another_stream_nothing_is_known_before_it_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
