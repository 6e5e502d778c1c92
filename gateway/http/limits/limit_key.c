/* SPDX-License-Identifier: Apache-2.0 */

#include "limit_key.h"

#include <sodium.h>

_Static_assert(LIMIT_SECRET_BYTES == crypto_shorthash_siphashx24_KEYBYTES, "SipHash's key");
_Static_assert(sizeof(struct limit_key) == crypto_shorthash_siphashx24_BYTES, "SipHash's value");

void limit_secret_draw(struct limit_secret *secret) {
    randombytes_buf(secret->bytes, sizeof secret->bytes);
}

struct limit_key limit_key_of(const struct limit_secret *secret, struct parley_bytes name) {
    struct limit_key key;
    crypto_shorthash_siphashx24((unsigned char *)&key, (const unsigned char *)name.data,
                                name.length, secret->bytes);
    return key;
}
