/* SPDX-License-Identifier: Apache-2.0 */

/* The values of options. */

#include "option.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "loading.h"
#include "quantity.h"

void option_name_variable(const char *flag, char out[64]) {
    const int length = snprintf(out, 64, "PARLEY_%s", flag);
    for (int i = 0; i < length; i++) {
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
    }
}

/* ---- values as text ---- */

static bool read_choice(const struct option *option, const char *text, uint64_t *out) {
    for (uint64_t i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool read_switch(const char *text, bool *out) {
    *out = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *out || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

bool option_assign(const struct option *option, const char *text,
                   struct configuration *configuration) {
    void *field = (char *)configuration + option->field;
    uint64_t number;
    int64_t duration_ms;
    switch (option->type) {
    case OPTION_TEXT:
    case OPTION_LIST:
        *(const char **)field = text;
        return text[0] != '\0';
    case OPTION_SWITCH:
        return read_switch(text, field);
    case OPTION_CHOICE:
        return read_choice(option, text, field);
    case OPTION_COUNT:
    case OPTION_SIZE:
        if (!(option->type == OPTION_COUNT ? quantity_read_count : quantity_read_size)(text,
                                                                                       &number)) {
            return false;
        }
        *(uint64_t *)field = number;
        return number >= option->minimum && number <= option->maximum;
    case OPTION_DURATION:
        if (!quantity_read_duration(text, &duration_ms)) {
            return false;
        }
        *(int64_t *)field = duration_ms;
        return duration_ms >= (int64_t)option->minimum && duration_ms <= (int64_t)option->maximum;
    }
    return false;
}

void option_copy(const struct option *option, const struct configuration *from,
                 struct configuration *to) {
    const size_t size = option->type == OPTION_SWITCH ? sizeof(bool) : sizeof(uint64_t);
    memcpy((char *)to + option->field, (const char *)from + option->field, size);
}

static void write_bound(struct parley_buffer *out, enum option_type type, uint64_t bound) {
    if (type == OPTION_SIZE) {
        quantity_write_size(out, bound);
    } else if (type == OPTION_DURATION) {
        quantity_write_duration(out, (int64_t)bound);
    } else {
        parley_buffer_format(out, "%" PRIu64, bound);
    }
}

void option_note_invalid(const struct option *option, const char *by, const char *text,
                         struct loading *loading) {
    static const char *const expected[] = {
        [OPTION_TEXT] = "a non-empty value",
        [OPTION_LIST] = "a non-empty value",
        [OPTION_SWITCH] = "true or false",
        [OPTION_CHOICE] = "one of ",
        [OPTION_COUNT] = "a whole number",
        [OPTION_SIZE] = "a size such as 512k,",
        [OPTION_DURATION] = "a number with a unit (ms, s, m, h or d) such as 90s,",
    };
    struct parley_buffer range;
    parley_buffer_init(&range);
    if (option->maximum > 0) {
        parley_buffer_text(&range, " from ");
        write_bound(&range, option->type, option->minimum);
        parley_buffer_text(&range, " to ");
        write_bound(&range, option->type, option->maximum);
    }
    for (size_t i = 0; option->type == OPTION_CHOICE && option->choices[i] != NULL; i++) {
        parley_buffer_format(&range, "%s%s", i > 0 ? ", " : "", option->choices[i]);
    }
    parley_buffer_char(&range, '\0');
    loading_fault(loading, "%s must be %s%s, not '%s'", by, expected[option->type],
                  range.has_failed ? "" : range.data, text);
    parley_buffer_finish(&range);
}

/* ---- values as text and as JSON ---- */

void option_write_text(const struct option *option, const struct configuration *configuration,
                       struct parley_buffer *out) {
    const void *field = (const char *)configuration + option->field;
    switch (option->type) {
    case OPTION_TEXT:
    case OPTION_LIST:
        parley_buffer_text(out, *(const char *const *)field);
        break;
    case OPTION_SWITCH:
        parley_buffer_text(out, *(const bool *)field ? "true" : "false");
        break;
    case OPTION_CHOICE:
        parley_buffer_text(out, option->choices[*(const uint64_t *)field]);
        break;
    case OPTION_COUNT:
        parley_buffer_format(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    case OPTION_SIZE:
        quantity_write_size(out, *(const uint64_t *)field);
        break;
    case OPTION_DURATION:
        quantity_write_duration(out, *(const int64_t *)field);
        break;
    }
}

static bool is_absent(const struct option *option, const struct configuration *configuration) {
    const void *field = (const char *)configuration + option->field;
    return (option->type == OPTION_TEXT || option->type == OPTION_LIST) &&
           *(const char *const *)field == NULL;
}

void option_write_json(const struct option *option, const struct configuration *configuration,
                       struct parley_buffer *out) {
    struct parley_buffer text;
    if (is_absent(option, configuration)) {
        parley_buffer_text(out, "null");
        return;
    }
    if (option->type == OPTION_SWITCH || option->type == OPTION_COUNT) {
        option_write_text(option, configuration, out);
        return;
    }
    parley_buffer_init(&text);
    option_write_text(option, configuration, &text);
    parley_buffer_json(out, parley_buffer_bytes(&text));
    out->has_failed = out->has_failed || text.has_failed;
    parley_buffer_finish(&text);
}
