/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reaches verdicts on messages, with the options of their request. */

#include <parley/splitter.h>

#include "kept_message.h"

/* Checks one message; the verdict stays in gateway_message() until the next one. */
enum parley_status check_message(struct request_options *options, struct parley_bytes bytes,
                                 struct parley_position origin) PARLEY_MUST_CHECK;
/* The object that holds the verdict. `kept` NULL: gateway_message(). */
struct parley_message *check_object(const struct request_options *options,
                                    struct kept_message *kept);
/* check_message in that object. */
enum parley_status check_message_in(struct request_options *options, struct kept_message *kept,
                                    struct parley_bytes bytes,
                                    struct parley_position origin) PARLEY_MUST_CHECK;
/* Checks a message of this request once more. It is the same message: `stamped` has the values
 * filled in the first time (options->stamped, then). */
enum parley_status check_message_again(struct request_options *options, struct parley_bytes bytes,
                                       struct parley_position origin,
                                       const struct stamped_values *stamped) PARLEY_MUST_CHECK;
/* check_message into a message object of the caller's.  Threads: any, while no other thread uses
 * the two. */
enum parley_status check_message_as(struct request_options *options, struct parley_message *message,
                                    struct parley_bytes bytes,
                                    struct parley_position origin) PARLEY_MUST_CHECK;
/* check_message_in of what `splitter` cut out of a body, whole or not. After an element of an array
 * that proves not to be JSON, the splitter hands out nothing more. */
enum parley_status check_slice(struct request_options *options, struct kept_message *kept,
                               enum parley_split split, const struct parley_slice *slice,
                               struct parley_splitter *splitter) PARLEY_MUST_CHECK;

/* The faults of an invalid message.  Owns: borrowed from the message. */
const struct parley_finding *check_first_error(const struct parley_message *message);

/* Whether it is refused because its sender may not send it (GW-102). */
bool check_is_forbidden(const struct parley_message *message);

/* Writes the first error of an invalid message, "VLP-012 at line 9, column 17: …", and that there
 * are more findings. */
void check_describe(const struct parley_message *message, struct parley_buffer *out);

/* The size of a message in NATS, with its headers. */
struct published_size {
    size_t bytes;        /* SIZE_MAX: more than on any subject */
    const char *subject; /* borrowed from the message; NULL: its size does not matter */
};
/* The largest size that NATS takes, headers and payload together; 0 if it is not known. */
struct size_limits {
    size_t least; /* on any subject */
    size_t most;  /* max_payload */
};

/* As they are now.  Threads: the gateway's reactor. */
struct size_limits check_size_limits(const struct gateway *gateway);

/* Finds the size of a valid message, which is encoded only if it may be over the least limit.
 * `scratch`: is written to.
 * Threads: any, while no other thread uses the message and the buffer. */
enum parley_status check_size(const struct request_options *options, struct parley_message *message,
                              size_t number, const struct size_limits *limits,
                              struct parley_buffer *scratch,
                              struct published_size *out) PARLEY_MUST_CHECK;
/* Warns of a valid message that is larger than NATS takes on its subject (GW-101). */
enum parley_status check_warn_of_size(const struct request_options *options,
                                      struct parley_message *message,
                                      const struct published_size *size) PARLEY_MUST_CHECK;
