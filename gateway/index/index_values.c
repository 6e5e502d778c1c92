/* SPDX-License-Identifier: Apache-2.0 */

#include "index_values.h"

#include <string.h>

#include "quantity.h"
#include "query_options.h"
#include "text.h"

enum { MS_A_SECOND = 1000 };

#define OVERDUE_MAX_MS (INT64_C(365) * 86400 * MS_A_SECOND)

static bool read_time(const char *value, int64_t *out_ms) {
    double seconds;
    if (!text_unix_time(parley_bytes_of(value), &seconds)) {
        return false;
    }
    *out_ms = (int64_t)(seconds * (double)MS_A_SECOND);
    return true;
}

static bool read_switch(const char *value, bool *out) {
    *out = strcmp(value, "true") == 0;
    return *out || strcmp(value, "false") == 0;
}

static bool read_choice(const char *value, enum index_choice *out) {
    bool is_on;
    const bool is_sound = read_switch(value, &is_on);
    *out = is_on ? INDEX_ONLY : INDEX_NOT;
    return is_sound;
}

static bool read_overdue(const char *value, int64_t *out_ms) {
    *out_ms = INDEX_OVERDUE_DEFAULT_MS;
    return strcmp(value, "true") == 0 ||
           (quantity_read_duration(value, out_ms) && *out_ms <= OVERDUE_MAX_MS);
}

bool index_value_set(struct index_question *asked, enum index_option option, const char *value) {
    switch (option) {
    case INDEX_LIMIT:
        return query_option_count(value, INDEX_LIMIT_MAX, &asked->limit);
    case INDEX_SINCE:
        return read_time(value, &asked->since_ms);
    case INDEX_UNTIL:
        return read_time(value, &asked->until_ms);
    case INDEX_DATA:
        return read_switch(value, &asked->has_data);
    case INDEX_AFTER:
        return stream_place_parse(value, &asked->after);
    case INDEX_OPEN:
        return read_choice(value, &asked->open);
    case INDEX_UNACKED:
        return read_choice(value, &asked->unacked);
    case INDEX_OVERDUE:
        return read_overdue(value, &asked->overdue_ms);
    default:
        return value[0] != '\0';
    }
}
