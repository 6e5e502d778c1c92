/* SPDX-License-Identifier: Apache-2.0 */

/* See origin_policy.h. There are no cookies, so no request of a foreign page has its visitor's
 * rights by itself; on loopback, though, every client may do everything, and so might that page. */

#include "origin_policy.h"

#include <string.h>
#include <strings.h>

#include "problem.h"

/* ---- names ---- */

static bool is_same(struct parley_bytes a, const char *b, size_t length) {
    return a.length == length && strncasecmp(a.data, b, length) == 0;
}

/* Whether a comma-separated list, or NULL, has it, in any case. */
static bool has_item(const char *list, struct parley_bytes wanted) {
    for (const char *at = list; at != NULL && *at != '\0'; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        if (is_same(wanted, at, length)) {
            return true;
        }
        at += length;
    }
    return false;
}

/* "[::1]:8080" is [::1], "localhost:8080" localhost; text after the port is kept, so that it
 * matches no name. */
static struct parley_bytes without_port(const char *host) {
    const size_t bracket = host[0] == '[' ? strcspn(host, "]") : 0;
    const size_t length = bracket + strcspn(host + bracket, ":");
    const char *port = host + length;
    const bool is_port = *port == '\0' || strspn(port + 1, "0123456789") == strlen(port + 1);
    return (struct parley_bytes){host, is_port ? length : strlen(host)};
}

static bool is_address(const char *address, struct parley_bytes name) {
    const bool has_brackets = name.length > 2 && name.data[0] == '[';
    const struct parley_bytes bare = {name.data + has_brackets,
                                      name.length - 2 * (size_t)has_brackets};
    return is_same(bare, address, strlen(address));
}

bool origin_is_host_known(const struct origin_policy *policy, const char *host) {
    if (!policy->is_loopback && policy->hosts == NULL) {
        return true;
    }
    const struct parley_bytes name = without_port(host);
    return has_item("localhost,127.0.0.1,[::1]", name) || is_address(policy->address, name) ||
           has_item(policy->hosts, name);
}

/* ---- sites ---- */

/* Names by which a proxy may be reached that speaks HTTPS for this server: those of --host, and
 * without that any, elsewhere than on loopback. A header that names the scheme may have been
 * written by the sender of the request. */
static bool may_be_proxied(const struct origin_policy *policy, const char *host) {
    return policy->hosts != NULL ? has_item(policy->hosts, without_port(host))
                                 : !policy->is_loopback;
}

/* "http://localhost:8080" and "localhost:8080". */
static bool is_of_host(const struct origin_policy *policy, const char *origin, const char *host) {
    const char *authority = strstr(origin, "://");
    if (authority == NULL || host == NULL || strcasecmp(authority + 3, host) != 0) {
        return false;
    }
    const struct parley_bytes scheme = {origin, (size_t)(authority - origin)};
    const bool is_https = is_same(scheme, "https", 5);
    return is_https ? policy->has_tls || may_be_proxied(policy, host)
                    : is_same(scheme, "http", 4) && !policy->has_tls;
}

enum origin_site origin_site(const struct origin_policy *policy, const char *origin,
                             const char *host, const char *fetch_site) {
    if (origin != NULL) {
        return is_of_host(policy, origin, host)                   ? ORIGIN_OWN
               : has_item(policy->sites, parley_bytes_of(origin)) ? ORIGIN_ALLOWED
                                                                  : ORIGIN_FOREIGN;
    }
    /* Another port of this machine is the "same site". */
    const bool is_own = fetch_site == NULL || strcmp(fetch_site, "same-origin") == 0 ||
                        strcmp(fetch_site, "none") == 0;
    return is_own ? ORIGIN_OWN : ORIGIN_FOREIGN;
}

static enum origin_site site_of(const struct origin_policy *policy,
                                const struct http_request *request) {
    const char *origin = http_request_header(request, "Origin");
    const char *host = origin != NULL ? http_request_host(request) : NULL;
    return origin_site(policy, origin, host, http_request_header(request, "Sec-Fetch-Site"));
}

/* ---- requests ---- */

/* A request of HTTP/1.0 may have no Host; no browser sends one. */
bool origin_admit_host(const struct origin_policy *policy, struct http_request *request) {
    const char *host = http_request_host(request);
    if (host == NULL || origin_is_host_known(policy, host)) {
        return true;
    }
    problem_respond_format(request, PROBLEM_MISDIRECTED_REQUEST,
                           "This server does not answer to the host `%.100s`. Use localhost or "
                           "the address that it listens on; its operator can add names with "
                           "--host.",
                           host);
    return false;
}

/* A page may read the parts of the answer that are listed here. Without Allow-Credentials, which
 * would permit the use of credentials in the browser: parley stores none there. */
static void add_cors(const struct origin_policy *policy, struct http_request *request,
                     enum origin_site site) {
    if (policy->sites != NULL) {
        http_header(request, "Vary", "Origin");
    }
    if (strcmp(http_request_method(request), "POST") != 0) { /* no page can embed it */
        http_header(request, "Cross-Origin-Resource-Policy", "same-origin");
    }
    if (site == ORIGIN_ALLOWED) {
        http_header(request, "Access-Control-Allow-Origin", http_request_header(request, "Origin"));
        http_header(request, "Access-Control-Expose-Headers",
                    "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, "
                    "Accept-Post, Allow, Location, Preference-Applied, Parley-Left-Out, "
                    "traceresponse");
    }
}

bool origin_admit(const struct origin_policy *policy, struct http_request *request, bool is_open) {
    const enum origin_site site = site_of(policy, request);
    add_cors(policy, request, site);
    if (site != ORIGIN_FOREIGN || is_open) {
        return true;
    }
    problem_respond(request, PROBLEM_CROSS_ORIGIN,
                    "A page of another site sent this request. The operator can allow that site "
                    "with --cors-origin.");
    return false;
}

void origin_answer_options(const struct origin_policy *policy, struct http_request *request,
                           const char *methods) {
    const enum origin_site site = site_of(policy, request);
    add_cors(policy, request, site);
    http_header(request, "Allow", methods);
    if (site == ORIGIN_ALLOWED &&
        http_request_header(request, "Access-Control-Request-Method") != NULL) {
        http_header(request, "Access-Control-Allow-Methods", methods);
        http_header(request, "Access-Control-Allow-Headers",
                    "Authorization, Content-Type, Content-Encoding, Idempotency-Key, "
                    "Last-Event-ID, Prefer, X-Request-Id, traceparent, tracestate, "
                    "MCP-Protocol-Version, Mcp-Method, Mcp-Name");
        http_header(request, "Access-Control-Max-Age", "600");
        if (http_request_header(request, "Access-Control-Request-Private-Network") != NULL) {
            http_header(request, "Access-Control-Allow-Private-Network", "true");
        }
    }
    http_respond(request, 204, NULL, (struct parley_bytes){0});
}

#define POLICY_OF_PAGES                                                                            \
    "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; "                   \
    "form-action 'none'; frame-ancestors 'none'"

static void protect(struct http_request *request, const char *policy) {
    http_header(request, "Content-Security-Policy", policy);
    http_header(request, "Referrer-Policy", "no-referrer");
    http_header(request, "X-Frame-Options", "DENY");
    http_header(request, "Cross-Origin-Opener-Policy", "same-origin");
}

void origin_protect_page(struct http_request *request) {
    protect(request, POLICY_OF_PAGES);
}

void origin_protect_console(struct http_request *request) {
    protect(request, POLICY_OF_PAGES "; connect-src 'self'; img-src 'self'");
}
