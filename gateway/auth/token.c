/* SPDX-License-Identifier: Apache-2.0 */

#include "token.h"

#include <stdint.h>

#include <sodium.h>

enum {
    RANDOM_BYTES = 32,
    RANDOM_DIGITS = 43, /* 62^43 > 2^256 */
    CHECKSUM_DIGITS = 6,
    BASE = 62,
};

static const char prefix[] = "parley_";
static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

_Static_assert(sizeof prefix - 1 + RANDOM_DIGITS + CHECKSUM_DIGITS == TOKEN_LENGTH, "its parts");
_Static_assert(sizeof digits - 1 == BASE, "one each");

/* CRC-32 as in zlib: not for secrecy, but so that any scanner can verify it. */
static uint32_t checksum(const char *text, size_t length) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < length; i++) {
        crc ^= (unsigned char)text[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
        }
    }
    return ~crc;
}

static void write_checksum(const char *text, size_t length, char out[CHECKSUM_DIGITS]) {
    uint32_t left = checksum(text, length);
    for (size_t i = CHECKSUM_DIGITS; i > 0; i--) {
        out[i - 1] = digits[left % BASE];
        left /= BASE;
    }
}

/* The last digit of the number in `bytes`, the most significant first, which is divided by 62. */
static char take_digit(unsigned char bytes[RANDOM_BYTES]) {
    unsigned rest = 0;
    for (size_t i = 0; i < RANDOM_BYTES; i++) {
        rest = rest << 8 | bytes[i];
        bytes[i] = (unsigned char)(rest / BASE);
        rest %= BASE;
    }
    return digits[rest];
}

void token_new(char out[TOKEN_LENGTH + 1]) {
    unsigned char bytes[RANDOM_BYTES];
    const size_t start = sizeof prefix - 1, end = start + RANDOM_DIGITS;
    randombytes_buf(bytes, sizeof bytes);
    memcpy(out, prefix, start);
    for (size_t i = end; i > start; i--) {
        out[i - 1] = take_digit(bytes);
    }
    write_checksum(out, end, out + end);
    out[TOKEN_LENGTH] = '\0';
}

bool token_is_whole(struct parley_bytes text) {
    char expected[CHECKSUM_DIGITS];
    const size_t end = TOKEN_LENGTH - CHECKSUM_DIGITS;
    if (text.length != TOKEN_LENGTH || memcmp(text.data, prefix, sizeof prefix - 1) != 0) {
        return false;
    }
    write_checksum(text.data, end, expected);
    return memcmp(text.data + end, expected, sizeof expected) == 0;
}

void token_hash(struct parley_bytes token, unsigned char out[TOKEN_HASH_BYTES]) {
    crypto_generichash(out, TOKEN_HASH_BYTES, (const unsigned char *)token.data, token.length, NULL,
                       0);
}

/* After a NUL, which no header can have. */
void token_hash_certificate(const char *name, unsigned char out[TOKEN_HASH_BYTES]) {
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, TOKEN_HASH_BYTES);
    crypto_generichash_update(&state, (const unsigned char *)"", 1);
    crypto_generichash_update(&state, (const unsigned char *)name, strlen(name));
    crypto_generichash_final(&state, out, TOKEN_HASH_BYTES);
}
