/* SPDX-License-Identifier: Apache-2.0 */

/* Which of those who wait an event finds, and how many it is held against to find them. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_cursor.h"

enum { GROUPS_MAX = 16 };

#define UUID "6f1ab0b2-9c1d-4b3e-8d1e-3c1f0c9a7d11"
#define UUID_CAPITAL "6F1AB0B2-9C1D-4B3E-8D1E-3C1F0C9A7D11"
#define MESSAGE(type, more, payload)                                                               \
    "{\"id\":\"" UUID "\",\"version\":\"1.0\",\"type\":\"" type "\",\"from\":\"a\","               \
    "\"timestamp\":\"2025-12-14T10:30:00Z\"" more ",\"payload\":{" payload "}}"
#define REQUEST(more) MESSAGE("task.request", more, "\"task\":\"research.deep.one\"")
#define REPLY ",\"correlationId\":\"" UUID "\""

struct fixture {
    const struct parley_protocol *protocol;
    struct channel channel;
    struct parley_schema *schema;
    struct stream_renderer renderer;
    struct stream_groups groups;
    struct stream_group *joined[GROUPS_MAX];
    struct stream_member waiting[GROUPS_MAX];
    size_t count;
    char found[GROUPS_MAX + 1];
};

static struct fixture *make(const char *protocol) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    fixture->protocol = parley_protocol_find(parley_bytes_of(protocol));
    fixture->channel = (struct channel){.name = fixture->protocol->name,
                                        .protocol = fixture->protocol,
                                        .stream = fixture->protocol->stream,
                                        .subjects = fixture->protocol->subjects};
    assert_int_equal(parley_schema_create(fixture->protocol, &fixture->schema), PARLEY_OK);
    stream_renderer_init(&fixture->renderer, fixture->schema, &fixture->channel);
    stream_groups_init(&fixture->groups);
    return fixture;
}

static void drop(struct fixture *fixture) {
    for (size_t i = 0; i < fixture->count; i++) {
        LIST_REMOVE(&fixture->waiting[i], link);
        stream_groups_leave(fixture->joined[i]);
    }
    for (size_t i = 0; i < STREAM_FILTER_COUNT; i++) {
        assert_true(LIST_EMPTY(&fixture->groups.indexed[i]));
    }
    stream_groups_finish(&fixture->groups);
    stream_renderer_finish(&fixture->renderer);
    parley_schema_destroy(fixture->schema);
    free(fixture);
}

/* Somebody who waits for what "name=value&name=value" lets through. */
static void wait_for(struct fixture *fixture, const char *filters) {
    static char texts[GROUPS_MAX][64];
    struct stream_query query;
    const char *wants;
    char *rest = texts[fixture->count];
    assert_true(fixture->count < GROUPS_MAX);
    snprintf(rest, sizeof texts[0], "%s", filters);
    stream_query_init(&query);
    while (rest != NULL) {
        char *pair = strsep(&rest, "&");
        const char *name = strsep(&pair, "=");
        assert_int_equal(stream_query_set(&query, name, pair, 1, &wants), STREAM_QUERY_SET);
    }
    struct stream_group *group = stream_groups_join(&fixture->groups, &query);
    assert_non_null(group);
    LIST_INSERT_HEAD(&group->parked, &fixture->waiting[fixture->count], link);
    fixture->joined[fixture->count++] = group;
}

static void find(void *context, struct stream_group *group) {
    struct fixture *fixture = context;
    for (size_t i = 0; i < fixture->count; i++) {
        if (fixture->joined[i] == group) {
            fixture->found[i] = '#';
        }
    }
}

/* Of those who wait, in their order, the event finds those with a #, held against so many. */
static void assert_finds(struct fixture *fixture, const char *subject, const char *message,
                         const char *expected, size_t held_count) {
    const struct jetstream_stored stored = {
        .sequence = 1, .time_ns = 1, .subject = subject, .payload = parley_bytes_of(message)};
    struct stream_event *event = stream_render(&fixture->renderer, "2025-01-01T00:00:00Z", &stored);
    assert_non_null(event);
    memset(fixture->found, '.', fixture->count);
    fixture->found[fixture->count] = '\0';
    const size_t held = stream_groups_match(&fixture->groups, event, find, fixture);
    if (strcmp(fixture->found, expected) != 0 || held != held_count) {
        fail_msg("%.*s\nfinds %s (held against %zu), not %s (%zu)", (int)event->text.length,
                 event->text.data, fixture->found, held, expected, held_count);
    }
    stream_event_unref(event);
}

static void test_for_is_what_is_addressed_to_one_or_to_nobody(void **state) {
    (void)state;
    struct fixture *fixture = make("roundtable");
    static const char subject[] = "roundtable.tasks.research.deep.one";
    const char *const filters[] = {"for=b", "for=c", "for=c,b", "receiver=b", "for=b&sender=z"};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        wait_for(fixture, filters[i]);
    }
    assert_finds(fixture, subject, REQUEST(",\"to\":\"b\""), "#.##.", 3);
    assert_finds(fixture, subject, REQUEST(",\"to\":\"d\""), ".....", 0);
    assert_finds(fixture, subject, REQUEST(""), "###..", 3);
    assert_finds(fixture, subject, "{}", ".....", 0); /* what is foreign is for nobody */
    drop(fixture);
}

static void test_for_is_one_of_several_receivers(void **state) {
    (void)state;
    struct fixture *fixture = make("brenner");
#define INFO(to)                                                                                   \
    "{\"subject\":\"INFO: x\",\"body_md\":\"# Information\\n\\nx.\\n\",\"from\":\"Operator\"" to   \
    ",\"thread_id\":\"COORD-daily-sync\"}"
    static const char subject[] = "brenner.info.COORD-daily-sync";
    wait_for(fixture, "for=GreenDog");
    wait_for(fixture, "for=RedCat");
    assert_finds(fixture, subject, INFO(",\"to\":[\"BlueMountain\",\"GreenDog\"]"), "#.", 1);
    drop(fixture);
    fixture = make("vlp");
    wait_for(fixture, "for=B");
    static const char claim[] = "{\"id\":\"MSG001\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","
                                "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\","
                                "\"content\":\"x\",\"confidence\":0.5,\"receiver\":null}";
    assert_finds(fixture, "vlp.safe.claim", claim, "#", 1);
    drop(fixture);
}

static void test_domain_and_priority_are_a_tasks(void **state) {
    (void)state;
    struct fixture *fixture = make("roundtable");
    const char *const filters[] = {"domain=research",     "domain=deep",   "domain=math,unknown",
                                   "priority=normal",     "priority=high", "priority=low,critical",
                                   "lane=x&priority=high"};
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        wait_for(fixture, filters[i]);
    }
    static const char task[] = "roundtable.tasks.research.deep.one";
    assert_finds(fixture, task, REQUEST(""), "#..#...", 2);
    assert_finds(fixture, task, REQUEST(",\"priority\":\"high\""), "#...#..", 2);
    /* Of a reply the subject knows: that of the gateway which stored it. */
    static const char result[] =
        MESSAGE("task.failed", REPLY, "\"error\":\"x\",\"retryable\":true");
    assert_finds(fixture, "roundtable.results.math." UUID, result, "..##...", 2);
    assert_finds(fixture, "fleet-a.results.research." UUID, result, "#..#...", 2);
    assert_finds(fixture, "roundtable.elsewhere", result, "...#...", 1);
    drop(fixture);
}

/* The request knows it, but no look-up is worth it: not where they are published, nor for each
 * reader. They are found by their thread. (D8) */
static void test_claims_progress_and_heartbeats_have_no_domain(void **state) {
    (void)state;
    struct fixture *fixture = make("roundtable");
    static const struct {
        const char *subject, *message;
        const char *found;
    } rows[] = {
        {"roundtable.events.task.claimed", MESSAGE("task.claimed", REPLY, ""), "...#"},
        {"roundtable.events.task.progress",
         MESSAGE("task.progress", REPLY, "\"phase\":\"x\",\"percentage\":50,\"message\":\"y\""),
         "...#"},
        {"roundtable.heartbeat.a",
         MESSAGE("heartbeat", "", "\"status\":\"idle\",\"currentTasks\":0,\"uptime\":1"), "...#"},
    };
    wait_for(fixture, "domain=research");
    wait_for(fixture, "domain=events,heartbeat");
    wait_for(fixture, "domain=task,unknown,a");
    wait_for(fixture, "thread=" UUID);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_finds(fixture, rows[i].subject, rows[i].message, rows[i].found, 1);
    }
    assert_finds(fixture, "roundtable.tasks.research.deep.one", REQUEST(""), "#..#", 2);
    drop(fixture);
}

static void test_a_round_table_thread_is_found_in_either_case(void **state) {
    (void)state;
    struct fixture *fixture = make("roundtable");
    wait_for(fixture, "thread=" UUID);
    wait_for(fixture, "thread=" UUID_CAPITAL);
    wait_for(fixture, "type=task.failed&thread=x,6F1ab0b2-9c1d-4b3e-8d1e-3c1f0c9a7d11");
    wait_for(fixture, "thread=6f1ab0b2-9c1d-4b3e-8d1e-3c1f0c9a7d12");
    /* A request's own id begins the thread, the correlationId of a reply continues it. (D9) */
    assert_finds(fixture, "roundtable.tasks.research.deep.one", REQUEST(""), "##..", 3);
    static const char failure[] = MESSAGE("task.failed", ",\"correlationId\":\"" UUID_CAPITAL "\"",
                                          "\"error\":\"x\",\"retryable\":true");
    assert_finds(fixture, "roundtable.results.math." UUID, failure, "###.", 3);
    drop(fixture);
}

static void test_a_vlp_thread_is_found_byte_for_byte(void **state) {
    (void)state;
    struct fixture *fixture = make("vlp");
    static const char claim[] = "{\"id\":\"MSG001\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","
                                "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"A\","
                                "\"content\":\"x\",\"confidence\":0.5,\"session_id\":\"s-A\"}";
    wait_for(fixture, "thread=s-a");
    wait_for(fixture, "thread=s-A");
    wait_for(fixture, "sender=a");
    assert_finds(fixture, "vlp.safe.claim", claim, ".#.", 3);
    drop(fixture);
}

static void test_an_agent_is_a_supervisors(void **state) {
    (void)state;
    struct fixture *fixture = make("supervisor");
    static const char message[] = "{\"type\":\"heartbeat\",\"timestamp\":1765708200}";
    wait_for(fixture, "agent=coder-1");
    wait_for(fixture, "agent=coder-2");
    wait_for(fixture, "sender=gerbil");
    wait_for(fixture, "for=coder-1");
    wait_for(fixture, "priority=normal");
    assert_finds(fixture, "supervisor.coder-1.gerbil.heartbeat", message, "#.#..", 2);
    assert_finds(fixture, "supervisor._.gerbil.heartbeat", message, "..#..", 1);
    drop(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_for_is_what_is_addressed_to_one_or_to_nobody),
        cmocka_unit_test(test_for_is_one_of_several_receivers),
        cmocka_unit_test(test_domain_and_priority_are_a_tasks),
        cmocka_unit_test(test_claims_progress_and_heartbeats_have_no_domain),
        cmocka_unit_test(test_a_round_table_thread_is_found_in_either_case),
        cmocka_unit_test(test_a_vlp_thread_is_found_byte_for_byte),
        cmocka_unit_test(test_an_agent_is_a_supervisors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
