/* SPDX-License-Identifier: Apache-2.0 */

/* The layout of object stores: what NATS's own clients write and read (the texts here are theirs),
 * and the pointers in messages. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "object_layout.h"

static const char bucket[] = "parley_checkpoints";

#define ID "0b0e2f3a-6d0a-8c55-9a3e-1c7d0c5ed8a1"

static void test_names_and_subjects_are_those_of_the_standard(void **state) {
    (void)state;
    char stream[OBJECT_STREAM_MAX], subject[OBJECT_SUBJECT_MAX], name[OBJECT_NAME_MAX];
    object_stream_name(bucket, stream);
    assert_string_equal(stream, "OBJ_parley_checkpoints");
    object_stream_subjects(bucket, stream);
    assert_string_equal(stream, "$O.parley_checkpoints.>");
    object_chunk_subject(bucket, PARLEY_BYTES("abc"), subject);
    assert_string_equal(subject, "$O.parley_checkpoints.C.abc");
    object_meta_subject(bucket, PARLEY_BYTES("a/b"), subject);
    assert_string_equal(subject, "$O.parley_checkpoints.M.YS9i");
    object_meta_subject(bucket, PARLEY_BYTES("a/\xff\xfe\xfd"), subject);
    assert_string_equal(subject, "$O.parley_checkpoints.M.YS___v0=");
    assert_true(object_name_write(PARLEY_BYTES("ada"), PARLEY_BYTES(ID), name));
    assert_string_equal(name, "ada/" ID);
    assert_true(object_name_write((struct parley_bytes){0}, PARLEY_BYTES(ID), name));
    assert_string_equal(name, "_/" ID);
    memset(subject, 'a', sizeof subject);
    assert_false(object_name_write((struct parley_bytes){subject, 91}, PARLEY_BYTES(ID), name));
}

static void test_a_subject_says_its_name(void **state) {
    (void)state;
    char subject[OBJECT_SUBJECT_MAX], name[OBJECT_NAME_MAX];
    object_meta_subject(bucket, PARLEY_BYTES("ada/" ID), subject);
    assert_true(object_name_of_subject(subject, name));
    assert_string_equal(name, "ada/" ID);
    assert_false(object_name_of_subject("$O.b.M.", name));
    assert_false(object_name_of_subject("$O.b.M.*", name));
    assert_false(object_name_of_subject("$O.b.M.AGE=", name)); /* a NUL in it */
    assert_false(object_name_of_subject("none", name));
}

static void test_nuids_differ_and_are_tokens(void **state) {
    (void)state;
    char one[OBJECT_NUID_MAX], other[OBJECT_NUID_MAX];
    object_nuid_new(one);
    object_nuid_new(other);
    assert_int_equal(strlen(one), 22);
    assert_int_equal(strspn(one, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
                     22);
    assert_string_not_equal(one, other);
}

static void test_a_digest_is_that_of_all_pieces(void **state) {
    (void)state;
    char text[OBJECT_DIGEST_MAX];
    struct object_digest digest;
    object_digest_begin(&digest);
    object_digest_add(&digest, PARLEY_BYTES("he"));
    object_digest_add(&digest, PARLEY_BYTES("llo"));
    assert_true(object_digest_end(&digest, text));
    assert_string_equal(text, "SHA-256=LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=");
    object_digest_finish(&digest);
    assert_int_equal(strlen(text) + 1, OBJECT_DIGEST_MAX);
}

static void test_a_meta_is_written_as_clients_read_it(void **state) {
    (void)state;
    struct parley_buffer out;
    const struct object_meta meta = {.name = PARLEY_BYTES("ada/1"),
                                     .nuid = PARLEY_BYTES("N"),
                                     .digest = PARLEY_BYTES("SHA-256=x"),
                                     .size = 262145,
                                     .chunks = 3};
    const struct object_meta gone = {
        .name = PARLEY_BYTES("ada/1"), .nuid = PARLEY_BYTES("N"), .is_deleted = true};
    parley_buffer_init(&out);
    object_meta_write(&meta, bucket, &out);
    parley_buffer_char(&out, '\0');
    assert_string_equal(out.data,
                        "{\"name\":\"ada/1\",\"options\":{\"max_chunk_size\":131072},\"bucket\":"
                        "\"parley_checkpoints\",\"nuid\":\"N\",\"size\":262145,\"mtime\":"
                        "\"0001-01-01T00:00:00Z\",\"chunks\":3,\"digest\":\"SHA-256=x\"}");
    parley_buffer_clear(&out);
    object_meta_write(&gone, bucket, &out);
    parley_buffer_char(&out, '\0');
    assert_string_equal(out.data,
                        "{\"name\":\"ada/1\",\"options\":{\"max_chunk_size\":131072},\"bucket\":"
                        "\"parley_checkpoints\",\"nuid\":\"N\",\"size\":0,\"mtime\":"
                        "\"0001-01-01T00:00:00Z\",\"chunks\":0,\"deleted\":true}");
    parley_buffer_finish(&out);
}

static void test_a_meta_of_another_client_is_read(void **state) {
    (void)state;
    struct parley_arena arena;
    struct object_meta meta;
    parley_arena_init(&arena, 0);
    assert_int_equal(
        object_meta_read(PARLEY_BYTES("{\"name\":\"ad\\u0061/1\",\"description\":\"\",\"headers\":"
                                      "{\"a\":[\"b\"]},\"options\":{\"max_chunk_size\":9},"
                                      "\"bucket\":\"b\",\"nuid\":\"N\",\"size\":18446744073709551,"
                                      "\"chunks\":2,\"digest\":\"SHA-256=x\"}"),
                         &arena, &meta),
        PARLEY_OK);
    assert_true(parley_bytes_equal(meta.name, PARLEY_BYTES("ada/1")));
    assert_true(parley_bytes_equal(meta.nuid, PARLEY_BYTES("N")));
    assert_true(parley_bytes_equal(meta.digest, PARLEY_BYTES("SHA-256=x")));
    assert_true(meta.size == UINT64_C(18446744073709551) && meta.chunks == 2 && !meta.is_deleted);
    assert_int_equal(
        object_meta_read(PARLEY_BYTES("{\"name\":\"a\",\"nuid\":\"N\",\"deleted\":true}"), &arena,
                         &meta),
        PARLEY_OK);
    assert_true(meta.is_deleted && meta.size == 0);
    assert_int_equal(object_meta_read(PARLEY_BYTES("{\"name\":\"a\"}"), &arena, &meta),
                     PARLEY_E_UNSUPPORTED);
    assert_int_equal(
        object_meta_read(PARLEY_BYTES("{\"name\":\"a\",\"nuid\":\">\"}"), &arena, &meta),
        PARLEY_E_UNSUPPORTED); /* the chunks of all objects */
    assert_int_equal(object_meta_read(PARLEY_BYTES("no"), &arena, &meta), PARLEY_E_UNSUPPORTED);
    parley_arena_finish(&arena);
}

static void test_a_pointer_is_read_as_it_was_written(void **state) {
    (void)state;
    struct parley_buffer out;
    struct parley_arena arena;
    struct object_pointer pointer = {
        .name = PARLEY_BYTES("ada/1"), .digest = PARLEY_BYTES("SHA-256=x"), .size = 7};
    parley_buffer_init(&out);
    parley_arena_init(&arena, 0);
    object_pointer_write(&pointer, &out);
    assert_true(parley_bytes_equal(
        parley_buffer_bytes(&out),
        PARLEY_BYTES("{\"$object\":\"ada/1\",\"size\":7,\"digest\":\"SHA-256=x\"}")));
    assert_int_equal(object_pointer_read(parley_buffer_bytes(&out), &arena, &pointer), PARLEY_OK);
    assert_true(parley_bytes_equal(pointer.name, PARLEY_BYTES("ada/1")) && pointer.size == 7);
    assert_int_equal(object_pointer_read(PARLEY_BYTES("{\"$object\":7}"), &arena, &pointer),
                     PARLEY_E_UNSUPPORTED);
    parley_arena_finish(&arena);
    parley_buffer_finish(&out);
}

static void test_the_place_of_a_member_is_found(void **state) {
    (void)state;
    static const struct {
        const char *payload, *value; /* NULL: it has none */
    } cases[] = {
        {"{\"data\":{}}", "{}"},
        {"{\"a\":\"data\",\"data\":{\"data\":[1,\"}\\\"]\",{}]},\"z\":1}",
         "{\"data\":[1,\"}\\\"]\",{}]}"},
        {" { \"a\" : [ 1 , { \"data\" : 2 } ] , \"data\" : \"x\\\\\" } ", "\"x\\\\\""},
        {"{\"\xC3\xA4\\u0000\":\"\xC3\xA4\",\"data\":1.5e3}", "1.5e3"},
        {"{\"data\":\"\\\\\\\",}0123456789012345678901234567890123\\\\\",\"z\":1}",
         "\"\\\\\\\",}0123456789012345678901234567890123\\\\\""},
        {"{\"data\":[[],\"\xC3\xA4\\u0000\"] }", "[[],\"\xC3\xA4\\u0000\"]"},
        {"{\"d\\u0061ta\":[1]}", "[1]"},
        {"{\"\\u0064\\u0061\\u0074\\u0061\":1}", "1"},
        {"{\"d\\u0061t\":1,\"\\\"data\":2,\"data\\u0000\":3}", NULL},
        {"{\"d\\u00ta\":1}", NULL},
        {"{\"d\\xata\":1}", NULL},
        {"{\"other\":1}", NULL},
        {"{}", NULL},
        {"", NULL},
        {"[\"data\"]", NULL},
        {"{\"data\":", NULL},
        {"{\"data\":\"", NULL},
        {"{\"data\":{", NULL},
        {"{\"data", NULL},
        {"{\"data\\", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* Without a NUL after it, so that reading on is found. */
        const size_t length = strlen(cases[i].payload);
        char *copy = test_malloc(length > 0 ? length : 1);
        memcpy(copy, cases[i].payload, length);
        size_t start = 0, end = 0;
        const enum parley_status status =
            object_place_find((struct parley_bytes){copy, length}, "data", &start, &end);
        assert_int_equal(status, cases[i].value != NULL ? PARLEY_OK : PARLEY_E_UNSUPPORTED);
        if (cases[i].value != NULL) {
            assert_true(parley_bytes_equal((struct parley_bytes){copy + start, end - start},
                                           parley_bytes_of(cases[i].value)));
        }
        test_free(copy);
    }
}

/* By Python: hashlib.blake2b of the agent's length as a byte, the agent, and the message with the
 * SHA-256 of the member in its place. */
static void test_an_id_is_of_agent_and_message(void **state) {
    (void)state;
#define SAYS(time, data) "{\"type\":\"checkpoint\",\"timestamp\":" time "," data "}"
    static const struct {
        const char *agent, *payload, *id; /* NULL: another one than all before */
    } rows[] = {
        {"coder-1", SAYS("1705392000", "\"data\":{\"agent_state\":{}}"),
         "d7dee7bc-916b-8cbf-a94a-b6f479c0b220"},
        {"coder-2", SAYS("1705392000", "\"data\":{\"agent_state\":{}}"), NULL},
        {"coder-1", SAYS("1705392001", "\"data\":{\"agent_state\":{}}"), NULL},
        {"coder-1", SAYS("1705392000", "\"data\":{\"agent_state\":{\"a\":1}}"), NULL},
        {"coder-1", SAYS("1705392000", "\"d\\u0061ta\":{\"agent_state\":{}}"), NULL},
        {"coder-1", SAYS("1705392000", "\"d\\u0061ta\":{\"agent_state\":{\"a\":1}}"), NULL},
    };
    enum { COUNT = sizeof rows / sizeof rows[0] };
    char ids[COUNT][OBJECT_ID_SIZE];
    for (size_t i = 0; i < COUNT; i++) {
        const struct parley_bytes agent = parley_bytes_of(rows[i].agent);
        char again[OBJECT_ID_SIZE];
        assert_int_equal(object_id_of(agent, parley_bytes_of(rows[i].payload), "data", ids[i]),
                         PARLEY_OK);
        assert_int_equal(object_id_of(agent, parley_bytes_of(rows[i].payload), "data", again),
                         PARLEY_OK);
        assert_string_equal(again, ids[i]);
        if (rows[i].id != NULL) {
            assert_string_equal(ids[i], rows[i].id);
        }
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(ids[i], ids[j]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_subjects_are_those_of_the_standard),
        cmocka_unit_test(test_a_subject_says_its_name),
        cmocka_unit_test(test_nuids_differ_and_are_tokens),
        cmocka_unit_test(test_a_digest_is_that_of_all_pieces),
        cmocka_unit_test(test_a_meta_is_written_as_clients_read_it),
        cmocka_unit_test(test_a_meta_of_another_client_is_read),
        cmocka_unit_test(test_a_pointer_is_read_as_it_was_written),
        cmocka_unit_test(test_the_place_of_a_member_is_found),
        cmocka_unit_test(test_an_id_is_of_agent_and_message),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
