/* SPDX-License-Identifier: Apache-2.0 */

/*     Prefer     = #preference
 *     preference = token [ BWS "=" BWS word ] *( OWS ";" [ OWS parameter ] )
 *     word       = token / quoted-string
 *
 * Section 2: of a preference that is given twice the first counts. */

#include "prefer.h"

#include <stddef.h>
#include <strings.h>

static void skip_blanks(struct parley_bytes *text) {
    while (text->length > 0 && (*text->data == ' ' || *text->data == '\t')) {
        text->data++;
        text->length--;
    }
}

/* Takes the first preference off `list`; its quotes may contain commas. */
static struct parley_bytes next_preference(struct parley_bytes *list) {
    const char *const start = list->data;
    bool is_quoted = false;
    size_t length = 0;
    while (length < list->length && (is_quoted || start[length] != ',')) {
        if (start[length] == '"') {
            is_quoted = !is_quoted;
        } else if (is_quoted && start[length] == '\\' && length + 1 < list->length) {
            length++;
        }
        length++;
    }
    const size_t used = length < list->length ? length + 1 : length; /* the comma */
    *list = (struct parley_bytes){start + used, list->length - used};
    return (struct parley_bytes){start, length};
}

/* `value`: after the name: `=60`, `="60"; x=y`.  Returns: 0 for anything else. */
static uint32_t read_seconds(struct parley_bytes value) {
    uint64_t seconds = 0;
    skip_blanks(&value);
    if (value.length == 0 || *value.data != '=') {
        return 0;
    }
    value.data++;
    value.length--;
    skip_blanks(&value);
    const bool is_quoted = value.length > 0 && *value.data == '"';
    size_t at = is_quoted;
    for (; at < value.length && value.data[at] >= '0' && value.data[at] <= '9'; at++) {
        seconds = seconds * 10 + (uint64_t)(value.data[at] - '0');
        seconds = seconds < UINT32_MAX ? seconds : UINT32_MAX;
    }
    if (is_quoted && (at == value.length || value.data[at++] != '"')) {
        return 0;
    }
    struct parley_bytes rest = {value.data + at, value.length - at};
    skip_blanks(&rest);
    return rest.length == 0 || *rest.data == ';' ? (uint32_t)seconds : 0;
}

bool prefer_find_wait(struct parley_bytes value, uint32_t *seconds) {
    static const struct parley_bytes name = {"wait", 4};
    while (value.length > 0) {
        struct parley_bytes preference = next_preference(&value);
        skip_blanks(&preference);
        if (preference.length < name.length ||
            strncasecmp(preference.data, name.data, name.length) != 0) {
            continue;
        }
        const struct parley_bytes rest = {preference.data + name.length,
                                          preference.length - name.length};
        if (rest.length == 0 || *rest.data == '=' || *rest.data == ';' || *rest.data == ' ' ||
            *rest.data == '\t') {
            *seconds = read_seconds(rest);
            return true;
        }
    }
    return false;
}
