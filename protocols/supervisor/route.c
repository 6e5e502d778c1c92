/* SPDX-License-Identifier: Apache-2.0 */

/* Where a supervisor message goes: supervisor.<agent>.<side that sent it>.<type>. Messages contain
 * neither an agent, which the request may name, nor an id: the same payload of the same agent is
 * the same message. */

#include "supervisor.h"

#include "text.h"

/* ---- the subject of a message that is read again ---- */

/* Takes one token off the front of `*rest`, with the dot after it. */
static struct parley_bytes next_token(const char **rest) {
    const struct parley_bytes token = {*rest, strcspn(*rest, ".")};
    *rest += token.length + ((*rest)[token.length] == '.');
    return token;
}

/* Both have no data unless the subject has this form: PREFIX.<agent>.<side>.<type>. */
struct stored_place {
    struct parley_bytes agent, side;
};

static struct stored_place stored_place(const char *subject) {
    struct stored_place place = {0};
    if (subject == NULL) {
        return place;
    }
    (void)next_token(&subject); /* the protocol's, or the prefix in its place */
    const struct parley_bytes agent = next_token(&subject), side = next_token(&subject);
    const struct parley_bytes type = next_token(&subject);
    if (type.length > 0 && *subject == '\0' && supervisor_side_of(side) != 0) {
        place.side = side;
        place.agent = text_is_agent(agent) ? agent : place.agent;
    }
    return place;
}

/* ---- who sent it, and for whom ---- */

/* Source: schema, Error: the codes that each side lists. */
static unsigned side_of_code(struct parley_bytes code) {
    static const char *const elixir[] = {"CHECKPOINT_FAILED", "WAL_FULL", "INVALID_MESSAGE", NULL};
    static const char *const gerbil[] = {"MEMORY_FULL", "TOOL_FAILED", "EVAL_ERROR", NULL};
    if (code.data == NULL) {
        return 0;
    }
    return text_is_one_of(code, elixir)   ? SUPERVISOR_ELIXIR
           : text_is_one_of(code, gerbil) ? SUPERVISOR_GERBIL
                                          : 0;
}

/* The side is the type's own. For an error, which both sides send, it comes from the request or
 * from the stored subject, else from its code, else from its members.
 * Returns: 0 if the type is unknown.  Source: docs/protocols/supervisor.md#error. */
static unsigned side_of(const struct parley_message *message, struct parley_bytes stored_side) {
    const unsigned sides = supervisor_sides(message->type);
    if (sides != (SUPERVISOR_GERBIL | SUPERVISOR_ELIXIR)) {
        return sides;
    }
    const char *from = message->options.values[SUPERVISOR_FROM].text;
    if (from != NULL) {
        return supervisor_side_of(parley_bytes_of(from));
    }
    if (stored_side.data != NULL) {
        return supervisor_side_of(stored_side);
    }
    const unsigned side = side_of_code(parley_message_text(message, SUPERVISOR_ERROR_CODE));
    const bool has_details = message->values[SUPERVISOR_ERROR_DETAILS].kind != PARLEY_ABSENT;
    return side != 0 ? side : has_details ? SUPERVISOR_ELIXIR : SUPERVISOR_GERBIL;
}

/* The agent whose message it is; data NULL: not known. */
static struct parley_bytes agent_of(const struct parley_message *message,
                                    struct parley_bytes stored_agent) {
    const struct parley_bytes named = parley_bytes_of(message->options.agent);
    return text_is_agent(named) ? named : stored_agent;
}

/* ---- its time ---- */

static void write_digits(char *end, unsigned number, size_t count) {
    while (count-- > 0) {
        *--end = (char)('0' + number % 10);
        number /= 10;
    }
}

/* The date of a number of days after 1970-01-01. Years are counted from March, so that the leap day
 * is the last of its year; 400 years are 146097 days. */
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
 * Returns: data NULL if it is not a time or after the year 9999. `*out_status` says whether there
 * was memory. */
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

/* ---- its address ---- */

static const struct parley_bytes nobody = {"_", 1};

/* Agent names contain only characters that need no encoding in URIs and subjects. */
static enum parley_status name_source(struct parley_message *message, struct parley_route *out,
                                      bool is_gerbil) {
    if (out->agent.data == NULL) {
        out->source =
            is_gerbil ? PARLEY_BYTES("/supervisor/_/gerbil") : PARLEY_BYTES("/supervisor/_/elixir");
        return PARLEY_OK;
    }
    static const char start[] = "/supervisor/";
    const size_t start_length = sizeof start - 1;
    const size_t length = start_length + out->agent.length + 1 + out->sender.length;
    char *text = parley_arena_allocate(&message->arena, length);
    if (text == NULL) {
        return PARLEY_E_MEMORY;
    }
    memcpy(text, start, start_length);
    memcpy(text + start_length, out->agent.data, out->agent.length);
    text[start_length + out->agent.length] = '/';
    memcpy(text + length - out->sender.length, out->sender.data, out->sender.length);
    out->source = (struct parley_bytes){text, length};
    return PARLEY_OK;
}

/* Side and type are from closed lists, and the agent was checked: no token needs another check. */
static enum parley_status address(struct parley_message *message, struct parley_route *out) {
    static const struct parley_bytes first = {"supervisor", sizeof "supervisor" - 1};
    const struct parley_bytes type = parley_bytes_of(supervisor_types[message->type]);
    const struct parley_bytes agent = out->agent.data != NULL ? out->agent : nobody;
    out->subject = TEXT_JOIN(&message->arena, first, agent, out->sender, type);
    out->type = TEXT_JOIN(&message->arena, first, type);
    return out->subject.data != NULL && out->type.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

struct parley_bytes supervisor_subject(struct parley_message *message,
                                       const struct parley_route *route,
                                       enum supervisor_type type) {
    const char *prefix = message->options.subject_prefix;
    const bool is_gerbil = supervisor_sides(type) == SUPERVISOR_GERBIL;
    return TEXT_JOIN(&message->arena,
                     prefix != NULL ? parley_bytes_of(prefix) : PARLEY_BYTES("supervisor"),
                     route->agent, is_gerbil ? PARLEY_BYTES("gerbil") : PARLEY_BYTES("elixir"),
                     parley_bytes_of(supervisor_types[type]));
}

/* The agent's last entries, whichever of the two types they have. */
static enum parley_status ask_for_log(struct parley_message *message, struct parley_route *out) {
    static const enum supervisor_type types[] = {SUPERVISOR_WAL_ENTRY, SUPERVISOR_WAL_BATCH};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        out->fact_keys[i] = supervisor_subject(message, out, types[i]);
        if (out->fact_keys[i].data == NULL) {
            return PARLEY_E_MEMORY;
        }
    }
    return PARLEY_OK;
}

static enum parley_status ask_for_facts(struct parley_message *message, struct parley_route *out) {
    if (message->options.values[SUPERVISOR_WAL].number == PARLEY_LIFECYCLE_OFF ||
        out->agent.data == NULL) {
        return PARLEY_OK;
    }
    return message->type == SUPERVISOR_WAL_ENTRY || message->type == SUPERVISOR_WAL_BATCH
               ? ask_for_log(message, out)
               : supervisor_ask_history(message, out);
}

enum parley_status supervisor_route(struct parley_message *message, struct parley_route *out) {
    const struct stored_place stored = stored_place(message->options.stored_subject);
    const unsigned side = side_of(message, stored.side);
    enum parley_status status = PARLEY_OK;
    *out = (struct parley_route){.time = time_of(message, &status),
                                 .thread = parley_message_text(message, SUPERVISOR_REQUEST_ID),
                                 .agent = agent_of(message, stored.agent)};
    PARLEY_TRY(status);
    out->dedupe = out->agent.data != NULL ? PARLEY_DEDUPE_PAYLOAD : PARLEY_DEDUPE_NONE;
    if (side != 0) {
        const bool is_gerbil = side == SUPERVISOR_GERBIL;
        out->sender = parley_bytes_of(is_gerbil ? "gerbil" : "elixir");
        PARLEY_TRY(name_source(message, out, is_gerbil));
    }
    if (!parley_message_is_valid(message)) {
        return PARLEY_OK;
    }
    PARLEY_TRY(address(message, out));
    return ask_for_facts(message, out);
}
