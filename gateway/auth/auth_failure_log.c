/* SPDX-License-Identifier: Apache-2.0 */

#include "auth_failure_log.h"

#include <sodium.h>

#include "log.h"

enum { QUIET_MS = 60000 };

_Static_assert(sizeof((struct auth_failure_log *)0)->key == crypto_shorthash_KEYBYTES, "a key");

void auth_failure_log_init(struct auth_failure_log *attempts) {
    *attempts = (struct auth_failure_log){0};
    randombytes_buf(attempts->key, sizeof attempts->key);
}

static size_t place_of(const struct auth_failure_log *attempts, const struct peer *peer) {
    unsigned char hash[crypto_shorthash_BYTES];
    const struct parley_bytes network = peer_network(peer);
    crypto_shorthash(hash, (const unsigned char *)network.data, network.length, attempts->key);
    return hash[0] % AUTH_FAILURE_LOG_ADDRESSES;
}

void auth_failure_log_record(struct auth_failure_log *attempts, const struct http_request *request,
                             const char *what, int64_t now_ms) {
    const struct peer *peer = http_request_peer(request);
    const size_t place = place_of(attempts, peer);
    if (now_ms < attempts->places[place].quiet_until_ms) {
        attempts->places[place].unlogged_count++;
        return;
    }
    char address[PEER_TEXT_MAX];
    peer_text(peer, address);
    log_write(LOG_TOKEN_REFUSED, parley_bytes_of(what),
              LOG_FIELDS(LOG_TEXT("request", http_request_id(request)), LOG_TEXT("peer", address),
                         LOG_NUMBER("repeated", attempts->places[place].unlogged_count)));
    attempts->places[place].quiet_until_ms = now_ms + QUIET_MS;
    attempts->places[place].unlogged_count = 0;
}
