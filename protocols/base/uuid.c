/* SPDX-License-Identifier: Apache-2.0 */

#include "uuid.h"

#include <sodium.h>

enum { UUID_BYTES = 16 };

void uuid_of_digest(const char *kind, struct parley_bytes name, char out[UUID_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)kind, strlen(kind) + 1);
    crypto_hash_sha256_update(&state, (const unsigned char *)name.data, name.length);
    crypto_hash_sha256_final(&state, hash);
    hash[6] = (unsigned char)(0x40 | (hash[6] & 0x0F)); /* RFC 9562, section 5.4 */
    hash[8] = (unsigned char)(0x80 | (hash[8] & 0x3F));
    size_t length = 0;
    for (size_t i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            out[length++] = '-';
        }
        out[length++] = digits[hash[i] >> 4];
        out[length++] = digits[hash[i] & 15];
    }
    out[length] = '\0';
}
