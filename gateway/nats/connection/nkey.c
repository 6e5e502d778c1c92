/* SPDX-License-Identifier: Apache-2.0 */

#include "nkey.h"

#include <stdint.h>

#include <sodium.h>

enum {
    SEED_TEXT_LENGTH = 58,
    SEED_BYTES = 2 + crypto_sign_SEEDBYTES + 2, /* two prefixes, the seed, a checksum */
    PUBLIC_BYTES = 1 + crypto_sign_PUBLICKEYBYTES + 2,
    PREFIX_SEED = 18 << 3, /* S */
    PREFIX_USER = 20 << 3, /* U */
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* CRC-16/XMODEM, stored little-endian after the bytes that it covers. */
static uint16_t checksum(const unsigned char *bytes, size_t length) {
    unsigned sum = 0;
    for (size_t i = 0; i < length; i++) {
        sum ^= (unsigned)bytes[i] << 8;
        for (unsigned bit = 0; bit < 8; bit++) {
            sum = (sum & 0x8000) != 0 ? sum << 1 ^ 0x1021 : sum << 1;
        }
    }
    return (uint16_t)sum;
}

/* 58 digits are 290 bits: 36 bytes and two bits. */
static bool decode_seed(const char *text, unsigned char out[SEED_BYTES]) {
    unsigned bits = 0, bit_count = 0;
    size_t length = 0;
    for (size_t i = 0; i < SEED_TEXT_LENGTH; i++) {
        const char *digit = memchr(digits, text[i], sizeof digits - 1);
        if (digit == NULL) {
            return false;
        }
        bits = bits << 5 | (unsigned)(digit - digits);
        bit_count += 5;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[length++] = (unsigned char)(bits >> bit_count);
            bits &= (1U << bit_count) - 1;
        }
    }
    const uint16_t sum = checksum(out, SEED_BYTES - 2);
    const unsigned kind = (out[0] & 7U) << 5 | out[1] >> 3;
    return (out[0] & 0xf8) == PREFIX_SEED && kind == PREFIX_USER &&
           out[SEED_BYTES - 2] == (sum & 0xff) && out[SEED_BYTES - 1] == sum >> 8;
}

/* 35 bytes are 56 digits. */
static void encode_public(const unsigned char bytes[PUBLIC_BYTES], char out[NKEY_TEXT_SIZE]) {
    unsigned bits = 0, bit_count = 0;
    for (size_t i = 0; i < PUBLIC_BYTES; i++) {
        bits = (bits << 8 | bytes[i]) & 0xffff;
        for (bit_count += 8; bit_count >= 5; bit_count -= 5) {
            *out++ = digits[bits >> (bit_count - 5) & 31];
        }
    }
    *out = '\0';
}

static void write_public(const unsigned char seed[SEED_BYTES], char out[NKEY_TEXT_SIZE]) {
    unsigned char public[PUBLIC_BYTES] = {PREFIX_USER}, secret[crypto_sign_SECRETKEYBYTES];
    crypto_sign_seed_keypair(public + 1, secret, seed + 2);
    sodium_memzero(secret, sizeof secret);
    const uint16_t sum = checksum(public, PUBLIC_BYTES - 2);
    public[PUBLIC_BYTES - 2] = (unsigned char)(sum & 0xff);
    public[PUBLIC_BYTES - 1] = (unsigned char)(sum >> 8);
    encode_public(public, out);
}

bool nkey_read_public(struct parley_bytes text, char out[NKEY_TEXT_SIZE]) {
    bool is_found = false;
    unsigned char seed[SEED_BYTES];
    for (size_t i = 0; !is_found && i + SEED_TEXT_LENGTH <= text.length; i++) {
        is_found = text.data[i] == 'S' && decode_seed(text.data + i, seed);
    }
    if (is_found) {
        write_public(seed, out);
    }
    sodium_memzero(seed, sizeof seed);
    return is_found;
}
