/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SIGHUP: the configuration file is read again, and the log says what came of it. */

#include <stdbool.h>

struct configuration;

/* Reads the file and takes over what can change while the server runs, if nothing is wrong with any
 * of it.  Returns: whether it has done so. */
bool reload_configuration(struct configuration *configuration, int argc, char **argv);
