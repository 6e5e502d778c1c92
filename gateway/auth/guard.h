/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Decides who is admitted, on one reactor: a request's credentials are verified once and kept with
 * its connection, and every address declares its need (docs/api.md#access). */

#include "http.h"
#include "jwt.h"
#include "sender_limits.h"
#include "principal.h"
#include "reactor.h"
#include "tokens.h"

/* What an address requires of its clients. */
enum guard_need {
    GUARD_UNSTATED, /* no client is admitted: an address must declare its need */
    GUARD_OPEN,     /* nothing */
    GUARD_KNOWN,    /* valid credentials, whatever they allow: the handler asks for scopes */
    GUARD_SEND,     /* the scope send of its protocol */
    GUARD_READ,     /* the scope read of its protocol */
    GUARD_READ_ANY, /* the scope read of any protocol: the handler serves those alone */
    GUARD_METRICS,
    GUARD_REVIEW,
    GUARD_READ_REVIEWS, /* the scope read of its protocol, or review: who decides has to see */
    GUARD_ADMIN,
};

struct guard;

/* Admits every client as anonymous until there are tokens or keys of JWTs.
 * Owns: both are borrowed; `limits` NULL: no limits. */
enum parley_status guard_create(struct reactor *reactor, const struct limits *limits,
                                struct guard **out) PARLEY_MUST_CHECK;
/* After the HTTP servers, whose requests have all been closed.  NULL is allowed. */
void guard_destroy(struct guard *guard);

/* From now on requests must show one of these; credentials verified before are verified again.
 * Owns: steals the caller's reference. */
void guard_set_tokens(struct guard *guard, struct tokens *tokens);

/* As guard_set_tokens, for JWTs that are signed with one of these keys.
 * Owns: steals the reference to `jwks`; `rules` are borrowed. */
void guard_set_jwks(struct guard *guard, struct jwks *jwks, const struct jwt_rules *rules);

/* From now on 401 names the metadata at this URL (protected_resource.h); NULL: none. Owns:
 * borrowed. */
void guard_set_metadata(struct guard *guard, const char *url);

/* Whether the request may continue to an address with this `need` (`protocol` NULL: of none); if
 * not, it is answered, or will be.  From its begin callback. */
bool guard_admit(struct guard *guard, struct http_request *request, enum guard_need need,
                 const struct parley_protocol *protocol);

/* The same for a request that was admitted, and has waited since: credentials may have been revoked
 * or expired, and scopes taken away. If it may not continue, it is answered.  From any callback. */
bool guard_admit_again(const struct guard *guard, struct http_request *request,
                       enum guard_need need, const struct parley_protocol *protocol);

/* The sender of the request. It may do nothing where no client was admitted.  Owns: borrowed until
 * the request is closed or looked at again; principal_ref keeps it longer. */
const struct principal *guard_principal(const struct http_request *request);

/* Until when the request may continue if nothing changes: the earliest expiry of its sender's
 * credentials, including a certificate.  Returns: Unix time; INT64_MAX: forever. */
int64_t guard_expires_at(const struct http_request *request);

/* Checks a long request that was admitted again: whether its credentials are still valid. It may
 * have another principal afterwards. Only properties that can have changed are verified.
 * Returns: NULL, or why it would not be admitted now, a word for programs (static):
 * "token-expired", "token-revoked", "token-required", "certificate-expired". */
const char *guard_objection(const struct guard *guard, struct http_request *request);
