/* SPDX-License-Identifier: Apache-2.0 */

/* See jwt.h. The order is: shape, header, key, signature, claims; no claim is read before the
 * signature was verified. A header can choose only one of the operator's keys: jku, jwk, x5u and
 * x5c are not read. JSON is read by the reader of messages, which refuses repeated members and
 * invalid UTF-8, and does not use jansson. */

#include "jwt.h"

#include <math.h>

#include <parley/arena.h>
#include <parley/rule.h>
#include <sodium.h>

#include "json_reader.h"

enum {
    PART_COUNT = 3,
    SIGNATURE_BYTES_MAX = 1024, /* of an RSA key of 8,192 bits */
    NAME_BYTES_MAX = 255,
};

static const double time_max = 253402300799; /* the end of the year 9999 */

/* ---- members of a JSON object ---- */

/* A member to read.  `wanted`: searched for among the strings of a value that is an array, or
 * compared with one that is a string; NULL to do neither. */
struct member {
    const char *name;
    const char *wanted;
    struct parley_value value;
    bool has_wanted;
};

struct reading {
    struct member *members;
    size_t count;
    struct member *current;
    size_t depth; /* 1 in the object, 2 in an array of it */
    bool is_object;
};

static void compare(struct member *member, const struct parley_value *value) {
    member->has_wanted |= member->wanted != NULL && parley_value_is(value, member->wanted);
}

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    bool is_entered = reading->depth == 0 && value->kind == PARLEY_OBJECT;
    if (reading->depth == 0) {
        reading->is_object = is_entered;
    } else {
        compare(reading->current, value);
    }
    if (reading->depth == 1) {
        reading->current->value = *value;
        is_entered = value->kind == PARLEY_ARRAY && reading->current->wanted != NULL;
    }
    reading->depth += is_entered;
    return is_entered;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct reading *reading = context;
    for (size_t i = 0; i < reading->count; i++) {
        reading->current = &reading->members[i];
        if (parley_bytes_equal(key, parley_bytes_of(reading->current->name))) {
            return true;
        }
    }
    return false;
}

static void on_leave(void *context, size_t count) {
    (void)count;
    struct reading *reading = context;
    reading->depth--;
}

/* Reads an object.  Owns: texts are in `text` or in the arena.
 * Returns: PARLEY_OK with *out_is_object false if it is not an object, or not valid, or has a
 * member twice. */
static enum parley_status read_members(struct parley_bytes text, struct member *members,
                                       size_t count, struct parley_arena *arena,
                                       bool *out_is_object) {
    struct reading reading = {.members = members, .count = count};
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave};
    struct json_fault fault;
    struct key_set keys;
    key_set_init(&keys, text);
    const enum json_reader_result result = json_reader_read(text, &events, arena, &keys, &fault);
    key_set_finish(&keys);
    *out_is_object = result == JSON_READER_READ && reading.is_object;
    return result == JSON_READER_MEMORY ? PARLEY_E_MEMORY : PARLEY_OK;
}

/* ---- parts ---- */

/* header.claims.signature */
struct parts {
    struct parley_bytes header, claims, signature;
    struct parley_bytes signed_text; /* the first two, with the dot between them */
};

static bool split(struct parley_bytes token, struct parts *out) {
    struct parley_bytes parts[PART_COUNT] = {{token.data, 0}};
    size_t count = 0;
    for (size_t i = 0; i < token.length; i++) {
        if (token.data[i] != '.') {
            parts[count].length++;
        } else if (++count == PART_COUNT) {
            return false;
        } else {
            parts[count] = (struct parley_bytes){token.data + i + 1, 0};
        }
    }
    *out = (struct parts){parts[0], parts[1], parts[2], {token.data, 0}};
    out->signed_text.length = parts[0].length + 1 + parts[1].length;
    return count == PART_COUNT - 1;
}

/* Decodes strict base64url: no padding, no blanks, no bits left over. */
static bool decode(struct parley_bytes part, char *out, size_t size, struct parley_bytes *decoded) {
    *decoded = (struct parley_bytes){out, 0};
    return sodium_base642bin((unsigned char *)out, size, part.data, part.length, NULL,
                             &decoded->length, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0;
}

bool jwt_is_shaped(struct parley_bytes token) {
    struct parts parts;
    return split(token, &parts);
}

/* ---- the header ---- */

enum { HEADER_ALG, HEADER_KID, HEADER_TYP, HEADER_CRIT, HEADER_COUNT };

static bool is_ignoring_case(struct parley_bytes text, const char *other) {
    return text.length == strlen(other) && strncasecmp(text.data, other, text.length) == 0;
}

/* An issuer may sign tokens of other kinds, such as logout tokens, with this key (RFC 8725, section
 * 2.8). */
static bool is_for_access(const struct parley_value *typ) {
    static const char *const types[] = {"JWT", "at+jwt", "application/at+jwt"};
    bool is_known = typ->kind == PARLEY_ABSENT;
    for (size_t i = 0; i < sizeof types / sizeof types[0] && !is_known; i++) {
        is_known = typ->kind == PARLEY_STRING && is_ignoring_case(typ->text, types[i]);
    }
    return is_known;
}

static const char *find_key(const struct member header[HEADER_COUNT], const struct jwks *jwks,
                            const struct signature_key **out) {
    const struct parley_value *kid = &header[HEADER_KID].value;
    enum signature_algorithm algorithm;
    const char *fault = NULL;
    if (!jwks_algorithm(parley_value_text(&header[HEADER_ALG].value), &algorithm)) {
        return "has an alg other than RS256, ES256 and EdDSA";
    }
    if (header[HEADER_CRIT].value.kind != PARLEY_ABSENT) {
        return "has extensions that must be understood (crit)";
    }
    if (!is_for_access(&header[HEADER_TYP].value)) {
        return "is not an access token (typ)";
    }
    if (kid->kind != PARLEY_ABSENT && kid->kind != PARLEY_STRING) {
        return "has a kid that is not a string";
    }
    *out = jwks_find(jwks, parley_value_text(kid), algorithm, &fault);
    return *out != NULL ? NULL : fault;
}

static enum parley_status read_header(const struct parts *parts, const struct jwks *jwks,
                                      struct parley_arena *arena, const struct signature_key **out,
                                      const char **out_fault) {
    struct member header[HEADER_COUNT] = {
        [HEADER_ALG] = {.name = "alg"},
        [HEADER_KID] = {.name = "kid"},
        [HEADER_TYP] = {.name = "typ"},
        [HEADER_CRIT] = {.name = "crit"},
    };
    char text[JWT_BYTES_MAX];
    struct parley_bytes json;
    bool is_object = false;
    if (decode(parts->header, text, sizeof text, &json)) {
        PARLEY_TRY(read_members(json, header, HEADER_COUNT, arena, &is_object));
    }
    *out_fault = is_object ? find_key(header, jwks, out)
                           : "has a header that is not base64url of a JSON object";
    return PARLEY_OK;
}

static enum parley_status check_signature(const struct parts *parts,
                                          const struct signature_key *key, const char **out_fault) {
    char text[SIGNATURE_BYTES_MAX];
    struct parley_bytes signature;
    bool is_valid = false;
    if (decode(parts->signature, text, sizeof text, &signature)) {
        PARLEY_TRY(signature_verify(key, parts->signed_text, signature, &is_valid));
    }
    *out_fault = is_valid ? NULL : "has a signature that is not valid";
    return PARLEY_OK;
}

/* ---- the claims ---- */

enum {
    CLAIM_ISS,
    CLAIM_AUD,
    CLAIM_EXP,
    CLAIM_NBF,
    CLAIM_SUB,
    CLAIM_SCOPE,
    CLAIM_AGENT,
    CLAIM_COUNT
};

static bool is_time(const struct parley_value *value) {
    return value->kind == PARLEY_NUMBER && value->number >= 0 && value->number <= time_max &&
           floor(value->number) == value->number;
}

static const char *time_fault(const struct member claims[CLAIM_COUNT], int64_t now_s) {
    const struct parley_value *exp = &claims[CLAIM_EXP].value, *nbf = &claims[CLAIM_NBF].value;
    return exp->kind == PARLEY_ABSENT                     ? "has no expiry time (exp)"
           : !is_time(exp)                                ? "has an exp that is not whole seconds"
           : now_s >= (int64_t)exp->number + JWT_LEEWAY_S ? "has expired (exp)"
           : nbf->kind == PARLEY_ABSENT                   ? NULL
           : !is_time(nbf)                                ? "has an nbf that is not whole seconds"
           : now_s + JWT_LEEWAY_S < (int64_t)nbf->number  ? "is not valid yet (nbf)"
                                                          : NULL;
}

static bool is_between(struct parley_bytes text, char first, char last) {
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] < first || text.data[i] > last) {
            return false;
        }
    }
    return text.length > 0 && text.length <= NAME_BYTES_MAX;
}

/* A sender of a message may be any text; here it must be one that C and a log can hold. */
static bool is_agent(struct parley_bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f) {
            return false;
        }
    }
    return text.length > 0 && text.length <= NAME_BYTES_MAX;
}

static const char *identity_fault(const struct member claims[CLAIM_COUNT]) {
    const struct parley_value *sub = &claims[CLAIM_SUB].value;
    const struct parley_value *scope = &claims[CLAIM_SCOPE].value;
    const struct parley_value *agent = &claims[CLAIM_AGENT].value;
    return !is_between(parley_value_text(sub), '!', '~')
               ? "has no sub of 1 to 255 visible ASCII characters"
           : scope->kind != PARLEY_ABSENT && scope->kind != PARLEY_STRING
               ? "has a scope that is not a string"
           : agent->kind != PARLEY_ABSENT && !is_agent(parley_value_text(agent))
               ? "has an agent that is not a name of 1 to 255 bytes"
               : NULL;
}

static const char *claims_fault(const struct member claims[CLAIM_COUNT], int64_t now_s) {
    const char *fault =
        !claims[CLAIM_ISS].has_wanted || claims[CLAIM_ISS].value.kind != PARLEY_STRING
            ? "is not from the issuer that --jwt-issuer names (iss)"
        : !claims[CLAIM_AUD].has_wanted ? "is not for the audience that --jwt-audience names (aud)"
                                        : time_fault(claims, now_s);
    return fault != NULL ? fault : identity_fault(claims);
}

/* The scopes of other services are not errors: an issuer's tokens may be for several. */
static void add_scopes(struct scopes *scopes, struct parley_bytes words) {
    for (size_t start = 0, i = 0; i <= words.length; i++) {
        if (i == words.length || words.data[i] == ' ') {
            (void)scopes_add(scopes, (struct parley_bytes){words.data + start, i - start}, NULL);
            start = i + 1;
        }
    }
}

static enum parley_status make_principal(const struct member claims[CLAIM_COUNT],
                                         struct parley_arena *arena, struct principal **out) {
    const struct parley_bytes agent = parley_value_text(&claims[CLAIM_AGENT].value);
    const char *name = parley_arena_copy(arena, claims[CLAIM_SUB].value.text);
    const char *bound = agent.data != NULL ? parley_arena_copy(arena, agent) : NULL;
    if (name == NULL || (bound == NULL && agent.data != NULL)) {
        return PARLEY_E_MEMORY;
    }
    struct principal *principal = principal_create(name, bound);
    if (principal == NULL) {
        return PARLEY_E_MEMORY;
    }
    add_scopes(&principal->scopes, parley_value_text(&claims[CLAIM_SCOPE].value));
    principal->expires_at = (int64_t)claims[CLAIM_EXP].value.number + JWT_LEEWAY_S;
    *out = principal;
    return PARLEY_OK;
}

static enum parley_status read_claims(const struct parts *parts, const struct jwt_rules *rules,
                                      int64_t now_s, struct parley_arena *arena,
                                      struct principal **out, const char **out_fault) {
    struct member claims[CLAIM_COUNT] = {
        [CLAIM_ISS] = {.name = "iss", .wanted = rules->issuer},
        [CLAIM_AUD] = {.name = "aud", .wanted = rules->audience},
        [CLAIM_EXP] = {.name = "exp"},
        [CLAIM_NBF] = {.name = "nbf"},
        [CLAIM_SUB] = {.name = "sub"},
        [CLAIM_SCOPE] = {.name = "scope"},
        [CLAIM_AGENT] = {.name = "agent"},
    };
    char text[JWT_BYTES_MAX];
    struct parley_bytes json;
    bool is_object = false;
    if (decode(parts->claims, text, sizeof text, &json)) {
        PARLEY_TRY(read_members(json, claims, CLAIM_COUNT, arena, &is_object));
    }
    *out_fault = is_object ? claims_fault(claims, now_s)
                           : "has claims that are not base64url of a JSON object";
    return *out_fault != NULL ? PARLEY_OK : make_principal(claims, arena, out);
}

/* ---- all of it ---- */

static enum parley_status verify(const struct parts *parts, const struct jwks *jwks,
                                 const struct jwt_rules *rules, int64_t now_s,
                                 struct parley_arena *arena, struct principal **out,
                                 const char **out_fault) {
    const struct signature_key *key = NULL;
    PARLEY_TRY(read_header(parts, jwks, arena, &key, out_fault));
    if (*out_fault == NULL) {
        PARLEY_TRY(check_signature(parts, key, out_fault));
    }
    return *out_fault != NULL ? PARLEY_OK : read_claims(parts, rules, now_s, arena, out, out_fault);
}

enum parley_status jwt_verify(struct parley_bytes token, const struct jwks *jwks,
                              const struct jwt_rules *rules, int64_t now_s, struct principal **out,
                              const char **out_fault) {
    struct parts parts;
    *out = NULL;
    *out_fault = token.length > JWT_BYTES_MAX ? "is longer than 8 KiB"
                 : !split(token, &parts)      ? "does not have three parts"
                                              : NULL;
    if (*out_fault != NULL) {
        return PARLEY_OK;
    }
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    const enum parley_status status = verify(&parts, jwks, rules, now_s, &arena, out, out_fault);
    parley_arena_finish(&arena);
    return status;
}
