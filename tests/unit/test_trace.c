/* SPDX-License-Identifier: Apache-2.0 */

/* Which traceparent headers are valid, and what is sent on. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "trace.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static void test_only_what_w3c_allows_is_a_traceparent(void **state) {
    (void)state;
    static const struct {
        const char *header;
        bool is_valid, is_sampled;
        const char *sent_on; /* NULL: the header */
    } rows[] = {
        {"00-" TRACE "-" SPAN "-01", true, true, NULL},
        {"00-" TRACE "-" SPAN "-00", true, false, NULL},
        {"00-" TRACE "-" SPAN "-03", true, true, NULL},  /* flags that are not known … */
        {"00-" TRACE "-" SPAN "-fe", true, false, NULL}, /* … are passed on */
        {"00-00000000000000000000000000000001-" SPAN "-01", true, true, NULL},
        /* other versions, as far as version 00 goes */
        {"01-" TRACE "-" SPAN "-01", true, true, "00-" TRACE "-" SPAN "-01"},
        {"cc-" TRACE "-" SPAN "-01-what-comes-later", true, true, "00-" TRACE "-" SPAN "-01"},
        {"cc-" TRACE "-" SPAN "-01-", true, true, "00-" TRACE "-" SPAN "-01"},
        {"cc-" TRACE "-" SPAN "-01.later", false, false, NULL},
        {"cc-" TRACE "-" SPAN "-01-a b", false, false, NULL},
        {"cc-" TRACE "-" SPAN "-01-\xC3\xA9", false, false, NULL},
        {"cc-" TRACE "-" SPAN "-010", false, false, NULL},
        {"ff-" TRACE "-" SPAN "-01", false, false, NULL},
        {"0x-" TRACE "-" SPAN "-01", false, false, NULL},
        {"0-" TRACE "-" SPAN "-01", false, false, NULL},
        {"00-" TRACE "-" SPAN "-01-later", false, false, NULL},
        {"00-" TRACE "-" SPAN "-01 ", false, false, NULL},
        {" 00-" TRACE "-" SPAN "-01", false, false, NULL},
        {"00-" TRACE "-" SPAN "-1", false, false, NULL},
        {"00-" TRACE "-" SPAN "-0g", false, false, NULL},
        {"00-" TRACE "-" SPAN, false, false, NULL},
        {"00-" TRACE "_" SPAN "-01", false, false, NULL},
        {"00-00000000000000000000000000000000-" SPAN "-01", false, false, NULL},
        {"00-" TRACE "-0000000000000000-01", false, false, NULL},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", false, false, NULL},
        {"00-" TRACE "-00F067AA0BA902B7-01", false, false, NULL},
        {"00-" TRACE "-" SPAN "-0A", false, false, NULL},
        {"00-4bf92f3577b34da6a3ce929d0e0e473-" SPAN "-010", false, false, NULL},
        {"", false, false, NULL},
        {NULL, false, false, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trace trace;
        char sent_on[TRACE_PARENT_LENGTH + 1];
        if (trace_read(rows[i].header, &trace) != rows[i].is_valid) {
            fail_msg("%s", rows[i].header);
        }
        if (rows[i].is_valid) {
            assert_int_equal(trace_is_sampled(&trace), rows[i].is_sampled);
            trace_write(&trace, sent_on);
            assert_string_equal(sent_on,
                                rows[i].sent_on != NULL ? rows[i].sent_on : rows[i].header);
        }
    }
}

static void test_a_trace_that_begins_here_is_sampled_and_new(void **state) {
    (void)state;
    struct trace one, other, read;
    char sent_on[TRACE_PARENT_LENGTH + 1];
    trace_start(&one);
    trace_start(&other);
    assert_string_not_equal(one.trace_id, other.trace_id);
    assert_true(trace_is_sampled(&one));
    trace_write(&one, sent_on);
    assert_true(trace_read(sent_on, &read));
    assert_string_equal(read.trace_id, one.trace_id);
    assert_string_equal(read.span_id, one.span_id);
    assert_string_not_equal(one.span_id, other.span_id);
}

static void test_a_tracestate_is_passed_on_if_it_is_short_and_harmless(void **state) {
    (void)state;
    char text[TRACE_STATE_MAX + 2];
    assert_true(trace_state_is_valid("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"));
    assert_true(trace_state_is_valid("a=1,\t b=2"));
    assert_false(trace_state_is_valid(NULL));
    assert_false(trace_state_is_valid(""));
    assert_false(trace_state_is_valid("a=1\r\nX: y"));
    assert_false(trace_state_is_valid("a=\x7f"));
    assert_false(trace_state_is_valid("a=\xC3\xA9"));
    memset(text, 'x', sizeof text);
    text[TRACE_STATE_MAX] = '\0';
    assert_true(trace_state_is_valid(text));
    text[TRACE_STATE_MAX] = 'x';
    text[TRACE_STATE_MAX + 1] = '\0';
    assert_false(trace_state_is_valid(text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_w3c_allows_is_a_traceparent),
        cmocka_unit_test(test_a_trace_that_begins_here_is_sampled_and_new),
        cmocka_unit_test(test_a_tracestate_is_passed_on_if_it_is_short_and_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
