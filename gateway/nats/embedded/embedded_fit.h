/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether a nats-server can read a store that another version has written. Private to nats/. */

#include <stdbool.h>
#include <stddef.h>

/* Runs `binary -v`, and looks into the folder `store` if that is older than 2.10. nats-server 2.9
 * opens what a newer one has written without a word, and reads it wrong: what was removed is back.
 * `is_old` says whether it is older than 2.10; false if the version is not known. `error` gets a
 * sentence that says what is wrong and what to do.  Returns: false: it must not be started. One
 * whose version is not known is let be. */
bool embedded_fits(const char *binary, const char *store, bool *is_old, char *error,
                   size_t error_size);
