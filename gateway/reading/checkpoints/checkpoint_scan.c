/* SPDX-License-Identifier: Apache-2.0 */

/* See checkpoint_scan.h. Any client may publish to NATS: a message whose header names the object of
 * another agent or checkpoint is passed over. */

#include "checkpoint_scan.h"

#include <stdlib.h>

bool stored_checkpoint_names_object(const struct checkpoint_scope *scope, const char *id,
                                    const char *header) {
    char name[OBJECT_NAME_MAX];
    return object_name_write(parley_bytes_of(scope->agent), parley_bytes_of(id), name) &&
           strcmp(name, header) == 0;
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
    stored_id(jetstream_stored_header(stored, STORED_ID_HEADER), stored->sequence, entry.id);
    if (object == NULL || stored_checkpoint_names_object(scan->scope, entry.id, object)) {
        scan->note(scan->context, &entry);
    }
}

static void on_done(void *context, const char *error) {
    const struct checkpoint_scan *scan = context;
    scan->done(scan->context, error);
}

bool checkpoint_scan_open(struct checkpoint_scan *scan) {
    const struct checkpoint_scope *scope = scan->scope;
    scan->headers = (struct header_scan){.jetstream = scope->checkpoints->jetstream,
                                         .stream = scope->stream,
                                         .subject = scope->subject,
                                         .note = on_stored,
                                         .done = on_done,
                                         .context = scan};
    return header_scan_open(&scan->headers);
}

void checkpoint_scan_close(struct checkpoint_scan *scan) {
    header_scan_close(&scan->headers);
}
