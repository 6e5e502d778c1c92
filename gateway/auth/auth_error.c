/* SPDX-License-Identifier: Apache-2.0 */

#include "auth_error.h"

#include <stdio.h>
#include <stdlib.h>

#include "auth_failure_log.h"
#include "problem.h"
#include "protected_resource.h"
#include "limit_sender.h"

enum {
    DELAY_MS = 250,
    DELAYED_MAX = 1024,      /* beyond it the answer comes at once */
    BODY_READ_MAX = 64 << 10 /* of a request that is refused; a longer one is cut off */
};

struct refusals {
    struct reactor *reactor;
    const struct limits *limits;
    struct auth_failure_log attempts;
    size_t delayed_count;
    const char *metadata_url; /* or NULL */
};

/* An answer that is still delayed. */
struct delayed {
    struct refusals *refusals;
    struct http_request *request;
    enum auth_error refusal;
    const char *fault;
    struct reactor_timer timer;
};

static const struct answer {
    const char *challenge, *detail, *log; /* NULL if no credentials were tried */
} answers[AUTH_ERROR_COUNT] = {
    [AUTH_ERROR_NOTHING_SHOWN] =
        {
            .challenge = "Bearer realm=\"parley\"",
            .detail = "This server serves only those who show a token, a JSON Web Token that it "
                      "accepts, or a client certificate that stands for a token. Send the header "
                      "`Authorization: Bearer TOKEN`; its operator makes a token with `parley "
                      "token create`.",
        },
    [AUTH_ERROR_IN_URL] =
        {
            .challenge = "Bearer realm=\"parley\", error=\"invalid_request\"",
            .detail = "A token in the URL is not taken, since URLs end up in logs and histories: "
                      "send it in the header `Authorization: Bearer TOKEN`, and have this one "
                      "revoked.",
            .log = "sent a token in a URL",
        },
    [AUTH_ERROR_SCHEME] =
        {
            .challenge = "Bearer realm=\"parley\"",
            .detail = "The header Authorization must be `Bearer TOKEN`; no other scheme is "
                      "supported.",
        },
    [AUTH_ERROR_MALFORMED] =
        {
            .challenge = "Bearer realm=\"parley\", error=\"invalid_token\"",
            .detail = "This is not a token of parley: those are `parley_` and 49 letters and "
                      "digits, of which the last are a checksum. It may be incomplete.",
            .log = "sent something that is not a token",
        },
    [AUTH_ERROR_UNKNOWN] =
        {
            .challenge = "Bearer realm=\"parley\", error=\"invalid_token\"",
            .detail = "This server does not know the token. `parley token list` shows its "
                      "operator which there are.",
            .log = "sent a token that is unknown",
        },
    [AUTH_ERROR_EXPIRED] =
        {
            .challenge = "Bearer realm=\"parley\", error=\"invalid_token\"",
            .detail = "The token has expired: ask for a new one.",
            .log = "sent a token that has expired",
        },
    [AUTH_ERROR_REVOKED] =
        {
            .challenge = "Bearer realm=\"parley\", error=\"invalid_token\"",
            .detail = "The token was revoked: ask for a new one.",
            .log = "sent a token that was revoked",
        },
    [AUTH_ERROR_JWT] =
        {
            .challenge = "Bearer realm=\"parley\", error=\"invalid_token\"",
            .log = "sent a JWT that is not valid",
        },
    [AUTH_ERROR_CERTIFICATE] =
        {
            .challenge = "Bearer realm=\"parley\"",
            .detail = "The client's certificate has expired since this connection was made: "
                      "connect again with a new one.",
        },
};

enum parley_status refusals_create(struct reactor *reactor, const struct limits *limits,
                                   struct refusals **out) {
    struct refusals *refusals = calloc(1, sizeof *refusals);
    if (refusals == NULL) {
        return PARLEY_E_MEMORY;
    }
    refusals->reactor = reactor;
    refusals->limits = limits;
    auth_failure_log_init(&refusals->attempts);
    *out = refusals;
    return PARLEY_OK;
}

void refusals_destroy(struct refusals *refusals) {
    free(refusals);
}

void refusals_set_metadata(struct refusals *refusals, const char *url) {
    refusals->metadata_url = url;
}

static void challenge(const struct refusals *refusals, struct http_request *request,
                      enum auth_error refusal) {
    char with_url[PROTECTED_RESOURCE_URL_MAX + 128];
    if (refusals->metadata_url == NULL) {
        http_header(request, "WWW-Authenticate", answers[refusal].challenge);
        return;
    }
    snprintf(with_url, sizeof with_url, "%s, resource_metadata=\"%s\"", answers[refusal].challenge,
             refusals->metadata_url);
    http_header(request, "WWW-Authenticate", with_url);
}

void refusals_answer_now(const struct refusals *refusals, struct http_request *request,
                         enum auth_error refusal, const char *fault) {
    if (refusal == AUTH_ERROR_NO_MEMORY) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    challenge(refusals, request, refusal);
    if (fault != NULL) {
        problem_respond_format(request, PROBLEM_UNAUTHENTICATED, "The token %s.", fault);
    } else {
        problem_respond(request, PROBLEM_UNAUTHENTICATED, answers[refusal].detail);
    }
}

/* ---- later ---- */

static void fire(struct reactor_timer *timer) {
    struct delayed *delayed = OWNER_OF(timer, struct delayed, timer);
    refusals_answer_now(delayed->refusals, delayed->request, delayed->refusal, delayed->fault);
}

static void on_closed(void *state, bool is_complete) {
    struct delayed *delayed = state;
    (void)is_complete;
    reactor_timer_clear(delayed->refusals->reactor, &delayed->timer);
    delayed->refusals->delayed_count--;
    free(delayed);
}

/* Returns: whether the request is served; if not, it is to be answered at once. */
static bool delay(struct refusals *refusals, struct http_request *request, enum auth_error refusal,
                  const char *fault) {
    static const struct http_handler handler = {.closed = on_closed};
    struct delayed *delayed =
        refusals->delayed_count < DELAYED_MAX ? malloc(sizeof *delayed) : NULL;
    if (delayed == NULL) {
        return false;
    }
    *delayed = (struct delayed){.refusals = refusals,
                                .request = request,
                                .refusal = refusal,
                                .fault = fault,
                                .timer = {.fire = fire}};
    refusals->delayed_count++;
    reactor_timer_set(refusals->reactor, &delayed->timer, DELAY_MS);
    http_request_serve(request, &handler, delayed);
    return true;
}

/* ---- now ---- */

/* No client can make the server read much before it is admitted. Returns: whether it is cut off. */
static bool cut_long_body(struct http_request *request) {
    const int64_t length = http_request_content_length(request);
    if (length >= 0 && length <= BODY_READ_MAX) {
        return false;
    }
    http_close_after(request);
    return true;
}

void refusals_answer(struct refusals *refusals, struct http_request *request,
                     enum auth_error refusal, const char *fault) {
    const bool is_attempt = answers[refusal].log != NULL;
    const int64_t now_ms = reactor_now_ms(refusals->reactor);
    if (is_attempt) {
        auth_failure_log_record(&refusals->attempts, request, answers[refusal].log, now_ms);
    }
    const bool is_cut = cut_long_body(request);
    if (is_attempt && !sender_may_fail(refusals->limits, request, now_ms)) {
        return;
    }
    if (is_cut || !is_attempt || !delay(refusals, request, refusal, fault)) {
        refusals_answer_now(refusals, request, refusal, fault);
    }
}

void auth_error_of_scope(struct http_request *request, const struct principal *principal,
                         const char *scope, const char *more) {
    char challenge[160];
    cut_long_body(request);
    snprintf(challenge, sizeof challenge,
             "Bearer realm=\"parley\", error=\"insufficient_scope\", scope=\"%s\"", scope);
    http_header(request, "WWW-Authenticate", challenge);
    problem_respond_format(request, PROBLEM_FORBIDDEN,
                           "`%.100s` may not do this: the scope `%s` is missing.%s",
                           principal->name, scope, more);
}
