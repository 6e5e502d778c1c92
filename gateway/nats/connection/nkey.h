/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* NATS writes an Ed25519 key as text: base32 of a prefix for its kind, the key, and a checksum.
 * nats.c signs with a seed, but must be given the public key. Source: github.com/nats-io/nkeys. */

#include <stdbool.h>

#include <parley/bytes.h>

enum { NKEY_TEXT_SIZE = 57 }; /* a public key, with a NUL */

/* Finds the seed of a user (SU…) in the text of a file, which may have other lines, and writes the
 * public key (U…) that belongs to it.
 * Returns: false if there is none. */
bool nkey_read_public(struct parley_bytes text, char out[NKEY_TEXT_SIZE]);
