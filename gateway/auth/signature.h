/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Public keys and the signatures that they verify. signature.c is the only file of this layer that
 * knows OpenSSL. Source: RFC 7518, sections 3.3, 3.4 and 6; RFC 8037. */

#include <stdbool.h>

#include <parley/bytes.h>
#include <parley/status.h>

enum signature_algorithm {
    SIGNATURE_RS256, /* RSASSA-PKCS1-v1_5 with SHA-256 */
    SIGNATURE_ES256, /* ECDSA with P-256 and SHA-256 */
    SIGNATURE_EDDSA, /* Ed25519 */
    SIGNATURE_ALGORITHM_COUNT,
};

struct signature_key;

/* The numbers of a key, big-endian, as a JWK has them: RSA `n` and `e`, P-256 `x` and `y`, Ed25519
 * `x` alone. */
struct signature_numbers {
    struct parley_bytes first, second;
};

/* Makes a key and checks it: a number that is not of the key's size, a point that is not on the
 * curve, an RSA key of less than 2,048 bits.
 * Returns: PARLEY_OK with *out, or with *out NULL and *out_fault (static), the end of a sentence:
 * "has …". */
enum parley_status signature_key_create(enum signature_algorithm algorithm,
                                        const struct signature_numbers *numbers,
                                        struct signature_key **out,
                                        const char **out_fault) PARLEY_MUST_CHECK;
void signature_key_destroy(struct signature_key *key);

/* Whether `signature` is that of `text`, by the key's own algorithm, whatever a token claims.
 * Threads: any number at a time, for one key. */
enum parley_status signature_verify(const struct signature_key *key, struct parley_bytes text,
                                    struct parley_bytes signature,
                                    bool *out_is_valid) PARLEY_MUST_CHECK;
