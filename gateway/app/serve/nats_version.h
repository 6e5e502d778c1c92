/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Logs the version of nats-server. */

#include <stdatomic.h>

#include "jetstream.h"

/* Each worker calls it when its streams were found. `told`: shared, 0 at first: the version that
 * was logged last, so that it is logged once and again with each change. Warns of a version that
 * loses acknowledged messages of streams with several copies.  Threads: any worker's. */
void nats_version_tell(const struct jetstream *jetstream, atomic_uint *told);
