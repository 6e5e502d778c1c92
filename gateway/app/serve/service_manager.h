/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Tells a service manager such as systemd (Type=notify) when parley is ready, that it is alive, and
 * when it stops. */

#include <stdbool.h>

/* Sends "READY=1" or the like to the socket in the variable NOTIFY_SOCKET; without it, nothing.
 * `patience_ms`: how long to wait while the manager has not read the messages of others; 0 does not
 * wait. Returns: false, with errno set: it could not be sent. */
bool service_manager_tell(const char *state, unsigned patience_ms);

/* Sends "WATCHDOG=1", if the service manager asks for it (WatchdogSec=, which sets WATCHDOG_USEC).
 * It wants that twice in its time at least. */
void service_manager_beat(void);
