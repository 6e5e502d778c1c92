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

#include "publication.h"

#define WITH(id, sender)                                                                           \
    "{\"id\":\"" id "\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","                              \
    "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"" sender "\",\"content\":\"x\","          \
    "\"confidence\":0.85}"

struct world {
    struct parley_schema *schema;
    struct parley_message message;
    struct parley_buffer payload;
    struct publication publication;
};

static const struct publication_context usual = {.has_dedupe = true};

static int set_up(void **state) {
    struct world *world = calloc(1, sizeof *world);
    *state = world;
    if (sodium_init() < 0 || parley_schema_create(parley_protocol_find(PARLEY_BYTES("vlp")),
                                                  &world->schema) != PARLEY_OK) {
        return -1;
    }
    parley_message_init(&world->message, world->schema);
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
    const struct parley_options options = {0};
    assert_int_equal(parley_message_check(&world->message, parley_bytes_of(text),
                                          &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_true(parley_message_is_valid(&world->message));
    assert_int_equal(
        publication_prepare(&world->message, context, number, &world->payload, &world->publication),
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

static void test_a_message_bears_the_headers_of_cloudevents(void **state) {
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
        {{.has_dedupe = true, .idempotency_key = "k"}, "k"},
        {{.has_dedupe = false, .idempotency_key = "k"}, "k"},
        {{.has_dedupe = true, .idempotency_key = "k", .is_batch = true}, "k:18446744073709551615"},
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
    char key[129], wanted[160];
    memset(key, 'k', 128);
    key[128] = '\0';
    snprintf(wanted, sizeof wanted, "%s:%zu", key, SIZE_MAX);
    const struct publication_context context = {.idempotency_key = key, .is_batch = true};
    prepare(world, WITH("1", "A"), &context, SIZE_MAX);
    assert_string_equal(header(world, "Nats-Msg-Id"), wanted);
}

static void test_a_traceparent_is_passed_on(void **state) {
    struct world *world = *state;
    const struct publication_context context = {.traceparent = "00-abc-def-01"};
    prepare(world, WITH("1", "A"), &context, 1);
    assert_string_equal(header(world, "traceparent"), "00-abc-def-01");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_one_line_is_published_byte_for_byte),
        TEST(test_a_message_bears_the_headers_of_cloudevents),
        TEST(test_header_values_are_percent_encoded_as_cloudevents_says),
        TEST(test_a_header_of_256_bytes_is_there_and_a_longer_one_is_left_out),
        TEST(test_the_message_id_is_a_digest_of_the_payload),
        TEST(test_the_client_and_the_configuration_have_a_say_in_the_message_id),
        TEST(test_the_longest_key_of_a_batch_is_not_cut),
        TEST(test_a_traceparent_is_passed_on),
    };
    parley_initialise();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
