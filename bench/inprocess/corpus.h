/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A file in memory, worked through again and again: how contenders that need no server are
 * measured. It exits when something fails. */

#include <stddef.h>
#include <stdint.h>

struct corpus {
    char *data;
    size_t length;
};

struct corpus corpus_open(const char *file);
void corpus_close(struct corpus *corpus);

/* Works through all of it once. Returns: how many messages there were. */
typedef uint64_t corpus_work_fn(void *context, const struct corpus *corpus);

/* Calls `work` for a moment to warm up, then for `seconds` (text), and prints as one line of JSON
 * how many messages and bytes went by, and the seconds of the clock and of the processor. */
void corpus_measure(const struct corpus *corpus, const char *seconds, corpus_work_fn *work,
                    void *context);
