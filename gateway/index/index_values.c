/* SPDX-License-Identifier: Apache-2.0 */

#include "index_values.h"

#include <string.h>

#include <parley/index.h>

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

/* "claim,handoff": kinds of the question's protocol. */
static bool read_kinds(const struct index_question *asked, const char *value, uint32_t *out) {
    const struct parley_index_item_kind *kinds =
        parley_protocols[asked->protocol]->index->items->kinds;
    *out = 0;
    for (const char *at = value;; at++) {
        const size_t length = strcspn(at, ",");
        size_t i = 0;
        while (kinds[i].name != NULL && !parley_bytes_equal(parley_bytes_of(kinds[i].name),
                                                            (struct parley_bytes){at, length})) {
            i++;
        }
        if (kinds[i].name == NULL) {
            return false;
        }
        *out |= UINT32_C(1) << i;
        at += length;
        if (*at == '\0') {
            return true;
        }
    }
}

static bool read_state(const char *value, bool *out_all) {
    *out_all = strcmp(value, "all") == 0;
    return *out_all || strcmp(value, "open") == 0;
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
    case INDEX_KIND:
        return read_kinds(asked, value, &asked->kinds);
    case INDEX_STATE:
        return read_state(value, &asked->has_all);
    case INDEX_OVERDUE:
        return read_overdue(value, &asked->overdue_ms);
    default:
        return value[0] != '\0';
    }
}
