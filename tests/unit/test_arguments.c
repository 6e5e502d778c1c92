/* SPDX-License-Identifier: Apache-2.0 */

/* Reading argv. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "arguments.h"

enum { FORMAT, QUIET };
static const struct argument_flag flags[] = {
    {"format", 0, true}, {"quiet", 'q', false}, {NULL, 0, 0}};

/* Reads all arguments, and writes them as "flag=value" and "value", with blanks between. */
static void read_all(char **argv, char *out, size_t size) {
    struct arguments arguments = {.command = "try", .flags = flags, .argv = argv};
    while (argv[arguments.argc] != NULL) {
        arguments.argc++;
    }
    const char *value;
    out[0] = '\0';
    for (int found; (found = arguments_next(&arguments, &value)) != ARGUMENT_END;) {
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "%s%s%s%s", used > 0 ? " " : "",
                 found >= 0                ? flags[found].name
                 : found == ARGUMENT_WRONG ? "WRONG"
                                           : "",
                 found >= 0 ? "=" : "", value != NULL ? value : "");
        if (found == ARGUMENT_WRONG) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_are_read_in_every_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
