/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Who is let in, on one reactor: what a request shows is verified once and kept with its
 * connection, and every address says what it needs (docs/api.md#access). */

#include "http.h"
#include "jwt.h"
#include "sender_limits.h"
#include "principal.h"
#include "reactor.h"
#include "tokens.h"

/* What an address needs of those who ask for it. */
enum guard_need {
    GUARD_UNSTATED, /* nobody is let in: an address must say what it needs */
    GUARD_OPEN,     /* nothing */
    GUARD_SEND,     /* the scope send of its protocol */
    GUARD_READ,     /* the scope read of its protocol */
    GUARD_READ_ANY, /* the scope read of any protocol: the handler serves those alone */
    GUARD_METRICS,
    GUARD_ADMIN,
};

struct guard;

/* Everybody is let in as anonymous until there are tokens or keys of JWTs.
 * Owns: both are borrowed; `limits` NULL: none. */
enum parley_status guard_create(struct reactor *reactor, const struct limits *limits,
                                struct guard **out) PARLEY_MUST_CHECK;
/* After the HTTP servers, whose requests have all been closed.  NULL is allowed. */
void guard_destroy(struct guard *guard);

/* From now on requests have to show one of these; what was verified before is verified again.
 * Owns: steals the caller's reference. */
void guard_set_tokens(struct guard *guard, struct tokens *tokens);

/* The same for JWTs that are signed with one of these keys.
 * Owns: steals the reference to `jwks`; `rules` are borrowed. */
void guard_set_jwks(struct guard *guard, struct jwks *jwks, const struct jwt_rules *rules);

/* Whether the request may go on to an address with this `need` (`protocol` NULL: of none); if not,
 * it is answered, or will be.  From its begin callback. */
bool guard_admit(struct guard *guard, struct http_request *request, enum guard_need need,
                 const struct parley_protocol *protocol);

/* Who sends the request. It may do nothing where nobody was let in.  Owns: borrowed until the
 * request is closed or looked at again; principal_ref keeps it longer. */
const struct principal *guard_principal(const struct http_request *request);

/* Until when the request may go on if nothing changes: the first to expire of what its sender has
 * shown, a certificate too.  Returns: Unix time; INT64_MAX: for ever. */
int64_t guard_expires_at(const struct http_request *request);

/* Looks again at a request that was admitted and lasts: whether what it showed still counts. It may
 * have another principal afterwards. Nothing is verified that cannot have changed.
 * Returns: NULL, or why it would not be let in now, a word for programs (static): "token-expired",
 * "token-revoked", "token-required", "certificate-expired". */
const char *guard_objection(const struct guard *guard, struct http_request *request);
