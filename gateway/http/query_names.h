/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The names of a request's query options, to find one that is given twice: it is a guess which of
 * the two would count, and clients, proxies and servers guess differently. */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* More than any request may have that is not refused for one of them: an option that is not known
 * is refused, and so is the second of each that is. */
#define QUERY_NAMES_MAX 64

/* Zero-initialise it. */
struct query_names {
    const char *names[QUERY_NAMES_MAX]; /* borrowed */
    size_t count;
};

/* Returns: whether the name was there before. */
static inline bool query_names_add(struct query_names *seen, const char *name) {
    for (size_t i = 0; i < seen->count; i++) {
        if (strcmp(seen->names[i], name) == 0) {
            return true;
        }
    }
    if (seen->count < QUERY_NAMES_MAX) {
        seen->names[seen->count++] = name;
    }
    return false;
}
