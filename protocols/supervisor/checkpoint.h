/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The compressed data of a checkpoint: base64 of zstd of one MessagePack map or JSON object.
 * Source: docs/protocols/supervisor.md#compression. */

#include "walk.h"

/* The limit of decompressed data; decompression stops there. */
#define CHECKPOINT_BYTES_MAX (100u << 20)

struct checkpoint_fault {
    const char *message; /* about `data`; in the arena */
    const char *hint;    /* static; NULL: the rule's */
};

enum checkpoint_result { CHECKPOINT_READ, CHECKPOINT_FAULT, CHECKPOINT_MEMORY };

/* Decompresses `text` into `out`, which is empty. It is decompressed once in constant memory to
 * find its size, since headers are not trusted, and then into one allocation of that size.
 * Memory: also zstd's window (one of more than 128 MiB, zstd's default limit, is a fault). */
enum checkpoint_result checkpoint_unpack(struct parley_bytes text, struct parley_buffer *out,
                                         struct parley_arena *arena,
                                         struct checkpoint_fault *out_fault);

/* Reads the unpacked text, from its first byte to its last, and drives a walk that has begun
 * inside. After a fault the walk's findings are not valid. Owns: nothing of `inside` is borrowed
 * afterwards. */
enum checkpoint_result checkpoint_read(struct parley_bytes inside, struct walk *walk,
                                       struct parley_arena *arena,
                                       struct checkpoint_fault *out_fault);
