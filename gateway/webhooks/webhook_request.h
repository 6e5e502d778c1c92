/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One POST to a webhook, by libcurl: HTTP/1.1, over TLS from 1.2 on, on a connection of its own,
 * without redirects and proxies. The address is checked when its socket is made, which is after its
 * name was looked up, for each address that is tried: a name that changes (DNS rebinding) leads
 * nowhere else. What the receiver answers beyond the status is not kept. */

#include <curl/curl.h>

#include <parley/buffer.h>

#include "webhook.h"

enum { WEBHOOK_TIMEOUT_MS = 10000 };

/* Owns: the caller embeds it, zeroed at first. */
struct webhook_request {
    CURL *easy;
    struct curl_slist *headers;
    struct parley_bytes body; /* borrowed */
    bool is_private;          /* of the webhook */
    bool is_barred;           /* an address was one that is not allowed */
    size_t head_bytes;
    char error[CURL_ERROR_SIZE];
};

struct webhook_result {
    bool is_delivered;           /* the status is one of 200 to 299 */
    unsigned status;             /* 0: there was no answer */
    int64_t retry_after_ms;      /* 0: not given */
    char error[CURL_ERROR_SIZE]; /* for people; "" if it is delivered */
};

/* Prepares the request, signed at `now_s` (Unix time): request->easy can be performed then.
 * Owns: borrows webhook, id and body until webhook_request_finish.  Returns: false: no memory. */
bool webhook_request_init(struct webhook_request *request, const struct webhook *webhook,
                          const char *id, int64_t now_s, struct parley_bytes body);
/* What came of it.  `code`: libcurl's. */
void webhook_request_result(const struct webhook_request *request, CURLcode code,
                            struct webhook_result *out);
/* A zeroed one is allowed. */
void webhook_request_finish(struct webhook_request *request);
