/* SPDX-License-Identifier: Apache-2.0 */

/* swallow: what libmicrohttpd can do at best. It reads a request's body, looks at none of it, and
 * answers 200 with 200 bytes. It tells paths and methods apart as little as anything else. */

#include "bare_http.h"

#include <err.h>
#include <sys/epoll.h>

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state) {
    (void)url;
    (void)method;
    (void)version;
    (void)data;
    if (*state == NULL) {
        *state = context; /* anything that says: the head has been seen */
        return MHD_YES;
    }
    if (*size > 0) {
        *size = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, context);
}

int main(void) {
    int loop = epoll_create1(EPOLL_CLOEXEC);
    if (loop < 0) {
        err(1, "epoll_create1");
    }
    struct MHD_Daemon *daemon = bare_http_start(loop, NULL, handle, NULL, bare_http_answer());
    for (;;) {
        struct epoll_event event;
        epoll_wait(loop, &event, 1, bare_http_wait_ms(daemon));
        MHD_run(daemon);
    }
}
