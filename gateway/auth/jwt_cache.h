/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The principals of JWTs that one worker has verified: many connections of one client cost one
 * verification. It has room for JWT_CACHE_COUNT; a new one replaces the one that was used longest
 * ago among a few. Refused tokens are not kept. */

#include "principal.h"

enum {
    JWT_CACHE_COUNT = 1024,
    JWT_DIGEST_BYTES = 32, /* BLAKE2b of the token */
};

struct jwt_cache;

/* Returns: NULL when there is no memory. */
struct jwt_cache *jwt_cache_create(void);
void jwt_cache_destroy(struct jwt_cache *cache);

/* Returns: a reference for the caller; NULL if the token was not verified with this generation of
 * keys, has expired at `now_s`, or its place was taken. */
struct principal *jwt_cache_find(struct jwt_cache *cache,
                                 const unsigned char digest[JWT_DIGEST_BYTES], uint64_t generation,
                                 int64_t now_s);

/* Takes a reference to `principal`, whose token was verified and is not there. */
void jwt_cache_add(struct jwt_cache *cache, const unsigned char digest[JWT_DIGEST_BYTES],
                   uint64_t generation, struct principal *principal);
