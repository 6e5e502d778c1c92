/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* --check-config: checks the configuration, and everything that a start with it would need. It
 * opens the same files as a start, by the same functions, but makes no file, takes no port and asks
 * no server: it can run beside the server whose next start it checks. */

#include "configuration.h"

/* Prints the configuration, and on standard error a line for each thing that is wrong.  Returns:
 * the exit status: 1 if anything is. */
int start_check(const struct configuration *configuration);
