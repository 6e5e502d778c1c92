/* SPDX-License-Identifier: Apache-2.0 */

/* What goes to NATS with a message: payload, subject and headers. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "jansson_setup.h"
#include "publication.h"

#include "../lib/protocol_options.h"

#define WITH(id, sender)                                                                           \
    "{\"id\":\"" id "\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","                              \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"" sender "\",\"content\":\"x\","          \
    "\"confidence\":0.85}"

struct world {
    struct parley_schema *schema;
    struct parley_message message;
    struct parley_buffer payload;
    struct publication publication;
    struct parley_options options;
};

static const struct publication_context usual = {.has_dedupe = true};

/* From now on messages are of this protocol. */
static void speak(struct world *world, const char *protocol) {
    parley_message_finish(&world->message);
    parley_schema_destroy(world->schema);
    assert_int_equal(
        parley_schema_create(parley_protocol_find(parley_bytes_of(protocol)), &world->schema),
        PARLEY_OK);
    parley_message_init(&world->message, world->schema);
}

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    if (sodium_init() < 0) {
        return -1;
    }
    speak(world, "vlp");
    return 0;
}

static int tear_down(void **state) {
    struct world *world = *state;
    parley_message_finish(&world->message);
    parley_buffer_finish(&world->payload);
    parley_schema_destroy(world->schema);
    free(world);
    return 0;
}

static void prepare(struct world *world, const char *text,
                    const struct publication_context *context, size_t number) {
    assert_int_equal(parley_message_check(&world->message, parley_bytes_of(text),
                                          &parley_codec_json, &world->options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(parley_message_is_valid(&world->message));
    assert_int_equal(publication_prepare(&world->message, context, number, (struct parley_bytes){0},
                                         &world->payload, &world->publication),
                     PARLEY_OK);
    assert_true(world->publication.header_count <= PUBLICATION_HEADERS_MAX);
}

/* NULL when it is not there. */
static const char *header(const struct world *world, const char *name) {
    for (size_t i = 0; i < world->publication.header_count; i++) {
        if (strcmp(world->publication.headers[i].name, name) == 0) {
            return world->publication.headers[i].value;
        }
    }
    return NULL;
}

static void test_one_line_is_published_byte_for_byte(void **state) {
    struct world *world = *state;
    const char *text = WITH("MSG001", "The Observer");
    prepare(world, text, &usual, 1);
    assert_int_equal(world->payload.length, strlen(text));
    assert_memory_equal(world->payload.data, text, strlen(text));
    assert_string_equal(world->publication.route.subject.data, "vlp.safe.claim");
}

static void test_a_message_has_the_headers_of_cloudevents(void **state) {
    struct world *world = *state;
    prepare(world, WITH("MSG001", "The Observer"), &usual, 1);
    static const struct bus_header wanted[] = {
        {"ce-specversion", "1.0"},
        {"ce-id", "MSG001"},
        {"ce-source", "/vlp/The%2520Observer"}, /* a URI, whose % is encoded once more */
        {"ce-type", "vlp.claim"},
        {"ce-time", "2025-12-14T10:30:00Z"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_non_null(header(world, wanted[i].name));
        assert_string_equal(header(world, wanted[i].name), wanted[i].value);
    }
    assert_null(header(world, "traceparent"));
    assert_int_equal(world->publication.header_count, 6); /* and Nats-Msg-Id */
}

/* CloudEvents' HTTP binding, section 3.1.3.2, has the example of the euro and the emoji. */
static void test_header_values_are_percent_encoded_as_cloudevents_says(void **state) {
    struct world *world = *state;
    static const struct {
        const char *text; /* with an id written like this */
        const char *value;
    } rows[] = {
        {WITH("a!#$&'()*+,-./:;<=>?@[]^_`{|}~", "A"), "a!#$&'()*+,-./:;<=>?@[]^_`{|}~"},
        {WITH("a b", "A"), "a%20b"},
        {WITH("a\\\"b\\\\c", "A"), "a%22b\\c"},
        {WITH("100%", "A"), "100%25"},
        {WITH("Euro \xE2\x82\xAC \xF0\x9F\x98\x80", "A"), "Euro%20%E2%82%AC%20%F0%9F%98%80"},
        {WITH("\\r\\nX: y", "A"), "%0D%0AX:%20y"},
        {WITH("\\u007f", "A"), "%7F"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare(world, rows[i].text, &usual, 1);
        assert_non_null(header(world, "ce-id"));
        assert_string_equal(header(world, "ce-id"), rows[i].value);
    }
}

#define TEN(x) x x x x x x x x x x
#define A_250 TEN(TEN("aa")) TEN("aaaaa")

static void test_a_header_of_256_bytes_is_there_and_a_longer_one_is_left_out(void **state) {
    struct world *world = *state;
    prepare(world, WITH(A_250 "aaaaaa", "A"), &usual, 1);
    assert_int_equal(strlen(header(world, "ce-id")), 256);
    prepare(world, WITH(A_250 "aaa ", "A"), &usual, 1);
    assert_int_equal(strlen(header(world, "ce-id")), 256);
    prepare(world, WITH(A_250 "aaaaaaa", "A"), &usual, 1);
    assert_null(header(world, "ce-id"));
    prepare(world, WITH(A_250 "aaaa ", "A"), &usual, 1);
    assert_null(header(world, "ce-id"));
    assert_non_null(header(world, "ce-type"));
    assert_non_null(header(world, "Nats-Msg-Id"));
}

/* BLAKE2b with 16 bytes of output, by Python: hashlib.blake2b(text, digest_size=16). */
static void test_the_message_id_is_a_digest_of_the_payload(void **state) {
    struct world *world = *state;
    prepare(world, WITH("MSG001", "The Observer"), &usual, 1);
    assert_string_equal(header(world, "Nats-Msg-Id"), "1288bba876d6d792803c4f4ab70c1124");
    char *first = strdup(header(world, "Nats-Msg-Id"));
    prepare(world, WITH("MSG001", "Another"), &usual, 1);
    assert_string_not_equal(header(world, "Nats-Msg-Id"), first);
    prepare(world, "\n" WITH("MSG001", "The Observer") "\n", &usual, 2);
    assert_string_equal(header(world, "Nats-Msg-Id"), first); /* of the payload, not of the body */
    free(first);
}

static void test_the_client_and_the_configuration_have_a_say_in_the_message_id(void **state) {
    struct world *world = *state;
    static const struct {
        struct publication_context context;
        const char *id;
    } rows[] = {
        {{.has_dedupe = false}, NULL},
        {{.has_dedupe = true, .idempotency_key = "k"}, "key:k"},
        {{.has_dedupe = false, .idempotency_key = "k"}, "key:k"},
        {{.idempotency_key = "k", .key_owner = ""}, "key:k"},
        {{.idempotency_key = "k", .key_owner = "ci"}, "key:ci:k"},
        {{.idempotency_key = "k", .key_owner = "ci", .is_batch = true},
         "key:ci:k:18446744073709551615"},
        {{.idempotency_key = "b:k", .key_owner = "a"}, "key:a:b:k"},
        {{.idempotency_key = "k", .key_owner = "a:b"}, "key:a%3Ab:k"},
        {{.idempotency_key = "k", .key_owner = "a%3Ab"}, "key:a%253Ab:k"},
        {{.has_dedupe = true, .idempotency_key = "k", .is_batch = true},
         "key:k:18446744073709551615"},
        {{.has_dedupe = true, .is_batch = true}, "1288bba876d6d792803c4f4ab70c1124"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare(world, WITH("MSG001", "The Observer"), &rows[i].context, SIZE_MAX);
        const char *id = header(world, "Nats-Msg-Id");
        assert_int_equal(id == NULL, rows[i].id == NULL);
        if (id != NULL) {
            assert_string_equal(id, rows[i].id);
        }
    }
}

static void test_the_longest_key_of_a_batch_is_not_cut(void **state) {
    struct world *world = *state;
    char key[129], owner[256], encoded[3 * 255 + 1], wanted[1024];
    memset(key, 'k', 128);
    key[128] = '\0';
    memset(owner, ':', 255);
    owner[255] = '\0';
    for (size_t i = 0; i < 255; i++) {
        snprintf(encoded + 3 * i, 4, "%%3A");
    }
    snprintf(wanted, sizeof wanted, "key:%s:%s:%zu", encoded, key, SIZE_MAX);
    const struct publication_context context = {
        .idempotency_key = key, .key_owner = owner, .is_batch = true};
    prepare(world, WITH("1", "A"), &context, SIZE_MAX);
    assert_string_equal(header(world, "Nats-Msg-Id"), wanted);
}

#define ID "550e8400-e29b-41d4-a716-446655440000"
#define TASK_OF(id, more, payload)                                                                 \
    "{\"id\":\"" id "\",\"version\":\"1.0\",\"type\":\"task.request\",\"from\":\"sir\"," more      \
    "\"timestamp\":\"2026-01-01T00:00:00Z\",\"payload\":" payload "}"
#define BEAT_OF(id)                                                                                \
    "{\"id\":\"" id "\",\"version\":\"1.0\",\"type\":\"heartbeat\",\"from\":\"sir\","              \
    "\"timestamp\":\"2026-01-01T00:00:00Z\",\"payload\":{\"status\":\"idle\"}}"

static void test_a_round_table_id_holds_for_its_type_in_either_case(void **state) {
    struct world *world = *state;
    speak(world, "roundtable");
    prepare(world, TASK_OF(ID, "", "{\"task\":\"a.b\"}"), &usual, 1);
    assert_string_equal(header(world, "Nats-Msg-Id"), "task.request:" ID);
    prepare(world, TASK_OF("550E8400-E29B-41D4-A716-446655440000", "", "{\"task\":\"a.b\"}"),
            &usual, 1);
    assert_string_equal(header(world, "Nats-Msg-Id"), "task.request:" ID);
    assert_string_equal(header(world, "ce-id"), "550E8400-E29B-41D4-A716-446655440000");
    prepare(world, BEAT_OF(ID), &usual, 1);
    assert_string_equal(header(world, "Nats-Msg-Id"), "heartbeat:" ID);
    prepare(world, BEAT_OF(ID), &(struct publication_context){.has_dedupe = false}, 1);
    assert_null(header(world, "Nats-Msg-Id"));
    assert_null(header(world, "Parley-Digest"));
}

/* BLAKE2b with 16 bytes of output, by Python, of
 * {"from":"sir","to":"tim","correlationId":"550E8400-…","payload":{"task":"a.b","x":[1,2]}} and of
 * {"from":"sir","payload":{"task":"a.b","n":1.50,"s":"a b\" {"}}. */
static void test_the_digest_is_of_what_a_retry_must_not_change(void **state) {
    struct world *world = *state;
    static const char to_tim[] = "86184c02db6915f5e0089b70361b705c";
    static const char spelled[] = "e1dd6646eb572572011f89630bfd73bb";
#define TIM "\"to\":\"tim\",\"correlationId\":\"550E8400-e29b-41d4-a716-446655440000\","
    static const struct {
        const char *text, *digest;
    } rows[] = {
        {TASK_OF(ID, TIM, "{\"task\":\"a.b\",\"x\":[1,2]}"), to_tim},
        {TASK_OF(ID, TIM "\"priority\":\"high\",\"ttl\":60,", "{\"task\":\"a.b\",\"x\":[1, 2]}"),
         to_tim},
        {TASK_OF(ID, TIM, "\n{ \"task\" : \"a.b\",\t\"x\":\r\n[ 1,2 ] }"), to_tim},
        {TASK_OF(ID, TIM, "{\"x\":[1,2],\"task\":\"a.b\"}"), NULL},
        {TASK_OF(ID, TIM, "{\"task\":\"a.b\",\"x\":[1,2.0]}"), NULL},
        {TASK_OF(ID, "", "{\"task\":\"a.b\",\"x\":[1,2]}"), NULL},
        {TASK_OF(ID, "", "{\"task\":\"a.b\",\"n\":1.50,\"s\":\"a b\\\" {\"}"), spelled},
        /* a key with an escape keeps the fast path from being sure */
        {TASK_OF(ID, "\"x\\u0041\":{\"payload\":1,\"from\":\"me\"},",
                 "{\"task\":\"a.b\",\"n\":1.50,\"s\":\"a b\\\" {\"}"),
         spelled},
        {"{\"p\\u0061yload\":{\"task\":\"a.b\",\"n\":1.50,\"s\":\"a b\\\" "
         "{\"},\"fro\\u006d\":\"sir\","
         "\"id\":\"" ID "\",\"version\":\"1.0\",\"type\":\"task.request\","
         "\"timestamp\":\"2026-01-01T00:00:00Z\"}",
         spelled},
    };
    speak(world, "roundtable");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prepare(world, rows[i].text, &usual, 1);
        const char *digest = header(world, "Parley-Digest");
        assert_non_null(digest);
        assert_string_equal(digest, world->publication.mark.digest);
        if (rows[i].digest != NULL) {
            assert_string_equal(digest, rows[i].digest);
        } else {
            assert_string_not_equal(digest, to_tim);
        }
    }
}

static void test_the_digest_is_the_same_whether_or_not_a_warning_is_found(void **state) {
    struct world *world = *state;
    speak(world, "roundtable");
    prepare(world, TASK_OF(ID, "", "{\"task\":\"a.b\",\"n\":1.50,\"s\":\"a b\\\" {\"}"), &usual, 1);
    assert_int_equal(world->message.findings.count, 0);
    world->options.now_seconds = INT64_C(4000000000); /* RT-103: its time is over */
    prepare(world, TASK_OF(ID, "", "{\"task\":\"a.b\",\"n\":1.50,\"s\":\"a b\\\" {\"}"), &usual, 1);
    assert_int_equal(world->message.findings.count, 1);
    assert_string_equal(header(world, "Parley-Digest"), "e1dd6646eb572572011f89630bfd73bb");
}

static void test_with_a_key_the_digest_is_of_the_message_as_it_was_sent(void **state) {
    struct world *world = *state;
    const struct publication_context keyed = {.has_dedupe = true, .idempotency_key = "k"};
    world->options =
        (struct parley_options){.stamp = true, .fresh_id = ID, .now = "2026-01-01T00:00:00.000Z"};
    const char *bare = "{\"type\":\"claim\",\"sender\":\"A\",\"content\":\"x\",\"confidence\":0.5}";
    prepare(world, bare, &keyed, 1);
    char *first = strdup(header(world, "Parley-Digest"));
    world->options.fresh_id = "550e8400-e29b-41d4-a716-446655440001";
    world->options.now = "2026-01-01T00:00:01.000Z";
    prepare(world, " { \"type\":\"claim\",\"sender\":\"A\",\"content\":\"x\",\"confidence\":0.5}\n",
            &keyed, 1);
    assert_string_equal(header(world, "Parley-Digest"), first);
    world->options.agent = "another"; /* nothing to VLP */
    prepare(world, bare, &keyed, 1);
    assert_string_equal(header(world, "Parley-Digest"), first);
    prepare(world, "{\"type\":\"claim\",\"sender\":\"B\",\"content\":\"x\",\"confidence\":0.5}",
            &keyed, 1);
    assert_string_not_equal(header(world, "Parley-Digest"), first);
    free(first);
}

#define BEAT "{\"type\":\"heartbeat\",\"timestamp\":1705392000}"

/* By Python: of the length of the source as a byte, the source, which has the agent and its side,
 * and the payload. */
static void test_the_same_payload_of_two_agents_is_two_messages(void **state) {
    struct world *world = *state;
    speak(world, "supervisor");
    static const struct {
        const char *agent, *id;
    } rows[] = {{"coder-1", "11e46d51f8887498bf0cb6b47e9a707f"},
                {"coder-2", "d5cb50550fa3bd99f5e10286a2bc4e28"},
                {NULL, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world->options.agent = rows[i].agent;
        prepare(world, BEAT, &usual, 1);
        const char *id = header(world, "Nats-Msg-Id");
        assert_int_equal(id == NULL, rows[i].id == NULL);
        if (id != NULL) {
            assert_string_equal(id, rows[i].id);
        }
        assert_null(header(world, "Parley-Digest"));
    }
}

static void test_the_same_payload_of_both_sides_is_two_messages(void **state) {
    struct world *world = *state;
    const struct publication_context keyed = {.has_dedupe = true, .idempotency_key = "k"};
    static const char error[] =
        "{\"type\":\"error\",\"timestamp\":1,\"error\":{\"code\":\"X\",\"message\":\"m\"}}";
    static const struct {
        const char *from, *id;
    } rows[] = {{"gerbil", "b90adf2e30cfe68686bf29315aa8bd67"},
                {"elixir", "898d401509fdac9d682d7be14d51a9dc"},
                {NULL, "b90adf2e30cfe68686bf29315aa8bd67"}}; /* it is Gerbil's by its members */
    speak(world, "supervisor");
    world->options.agent = "coder-1";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set_option(&world->options, world->message.protocol, "from", rows[i].from);
        prepare(world, error, &usual, 1);
        assert_string_equal(header(world, "Nats-Msg-Id"), rows[i].id);
        prepare(world, error, &keyed, 1);
        assert_string_equal(header(world, "Parley-Digest"), rows[i].id);
    }
}

static void test_a_checkpoint_of_an_agent_has_the_same_id_when_it_is_sent_again(void **state) {
    struct world *world = *state;
    struct id_pool pool = {.left = 0};
    const struct publication_context context = {.has_dedupe = true, .identities = &pool};
    static const char checkpoint[] =
        "{\"type\":\"checkpoint\",\"timestamp\":1705392000,\"data\":{\"agent_state\":{}}}";
    speak(world, "supervisor");
    for (size_t i = 0; i < 2; i++) {
        world->options.agent = "coder-1";
        prepare(world, checkpoint, &context, 1);
        assert_string_equal(header(world, "ce-id"), "d7dee7bc-916b-8cbf-a94a-b6f479c0b220");
        assert_true(parley_bytes_equal(world->publication.route.id,
                                       PARLEY_BYTES("d7dee7bc-916b-8cbf-a94a-b6f479c0b220")));
    }
    world->options.agent = NULL;
    prepare(world, checkpoint, &context, 1);
    assert_int_equal(header(world, "ce-id")[14], '4'); /* of nobody: a new one each time */
}

static void test_a_key_does_not_make_one_message_of_two_agents(void **state) {
    struct world *world = *state;
    const struct publication_context keyed = {.has_dedupe = true, .idempotency_key = "k"};
    speak(world, "supervisor");
    world->options.agent = "coder-1";
    prepare(world, BEAT, &keyed, 1);
    char *first = strdup(header(world, "Parley-Digest"));
    world->options.agent = "coder-2";
    prepare(world, BEAT, &keyed, 1);
    assert_string_not_equal(header(world, "Parley-Digest"), first);
    free(first);
}

/* (contract 10) CloudEvents wants an id of every event. */
static void test_a_message_without_an_id_gets_a_fresh_uuid_as_its_events_id(void **state) {
    struct world *world = *state;
    struct id_pool pool = {.left = 0};
    char last[37] = "";
    speak(world, "supervisor");
    for (size_t i = 0; i < 300; i++) { /* more than the pool holds */
        const struct publication_context context = {.identities = i == 7 ? NULL : &pool};
        prepare(world, BEAT, &context, 1);
        const char *id = header(world, "ce-id");
        assert_non_null(id);
        assert_int_equal(strlen(id), 36);
        assert_int_equal(id[14], '4');
        assert_non_null(strchr("89ab", id[19]));
        assert_string_not_equal(id, last);
        assert_true(
            parley_bytes_equal(world->publication.route.id, parley_bytes_of(id))); /* its receipt */
        strcpy(last, id);
    }
}

/* The receipt of a duplicate names the stored message. */
static void test_a_message_that_is_recognised_has_the_same_id_again(void **state) {
    struct world *world = *state;
    static const char other_beat[] = "{\"type\":\"heartbeat\",\"timestamp\":7}";
    static const struct publication_context plain = {.has_dedupe = true},
                                            keyed = {.has_dedupe = true, .idempotency_key = "k"},
                                            other_key = {.has_dedupe = true,
                                                         .idempotency_key = "l"};
    static const struct {
        const char *agent, *message;
        const struct publication_context *context;
    } rows[] = {
        {"coder-1", BEAT, &plain}, {"coder-1", BEAT, &keyed},  {"coder-1", BEAT, &other_key},
        {"coder-2", BEAT, &plain}, {"coder-2", BEAT, &keyed},  {NULL, BEAT, &keyed},
        {NULL, BEAT, &other_key},  {NULL, other_beat, &keyed}, {"coder-1", other_beat, &plain}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    char ids[ROWS][37];
    speak(world, "supervisor");
    for (size_t i = 0; i < 2 * ROWS; i++) {
        char *id = ids[i % ROWS];
        world->options.agent = rows[i % ROWS].agent;
        prepare(world, rows[i % ROWS].message, rows[i % ROWS].context, 1);
        assert_int_equal(header(world, "ce-id")[14], '8');
        assert_non_null(strchr("89ab", header(world, "ce-id")[19]));
        if (i < ROWS) {
            snprintf(id, sizeof ids[0], "%s", header(world, "ce-id"));
        }
        assert_string_equal(header(world, "ce-id"), id);
        for (size_t j = 0; j < i && j < ROWS; j++) {
            assert_int_equal(strcmp(ids[j], id) == 0, j == i % ROWS);
        }
    }
}

/* What the text of a 504 follows from. */
static void test_what_makes_a_repetition_the_same_message(void **state) {
    struct world *world = *state;
    static const char bare_claim[] =
        "{\"type\":\"claim\",\"sender\":\"A\",\"content\":\"x\",\"confidence\":0.5}";
    static const char bare_beat[] = "{\"type\":\"heartbeat\",\"from\":\"sir\","
                                    "\"payload\":{\"status\":\"idle\"}}";
    static const struct publication_context keyed = {.has_dedupe = true, .idempotency_key = "k"};
    static const struct publication_context off = {.has_dedupe = false};
    static const struct {
        const char *protocol, *text, *agent;
        const struct publication_context *context;
        enum publication_repeat repeat;
    } rows[] = {
        {"vlp", WITH("1", "A"), NULL, &usual, PUBLICATION_REPEAT_SAME},
        {"vlp", WITH("1", "A"), NULL, &off, PUBLICATION_REPEAT_ANOTHER},
        {"vlp", WITH("1", "A"), NULL, &keyed, PUBLICATION_REPEAT_KEY},
        {"vlp", bare_claim, NULL, &usual, PUBLICATION_REPEAT_STAMPED},
        {"vlp", bare_claim, NULL, &keyed, PUBLICATION_REPEAT_KEY},
        {"roundtable", BEAT_OF(ID), NULL, &usual, PUBLICATION_REPEAT_ID},
        {"roundtable", bare_beat, NULL, &usual, PUBLICATION_REPEAT_STAMPED_ID},
        {"supervisor", BEAT, NULL, &usual, PUBLICATION_REPEAT_ANOTHER},
        {"supervisor", BEAT, "coder-1", &usual, PUBLICATION_REPEAT_SAME},
        {"supervisor", "{\"type\":\"heartbeat\"}", "coder-1", &usual, PUBLICATION_REPEAT_STAMPED},
        {"supervisor", BEAT, NULL, &keyed, PUBLICATION_REPEAT_KEY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        speak(world, rows[i].protocol);
        world->options = (struct parley_options){.agent = rows[i].agent,
                                                 .stamp = true,
                                                 .fresh_id = "550e8400-e29b-41d4-a716-446655440009",
                                                 .now = "2026-01-01T00:00:00.000Z",
                                                 .now_seconds = 1767225600};
        prepare(world, rows[i].text, rows[i].context, 1);
        assert_int_equal(world->publication.mark.repeat, rows[i].repeat);
    }
}

static void test_a_traceparent_is_passed_on(void **state) {
    struct world *world = *state;
    struct publication_context context = {.traceparent = "00-abc-def-01"};
    prepare(world, WITH("1", "A"), &context, 1);
    assert_string_equal(header(world, "traceparent"), "00-abc-def-01");
    assert_null(header(world, "tracestate"));
    context.tracestate = "a=1";
    context.idempotency_key = "k"; /* the most headers that there can be */
    prepare(world, WITH("1", "A"), &context, 1);
    assert_string_equal(header(world, "tracestate"), "a=1");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_one_line_is_published_byte_for_byte),
        TEST(test_a_message_has_the_headers_of_cloudevents),
        TEST(test_header_values_are_percent_encoded_as_cloudevents_says),
        TEST(test_a_header_of_256_bytes_is_there_and_a_longer_one_is_left_out),
        TEST(test_the_message_id_is_a_digest_of_the_payload),
        TEST(test_the_client_and_the_configuration_have_a_say_in_the_message_id),
        TEST(test_the_longest_key_of_a_batch_is_not_cut),
        TEST(test_a_round_table_id_holds_for_its_type_in_either_case),
        TEST(test_the_digest_is_of_what_a_retry_must_not_change),
        TEST(test_the_digest_is_the_same_whether_or_not_a_warning_is_found),
        TEST(test_with_a_key_the_digest_is_of_the_message_as_it_was_sent),
        TEST(test_the_same_payload_of_two_agents_is_two_messages),
        TEST(test_the_same_payload_of_both_sides_is_two_messages),
        TEST(test_a_checkpoint_of_an_agent_has_the_same_id_when_it_is_sent_again),
        TEST(test_a_key_does_not_make_one_message_of_two_agents),
        TEST(test_a_message_without_an_id_gets_a_fresh_uuid_as_its_events_id),
        TEST(test_a_message_that_is_recognised_has_the_same_id_again),
        TEST(test_what_makes_a_repetition_the_same_message),
        TEST(test_a_traceparent_is_passed_on),
    };
    jansson_set_up();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
