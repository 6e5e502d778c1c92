/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* MessagePack in all the ways in which one message can be written, and in some that are wrong. */

#include <jansson.h>

#include <parley/buffer.h>

#include "random.h"

/* Appends a tree: each value under one of the heads that can bear it, whole numbers as integers or
 * floats, some strings as bin; and, seldom, something that no message may have. */
void pack_randomly(struct random_source *source, const json_t *tree, struct parley_buffer *out);

/* Changes, drops or inserts a few bytes, or cuts what is behind them. */
void damage_bytes(struct random_source *source, struct parley_buffer *bytes);
