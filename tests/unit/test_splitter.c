/* SPDX-License-Identifier: Apache-2.0 */

/* Bodies cut into messages: what comes out, and that it is the same however the body arrives. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "lib/fault_heap.h"
#include "lib/random.h"
#include "lib/slices.h"

enum { LIMIT = 16, CUTS_MAX = 4096 };

struct row {
    struct parley_bytes body;
    struct parley_bytes slices; /* as slices_write puts them */
};

#define ROW(body, slices)                                                                          \
    {                                                                                              \
        {(body), sizeof(body) - 1}, {                                                              \
            (slices), sizeof(slices) - 1                                                           \
        }                                                                                          \
    }

static void check_cuts(enum parley_framing framing, const struct row *row, const size_t *cuts,
                       size_t cut_count, size_t abandon_at) {
    struct parley_buffer got;
    parley_buffer_init(&got);
    slices_write(&got, framing, LIMIT, row->body, cuts, cut_count, abandon_at);
    if (!parley_bytes_equal(parley_buffer_bytes(&got), row->slices)) {
        fail_msg("%.*s\nin %zu pieces, cut first at %zu\nwanted:\n%.*sgot:\n%.*s",
                 (int)row->body.length, row->body.data, cut_count + 1, cut_count > 0 ? cuts[0] : 0,
                 (int)row->slices.length, row->slices.data, (int)got.length, got.data);
    }
    parley_buffer_finish(&got);
}

/* Whole, in two pieces cut anywhere, in three pieces cut anywhere, byte by byte, and byte by byte
 * with pieces of nothing between them. */
static void check_row(enum parley_framing framing, const struct row *row, size_t abandon_at) {
    size_t cuts[CUTS_MAX];
    const size_t length = row->body.length;
    assert_in_range(length, 0, CUTS_MAX / 2);
    check_cuts(framing, row, NULL, 0, abandon_at);
    for (size_t first = 0; first <= length; first++) {
        check_cuts(framing, row, &first, 1, abandon_at);
        for (size_t second = first; second <= length; second++) {
            check_cuts(framing, row, (const size_t[]){first, second}, 2, abandon_at);
        }
    }
    for (size_t i = 0; i < length; i++) {
        cuts[i] = i + 1;
    }
    check_cuts(framing, row, cuts, length, abandon_at);
    for (size_t i = 0; i < length; i++) {
        cuts[2 * i] = cuts[2 * i + 1] = i;
    }
    check_cuts(framing, row, cuts, 2 * length, abandon_at);
}

static void check_rows(enum parley_framing framing, const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        check_row(framing, &rows[i], 0);
    }
}

#define CHECK_ROWS(framing, ...)                                                                   \
    check_rows(framing, (const struct row[]){__VA_ARGS__},                                         \
               sizeof((const struct row[]){__VA_ARGS__}) / sizeof(struct row))
#define CHECK_LINES(...) CHECK_ROWS(PARLEY_FRAMING_LINES, __VA_ARGS__)
#define CHECK_ARRAYS(...) CHECK_ROWS(PARLEY_FRAMING_JSON, __VA_ARGS__)

/* ---- lines ---- */

static void test_lines_are_messages(void **state) {
    (void)state;
    CHECK_LINES(ROW("", ""), ROW("{\"a\":1}\n", "message 1 at 1:1 {\"a\":1}\n"),
                ROW("a\nb\nc\n", "message 1 at 1:1 a\nmessage 2 at 2:1 b\nmessage 3 at 3:1 c\n"));
}

static void test_the_last_line_needs_no_newline(void **state) {
    (void)state;
    CHECK_LINES(ROW("a", "message 1 at 1:1 a\n"),
                ROW("a\nb", "message 1 at 1:1 a\nmessage 2 at 2:1 b\n"),
                ROW("a\nb\r", "message 1 at 1:1 a\nmessage 2 at 2:1 b\n"));
}

static void test_blank_lines_are_counted_and_skipped(void **state) {
    (void)state;
    CHECK_LINES(ROW("\n\n", ""), ROW("\n \t\r\n\n", ""), ROW(" ", ""), ROW("\r", ""),
                ROW("\na\n\n \n\tb\n  ", "message 2 at 2:1 a\nmessage 5 at 5:1 \tb\n"),
                ROW("                \na\n", "message 2 at 2:1 a\n"),
                ROW("                 \na\n", "size 1 at 1:1\nmessage 2 at 2:1 a\n"),
                ROW("                \r\n\r\na", "message 3 at 3:1 a\n"),
                ROW("\n                 \r\na", "size 2 at 2:1\nmessage 3 at 3:1 a\n"));
}

static void test_a_carriage_return_before_the_newline_is_no_part_of_a_line(void **state) {
    (void)state;
    CHECK_LINES(ROW("a\r\n\r\nb\r\n", "message 1 at 1:1 a\nmessage 3 at 3:1 b\n"),
                ROW("a\r\r\n", "message 1 at 1:1 a\r\n"), ROW("a\rb\n", "message 1 at 1:1 a\rb\n"));
}

static void test_any_byte_may_be_in_a_line(void **state) {
    (void)state;
    struct parley_buffer got;
    parley_buffer_init(&got);
    slices_write(&got, PARLEY_FRAMING_LINES, LIMIT, PARLEY_BYTES("a\0b\xFF\n\0\n"),
                 (const size_t[]){2, 3}, 2, 0);
    assert_int_equal(got.length, 41);
    assert_memory_equal(got.data, "message 1 at 1:1 a\0b\xFF\nmessage 2 at 2:1 \0\n", 41);
    parley_buffer_finish(&got);
}

static void test_a_line_over_the_limit_is_told_and_the_next_one_read(void **state) {
    (void)state;
    CHECK_LINES(
        ROW("123456789012345\nb\n", "message 1 at 1:1 123456789012345\nmessage 2 at 2:1 b\n"),
        ROW("1234567890123456\nb\n", "message 1 at 1:1 1234567890123456\nmessage 2 at 2:1 b\n"),
        ROW("12345678901234567\nb\n", "size 1 at 1:1\nmessage 2 at 2:1 b\n"),
        ROW("123456789012345\r\nb\n", "message 1 at 1:1 123456789012345\nmessage 2 at 2:1 b\n"),
        ROW("1234567890123456\r\nb\n", "message 1 at 1:1 1234567890123456\nmessage 2 at 2:1 b\n"),
        ROW("12345678901234567\r\nb\n", "size 1 at 1:1\nmessage 2 at 2:1 b\n"),
        ROW("1234567890123456\r\r\nb\n", "size 1 at 1:1\nmessage 2 at 2:1 b\n"),
        ROW("a\n123456789012345678901234567890123456789\n\nb\n",
            "message 1 at 1:1 a\nsize 2 at 2:1\nmessage 4 at 4:1 b\n"));
}

static void test_a_last_line_over_the_limit_is_told(void **state) {
    (void)state;
    CHECK_LINES(ROW("1234567890123456", "message 1 at 1:1 1234567890123456\n"),
                ROW("1234567890123456\r", "message 1 at 1:1 1234567890123456\n"),
                ROW("12345678901234567", "size 1 at 1:1\n"),
                ROW("12345678901234567\r", "size 1 at 1:1\n"),
                ROW("a\n1234567890123456789", "message 1 at 1:1 a\nsize 2 at 2:1\n"));
}

/* ---- arrays ---- */

static void test_elements_of_an_array_are_messages(void **state) {
    (void)state;
    CHECK_ARRAYS(ROW("[]", ""), ROW(" [ \n ] \n", ""),
                 ROW("[{\"a\":1}]", "message 1 at 1:2 {\"a\":1}\n"),
                 ROW("[{},\n {\"b\":2} ,{}]\n",
                     "message 1 at 1:2 {}\nmessage 2 at 2:2 {\"b\":2}\nmessage 3 at 2:11 {}\n"));
}

static void test_elements_may_be_nested_and_hold_brackets_in_strings(void **state) {
    (void)state;
    CHECK_ARRAYS(ROW("[[[],[{}]],{\"]\":\"}\"}]",
                     "message 1 at 1:2 [[],[{}]]\nmessage 2 at 1:12 {\"]\":\"}\"}\n"),
                 ROW("[{\"\\\"}\":\"\\\\\"},1]",
                     "message 1 at 1:2 {\"\\\"}\":\"\\\\\"}\nmessage 2 at 1:15 1\n"),
                 ROW("[\"a,]\\\"\",\"\\\\\"]",
                     "message 1 at 1:2 \"a,]\\\"\"\nmessage 2 at 1:10 \"\\\\\"\n"));
}

static void test_elements_may_be_scalars(void **state) {
    (void)state;
    CHECK_ARRAYS(ROW("[1,-2.5e3 ,true\n,null]",
                     "message 1 at 1:2 1\nmessage 2 at 1:4 -2.5e3\nmessage 3 at 1:12 true\n"
                     "message 4 at 2:2 null\n"),
                 ROW("[\"\"]", "message 1 at 1:2 \"\"\n"), ROW("[x]", "message 1 at 1:2 x\n"),
                 ROW("[1}]", "message 1 at 1:2 1}\n"));
}

static void test_columns_of_elements_are_code_points(void **state) {
    (void)state;
    CHECK_ARRAYS(ROW("[\"\xC3\xA9\xF0\x9F\x98\x80\",1,\"\n\",2]",
                     "message 1 at 1:2 \"\xC3\xA9\xF0\x9F\x98\x80\"\nmessage 2 at 1:7 1\n"
                     "message 3 at 1:9 \"\n\"\nmessage 4 at 2:3 2\n"));
}

static void test_an_element_over_the_limit_is_told_and_the_next_one_read(void **state) {
    (void)state;
    CHECK_ARRAYS(
        ROW("[{\"a\":123456789},1]", "message 1 at 1:2 {\"a\":123456789}\nmessage 2 at 1:18 1\n"),
        ROW("[{\"a\":1234567890},1]", "message 1 at 1:2 {\"a\":1234567890}\nmessage 2 at 1:19 1\n"),
        ROW("[{\"a\":12345678901},1]", "size 1 at 1:2\nmessage 2 at 1:20 1\n"),
        ROW("[12345678901234567,1]", "size 1 at 1:2\nmessage 2 at 1:20 1\n"),
        ROW("[1234567890123456 ,1]", "message 1 at 1:2 1234567890123456\nmessage 2 at 1:20 1\n"),
        ROW("[\"[[[[[[[[[[[[[[[[[[[[\", {\"b\": \"]]]]]]]]]]]]]]\"}, 1]",
            "size 1 at 1:2\nsize 2 at 1:26\nmessage 3 at 1:51 1\n"));
}

static void test_what_is_no_array_ends_with_a_fault(void **state) {
    (void)state;
    CHECK_ARRAYS(
        ROW("{}", "fault 1 at 1:1 expected an array\n"),
        ROW("\xEF\xBB\xBF[]", "fault 1 at 1:1 a byte-order mark is not allowed before JSON\n"),
        ROW("[,1]", "fault 1 at 1:2 expected a message before ','\n"),
        ROW("[}", "fault 1 at 1:2 expected a message or ']'\n"),
        ROW("[:1]", "fault 1 at 1:2 expected a message or ']'\n"),
        ROW("[1,]", "message 1 at 1:2 1\nfault 2 at 1:4 expected a message after ','\n"),
        ROW("[1,,2]", "message 1 at 1:2 1\nfault 2 at 1:4 expected a message before ','\n"),
        ROW("[{} {}]", "message 1 at 1:2 {}\nfault 2 at 1:5 expected ',' or ']'\n"),
        ROW("[\"a\"\n:1]", "message 1 at 1:2 \"a\"\nfault 2 at 2:1 expected ',' or ']'\n"),
        ROW("[1] x[1,2,3]", "message 1 at 1:2 1\nfault 2 at 1:5 unexpected data after the array\n"),
        ROW("[]]", "fault 1 at 1:3 unexpected data after the array\n"));
}

static void test_faults_of_arrays_bring_hints(void **state) {
    (void)state;
    static const struct {
        const char *body, *hint;
    } rows[] = {
        {"{}", "Begin the array with ["},    {"\xEF\xBB\xBF[]", "without a byte-order mark"},
        {"[,1]", "Remove the extra comma"},  {"[:]", "Write each message as an object"},
        {"[1,]", "trailing commas"},         {"[1,,2]", "Remove the extra comma"},
        {"[{} {}]", "between two messages"}, {"[{}}]", "extra closing bracket"},
        {"[{}]{}", "into one array"},        {"[{}", "Close the array with ]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_splitter splitter;
        struct parley_slice slice;
        struct parley_bytes input = parley_bytes_of(rows[i].body);
        enum parley_split split = PARLEY_SPLIT_MESSAGE;
        parley_splitter_init(&splitter, PARLEY_FRAMING_JSON, LIMIT);
        while (split == PARLEY_SPLIT_MESSAGE) {
            split = parley_splitter_next(&splitter, &input, &slice);
        }
        if (split == PARLEY_SPLIT_MORE) {
            split = parley_splitter_end(&splitter, &slice);
        }
        assert_int_equal(split, PARLEY_SPLIT_FAULT);
        if (strstr(slice.hint, rows[i].hint) == NULL) {
            fail_msg("%s: %s", rows[i].body, slice.hint);
        }
        parley_splitter_finish(&splitter);
    }
}

static void test_a_body_that_ends_inside_the_array_is_a_fault(void **state) {
    (void)state;
    CHECK_ARRAYS(
        ROW("", "fault 1 at 1:1 the body ends inside the array\n"),
        ROW(" \n", "fault 1 at 2:1 the body ends inside the array\n"),
        ROW("[", "fault 1 at 1:2 the body ends inside the array\n"),
        ROW("[1", "fault 1 at 1:3 the body ends inside the array\n"),
        ROW("[1 ", "message 1 at 1:2 1\nfault 2 at 1:4 the body ends inside the array\n"),
        ROW("[{},", "message 1 at 1:2 {}\nfault 2 at 1:5 the body ends inside the array\n"),
        ROW("[{},{\"a", "message 1 at 1:2 {}\nfault 2 at 1:8 the body ends inside the array\n"),
        ROW("[\"12345678901234567890", "fault 1 at 1:23 the body ends inside the array\n"));
}

static void test_nothing_comes_after_an_array_is_abandoned(void **state) {
    (void)state;
    const struct row row = ROW("[{},nul,{},3]x", "message 1 at 1:2 {}\nmessage 2 at 1:5 nul\n");
    check_row(PARLEY_FRAMING_JSON, &row, 2);
}

static void test_an_array_may_be_abandoned_inside_an_element(void **state) {
    (void)state;
    struct parley_splitter splitter;
    struct parley_slice slice;
    struct parley_bytes input = PARLEY_BYTES("[{\"a\":12345678901234567");
    parley_splitter_init(&splitter, PARLEY_FRAMING_JSON, LIMIT);
    assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MORE);
    parley_splitter_abandon(&splitter);
    input = PARLEY_BYTES("8},{}]");
    assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MORE);
    assert_int_equal(input.length, 0);
    assert_int_equal(parley_splitter_end(&splitter, &slice), PARLEY_SPLIT_END);
    parley_splitter_finish(&splitter);
}

/* ---- frames ---- */

#define CHECK_FRAMES(...) CHECK_ROWS(PARLEY_FRAMING_FRAMES, __VA_ARGS__)

static void test_frames_are_messages(void **state) {
    (void)state;
    CHECK_FRAMES(ROW("", ""), ROW("\0\0\0\1a", "message 1 at 4 a\n"),
                 ROW("\0\0\0\3abc\0\0\0\1d\0\0\0\2\0\n",
                     "message 1 at 4 abc\nmessage 2 at 11 d\nmessage 3 at 16 \0\n\n"),
                 ROW("\0\0\0\x10"
                     "0123456789abcdef",
                     "message 1 at 4 0123456789abcdef\n"));
}

static void test_a_frame_of_no_bytes_is_a_fault_and_the_next_one_is_read(void **state) {
    (void)state;
    CHECK_FRAMES(ROW("\0\0\0\1a\0\0\0\0\0\0\0\1b",
                     "message 1 at 4 a\n"
                     "fault 2 at 5 this frame is empty: its length is 0\n"
                     "message 3 at 13 b\n"),
                 ROW("\0\0\0\0\0\0\0\0", "fault 1 at 0 this frame is empty: its length is 0\n"
                                         "fault 2 at 4 this frame is empty: its length is 0\n"));
}

static void test_a_frame_over_the_limit_is_told_and_the_next_one_read(void **state) {
    (void)state;
    CHECK_FRAMES(ROW("\0\0\0\x11"
                     "0123456789abcdefg\0\0\0\1a",
                     "size 1 at 4\nmessage 2 at 25 a\n"),
                 ROW("\0\0\0\x28"
                     "0123456789012345678901234567890123456789\0\0\0\1a",
                     "size 1 at 4\nmessage 2 at 48 a\n"));
}

static void test_a_length_that_is_no_frames_ends_the_stream(void **state) {
    (void)state;
    CHECK_FRAMES(ROW("\0\0\0\1a\xff\xff\xff\xff\0\0\0\1b",
                     "message 1 at 4 a\nfault 2 at 5 the length of this frame is 4294967295 bytes, "
                     "over the limit of 104857600: the start of the next frame is not known\n"),
                 ROW("\x06\x40\0\1abcd",
                     "fault 1 at 0 the length of this frame is 104857601 bytes, over the limit of "
                     "104857600: the start of the next frame is not known\n"),
                 ROW("{\"a\":1}", "fault 1 at 0 this is JSON; expected the 4-byte length of a "
                                  "frame\n"),
                 ROW(" \n[1]", "fault 1 at 0 this is JSON; expected the 4-byte length of a "
                               "frame\n"));
}

static void test_a_body_that_ends_inside_a_frame_is_a_fault(void **state) {
    (void)state;
    CHECK_FRAMES(ROW("\0", "fault 1 at 0 the body ends inside the length of a frame: 1 of its 4 "
                           "bytes arrived\n"),
                 ROW("\0\0\0\1a\0\0\0", "message 1 at 4 a\nfault 2 at 5 the body ends inside the "
                                        "length of a frame: 3 of its 4 bytes arrived\n"),
                 ROW("\0\0\0\1", "fault 1 at 0 the body ends inside this frame: 0 of its 1 bytes "
                                 "arrived\n"),
                 ROW("\0\0\0\1a\0\0\0\5bcd", "message 1 at 4 a\nfault 2 at 5 the body ends inside "
                                             "this frame: 3 of its 5 bytes arrived\n"),
                 /* One over the limit that is cut short as well is told once. */
                 ROW("\0\0\0\x20"
                     "abc",
                     "fault 1 at 0 the body ends inside this frame: 3 of its 32 "
                     "bytes arrived\n"),
                 ROW("\x06\x40\0\0"
                     "ab",
                     "fault 1 at 0 the body ends inside this frame: 2 of its "
                     "104857600 bytes arrived\n"));
}

static void test_faults_of_frames_bring_hints(void **state) {
    (void)state;
    static const struct {
        struct parley_bytes body;
        const char *hint;
    } rows[] = {
        {{"\0\0\0\0", 4}, "Leave this frame out"},
        {{"{\"a\"", 4}, "Send JSON with Content-Type: application/json"},
        {{"\xff\0\0\0", 4}, "Write the length of the message that follows as 4 bytes"},
        {{"\0\0\0\1", 4}, "Send the whole frame"},
        {{"\0\0", 2}, "Send the whole frame"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_splitter splitter;
        struct parley_slice slice;
        struct parley_bytes input = rows[i].body;
        parley_splitter_init(&splitter, PARLEY_FRAMING_FRAMES, LIMIT);
        if (parley_splitter_next(&splitter, &input, &slice) == PARLEY_SPLIT_MORE) {
            assert_int_equal(parley_splitter_end(&splitter, &slice), PARLEY_SPLIT_FAULT);
        }
        assert_non_null(strstr(slice.hint, rows[i].hint));
        parley_splitter_finish(&splitter);
    }
}

static void test_what_a_frame_claims_takes_no_memory(void **state) {
    (void)state;
    struct parley_splitter splitter;
    struct parley_slice slice;
    struct parley_bytes input = PARLEY_BYTES("\x06\x40\0\0"
                                             "abc");
    parley_splitter_init(&splitter, PARLEY_FRAMING_FRAMES, PARLEY_FRAME_BYTES_MAX);
    assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MORE);
    assert_in_range(splitter.pending.capacity, 3, 4096);
    parley_splitter_finish(&splitter);
}

static void test_frames_that_came_in_one_piece_are_not_copied(void **state) {
    (void)state;
    struct parley_splitter splitter;
    struct parley_slice slice;
    const struct parley_bytes body = PARLEY_BYTES("\0\0\0\1a\0\0\0\2bc\0\0\0");
    struct parley_bytes input = body;
    parley_splitter_init(&splitter, PARLEY_FRAMING_FRAMES, LIMIT);
    fault_heap_arm(SIZE_MAX, 0);
    assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MESSAGE);
    assert_ptr_equal(slice.bytes.data, body.data + 4);
    assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MESSAGE);
    assert_ptr_equal(slice.bytes.data, body.data + 9);
    assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MORE);
    assert_int_equal(fault_heap_disarm(), 0);
    parley_splitter_finish(&splitter);
}

/* ---- all of them ---- */

/* ---- one message ---- */

static void test_a_whole_body_is_one_message_whatever_is_in_it(void **state) {
    (void)state;
    CHECK_ROWS(PARLEY_FRAMING_WHOLE, ROW("", "message 1 at 1:1 \n"),
               ROW("{}", "message 1 at 1:1 {}\n"), ROW("[1,2]", "message 1 at 1:1 [1,2]\n"),
               ROW(" a\r\nb\r", "message 1 at 1:1  a\r\nb\r\n"));
}

static void test_end_may_be_called_again(void **state) {
    (void)state;
    struct parley_splitter splitter;
    struct parley_slice slice;
    struct parley_bytes input = PARLEY_BYTES("a");
    parley_splitter_init(&splitter, PARLEY_FRAMING_LINES, LIMIT);
    assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MORE);
    assert_int_equal(parley_splitter_end(&splitter, &slice), PARLEY_SPLIT_MESSAGE);
    assert_int_equal(parley_splitter_end(&splitter, &slice), PARLEY_SPLIT_END);
    assert_int_equal(parley_splitter_end(&splitter, &slice), PARLEY_SPLIT_END);
    parley_splitter_finish(&splitter);
}

static void test_a_message_that_lies_whole_in_the_input_is_not_copied(void **state) {
    (void)state;
    static const enum parley_framing framings[] = {PARLEY_FRAMING_LINES, PARLEY_FRAMING_JSON};
    for (size_t i = 0; i < 2; i++) {
        struct parley_splitter splitter;
        struct parley_slice slice;
        const struct parley_bytes body =
            i == 0 ? PARLEY_BYTES("{\"a\":1}\n") : PARLEY_BYTES("[{\"a\":1}]");
        struct parley_bytes input = body;
        parley_splitter_init(&splitter, framings[i], LIMIT);
        fault_heap_arm(SIZE_MAX, 0);
        assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MESSAGE);
        assert_int_equal(fault_heap_disarm(), 0);
        assert_ptr_equal(slice.bytes.data, body.data + i);
        parley_splitter_finish(&splitter);
    }
}

static void test_memory_is_bounded_by_the_limit_however_long_a_message_is(void **state) {
    (void)state;
    static const enum parley_framing framings[] = {PARLEY_FRAMING_LINES, PARLEY_FRAMING_JSON,
                                                   PARLEY_FRAMING_FRAMES, PARLEY_FRAMING_WHOLE};
    for (size_t i = 0; i < 4; i++) {
        struct parley_splitter splitter;
        struct parley_slice slice;
        struct parley_bytes input = i == 2 ? PARLEY_BYTES("\x06\x40\0\0") : PARLEY_BYTES("[\"");
        parley_splitter_init(&splitter, framings[i], 1000);
        for (int k = 0; k < 100000; k++) {
            assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MORE);
            input = PARLEY_BYTES("xxxxxxxxxx");
            assert_in_range(splitter.pending.capacity, 0, 4096);
        }
        parley_splitter_finish(&splitter);
    }
}

static void test_without_memory_it_says_so(void **state) {
    (void)state;
    static const enum parley_framing framings[] = {PARLEY_FRAMING_LINES, PARLEY_FRAMING_JSON,
                                                   PARLEY_FRAMING_FRAMES, PARLEY_FRAMING_WHOLE};
    for (size_t i = 0; i < 4; i++) {
        struct parley_splitter splitter;
        struct parley_slice slice;
        struct parley_bytes input = i == 2 ? PARLEY_BYTES("\0\0\0\2a") : PARLEY_BYTES("[{");
        parley_splitter_init(&splitter, framings[i], LIMIT);
        fault_heap_arm(0, 1);
        assert_int_equal(parley_splitter_next(&splitter, &input, &slice), PARLEY_SPLIT_MEMORY);
        fault_heap_disarm();
        parley_splitter_finish(&splitter);
    }
}

/* The faults of the table above are few: here are thousands of bodies made of the bytes that
 * matter to a splitter. */
static void test_random_bodies_are_cut_alike_however_they_arrive(void **state) {
    (void)state;
    static const char bytes[] = "[[]]{}{},,::\"\"\\\\1a  \n\n\r\t\xC3\xA9";
    static const char frame_bytes[] = "\0\0\0\0\0\0\0\0\0\0\0\0\1\1\2\3\x11\x12{ab";
    static const enum parley_framing framings[] = {PARLEY_FRAMING_LINES, PARLEY_FRAMING_JSON,
                                                   PARLEY_FRAMING_FRAMES};
    struct random_source source = {7464};
    for (int i = 0; i < 30000; i++) {
        const enum parley_framing framing = framings[i % 3];
        const bool has_frames = framing == PARLEY_FRAMING_FRAMES;
        char body[48] = "[";
        size_t cuts[48];
        const size_t length = random_below(&source, sizeof body);
        for (size_t k = !has_frames && random_below(&source, 8) != 0; k < length; k++) {
            body[k] = has_frames ? frame_bytes[random_below(&source, sizeof frame_bytes - 1)]
                                 : bytes[random_below(&source, sizeof bytes - 1)];
        }
        size_t cut_count = 0;
        for (size_t k = 0; k < length; k++) {
            if (random_below(&source, 4) == 0) {
                cuts[cut_count++] = k;
            }
        }
        struct parley_buffer whole;
        parley_buffer_init(&whole);
        slices_write(&whole, framing, LIMIT, (struct parley_bytes){body, length}, NULL, 0, 0);
        check_cuts(framing, &(struct row){{body, length}, parley_buffer_bytes(&whole)}, cuts,
                   cut_count, 0);
        parley_buffer_finish(&whole);
    }
}

static void test_a_message_may_be_passed_by_once_it_has_begun(void **state) {
    (void)state;
    const struct {
        enum parley_framing framing;
        struct parley_bytes start, rest;
    } rows[] = {
        {PARLEY_FRAMING_LINES, PARLEY_BYTES("1\n{\"a\""), PARLEY_BYTES(":1}\n2\n")},
        {PARLEY_FRAMING_JSON, PARLEY_BYTES("[1,{\"a\""), PARLEY_BYTES(":[]},2]")},
        {PARLEY_FRAMING_FRAMES,
         PARLEY_BYTES("\0\0\0\1"
                      "1\0\0\0\6abc"),
         PARLEY_BYTES("def\0\0\0\1"
                      "2")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parley_splitter splitter;
        struct parley_slice slice;
        struct parley_bytes start = rows[i].start, rest = rows[i].rest;
        parley_splitter_init(&splitter, rows[i].framing, LIMIT);
        parley_splitter_pass_by(&splitter); /* none has begun */
        assert_int_equal(parley_splitter_next(&splitter, &start, &slice), PARLEY_SPLIT_MESSAGE);
        assert_false(parley_splitter_keeps(&splitter, &slice));
        assert_int_equal(parley_splitter_next(&splitter, &start, &slice), PARLEY_SPLIT_MORE);
        assert_true(parley_splitter_held_bytes(&splitter) > 2);
        parley_splitter_pass_by(&splitter);
        assert_int_equal(parley_splitter_held_bytes(&splitter), 0);
        assert_int_equal(parley_splitter_next(&splitter, &rest, &slice), PARLEY_SPLIT_SIZE);
        assert_int_equal(slice.number, 2);
        assert_int_equal(parley_splitter_next(&splitter, &rest, &slice), PARLEY_SPLIT_MESSAGE);
        assert_int_equal(slice.number, 3);
        assert_true(parley_bytes_equal(slice.bytes, PARLEY_BYTES("2")));
        parley_splitter_finish(&splitter);
    }
}

static void test_what_was_cut_stays_until_it_is_released(void **state) {
    (void)state;
    char text[] = "{\"a\":1}\n";
    struct parley_splitter splitter;
    struct parley_slice slice;
    struct parley_bytes first = {text, 4}, second = {text + 4, sizeof text - 5};
    parley_splitter_init(&splitter, PARLEY_FRAMING_LINES, LIMIT);
    assert_int_equal(parley_splitter_next(&splitter, &first, &slice), PARLEY_SPLIT_MORE);
    assert_int_equal(parley_splitter_next(&splitter, &second, &slice), PARLEY_SPLIT_MESSAGE);
    assert_true(parley_splitter_keeps(&splitter, &slice));
    memset(text, 'x', sizeof text);
    assert_true(parley_bytes_equal(slice.bytes, PARLEY_BYTES("{\"a\":1}")));
    parley_splitter_release(&splitter); /* the leak sanitizer watches */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_messages),
        cmocka_unit_test(test_the_last_line_needs_no_newline),
        cmocka_unit_test(test_blank_lines_are_counted_and_skipped),
        cmocka_unit_test(test_a_carriage_return_before_the_newline_is_no_part_of_a_line),
        cmocka_unit_test(test_any_byte_may_be_in_a_line),
        cmocka_unit_test(test_a_line_over_the_limit_is_told_and_the_next_one_read),
        cmocka_unit_test(test_a_last_line_over_the_limit_is_told),
        cmocka_unit_test(test_elements_of_an_array_are_messages),
        cmocka_unit_test(test_elements_may_be_nested_and_hold_brackets_in_strings),
        cmocka_unit_test(test_elements_may_be_scalars),
        cmocka_unit_test(test_columns_of_elements_are_code_points),
        cmocka_unit_test(test_an_element_over_the_limit_is_told_and_the_next_one_read),
        cmocka_unit_test(test_what_is_no_array_ends_with_a_fault),
        cmocka_unit_test(test_faults_of_arrays_bring_hints),
        cmocka_unit_test(test_a_body_that_ends_inside_the_array_is_a_fault),
        cmocka_unit_test(test_nothing_comes_after_an_array_is_abandoned),
        cmocka_unit_test(test_an_array_may_be_abandoned_inside_an_element),
        cmocka_unit_test(test_frames_are_messages),
        cmocka_unit_test(test_a_frame_of_no_bytes_is_a_fault_and_the_next_one_is_read),
        cmocka_unit_test(test_a_frame_over_the_limit_is_told_and_the_next_one_read),
        cmocka_unit_test(test_a_length_that_is_no_frames_ends_the_stream),
        cmocka_unit_test(test_a_body_that_ends_inside_a_frame_is_a_fault),
        cmocka_unit_test(test_faults_of_frames_bring_hints),
        cmocka_unit_test(test_what_a_frame_claims_takes_no_memory),
        cmocka_unit_test(test_frames_that_came_in_one_piece_are_not_copied),
        cmocka_unit_test(test_a_whole_body_is_one_message_whatever_is_in_it),
        cmocka_unit_test(test_end_may_be_called_again),
        cmocka_unit_test(test_a_message_that_lies_whole_in_the_input_is_not_copied),
        cmocka_unit_test(test_memory_is_bounded_by_the_limit_however_long_a_message_is),
        cmocka_unit_test(test_without_memory_it_says_so),
        cmocka_unit_test(test_a_message_may_be_passed_by_once_it_has_begun),
        cmocka_unit_test(test_what_was_cut_stays_until_it_is_released),
        cmocka_unit_test(test_random_bodies_are_cut_alike_however_they_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
