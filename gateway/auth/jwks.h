/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The public keys of a JWK set (RFC 7517) that can verify tokens: RSA for RS256, P-256 for ES256,
 * Ed25519 for EdDSA. A set does not change once it is read, so threads share it. */

#include <parley/buffer.h>

#include "signature.h"

enum {
    JWKS_BYTES_MAX = 256 * 1024,
    JWKS_KEYS_MAX = 64,
    JWKS_ERROR_MAX = 200,
};

struct jwks;

/* Reads a set. A key that cannot verify a token (of another kind or use, too short) is kept with
 * the reason, since a set may serve others too; a set without any key that can, or with a private
 * key, is refused.
 * Returns: PARLEY_OK; PARLEY_E_UNSUPPORTED with `error`, a sentence that says how to fix it and
 * quotes no key; PARLEY_E_MEMORY. A failed allocation of jansson ends the process
 * (docs/errors.md). */
enum parley_status jwks_read(struct parley_bytes text, struct jwks **out,
                             char error[JWKS_ERROR_MAX]) PARLEY_MUST_CHECK;

/* As jwks_read, from a file, which others may read but not write. `error` is appended to. */
struct jwks *jwks_read_file(const char *path, struct parley_buffer *error);

/* It lives until its last reference is dropped.  Threads: any.  NULL is allowed. */
struct jwks *jwks_ref(struct jwks *jwks);
void jwks_unref(struct jwks *jwks);

/* "key 2 has fewer than 2,048 bits", of the keys that are not used; NULL after the last one.
 * `number` from 0. */
const char *jwks_remark(const struct jwks *jwks, size_t number);

/* The key that a token names. `kid` NULL data: the only key of that algorithm.
 * Returns: borrowed; NULL with *out_fault (static), the end of a sentence about the token. */
const struct signature_key *jwks_find(const struct jwks *jwks, struct parley_bytes kid,
                                      enum signature_algorithm algorithm, const char **out_fault);

/* Finds an algorithm such as "RS256".  Returns: whether it is supported; `none`, HS256 and the like
 * are not. */
bool jwks_algorithm(struct parley_bytes name, enum signature_algorithm *out);
