/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The digest by which messages are compared (Parley-Digest): BLAKE2b of 128 bits, in lower-case
 * hexadecimal. */

#include <parley/message.h>

enum { DIGEST_LENGTH = 32, DIGEST_ID_SIZE = 37 };

/* Writes the digest of a payload and, where only the request names it, of its author.  `author`: at
 * most 255 bytes; data NULL if the payload names it. */
void digest_write(struct parley_bytes author, struct parley_bytes payload,
                  char out[DIGEST_LENGTH + 1]);
/* Writes the digest of the parts of a valid message that its protocol compares; "" where it
 * compares nothing. */
enum parley_status digest_of_message(struct parley_message *message,
                                     char out[DIGEST_LENGTH + 1]) PARLEY_MUST_CHECK;
/* Writes the UUID of version 8 that a digest makes. */
void digest_write_id(const char digest[DIGEST_LENGTH + 1], char out[DIGEST_ID_SIZE]);
