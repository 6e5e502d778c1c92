/* SPDX-License-Identifier: Apache-2.0 */

/* See checkpoint_scan.h. Any client may publish to NATS: a message whose header names the object of
 * another agent or checkpoint is passed over. */

#include "checkpoint_scan.h"

#include <stdlib.h>

enum { PULL_COUNT = 256, PULL_BYTES = 256 * 1024 };

bool stored_checkpoint_names_object(const struct checkpoint_scope *scope, const char *id,
                                    const char *header) {
    char name[OBJECT_NAME_MAX];
    return object_name_write(parley_bytes_of(scope->agent), parley_bytes_of(id), name) &&
           strcmp(name, header) == 0;
}

static void pull(struct checkpoint_scan *scan) {
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

static uint64_t number_of(const struct jetstream_stored *stored, const char *name) {
    const char *text = jetstream_stored_header(stored, name);
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static void on_stored(void *context, const struct jetstream_stored *stored) {
    const struct checkpoint_scan *scan = context;
    const char *object = jetstream_stored_header(stored, OBJECT_HEADER);
    struct scanned_checkpoint entry = {
        .sequence = stored->sequence,
        .time_ns = stored->time_ns,
        .has_object = object != NULL,
        .size = number_of(stored, object != NULL ? OBJECT_SIZE_HEADER : "Nats-Msg-Size")};
    agent_message_id(jetstream_stored_header(stored, "ce-id"), stored->sequence, entry.id);
    if (object == NULL || stored_checkpoint_names_object(scan->scope, entry.id, object)) {
        scan->note(scan->context, &entry);
    }
}

static void on_current(void *context) {
    struct checkpoint_scan *scan = context;
    checkpoint_scan_close(scan);
    scan->done(scan->context, NULL);
}

static void on_refused(void *context, const char *error) {
    struct checkpoint_scan *scan = context;
    scan->done(scan->context, error);
}

bool checkpoint_scan_open(struct checkpoint_scan *scan) {
    const struct jetstream_start start = {.from = JETSTREAM_FROM_SEQUENCE,
                                          .sequence = 1,
                                          .filter = scan->scope->subject,
                                          .is_headers_only = true};
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_stored,
                                                   .pull_ended = on_pull_ended,
                                                   .refused = on_refused,
                                                   .current = on_current,
                                                   .context = scan};
    return ordered_consumer_open(scan->scope->checkpoints->jetstream, scan->scope->stream, start,
                                 ORDERED_REPLAY, &events, &scan->consumer) == PARLEY_OK;
}

void checkpoint_scan_close(struct checkpoint_scan *scan) {
    ordered_consumer_close(scan->consumer);
    scan->consumer = NULL;
}
