/* SPDX-License-Identifier: Apache-2.0 */

/* Arguments and text of the subcommands. Not getopt_long: its state is global, it takes
 * abbreviations (which later options would break), and it cannot say what was probably meant. */

#include "cli.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nearest.h"

void cli_error(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("parley: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void cli_error_unknown(const char *kind, const char *word, const char *const names[],
                       const char *see) {
    const char *nearest = nearest_word(word, names);
    if (nearest != NULL) {
        cli_error("there is no %s '%s'; did you mean '%s'? (%s lists them)", kind, word, nearest,
                  see);
    } else {
        cli_error("there is no %s '%s' (%s lists them)", kind, word, see);
    }
}

const struct parley_protocol *cli_protocol(const char *name) {
    enum { SUGGESTED_MAX = 32 };
    const char *names[SUGGESTED_MAX + 1] = {0};
    const struct parley_protocol *found = parley_protocol_find(parley_bytes_of(name));
    for (size_t i = 0; i < SUGGESTED_MAX && parley_protocols[i] != NULL; i++) {
        names[i] = parley_protocols[i]->name;
    }
    if (found == NULL) {
        cli_error_unknown("protocol", name, names, "parley protocols");
    }
    return found;
}

/* ---- arguments ---- */

static int find_flag(const struct cli_arguments *arguments, const char *name, size_t length) {
    for (int i = 0; arguments->flags[i].name != NULL; i++) {
        const char *known = arguments->flags[i].name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return i;
        }
    }
    return CLI_WRONG;
}

static int find_letter(const struct cli_arguments *arguments, const char *letters) {
    for (int i = 0; arguments->flags[i].name != NULL && letters[1] == '\0'; i++) {
        if (arguments->flags[i].letter == letters[0]) {
            return i;
        }
    }
    return CLI_WRONG;
}

static void say_unknown(const struct cli_arguments *arguments, const char *word, size_t length) {
    const char *names[CLI_FLAGS_MAX + 1] = {0};
    for (size_t i = 0; i < CLI_FLAGS_MAX && arguments->flags[i].name != NULL; i++) {
        names[i] = arguments->flags[i].name;
    }
    char name[NEAREST_WORD_MAX + 1] = "";
    if (length <= NEAREST_WORD_MAX && length > 2) {
        memcpy(name, word + 2, length - 2);
    }
    const char *nearest = nearest_word(name, names);
    const int shown = length > 200 ? 200 : (int)length;
    if (nearest != NULL) {
        cli_error("%s has no option '%.*s'; did you mean '--%s'? (parley %s --help lists them)",
                  arguments->command, shown, word, nearest, arguments->command);
    } else {
        cli_error("%s has no option '%.*s' (parley %s --help lists them)", arguments->command,
                  shown, word, arguments->command);
    }
}

int cli_next(struct cli_arguments *arguments, const char **out_value) {
    *out_value = NULL;
    if (arguments->at >= arguments->argc) {
        return CLI_END;
    }
    const char *word = arguments->argv[arguments->at++];
    if (!arguments->has_only_operands && strcmp(word, "--") == 0) {
        arguments->has_only_operands = true;
        return cli_next(arguments, out_value);
    }
    if (arguments->has_only_operands || word[0] != '-' || word[1] == '\0') {
        *out_value = word;
        return CLI_OPERAND;
    }
    const bool is_long = word[1] == '-';
    const size_t length = is_long ? strcspn(word, "=") : strlen(word);
    const int found =
        is_long ? find_flag(arguments, word + 2, length - 2) : find_letter(arguments, word + 1);
    if (found < 0) {
        say_unknown(arguments, word, length);
        return CLI_WRONG;
    }
    if (word[length] == '=') {
        *out_value = word + length + 1;
    } else if (!arguments->flags[found].has_value) {
        *out_value = "true";
    } else if (arguments->at < arguments->argc) {
        *out_value = arguments->argv[arguments->at++];
    } else {
        cli_error("%s wants a value (see parley %s --help)", word, arguments->command);
        return CLI_WRONG;
    }
    return found;
}

/* ---- text for people ---- */

bool cli_has_colour(FILE *stream) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fileno(stream)) && (refused == NULL || refused[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

size_t cli_width(FILE *stream) {
    struct winsize size;
    if (!isatty(fileno(stream))) {
        return SIZE_MAX;
    }
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Columns of `length` bytes: of what we write ourselves, every code point takes one. */
static size_t columns(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    return count;
}

void cli_wrap(FILE *out, const char *text, size_t indent, size_t width) {
    size_t at = indent;
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        const size_t wide = columns(text, length);
        if (at > indent && (at + 1 > width || wide > width - at - 1)) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, length, out);
        at += wide;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

int cli_print(void (*write)(struct parley_buffer *out, const void *context), const void *context) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    write(&out, context);
    const enum parley_status status = parley_buffer_status(&out);
    if (status == PARLEY_OK) {
        fwrite(out.data, 1, out.length, stdout);
    } else {
        cli_error("%s", parley_status_text(status));
    }
    parley_buffer_finish(&out);
    return status == PARLEY_OK ? EXIT_SUCCESS : CLI_USAGE;
}

void cli_append_clean(struct parley_buffer *out, const char *text) {
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)text[0], second = (unsigned char)text[1];
        if (c < 0x20 || c == 0x7F) {
            parley_buffer_format(out, "\\x%02x", c);
        } else if (c == 0xC2 && second >= 0x80 && second < 0xA0) { /* the controls of ISO 6429 */
            parley_buffer_format(out, "\\x%02x", second);
            text++;
        } else {
            parley_buffer_char(out, (char)c);
        }
    }
}
