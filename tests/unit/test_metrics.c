/* SPDX-License-Identifier: Apache-2.0 */

/* The table of metrics, what threads count, and the text that it becomes. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "exposition.h"
#include "process.h"

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static void test_names_keep_the_conventions(void **state) {
    (void)state;
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric_row *row = &metric_rows[i];
        assert_non_null(row->name);
        assert_true(strncmp(row->name, "parley_", 7) == 0 ||
                    strncmp(row->name, "process_", 8) == 0);
        assert_int_equal(strspn(row->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(row->name));
        assert_false(ends_with(row->name, "_total"));
        assert_true(row->unit == NULL || ends_with(row->name, row->unit));
        assert_true(row->unit != NULL ||
                    (!ends_with(row->name, "_seconds") && !ends_with(row->name, "_bytes")));
        assert_true(ends_with(row->help, "."));
        assert_null(strpbrk(row->help, "\\\"\n|"));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(row->name, metric_rows[j].name);
        }
    }
}

static size_t label_count(const struct metric_row *row) {
    size_t count = 0;
    while (count < METRIC_LABELS_MAX && row->labels[count] != NULL) {
        count++;
    }
    return count;
}

static void test_each_figure_is_a_sample_of_its_metric(void **state) {
    (void)state;
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        const struct metric_row *row = &metric_rows[figure_rows[i].metric];
        assert_int_equal(label_count(row), figure_rows[i].label != NULL);
        assert_true(figure_rows[i].per_unit == 0 ||
                    (row->unit != NULL && strcmp(row->unit, "seconds") == 0));
    }
    assert_true(parley_protocol_count() * 2 + 1 <=
                FIGURES_STREAMS_MAX); /* and what is remembered */
}

static void test_every_protocol_has_room(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        size_t types = 0;
        while (protocol->types[types] != NULL) {
            types++;
        }
        assert_in_range(types, 1, FIGURES_TYPES - 1);
        assert_in_range(protocol->rule_count + PARLEY_GW_COUNT, 1, FIGURES_RULES_MAX);
        assert_int_equal(figures_rule_index(protocol, &protocol->rules[1]), 1);
        assert_int_equal(figures_rule_index(protocol, &parley_gateway_rules[PARLEY_GW_SENDER]),
                         protocol->rule_count + PARLEY_GW_SENDER);
    }
}

static void test_a_status_is_counted_under_its_own_number(void **state) {
    (void)state;
    assert_int_equal(figures_status_index(0), 0);
    for (size_t i = 1; i < FIGURES_STATUSES - 1; i++) {
        if (figures_statuses[i] != 0) {
            assert_int_equal(figures_status_index(figures_statuses[i]), i);
        }
    }
    assert_int_equal(figures_status_index(418), FIGURES_STATUSES - 1);
}

static void test_threads_share_no_cache_line(void **state) {
    (void)state;
    struct figures *figures = figures_create();
    assert_non_null(figures);
    assert_int_equal((uintptr_t)figures % 64, 0);
    figures_destroy(figures);
    figures_destroy(NULL);
}

/* ---- histograms ---- */

static void test_a_duration_goes_to_the_first_bucket_that_holds_it(void **state) {
    (void)state;
    static const struct {
        uint64_t ns;
        size_t bucket;
    } rows[] = {{0, 0},
                {1, 0},
                {50000, 0},
                {50001, 1},
                {100000, 1},
                {100001, 2},
                {200000, 2},
                {1000000, 5},
                {UINT64_C(13107200000), 18},
                {UINT64_C(13107200001), 19},
                {UINT64_MAX, 19}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct histogram histogram = {0};
        histogram_add(&histogram, rows[i].ns);
        for (size_t j = 0; j <= HISTOGRAM_BUCKETS; j++) {
            assert_int_equal(counter_read(&histogram.counts[j]), j == rows[i].bucket);
        }
        assert_true(rows[i].bucket == HISTOGRAM_BUCKETS ||
                    rows[i].ns <= histogram_bound_ns(rows[i].bucket));
        assert_int_equal(counter_read(&histogram.sum_ns), rows[i].ns);
    }
}

/* ---- the text ---- */

struct world {
    struct figures *blocks[2];
    struct figures_set set;
    struct parley_buffer out;
    struct exposition exposition;
};

static int set_up(void **state) {
    static struct world world;
    world.blocks[0] = figures_create();
    world.blocks[1] = figures_create();
    world.set = (struct figures_set){world.blocks, 2};
    parley_buffer_init(&world.out);
    *state = &world;
    return world.blocks[0] != NULL && world.blocks[1] != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    struct world *world = *state;
    figures_destroy(world->blocks[0]);
    figures_destroy(world->blocks[1]);
    parley_buffer_finish(&world->out);
    return 0;
}

static const char *text_of(struct world *world) {
    parley_buffer_char(&world->out, '\0');
    assert_false(world->out.has_failed);
    return world->out.data;
}

static void begin(struct world *world, enum exposition_format format, enum metric metric) {
    parley_buffer_clear(&world->out);
    exposition_init(&world->exposition, format, &world->out);
    exposition_begin(&world->exposition, metric);
}

static void test_counters_of_all_threads_are_added_up(void **state) {
    struct world *world = *state;
    counter_add(&world->blocks[0]->values[FIGURE_SENT_BYTES], 3);
    counter_add(&world->blocks[1]->values[FIGURE_SENT_BYTES], 4);
    exposition_init(&world->exposition, EXPOSITION_PROMETHEUS, &world->out);
    exposition_figures(&world->exposition, METRIC_HTTP_SENT_BYTES, &world->set);
    exposition_end(&world->exposition);
    assert_string_equal(text_of(world),
                        "# HELP parley_http_sent_bytes_total Bytes of response bodies as sent, "
                        "after compression.\n"
                        "# TYPE parley_http_sent_bytes_total counter\n"
                        "parley_http_sent_bytes_total 7\n");
}

static void test_openmetrics_says_units_and_its_end(void **state) {
    struct world *world = *state;
    counter_set(&world->blocks[1]->values[FIGURE_PROCESS_CPU_US], 1000002);
    exposition_init(&world->exposition, EXPOSITION_OPENMETRICS, &world->out);
    exposition_figures(&world->exposition, METRIC_PROCESS_CPU, &world->set);
    exposition_end(&world->exposition);
    assert_string_equal(text_of(world), "# HELP process_cpu_seconds CPU time of the process.\n"
                                        "# TYPE process_cpu_seconds counter\n"
                                        "# UNIT process_cpu_seconds seconds\n"
                                        "process_cpu_seconds_total 1.000002\n"
                                        "# EOF\n");
}

static void test_labels_are_in_the_order_of_the_table(void **state) {
    struct world *world = *state;
    begin(world, EXPOSITION_PROMETHEUS, METRIC_MESSAGES);
    parley_buffer_clear(&world->out);
    exposition_sample(&world->exposition, (const char *const[]){"vlp", "claim", "accepted"}, 5, 1);
    assert_string_equal(
        text_of(world),
        "parley_messages_total{protocol=\"vlp\",type=\"claim\",outcome=\"accepted\"} 5\n");
}

/* The lines with these beginnings, since the whole would be long. */
static void assert_has_line(const char *text, const char *line) {
    const char *found = strstr(text, line);
    assert_non_null(found);
    assert_true(found == text || found[-1] == '\n');
}

static void test_buckets_of_a_histogram_hold_those_below(void **state) {
    struct world *world = *state;
    const size_t offset = sizeof(struct figures) + offsetof(struct protocol_figures, ack);
    const char *const labels[] = {"vlp"};
    histogram_add(&world->blocks[0]->protocols[0].ack, 40000);
    histogram_add(&world->blocks[1]->protocols[0].ack, 150000);
    histogram_add(&world->blocks[1]->protocols[0].ack, UINT64_C(20000000000));
    begin(world, EXPOSITION_PROMETHEUS, METRIC_ACK_DURATION);
    exposition_histogram(&world->exposition, labels, &world->set, offset);
    const char *text = text_of(world);
    assert_has_line(text, "parley_ack_duration_seconds_bucket{protocol=\"vlp\",le=\"5e-05\"} 1\n");
    assert_has_line(text, "parley_ack_duration_seconds_bucket{protocol=\"vlp\",le=\"0.0001\"} 1\n");
    assert_has_line(text, "parley_ack_duration_seconds_bucket{protocol=\"vlp\",le=\"0.0002\"} 2\n");
    assert_has_line(text,
                    "parley_ack_duration_seconds_bucket{protocol=\"vlp\",le=\"13.1072\"} 2\n");
    assert_has_line(text, "parley_ack_duration_seconds_bucket{protocol=\"vlp\",le=\"+Inf\"} 3\n");
    assert_has_line(text, "parley_ack_duration_seconds_sum{protocol=\"vlp\"} 20.000190000\n");
    assert_has_line(text, "parley_ack_duration_seconds_count{protocol=\"vlp\"} 3\n");
}

static void test_the_kernel_is_asked_about_the_process(void **state) {
    struct world *world = *state;
    process_read(world->blocks[0]);
    assert_int_equal(figures_value(&world->set, FIGURE_PROCESS_OPEN_FDS),
                     0); /* that may take long */
    process_read_fds(world->blocks[0]);
    process_note_start(world->blocks[0]);
    assert_true(figures_value(&world->set, FIGURE_PROCESS_RESIDENT_BYTES) > 0);
    assert_true(figures_value(&world->set, FIGURE_PROCESS_VIRTUAL_BYTES) >=
                figures_value(&world->set, FIGURE_PROCESS_RESIDENT_BYTES));
    assert_true(figures_value(&world->set, FIGURE_PROCESS_OPEN_FDS) >= 1);
    assert_true(figures_value(&world->set, FIGURE_PROCESS_MAX_FDS) >=
                figures_value(&world->set, FIGURE_PROCESS_OPEN_FDS));
    assert_true(figures_value(&world->set, FIGURE_PROCESS_START_MS) > UINT64_C(1600000000000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_keep_the_conventions),
        cmocka_unit_test(test_each_figure_is_a_sample_of_its_metric),
        cmocka_unit_test(test_every_protocol_has_room),
        cmocka_unit_test(test_a_status_is_counted_under_its_own_number),
        cmocka_unit_test(test_threads_share_no_cache_line),
        cmocka_unit_test(test_a_duration_goes_to_the_first_bucket_that_holds_it),
        cmocka_unit_test_setup_teardown(test_counters_of_all_threads_are_added_up, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_openmetrics_says_units_and_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_labels_are_in_the_order_of_the_table, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_buckets_of_a_histogram_hold_those_below, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_kernel_is_asked_about_the_process, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
