/* SPDX-License-Identifier: Apache-2.0 */

/* The daemons of libmicrohttpd, which hang on the reactor and are driven from outside (MHD_run
 * without waiting). There is one for requests and one for open streams, because each resume of a
 * connection walks through all the suspended ones of its daemon (ADR 3). */

#include "mhd_daemon.h"

#include <sys/epoll.h>

enum { POOL_INCREMENT = 1024 };

/* One thread calls a daemon. From 0.9.77 on libmicrohttpd locks for others, and makes a new
 * connection wait for MHD_run, unless it is told not to. */
#if MHD_VERSION >= 0x00097707
enum { OF_ONE_THREAD = MHD_USE_NO_THREAD_SAFETY };
#else
enum { OF_ONE_THREAD = 0 };
#endif

/* ---- one connection ---- */

void http_suspend(struct http_connection *connection) {
    MHD_suspend_connection(connection->mhd);
}

void http_resume(struct http_connection *connection) {
    MHD_resume_connection(connection->mhd);
    connection->daemon->is_due = true;
}

/* libmicrohttpd 0.9.75 forgets to look at some connections again, until their idle timeout. One
 * that is resumed is looked at. */
void http_look_again(struct http_connection *connection) {
    http_suspend(connection);
    http_resume(connection);
}

const char *http_reason(unsigned status) {
    return MHD_get_reason_phrase_for(status);
}

/* ---- the daemon ---- */

static void note_events(struct reactor_watch *watch, uint32_t events) {
    (void)events;
    struct mhd_daemon *daemon = OWNER_OF(watch, struct mhd_daemon, watch);
    daemon->is_due = true;
}

bool mhd_daemon_add(struct mhd_daemon *daemon, const struct acceptor_connection *connection) {
    daemon->is_due = true;
    return MHD_add_connection(daemon->mhd, connection->fd, &connection->peer.any,
                              connection->peer_length) == MHD_YES;
}

void mhd_daemon_run(struct mhd_daemon *daemon) {
    daemon->is_due = false;
    MHD_run(daemon->mhd);
}

bool mhd_daemon_has_more(const struct mhd_daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG wanted = 1;
    return MHD_get_timeout(daemon->mhd, &wanted) == MHD_YES && wanted == 0;
}

int64_t mhd_daemon_timeout_ms(struct mhd_daemon *daemon) {
    MHD_UNSIGNED_LONG_LONG wanted = 0;
    daemon->due_ms = -1;
    /* It does not report resumed connections. */
    if (!daemon->is_due && MHD_get_timeout(daemon->mhd, &wanted) != MHD_YES) {
        return -1;
    }
    const int64_t wanted_ms = wanted < INT32_MAX ? (int64_t)wanted : INT32_MAX;
    daemon->due_ms = reactor_now_ms(daemon->server->reactor) + wanted_ms;
    return wanted_ms;
}

/* One second more, for requests that http_deadline.c refuses with an answer. */
static unsigned idle_timeout_s(const struct http_options *options) {
    return options->idle_timeout_s > 0 ? options->idle_timeout_s + 1 : 0;
}

enum parley_status mhd_daemon_start(struct mhd_daemon *daemon, size_t memory_bytes,
                                    const struct mhd_daemon_callbacks *callbacks) {
    const struct http_options *options = &daemon->server->options;
    /* The limit on connections is the acceptor's. Without MHD_USE_ERROR_LOG it is silent. */
    daemon->mhd = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
            OF_ONE_THREAD,
        0, NULL, NULL, callbacks->handle, daemon, MHD_OPTION_CONNECTION_LIMIT,
        options->connections_max + 1, MHD_OPTION_CONNECTION_TIMEOUT, idle_timeout_s(options),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory_bytes, MHD_OPTION_CONNECTION_MEMORY_INCREMENT,
        (size_t)POOL_INCREMENT, MHD_OPTION_NOTIFY_COMPLETED, callbacks->complete, daemon,
        MHD_OPTION_NOTIFY_CONNECTION, callbacks->notify, daemon, MHD_OPTION_END);
    if (daemon->mhd == NULL) {
        return PARLEY_E_MEMORY;
    }
    daemon->watch = (struct reactor_watch){
        .ready = note_events,
        .fd = MHD_get_daemon_info(daemon->mhd, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
    };
    return reactor_watch_add(daemon->server->reactor, &daemon->watch, EPOLLIN);
}

void mhd_daemon_stop(struct mhd_daemon *daemon) {
    if (daemon->mhd != NULL) {
        reactor_watch_remove(daemon->server->reactor, &daemon->watch);
        MHD_stop_daemon(daemon->mhd);
    }
}

const char *http_library_version(void) {
    return MHD_get_version();
}
