/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The form of a token: `parley_`, 43 digits of base 62 (256 random bits), and 6 that are a checksum
 * of all before them, so that programs that search for leaked secrets recognise one offline:
 * parley_[0-9A-Za-z]{49} (docs/api.md#access). */

#include <stdbool.h>

#include <parley/bytes.h>

enum { TOKEN_LENGTH = 56, TOKEN_HASH_BYTES = 32 };

/* Writes a new token and its NUL.  sodium_init() has been called.  Threads: any. */
void token_new(char out[TOKEN_LENGTH + 1]);

/* Whether it has the form of a token, with its checksum: if not, it was mistyped or cut off. */
bool token_is_whole(struct parley_bytes text);

/* Writes the hash that is kept of a token: BLAKE2b. A slow hash, as passwords need, would add
 * nothing: no attacker can try 2^256 tokens. */
void token_hash(struct parley_bytes token, unsigned char out[TOKEN_HASH_BYTES]);

/* Writes the hash for the name of a client's certificate, which stands for a token: the hash of no
 * text that a sender can show. */
void token_hash_certificate(const char *name, unsigned char out[TOKEN_HASH_BYTES]);
