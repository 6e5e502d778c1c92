/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Breaks a JSON message in one of the ways in which senders do: members dropped, retyped, set to
 * a value at a limit, repeated, nested; or the text itself damaged. */

#include <jansson.h>

#include <parley/buffer.h>

#include "random.h"

/* Appends a broken copy of `message`. */
void mutate(struct random_source *source, const json_t *message, struct parley_buffer *out);
