/* SPDX-License-Identifier: Apache-2.0 */

/* What `parley pipe` makes of the gateway's answers: which frames are refused, and what their
 * sender is told. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <parley/message.h>
#include <parley/pipe.h>

#include "pipe_answer.h"

#define PROBLEM(status) "{\"title\":\"T\",\"status\":" status ",\"detail\":\"D\"}"
#define VIOLATION                                                                                  \
    "[{\"rule\":\"IPC-003\",\"severity\":\"error\",\"path\":\"/type\",\"message\":\"M\"}]"

static const uint64_t numbers[] = {7, 8};

static void check_texts(const struct pipe_answer *answer, const char *message,
                        const char *details) {
    assert_int_equal(answer->message.length, strlen(message));
    assert_memory_equal(answer->message.data, message, strlen(message));
    assert_int_equal(answer->details.length, strlen(details));
    assert_memory_equal(answer->details.data, details, strlen(details));
}

/* ---- lines ---- */

static const struct {
    const char *line;
    enum pipe_result result;
    size_t of; /* the line that it is about */
    bool is_invalid;
    const char *message, *details; /* message NULL: they do not count */
} lines[] = {
    {"{\"line\":1,\"status\":\"accepted\"}", PIPE_RESULT_STORED, 1, false, NULL, NULL},
    {"{\"line\":2,\"status\":\"invalid\",\"violations\":" VIOLATION "}", PIPE_RESULT_REFUSED, 2,
     true, "IPC-003 at /type: M", "{\"frame\":8,\"violations\":" VIOLATION "}"},
    {"{\"line\":2,\"status\":\"failed\",\"problem\":" PROBLEM("409") "}", PIPE_RESULT_REFUSED, 2,
     false, "T: D", "{\"frame\":8,\"problem\":" PROBLEM("409") "}"},
    {"{\"line\":1,\"status\":\"failed\",\"problem\":" PROBLEM("503") "}", PIPE_RESULT_AGAIN, 1,
     false, "T: D", "{\"frame\":7,\"problem\":" PROBLEM("503") ",\"again\":true}"},
    {"{\"line\":1,\"status\":\"failed\",\"problem\":" PROBLEM("200") "}", PIPE_RESULT_OTHER, 1,
     false, NULL, NULL},
    {"{\"line\":3,\"status\":\"failed\"}", PIPE_RESULT_OTHER, 0, false, NULL, NULL},
    {"{\"summary\":{}}", PIPE_RESULT_SUMMARY, 0, false, NULL, NULL},
    {"no JSON", PIPE_RESULT_OTHER, 0, false, NULL, NULL},
};

static void test_a_line_says_what_became_of_a_frame(void **state) {
    (void)state;
    struct pipe_answer answer;
    pipe_answer_init(&answer);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        answer.is_invalid = false;
        assert_int_equal(pipe_answer_read(&answer, parley_bytes_of(lines[i].line), numbers, 2),
                         lines[i].result);
        assert_int_equal(answer.line, lines[i].of);
        assert_int_equal(answer.is_invalid, lines[i].is_invalid);
        if (lines[i].message != NULL) {
            check_texts(&answer, lines[i].message, lines[i].details);
        }
    }
    pipe_answer_finish(&answer);
}

/* ---- problems ---- */

static const struct {
    const char *text;
    bool is_problem, is_invalid;
    const char *message, *details;
} problems[] = {
    {PROBLEM("413"), true, false, "T: D", "{\"frame\":7,\"problem\":" PROBLEM("413") "}"},
    {PROBLEM("503"), true, false, "T: D",
     "{\"frame\":7,\"problem\":" PROBLEM("503") ",\"again\":true}"},
    {"{\"status\":422,\"violations\":" VIOLATION "}", true, true, "IPC-003 at /type: M",
     "{\"frame\":7,\"violations\":" VIOLATION "}"},
    {"{}", false, false, "the server refuses the message", "{\"frame\":7}"},
    {"<html>", false, false, "the server refuses the message", "{\"frame\":7}"},
};

static void test_a_problem_is_about_the_frame_that_was_sent(void **state) {
    (void)state;
    struct pipe_answer answer;
    pipe_answer_init(&answer);
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        assert_int_equal(pipe_answer_read_problem(&answer, problems[i].text, 7),
                         problems[i].is_problem);
        assert_int_equal(answer.is_invalid, problems[i].is_invalid);
        check_texts(&answer, problems[i].message, problems[i].details);
    }
    pipe_answer_finish(&answer);
}

/* ---- codes ---- */

static void test_what_cannot_be_stored_has_a_code_of_its_own(void **state) {
    static const struct {
        const char *type, *code;
    } codes[] = {
        {"checkpoint", "CHECKPOINT_FAILED"}, {"wal_entry", "WAL_FULL"}, {"wal_batch", "WAL_FULL"}};
    (void)state;
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("supervisor"));
    for (unsigned type = 0; protocol->types[type] != NULL; type++) {
        const char *expected = NULL;
        for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
            expected = strcmp(codes[i].type, protocol->types[type]) == 0 ? codes[i].code : expected;
        }
        const char *code = protocol->pipe->unstored_code(type);
        assert_string_equal(code != NULL ? code : "", expected != NULL ? expected : "");
    }
    assert_null(protocol->pipe->unstored_code(PARLEY_TYPE_OTHER));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_says_what_became_of_a_frame),
        cmocka_unit_test(test_a_problem_is_about_the_frame_that_was_sent),
        cmocka_unit_test(test_what_cannot_be_stored_has_a_code_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
