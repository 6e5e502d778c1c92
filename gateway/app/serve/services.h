/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Everything that the addresses of one reactor serve.  Owns: the worker embeds it, creates its
 * parts and destroys them; handlers borrow it. */

#include <stdatomic.h>

#include "gateway.h"
#include "artifacts.h"
#include "checkpoints.h"
#include "index_keeper.h"
#include "index_lists.h"
#include "mcp.h"
#include "tasks.h"

struct follows;

struct services {
    struct gateway gateway; /* messages */
    struct checkpoints checkpoints;
    struct artifacts artifacts;
    struct tasks tasks;
    struct mcp mcp;
    struct streams *streams;
    struct follows *follows;
    struct agents *agents;
    struct index_lists *index_lists;
    const struct index_keeper *index_keeper; /* shared; NULL: no index is kept */
    struct http_server *http;
    const struct describe_pages *pages; /* read-only, shared */
    const struct console *console;      /* as above */
    const atomic_uint *away_count;      /* the workers that NATS is not ready for; NULL: only this
                                           one */
    const struct figures_set *all_figures; /* of all workers, shared; /metrics needs it */
};
