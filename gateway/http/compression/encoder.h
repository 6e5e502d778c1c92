/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Compresses one stream of bytes, piece by piece, so that each piece can be read as soon as it has
 * arrived. It holds no bytes between two pieces. */

#include <sys/types.h>

#include "coding.h"

struct encoder;

/* The fewest bytes of output that encoder_write is called with. */
#define ENCODER_OUTPUT_MIN 128u

/* `coding`: CODING_GZIP or CODING_ZSTD.  Owns: `quota` is borrowed until encoder_destroy.
 * Returns: PARLEY_E_LIMIT if the quota has no room; PARLEY_E_MEMORY. */
enum parley_status encoder_create(enum coding coding, struct coding_quota *quota,
                                  struct encoder **out) PARLEY_MUST_CHECK;
void encoder_destroy(struct encoder *encoder);

enum coding encoder_coding(const struct encoder *encoder);

/* The most that `length` bytes in one piece can become, with the end of the stream. */
size_t encoder_bound(size_t length);
/* How many bytes a piece may have to become `size` bytes at most.  `size`: ENCODER_OUTPUT_MIN at
 * least. */
size_t encoder_room(size_t size);

/* Compresses a piece of at most encoder_room(size) bytes into `out`.  `is_last`: writes the end of
 * the stream too; no further call is allowed.  Returns: the number of bytes written, or -1 if there
 * is no memory. */
ssize_t encoder_write(struct encoder *encoder, struct parley_bytes piece, bool is_last, char *out,
                      size_t size);
