/* SPDX-License-Identifier: Apache-2.0 */

/* Reads --subject-prefix, derives the names that follow from it, and reads --dialect. */

#include "channel.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <parley/agents.h>
#include <parley/dialect.h>
#include <parley/index.h>
#include <parley/objects.h>

enum {
    TOKEN_MAX = 64,
    STREAM_MAX = 255, /* of a name, for nats-server */
};

static const struct channel rejected = {
    .name = "rejected", .stream = "REJECTED", .subjects = "rejected.>"};

/* One PROTOCOL=TOKEN. */
struct assignment {
    struct parley_bytes protocol, token;
};

static bool take_assignment(const char **list, struct assignment *out) {
    const char *start = *list;
    const char *end = strchrnul(start, ',');
    const char *equals = memchr(start, '=', (size_t)(end - start));
    *list = *end == ',' ? end + 1 : NULL;
    if (equals == NULL) {
        return false;
    }
    out->protocol = (struct parley_bytes){start, (size_t)(equals - start)};
    out->token = (struct parley_bytes){equals + 1, (size_t)(end - equals - 1)};
    return true;
}

static bool is_token(struct parley_bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x80 || (!isalnum(c) && c != '_' && c != '-')) {
            return false;
        }
    }
    return text.length > 0 && text.length <= TOKEN_MAX;
}

/* First tokens that have another use; those of the streams of refused messages, on any server. */
static bool is_taken(struct parley_bytes token) {
    static const char *const taken[] = {"_INBOX", "_parley", "rejected"};
    static const char beginning[] = "rejected_";
    const size_t length = sizeof beginning - 1;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        if (parley_bytes_equal(token, parley_bytes_of(taken[i]))) {
            return true;
        }
    }
    return token.length >= length && memcmp(token.data, beginning, length) == 0;
}

static enum parley_status refuse(char error[CHANNEL_ERROR_MAX], const char *format,
                                 struct parley_bytes a, struct parley_bytes b) {
    /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): all are literals of this file */
    snprintf(error, CHANNEL_ERROR_MAX, format, (int)(a.length < 64 ? a.length : 64), a.data,
             (int)(b.length < 80 ? b.length : 80), b.data);
    return PARLEY_E_UNSUPPORTED;
}

static enum parley_status check(const struct assignment *assignment,
                                const struct parley_protocol *protocol,
                                const struct channel *channels, char error[CHANNEL_ERROR_MAX]) {
    const struct parley_bytes name = assignment->protocol, token = assignment->token;
    if (protocol == NULL) {
        return refuse(error, "unknown protocol '%.*s' in '%.*s' (parley protocols lists them)",
                      name, (struct parley_bytes){name.data, name.length + 1 + token.length});
    }
    if (!is_token(token)) {
        return refuse(
            error,
            "%.*s cannot have the prefix '%.*s': expected one token of a subject, 1 to 64 "
            "of A-Z a-z 0-9 _ -",
            name, token);
    }
    const struct parley_protocol *owner = parley_protocol_find(token);
    if (owner != NULL && owner != protocol) {
        return refuse(error, "%.*s cannot have the prefix '%.*s': it is another protocol's name",
                      name, token);
    }
    if (is_taken(token)) {
        return refuse(error,
                      "%.*s cannot have the prefix '%.*s': subjects that begin with it are "
                      "reserved",
                      name, token);
    }
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        if (channels[i].prefix != NULL && channels[i].protocol == protocol) {
            return refuse(
                error,
                "%.*s already has a prefix and cannot also have '%.*s'; a protocol takes one", name,
                token);
        }
        if (channels[i].prefix != NULL &&
            parley_bytes_equal(parley_bytes_of(channels[i].prefix), token)) {
            return refuse(error, "%.*s cannot have the prefix '%.*s': another protocol has it",
                          name, token);
        }
    }
    return PARLEY_OK;
}

/* `first`, `between` and `last` in one text. */
static const char *join(struct parley_arena *arena, const char *first, const char *between,
                        const char *last) {
    const size_t size = strlen(first) + strlen(between) + strlen(last) + 1;
    char *text = parley_arena_allocate(arena, size);
    if (text != NULL) {
        snprintf(text, size, "%s%s%s", first, between, last);
    }
    return text;
}

/* The channel's first token is now `prefix`, and `suffix`, in capitals, part of its stream's name.
 */
static enum parley_status rename_channel(struct channel *channel, const char *prefix,
                                         struct parley_bytes suffix, struct parley_arena *arena) {
    char *upper = parley_arena_copy(arena, suffix);
    if (upper == NULL || prefix == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (char *at = upper; *at != '\0'; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
    channel->prefix = prefix;
    channel->stream = join(arena, channel->stream, "_", upper);
    channel->subjects = join(arena, prefix, ".", ">");
    return channel->stream != NULL && channel->subjects != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* `below`: of the protocol: "tasks.>". */
static enum parley_status name_below(const struct channel *channel, const char *const *below,
                                     struct parley_arena *arena, const char *const **out) {
    const char *first = channel->prefix != NULL ? channel->prefix : channel->protocol->name;
    size_t count = 0;
    while (below[count] != NULL) {
        count++;
    }
    const char **subjects = parley_arena_allocate(arena, (count + 1) * sizeof *subjects);
    if (subjects == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        subjects[i] = join(arena, first, ".", below[i]);
        if (subjects[i] == NULL) {
            return PARLEY_E_MEMORY;
        }
    }
    subjects[count] = NULL;
    *out = subjects;
    return PARLEY_OK;
}

/* A protocol without families has one, which is all. */
static enum parley_status name_families(struct channel *channel, struct parley_arena *arena) {
    static const char *const all[] = {">", NULL};
    const char *const *families = channel->protocol->families;
    return name_below(channel, families != NULL ? families : all, arena, &channel->families);
}

/* parley_halts, or parley_halts_fleet-a. */
static const char *name_bucket(const struct channel *channel, const char *bucket,
                               struct parley_arena *arena) {
    return channel->prefix != NULL ? join(arena, bucket, "_", channel->prefix) : bucket;
}

/* Fleets do not share facts: copies of a fleet use equal ids. */
static enum parley_status name_facts(struct channel *channel, struct parley_arena *arena) {
    const struct parley_facts_kind *facts = channel->protocol->facts;
    if (facts == NULL || facts->bucket == NULL) {
        return PARLEY_OK;
    }
    channel->fact_bucket = name_bucket(channel, facts->bucket, arena);
    if (channel->fact_bucket == NULL) {
        return PARLEY_E_MEMORY;
    }
    return facts->subjects != NULL
               ? name_below(channel, facts->subjects, arena, &channel->fact_subjects)
               : PARLEY_OK;
}

/* A bucket, and the subjects of the messages that it is about. `below`: as of name_below. */
static enum parley_status name_both(const struct channel *channel, const char *bucket,
                                    const char *below, struct parley_arena *arena,
                                    const char **out_bucket, const char **out_subjects) {
    const char *first = channel->prefix != NULL ? channel->prefix : channel->protocol->name;
    *out_bucket = name_bucket(channel, bucket, arena);
    *out_subjects = join(arena, first, ".", below);
    return *out_bucket != NULL && *out_subjects != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status name_halts(struct channel *channel, struct parley_arena *arena) {
    const struct parley_halts_kind *halts = channel->protocol->halts;
    return halts == NULL ? PARLEY_OK
                         : name_both(channel, halts->bucket, halts->subjects, arena,
                                     &channel->halt_bucket, &channel->halt_subjects);
}

static enum parley_status name_reviews(struct channel *channel, struct parley_arena *arena) {
    const struct parley_reviews_kind *reviews = channel->protocol->reviews;
    return reviews == NULL ? PARLEY_OK
                           : name_both(channel, reviews->bucket, reviews->subjects, arena,
                                       &channel->review_bucket, &channel->review_subjects);
}

static enum parley_status name_losses(struct channel *channel, struct parley_arena *arena) {
    const struct parley_agents *agents = channel->protocol->agents;
    if (agents == NULL || agents->loss_bucket == NULL) {
        return PARLEY_OK;
    }
    channel->loss_bucket = name_bucket(channel, agents->loss_bucket, arena);
    return channel->loss_bucket != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status name_acks(struct channel *channel, struct parley_arena *arena) {
    const struct parley_index_kind *index = channel->protocol->index;
    if (index == NULL || index->acks == NULL) {
        return PARLEY_OK;
    }
    channel->ack_bucket = name_bucket(channel, index->acks->bucket, arena);
    return channel->ack_bucket != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status name_objects(struct channel *channel, struct parley_arena *arena) {
    const struct parley_objects *objects = channel->protocol->objects;
    if (objects == NULL) {
        return PARLEY_OK;
    }
    channel->object_bucket = name_bucket(channel, objects->bucket, arena);
    return channel->object_bucket != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status read_prefixes(const char *prefixes, struct channel *channels,
                                        struct parley_arena *arena, char error[CHANNEL_ERROR_MAX]) {
    while (prefixes != NULL) {
        const struct parley_bytes whole = {prefixes, strcspn(prefixes, ",")};
        struct assignment assignment;
        if (!take_assignment(&prefixes, &assignment)) {
            return refuse(error, "'%.*s' is not PROTOCOL=TOKEN, such as roundtable=fleet-a%.*s",
                          whole, PARLEY_BYTES(""));
        }
        const struct parley_protocol *protocol = parley_protocol_find(assignment.protocol);
        PARLEY_TRY(check(&assignment, protocol, channels, error));
        struct channel *channel = (struct channel *)channel_find(channels, protocol);
        if (!parley_bytes_equal(assignment.token, parley_bytes_of(protocol->name))) {
            PARLEY_TRY(rename_channel(channel, parley_arena_copy(arena, assignment.token),
                                      assignment.token, arena));
        }
    }
    return PARLEY_OK;
}

/* "fleet-a", "fleet-a~claims": all prefixes, in the order of the protocols. No prefix has a tilde,
 * and no two protocols on one NATS share one: another server's are equal if it belongs to this
 * fleet.  Returns: NULL without memory. */
static const char *join_prefixes(const struct channel *channels, struct parley_arena *arena) {
    const char *all = "";
    for (size_t i = 0; all != NULL && i < parley_protocol_count(); i++) {
        if (channels[i].prefix != NULL) {
            all = join(arena, all, all[0] != '\0' ? "~" : "", channels[i].prefix);
        }
    }
    return all;
}

/* The channel is shared by all protocols: so it is the fleet's, named by all of its prefixes. */
static enum parley_status name_rejected(const struct channel *channels, struct channel *out,
                                        struct parley_arena *arena, char error[CHANNEL_ERROR_MAX]) {
    const char *prefixes = join_prefixes(channels, arena);
    *out = rejected;
    if (prefixes == NULL) {
        return PARLEY_E_MEMORY;
    }
    if (prefixes[0] != '\0') {
        PARLEY_TRY(rename_channel(out, join(arena, rejected.name, "_", prefixes),
                                  parley_bytes_of(prefixes), arena));
    }
    if (strlen(out->stream) > STREAM_MAX) {
        return refuse(error,
                      "the prefixes are too long together for the name of a stream: %.*s%.*s",
                      parley_bytes_of(prefixes), PARLEY_BYTES("…"));
    }
    out->absence = join(
        arena, "The stream ", out->stream,
        " does not exist in NATS at present: what is refused is kept only while parley runs with "
        "--quarantine, and NATS has room for it (/readyz says where it has not). Start it with "
        "that option, or connect again later.");
    return out->absence != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

enum parley_status channels_create(const char *prefixes, struct parley_arena *arena,
                                   const struct channel **out, char error[CHANNEL_ERROR_MAX]) {
    const size_t count = parley_protocol_count();
    struct channel *channels = parley_arena_allocate(arena, (count + 1) * sizeof *channels);
    if (channels == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const struct parley_protocol *protocol = parley_protocols[i];
        channels[i] = (struct channel){.name = protocol->name,
                                       .protocol = protocol,
                                       .stream = protocol->stream,
                                       .subjects = protocol->subjects};
    }
    PARLEY_TRY(read_prefixes(prefixes, channels, arena, error));
    PARLEY_TRY(name_rejected(channels, &channels[count], arena, error));
    for (size_t i = 0; i < count; i++) {
        PARLEY_TRY(name_families(&channels[i], arena));
        PARLEY_TRY(name_facts(&channels[i], arena));
        PARLEY_TRY(name_halts(&channels[i], arena));
        PARLEY_TRY(name_reviews(&channels[i], arena));
        PARLEY_TRY(name_losses(&channels[i], arena));
        PARLEY_TRY(name_acks(&channels[i], arena));
        PARLEY_TRY(name_objects(&channels[i], arena));
    }
    *out = channels;
    return PARLEY_OK;
}

/* Names the dialects that there are. */
static enum parley_status refuse_dialect(char error[CHANNEL_ERROR_MAX],
                                         const struct assignment *assignment,
                                         const struct parley_protocol *protocol) {
    struct parley_buffer known;
    parley_buffer_init(&known);
    parley_dialects_describe(protocol, &known);
    const enum parley_status status = refuse(error, "there is no dialect '%.*s': it must be %.*s",
                                             assignment->token, parley_buffer_bytes(&known));
    parley_buffer_finish(&known);
    return status;
}

enum parley_status channels_set_dialects(const char *dialects, const struct channel *channels,
                                         char error[CHANNEL_ERROR_MAX]) {
    while (dialects != NULL) {
        const struct parley_bytes whole = {dialects, strcspn(dialects, ",")};
        struct assignment assignment;
        if (!take_assignment(&dialects, &assignment)) {
            return refuse(error, "'%.*s' is not PROTOCOL=NAME, such as roundtable=knights%.*s",
                          whole, PARLEY_BYTES(""));
        }
        const struct parley_protocol *protocol = parley_protocol_find(assignment.protocol);
        if (protocol == NULL) {
            return refuse(error, "unknown protocol '%.*s' in '%.*s' (parley protocols lists them)",
                          assignment.protocol, whole);
        }
        struct channel *channel = (struct channel *)channel_find(channels, protocol);
        if (channel->dialect != NULL) {
            return refuse(error, "%.*s already has a dialect and cannot also have '%.*s'",
                          assignment.protocol, assignment.token);
        }
        channel->dialect = parley_dialect_find(protocol, assignment.token);
        if (channel->dialect == NULL) {
            return refuse_dialect(error, &assignment, protocol);
        }
    }
    return PARLEY_OK;
}

const struct channel *channel_find(const struct channel *channels,
                                   const struct parley_protocol *protocol) {
    while (channels->protocol != protocol) {
        channels++;
    }
    return channels;
}
