/* SPDX-License-Identifier: Apache-2.0 */

#include "webhook_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "public_address.h"
#include "webhook_signature.h"

enum {
    CONNECT_TIMEOUT_MS = 5000,
    HEAD_BYTES_MAX = 16384,
    RETRY_AFTER_MAX_S = 86400,
};

/* ---- what libcurl calls ---- */

static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address) {
    struct webhook_request *request = context;
    (void)purpose;
    if (!request->is_private && !public_address_is(&address->addr)) {
        request->is_barred = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* libcurl keeps the head in memory. */
static size_t on_head(const char *data, size_t size, size_t count, void *context) {
    struct webhook_request *request = context;
    (void)data;
    request->head_bytes += size * count;
    return request->head_bytes <= HEAD_BYTES_MAX ? size * count : 0;
}

/* The first byte ends the request: the status is known. */
static size_t on_body(const char *data, size_t size, size_t count, void *context) {
    (void)data;
    (void)size;
    (void)count;
    (void)context;
    return 0;
}

/* ---- options ---- */

/* The brackets leave out a macro that compares the value's type with the option, which a compiler
 * knows here only once it has inlined this. */
static bool set(CURL *easy, CURLoption option, const void *value) {
    return (curl_easy_setopt)(easy, option, value) == CURLE_OK;
}

static bool set_number(CURL *easy, CURLoption option, long value) {
    return (curl_easy_setopt)(easy, option, value) == CURLE_OK;
}

/* libcurl's own folder of authorities is left out: with it, the multi handle would read all of them
 * for each connection. The variable is OpenSSL's, which libcurl does not read. */
static bool set_tls(CURL *easy) {
    const char *ca = getenv("SSL_CERT_FILE");
    return set_number(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
           (ca == NULL || set(easy, CURLOPT_CAINFO, ca)) && set(easy, CURLOPT_CAPATH, NULL);
}

/* Without CURLOPT_QUICK_EXIT, a request that ends while its name is looked up would wait for the
 * thread that does it. */
static bool set_limits(CURL *easy) {
    return set_number(easy, CURLOPT_NOSIGNAL, 1) && set_number(easy, CURLOPT_QUICK_EXIT, 1) &&
           set_number(easy, CURLOPT_TIMEOUT_MS, WEBHOOK_TIMEOUT_MS) &&
           set_number(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS) &&
           set_number(easy, CURLOPT_FRESH_CONNECT, 1) && set_number(easy, CURLOPT_FORBID_REUSE, 1);
}

static bool set_target(CURL *easy, const struct webhook *webhook) {
    return set(easy, CURLOPT_PROTOCOLS_STR, webhook->is_private ? "http,https" : "https") &&
           set(easy, CURLOPT_URL, webhook->url) && set(easy, CURLOPT_PROXY, "") &&
           set_number(easy, CURLOPT_FOLLOWLOCATION, 0) &&
           set_number(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) &&
           set(easy, CURLOPT_USERAGENT, "parley");
}

static bool set_callbacks(struct webhook_request *request) {
    CURL *easy = request->easy;
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
           set(easy, CURLOPT_OPENSOCKETDATA, request) &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head) == CURLE_OK &&
           set(easy, CURLOPT_HEADERDATA, request) &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           set(easy, CURLOPT_ERRORBUFFER, request->error);
}

/* ---- the message ---- */

static bool add_header(struct webhook_request *request, const char *line) {
    struct curl_slist *headers = curl_slist_append(request->headers, line);
    request->headers = headers != NULL ? headers : request->headers;
    return headers != NULL;
}

/* Without the header Expect, for which some receivers would wait. */
static bool add_headers(struct webhook_request *request, const struct webhook *webhook,
                        const char *id, int64_t now_s) {
    char line[96];
    struct parley_buffer signature;
    parley_buffer_init(&signature);
    parley_buffer_text(&signature, "webhook-signature: ");
    webhook_sign(webhook, id, now_s, request->body, &signature);
    parley_buffer_char(&signature, '\0');
    bool is_added = !signature.has_failed && add_header(request, signature.data);
    parley_buffer_finish(&signature);
    snprintf(line, sizeof line, "webhook-id: %s", id);
    is_added = is_added && add_header(request, line);
    snprintf(line, sizeof line, "webhook-timestamp: %" PRId64, now_s);
    return is_added && add_header(request, line) &&
           add_header(request, "Content-Type: application/json") && add_header(request, "Expect:");
}

static bool set_message(const struct webhook_request *request) {
    CURL *easy = request->easy;
    return curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.length) ==
               CURLE_OK &&
           set(easy, CURLOPT_POSTFIELDS, request->body.data) &&
           set(easy, CURLOPT_HTTPHEADER, request->headers);
}

/* ---- all of it ---- */

bool webhook_request_init(struct webhook_request *request, const struct webhook *webhook,
                          const char *id, int64_t now_s, struct parley_bytes body) {
    *request = (struct webhook_request){
        .easy = curl_easy_init(), .body = body, .is_private = webhook->is_private};
    return request->easy != NULL && set_limits(request->easy) && set_tls(request->easy) &&
           set_target(request->easy, webhook) && set_callbacks(request) &&
           add_headers(request, webhook, id, now_s) && set_message(request);
}

static void explain(const struct webhook_request *request, CURLcode code,
                    struct webhook_result *out) {
    const char *text = request->error[0] != '\0' ? request->error : curl_easy_strerror(code);
    if (out->status != 0) {
        snprintf(out->error, sizeof out->error, "it answered %u%s", out->status,
                 out->status / 100 == 3 ? " (redirects are not followed)" : "");
    } else if (request->is_barred) {
        snprintf(out->error, sizeof out->error,
                 "its address is loopback, private or reserved, and the webhook does not say "
                 "'private: true'");
    } else {
        snprintf(out->error, sizeof out->error, "%s", text);
    }
}

void webhook_request_result(const struct webhook_request *request, CURLcode code,
                            struct webhook_result *out) {
    long status = 0;
    curl_off_t retry_after_s = 0;
    (void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(request->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    *out = (struct webhook_result){.is_delivered = status / 100 == 2, .status = (unsigned)status};
    if (retry_after_s > 0) {
        out->retry_after_ms =
            1000 * (retry_after_s < RETRY_AFTER_MAX_S ? (int64_t)retry_after_s : RETRY_AFTER_MAX_S);
    }
    if (!out->is_delivered) {
        explain(request, code, out);
    }
}

void webhook_request_finish(struct webhook_request *request) {
    curl_easy_cleanup(request->easy);
    curl_slist_free_all(request->headers);
    *request = (struct webhook_request){0};
}
