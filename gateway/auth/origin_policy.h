/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Limits what other sites can do through a browser: a page of another site can send requests to any
 * server that its visitor reaches, and by a name that it has pointed at 127.0.0.1 (DNS rebinding)
 * also read the answers. So requests say by `Host` which server they mean, and by `Origin` and
 * `Sec-Fetch-Site` which site's page sent them. Source: RFC 9110, section 7.4; the Fetch standard;
 * W3C Fetch Metadata. */

#include "http.h"

struct origin_policy {
    const char *address; /* that is listened on */
    const char *hosts;   /* of --host; NULL if not given */
    const char *sites;   /* of --cors-origin, whose pages have the rights of any client; may be
                            NULL */
    bool is_loopback;    /* whether `address` is */
    bool has_tls;        /* whether this server speaks HTTPS itself */
};

/* Whether a request for `host` ("localhost:8080") is meant for this server. On loopback that is
 * localhost, 127.0.0.1, [::1], the listening address and --host, with any port; elsewhere it is
 * asked only where there is a --host. */
bool origin_is_host_known(const struct origin_policy *policy, const char *host);

/* The site whose page sent a request. */
enum origin_site {
    ORIGIN_OWN,     /* this server's, or no page: a program, or a person who typed the address */
    ORIGIN_ALLOWED, /* of a site in --cors-origin */
    ORIGIN_FOREIGN,
};

/* From the headers Origin, Host and Sec-Fetch-Site; each may be NULL. */
enum origin_site origin_site(const struct origin_policy *policy, const char *origin,
                             const char *host, const char *fetch_site);

/* Refuses a request that is meant for another server: 421.  Returns: whether it may continue; if
 * not, it is answered. */
bool origin_admit_host(const struct origin_policy *policy, struct http_request *request);

/* Refuses a request of a foreign page, unless `is_open`: 403. To others adds the headers of CORS.
 * Returns: as above. */
bool origin_admit(const struct origin_policy *policy, struct http_request *request, bool is_open);

/* Answers OPTIONS, which may be a browser's question before a request of another site's page.
 * `methods`: for Allow. */
void origin_answer_options(const struct origin_policy *policy, struct http_request *request,
                           const char *methods);

/* Adds to the answer, a page, the headers by which it runs and shows only this server's own script
 * and style, in no frame, and its links do not reveal the page where they were followed. */
void origin_protect_page(struct http_request *request);
/* The same for the console, which also asks this server, and shows its pictures. */
void origin_protect_console(struct http_request *request);
