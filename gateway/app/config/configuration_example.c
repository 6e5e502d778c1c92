/* SPDX-License-Identifier: Apache-2.0 */

/* `parley serve --example-config`: the configuration file with every option, which is kept in
 * docs/parley.conf. */

#include <stdio.h>
#include <string.h>

#include "option.h"
#include "terminal.h"

enum { WIDTH = 100 };

static const char HEADER[] =
    "# The configuration of `parley serve`: every option, with its default. To set one, remove "
    "the\n"
    "# \"#\" in front of its name. Check the file, and start parley with it, by\n"
    "#\n"
    "#   parley serve --config FILE --check-config\n"
    "#   parley serve --config FILE\n"
    "#\n"
    "# Options on the command line and variables (PARLEY_LISTEN) take precedence over it. It is "
    "YAML,\n"
    "# one KEY: VALUE a line. A text that begins with [ ] { } & * ! | > % @ or `, or has \": \" or "
    "\" #\" "
    "in\n"
    "# it, needs quotes: listen: \"[::1]:8080\". An option that can be given more than once takes "
    "a\n"
    "# list: host: [a.example, b.example].\n"
    "#\n"
    "# This text is the output of `parley serve --example-config`.\n";

static void print_option(FILE *out, const struct option *option) {
    fputs("\n# ", out);
    terminal_wrap_after(out, option->help, "# ", WIDTH);
    if (option->fallback_text != NULL) {
        fputs("# Default: ", out);
        terminal_wrap_after(out, option->fallback_text, "# ", WIDTH - strlen("Default: "));
    }
    if (option->is_reloadable) {
        fputs("# SIGHUP changes it.\n", out);
    }
    fprintf(out, "#%s: %s\n", option->flag,
            option->fallback != NULL ? option->fallback : option->value_name);
}

void configuration_print_example(void) {
    fputs(HEADER, stdout);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option option = option_at(i);
        if (!option.is_not_in_file) {
            print_option(stdout, &option);
        }
    }
}
