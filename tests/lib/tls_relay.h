/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A client's TLS on a thread of its own, so that tests of plain sockets can be run over TLS, too.
 */

/* Speaks TLS on `fd`, a connected socket.  Returns: a socket with the plain bytes. Its ends are the
 * connection's: shut for writing it sends close_notify, and closed it closes the connection.
 * Owns: `fd` is the relay's, the result the caller's. */
int tls_relay(int fd);
