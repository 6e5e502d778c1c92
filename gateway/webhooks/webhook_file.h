/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file of --webhooks (docs/webhooks.md): YAML, a section for each webhook. It has secrets: one
 * that others can read or write is refused. */

#include <parley/arena.h>
#include <parley/buffer.h>

#include "webhook.h"

enum { WEBHOOKS_MAX = 32 };

/* Owns: the texts of its webhooks are its own. Zeroed, it is empty. */
struct webhook_file {
    struct webhook webhooks[WEBHOOKS_MAX];
    size_t count;
    struct parley_arena texts;
};

/* Reads it into `out`, which is empty and must be finished in any case.
 * Returns: false, with a sentence for each mistake, without a full stop, in `error`, which is empty
 * at first. */
bool webhook_file_read(const char *path, struct webhook_file *out, struct parley_buffer *error);
void webhook_file_finish(struct webhook_file *file);

/* Returns: NULL if there is none of that name. */
const struct webhook *webhook_file_find(const struct webhook_file *file, const char *name);
