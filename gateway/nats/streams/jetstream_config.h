/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a stream is created with: messages, a key-value bucket or an object store, by what it is in
 * jetstream_options. It asks nothing. Private to nats/. */

#include <jansson.h>

#include "jetstream_state.h"

/* Whether all that it depends on is known: how long the messages are kept that a bucket outlives,
 * and that the stream which it needs can be used. */
bool jetstream_config_is_known(const struct jetstream_check *check);
/* Whether parley has made a stream of this configuration, by what its description says. */
bool jetstream_config_is_ours(const json_t *config);
/* For STREAM.CREATE, once it is known.  Owns: returns a new reference; NULL: no memory. */
json_t *jetstream_config_of(const struct jetstream_check *check);
