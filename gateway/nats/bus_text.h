/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What bus.c writes: only it includes this. bus_headers_bytes is in bus.h. */

#include <parley/buffer.h>

#include "bus.h"

/* The library checks nothing, and a blank or a line's end in a subject would be protocol. */
bool bus_subject_can_be(const char *subject);

/* Writes as many bytes as bus_headers_bytes says, for which there is room.
 * Returns: whether they can be headers. */
bool bus_headers_write(struct parley_buffer *out, const struct bus_header *headers,
                       size_t header_count);
