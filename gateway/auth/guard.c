/* SPDX-License-Identifier: Apache-2.0 */

/* From the header Authorization to a principal, and from a principal to yes or no.
 *
 * It deliberately takes a token from that header only: one in a URL ends up in logs. */

#include "guard.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <sodium.h>

#include "jwt_cache.h"
#include "auth_error.h"

/* A longer header is verified for each request: kept state must not cost much memory. */
enum { SHOWN_MAX = 2048 };

/* The state kept with a connection: its principal, and the credentials that proved it. */
struct pass {
    const struct principal *principal;
    struct principal *reference; /* to it; NULL if it is static */
    uint64_t generation;         /* of the guard that verified it */
    size_t shown_length;
    char shown[];
};

struct guard {
    struct tokens *tokens; /* NULL if absent; without `jwks` as well every client is admitted */
    struct jwks *jwks;     /* NULL: JWTs are not accepted */
    const struct jwt_rules *jwt_rules;
    struct jwt_cache *jwt_cache;
    uint64_t generation; /* grows when earlier verifications become invalid */
    struct refusals *refusals;
};

static struct pass anonymous_pass = {.principal = &principal_anonymous};

const struct principal *guard_principal(const struct http_request *request) {
    const struct pass *pass = http_request_kept(request);
    return pass != NULL ? pass->principal : &principal_nobody;
}

/* ---- lifecycle ---- */

enum parley_status guard_create(struct reactor *reactor, const struct limits *limits,
                                struct guard **out) {
    struct guard *guard = calloc(1, sizeof *guard);
    if (guard == NULL) {
        return PARLEY_E_MEMORY;
    }
    guard->jwt_cache = jwt_cache_create();
    const enum parley_status status = guard->jwt_cache != NULL
                                          ? refusals_create(reactor, limits, &guard->refusals)
                                          : PARLEY_E_MEMORY;
    if (status != PARLEY_OK) {
        guard_destroy(guard);
        return status;
    }
    *out = guard;
    return PARLEY_OK;
}

void guard_set_metadata(struct guard *guard, const char *url) {
    refusals_set_metadata(guard->refusals, url);
}

void guard_destroy(struct guard *guard) {
    if (guard != NULL) {
        refusals_destroy(guard->refusals);
        tokens_unref(guard->tokens);
        jwks_unref(guard->jwks);
        jwt_cache_destroy(guard->jwt_cache);
        free(guard);
    }
}

void guard_set_tokens(struct guard *guard, struct tokens *tokens) {
    tokens_unref(guard->tokens);
    guard->tokens = tokens;
    guard->generation++;
}

void guard_set_jwks(struct guard *guard, struct jwks *jwks, const struct jwt_rules *rules) {
    jwks_unref(guard->jwks);
    guard->jwks = jwks;
    guard->jwt_rules = rules;
    guard->generation++;
}

/* ---- earlier verifications ---- */

static void release(void *kept) {
    struct pass *pass = kept;
    principal_unref(pass->reference);
    sodium_memzero(pass->shown, pass->shown_length);
    free(pass);
}

static bool keep(const struct guard *guard, struct http_request *request, const char *shown,
                 struct principal *principal) {
    const size_t length = strlen(shown);
    const size_t kept_length = length <= SHOWN_MAX ? length : 0;
    struct pass *pass = malloc(sizeof *pass + kept_length);
    if (pass == NULL) {
        return false;
    }
    *pass = (struct pass){.principal = principal,
                          .reference = principal_ref(principal),
                          .generation = guard->generation,
                          .shown_length = kept_length};
    memcpy(pass->shown, shown, kept_length);
    http_request_keep(request, pass, release);
    return true;
}

static bool is_open(const struct guard *guard) {
    return guard->tokens == NULL && guard->jwks == NULL;
}

/* The header is equal to the previous one, and nothing has changed since. */
static bool has_pass(const struct guard *guard, const struct http_request *request,
                     const char *shown, int64_t now) {
    const struct pass *pass = http_request_kept(request);
    return pass != NULL && pass->generation == guard->generation && pass->shown_length > 0 &&
           strlen(shown) == pass->shown_length &&
           sodium_memcmp(shown, pass->shown, pass->shown_length) == 0 &&
           !principal_has_expired(pass->principal, now);
}

/* ---- identification ---- */

/* RFC 6750, section 2.1: the credentials after the scheme, which is in any case.
 * Returns: data NULL if it is of another scheme. */
static struct parley_bytes token_in(const char *header) {
    static const char scheme[] = "Bearer";
    const size_t length = sizeof scheme - 1;
    if (strncasecmp(header, scheme, length) != 0 || header[length] != ' ') {
        return (struct parley_bytes){0};
    }
    return parley_bytes_of(header + length + strspn(header + length, " "));
}

static enum auth_error refusal_of(enum token_state state, struct parley_bytes shown) {
    static const enum auth_error refusals[] = {[TOKEN_UNKNOWN] = AUTH_ERROR_UNKNOWN,
                                               [TOKEN_VALID] = AUTH_ERROR_NONE,
                                               [TOKEN_EXPIRED] = AUTH_ERROR_EXPIRED,
                                               [TOKEN_REVOKED] = AUTH_ERROR_REVOKED};
    return state == TOKEN_UNKNOWN && !token_is_whole(shown) ? AUTH_ERROR_MALFORMED
                                                            : refusals[state];
}

/* Verifies a token. A signature costs as much as some messages do: the result is kept, for other
 * connections. */
static enum auth_error verify_jwt(const struct guard *guard, struct parley_bytes shown, int64_t now,
                                  struct principal **out, const char **out_fault) {
    unsigned char digest[JWT_DIGEST_BYTES];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)shown.data, shown.length, NULL,
                       0);
    *out = jwt_cache_find(guard->jwt_cache, digest, guard->generation, now);
    if (*out != NULL) {
        return AUTH_ERROR_NONE;
    }
    if (jwt_verify(shown, guard->jwks, guard->jwt_rules, now, out, out_fault) != PARLEY_OK) {
        return AUTH_ERROR_NO_MEMORY;
    }
    if (*out == NULL) {
        return AUTH_ERROR_JWT;
    }
    jwt_cache_add(guard->jwt_cache, digest, guard->generation, *out);
    return AUTH_ERROR_NONE;
}

/* *out: a reference for the caller. */
static enum auth_error verify_token(const struct guard *guard, struct parley_bytes shown,
                                    int64_t now, struct principal **out) {
    struct principal *found = NULL;
    const enum token_state state =
        guard->tokens != NULL ? tokens_find(guard->tokens, shown, now, &found) : TOKEN_UNKNOWN;
    *out = state == TOKEN_VALID ? principal_ref(found) : NULL;
    return refusal_of(state, shown);
}

static enum auth_error verify(const struct guard *guard, struct parley_bytes shown, int64_t now,
                              struct principal **out, const char **out_fault) {
    return shown.data == NULL ? AUTH_ERROR_SCHEME
           : guard->jwks != NULL && jwt_is_shaped(shown)
               ? verify_jwt(guard, shown, now, out, out_fault)
               : verify_token(guard, shown, now, out);
}

/* The certificate was issued by a trusted authority. Where no entry names it, it has no permission,
 * unlike an unknown token: 403 says so. */
static enum auth_error identify_certificate(const struct guard *guard, struct http_request *request,
                                            const char *name) {
    const int64_t now = (int64_t)time(NULL);
    struct principal *found = NULL, *unknown = NULL;
    if (has_pass(guard, request, name, now)) {
        return AUTH_ERROR_NONE;
    }
    http_request_keep(request, NULL, NULL);
    const enum token_state state = guard->tokens != NULL
                                       ? tokens_find_certificate(guard->tokens, name, now, &found)
                                       : TOKEN_UNKNOWN;
    if (state == TOKEN_EXPIRED || state == TOKEN_REVOKED) {
        return state == TOKEN_EXPIRED ? AUTH_ERROR_EXPIRED : AUTH_ERROR_REVOKED;
    }
    if (state == TOKEN_UNKNOWN) {
        found = unknown = principal_create(name, NULL);
    }
    const bool is_kept = found != NULL && keep(guard, request, name, found);
    principal_unref(unknown);
    return is_kept ? AUTH_ERROR_NONE : AUTH_ERROR_NO_MEMORY;
}

static enum auth_error identify(const struct guard *guard, struct http_request *request,
                                const char **out_fault) {
    const char *shown = http_request_header(request, "Authorization");
    const char *certificate = http_request_certificate(request);
    const int64_t now = (int64_t)time(NULL);
    struct principal *principal = NULL;
    if (shown == NULL && certificate != NULL) {
        return identify_certificate(guard, request, certificate);
    }
    if (shown == NULL) {
        http_request_keep(request, NULL, NULL);
        return http_request_query(request, "access_token") != NULL ? AUTH_ERROR_IN_URL
                                                                   : AUTH_ERROR_NOTHING_SHOWN;
    }
    if (has_pass(guard, request, shown, now)) {
        return AUTH_ERROR_NONE;
    }
    http_request_keep(request, NULL, NULL);
    const enum auth_error refusal = verify(guard, token_in(shown), now, &principal, out_fault);
    if (refusal != AUTH_ERROR_NONE) {
        return refusal;
    }
    const bool is_kept = keep(guard, request, shown, principal);
    principal_unref(principal); /* the pass has its own */
    return is_kept ? AUTH_ERROR_NONE : AUTH_ERROR_NO_MEMORY;
}

/* ---- permissions ---- */

static bool may_read_any(const struct scopes *scopes) {
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        if (scopes_may_read(scopes, parley_protocols[i])) {
            return true;
        }
    }
    return false;
}

static bool is_allowed(const struct scopes *scopes, enum guard_need need,
                       const struct parley_protocol *protocol) {
    switch (need) {
    case GUARD_UNSTATED:
        return false;
    case GUARD_OPEN:
    case GUARD_KNOWN:
        return true;
    case GUARD_SEND:
        return scopes_may_send(scopes, protocol);
    case GUARD_READ:
        return scopes_may_read(scopes, protocol);
    case GUARD_READ_ANY:
        return may_read_any(scopes);
    case GUARD_METRICS:
        return scopes_may_measure(scopes);
    case GUARD_REVIEW:
        return scopes_may_review(scopes);
    case GUARD_READ_REVIEWS:
        return scopes_may_read(scopes, protocol) || scopes_may_review(scopes);
    case GUARD_ADMIN:
        return scopes->admin;
    }
    return false;
}

/* Returns the missing scope, for a challenge. */
static const char *scope_of(enum guard_need need, const struct parley_protocol *protocol,
                            struct parley_buffer *text) {
    static const char *const texts[] = {
        [GUARD_SEND] = "send:",      [GUARD_READ] = "read:",    [GUARD_READ_ANY] = "read:*",
        [GUARD_METRICS] = "metrics", [GUARD_REVIEW] = "review", [GUARD_READ_REVIEWS] = "review",
        [GUARD_ADMIN] = "admin"};
    const bool has_protocol = need == GUARD_SEND || need == GUARD_READ;
    parley_buffer_format(text, "%s%s", texts[need], has_protocol ? protocol->name : "");
    parley_buffer_char(text, '\0');
    return text->has_failed ? "" : text->data;
}

static void refuse_scope(struct http_request *request, enum guard_need need,
                         const struct parley_protocol *protocol) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    auth_error_of_scope(request, guard_principal(request), scope_of(need, protocol, &text),
                        need == GUARD_READ_ANY
                            ? " That of one protocol (`read:vlp`) suffices: the answer has what "
                              "the token reads."
                            : "");
    parley_buffer_finish(&text);
}

/* The handshake would refuse the certificate now, whatever other credentials there are. */
static bool has_certificate_expired(const struct http_request *request) {
    const int64_t expires_at = http_request_certificate_expires_at(request);
    return expires_at != 0 && (int64_t)time(NULL) >= expires_at;
}

/* Whose the request is, if anyone's. */
static enum auth_error examine(const struct guard *guard, struct http_request *request,
                               const char **out_fault) {
    if (has_certificate_expired(request)) {
        http_request_keep(request, NULL, NULL);
        return AUTH_ERROR_CERTIFICATE;
    }
    if (is_open(guard)) {
        http_request_keep(request, &anonymous_pass, NULL);
        return AUTH_ERROR_NONE;
    }
    return identify(guard, request, out_fault);
}

/* Whether its scopes are enough; if not, it is answered. */
static bool admit_scopes(struct http_request *request, enum guard_need need,
                         const struct parley_protocol *protocol) {
    const bool is_enough = is_allowed(&guard_principal(request)->scopes, need, protocol);
    if (!is_enough) {
        refuse_scope(request, need, protocol);
    }
    return is_enough;
}

bool guard_admit(struct guard *guard, struct http_request *request, enum guard_need need,
                 const struct parley_protocol *protocol) {
    const char *fault = NULL;
    if (need == GUARD_OPEN) {
        return true;
    }
    const enum auth_error refusal = examine(guard, request, &fault);
    if (refusal != AUTH_ERROR_NONE) {
        refusals_answer(guard->refusals, request, refusal, fault);
        return false;
    }
    if (is_open(guard)) {
        return true;
    }
    http_request_note(request, HTTP_NOTE_KNOWN, 1);
    return admit_scopes(request, need, protocol);
}

bool guard_admit_again(const struct guard *guard, struct http_request *request,
                       enum guard_need need, const struct parley_protocol *protocol) {
    const char *fault = NULL;
    const enum auth_error refusal = examine(guard, request, &fault);
    if (refusal != AUTH_ERROR_NONE) {
        refusals_answer_now(guard->refusals, request, refusal, fault);
        return false;
    }
    return is_open(guard) || admit_scopes(request, need, protocol);
}

int64_t guard_expires_at(const struct http_request *request) {
    const int64_t certificate = http_request_certificate_expires_at(request);
    const int64_t shown = guard_principal(request)->expires_at;
    const int64_t first =
        certificate == 0 || (shown != 0 && shown < certificate) ? shown : certificate;
    return first != 0 ? first : INT64_MAX;
}

const char *guard_objection(const struct guard *guard, struct http_request *request) {
    static const char *const objections[AUTH_ERROR_COUNT] = {
        [AUTH_ERROR_NOTHING_SHOWN] = "token-required", [AUTH_ERROR_IN_URL] = "token-required",
        [AUTH_ERROR_SCHEME] = "token-required",        [AUTH_ERROR_MALFORMED] = "token-revoked",
        [AUTH_ERROR_UNKNOWN] = "token-revoked",        [AUTH_ERROR_EXPIRED] = "token-expired",
        [AUTH_ERROR_REVOKED] = "token-revoked",        [AUTH_ERROR_JWT] = "token-revoked",
        [AUTH_ERROR_NO_MEMORY] = "out-of-memory"};
    const char *fault = NULL;
    if (has_certificate_expired(request)) {
        return "certificate-expired";
    }
    if (is_open(guard)) {
        return NULL;
    }
    if (principal_has_expired(guard_principal(request), (int64_t)time(NULL))) {
        return "token-expired";
    }
    return objections[identify(guard, request, &fault)];
}
