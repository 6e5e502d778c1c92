/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in is a character of a private plane. The text may contain it too: then it is replaced
 * by itself. Only an escape for it could be confused with it, so one is chosen for which the text
 * has no escape. */

#include "yaml_special.h"

#include <stdint.h>
#include <string.h>

#include "text.h"
#include "front_matter_fault.h"

/* U+F0000 to U+F000F. */
enum { STAND_INS = 16 };
static const char first_stand_in[] = "\xF3\xB0\x80\x80";

struct item {
    uint32_t at;
    uint8_t length;
    bool is_stand_in; /* the very character */
};

static struct item item_at(const struct yaml_specials *specials, size_t index) {
    struct item item;
    memcpy(&item, specials->items.data + index * sizeof item, sizeof item);
    return item;
}

static size_t item_count(const struct yaml_specials *specials) {
    return specials->items.length / sizeof(struct item);
}

static bool is_control(const char *at, size_t length) {
    return length == 1 && (unsigned char)at[0] < 0x20;
}

static bool is_special(const char *at, size_t length) {
    return front_matter_is_unfit(at, length) && !is_control(at, length);
}

static int hex_value(char c) {
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* Whether some stand-in has nothing in the text that could be the end of its escape, \U000F000x. */
static bool choose_stand_in(struct yaml_specials *specials) {
    const struct parley_bytes text = specials->text;
    uint32_t used = 0;
    for (size_t i = 0; i + 5 <= text.length; i++) {
        const char *at = text.data + i;
        if ((at[0] | 32) == 'f' && memcmp(at + 1, "000", 3) == 0 && hex_value(at[4]) >= 0) {
            used |= UINT32_C(1) << hex_value(at[4]);
        }
    }
    memcpy(specials->stand_in, first_stand_in, sizeof specials->stand_in);
    for (unsigned i = 0; i < STAND_INS; i++) {
        if ((used >> i & 1) == 0) {
            specials->stand_in[3] = (char)(first_stand_in[3] + (int)i);
            return true;
        }
    }
    return false;
}

/* Most texts have none. */
static bool has_special(struct parley_bytes text) {
    for (size_t i = 0, length; i < text.length; i += length) {
        length = text_utf8_sequence(text.data + i, text.length - i);
        if (is_special(text.data + i, length)) {
            return true;
        }
    }
    return false;
}

static void replace_all(struct yaml_specials *specials) {
    const struct parley_bytes text = specials->text;
    const struct parley_bytes stand_in = {specials->stand_in, sizeof specials->stand_in};
    for (size_t i = 0, length; i < text.length; i += length) {
        const char *at = text.data + i;
        length = text_utf8_sequence(at, text.length - i);
        const bool is_stand_in = parley_bytes_equal((struct parley_bytes){at, length}, stand_in);
        if (!is_stand_in && !is_special(at, length)) {
            parley_buffer_append(&specials->fed, (struct parley_bytes){at, length});
            continue;
        }
        const struct item item = {(uint32_t)i, (uint8_t)length, is_stand_in};
        parley_buffer_append(&specials->fed, stand_in);
        parley_buffer_append(&specials->items,
                             (struct parley_bytes){(const char *)&item, sizeof item});
    }
}

struct parley_bytes yaml_specials_replace(struct yaml_specials *specials,
                                          struct parley_bytes text) {
    *specials = (struct yaml_specials){.text = text, .outside = SIZE_MAX};
    parley_buffer_init(&specials->items);
    parley_buffer_init(&specials->fed);
    if (!has_special(text) || text.length > UINT32_MAX || !choose_stand_in(specials)) {
        return text;
    }
    replace_all(specials);
    return specials->fed.has_failed || specials->items.has_failed
               ? (struct parley_bytes){0}
               : parley_buffer_bytes(&specials->fed);
}

void yaml_specials_finish(struct yaml_specials *specials) {
    parley_buffer_finish(&specials->items);
    parley_buffer_finish(&specials->fed);
}

void yaml_specials_pass(struct yaml_specials *specials, size_t end) {
    for (; specials->next < item_count(specials); specials->next++) {
        const struct item item = item_at(specials, specials->next);
        if (item.at >= end) {
            break;
        }
        if (!item.is_stand_in && specials->outside == SIZE_MAX) {
            specials->outside = item.at;
        }
    }
}

void yaml_specials_restore(struct yaml_specials *specials, size_t start, char *value,
                           size_t *length) {
    yaml_specials_pass(specials, start);
    char *to = value;
    for (size_t i = 0; i < *length;) {
        const bool is_replaced =
            specials->next < item_count(specials) && *length - i >= sizeof specials->stand_in &&
            memcmp(value + i, specials->stand_in, sizeof specials->stand_in) == 0;
        if (!is_replaced) {
            *to++ = value[i++];
            continue;
        }
        const struct item item = item_at(specials, specials->next++);
        memcpy(to, specials->text.data + item.at, item.length);
        to += item.length;
        i += sizeof specials->stand_in;
    }
    *length = (size_t)(to - value);
}
