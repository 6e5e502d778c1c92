/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The configuration with which a stream is created: for messages, a key-value bucket or an object
 * store, by its entry in jetstream_options. It asks nothing. Private to nats/. */

#include <jansson.h>

#include "jetstream_state.h"

/* Whether all that it depends on is known: how long the messages are kept that a bucket outlives,
 * and that the stream which it needs can be used. */
bool jetstream_config_is_known(const struct jetstream_check *check);
/* Whether parley has made a stream of this configuration, by its description. */
bool jetstream_config_is_ours(const json_t *config);
/* The configuration for STREAM.CREATE, once it is known.  Owns: returns a new reference; NULL
 * without memory. */
json_t *jetstream_config_of(const struct jetstream_check *check);
