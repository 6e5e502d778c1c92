/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* libmicrohttpd as fast as it gets on one thread: its own epoll set within the caller's loop, and
 * a small pool for each connection, since the library clears that for every request. The peers
 * that speak HTTP share it. */

#include <stddef.h>

#include <microhttpd.h>

/* What every request is answered with: 200 bytes of JSON, made once. */
struct MHD_Response *bare_http_answer(void);

/* Listens on a free port of loopback, hangs the daemon on `epoll_fd` (its events bear the data
 * `tag`), and prints "listening on http://127.0.0.1:PORT". It exits when that fails.
 * `completed`: NULL, or told of the end of each request. */
struct MHD_Daemon *bare_http_start(int epoll_fd, void *tag, MHD_AccessHandlerCallback handler,
                                   MHD_RequestCompletedCallback completed, void *context);

/* How long the loop may wait for events, in ms. */
int bare_http_wait_ms(struct MHD_Daemon *daemon);
