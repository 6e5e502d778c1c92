/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JSON Web Tokens as bearer tokens: signed by a key of a local JWK set, and for this server.
 * Source: RFC 7515, RFC 7519, RFC 8725 (which tokens to refuse), RFC 9068 (claims of access
 * tokens). */

#include "jwks.h"
#include "principal.h"

enum {
    JWT_BYTES_MAX = 8 * 1024, /* half a head; those in use have 1 to 2 KiB */
    JWT_LEEWAY_S = 60,        /* by which clocks may differ, for exp and nbf */
};

/* The claims that a token must have, besides its signature. */
struct jwt_rules {
    const char *issuer, *audience; /* iss; one of aud */
};

/* Whether a bearer token is meant to be a JWT: it has two dots, which parley's own tokens do not
 * have. */
bool jwt_is_shaped(struct parley_bytes token);

/* Verifies a token at `now_s` (Unix time) and makes the principal that it describes: its name is
 * the claim `sub`, its scopes are the words of `scope` that parley knows, its agent is the claim
 * `agent` if there is one, and it expires with the leeway after `exp`.
 * Returns: PARLEY_OK with *out, the caller's reference, or with *out NULL and *out_fault (static),
 * the end of a sentence that names the check and quotes nothing: "has expired (exp)".
 * Threads: any number at a time, with one set of keys. */
enum parley_status jwt_verify(struct parley_bytes token, const struct jwks *jwks,
                              const struct jwt_rules *rules, int64_t now_s, struct principal **out,
                              const char **out_fault) PARLEY_MUST_CHECK;
