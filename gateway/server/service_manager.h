/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a service manager such as systemd is told (Type=notify): when parley is ready, and when it
 * stops. */

#include <stdbool.h>

/* Sends "READY=1" or the like to the socket in the variable NOTIFY_SOCKET; without it, nothing.
 * `patience_ms`: how long to wait while the manager has not read what others sent; 0: not at all.
 * Returns: false, with errno set: it could not be sent. */
bool service_manager_tell(const char *state, unsigned patience_ms);
