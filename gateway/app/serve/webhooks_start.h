/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file of --webhooks at the start of a server, or of its check. */

#include "configuration.h"
#include "webhook_file.h"

/* Reads it, if there is one, and checks that this server can tell of the events that it names.
 * Owns, Returns: as webhook_file_read. */
bool webhooks_start_read(const struct configuration *configuration, struct webhook_file *out,
                         struct parley_buffer *error);

/* The same at the start of a server, with a line in the log.  Returns: 0, or 1 if it failed. */
int webhooks_start(const struct configuration *configuration, struct webhook_file *out);
