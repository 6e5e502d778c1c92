/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Goes through the headers of an agent's checkpoints, from the oldest on. */

#include "header_scan.h"
#include "checkpoint_scope.h"

struct scanned_checkpoint {
    char id[STORED_ID_SIZE];
    uint64_t sequence, size;
    int64_t time_ns;
    bool has_object; /* its state is in the object store, as <agent>/<id> */
};

struct checkpoint_scan {
    const struct checkpoint_scope *scope;
    void (*note)(void *context, const struct scanned_checkpoint *entry);
    /* All that were stored when it began were noted; or (`error`: half a sentence) it cannot go
     * on. The scan is closed. */
    void (*done)(void *context, const char *error);
    void *context;
    struct header_scan headers; /* private */
};

/* Owns: the caller embeds it, with all that is not private set, and closes it.
 * Returns: false: no memory. */
bool checkpoint_scan_open(struct checkpoint_scan *scan) PARLEY_MUST_CHECK;
void checkpoint_scan_close(struct checkpoint_scan *scan);

/* Whether the header OBJECT_HEADER names the object that this checkpoint of this agent has, and no
 * other one. */
bool stored_checkpoint_names_object(const struct checkpoint_scope *scope, const char *id,
                                    const char *header);
