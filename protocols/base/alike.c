/* SPDX-License-Identifier: Apache-2.0 */

#include "alike.h"

/* The C library's functions ask the locale. */
static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool alike_but_case(struct parley_bytes a, struct parley_bytes b) {
    size_t same = 0;
    while (same < a.length && same < b.length && lower(a.data[same]) == lower(b.data[same])) {
        same++;
    }
    return same == a.length && same == b.length;
}

static bool is_joint(char c) {
    return c == '_' || c == '-' || c == '.' || c == ' ';
}

uint32_t alike_letters(struct parley_bytes word) {
    uint32_t letters = 0;
    for (size_t i = 0; i < word.length; i++) {
        const uint32_t bit = UINT32_C(1) << ((unsigned char)word.data[i] & 0x1F);
        letters |= is_joint(word.data[i]) ? 0 : bit;
    }
    return letters;
}

/* The next letter at or after *at; -1 at the end. */
static int next_letter(struct parley_bytes text, size_t *at) {
    while (*at < text.length && is_joint(text.data[*at])) {
        ++*at;
    }
    return *at < text.length ? (unsigned char)lower(text.data[(*at)++]) : -1;
}

bool alike_but_style(struct parley_bytes a, struct parley_bytes b) {
    size_t at_a = 0, at_b = 0;
    int letter;
    do {
        letter = next_letter(a, &at_a);
        if (letter != next_letter(b, &at_b)) {
            return false;
        }
    } while (letter != -1);
    return a.length > 0 && b.length > 0;
}

static struct parley_bytes after(struct parley_bytes text, size_t count) {
    return (struct parley_bytes){text.data + count, text.length - count};
}

bool alike_but_letter(struct parley_bytes a, struct parley_bytes b) {
    enum { LETTERS_MIN = 4 };
    if (a.length < LETTERS_MIN || b.length < LETTERS_MIN || a.length > b.length + 1 ||
        b.length > a.length + 1) {
        return false;
    }
    size_t same = 0;
    while (same < a.length && same < b.length && lower(a.data[same]) == lower(b.data[same])) {
        same++;
    }
    const struct parley_bytes rest_a = after(a, same), rest_b = after(b, same);
    if (a.length != b.length) { /* one more in the longer one */
        return a.length > b.length ? alike_but_case(after(rest_a, 1), rest_b)
                                   : alike_but_case(rest_a, after(rest_b, 1));
    }
    const bool is_swap = rest_a.length > 1 && lower(rest_a.data[0]) == lower(rest_b.data[1]) &&
                         lower(rest_a.data[1]) == lower(rest_b.data[0]);
    return rest_a.length == 0 || alike_but_case(after(rest_a, 1), after(rest_b, 1)) ||
           (is_swap && alike_but_case(after(rest_a, 2), after(rest_b, 2)));
}
