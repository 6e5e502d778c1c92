/* SPDX-License-Identifier: Apache-2.0 */

/* Text for people. It draws nothing and reads no keys. */

#include "terminal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "nearest.h"

void terminal_error(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    flockfile(stderr); /* a line stays one line, whichever threads write */
    fputs("parley: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(arguments);
}

void terminal_error_unknown(const char *kind, const char *word, const char *const names[],
                            const char *see) {
    const char *nearest = nearest_word(word, names);
    if (nearest != NULL) {
        terminal_error("unknown %s '%s'; did you mean '%s'? (%s lists them)", kind, word, nearest,
                       see);
    } else {
        terminal_error("unknown %s '%s' (%s lists them)", kind, word, see);
    }
}

/* ---- layout ---- */

bool terminal_has_colour(FILE *stream) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fileno(stream)) && (refused == NULL || refused[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

size_t terminal_width(FILE *stream) {
    struct winsize size;
    if (!isatty(fileno(stream))) {
        return SIZE_MAX;
    }
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* Columns of `length` bytes: in parley's own texts, every code point takes one. */
static size_t columns(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    return count;
}

static void wrap(FILE *out, const char *text, const char *prefix, size_t pad, size_t width) {
    const size_t indent = columns(prefix, strlen(prefix)) + pad;
    size_t at = indent;
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        const size_t wide = columns(text, length);
        if (at > indent && (at + 1 > width || wide > width - at - 1)) {
            fprintf(out, "\n%s%*s", prefix, (int)pad, "");
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

void terminal_wrap(FILE *out, const char *text, size_t indent, size_t width) {
    wrap(out, text, "", indent, width);
}

void terminal_wrap_after(FILE *out, const char *text, const char *prefix, size_t width) {
    wrap(out, text, prefix, 0, width);
}

void terminal_append_clean(struct parley_buffer *out, const char *text) {
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
