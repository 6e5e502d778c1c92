/* SPDX-License-Identifier: Apache-2.0 */

/* What the fast reader of MessagePack says must be what every other reader says; and it must find
 * right what is everyday, or it is of no use. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "lib/protocol_options.h"
#include "lib/cases.h"
#include "lib/fault_heap.h"
#include "lib/hex.h"
#include "lib/msgpack_pair.h"
#include "lib/mutate.h"
#include "lib/mutate_msgpack.h"
#include "lib/rounds.h"

struct fixture {
    struct test_cases cases;
    const struct parley_protocol *protocol;
    const struct parley_codec *codec;
    struct parley_schema *schema;
    struct msgpack_pair pair;
};

static int set_up(void **state) {
    static struct fixture fixture;
    fixture.schema = cases_read_of(&fixture.cases, "supervisor");
    fixture.protocol = fixture.cases.items[0].protocol;
    fixture.codec = parley_codec_find(fixture.protocol, PARLEY_BYTES("application/msgpack"));
    if (fixture.schema == NULL) {
        return -1;
    }
    msgpack_pair_init(&fixture.pair, fixture.schema);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    msgpack_pair_finish(&fixture->pair);
    parley_schema_destroy(fixture->schema);
    cases_finish(&fixture->cases);
    return 0;
}

static enum accept_certainty assert_agree(struct fixture *fixture, const char *name,
                                          struct parley_bytes bytes,
                                          const struct parley_options *options) {
    if (!msgpack_pair_agree(&fixture->pair, bytes, fixture->codec, options)) {
        struct parley_buffer hex;
        parley_buffer_init(&hex);
        for (size_t i = 0; i < bytes.length; i++) {
            parley_buffer_format(&hex, "%02x", (unsigned char)bytes.data[i]);
        }
        fail_msg("%s: %s\n%.*s", name, fixture->pair.difference, (int)hex.length, hex.data);
    }
    return fixture->pair.certainty;
}

/* The same in MessagePack, as short as it is; the buffer is cleared first. */
static void pack(struct fixture *fixture, const char *text, struct parley_buffer *out) {
    struct parley_message message;
    const struct parley_options options = {0};
    parley_buffer_clear(out);
    parley_message_init(&message, fixture->schema);
    assert_int_equal(parley_message_check(&message, parley_bytes_of(text), &parley_codec_json,
                                          &options, (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_int_equal(msgpack_from_json(&message, out), PARLEY_OK);
    parley_message_finish(&message);
}

/* ---- what it finds right ---- */

static void test_every_example_is_found_right(void **state) {
    struct fixture *fixture = *state;
    const struct parley_options options = {0};
    struct parley_buffer bytes;
    parley_buffer_init(&bytes);
    for (const struct parley_example *example = fixture->protocol->examples; example->name != NULL;
         example++) {
        pack(fixture, example->text, &bytes);
        assert_int_equal(
            assert_agree(fixture, example->name, parley_buffer_bytes(&bytes), &options),
            ACCEPT_RIGHT);
    }
    parley_buffer_finish(&bytes);
}

static void test_all_readers_agree_on_every_conformance_case(void **state) {
    struct fixture *fixture = *state;
    size_t binary = 0, right = 0, faultless = 0;
    for (size_t i = 0; i < fixture->cases.count; i++) {
        const struct test_case *test = &fixture->cases.items[i];
        if (test->codec == fixture->codec && test->body.length <= 16 << 20) {
            binary++;
            const enum accept_certainty certainty =
                assert_agree(fixture, test->name, test->body, &test->options);
            right += certainty == ACCEPT_RIGHT;
            faultless += certainty != ACCEPT_UNSURE && !fixture->pair.has_findings;
        }
    }
    print_message("of %zu cases %zu are faultless, and %zu found right\n", binary, faultless,
                  right);
    assert_true(binary > 20);
    assert_int_equal(right, faultless);
}

/* ---- what it must not find right ---- */

#ifdef __SANITIZE_ADDRESS__
enum { USUAL = 3000 }; /* each takes ten times as long */
#else
enum { USUAL = 100000 };
#endif

/* A broken message that still is JSON; NULL: this one is not. */
static json_t *broken_message(struct random_source *source, const json_t *message,
                              struct parley_buffer *text) {
    parley_buffer_clear(text);
    mutate(source, message, text);
    return json_loadb(text->data, text->length, JSON_ALLOW_NUL, NULL);
}

struct tally {
    size_t right, whole, faultless;
};

/* One message, written in one of its ways; where it is kept no byte is behind it. */
static void compare_one(struct fixture *fixture, struct random_source *source, const json_t *tree,
                        const struct test_case *test, struct tally *tally) {
    static const char *const sides[] = {NULL, NULL, "gerbil", "elixir"};
    struct parley_options options = test->options;
    struct parley_buffer bytes;
    set_option(&options, test->protocol, "from", sides[random_below(source, 4)]);
    parley_buffer_init(&bytes);
    pack_randomly(source, tree, &bytes);
    if (random_below(source, 3) == 0) {
        damage_bytes(source, &bytes);
    }
    char *copy = malloc(bytes.length + (bytes.length == 0));
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.length);
    const enum accept_certainty certainty =
        assert_agree(fixture, test->name, (struct parley_bytes){copy, bytes.length}, &options);
    tally->right += certainty == ACCEPT_RIGHT;
    tally->whole += certainty != ACCEPT_UNSURE;
    tally->faultless += certainty != ACCEPT_UNSURE && !fixture->pair.has_findings;
    free(copy);
    parley_buffer_finish(&bytes);
}

static void test_all_readers_agree_on_broken_messages(void **state) {
    struct fixture *fixture = *state;
    struct random_source source = {29};
    struct tally tally = {0};
    struct parley_buffer text;
    parley_buffer_init(&text);
    const size_t wanted = test_rounds(USUAL);
    for (size_t made = 0; made < wanted;) {
        const struct test_case *test =
            &fixture->cases.items[random_below(&source, fixture->cases.count)];
        json_t *message = test->is_valid && !test->codec->is_binary && test->body.length < 4000
                              ? json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL)
                              : NULL;
        for (int i = 0; message != NULL && i < 8 && made < wanted; i++, made++) {
            json_t *broken = broken_message(&source, message, &text);
            compare_one(fixture, &source, broken != NULL ? broken : message, test, &tally);
            json_decref(broken);
        }
        json_decref(message);
    }
    parley_buffer_finish(&text);
    print_message("of %zu messages %zu are whole, %zu faultless, and %zu found right\n", wanted,
                  tally.whole, tally.faultless, tally.right);
    assert_in_range(tally.right, wanted / 20, wanted * 3 / 4); /* else this proves little */
    assert_int_equal(tally.right, tally.faultless);
}

/* Any byte in any place of a short message, and every message that is cut off. */
static void test_all_readers_agree_on_damaged_bytes(void **state) {
    struct fixture *fixture = *state;
    const struct parley_options options = {0};
    struct parley_buffer bytes;
    parley_buffer_init(&bytes);
    pack(fixture,
         "{\"type\":\"wal_batch\",\"timestamp\":1705392000,\"data\":[{\"operation\":"
         "\"memory_add\",\"params\":{\"a\":0.1,\"b\":[\"\xC3\xA9\",null]},\"sequence\":300}]}",
         &bytes);
    for (size_t at = 0; at < bytes.length; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char *copy = malloc(bytes.length); /* so that a read behind the end is seen */
            assert_non_null(copy);
            memcpy(copy, bytes.data, bytes.length);
            copy[at] = (char)byte;
            assert_agree(fixture, "changed", (struct parley_bytes){copy, bytes.length}, &options);
            free(copy);
        }
        char *copy = malloc(at + 1);
        assert_non_null(copy);
        memcpy(copy, bytes.data, at);
        assert_int_equal(assert_agree(fixture, "cut", (struct parley_bytes){copy, at}, &options),
                         ACCEPT_UNSURE);
        free(copy);
    }
    parley_buffer_finish(&bytes);
}

#define HEAD_OF(members) members "a474797065 a96865617274626561 74 a974696d657374616d70 01"

static void test_what_is_right_is_found_right_and_what_is_not_is_not(void **state) {
    struct fixture *fixture = *state;
    static const struct {
        const char *hex;
        enum accept_certainty certainty;
    } rows[] = {
        {HEAD_OF("82"), ACCEPT_RIGHT},
        {HEAD_OF("de0002"), ACCEPT_RIGHT},
        {HEAD_OF("df00000002"), ACCEPT_RIGHT},
        {HEAD_OF("83") "a161 9f 00 7f e0 ff c0 c2 c3 00 00 00 00 00 00 00 00", ACCEPT_RIGHT},
        {HEAD_OF("83") "a161 dc0014 (c0*20)", ACCEPT_RIGHT},
        {HEAD_OF("83") "a161 dc0014 (c0*19)", ACCEPT_UNSURE},
        {HEAD_OF("83") "a161 dc0014 (c0*18)a162c0", ACCEPT_RIGHT},
        {HEAD_OF("83") "a161 92 a3616263 c0", ACCEPT_RIGHT},
        {HEAD_OF("83") "a161 93 a3616263", ACCEPT_UNSURE},
        {HEAD_OF("83") "a161 dc0011 (c2*16) c1", ACCEPT_UNSURE},
        {HEAD_OF("83") "a161 cb7ff0000000000000", ACCEPT_UNSURE},
        {HEAD_OF("83") "a161 cf8000000000000000", ACCEPT_UNSURE},
        {HEAD_OF("83") "a161 cf7fffffffffffffff", ACCEPT_RIGHT},
        {HEAD_OF("83") "a161 c403ff00fe", ACCEPT_RIGHT},
        {HEAD_OF("83") "a161 a1ff", ACCEPT_UNSURE},
        {HEAD_OF("83") "a161 a100", ACCEPT_RIGHT},
        {HEAD_OF("83") "a100 c0", ACCEPT_UNSURE},
        {HEAD_OF("83") "c40161 c0", ACCEPT_UNSURE},
        {HEAD_OF("83") "d90161 c0", ACCEPT_RIGHT},
        {HEAD_OF("83") "a0 c0", ACCEPT_RIGHT},
        {HEAD_OF("83") "01 c0", ACCEPT_UNSURE},
        {HEAD_OF("83") "a474797065 c0", ACCEPT_UNSURE},
        {HEAD_OF("84") "a161 c0 a161 c0", ACCEPT_UNSURE},
        {HEAD_OF("84") "a161 81a162c0 a162 81a161c0", ACCEPT_RIGHT},
        {HEAD_OF("83") "a776657273696f6e 02", ACCEPT_RIGHT},
        {HEAD_OF("83") "a776657273696f6e ca40000000", ACCEPT_RIGHT},
        {HEAD_OF("83") "a776657273696f6e ca3fc00000", ACCEPT_WHOLE},
        {HEAD_OF("83") "a776657273696f6e 03", ACCEPT_WHOLE},
        {HEAD_OF("83") "a86d65746164617461 c0", ACCEPT_WHOLE},
        {HEAD_OF("83") "a161 c44a(00*74)", ACCEPT_INSPECTED}, /* over a heartbeat's 100 bytes */
        {HEAD_OF("82") "00", ACCEPT_UNSURE},
        {HEAD_OF("81"), ACCEPT_UNSURE},
        {HEAD_OF("83"), ACCEPT_UNSURE},
        {"80", ACCEPT_WHOLE},
        {"90", ACCEPT_UNSURE},
        {"c0", ACCEPT_UNSURE},
        {"", ACCEPT_UNSURE},
        {"7b7d", ACCEPT_UNSURE},
        /* The timestamp as bin is its base64 text, and so no number; the type "aaaa" none. */
        {"82 a474797065 a968656172746265 6174 a974696d657374616d70 c40101", ACCEPT_WHOLE},
        {"82 a474797065 c403 69a69a a974696d657374616d70 01", ACCEPT_WHOLE},
    };
    const struct parley_options options = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length;
        unsigned char *bytes = hex_bytes(rows[i].hex, &length);
        const enum accept_certainty certainty = assert_agree(
            fixture, rows[i].hex, (struct parley_bytes){(char *)bytes, length}, &options);
        if (certainty != rows[i].certainty) {
            fail_msg("%s: %d, and not %d", rows[i].hex, (int)certainty, (int)rows[i].certainty);
        }
        free(bytes);
    }
}

/* In both orders: a sender whose maps are sorted writes the type last. */
static void test_the_type_counts_wherever_it_stands(void **state) {
    struct fixture *fixture = *state;
    static const struct {
        const char *data, *type;
        enum accept_certainty certainty;
    } rows[] = {
        {"{\"operation\":\"memory_add\",\"params\":{},\"sequence\":1}", "wal_entry", ACCEPT_RIGHT},
        {"{\"operation\":\"memory_add\",\"params\":{}}", "wal_entry", ACCEPT_WHOLE},
        {"{\"operation\":\"other\",\"params\":{},\"sequence\":1}", "wal_entry", ACCEPT_WHOLE},
        {"{\"operation\":\"memory_add\",\"params\":{},\"sequence\":1}", "metrics", ACCEPT_WHOLE},
        {"{\"p50_latency\":1,\"p95_latency\":2}", "metrics", ACCEPT_RIGHT},
        {"{\"p50_latency\":3,\"p95_latency\":2}", "metrics", ACCEPT_WHOLE},
        {"{\"p50_latency\":1}", "checkpoint", ACCEPT_RIGHT},
        {"{\"message\":\"a\"}", "process_request", ACCEPT_WHOLE}, /* and no request_id */
        {"{\"metrics\":{\"a\":\"b\"}}", "checkpoint", ACCEPT_WHOLE},
        {"[]", "wal_batch", ACCEPT_WHOLE},
        {"[{\"operation\":\"memory_add\",\"params\":{},\"sequence\":1},"
         "{\"operation\":\"memory_add\",\"params\":{},\"sequence\":2}]",
         "wal_batch", ACCEPT_RIGHT},
        {"[{\"operation\":\"memory_add\",\"params\":{},\"sequence\":2},"
         "{\"operation\":\"memory_add\",\"params\":{},\"sequence\":2}]",
         "wal_batch", ACCEPT_WHOLE},
        {"{\"a\":1}", "heartbeat", ACCEPT_RIGHT},
        {"{\"a\":1}", "none", ACCEPT_WHOLE},
    };
    const struct parley_options options = {0};
    struct parley_buffer bytes;
    parley_buffer_init(&bytes);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        for (int is_last = 0; is_last < 2; is_last++) {
            if (is_last != 0) {
                snprintf(text, sizeof text, "{\"data\":%s,\"timestamp\":1,\"type\":\"%s\"}",
                         rows[i].data, rows[i].type);
            } else {
                snprintf(text, sizeof text, "{\"type\":\"%s\",\"timestamp\":1,\"data\":%s}",
                         rows[i].type, rows[i].data);
            }
            pack(fixture, text, &bytes);
            const enum accept_certainty certainty =
                assert_agree(fixture, text, parley_buffer_bytes(&bytes), &options);
            if (certainty != rows[i].certainty) {
                fail_msg("%s: %d", text, (int)certainty);
            }
        }
    }
    parley_buffer_finish(&bytes);
}

static void test_depth_ends_at_64(void **state) {
    struct fixture *fixture = *state;
    const struct parley_options options = {0};
    static const struct {
        struct parley_bytes outer, innermost;
    } rows[] = {{{"\x91", 1}, {"\x90", 1}}, {{"\x81\xa0", 2}, {"\x80", 1}}};
    struct parley_buffer bytes;
    parley_buffer_init(&bytes);
    for (int depth = 60; depth < 68; depth++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            parley_buffer_clear(&bytes);
            parley_buffer_text(&bytes, "\x84\xa4type\xa8shutdown\xa6reason\xa0\xa9timestamp");
            parley_buffer_text(&bytes, "\x01\xa1x");
            for (int j = 1; j < depth; j++) {
                parley_buffer_append(&bytes, rows[i].outer);
            }
            parley_buffer_append(&bytes, rows[i].innermost);
            assert_int_equal(assert_agree(fixture, "nested", parley_buffer_bytes(&bytes), &options),
                             depth <= 63 ? ACCEPT_RIGHT : ACCEPT_UNSURE);
        }
    }
    parley_buffer_finish(&bytes);
}

static void append_key(struct parley_buffer *bytes, int number) {
    parley_buffer_format(bytes, "\xa6k%05d\x01", number);
}

/* A checkpoint whose data have `count` members, and one of them once more; maps within it, too,
 * so that keys leave and come. */
static void write_keys(struct parley_buffer *bytes, int count, int repeated) {
    const int total = count + 1 + (repeated >= 0);
    parley_buffer_clear(bytes);
    parley_buffer_append(bytes, PARLEY_BYTES("\x83\xa4type\xaa"
                                             "checkpoint\xa9timestamp\x01"));
    parley_buffer_append(bytes, PARLEY_BYTES("\xa4"
                                             "data\xde"));
    parley_buffer_char(bytes, (char)(total >> 8));
    parley_buffer_char(bytes, (char)total);
    for (int i = 0; i < count / 2; i++) {
        append_key(bytes, i);
    }
    parley_buffer_append(bytes,
                         PARLEY_BYTES("\xa1m\x82\xa6k00000\x01\xa6k00001\x81\xa6k00000\x01"));
    for (int i = count / 2; i < count; i++) {
        append_key(bytes, i);
    }
    if (repeated >= 0) {
        append_key(bytes, repeated);
    }
}

static void test_any_number_of_keys_is_told_apart(void **state) {
    struct fixture *fixture = *state;
    const struct parley_options options = {0};
    struct parley_buffer bytes;
    parley_buffer_init(&bytes);
    for (int count = 2; count < 2000; count += 1 + count / 8) {
        for (int repeated = -1; repeated < count; repeated += 1 + count / 5) {
            write_keys(&bytes, count, repeated);
            assert_int_equal(assert_agree(fixture, "keys", parley_buffer_bytes(&bytes), &options),
                             repeated < 0 ? ACCEPT_RIGHT : ACCEPT_UNSURE);
        }
    }
    parley_buffer_finish(&bytes);
}

/* ---- how ---- */

static void test_an_example_is_checked_without_an_allocation(void **state) {
    struct fixture *fixture = *state;
    const struct parley_options options = {0};
    struct parley_buffer bytes;
    parley_buffer_init(&bytes);
    for (const struct parley_example *example = fixture->protocol->examples; example->name != NULL;
         example++) {
        struct parley_message message;
        pack(fixture, example->text, &bytes);
        parley_message_init(&message, fixture->schema);
        fault_heap_arm(SIZE_MAX, 0);
        const enum parley_status status =
            parley_message_check(&message, parley_buffer_bytes(&bytes), fixture->codec, &options,
                                 (struct parley_position){PARLEY_IN_BYTES, 0});
        const size_t allocations = fault_heap_disarm();
        assert_int_equal(status, PARLEY_OK);
        assert_true(message.is_certain && parley_message_is_valid(&message));
        if (message.derived == NULL) { /* nothing had to be unpacked */
            assert_int_equal(allocations, 0);
        }
        parley_message_finish(&message);
    }
    parley_buffer_finish(&bytes);
}

static void test_a_message_with_many_keys_is_right_or_there_was_no_memory(void **state) {
    struct fixture *fixture = *state;
    const struct parley_options options = {0};
    struct parley_buffer bytes;
    struct parley_message message;
    parley_buffer_init(&bytes);
    write_keys(&bytes, 1000, -1);
    parley_message_init(&message, fixture->schema);
    size_t first = 0;
    for (bool has_failed = true; has_failed; first++) {
        for (size_t failures = 1; failures != 0; failures = failures == 1 ? SIZE_MAX : 0) {
            fault_heap_arm(first, failures);
            const enum parley_status status =
                parley_message_check(&message, parley_buffer_bytes(&bytes), fixture->codec,
                                     &options, (struct parley_position){PARLEY_IN_BYTES, 0});
            fault_heap_disarm();
            has_failed = fault_heap_has_failed();
            assert_int_equal(status, has_failed ? PARLEY_E_MEMORY : PARLEY_OK);
            assert_true(has_failed || (message.is_certain && message.findings.count == 0));
        }
    }
    assert_true(first > 2);
    parley_message_finish(&message);
    parley_buffer_finish(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_example_is_found_right),
        cmocka_unit_test(test_all_readers_agree_on_every_conformance_case),
        cmocka_unit_test(test_all_readers_agree_on_broken_messages),
        cmocka_unit_test(test_all_readers_agree_on_damaged_bytes),
        cmocka_unit_test(test_what_is_right_is_found_right_and_what_is_not_is_not),
        cmocka_unit_test(test_the_type_counts_wherever_it_stands),
        cmocka_unit_test(test_depth_ends_at_64),
        cmocka_unit_test(test_any_number_of_keys_is_told_apart),
        cmocka_unit_test(test_an_example_is_checked_without_an_allocation),
        cmocka_unit_test(test_a_message_with_many_keys_is_right_or_there_was_no_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
