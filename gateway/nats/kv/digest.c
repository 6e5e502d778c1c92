/* SPDX-License-Identifier: Apache-2.0 */

#include "digest.h"

#include <string.h>

#include <sodium.h>

/* The payload comes after the length of the author's name, so that no two pairs give equal bytes.
 * It contains no secret, so that sodium_bin2hex, which takes three times as long, is not needed. */
void digest_write(struct parley_bytes author, struct parley_bytes payload,
                  char out[DIGEST_LENGTH + 1]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[DIGEST_LENGTH / 2];
    const unsigned char *bytes = (const unsigned char *)payload.data;
    if (author.data == NULL) {
        crypto_generichash(hash, sizeof hash, bytes, payload.length, NULL, 0);
    } else {
        crypto_generichash_state state;
        const unsigned char length = (unsigned char)author.length; /* 255 at most */
        crypto_generichash_init(&state, NULL, 0, sizeof hash);
        crypto_generichash_update(&state, &length, 1);
        crypto_generichash_update(&state, (const unsigned char *)author.data, author.length);
        crypto_generichash_update(&state, bytes, payload.length);
        crypto_generichash_final(&state, hash, sizeof hash);
    }
    for (size_t i = 0; i < sizeof hash; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[DIGEST_LENGTH] = '\0';
}

enum parley_status digest_of_message(struct parley_message *message, char out[DIGEST_LENGTH + 1]) {
    struct parley_bytes same = {0};
    out[0] = '\0';
    if (message->protocol->fingerprint != NULL) {
        PARLEY_TRY(message->protocol->fingerprint(message, &same));
        digest_write((struct parley_bytes){0}, same, out);
    }
    return PARLEY_OK;
}

/* RFC 9562, sections 4 and 5.8: the digits of version and variant replace those of the digest. */
void digest_write_id(const char digest[DIGEST_LENGTH + 1], char out[DIGEST_ID_SIZE]) {
    static const size_t groups[] = {8, 4, 4, 4, 12};
    enum { VERSION_AT = 14, VARIANT_AT = 19 };
    char *at = out;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        memcpy(at, digest, groups[i]);
        digest += groups[i];
        at += groups[i];
        *at++ = '-';
    }
    out[DIGEST_ID_SIZE - 1] = '\0';
    out[VERSION_AT] = '8';
    out[VARIANT_AT] = "89ab"[out[VARIANT_AT] & 3];
}
