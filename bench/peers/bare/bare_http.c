/* SPDX-License-Identifier: Apache-2.0 */

/* See bare_http.h. It deliberately leaves out what a server for strangers needs: time limits,
 * request ids, any look at the request's head. */

#include "bare_http.h"

#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    POOL_BYTES = 8 * 1024, /* the library's default of 32 KiB costs a quarter of the rate */
    BACKLOG = 1024,
    CONNECTIONS_MAX = 1024,
    ANSWER_BYTES = 200,
    IDLE_WAIT_MS = 1000,
};

struct MHD_Response *bare_http_answer(void) {
    static const char start[] = "{\"padding\":\"", end[] = "\"}";
    char body[ANSWER_BYTES];
    memset(body, 'x', sizeof body);
    memcpy(body, start, sizeof start - 1);
    memcpy(body + sizeof body - (sizeof end - 1), end, sizeof end - 1);
    struct MHD_Response *answer =
        MHD_create_response_from_buffer(sizeof body, body, MHD_RESPMEM_MUST_COPY);
    if (answer == NULL ||
        MHD_add_response_header(answer, "Content-Type", "application/json") != MHD_YES) {
        errx(1, "no memory for the answer");
    }
    return answer;
}

struct MHD_Daemon *bare_http_start(int epoll_fd, void *tag, MHD_AccessHandlerCallback handler,
                                   MHD_RequestCompletedCallback completed, void *context) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handler, context,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_LISTEN_BACKLOG_SIZE,
        (unsigned)BACKLOG, MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_END);
    if (daemon == NULL) {
        errx(1, "libmicrohttpd does not start");
    }
    /* The library's own waiting stalls when exactly 128 connections are ready, so the loop waits
     * on its epoll set and MHD_run never does. */
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = tag};
    int fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        err(1, "epoll_ctl");
    }
    printf("listening on http://127.0.0.1:%u\n",
           MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    return daemon;
}

int bare_http_wait_ms(struct MHD_Daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG wait_ms;
    if (MHD_get_timeout(daemon, &wait_ms) == MHD_YES && wait_ms < IDLE_WAIT_MS) {
        return (int)wait_ms;
    }
    return IDLE_WAIT_MS;
}
