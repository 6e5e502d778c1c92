/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers a request that is not admitted: 401 with a challenge, delayed where wrong credentials
 * were sent, or 403 (docs/api.md#access). Source: RFC 6750, section 3. */

#include "http.h"
#include "sender_limits.h"
#include "principal.h"
#include "reactor.h"

enum auth_error {
    AUTH_ERROR_NONE,
    AUTH_ERROR_NOTHING_SHOWN,
    AUTH_ERROR_IN_URL,    /* a token that is not taken from there */
    AUTH_ERROR_SCHEME,    /* something other than a bearer token */
    AUTH_ERROR_MALFORMED, /* it cannot be a token … */
    AUTH_ERROR_UNKNOWN,   /* … it is not a known token */
    AUTH_ERROR_EXPIRED,
    AUTH_ERROR_REVOKED,
    AUTH_ERROR_JWT,         /* with a fault */
    AUTH_ERROR_CERTIFICATE, /* one that has expired since the connection was made */
    AUTH_ERROR_NO_MEMORY,
    AUTH_ERROR_COUNT
};

struct refusals;

/* `limits`: borrowed; NULL for no limits. */
enum parley_status refusals_create(struct reactor *reactor, const struct limits *limits,
                                   struct refusals **out) PARLEY_MUST_CHECK;
/* Call it when no request waits.  NULL is allowed. */
void refusals_destroy(struct refusals *refusals);

/* From now on 401 names the metadata at this URL (protected_resource.h); NULL: none. Owns:
 * borrowed. */
void refusals_set_metadata(struct refusals *refusals, const char *url);

/* Answers a request from its begin callback, or serves it until its answer is due.  `fault`: of a
 * JWT, as of jwt_verify; else NULL. */
void refusals_answer(struct refusals *refusals, struct http_request *request,
                     enum auth_error refusal, const char *fault);

/* The same at once, for a request that was admitted before and has a handler. */
void refusals_answer_now(const struct refusals *refusals, struct http_request *request,
                         enum auth_error refusal, const char *fault);

/* 403: the sender, who is known, lacks the scope.  `more`: "", or a blank and sentences. */
void auth_error_of_scope(struct http_request *request, const struct principal *principal,
                         const char *scope, const char *more);
