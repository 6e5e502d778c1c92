/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A large message that is checked, and made ready for what follows, by the worker pool instead of
 * on the reactor: 100 MiB of JSON take seconds (docs/adr/0008). */

#include "worker_pool.h"
#include "ingest.h"

/* From here on a message is one. What it takes at worst below that, 30 ms, others can wait. */
#define OFFLOAD_BYTES_MIN (256u * 1024)

struct offload {
    struct worker_pool_task task;
    struct request_options options; /* a copy, but for its texts, which are borrowed … */
    struct parley_slice slice;      /* … like the bytes: they stay, unchanged, until `done` */
    void (*done)(struct offload *offload, void *context);
    void *context;
    size_t nats_bytes_max;     /* what NATS takes; 0: not known */
    LIST_ENTRY(offload) links; /* of the gateway's, until `done` */

    /* What came of it. */
    struct parley_message message;
    enum parley_status status; /* of the check */
    bool is_prepared;          /* it is valid, and the following says what is to be sent */
    enum parley_status prepared;
    struct parley_buffer payload; /* for NATS, or the message in the encoding that is asked for */
    struct publication publication;
};

/* Begins; `done` follows in a later turn. What came of it borrows the bytes for as long as it is
 * looked at.  Returns: NULL when there is no memory, or no worker pool. */
struct offload *offload_begin(const struct request_options *options,
                              const struct parley_slice *slice,
                              void (*done)(struct offload *offload, void *context), void *context);
/* Gives it back, which may take as long. NULL is fine. */
void offload_release(struct offload *offload);
/* When the gateway's completion queue is closed: `done` of all that are not done, with a failure.
 */
void offloads_abandon(struct gateway *gateway);
