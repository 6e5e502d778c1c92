/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A piece of work as answers show it. */

#include <parley/protocol.h>
#include <parley/tasks.h>

/* Appends the members of an item, from "id" to "seq", without its braces; null where something is
 * not known. */
void board_item_write(const struct parley_protocol *protocol, const struct parley_task *work,
                      struct parley_buffer *out);
