/* SPDX-License-Identifier: Apache-2.0 */

/* What is kept of a message that was refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "../lib/fault_heap.h"
#include "ingest_fixture.h"

#define BAD "{\"a\":1}"

static const struct request_head one = {.type = "application/json"};

static int set_up(void **state) {
    const int status = world_set_up(state);
    if (status == 0) {
        ((struct world *)*state)->configuration.quarantine = true;
    }
    return status;
}

static bool has_header(const struct world *world, const char *header) {
    return strstr(world->jetstream.posted.headers, header) != NULL;
}

static void test_a_refused_message_is_kept_as_it_was_sent(void **state) {
    struct world *world = *state;
    world_post(world, &one, " " BAD " ");
    assert_int_equal(world->request.status, 422);
    assert_int_equal(world->jetstream.posted_count, 1);
    assert_string_equal(world->jetstream.posted.subject, "rejected.vlp");
    assert_string_equal(world->jetstream.posted.payload, " " BAD " ");
    assert_true(has_header(world, "Parley-Rules: VLP-001,VLP-002"));
    assert_true(has_header(world, "Parley-Violations: [{%22rule%22:%22VLP-001%22,"));
    assert_true(has_header(world, "Content-Type: application/json\n"));
    assert_true(has_header(world, "Parley-Request: r1\n"));
    assert_true(has_header(world, "Parley-Time: 20"));
    /* No line feed of a sender's becomes a header. */
    assert_true(has_header(world, "Parley-Principal: a%20%0D%0Ab%22%25%C3%A9\n"));
    assert_false(has_header(world, "Parley-Line"));
    assert_false(has_header(world, "Parley-Dropped"));
}

static void test_of_many_each_refused_one_is_kept_with_its_line(void **state) {
    struct world *world = *state;
    world_post(world, &(struct request_head){0}, CLAIM_OF("1") "\n\n" BAD "\n" CLAIM_OF("2") "\n[");
    assert_int_equal(world->jetstream.posted_count, 2);
    assert_true(has_header(world, "Parley-Line: 5\n"));
    assert_true(has_header(world, "Parley-Rules: GW-0"));
    assert_string_equal(world->jetstream.posted.payload, "[");
    world_ack_all(world);
}

static void test_nothing_else_is_kept(void **state) {
    struct world *world = *state;
    world_post(world, &one, CLAIM_OF("1"));
    world_ack_all(world);
    world_post(world, &(struct request_head){.type = "application/json", .task = INGEST_VALIDATE},
               BAD);
    world_post(world, &(struct request_head){.task = INGEST_VALIDATE}, BAD);
    world_post(world, &one, "");
    world->configuration.message_max_bytes = 5; /* not all of it is known */
    world_post(world, &one, BAD);
    assert_int_equal(world->request.status, 413);
    world_post(world, &(struct request_head){0}, BAD);
    world->configuration.message_max_bytes = 0;
    world->configuration.quarantine = false;
    world_post(world, &one, BAD);
    assert_int_equal(world->jetstream.posted_count, 0);
}

static void test_what_is_dropped_changes_no_answer_and_is_counted(void **state) {
    struct world *world = *state;
    world->jetstream.drops_posts = true;
    for (int i = 0; i < 3; i++) {
        world_post(world, &one, BAD);
        assert_int_equal(world->request.status, 422);
    }
    world->jetstream.drops_posts = false;
    world_post(world, &one, BAD);
    assert_true(has_header(world, "Parley-Dropped: 3\n"));
    world_post(world, &one, BAD);
    assert_false(has_header(world, "Parley-Dropped"));
}

static void test_its_headers_have_a_bound(void **state) {
    struct world *world = *state;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "{\"provenance\":[");
    for (int i = 0; i < 500; i++) {
        parley_buffer_text(&text, i > 0 ? ",7" : "7");
    }
    parley_buffer_text(&text, "]}");
    parley_buffer_char(&text, '\0');
    world_post(world, &one, text.data);
    assert_int_equal(world->jetstream.posted_count, 1);
    assert_true(has_header(world, "Parley-Violations: [{"));
    assert_true(has_header(world, "}]\n"));
    assert_true(has_header(world, "Parley-Violations-Omitted: "));
    assert_in_range(strlen(world->jetstream.posted.headers), 1000, 10000);
    parley_buffer_finish(&text);
}

static void test_without_memory_it_is_dropped_and_the_answer_is_the_same(void **state) {
    struct world *world = *state;
    bool has_failed = true;
    for (size_t i = 0; has_failed; i++) {
        fault_heap_arm(i, 1);
        world_post(world, &one, BAD);
        has_failed = fault_heap_has_failed();
        fault_heap_disarm();
        assert_true(world->request.status == 422 || world->request.status == 500);
        world_close(world);
    }
    assert_true(world->jetstream.posted_count > 0);
}

#define quarantine_test(test) cmocka_unit_test_setup_teardown(test, set_up, world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        quarantine_test(test_a_refused_message_is_kept_as_it_was_sent),
        quarantine_test(test_of_many_each_refused_one_is_kept_with_its_line),
        quarantine_test(test_nothing_else_is_kept),
        quarantine_test(test_what_is_dropped_changes_no_answer_and_is_counted),
        quarantine_test(test_its_headers_have_a_bound),
        quarantine_test(test_without_memory_it_is_dropped_and_the_answer_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
