/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The address at the other end of a connection, without its port: for limits and for logs. IPv4 and
 * IPv6 have one form here, so that no comparison of addresses must distinguish them, and a client
 * is recognised on either of the two sockets of a server. */

#include <stdbool.h>

#include <sys/socket.h>

#include <parley/bytes.h>

struct peer {
    unsigned char bytes[16]; /* IPv6; an IPv4 address is ::ffff:a.b.c.d; of any other family :: */
};

enum { PEER_TEXT_MAX = 46 }; /* with its NUL */

struct peer peer_of(const struct sockaddr *address);

bool peer_is_v4(const struct peer *peer);
bool peer_is_loopback(const struct peer *peer);

/* Writes "192.0.2.1" or "2001:db8::1". */
void peer_text(const struct peer *peer, char out[PEER_TEXT_MAX]);

/* The part that is counted as one sender: an IPv4 address; of IPv6 the first 64 bits, since the
 * owner of one such address has all of them.  Owns: borrowed from `peer`. */
struct parley_bytes peer_network(const struct peer *peer);
