/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which messages of a protocol may be larger than NATS takes: one of their members is then kept in
 * an object store, and the message has a pointer in its place (docs/adr/0031). */

#include <parley/buffer.h>

struct parley_message;
struct parley_option;

struct parley_objects {
    const char *bucket;               /* of the object store */
    const struct parley_option *keep; /* of protocol->options, a count: how many objects of an agent
                                         are kept */
    unsigned days;                    /* for how long it keeps an object */
    unsigned type;                    /* of the messages: index into protocol->types */
    const char *member;               /* top-level key of the member */
    /* Appends, as JSON, the message by which the other side acknowledges that such a message is
     * stored, up to the value of its last member, the id; that and a closing brace follow. It is
     * valid, and the same for the same message.  `size`: in bytes, of the stored message.  NULL if
     * the protocol has no such message. */
    void (*begin_ack)(const struct parley_message *stored, size_t size, struct parley_buffer *out);
};
