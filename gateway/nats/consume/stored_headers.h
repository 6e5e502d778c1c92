/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/message.h>

/* The value of a header of a message that was asked for (jetstream_held.headers), as it is on the
 * wire; the first of several.  Returns: whether it is there, and fits with its NUL. */
bool held_header(struct parley_bytes headers, const char *name, char *out, size_t size);

/* Sets the options that these headers give (parley_options_read_headers). */
void held_options(struct parley_bytes headers, const struct parley_protocol *protocol,
                  struct parley_options *options);

/* The header with the id of a message's event. */
#define STORED_ID_HEADER "ce-id"
/* The id of a stored message: that of its event, which any publisher may write (NULL: there is
 * none), if it is a UUID; else one that its sequence always gives. */
#define STORED_ID_SIZE sizeof "00000000-0000-0000-0000-000000000000"
void stored_id(const char *event_id, uint64_t sequence, char out[STORED_ID_SIZE]);
