/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How many bytes MessagePack takes in its shortest form, which is what msgpack_from_json
 * (msgpack/msgpack_message.h) writes. Pure functions. */

#include <stddef.h>

/* A string, with its head. */
static inline size_t packed_text_bytes(size_t length) {
    return length + (length < 32 ? 1 : length < 256 ? 2 : length < 65536 ? 3 : 5);
}

/* The head of an array or map. */
static inline size_t packed_head_bytes(size_t count) {
    return count < 16 ? 1 : count < 65536 ? 3 : 5;
}

/* true, false or null. */
enum { PACKED_WORD_BYTES = 1 };
