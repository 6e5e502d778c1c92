/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The TLS connections of one reactor. Each comes as a socket that was just accepted; when its
 * handshake is done, its server gets one end of a pair of sockets, with the plain bytes.
 * Data written to that end is encrypted and sent. Ends and errors pass through as on a TCP socket:
 *
 *   the client ends its sending half   the plain end reads an end, and can still write
 *   the client has disconnected        the plain end reads the rest, then an end; writing fails
 *   the plain end is shut for writing  the client gets the data written, and close_notify
 *   the plain end is closed            likewise, and data that the client still sends is discarded
 *
 * It does not depend on HTTP. All of it happens on the reactor's thread. */

#include <stddef.h>
#include <stdint.h>

#include <parley/bytes.h>
#include <parley/status.h>

#include "reactor.h"

struct tls_context;
struct tls_server;

struct tls_server_options {
    struct tls_context *context;  /* borrowed; other threads may share it */
    int64_t handshake_timeout_ms; /* from when it was accepted */
    int64_t idle_timeout_ms;      /* for a client that reads nothing of the data left for it */
    /* Sent to a client that begins in plain text. Static. */
    struct parley_bytes plain_answer;
    /* The handshake is done. `name` is of the client's certificate (tls_name.h), or NULL if it has
     * shown none; it expires at `expires_at`, Unix time. `tag` is that of tls_server_add.
     * Owns: the callee closes `plain_fd`; `name` is freed after the call. */
    void (*opened)(void *context, void *tag, int plain_fd, const char *name, int64_t expires_at);
    /* The connection has ended, and its sockets are closed. `tag` is NULL if it was opened. */
    void (*closed)(void *context, void *tag);
    void *callback_context;
};

enum parley_status tls_server_create(struct reactor *reactor,
                                     const struct tls_server_options *options,
                                     struct tls_server **out) PARLEY_MUST_CHECK;
/* Takes over `fd`, a TCP connection in non-blocking mode. Nothing is called back for it from
 * within; when too many handshakes are not done, the oldest of them is closed, and reported.
 * Returns: PARLEY_E_MEMORY, and then `fd` still belongs to the caller. */
enum parley_status tls_server_add(struct tls_server *server, int fd, void *tag) PARLEY_MUST_CHECK;
/* The data written to the plain end `plain_fd`, which is still open, is incomplete: the client gets
 * it, and then a reset instead of an end. */
void tls_server_break(struct tls_server *server, int plain_fd);
/* The plain end `plain_fd` has the descriptor `next_fd` from now on. */
void tls_server_renumber(struct tls_server *server, int plain_fd, int next_fd);
/* Closes connections whose handshake is not done. */
void tls_server_stop(struct tls_server *server);
/* Since the start. `failed`: all that ended before a handshake was done. */
struct tls_totals {
    uint64_t handshakes_done, handshakes_failed;
};
struct tls_totals tls_server_totals(const struct tls_server *server);
/* Returns how many have not ended. */
size_t tls_server_count(const struct tls_server *server);
/* Returns how many of those have something left to send after their plain end was closed. */
size_t tls_server_closing_count(const struct tls_server *server);
/* Sends the data that can be sent at once, and closes all connections. Call it when the reactor no
 * longer runs. */
void tls_server_destroy(struct tls_server *server);
