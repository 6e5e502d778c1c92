/* SPDX-License-Identifier: Apache-2.0 */

/* Where a supervisor message goes: supervisor.<side that sent it>.<type>. Messages bear no id, so
 * that none is taken for a repetition of another. */

#include "supervisor.h"

#include <time.h>

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

/* Unix seconds as RFC 3339.  Returns: data NULL for what is no such time or lies beyond the year
 * 9999. `*out_status` says whether there was memory. */
static struct parley_bytes time_of(struct parley_message *message, enum parley_status *out_status) {
    static const double last = 253402300799.0; /* 9999-12-31T23:59:59Z */
    const struct parley_value *value = &message->values[SUPERVISOR_TIMESTAMP];
    char text[sizeof "9999-12-31T23:59:59Z"];
    if (value->kind != PARLEY_NUMBER || !(value->number >= 0 && value->number <= last)) {
        return (struct parley_bytes){0};
    }
    const time_t seconds = (time_t)value->number;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    const size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    const char *copy = parley_arena_copy(&message->arena, (struct parley_bytes){text, length});
    *out_status = copy != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    return parley_bytes_of(copy);
}

/* Side and type are from closed lists, so that no token needs a check. */
static enum parley_status address(struct parley_message *message, struct parley_route *out) {
    const char *type = supervisor_types[message->type], *side = out->sender.data;
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "supervisor.%s.%s", side, type);
    const char *subject =
        text.has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(&text));
    parley_buffer_clear(&text);
    parley_buffer_format(&text, "supervisor.%s", type);
    const char *qualified =
        text.has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    out->subject = parley_bytes_of(subject);
    out->type = parley_bytes_of(qualified);
    return subject != NULL && qualified != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
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
