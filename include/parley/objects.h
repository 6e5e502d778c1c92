/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Which messages of a protocol may be larger than NATS takes: a member of theirs then lies in an
 * object store, and the message has a pointer in its place (docs/adr/0031). */

struct parley_objects {
    const char *bucket; /* of the object store */
    unsigned days;      /* for how long it keeps an object */
    unsigned type;      /* of the messages: index into protocol->types */
    const char *member; /* top-level key of the member */
};
