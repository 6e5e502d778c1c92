/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A message that was refused and kept (--quarantine, ADR 16), as an event. Private to streams/. */

#include "stream_event.h"

/* Renders a message of the channel of refused messages as parley.rejected: the payload, and the
 * members from its headers. Any client may publish to NATS, so that neither is trusted.  `text`:
 * empty, for use here. Returns: as stream_render. */
struct stream_event *stream_rejected_render(const struct channel *channel, const char *created,
                                            const struct jetstream_stored *stored,
                                            struct parley_buffer *text);
