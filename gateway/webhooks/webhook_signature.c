/* SPDX-License-Identifier: Apache-2.0 */

#include "webhook_signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

void webhook_id_write(const char *event, struct parley_bytes stream, uint64_t sequence,
                      int64_t time_ns, char out[WEBHOOK_ID_SIZE]) {
    static const char prefix[] = "msg_";
    unsigned char hash[16];
    char place[96];
    crypto_generichash_state state;
    snprintf(place, sizeof place, "%s %" PRIu64 " %" PRId64 " ", event, sequence, time_ns);
    crypto_generichash_init(&state, NULL, 0, sizeof hash);
    crypto_generichash_update(&state, (const unsigned char *)place, strlen(place));
    crypto_generichash_update(&state, (const unsigned char *)stream.data, stream.length);
    crypto_generichash_final(&state, hash, sizeof hash);
    memcpy(out, prefix, sizeof prefix);
    sodium_bin2hex(out + sizeof prefix - 1, WEBHOOK_ID_SIZE - (sizeof prefix - 1), hash,
                   sizeof hash);
}

static void sign_one(const struct webhook_secret *secret, struct parley_bytes head,
                     struct parley_bytes body, struct parley_buffer *out) {
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    char text[sodium_base64_ENCODED_LEN(sizeof mac, sodium_base64_VARIANT_ORIGINAL)];
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, secret->bytes, secret->length);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)head.data, head.length);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)body.data, body.length);
    crypto_auth_hmacsha256_final(&state, mac);
    sodium_bin2base64(text, sizeof text, mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
    parley_buffer_text(out, "v1,");
    parley_buffer_text(out, text);
}

void webhook_sign(const struct webhook *webhook, const char *id, int64_t timestamp_s,
                  struct parley_bytes body, struct parley_buffer *out) {
    char head[128];
    snprintf(head, sizeof head, "%s.%" PRId64 ".", id, timestamp_s);
    for (size_t i = 0; i < webhook->secret_count; i++) {
        parley_buffer_text(out, i > 0 ? " " : "");
        sign_one(&webhook->secrets[i], parley_bytes_of(head), body, out);
    }
}
