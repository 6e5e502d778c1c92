/* SPDX-License-Identifier: Apache-2.0 */

#include "admin.h"

#include <string.h>

#include "configuration.h"
#include "health.h"
#include "listen_address.h"
#include "metrics_page.h"
#include "origin_policy.h"
#include "problem.h"

static bool is_read(struct http_request *request) {
    const char *method = http_request_method(request);
    const bool is_read = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (!is_read) {
        http_header(request, "Allow", "GET, HEAD");
        problem_respond(request, PROBLEM_METHOD_NOT_ALLOWED,
                        "The address of --admin-listen allows GET and HEAD.");
    }
    return is_read;
}

/* Pages of other sites are kept from loopback, wherever --listen is; elsewhere a name can be
 * anything. */
static bool is_host_admitted(const struct configuration *configuration,
                             struct http_request *request) {
    const struct origin_policy policy = {.address = configuration->admin_address,
                                         .hosts = configuration->hosts,
                                         .is_loopback = true};
    return !listen_address_is_loopback(configuration->admin_address) ||
           origin_admit_host(&policy, request);
}

void admin_begin(void *context, struct http_request *request) {
    struct services *services = context;
    const char *path = http_request_path(request);
    if (!is_host_admitted(services->gateway.configuration, request) || !is_read(request)) {
        return;
    }
    if (strcmp(path, "/metrics") == 0) {
        metrics_page_serve(services, request);
    } else if (strcmp(path, "/livez") == 0) {
        health_serve_livez(services, request);
    } else if (strcmp(path, "/readyz") == 0) {
        health_serve_readyz(services, request);
    } else {
        problem_respond(request, PROBLEM_NOT_FOUND,
                        "This address has /metrics, /livez and /readyz only; everything else is at "
                        "that of --listen.");
    }
}
