/* SPDX-License-Identifier: Apache-2.0 */

/* MessagePack by tables: hexadecimal bytes, what is read of them, and what is wrong with them. The
 * rules are those of tests/lib/msgpack_protocol.c, so that no real ones are in the way. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "lib/fault_heap.h"
#include "lib/hex.h"
#include "lib/msgpack_protocol.h"
#include "msgpack/msgpack_read.h"

static struct parley_schema *schema;

static int set_up(void **state) {
    (void)state;
    return parley_schema_create(&msgpack_protocol, &schema) == PARLEY_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    parley_schema_destroy(schema);
    return 0;
}

/* ---- what comes of bytes ---- */

/* The message as JSON; or what is found, a line each: "GW-001 at 3 /path: text". */
static enum parley_status read_as(const struct parley_codec *codec, struct parley_bytes bytes,
                                  bool is_stamped, bool wants_findings, struct parley_buffer *out) {
    struct parley_message message;
    const struct parley_options options = {.stamp = is_stamped, .now_seconds = 1705392000};
    parley_message_init(&message, schema);
    enum parley_status status =
        parley_message_check(&message, bytes, codec, &options, (struct parley_position){1, 1});
    const struct parley_findings *findings = &message.findings;
    for (size_t i = 0; status == PARLEY_OK && i < findings->count; i++) {
        const struct parley_finding *finding = &findings->items[i];
        if (wants_findings || !message.is_decoded) {
            parley_buffer_format(out, "%s at %zu %s: %s\n", finding->rule->id, finding->at.column,
                                 finding->path, finding->message);
        }
    }
    if (status == PARLEY_OK && !wants_findings && message.is_decoded) {
        status = message.protocol->encode(&message, out);
    }
    parley_message_finish(&message);
    return status != PARLEY_OK ? status : parley_buffer_status(out);
}

struct row {
    const char *hex; /* blanks are skipped; (61*300) is a byte 300 times */
    const char *result;
};

static void check_rows(const struct row *rows, size_t count, bool is_stamped, bool wants_findings) {
    for (size_t i = 0; i < count; i++) {
        struct parley_buffer got;
        size_t length;
        unsigned char *bytes = hex_bytes(rows[i].hex, &length);
        parley_buffer_init(&got);
        assert_int_equal(read_as(&msgpack_protocol_codec,
                                 (struct parley_bytes){(const char *)bytes, length}, is_stamped,
                                 wants_findings, &got),
                         PARLEY_OK);
        if (!parley_bytes_equal(parley_buffer_bytes(&got), parley_bytes_of(rows[i].result))) {
            fail_msg("%s\nwanted: %s\ngot:    %.*s", rows[i].hex, rows[i].result, (int)got.length,
                     got.data);
        }
        parley_buffer_finish(&got);
        free(bytes);
    }
}

#define ROWS(...)                                                                                  \
    (const struct row[]){__VA_ARGS__},                                                             \
        sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row)
#define CHECK(...) check_rows(ROWS(__VA_ARGS__), false, false)
#define CHECK_FINDINGS(...) check_rows(ROWS(__VA_ARGS__), false, true)
#define CHECK_STAMPED(...) check_rows(ROWS(__VA_ARGS__), true, false)

/* ---- every family ---- */

static void test_integers_of_every_family_are_exact(void **state) {
    (void)state;
    CHECK({"81a161 00", "{\"a\":0}"}, {"81a161 7f", "{\"a\":127}"}, {"81a161 e0", "{\"a\":-32}"},
          {"81a161 ff", "{\"a\":-1}"}, {"81a161 cc00", "{\"a\":0}"}, {"81a161 ccff", "{\"a\":255}"},
          {"81a161 cdffff", "{\"a\":65535}"}, {"81a161 ceffffffff", "{\"a\":4294967295}"},
          {"81a161 cf0020000000000001", "{\"a\":9007199254740993}"},
          {"81a161 cf7fffffffffffffff", "{\"a\":9223372036854775807}"},
          {"81a161 d080", "{\"a\":-128}"}, {"81a161 d07f", "{\"a\":127}"},
          {"81a161 d18000", "{\"a\":-32768}"}, {"81a161 d280000000", "{\"a\":-2147483648}"},
          {"81a161 d3ffdfffffffffffff", "{\"a\":-9007199254740993}"},
          {"81a161 d38000000000000000", "{\"a\":-9223372036854775808}"});
}

static void test_floats_are_short_and_stay_floats(void **state) {
    (void)state;
    CHECK(
        {"81a161 ca3f800000", "{\"a\":1.0}"}, {"81a161 ca00000000", "{\"a\":0.0}"},
        {"81a161 ca80000000", "{\"a\":-0.0}"}, {"81a161 ca3dcccccd", "{\"a\":0.10000000149011612}"},
        {"81a161 cb3fb999999999999a", "{\"a\":0.1}"}, {"81a161 cb3fe6666666666666", "{\"a\":0.7}"},
        {"81a161 cb4024000000000000", "{\"a\":10.0}"},
        {"81a161 cb7fefffffffffffff", "{\"a\":1.7976931348623157e308}"},
        {"81a161 cb0000000000000001", "{\"a\":5e-324}"},
        {"81a161 cbc059000000000000", "{\"a\":-100.0}"},
        {"81a161 ca7f7fffff", "{\"a\":3.4028234663852886e38}"},
        {"81a161 ca00000001", "{\"a\":1.401298464324817e-45}"});
}

static void test_strings_of_every_family_are_text(void **state) {
    (void)state;
    CHECK({"81a161 a0", "{\"a\":\"\"}"}, {"81a161 a26869", "{\"a\":\"hi\"}"},
          {"81a161 bf(78*31)", "{\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}"},
          {"81a161 d900", "{\"a\":\"\"}"}, {"81a161 d90178", "{\"a\":\"x\"}"},
          {"81a161 da0000", "{\"a\":\"\"}"}, {"81a161 da000178", "{\"a\":\"x\"}"},
          {"81a161 db00000000", "{\"a\":\"\"}"}, {"81a161 db0000000178", "{\"a\":\"x\"}"},
          {"81a161 a9 220a0d095c0001c3a9", "{\"a\":\"\\\"\\n\\r\\t\\\\\\u0000\\u0001\xC3\xA9\"}"},
          {"81d90161 01", "{\"a\":1}"}, {"81da000161 01", "{\"a\":1}"},
          {"81db0000000161 01", "{\"a\":1}"}, {"81a0 01", "{\"\":1}"});
}

static void test_bin_of_every_family_is_base64(void **state) {
    (void)state;
    CHECK({"81a161 c400", "{\"a\":\"\"}"}, {"81a161 c401ff", "{\"a\":\"/w==\"}"},
          {"81a161 c50002fffe", "{\"a\":\"//4=\"}"},
          {"81a161 c600000003616263", "{\"a\":\"YWJj\"}"},
          {"81a161 92 c40100 c40101", "{\"a\":[\"AA==\",\"AQ==\"]}"});
}

static void test_containers_of_every_family_nest(void **state) {
    (void)state;
    CHECK({"80", "{}"}, {"de0000", "{}"}, {"df00000000", "{}"}, {"81a161 90", "{\"a\":[]}"},
          {"81a161 80", "{\"a\":{}}"}, {"81a161 dc0000", "{\"a\":[]}"},
          {"81a161 dd00000000", "{\"a\":[]}"}, {"81a161 93c0c2c3", "{\"a\":[null,false,true]}"},
          {"81a161 dc00029001", "{\"a\":[[],1]}"}, {"81a161 dd0000000180", "{\"a\":[{}]}"},
          {"de0002 a16101 a16202", "{\"a\":1,\"b\":2}"},
          {"df00000002 a161de0001a16301 a16202", "{\"a\":{\"c\":1},\"b\":2}"},
          {"82a161 92 9180 82a16301a16402 a162 91 91 a0",
           "{\"a\":[[{}],{\"c\":1,\"d\":2}],\"b\":[[\"\"]]}"},
          {"82a161 80 a162 81 a161 80", "{\"a\":{},\"b\":{\"a\":{}}}"});
}

static void test_long_texts_and_many_items_take_wide_heads(void **state) {
    (void)state;
    struct parley_buffer got;
    parley_buffer_init(&got);
    size_t length;
    unsigned char *bytes = hex_bytes("81a161 db00011170(78*70000)", &length);
    assert_int_equal(read_as(&msgpack_protocol_codec, (struct parley_bytes){(char *)bytes, length},
                             false, false, &got),
                     PARLEY_OK);
    assert_int_equal(got.length, 70000 + 8);
    free(bytes);
    parley_buffer_clear(&got);
    bytes = hex_bytes("81a161 dd00011170(01*70000)", &length);
    assert_int_equal(read_as(&msgpack_protocol_codec, (struct parley_bytes){(char *)bytes, length},
                             false, false, &got),
                     PARLEY_OK);
    assert_int_equal(got.length, 70000 * 2 - 1 + 8);
    free(bytes);
    parley_buffer_finish(&got);
}

/* ---- faults ---- */

static void test_what_ends_too_early_says_what_is_missing(void **state) {
    (void)state;
    CHECK(
        {"", "GW-001 at 0 : the message is empty\n"},
        {"81", "GW-001 at 1 : the message ends inside the fixmap at byte 0: 0 of its 1 member is "
               "complete\n"},
        {"de", "GW-001 at 1 : the message ends inside the head of the map 16 at byte 0: 1 of its 3 "
               "bytes are present\n"},
        {"81a161 da01", "GW-001 at 5 : the message ends inside the head of the str 16 at byte 3: 2 "
                        "of its 3 bytes are present\n"},
        {"81a161 cb00000000", "GW-001 at 8 : the message ends inside the head of the float 64 at "
                              "byte 3: 5 of its 9 bytes are present\n"},
        {"81a161 d9056162", "GW-001 at 7 : the message ends inside the str 8 at byte 3: 2 of its 5 "
                            "bytes are present\n"},
        {"81a161 a3ff",
         "GW-005 at 4 : byte 0xff, number 1 of the 3 in this fixstr, is not valid UTF-8\n"},
        {"81a161 c4", "GW-001 at 4 : the message ends inside the head of the bin 8 at byte 3: 1 of "
                      "its 2 bytes are present\n"},
        {"81a161 c403ff", "GW-001 at 6 : the message ends inside the bin 8 at byte 3: 1 of its 3 "
                          "bytes are present\n"},
        {"81a3616263", "GW-001 at 5 : the message ends inside the fixmap at byte 0: 0 of its 1 "
                       "member is complete\n"},
        {"82a16101 a2", "GW-001 at 5 : the message ends inside the fixstr at byte 4: 0 of its 2 "
                        "bytes are present\n"},
        {"82a16101 a162", "GW-001 at 6 : the message ends inside the fixmap at byte 0: 1 of its 2 "
                          "members are complete\n"},
        {"81a161 93a20101c0", "GW-001 at 8 : the message ends inside the fixarray at byte 3: 2 of "
                              "its 3 items are complete\n"});
}

static void test_a_claim_of_more_than_there_is_is_a_fault_at_the_end(void **state) {
    (void)state;
    CHECK({"df10000000 a16101", "GW-001 at 8 : the message ends inside the map 32 at byte 0: 1 of "
                                "its 268435456 members are complete\n"},
          {"81a161 ddffffffff00", "GW-001 at 9 : the message ends inside the array 32 at byte 3: 1 "
                                  "of its 4294967295 items are complete\n"},
          {"81a161 dbffffffff00", "GW-001 at 9 : the message ends inside the str 32 at byte 3: 1 "
                                  "of its 4294967295 bytes are present\n"},
          {"82a16101a162", "GW-001 at 6 : the message ends inside the fixmap at byte 0: 1 of its 2 "
                           "members are complete\n"});
}

static void test_what_json_cannot_hold_is_a_fault(void **state) {
    (void)state;
    CHECK(
        {"81a161 c1", "GW-001 at 3 : 0xc1 is not a type of MessagePack\n"},
        {"c1", "GW-001 at 0 : 0xc1 is not a type of MessagePack\n"},
        {"81a161 d6ff00000000", "GW-001 at 3 : extension types (fixext 4, 0xd6) are not allowed: "
                                "JSON has no equivalent\n"},
        {"81a161 c70105ff",
         "GW-001 at 3 : extension types (ext 8, 0xc7) are not allowed: JSON has no equivalent\n"},
        {"81a161 c7",
         "GW-001 at 3 : extension types (ext 8, 0xc7) are not allowed: JSON has no equivalent\n"},
        {"81a161 c9ffffffff01",
         "GW-001 at 3 : extension types (ext 32, 0xc9) are not allowed: JSON has no equivalent\n"},
        {"81a161 ca7f800000",
         "GW-001 at 3 : this float 32 is Infinity, which JSON does not have\n"},
        {"81a161 cafF800000",
         "GW-001 at 3 : this float 32 is -Infinity, which JSON does not have\n"},
        {"81a161 cb7ff8000000000000",
         "GW-001 at 3 : this float 64 is NaN, which JSON does not have\n"},
        {"81a161 cf8000000000000000", "GW-001 at 3 : the integer 9223372036854775808 is above "
                                      "9223372036854775807, the largest signed 64-bit integer\n"});
}

static void test_a_key_that_is_no_string_is_a_fault(void **state) {
    (void)state;
    CHECK({"8101a161", "GW-001 at 1 : a key must be a string, not a positive fixint (0x01)\n"},
          {"82a16101 c4016201", "GW-001 at 4 : a key must be a string, not a bin 8 (0xc4)\n"},
          {"81 9001", "GW-001 at 1 : a key must be a string, not a fixarray (0x90)\n"},
          {"81 8001", "GW-001 at 1 : a key must be a string, not a fixmap (0x80)\n"},
          {"81 d60000", "GW-001 at 1 : a key must be a string, not a fixext 4 (0xd6)\n"},
          {"81a161 81 cb0000", "GW-001 at 4 : a key must be a string, not a float 64 (0xcb)\n"},
          {"81 a3610062 01", "GW-001 at 3 : a key cannot contain a NUL character\n"});
}

static void test_text_that_is_not_utf8_is_a_fault_at_the_byte(void **state) {
    (void)state;
    CHECK({"81a161 a361ff62",
           "GW-005 at 5 : byte 0xff, number 2 of the 3 in this fixstr, is not valid UTF-8\n"},
          {"81a2c328 01",
           "GW-005 at 2 : byte 0xc3, number 1 of the 2 in this fixstr, is not valid UTF-8\n"},
          {"81a161 d90c6162636465666768696a ed a0",
           "GW-005 at 15 : byte 0xed, number 11 of the 12 in this str 8, is not valid UTF-8\n"},
          {"81a161 a2c3", "GW-001 at 5 : the message ends inside the fixstr at byte 3: 1 of its 2 "
                          "bytes are present\n"});
}

static void test_a_repeated_key_is_a_fault_with_its_path(void **state) {
    (void)state;
    CHECK({"82a16101a16102", "GW-003 at 4 /a: duplicate key\n"},
          {"81a162 82d9016101 a16102", "GW-003 at 8 /b/a: duplicate key\n"},
          {"81a162 9301 02 82a17e01a17e02", "GW-003 at 10 /b/2/~0: duplicate key\n"},
          {"82a16181a16101a16281a16101", "{\"a\":{\"a\":1},\"b\":{\"a\":1}}"},
          {"83a16181a16281a1630ea162 81a162 01 a16102", "GW-003 at 16 /a: duplicate key\n"});
}

static void test_depth_ends_at_64(void **state) {
    (void)state;
    struct parley_buffer got;
    parley_buffer_init(&got);
    static const struct {
        const char *hex;
        const char *starts;
    } rows[] = {
        {"81a161 (91*62)90", "{\"a\":[[[["},
        {"81a161 (91*62)9190", "GW-004 at 66 /a/0/0/"},
        {"81a161 (91*62)9180", "GW-004 at 66 /a/0/0/"},
        {"81a161 (91*62)91ddffffffff", "GW-004 at 66 /a/0/0/"},
        {"81a161 (91*62)91dd", "GW-004 at 66 /a/0/0/"},
        {"81a161 (91*62)9101", "{\"a\":[[[["},
        {"(91*64)", "GW-001 at 64 : the message ends inside the fixarray"},
        {"(91*1000)", "GW-004 at 64 /0/0/0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length;
        unsigned char *bytes = hex_bytes(rows[i].hex, &length);
        parley_buffer_clear(&got);
        assert_int_equal(read_as(&msgpack_protocol_codec,
                                 (struct parley_bytes){(char *)bytes, length}, false, false, &got),
                         PARLEY_OK);
        parley_buffer_char(&got, '\0');
        if (strncmp(got.data, rows[i].starts, strlen(rows[i].starts)) != 0) {
            fail_msg("%s: %s", rows[i].hex, got.data);
        }
        free(bytes);
    }
    parley_buffer_finish(&got);
}

static void test_what_is_behind_the_map_is_a_fault(void **state) {
    (void)state;
    CHECK({"8000", "GW-001 at 1 : unexpected data after the message: 1 byte\n"},
          {"81a16101 8080", "GW-001 at 4 : unexpected data after the message: 2 bytes\n"},
          {"9000", "GW-001 at 1 : unexpected data after the message: 1 byte\n"});
}

static void test_a_top_level_that_is_no_map_is_told_last(void **state) {
    (void)state;
    CHECK({"90", "GW-006 at 0 : the message is a fixarray, not a map\n"},
          {"01", "GW-006 at 0 : the message is a positive fixint, not a map\n"},
          {"a161", "GW-006 at 0 : the message is a fixstr, not a map\n"},
          {"c0", "GW-006 at 0 : the message is a nil, not a map\n"},
          {"91 81a161", "GW-001 at 4 : the message ends inside the fixmap at byte 1: 0 of its 1 "
                        "member is complete\n"},
          {"91 82a16101a16101", "GW-003 at 5 /0/a: duplicate key\n"});
}

static void test_json_by_mistake_is_named(void **state) {
    (void)state;
    CHECK({"7b7d", "GW-001 at 0 : this is JSON; expected a MessagePack map\n"},
          {"7b", "GW-001 at 0 : this is JSON; expected a MessagePack map\n"});
}

static void test_the_first_fault_in_the_order_of_the_bytes_is_reported(void **state) {
    (void)state;
    CHECK({"83a16101a16102 a162a1ff", "GW-003 at 4 /a: duplicate key\n"},
          {"83a162a1ff a16101a16102",
           "GW-005 at 4 : byte 0xff, number 1 of the 1 in this fixstr, is not valid UTF-8\n"},
          {"df10000000 a16101 a16102", "GW-003 at 8 /a: duplicate key\n"},
          {"8a a16101 a2007801", "GW-001 at 5 : a key cannot contain a NUL character\n"},
          {"81 a400ff6162 01", "GW-001 at 2 : a key cannot contain a NUL character\n"},
          {"81 a4ff006162 01",
           "GW-005 at 2 : byte 0xff, number 1 of the 4 in this fixstr, is not valid UTF-8\n"},
          {"81a161 a5c3", "GW-001 at 5 : the message ends inside the fixstr at byte 3: 1 of its 5 "
                          "bytes are present\n"},
          {"81a161 a5e2ff",
           "GW-005 at 4 : byte 0xe2, number 1 of the 5 in this fixstr, is not valid UTF-8\n"},
          {"82a161c1 a161c0", "GW-001 at 3 : 0xc1 is not a type of MessagePack\n"});
}

/* Members of a map with one fault, and where that is. */
static const struct part {
    const char *hex;
    unsigned members;
    const char *rule;
    size_t offset;
} parts[] = {
    {"a16b01 a16b02", 2, "GW-003", 3},
    {"a164 (91*64)01", 1, "GW-004", 2 + 63},
    {"a175 a1ff", 1, "GW-005", 3},
    {"a1ff 01", 1, "GW-005", 1},
    {"a165 d60000000000", 1, "GW-001", 2},
    {"a166 cb7ff8000000000000", 1, "GW-001", 2},
    {"a167 cf8000000000000000", 1, "GW-001", 2},
    {"01 01", 1, "GW-001", 0},
    {"a27800 01", 1, "GW-001", 2},
    {"a168 c1", 1, "GW-001", 2},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* `outer`: what the map is in, the start of an array or nothing. `missing`: members that the map
 * claims, and that are not there. */
static void check_pair(const struct part *first, const struct part *second, const char *outer,
                       unsigned missing) {
    char hex[256], wanted[64];
    const size_t before = 1 + strlen(outer) / 2;
    const bool is_one_deeper = outer[0] != '\0' && strcmp(first->rule, "GW-004") == 0;
    snprintf(hex, sizeof hex, "%s %02x %s %s", outer,
             0x80 + first->members + second->members + missing, first->hex, second->hex);
    snprintf(wanted, sizeof wanted, "%s at %zu ", first->rule,
             before + first->offset - is_one_deeper);
    struct parley_buffer got;
    size_t length;
    unsigned char *bytes = hex_bytes(hex, &length);
    parley_buffer_init(&got);
    assert_int_equal(read_as(&msgpack_protocol_codec, (struct parley_bytes){(char *)bytes, length},
                             false, false, &got),
                     PARLEY_OK);
    parley_buffer_char(&got, '\0');
    if (strncmp(got.data, wanted, strlen(wanted)) != 0) {
        fail_msg("%s: %s, not %s", hex, got.data, wanted);
    }
    free(bytes);
    parley_buffer_finish(&got);
}

/* In either order; the end that is missing is said later, and the top level last. */
static void test_of_two_faults_the_first_in_the_bytes_is_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < PARTS; i++) {
        for (size_t k = 0; k < PARTS; k++) {
            for (unsigned form = 0; form < 4 && i != k; form++) {
                check_pair(&parts[i], &parts[k], form % 2 == 0 ? "" : "91", form / 2);
            }
        }
    }
}

/* ---- rules ---- */

static void test_the_rules_see_what_the_bytes_say_and_where(void **state) {
    (void)state;
    CHECK_FINDINGS(
        {"82a474797065a462656174 a974696d657374616d7001", ""},
        {"82a474797065a462656174 a974696d657374616d70cb3ff0000000000000", ""},
        {"82a474797065a462656174 a974696d657374616d70ca80000000", ""},
        {"82a474797065a462656174 a974696d657374616d70ca3f000000",
         "T-002 at 21 /timestamp: `timestamp` is 0.5; expected an integer\n"},
        {"82a474797065c403000102 a974696d657374616d7001", ""},
        {"81a474797065c0", "T-001 at 6 /type: `type` is null; expected a string\n"
                           "T-002 at 0 /timestamp: `timestamp` is missing; expected an integer\n"},
        {"82a974696d657374616d7001a474797065a46e6f7465",
         "T-003 at 0 /data: `data` is missing; expected a value\n"},
        {"83a474797065a46e6f7465 a974696d657374616d7001 a464617461 81a46c6973749301a178c0",
         "T-003 at 34 /data/list/0: `data/list/0` is 1; expected a string\n"
         "T-003 at 37 /data/list/2: `data/list/2` is null; expected a string\n"});
}

static void test_a_bin_is_its_base64_text_to_the_rules(void **state) {
    (void)state;
    CHECK_FINDINGS({"83a474797065a462656174 a974696d657374616d7001 a56c6162656cc403ffffff", ""},
                   {"83a474797065a462656174 a974696d657374616d7001 a56c6162656cc40400000000",
                    "T-004 at 28 /label: `label` is \"AAAAAA==\"; expected a string of at most 4 "
                    "characters\n"},
                   /* The base64 of these three is "note", and a note has data. */
                   {"82a474797065c4039e8b5e a974696d657374616d7001",
                    "T-003 at 0 /data: `data` is missing; expected a value\n"});
}

/* ---- stamps ---- */

static void test_an_absent_timestamp_is_put_in_front(void **state) {
    (void)state;
    CHECK_STAMPED(
        {"80", "{\"timestamp\":1705392000}"},
        {"81a161a162", "{\"timestamp\":1705392000,\"a\":\"b\"}"},
        {"81a974696d657374616d7005", "{\"timestamp\":5}"},
        {"81a974696d657374616d70c0", "{\"timestamp\":null}"},
        {"81a16181a974696d657374616d7005", "{\"timestamp\":1705392000,\"a\":{\"timestamp\":5}}"},
        {"de0001a16101", "{\"timestamp\":1705392000,\"a\":1}"},
        {"df00000001a16101", "{\"timestamp\":1705392000,\"a\":1}"});
}

/* A map of `count` members, {"k00000": 0, …}; `head` its head in hexadecimal. */
static void append_members(struct parley_buffer *out, const char *head, size_t count) {
    size_t length;
    unsigned char *bytes = hex_bytes(head, &length);
    parley_buffer_append(out, (struct parley_bytes){(char *)bytes, length});
    free(bytes);
    for (size_t i = 0; i < count; i++) {
        parley_buffer_format(out, "\xa6k%05zu%c", i, 1);
    }
}

static void test_a_head_grows_with_its_count(void **state) {
    (void)state;
    static const struct {
        const char *head, *stamped;
        size_t count;
    } rows[] = {{"8e", "8f", 14},
                {"8f", "de0010", 15},
                {"deffff", "df00010000", 65535},
                {"de0003", "84", 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_message message;
        struct parley_buffer body;
        const struct parley_options options = {.stamp = true, .now_seconds = 1};
        parley_buffer_init(&body);
        append_members(&body, rows[i].head, rows[i].count);
        parley_message_init(&message, schema);
        assert_int_equal(parley_message_check(&message, parley_buffer_bytes(&body),
                                              &msgpack_protocol_codec, &options,
                                              (struct parley_position){1, 1}),
                         PARLEY_OK);
        size_t length;
        unsigned char *head = hex_bytes(rows[i].stamped, &length);
        assert_memory_equal(message.text.data, head, length);
        assert_memory_equal(message.text.data + length, "\xa9timestamp\x01\xa6k00000\x01", 19);
        struct msgpack_fault fault;
        assert_int_equal(msgpack_find_fault(message.text, &message.arena, &fault), MSGPACK_READ);
        free(head);
        parley_message_finish(&message);
        parley_buffer_finish(&body);
    }
}

static void test_places_in_a_stamped_message_are_those_in_what_was_sent(void **state) {
    (void)state;
    check_rows(
        ROWS({"82a474797065c0 a56c6162656ca56c6f6e6765",
              "T-001 at 6 /type: `type` is null; expected a string\n"
              "T-004 at 13 /label: `label` is \"longe\"; expected a string of at most 4 "
              "characters\n"},
             {"de0001 a474797065c0", "T-001 at 8 /type: `type` is null; expected a string\n"},
             {"80", "T-001 at 0 /type: `type` is missing; expected a string\n"}),
        true, true);
}

/* ---- from JSON ---- */

static enum parley_status pack(const char *json, struct parley_buffer *out, size_t *out_size) {
    struct parley_message message;
    const struct parley_options options = {0};
    parley_message_init(&message, schema);
    enum parley_status status =
        parley_message_check(&message, parley_bytes_of(json), &parley_codec_json, &options,
                             (struct parley_position){1, 1});
    assert_true(status != PARLEY_OK || message.is_decoded);
    if (status == PARLEY_OK) {
        status = msgpack_from_json(&message, out);
    }
    if (status == PARLEY_OK) {
        status = msgpack_size_from_json(&message, out_size);
    }
    /* The reader that accepts has added it up, unless it was not sure. */
    assert_true(status != PARLEY_OK || message.packed_bytes == 0 ||
                message.packed_bytes == *out_size);
    parley_message_finish(&message);
    return status;
}

struct packed_row {
    const char *json, *hex;
};

static void check_packed(const struct packed_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct parley_buffer got;
        size_t length, size;
        unsigned char *wanted = hex_bytes(rows[i].hex, &length);
        parley_buffer_init(&got);
        assert_int_equal(pack(rows[i].json, &got, &size), PARLEY_OK);
        if (got.length != length || memcmp(got.data, wanted, length) != 0 || size != length) {
            fprintf(stderr, "%s\nwanted %s\ngot    ", rows[i].json, rows[i].hex);
            for (size_t k = 0; k < got.length; k++) {
                fprintf(stderr, "%02x", (unsigned char)got.data[k]);
            }
            fail_msg("\nof %zu bytes, said to be %zu", got.length, size);
        }
        parley_buffer_finish(&got);
        free(wanted);
    }
}

#define CHECK_PACKED(...)                                                                          \
    check_packed((const struct packed_row[]){__VA_ARGS__},                                         \
                 sizeof((const struct packed_row[]){__VA_ARGS__}) / sizeof(struct packed_row))

static void test_integers_are_packed_exactly_and_short(void **state) {
    (void)state;
    CHECK_PACKED(
        {"{\"a\":0}", "81a16100"}, {"{\"a\":127}", "81a1617f"}, {"{\"a\":128}", "81a161cc80"},
        {"{\"a\":255}", "81a161ccff"}, {"{\"a\":256}", "81a161cd0100"},
        {"{\"a\":65536}", "81a161ce00010000"}, {"{\"a\":4294967296}", "81a161cf0000000100000000"},
        {"{\"a\":9007199254740993}", "81a161cf0020000000000001"},
        {"{\"a\":9223372036854775807}", "81a161cf7fffffffffffffff"}, {"{\"a\":-1}", "81a161ff"},
        {"{\"a\":-32}", "81a161e0"}, {"{\"a\":-33}", "81a161d0df"},
        {"{\"a\":-129}", "81a161d1ff7f"}, {"{\"a\":-32769}", "81a161d2ffff7fff"},
        {"{\"a\":-9007199254740993}", "81a161d3ffdfffffffffffff"},
        {"{\"a\":-9223372036854775808}", "81a161d38000000000000000"});
}

static void test_other_numbers_are_packed_as_short_as_is_exact(void **state) {
    (void)state;
    CHECK_PACKED({"{\"a\":0.5}", "81a161ca3f000000"}, {"{\"a\":0.1}", "81a161cb3fb999999999999a"},
                 {"{\"a\":1.0}", "81a161ca3f800000"}, {"{\"a\":1e2}", "81a161ca42c80000"},
                 {"{\"a\":-0}", "81a161ca80000000"}, {"{\"a\":-0.0}", "81a161ca80000000"},
                 {"{\"a\":1e300}", "81a161cb7e37e43c8800759c"},
                 {"{\"a\":9223372036854775808}", "81a161ca5f000000"},
                 {"{\"a\":12345678901234567890}", "81a161cb43e56a95319d63e1"},
                 {"{\"a\":5e-324}", "81a161cb0000000000000001"},
                 {"{\"a\":0.10000000149011612}", "81a161ca3dcccccd"});
}

static void test_what_json_nests_is_packed_with_its_counts(void **state) {
    (void)state;
    CHECK_PACKED(
        {"{}", "80"}, {" { \"a\" : [ ] , \"b\" : { } }\n", "82a16190a16280"},
        {"{\"a\":[1,[2,[]],{\"b\":null,\"c\":[true,false]}],\"d\":\"x\"}",
         "82a1619301920290 82a162c0a16392c3c2 a164a178"},
        {"{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}", "81a1619f0102030405060708090a0b0c0d0e0f"},
        {"{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}",
         "81a161dc00100102030405060708090a0b0c0d0e0f10"});
}

static void test_strings_are_packed_decoded_and_short(void **state) {
    (void)state;
    CHECK_PACKED({"{\"a\":\"\"}", "81a161a0"},
                 {"{\"\\u0061\":\"\\n\\u00e9\\ud83d\\ude00\"}", "81a161a70ac3a9f09f9880"},
                 {"{\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}", "81a161bf(78*31)"},
                 {"{\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}", "81a161d920(78*32)"},
                 {"{\"a\":\"\\u0000\"}", "81a161a100"});
}

static void test_wide_heads_are_packed_where_counts_ask_for_them(void **state) {
    (void)state;
    static const struct {
        size_t count;
        const char *string, *array, *map;
    } rows[] = {{255, "d9ff", "dc00ff", "de00ff"},
                {256, "da0100", "dc0100", "de0100"},
                {65535, "daffff", "dcffff", "deffff"},
                {65536, "db00010000", "dd00010000", "df00010000"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int kind = 0; kind < 3; kind++) {
            struct parley_buffer json, packed;
            parley_buffer_init(&json);
            parley_buffer_init(&packed);
            parley_buffer_text(&json, kind == 0   ? "{\"a\":\""
                                      : kind == 1 ? "{\"a\":["
                                                  : "{\"a\":{");
            for (size_t k = 0; k < rows[i].count; k++) {
                if (kind == 2) {
                    parley_buffer_format(&json, "%s\"%zu\":0", k == 0 ? "" : ",", k);
                } else {
                    parley_buffer_text(&json, kind == 0 ? "x" : k == 0 ? "0" : ",0");
                }
            }
            parley_buffer_text(&json, kind == 0 ? "\"}" : kind == 1 ? "]}" : "}}");
            parley_buffer_char(&json, '\0');
            size_t length, size;
            unsigned char *head = hex_bytes(kind == 0   ? rows[i].string
                                            : kind == 1 ? rows[i].array
                                                        : rows[i].map,
                                            &length);
            assert_int_equal(pack(json.data, &packed, &size), PARLEY_OK);
            assert_int_equal(size, packed.length);
            assert_memory_equal(packed.data + 3, head, length);
            free(head);
            parley_buffer_finish(&json);
            parley_buffer_finish(&packed);
        }
    }
}

/* There and back again: what is written of either is read as what it was. */
/* `json` nested in so many arrays. */
static enum parley_status pack_nested(size_t depth, const char *json, struct parley_buffer *out) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t i = 0; i < depth; i++) {
        parley_buffer_char(&text, '[');
    }
    parley_buffer_text(&text, json);
    for (size_t i = 0; i < depth; i++) {
        parley_buffer_char(&text, ']');
    }
    const enum parley_status status = msgpack_from_text(parley_buffer_bytes(&text), out);
    parley_buffer_finish(&text);
    return status;
}

static void test_an_answer_is_packed_if_it_is_json_that_can_be_read(void **state) {
    static const struct {
        size_t depth;
        const char *json, *bytes; /* NULL: it cannot */
    } rows[] = {{0, "{\"a\":true}\n",
                 "\x81\xa1"
                 "a\xc3"},
                {1, "1", "\x91\x01"},
                {0, "\"a\"",
                 "\xa1"
                 "a"},
                {65, "1", NULL},
                {0, "{", NULL},
                {0, "", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_buffer out;
        parley_buffer_init(&out);
        const enum parley_status status = pack_nested(rows[i].depth, rows[i].json, &out);
        assert_int_equal(status, rows[i].bytes != NULL ? PARLEY_OK : PARLEY_E_UNSUPPORTED);
        assert_int_equal(out.length, rows[i].bytes != NULL ? strlen(rows[i].bytes) : 0);
        assert_memory_equal(out.length > 0 ? out.data : "",
                            rows[i].bytes != NULL ? rows[i].bytes : "", out.length);
        parley_buffer_finish(&out);
    }
}

static void test_json_and_messagepack_are_the_same_message(void **state) {
    (void)state;
    static const char *const rows[] = {
        "{\"a\":[1,-1,0.5,0.1,1.0,-0.0,1e300,9007199254740993,-9223372036854775808]}",
        "{\"a\":{\"b\":[[],{},null,true,false,\"\"],\"\\u0000\\n\xC3\xA9\":1}}",
        "{\"timestamp\":1705392000,\"type\":\"beat\",\"x\":3.4028234663852886e38}",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_buffer packed, text, again;
        size_t size;
        parley_buffer_init(&packed);
        parley_buffer_init(&text);
        parley_buffer_init(&again);
        if (strstr(rows[i], "\\u0000") == NULL) { /* JSON allows no such key: only read it */
            assert_int_equal(pack(rows[i], &packed, &size), PARLEY_OK);
            assert_int_equal(
                read_as(&msgpack_protocol_codec, parley_buffer_bytes(&packed), false, false, &text),
                PARLEY_OK);
            parley_buffer_char(&text, '\0');
            assert_int_equal(pack(text.data, &again, &size), PARLEY_OK);
            assert_int_equal(again.length, packed.length);
            assert_memory_equal(again.data, packed.data, packed.length);
        }
        parley_buffer_finish(&packed);
        parley_buffer_finish(&text);
        parley_buffer_finish(&again);
    }
}

/* ---- memory ---- */

struct materials {
    struct parley_bytes good, bad;
};

/* All that is done with MessagePack, into one text. */
static enum parley_status do_all(const struct materials *materials, struct parley_buffer *out) {
    static const char json[] = "{\"type\":\"note\",\"\\u0061\":[1,{\"b\":[\"\\n\",0.1]}]}";
    size_t size;
    PARLEY_TRY(read_as(&msgpack_protocol_codec, materials->good, true, true, out));
    PARLEY_TRY(read_as(&msgpack_protocol_codec, materials->good, true, false, out));
    PARLEY_TRY(read_as(&msgpack_protocol_codec, materials->bad, false, true, out));
    return pack(json, out, &size);
}

static void test_no_allocation_that_fails_makes_a_wrong_answer(void **state) {
    (void)state;
    struct parley_buffer wanted, got;
    struct materials materials;
    unsigned char *good =
        hex_bytes("df00000014 a474797065c4039e8b5e a16b93c402ffffa0cb3fb999999999999a"
                  "a1610fa1620fa1630fa1640fa1650fa1660fa1670fa1680fa1690fa16a0f"
                  "a16c0fa16d0fa16e0fa16f0fa1700fa1710fa1720fa1730f",
                  &materials.good.length);
    unsigned char *bad = hex_bytes("81a16192 00 82a162c0a162c0", &materials.bad.length);
    materials.good.data = (char *)good;
    materials.bad.data = (char *)bad;
    parley_buffer_init(&wanted);
    parley_buffer_init(&got);
    fault_heap_arm(SIZE_MAX, 0);
    assert_int_equal(do_all(&materials, &wanted), PARLEY_OK);
    const size_t count = fault_heap_disarm();
    assert_true(count > 15);
    for (size_t first = 0; first < count; first++) {
        for (size_t failures = 1; failures != 0; failures = failures == 1 ? SIZE_MAX : 0) {
            parley_buffer_finish(&got);
            fault_heap_arm(first, failures);
            const enum parley_status status = do_all(&materials, &got);
            fault_heap_disarm();
            if (status == PARLEY_OK) {
                assert_int_equal(got.length, wanted.length);
                assert_memory_equal(got.data, wanted.data, wanted.length);
            } else {
                assert_int_equal(status, PARLEY_E_MEMORY);
            }
        }
    }
    free(good);
    free(bad);
    parley_buffer_finish(&wanted);
    parley_buffer_finish(&got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_of_every_family_are_exact),
        cmocka_unit_test(test_floats_are_short_and_stay_floats),
        cmocka_unit_test(test_strings_of_every_family_are_text),
        cmocka_unit_test(test_bin_of_every_family_is_base64),
        cmocka_unit_test(test_containers_of_every_family_nest),
        cmocka_unit_test(test_long_texts_and_many_items_take_wide_heads),
        cmocka_unit_test(test_what_ends_too_early_says_what_is_missing),
        cmocka_unit_test(test_a_claim_of_more_than_there_is_is_a_fault_at_the_end),
        cmocka_unit_test(test_what_json_cannot_hold_is_a_fault),
        cmocka_unit_test(test_a_key_that_is_no_string_is_a_fault),
        cmocka_unit_test(test_text_that_is_not_utf8_is_a_fault_at_the_byte),
        cmocka_unit_test(test_a_repeated_key_is_a_fault_with_its_path),
        cmocka_unit_test(test_depth_ends_at_64),
        cmocka_unit_test(test_what_is_behind_the_map_is_a_fault),
        cmocka_unit_test(test_a_top_level_that_is_no_map_is_told_last),
        cmocka_unit_test(test_json_by_mistake_is_named),
        cmocka_unit_test(test_the_first_fault_in_the_order_of_the_bytes_is_reported),
        cmocka_unit_test(test_of_two_faults_the_first_in_the_bytes_is_reported),
        cmocka_unit_test(test_the_rules_see_what_the_bytes_say_and_where),
        cmocka_unit_test(test_a_bin_is_its_base64_text_to_the_rules),
        cmocka_unit_test(test_an_absent_timestamp_is_put_in_front),
        cmocka_unit_test(test_a_head_grows_with_its_count),
        cmocka_unit_test(test_places_in_a_stamped_message_are_those_in_what_was_sent),
        cmocka_unit_test(test_integers_are_packed_exactly_and_short),
        cmocka_unit_test(test_other_numbers_are_packed_as_short_as_is_exact),
        cmocka_unit_test(test_what_json_nests_is_packed_with_its_counts),
        cmocka_unit_test(test_strings_are_packed_decoded_and_short),
        cmocka_unit_test(test_wide_heads_are_packed_where_counts_ask_for_them),
        cmocka_unit_test(test_an_answer_is_packed_if_it_is_json_that_can_be_read),
        cmocka_unit_test(test_json_and_messagepack_are_the_same_message),
        cmocka_unit_test(test_no_allocation_that_fails_makes_a_wrong_answer),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
