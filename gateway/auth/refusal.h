/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What is said to whom is not let in: 401 with a challenge, later where something wrong was shown,
 * or 403 (docs/api.md#access). Source: RFC 6750, section 3. */

#include "http.h"
#include "sender_limits.h"
#include "principal.h"
#include "reactor.h"

enum refusal {
    REFUSAL_NONE,
    REFUSAL_NOTHING_SHOWN,
    REFUSAL_IN_URL,    /* a token that is not taken from there */
    REFUSAL_SCHEME,    /* something other than a bearer token */
    REFUSAL_MALFORMED, /* what cannot be a token … */
    REFUSAL_UNKNOWN,   /* … what is none */
    REFUSAL_EXPIRED,
    REFUSAL_REVOKED,
    REFUSAL_JWT,         /* with a fault */
    REFUSAL_CERTIFICATE, /* one that has expired since the connection was made */
    REFUSAL_NO_MEMORY,
    REFUSAL_COUNT
};

struct refusals;

/* `limits`: borrowed; NULL: none. */
enum parley_status refusals_create(struct reactor *reactor, const struct limits *limits,
                                   struct refusals **out) PARLEY_MUST_CHECK;
/* When no request waits any more.  NULL is allowed. */
void refusals_destroy(struct refusals *refusals);

/* Answers a request from its begin callback, or serves it until its answer is due.  `fault`: of a
 * JWT, as of jwt_verify; else NULL. */
void refusals_answer(struct refusals *refusals, struct http_request *request, enum refusal refusal,
                     const char *fault);

/* 403: the sender, who is known, lacks the scope. */
void refusal_of_scope(struct http_request *request, const struct principal *principal,
                      const char *scope);
