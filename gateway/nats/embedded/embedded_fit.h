/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks whether a nats-server can read a store that another version has written. Private to
 * nats/. */

#include <stdbool.h>
#include <stddef.h>

/* Runs `binary -v`, and looks into the folder `store` if that is older than 2.10. nats-server 2.9
 * opens the store of a newer one without an error, and reads it wrong: removed messages are back.
 * `is_old` says whether it is older than 2.10; false if the version is not known. `error` gets a
 * sentence with the problem and its remedy.  Returns: false if it must not be started. One whose
 * version is not known is accepted. */
bool embedded_fits(const char *binary, const char *store, bool *is_old, char *error,
                   size_t error_size);
