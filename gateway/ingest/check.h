/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reaches verdicts on messages, with the options of their request. */

#include <parley/splitter.h>

#include "request_options.h"

/* Checks one message; the verdict stays in gateway_message() until the next one. */
enum parley_status check_message(struct request_options *options, struct parley_bytes bytes,
                                 struct parley_position origin) PARLEY_MUST_CHECK;
/* The same into a message object of the caller's.  Threads: any, while no other thread uses the
 * two. */
enum parley_status check_message_as(struct request_options *options, struct parley_message *message,
                                    struct parley_bytes bytes,
                                    struct parley_position origin) PARLEY_MUST_CHECK;
/* The same of what `splitter` cut out of a body, whole or not. After an element of an array that
 * proves not to be JSON, the splitter hands out nothing more. */
enum parley_status check_slice(struct request_options *options, enum parley_split split,
                               const struct parley_slice *slice,
                               struct parley_splitter *splitter) PARLEY_MUST_CHECK;

/* Writes the first error of an invalid message, "VLP-012 at line 9, column 17: …", and that there
 * are more findings. */
void check_describe(const struct parley_message *message, struct parley_buffer *out);

/* Warns of a valid message that is over what NATS takes (GW-101).  `nats_bytes_max`: of its payload
 * and headers, 0 when it is not known; `scratch`: is written to.
 * Threads: any, while no other thread uses the message and the buffer. */
enum parley_status check_warn_of_size(const struct request_options *options,
                                      struct parley_message *message, size_t number,
                                      size_t nats_bytes_max,
                                      struct parley_buffer *scratch) PARLEY_MUST_CHECK;
