/* SPDX-License-Identifier: Apache-2.0 */

/* Compressed checkpoints: what unpacks, what does not, and how much memory that may take. Which
 * rule is broken where has its conformance cases. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <sodium.h>
#include <zstd.h>

#include "lib/random.h"
#include "supervisor/checkpoint.h"

/* Where one piece ends and the next begins (checkpoint.c). */
enum { SCRATCH = 128 << 10, DECODED_PIECE = 48 << 10 };

struct fixture {
    struct parley_schema *schema;
    struct parley_message message;
    struct parley_arena arena;
    struct parley_buffer zstd, text, out;
    struct checkpoint_fault fault;
};

static int set_up(void **state) {
    static struct fixture fixture;
    if (parley_schema_create(parley_protocol_find(PARLEY_BYTES("supervisor")), &fixture.schema) !=
        PARLEY_OK) {
        return -1;
    }
    parley_message_init(&fixture.message, fixture.schema);
    parley_arena_init(&fixture.arena, 0);
    parley_buffer_init(&fixture.zstd);
    parley_buffer_init(&fixture.text);
    parley_buffer_init(&fixture.out);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    parley_message_finish(&fixture->message);
    parley_schema_destroy(fixture->schema);
    parley_arena_finish(&fixture->arena);
    parley_buffer_finish(&fixture->zstd);
    parley_buffer_finish(&fixture->text);
    parley_buffer_finish(&fixture->out);
    return 0;
}

static void append_base64(struct parley_buffer *out, struct parley_bytes bytes) {
    const size_t size = sodium_base64_ENCODED_LEN(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    assert_true(parley_buffer_reserve(out, size));
    sodium_bin2base64(out->data + out->length, size, (const unsigned char *)bytes.data,
                      bytes.length, sodium_base64_VARIANT_ORIGINAL);
    out->length += size - 1;
}

static void append_frame(struct parley_buffer *out, struct parley_bytes bytes) {
    assert_true(parley_buffer_reserve(out, ZSTD_compressBound(bytes.length)));
    const size_t size = ZSTD_compress(out->data + out->length, out->capacity - out->length,
                                      bytes.data, bytes.length, 1);
    assert_false(ZSTD_isError(size));
    out->length += size;
}

/* One frame of `count` blocks, each a byte that is repeated, 128 KiB in 4 bytes. */
static void append_repetition(struct parley_buffer *out, size_t count, char byte) {
    static const char head[] = "\x28\xb5\x2f\xfd\x00\x38"; /* no checksum, window 128 KiB */
    parley_buffer_append(out, PARLEY_BYTES(head));
    for (size_t i = 0; i < count; i++) {
        const unsigned block = (128u << 10) << 3 | 1 << 1 | (i + 1 == count);
        const char bytes[] = {(char)(block & 255), (char)(block >> 8 & 255),
                              (char)(block >> 16 & 255), byte};
        parley_buffer_append(out, (struct parley_bytes){bytes, sizeof bytes});
    }
}

/* Unpacks what lies in fixture->zstd. */
static enum checkpoint_result unpack(struct fixture *fixture) {
    parley_buffer_clear(&fixture->text);
    append_base64(&fixture->text, parley_buffer_bytes(&fixture->zstd));
    parley_buffer_clear(&fixture->out);
    return checkpoint_unpack(parley_buffer_bytes(&fixture->text), &fixture->out, &fixture->arena,
                             &fixture->fault);
}

static void unpack_frame_of(struct fixture *fixture, struct parley_bytes bytes) {
    parley_buffer_clear(&fixture->zstd);
    append_frame(&fixture->zstd, bytes);
    assert_int_equal(unpack(fixture), CHECKPOINT_READ);
    assert_true(parley_bytes_equal(parley_buffer_bytes(&fixture->out), bytes));
}

static void assert_refused(struct fixture *fixture, const char *about) {
    if (fixture->fault.message == NULL || strstr(fixture->fault.message, about) == NULL) {
        fail_msg("%s, and nothing about %s", fixture->fault.message, about);
    }
}

static size_t peak_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss;
}

/* It comes first: a peak only ever rises. */
static void test_a_bomb_of_10_gigabytes_takes_no_memory(void **state) {
    struct fixture *fixture = *state;
    parley_buffer_clear(&fixture->zstd);
    append_repetition(&fixture->zstd, 80000, '\0');
    const size_t before = peak_kib();
    assert_int_equal(unpack(fixture), CHECKPOINT_FAULT);
    assert_in_range(peak_kib() - before, 0, 16 << 10);
    assert_int_equal(fixture->out.capacity, 0);
    assert_refused(fixture, "104857600 bytes");
}

static void test_exactly_the_limit_is_unpacked(void **state) {
    struct fixture *fixture = *state;
    parley_buffer_clear(&fixture->zstd);
    append_repetition(&fixture->zstd, CHECKPOINT_BYTES_MAX >> 17, ' ');
    assert_int_equal(unpack(fixture), CHECKPOINT_READ);
    assert_int_equal(fixture->out.length, CHECKPOINT_BYTES_MAX);
    append_frame(&fixture->zstd, PARLEY_BYTES(" "));
    assert_int_equal(unpack(fixture), CHECKPOINT_FAULT);
    assert_refused(fixture, "104857600 bytes");
    parley_buffer_finish(&fixture->out);
    parley_buffer_init(&fixture->out);
}

/* Contents that do not compress, so that what is decoded ends near the ends of pieces, too. */
static void test_what_was_packed_comes_out_at_every_length_near_a_pieces_end(void **state) {
    static const size_t ends[] = {DECODED_PIECE,     2 * DECODED_PIECE, SCRATCH,
                                  3 * DECODED_PIECE, 2 * SCRATCH,       8 * SCRATCH};
    struct random_source source = {5};
    const size_t largest = 8 * SCRATCH + 20;
    char *bytes = malloc(largest);
    for (size_t i = 0; i < largest; i++) {
        bytes[i] = (char)random_below(&source, 256);
    }
    unpack_frame_of(*state, (struct parley_bytes){bytes, 0});
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        for (size_t length = ends[i] - 20; length <= ends[i] + 20; length++) {
            unpack_frame_of(*state, (struct parley_bytes){bytes, length});
        }
    }
    free(bytes);
}

static void test_frames_follow_one_another_and_may_be_skipped(void **state) {
    struct fixture *fixture = *state;
    parley_buffer_clear(&fixture->zstd);
    append_frame(&fixture->zstd, PARLEY_BYTES("one"));
    parley_buffer_append(&fixture->zstd, PARLEY_BYTES("\x5f\x2a\x4d\x18\x04\0\0\0skip"));
    append_repetition(&fixture->zstd, 2, 'x');
    append_frame(&fixture->zstd, PARLEY_BYTES(""));
    append_frame(&fixture->zstd, PARLEY_BYTES("two"));
    assert_int_equal(unpack(fixture), CHECKPOINT_READ);
    assert_int_equal(fixture->out.length, 3 + 2 * SCRATCH + 3);
    assert_memory_equal(fixture->out.data, "onex", 4);
    assert_memory_equal(fixture->out.data + fixture->out.length - 4, "xtwo", 4);
}

static void make_small(struct fixture *fixture) {
    parley_buffer_clear(&fixture->zstd);
    append_frame(&fixture->zstd, PARLEY_BYTES("{\"agent_state\":{\"id\":\"a\",\"name\":\"a\"}}"));
    append_frame(&fixture->zstd, PARLEY_BYTES("                                "));
}

static void test_a_text_that_is_cut_off_is_refused_unless_a_frame_ends_there(void **state) {
    struct fixture *fixture = *state;
    make_small(fixture);
    assert_int_equal(unpack(fixture), CHECKPOINT_READ);
    size_t unpacked = 0;
    for (size_t length = 0; length < fixture->text.length; length++) {
        char *copy = malloc(length + 1); /* so that a read behind the end is seen */
        memcpy(copy, fixture->text.data, length);
        parley_buffer_clear(&fixture->out);
        fixture->fault.message = NULL;
        const enum checkpoint_result result = checkpoint_unpack(
            (struct parley_bytes){copy, length}, &fixture->out, &fixture->arena, &fixture->fault);
        assert_true(result == CHECKPOINT_READ || fixture->fault.message != NULL);
        unpacked += result == CHECKPOINT_READ;
        free(copy);
    }
    assert_in_range(unpacked, 0, 1);
}

static void test_any_byte_in_any_place_is_read_or_refused(void **state) {
    struct fixture *fixture = *state;
    size_t refused = 0, unpacked = 0;
    make_small(fixture);
    for (size_t at = 0; at < fixture->zstd.length; at++) {
        const char kept = fixture->zstd.data[at];
        for (unsigned byte = 0; byte < 256; byte++) {
            fixture->zstd.data[at] = (char)byte;
            const enum checkpoint_result result = unpack(fixture);
            assert_true(result == CHECKPOINT_READ || result == CHECKPOINT_FAULT);
            refused += result == CHECKPOINT_FAULT;
            unpacked += result == CHECKPOINT_READ;
        }
        fixture->zstd.data[at] = kept;
    }
    assert_true(refused > 1000 && unpacked > 1000);
}

static void test_a_fault_in_base64_is_told_with_its_place(void **state) {
    static const struct {
        const char *text, *about;
    } cases[] = {
        {"KLUv!", "character 5 on"}, {"KLU", "character 4 on"},  {"K=Uv", "character 2 on"},
        {"KLUv KLU", "character 5"}, {"KL_v", "character 3 on"}, {"KLUv\n", "character 5 on"},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(checkpoint_unpack(parley_bytes_of(cases[i].text), &fixture->out,
                                           &fixture->arena, &fixture->fault),
                         CHECKPOINT_FAULT);
        assert_refused(fixture, cases[i].about);
    }
}

static void test_padding_within_the_text_is_refused_in_every_piece(void **state) {
    struct fixture *fixture = *state;
    enum { PIECE = DECODED_PIECE / 3 * 4 };
    parley_buffer_clear(&fixture->zstd);
    append_repetition(&fixture->zstd, 2 * DECODED_PIECE / 4, ' ');
    assert_int_equal(unpack(fixture), CHECKPOINT_FAULT); /* for its size */
    for (size_t end = 4; end <= PIECE; end += PIECE - 4) {
        memset(fixture->text.data + end - 2, '=', 2);
        fixture->text.data[end - 3] = 'A';
        assert_int_equal(checkpoint_unpack(parley_buffer_bytes(&fixture->text), &fixture->out,
                                           &fixture->arena, &fixture->fault),
                         CHECKPOINT_FAULT);
        assert_refused(fixture, "is not valid base64");
        memset(fixture->text.data, 'A', 4); /* base64 again, up to the next place */
    }
}

/* ---- in a message ---- */

/* A checkpoint whose data holds `inside`, compressed, on the second line. */
static void check(struct fixture *fixture, struct parley_bytes inside) {
    const struct parley_options options = {0};
    parley_buffer_clear(&fixture->zstd);
    append_frame(&fixture->zstd, inside);
    parley_buffer_clear(&fixture->text);
    parley_buffer_text(&fixture->text,
                       "{\"type\":\"checkpoint\",\"timestamp\":1,\"compressed\":true,"
                       "\"compression\":\"zstd\",\n\"data\":\"");
    append_base64(&fixture->text, parley_buffer_bytes(&fixture->zstd));
    parley_buffer_text(&fixture->text, "\"}");
    assert_int_equal(parley_message_check(&fixture->message, parley_buffer_bytes(&fixture->text),
                                          &parley_codec_json, &options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
}

static void test_findings_inside_have_the_place_of_data(void **state) {
    struct fixture *fixture = *state;
    check(fixture, PARLEY_BYTES("{\"metrics\":{\"a\":\"b\"},\"agent_state\":[]}"));
    const struct parley_findings *findings = &fixture->message.findings;
    assert_int_equal(findings->count, 2);
    assert_string_equal(findings->items[0].path, "/data/agent_state");
    assert_string_equal(findings->items[1].path, "/data/metrics/a");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(findings->items[i].at.line, 2);
        assert_int_equal(findings->items[i].at.column, 8);
    }
}

static void test_a_fault_inside_is_told_with_its_byte(void **state) {
    struct fixture *fixture = *state;
    check(fixture, PARLEY_BYTES("{\"agent_state\":[],\"agent_state\":[]}"));
    assert_int_equal(fixture->message.findings.count, 1);
    assert_string_equal(fixture->message.findings.items[0].rule->id, "IPC-016");
    assert_non_null(strstr(fixture->message.findings.items[0].message, "at its byte 18: "));
}

static void test_more_findings_than_are_kept_are_counted(void **state) {
    enum { FAULTS = 30000 };
    struct fixture *fixture = *state;
    struct parley_buffer inside;
    parley_buffer_init(&inside);
    parley_buffer_text(&inside, "{\"metrics\":{");
    for (int i = 0; i < FAULTS; i++) {
        parley_buffer_format(&inside, "%s\"m%d\":\"\"", i == 0 ? "" : ",", i);
    }
    parley_buffer_text(&inside, "}}");
    check(fixture, parley_buffer_bytes(&inside));
    assert_int_equal(fixture->message.findings.count, PARLEY_FINDINGS_MAX);
    assert_int_equal(fixture->message.findings.omitted_count, FAULTS - PARLEY_FINDINGS_MAX);
    assert_int_equal(fixture->message.findings.items[0].at.line, 2);
    parley_buffer_finish(&inside);
}

/* A small message may hold keys that are larger than all it is allowed to take. */
static void test_findings_below_huge_keys_do_not_exhaust_a_message(void **state) {
    enum { KEY = 8 << 20, KEYS = 3 };
    struct fixture *fixture = *state;
    struct parley_buffer inside;
    parley_buffer_init(&inside);
    parley_buffer_text(&inside, "{\"metrics\":{\"a\":\"\"");
    for (int i = 0; i < KEYS; i++) {
        parley_buffer_format(&inside, ",\"%0*d\":\"\"", KEY, i);
    }
    parley_buffer_text(&inside, "}}");
    check(fixture, parley_buffer_bytes(&inside));
    const struct parley_findings *findings = &fixture->message.findings;
    assert_false(parley_message_is_valid(&fixture->message));
    assert_int_equal(findings->count, 1);
    assert_string_equal(findings->items[0].path, "/data/metrics/a");
    assert_int_equal(findings->items[0].at.line, 2);
    assert_int_equal(findings->omitted_count, KEYS);
    parley_buffer_finish(&inside);
}

/* Strings with escapes are decoded into memory that is not the message's. */
static void test_much_escaped_text_inside_a_small_message_is_read(void **state) {
    struct fixture *fixture = *state;
    struct parley_buffer inside;
    parley_buffer_init(&inside);
    parley_buffer_text(&inside, "{\"memory_blocks\":[");
    for (int i = 0; i < 200000; i++) {
        parley_buffer_text(&inside, i == 0 ? "" : ",");
        parley_buffer_text(&inside, "{\"id\":\"\\n\",\"text\":\"\\u00e9\\n\"}");
    }
    parley_buffer_text(&inside, "]}");
    check(fixture, parley_buffer_bytes(&inside));
    assert_true(parley_message_is_valid(&fixture->message));
    parley_buffer_finish(&inside);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bomb_of_10_gigabytes_takes_no_memory),
        cmocka_unit_test(test_exactly_the_limit_is_unpacked),
        cmocka_unit_test(test_what_was_packed_comes_out_at_every_length_near_a_pieces_end),
        cmocka_unit_test(test_frames_follow_one_another_and_may_be_skipped),
        cmocka_unit_test(test_a_text_that_is_cut_off_is_refused_unless_a_frame_ends_there),
        cmocka_unit_test(test_any_byte_in_any_place_is_read_or_refused),
        cmocka_unit_test(test_a_fault_in_base64_is_told_with_its_place),
        cmocka_unit_test(test_padding_within_the_text_is_refused_in_every_piece),
        cmocka_unit_test(test_findings_inside_have_the_place_of_data),
        cmocka_unit_test(test_a_fault_inside_is_told_with_its_byte),
        cmocka_unit_test(test_more_findings_than_are_kept_are_counted),
        cmocka_unit_test(test_findings_below_huge_keys_do_not_exhaust_a_message),
        cmocka_unit_test(test_much_escaped_text_inside_a_small_message_is_read),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
