/* SPDX-License-Identifier: Apache-2.0 */

/* What an input is taken for, and the messages that it is cut into, however it arrives. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_input.h"

/* Writes `text` into a pipe from another process, `piece` bytes at a time.
 * Returns: the end to read from. */
static int send_text(struct parley_bytes text, size_t piece, pid_t *out_writer) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_DIRECT), 0); /* a packet for each write */
    *out_writer = fork();
    assert_true(*out_writer >= 0);
    if (*out_writer == 0) {
        close(ends[0]); /* so that a reader who stops early ends it */
        while (text.length > 0) {
            const ssize_t sent =
                write(ends[1], text.data, text.length < piece ? text.length : piece);
            if (sent <= 0) {
                _exit(1);
            }
            text.data += sent;
            text.length -= (size_t)sent;
        }
        _exit(0);
    }
    close(ends[1]);
    return ends[0];
}

static void append_split(char *out, size_t size, enum parley_split split,
                         const struct parley_slice *slice) {
    const size_t used = strlen(out);
    const char *name = split == PARLEY_SPLIT_SIZE ? "SIZE" : "FAULT";
    const struct parley_bytes bytes =
        split == PARLEY_SPLIT_MESSAGE ? slice->bytes : parley_bytes_of(name);
    char place[64];
    if (slice->origin.line == PARLEY_IN_BYTES) {
        snprintf(place, sizeof place, "byte %zu", slice->origin.column);
    } else {
        snprintf(place, sizeof place, "%zu:%zu", slice->origin.line, slice->origin.column);
    }
    snprintf(out + used, size - used, "%zu@%s %.*s|", slice->number, place, (int)bytes.length,
             bytes.data);
}

static void check_bytes(const char *name, struct parley_bytes text, const char *media_type,
                        size_t piece, size_t limit, const char *expected) {
    pid_t writer;
    struct check_input input;
    char out[1024] = "";
    const struct parley_protocol *protocol = parley_protocol_find(parley_bytes_of(name));
    const struct parley_codec *codec = parley_codec_find(protocol, parley_bytes_of(media_type));
    const int fd = send_text(text, piece, &writer);
    check_input_init(&input, fd, protocol, codec);
    input.message_bytes_max = limit;
    for (;;) {
        enum parley_split split;
        struct parley_slice slice;
        assert_int_equal(check_input_next(&input, &split, &slice), PARLEY_OK);
        if (split == PARLEY_SPLIT_END) {
            break;
        }
        append_split(out, sizeof out, split, &slice);
    }
    const size_t used = strlen(out);
    snprintf(out + used, sizeof out - used, "%s", input.codec->name);
    assert_string_equal(out, expected);
    check_input_finish(&input);
    close(fd);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
}

static void check_pieces(const char *text, const char *media_type, size_t piece, size_t limit,
                         const char *expected) {
    check_bytes("vlp", parley_bytes_of(text), media_type, piece, limit, expected);
}

static void check(const char *text, const char *media_type, const char *expected) {
    check_pieces(text, media_type, 1, 1000, expected);
    check_pieces(text, media_type, 4096, 1000, expected);
}

static void test_an_array_is_known_by_its_bracket(void **state) {
    (void)state;
    check("[{}, {\"a\":1}]", NULL, "1@1:2 {}|2@1:6 {\"a\":1}|json");
    check(" \n [{}]\n", NULL, "1@2:3 {}|json");
    check("[]", NULL, "json");
}

static void test_lines_are_known_by_a_whole_one_with_more_behind(void **state) {
    (void)state;
    check("{}\n{}\n", NULL, "1@1:1 {}|2@2:1 {}|ndjson");
    check("\n{}\r\n\n{}", NULL, "2@2:1 {}|4@4:1 {}|ndjson");
    check("{\"a\":\"}\\\"{\"}\n{", NULL, "1@1:1 {\"a\":\"}\\\"{\"}|2@2:1 {|ndjson");
    check("{no JSON}\n{}", NULL, "1@1:1 {no JSON}|2@2:1 {}|ndjson");
}

static void test_anything_else_is_one_message(void **state) {
    (void)state;
    check("{}", NULL, "1@1:1 {}|json");
    check("{}\n\n", NULL, "1@1:1 {}\n\n|json");
    check("{\n}\n", NULL, "1@1:1 {\n}\n|json");
    check("{} x\n{}", NULL, "1@1:1 {} x\n{}|json");
    check("7\n{}", NULL, "1@1:1 7\n{}|json");
    check("", NULL, "1@1:1 |json");
    check(" \n", NULL, "1@1:1  \n|json");
}

static void test_a_media_type_goes_over_what_it_looks_like(void **state) {
    (void)state;
    check("{}\n{}", "application/json", "1@1:1 {}\n{}|json");
    check("[1]\n", "application/x-ndjson", "1@1:1 [1]|ndjson");
    check("[1]\n", "application/json", "1@1:2 1|json");
    check("", "application/x-ndjson", "ndjson");
}

static void test_a_message_over_the_limit_is_said_and_passed_by(void **state) {
    (void)state;
    check_pieces("{\"aaaaaaaaaa\":1}\n{}", "application/x-ndjson", 1, 8,
                 "1@1:1 SIZE|2@2:1 {}|ndjson");
    check_pieces("[{\"aaaaaaaaaa\":1},{}]", NULL, 4096, 8, "1@1:2 SIZE|2@1:19 {}|json");
    check_pieces("{\"aaaaaaaaaaaaaaaaaaaaaaaa\":1}", NULL, 1, 8, "1@1:1 SIZE|ndjson");
    check_pieces("{\"aaaaaaaaaaaaaaaaaaaaaaaa\":1}", NULL, 4096, 8, "1@1:1 SIZE|ndjson");
    check_pieces("{\"aaaaaaaaaaaaaaaaaaaaaaaa\":1}", "application/json", 1, 8, "1@1:1 SIZE|json");
    check_pieces("{\"aaaa\":}", NULL, 1, 9, "1@1:1 {\"aaaa\":}|json");
}

static void test_lines_behind_a_first_one_over_the_limit_are_read(void **state) {
    (void)state;
    for (size_t piece = 1; piece < 30; piece++) {
        check_pieces("{\"aaaaaaaaaa\":1}\n{}\n{\"aaaaaaaaaa\":1}\n{}", NULL, piece, 8,
                     "1@1:1 SIZE|2@2:1 {}|3@3:1 SIZE|4@4:1 {}|ndjson");
    }
}

static void test_a_message_over_the_limit_has_no_bytes(void **state) {
    (void)state;
    static const char *const types[] = {"application/json", "application/x-ndjson"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        pid_t writer;
        struct check_input input;
        struct parley_slice slice;
        enum parley_split split;
        const struct parley_protocol *vlp = parley_protocol_find(PARLEY_BYTES("vlp"));
        const int fd = send_text(PARLEY_BYTES("{\"aaaaaaaaaa\":1}"), 4096, &writer);
        check_input_init(&input, fd, vlp, parley_codec_find(vlp, parley_bytes_of(types[i])));
        input.message_bytes_max = 8;
        assert_int_equal(check_input_next(&input, &split, &slice), PARLEY_OK);
        assert_int_equal(split, PARLEY_SPLIT_SIZE);
        assert_int_equal(slice.bytes.length, 0);
        check_input_finish(&input);
        close(fd);
        assert_int_equal(waitpid(writer, NULL, 0), writer);
    }
}

#define BYTES(literal)                                                                             \
    { literal, sizeof(literal) - 1 }

struct known {
    const char *protocol;
    struct parley_bytes text;
    const char *expected;
};

static void check_known(const struct known *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t piece = 1; piece < 20; piece++) {
            check_bytes(rows[i].protocol, rows[i].text, NULL, piece, 1000, rows[i].expected);
        }
    }
}

static void test_messagepack_and_frames_are_known_by_their_first_bytes(void **state) {
    (void)state;
    static const struct known rows[] = {
        {"supervisor", BYTES("\x80"), "1@byte 0 \x80|msgpack"},
        {"supervisor", BYTES("\x81\xa4type\xa1x"), "1@byte 0 \x81\xa4type\xa1x|msgpack"},
        /* what looks like the end of a line is a number */
        {"supervisor", BYTES("\x81\xa1{\n"), "1@byte 0 \x81\xa1{\n|msgpack"},
        {"supervisor", BYTES("\0\0\0\1\x80"), "1@byte 4 \x80|frames"},
        {"supervisor", BYTES("\0\0\0\4\x81\xa1{\n\0\0\0\0\0\0\0\1\x80\0"),
         "1@byte 4 \x81\xa1{\n|2@byte 8 FAULT|3@byte 16 \x80|4@byte 17 "
         "FAULT|frames"},
        {"supervisor", BYTES("{}\n{}\n"), "1@1:1 {}|2@2:1 {}|ndjson"},
        {"supervisor", BYTES(" [{}]"), "1@1:3 {}|json"},
        {"supervisor", BYTES("  {\n}"), "1@1:1   {\n}|json"},
        {"supervisor", BYTES(""), "1@1:1 |json"},
    };
    check_known(rows, sizeof rows / sizeof rows[0]);
}

static void test_markdown_is_what_is_no_json(void **state) {
    (void)state;
    static const struct known rows[] = {
        {"brenner", BYTES("---\nsubject: x\n---\n{"), "1@1:1 ---\nsubject: x\n---\n{|markdown"},
        {"brenner", BYTES("\n # x\n\n[1]\n"), "1@1:1 \n # x\n\n[1]\n|markdown"},
        {"brenner", BYTES("{}\n{}\n"), "1@1:1 {}|2@2:1 {}|ndjson"},
        {"brenner", BYTES("\r\n [{}]"), "1@2:3 {}|json"},
    };
    check_known(rows, sizeof rows / sizeof rows[0]);
}

static void test_what_is_named_is_not_looked_at(void **state) {
    (void)state;
    static const struct parley_bytes json = BYTES("{}\n{}\n"), one = BYTES("\x80\x80");
    check_bytes("supervisor", json, "application/msgpack", 1, 1000, "1@byte 0 {}\n{}\n|msgpack");
    check_bytes("brenner", json, "text/markdown", 1, 1000, "1@1:1 {}\n{}\n|markdown");
    check_bytes("supervisor", one, "application/json", 1, 1000, "1@1:1 \x80\x80|json");
}

static void test_a_binary_message_over_the_limit_is_told_in_bytes(void **state) {
    (void)state;
    static const struct parley_bytes one = BYTES("\x81\xa4type\xa1x"),
                                     two = BYTES("\0\0\0\x8\x81\xa4type\xa1x\0\0\0\1\x80");
    check_bytes("supervisor", one, NULL, 1, 7, "1@byte 0 SIZE|msgpack");
    check_bytes("supervisor", two, NULL, 1, 7, "1@byte 4 SIZE|2@byte 16 \x80|frames");
}

static void test_a_broken_array_is_a_fault(void **state) {
    (void)state;
    check("[{},", NULL, "1@1:2 {}|2@1:5 FAULT|json");
    check("[{}] x", NULL, "1@1:2 {}|2@1:6 FAULT|json");
}

static void test_what_cannot_be_read_is_a_failure(void **state) {
    (void)state;
    struct check_input input;
    enum parley_split split;
    struct parley_slice slice;
    const int fd = open("/", O_RDONLY | O_CLOEXEC);
    check_input_init(&input, fd, parley_protocol_find(PARLEY_BYTES("vlp")), NULL);
    assert_int_equal(check_input_next(&input, &split, &slice), PARLEY_E_IO);
    assert_int_equal(errno, EISDIR);
    check_input_finish(&input);
    close(fd);
}

static void test_an_extension_names_the_codec(void **state) {
    (void)state;
    const struct parley_protocol *vlp = parley_protocol_find(PARLEY_BYTES("vlp"));
    assert_ptr_equal(check_input_codec_of_name(vlp, "a/b.json"), &parley_codec_json);
    assert_ptr_equal(check_input_codec_of_name(vlp, "b.NDJSON"), &parley_codec_ndjson);
    assert_ptr_equal(check_input_codec_of_name(vlp, "b.jsonl"), &parley_codec_ndjson);
    assert_null(check_input_codec_of_name(vlp, "a.json/b"));
    assert_null(check_input_codec_of_name(vlp, "b.txt"));
    assert_null(check_input_codec_of_name(vlp, "json"));
    assert_null(check_input_codec_of_name(vlp, "a.md"));
    static const struct {
        const char *protocol, *file, *codec;
    } rows[] = {{"supervisor", "a.msgpack", "msgpack"},
                {"supervisor", "a.json.frames", "frames"},
                {"brenner", "A.MD", "markdown"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct parley_protocol *protocol =
            parley_protocol_find(parley_bytes_of(rows[i].protocol));
        assert_string_equal(check_input_codec_of_name(protocol, rows[i].file)->name, rows[i].codec);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_array_is_known_by_its_bracket),
        cmocka_unit_test(test_lines_are_known_by_a_whole_one_with_more_behind),
        cmocka_unit_test(test_anything_else_is_one_message),
        cmocka_unit_test(test_a_media_type_goes_over_what_it_looks_like),
        cmocka_unit_test(test_a_message_over_the_limit_is_said_and_passed_by),
        cmocka_unit_test(test_lines_behind_a_first_one_over_the_limit_are_read),
        cmocka_unit_test(test_a_message_over_the_limit_has_no_bytes),
        cmocka_unit_test(test_messagepack_and_frames_are_known_by_their_first_bytes),
        cmocka_unit_test(test_markdown_is_what_is_no_json),
        cmocka_unit_test(test_what_is_named_is_not_looked_at),
        cmocka_unit_test(test_a_binary_message_over_the_limit_is_told_in_bytes),
        cmocka_unit_test(test_a_broken_array_is_a_fault),
        cmocka_unit_test(test_what_cannot_be_read_is_a_failure),
        cmocka_unit_test(test_an_extension_names_the_codec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
