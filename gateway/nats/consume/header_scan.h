/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Goes through the headers of the messages that a stream has on one subject, from the oldest on. */

#include "ordered_consumer.h"

struct header_scan {
    struct jetstream *jetstream;
    const char *stream, *subject;
    /* A message without its payload. Not to be closed from here. */
    void (*note)(void *context, const struct jetstream_stored *stored);
    /* All that were stored when it began were noted; or (`error`: half a sentence) it cannot go
     * on. The scan is closed. */
    void (*done)(void *context, const char *error);
    void *context;
    struct ordered_consumer *consumer; /* private; NULL: it is closed */
};

/* Owns: the caller embeds it, with all but the consumer set, and closes it.
 * Returns: false: no memory. */
bool header_scan_open(struct header_scan *scan) PARLEY_MUST_CHECK;
void header_scan_close(struct header_scan *scan);
