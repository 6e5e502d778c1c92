/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A large message that is checked, and prepared for the next steps, by the worker pool instead of
 * on the reactor: 100 MiB of JSON take seconds (docs/adr/0008). */

#include "check.h"
#include "object_upload.h"
#include "worker_pool.h"

/* A message is large from here on. A smaller one takes 30 ms at worst, which others can wait. */
#define OFFLOAD_BYTES_MIN (256u * 1024)

struct offload {
    struct worker_pool_task task;
    struct request_options options; /* a copy, but for its texts, which are borrowed … */
    struct parley_slice slice;      /* … like the bytes: they stay, unchanged, until `done` */
    void (*done)(struct offload *offload, void *context);
    void *context;
    struct size_limits limits;
    size_t object_upload_limit;
    LIST_ENTRY(offload) links; /* of the gateway's, until `done` */

    /* The result. */
    struct parley_message message;
    enum parley_status status;  /* of the check */
    int64_t check_ns;           /* that it took; 0: there was none */
    struct published_size size; /* in a verdict */
    bool is_prepared;           /* it is valid, and the members below are for sending */
    enum parley_status prepared;
    struct parley_buffer payload; /* for NATS, or the message in the encoding that is asked for */
    struct publication publication;
    struct object_upload deposit; /* what of it goes to the object store */
};

/* Begins, if the message is large; `done` follows in a later turn. The result borrows the bytes
 * until offload_release.  Returns: NULL when it is not large, or there is no memory or no worker
 * pool: the caller checks it. */
struct offload *offload_begin(const struct request_options *options,
                              const struct parley_slice *slice,
                              void (*done)(struct offload *offload, void *context), void *context);
/* Frees it, on the worker pool, since that may take as long as the check. NULL is fine. */
void offload_release(struct offload *offload);
/* When the gateway's completion queue is closed: calls `done` of all that are not done, with a
 * failure. */
void offloads_abandon(struct gateway *gateway);
