/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What most tests of libparley begin with: a protocol, its schema, messages of it and room for what
 * is made of them. */

#include <parley/buffer.h>
#include <parley/message.h>

struct message_fixture {
    const struct parley_protocol *protocol;
    struct parley_schema *schema;
    struct parley_message message, other;
    struct parley_options options; /* none */
    struct parley_route route;
    struct parley_buffer out, second, wanted;
};

/* For a group or for each test; the state is a struct message_fixture. */
int message_set_up_brenner(void **state);
int message_set_up_roundtable(void **state);
int message_set_up_supervisor(void **state);
int message_set_up_vlp(void **state);
int message_tear_down(void **state);
