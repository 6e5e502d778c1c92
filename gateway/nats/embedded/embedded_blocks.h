/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The newest file of messages of each stream in a store, a block in nats-server's terms, and
 * whether nats-server has cut off its end when it read it. Private to nats/. */

#include <stddef.h>
#include <stdint.h>

struct embedded_blocks;

/* Notes the newest block of each stream below the folder `store`, which may be missing.
 * Owns: returns a new list; NULL if there is no memory. */
struct embedded_blocks *embedded_blocks_note(const char *store);
/* Calls `cut` for each stream whose newest block is shorter than it was. (Where nats-server makes
 * room in a block, it writes another file.) `stream` is borrowed for the call. */
void embedded_blocks_compare(const struct embedded_blocks *blocks,
                             void (*cut)(void *context, const char *stream, uint64_t bytes),
                             void *context);
/* NULL is allowed. */
void embedded_blocks_free(struct embedded_blocks *blocks);
