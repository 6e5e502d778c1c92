/* SPDX-License-Identifier: Apache-2.0 */

#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum {
    V4_AT = 12, /* in ::ffff:a.b.c.d */
    NETWORK_BYTES = 8,
    V4_LOOPBACK_NET = 127,
};

static const unsigned char v4_prefix[V4_AT] = {[10] = 0xff, [11] = 0xff};

struct peer peer_of(const struct sockaddr *address) {
    struct peer peer = {{0}};
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        memcpy(peer.bytes, v4_prefix, sizeof v4_prefix);
        memcpy(peer.bytes + V4_AT, &v4.sin_addr, sizeof v4.sin_addr);
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        memcpy(peer.bytes, &v6.sin6_addr, sizeof peer.bytes);
    }
    return peer;
}

bool peer_is_v4(const struct peer *peer) {
    return memcmp(peer->bytes, v4_prefix, sizeof v4_prefix) == 0;
}

bool peer_is_loopback(const struct peer *peer) {
    if (peer_is_v4(peer)) {
        return peer->bytes[V4_AT] == V4_LOOPBACK_NET;
    }
    return memcmp(peer->bytes, &in6addr_loopback, sizeof peer->bytes) == 0;
}

void peer_text(const struct peer *peer, char out[PEER_TEXT_MAX]) {
    const bool is_v4 = peer_is_v4(peer);
    const unsigned char *bytes = is_v4 ? peer->bytes + V4_AT : peer->bytes;
    if (inet_ntop(is_v4 ? AF_INET : AF_INET6, bytes, out, PEER_TEXT_MAX) == NULL) {
        snprintf(out, PEER_TEXT_MAX, "unknown");
    }
}

struct parley_bytes peer_network(const struct peer *peer) {
    const size_t length = peer_is_v4(peer) ? sizeof peer->bytes : (size_t)NETWORK_BYTES;
    return (struct parley_bytes){(const char *)peer->bytes, length};
}
