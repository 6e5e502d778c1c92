/* SPDX-License-Identifier: Apache-2.0 */

/* Where a supervisor message goes: supervisor.<side that sent it>.<type>. Messages bear no id, so
 * that none is taken for a repetition of another. */

#include "supervisor.h"

#include "../engine/text.h"

/* The side is the type's own; where both send it, what was said besides the message decides, and
 * then its form: only Elixir's errors have `details`.  Returns: 0 where the type is unknown. */
static unsigned side_of(const struct parley_message *message) {
    const unsigned sides = supervisor_sides(message->type);
    if (sides != (SUPERVISOR_GERBIL | SUPERVISOR_ELIXIR)) {
        return sides;
    }
    if (message->options.from != NULL) {
        return supervisor_side_of(parley_bytes_of(message->options.from));
    }
    const char *stored = message->options.stored_subject;
    const char *second = stored != NULL ? strchr(stored, '.') : NULL;
    const unsigned stored_side =
        second == NULL
            ? 0
            : supervisor_side_of((struct parley_bytes){second + 1, strcspn(second + 1, ".")});
    if (stored_side != 0) {
        return stored_side;
    }
    const bool has_details = message->values[SUPERVISOR_ERROR_DETAILS].kind != PARLEY_ABSENT;
    return has_details ? SUPERVISOR_ELIXIR : SUPERVISOR_GERBIL;
}

static void write_digits(char *end, unsigned number, size_t count) {
    while (count-- > 0) {
        *--end = (char)('0' + number % 10);
        number /= 10;
    }
}

/* The date of a day that is so many days behind 1970-01-01. Years are counted from March on, so
 * that the day that some of them have more is their last; 400 of them are 146097 days. */
static void write_date(char *out, unsigned days) {
    days += 719468; /* from 0000-03-01 on */
    const unsigned era = days / 146097, day_of_era = days % 146097;
    const unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const unsigned day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const unsigned month = (5 * day_of_year + 2) / 153; /* 0: March */
    const bool is_next_year = month >= 10;
    write_digits(out + 4, era * 400 + year_of_era + is_next_year, 4);
    write_digits(out + 7, is_next_year ? month - 9 : month + 3, 2);
    write_digits(out + 10, day_of_year - (153 * month + 2) / 5 + 1, 2);
}

/* Unix seconds as RFC 3339; gmtime_r and strftime cost as much as all the rest of a route.
 * Returns: data NULL for what is no such time or lies beyond the year 9999. `*out_status` says
 * whether there was memory. */
static struct parley_bytes time_of(struct parley_message *message, enum parley_status *out_status) {
    static const double last = 253402300799.0; /* 9999-12-31T23:59:59Z */
    enum { DAY = 86400, HOUR = 3600, MINUTE = 60 };
    const struct parley_value *value = &message->values[SUPERVISOR_TIMESTAMP];
    if (value->kind != PARLEY_NUMBER || !(value->number >= 0 && value->number <= last)) {
        return (struct parley_bytes){0};
    }
    char *text = parley_arena_copy(&message->arena, PARLEY_BYTES("0000-00-00T00:00:00Z"));
    *out_status = text != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    if (text == NULL) {
        return (struct parley_bytes){0};
    }
    const uint64_t seconds = (uint64_t)value->number;
    const unsigned of_day = (unsigned)(seconds % DAY);
    write_date(text, (unsigned)(seconds / DAY));
    write_digits(text + 13, of_day / HOUR, 2);
    write_digits(text + 16, of_day / MINUTE % 60, 2);
    write_digits(text + 19, of_day % MINUTE, 2);
    return (struct parley_bytes){text, sizeof "0000-00-00T00:00:00Z" - 1};
}

/* Side and type are from closed lists, so that no token needs a check. */
static enum parley_status address(struct parley_message *message, struct parley_route *out) {
    static const struct parley_bytes first = {"supervisor", sizeof "supervisor" - 1};
    const struct parley_bytes type = parley_bytes_of(supervisor_types[message->type]);
    out->subject = TEXT_JOIN(&message->arena, first, out->sender, type);
    out->type = TEXT_JOIN(&message->arena, first, type);
    return out->subject.data != NULL && out->type.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

enum parley_status supervisor_route(struct parley_message *message, struct parley_route *out) {
    const unsigned side = side_of(message);
    enum parley_status status = PARLEY_OK;
    *out = (struct parley_route){.time = time_of(message, &status),
                                 .thread = parley_message_text(message, SUPERVISOR_REQUEST_ID),
                                 .dedupe = PARLEY_DEDUPE_NONE};
    if (side != 0) {
        const bool is_gerbil = side == SUPERVISOR_GERBIL;
        out->sender = parley_bytes_of(is_gerbil ? "gerbil" : "elixir");
        out->source = parley_bytes_of(is_gerbil ? "/supervisor/gerbil" : "/supervisor/elixir");
    }
    PARLEY_TRY(status);
    return parley_message_is_valid(message) ? address(message, out) : PARLEY_OK;
}
