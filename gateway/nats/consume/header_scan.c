/* SPDX-License-Identifier: Apache-2.0 */

#include "header_scan.h"

enum { PULL_COUNT = 256, PULL_BYTES = 256 * 1024 };

static void pull(struct header_scan *scan) {
    if (scan->consumer != NULL) {
        ordered_consumer_pull(scan->consumer, PULL_COUNT, PULL_BYTES);
    }
}

static void on_opened(void *context, uint64_t next_sequence) {
    (void)next_sequence;
    pull(context);
}

static void on_pull_ended(void *context) {
    pull(context);
}

static void on_stored(void *context, const struct jetstream_stored *stored) {
    const struct header_scan *scan = context;
    scan->note(scan->context, stored);
}

static void on_current(void *context) {
    struct header_scan *scan = context;
    header_scan_close(scan);
    scan->done(scan->context, NULL);
}

static void on_refused(void *context, const char *error) {
    struct header_scan *scan = context;
    header_scan_close(scan);
    scan->done(scan->context, error);
}

bool header_scan_open(struct header_scan *scan) {
    const struct jetstream_start start = {.from = JETSTREAM_FROM_SEQUENCE,
                                          .sequence = 1,
                                          .filter = scan->subject,
                                          .is_headers_only = true};
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_stored,
                                                   .pull_ended = on_pull_ended,
                                                   .refused = on_refused,
                                                   .current = on_current,
                                                   .context = scan};
    return ordered_consumer_open(scan->jetstream, scan->stream, start, ORDERED_REPLAY, &events,
                                 &scan->consumer) == PARLEY_OK;
}

void header_scan_close(struct header_scan *scan) {
    ordered_consumer_close(scan->consumer);
    scan->consumer = NULL;
}
