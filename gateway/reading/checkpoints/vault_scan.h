/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Goes through the headers of an agent's checkpoints, from the oldest on. */

#include "ordered_consumer.h"
#include "vault_place.h"

struct vault_entry {
    char id[AGENT_ID_SIZE];
    uint64_t sequence, size;
    int64_t time_ns;
    bool has_object; /* its state lies in the object store, as <agent>/<id> */
};

struct vault_scan {
    const struct vault_place *place;
    void (*note)(void *context, const struct vault_entry *entry);
    /* All that were stored when it began were noted; or (`error`: half a sentence) it cannot go
     * on. The scan is closed. */
    void (*done)(void *context, const char *error);
    void *context;
    struct ordered_consumer *consumer; /* NULL: it is closed */
};

/* Owns: the caller embeds it, with all but the consumer set, and closes it.
 * Returns: false: no memory. */
bool vault_scan_open(struct vault_scan *scan) PARLEY_MUST_CHECK;
void vault_scan_close(struct vault_scan *scan);

/* Whether the header OBJECT_HEADER names the object that this checkpoint of this agent has, and no
 * other one. */
bool vault_names_object(const struct vault_place *place, const char *id, const char *header);
