/* SPDX-License-Identifier: Apache-2.0 */

/* Arguments, suggestions, addresses, identities and text for people. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "cli.h"
#include "nearest.h"
#include "identity.h"
#include "listen_address.h"
#include "progress.h"

enum { FORMAT, QUIET };
static const struct cli_flag flags[] = {{"format", 0, true}, {"quiet", 'q', false}, {NULL, 0, 0}};

/* Reads all arguments, and writes them as "flag=value" and "value", with blanks between. */
static void read_all(char **argv, char *out, size_t size) {
    struct cli_arguments arguments = {.command = "try", .flags = flags, .argv = argv};
    while (argv[arguments.argc] != NULL) {
        arguments.argc++;
    }
    const char *value;
    out[0] = '\0';
    for (int found; (found = cli_next(&arguments, &value)) != CLI_END;) {
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s%s%s", used > 0 ? " " : "",
                 found >= 0           ? flags[found].name
                 : found == CLI_WRONG ? "WRONG"
                                      : "",
                 found >= 0 ? "=" : "", value != NULL ? value : "");
        if (found == CLI_WRONG) {
            return;
        }
    }
}

static void test_arguments_are_read_in_every_form(void **state) {
    (void)state;
    static const struct {
        const char *argv[6];
        const char *expected;
    } cases[] = {
        {{"--format", "json", "a", NULL}, "format=json a"},
        {{"a", "--format=json", NULL}, "a format=json"},
        {{"--format=", NULL}, "format="},
        {{"--format", "--quiet", NULL}, "format=--quiet"},
        {{"--quiet", "a", NULL}, "quiet=true a"},
        {{"--quiet=false", NULL}, "quiet=false"},
        {{"-q", "-", NULL}, "quiet=true -"},
        {{"--", "--quiet", "--", NULL}, "--quiet --"},
        {{"--format", NULL}, "WRONG"},
        {{"--form", "x", NULL}, "WRONG"},
        {{"-x", NULL}, "WRONG"},
        {{"-qq", NULL}, "WRONG"},
        {{NULL}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char out[256];
        read_all((char **)cases[i].argv, out, sizeof out);
        assert_string_equal(out, cases[i].expected);
    }
}

static void test_a_slip_finds_the_word_that_was_meant(void **state) {
    (void)state;
    static const char *const names[] = {"listen", "data", "in-flight", "spool-max", NULL};
    assert_string_equal(nearest_word("lisen", names), "listen");
    assert_string_equal(nearest_word("listne", names), "listen");
    assert_string_equal(nearest_word("inflight", names), "in-flight");
    assert_string_equal(nearest_word("date", names), "data");
    assert_string_equal(nearest_word("LISTEN", names), "listen"); /* D11b */
    assert_string_equal(nearest_word("In-Fligth", names), "in-flight");
    assert_null(nearest_word("verbose", names));
    assert_null(nearest_word("", names));
    assert_null(nearest_word("a-word-that-is-longer-than-any-flag-could-be", names));
}

static void check_clean(const char *text, const char *expected) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    cli_append_clean(&out, text);
    parley_buffer_char(&out, '\0');
    assert_string_equal(out.data, expected);
    parley_buffer_finish(&out);
}

static void test_text_of_strangers_cannot_speak_to_the_terminal(void **state) {
    (void)state;
    check_clean("/a\033[31m\n\x7f", "/a\\x1b[31m\\x0a\\x7f");
    check_clean("\xC2\x9B"
                "31m",
                "\\x9b31m");
    check_clean("\xC2", "\xC2");
    check_clean("\xC2\xA0\xC3\xA9 \xE2\x80\xA6", "\xC2\xA0\xC3\xA9 \xE2\x80\xA6");
}

static void check_wrapped(const char *text, size_t indent, size_t width, const char *expected) {
    char *out = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&out, &size);
    assert_non_null(stream);
    cli_wrap(stream, text, indent, width);
    fclose(stream);
    assert_string_equal(out, expected);
    free(out);
}

static void test_text_is_wrapped_at_blanks(void **state) {
    (void)state;
    check_wrapped("one two three", 2, 9, "one two\n  three\n");
    check_wrapped("one two three", 2, SIZE_MAX, "one two three\n");
    check_wrapped("a-very-long-word b", 2, 5, "a-very-long-word\n  b\n");
    check_wrapped("\xC3\xA9\xC3\xA9\xC3\xA9 ab", 0, 6, "\xC3\xA9\xC3\xA9\xC3\xA9 ab\n");
    check_wrapped("", 2, 9, "\n");
}

static void test_addresses_are_taken_apart(void **state) {
    (void)state;
    static const struct {
        const char *text, *address;
        unsigned port;
        int is_loopback, is_any;
    } cases[] = {
        {"127.0.0.1:8080", "127.0.0.1", 8080, 1, 0},
        {":0", "127.0.0.1", 0, 1, 0},
        {"localhost:65535", "127.0.0.1", 65535, 1, 0},
        {"127.9.9.9:1", "127.9.9.9", 1, 1, 0},
        {"[::1]:80", "::1", 80, 1, 0},
        {"[::ffff:127.0.0.1]:80", "::ffff:127.0.0.1", 80, 1, 0},
        {"[::ffff:10.0.0.1]:80", "::ffff:10.0.0.1", 80, 0, 0},
        {"0.0.0.0:80", "0.0.0.0", 80, 0, 1},
        {"[::]:80", "::", 80, 0, 1},
        {"10.0.0.1:80", "10.0.0.1", 80, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char address[64];
        unsigned port;
        assert_null(listen_address_read(cases[i].text, address, &port));
        assert_string_equal(address, cases[i].address);
        assert_int_equal(port, cases[i].port);
        assert_int_equal(listen_address_is_loopback(address), cases[i].is_loopback);
        assert_int_equal(listen_address_is_any(address), cases[i].is_any);
    }
}

static void test_what_is_no_address_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "8080",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:65536",
                                        "127.0.0.1:x",
                                        "example.org:80",
                                        "::1:80",
                                        "[127.0.0.1]:80",
                                        "[]:80",
                                        "[::1:80",
                                        "127.1:80",
                                        "1.2.3.4.5:80",
                                        "127.0.0.1:-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char address[64];
        unsigned port;
        assert_non_null(listen_address_read(wrong[i], address, &port));
    }
    char longer[128], address[64];
    unsigned port;
    memset(longer, '1', sizeof longer);
    memcpy(longer + sizeof longer - 4, ":80", 4);
    assert_non_null(listen_address_read(longer, address, &port));
}

static void test_an_identity_is_a_new_uuid_of_version_4(void **state) {
    (void)state;
    char a[37], b[37];
    for (int i = 0; i < 100; i++) {
        identity_uuid(a);
        identity_uuid(b);
        assert_int_equal(strlen(a), 36);
        assert_int_equal(strspn(a, "0123456789abcdef-"), 36);
        assert_int_equal(a[8] == '-' && a[13] == '-' && a[18] == '-' && a[23] == '-', 1);
        assert_int_equal(a[14], '4');
        assert_non_null(strchr("89ab", a[19]));
        assert_string_not_equal(a, b);
    }
}

static void test_now_is_a_time_in_utc_with_milliseconds(void **state) {
    (void)state;
    char now[32];
    identity_now(now);
    int year, month, day, hour, minute, second, ms, end = 0;
    assert_int_equal(sscanf(now, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &year, &month, &day, &hour,
                            &minute, &second, &ms, &end),
                     7);
    assert_int_equal(end, 24);
    assert_int_equal(strlen(now), 24);
}

static void read_terminal(int fd, char *out, size_t size) {
    const ssize_t got = read(fd, out, size - 1);
    assert_true(got > 0);
    out[got] = '\0';
}

static void test_progress_is_shown_to_the_patient_and_wiped_away(void **state) {
    (void)state;
    int watched, terminal;
    char seen[128];
    assert_int_equal(openpty(&watched, &terminal, NULL, NULL, NULL), 0);
    struct progress progress;
    progress_init(&progress, terminal, 1000);
    assert_false(progress_is_due(&progress, 2999));
    assert_true(progress_is_due(&progress, 3000));
    progress_show(&progress, 3000, "half");
    read_terminal(watched, seen, sizeof seen);
    assert_string_equal(seen, "\rhalf\033[K");
    assert_false(progress_is_due(&progress, 3100));
    assert_true(progress_is_due(&progress, 3200));
    progress_clear(&progress);
    read_terminal(watched, seen, sizeof seen);
    assert_string_equal(seen, "\r\033[K");
    close(watched);
    close(terminal);
}

static void test_progress_is_for_terminals(void **state) {
    (void)state;
    int ends[2];
    char seen;
    assert_int_equal(pipe(ends), 0);
    struct progress progress;
    progress_init(&progress, ends[1], 0);
    assert_false(progress_is_due(&progress, 1000000));
    progress_show(&progress, 1000000, "half");
    progress_clear(&progress);
    close(ends[1]);
    assert_int_equal(read(ends[0], &seen, 1), 0);
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_are_read_in_every_form),
        cmocka_unit_test(test_a_slip_finds_the_word_that_was_meant),
        cmocka_unit_test(test_text_of_strangers_cannot_speak_to_the_terminal),
        cmocka_unit_test(test_text_is_wrapped_at_blanks),
        cmocka_unit_test(test_addresses_are_taken_apart),
        cmocka_unit_test(test_what_is_no_address_is_refused),
        cmocka_unit_test(test_an_identity_is_a_new_uuid_of_version_4),
        cmocka_unit_test(test_now_is_a_time_in_utc_with_milliseconds),
        cmocka_unit_test(test_progress_is_shown_to_the_patient_and_wiped_away),
        cmocka_unit_test(test_progress_is_for_terminals),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
