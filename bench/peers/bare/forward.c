/* SPDX-License-Identifier: Apache-2.0 */

/* forward URL [by-all-means]: what libmicrohttpd and nats.c can do at best between them. It
 * publishes a request's body to JetStream as it is, waits for the ack, and answers 200 with 200
 * bytes. It validates nothing. */

#include "bare_http.h"
#include "bare_nats.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    REQUESTS_MAX = 2048, /* more than there can be connections */
    BODY_BYTES_MAX = 1024,
    EVENTS_MAX = 8,
};

struct request {
    struct MHD_Connection *connection;
    uint32_t slot, next_free;
    enum { READING, WAITING, STORED, REFUSED } state;
    size_t length;
    char body[BODY_BYTES_MAX];
};

struct forwarder {
    struct bare_nats *nats;
    struct MHD_Response *answer;
    uint32_t first_free;
    struct request requests[REQUESTS_MAX];
};

static struct request *request_begin(struct forwarder *forwarder,
                                     struct MHD_Connection *connection) {
    if (forwarder->first_free == REQUESTS_MAX) {
        errx(1, "too many requests at once");
    }
    struct request *request = &forwarder->requests[forwarder->first_free];
    forwarder->first_free = request->next_free;
    request->connection = connection;
    request->state = READING;
    request->length = 0;
    return request;
}

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode how) {
    (void)connection;
    (void)how;
    struct forwarder *forwarder = context;
    struct request *request = *state;
    if (request != NULL) {
        request->next_free = forwarder->first_free;
        forwarder->first_free = request->slot;
        *state = NULL;
    }
}

static enum MHD_Result take_body(struct request *request, const char *data, size_t *size) {
    if (*size > sizeof request->body - request->length) {
        return MHD_NO;
    }
    memcpy(request->body + request->length, data, *size);
    request->length += *size;
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state) {
    (void)url;
    (void)method;
    (void)version;
    struct forwarder *forwarder = context;
    struct request *request = *state;
    if (request == NULL) {
        *state = request_begin(forwarder, connection);
        return MHD_YES;
    }
    if (*size > 0) {
        return take_body(request, data, size);
    }
    if (request->state == READING) {
        request->state = WAITING;
        MHD_suspend_connection(connection);
        bare_nats_publish(forwarder->nats, request->slot, request->body, request->length);
        return MHD_YES;
    }
    unsigned status =
        request->state == STORED ? MHD_HTTP_OK : (unsigned)MHD_HTTP_SERVICE_UNAVAILABLE;
    return MHD_queue_response(connection, status, forwarder->answer);
}

static void acked(void *context, uint32_t slot, bool is_stored) {
    struct forwarder *forwarder = context;
    struct request *request = &forwarder->requests[slot];
    request->state = is_stored ? STORED : REFUSED;
    MHD_resume_connection(request->connection);
}

int main(int argc, char **argv) {
    struct forwarder *forwarder = calloc(1, sizeof *forwarder);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    bool is_by_all_means = bare_nats_is_by_all_means(argc, argv, 2, "forward NATS-URL");
    if (loop < 0 || forwarder == NULL) {
        err(1, "starting");
    }
    for (uint32_t i = 0; i < REQUESTS_MAX; i++) {
        forwarder->requests[i].slot = i;
        forwarder->requests[i].next_free = i + 1;
    }
    forwarder->answer = bare_http_answer();
    forwarder->nats = bare_nats_open(argv[1], loop, is_by_all_means, acked, forwarder);
    struct MHD_Daemon *daemon = bare_http_start(loop, NULL, handle, completed, forwarder);
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int count = epoll_wait(loop, events, EVENTS_MAX, bare_http_wait_ms(daemon));
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == forwarder->nats) {
                bare_nats_read(forwarder->nats, events[i].events);
            }
        }
        MHD_run(daemon);
        bare_nats_write(forwarder->nats);
    }
}
