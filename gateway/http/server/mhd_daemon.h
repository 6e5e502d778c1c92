/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One of libmicrohttpd's daemons: for the files that call libmicrohttpd itself. */

#include <microhttpd.h>

#include "http_internal.h"

struct mhd_daemon_callbacks {
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback complete;
    MHD_NotifyConnectionCallback notify;
};

/* The context of `callbacks` (static) is `daemon`.  `memory_bytes`: the pool of a connection. */
enum parley_status mhd_daemon_start(struct mhd_daemon *daemon, size_t memory_bytes,
                                    const struct mhd_daemon_callbacks *callbacks) PARLEY_MUST_CHECK;
/* No connection may be suspended: libmicrohttpd would abort the process. */
void mhd_daemon_stop(struct mhd_daemon *daemon);

/* Owns: the descriptor is the daemon's in every case.  Returns: false when it has closed it;
 * `callbacks.notify` may not have been called. */
bool mhd_daemon_add(struct mhd_daemon *daemon, const struct acceptor_connection *connection);
/* Works on each connection that is ready, once. */
void mhd_daemon_run(struct mhd_daemon *daemon);
/* Whether there is more to do at once. */
bool mhd_daemon_has_more(const struct mhd_daemon *daemon);
/* Notes when the daemon must run next.  Returns: in how many milliseconds; -1: only on events. */
int64_t mhd_daemon_timeout_ms(struct mhd_daemon *daemon);
