/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SIGHUP: the configuration file and the TLS files are read again, and the log says what came of
 * it. */

#include <stdbool.h>

struct configuration;
struct tls_context;

/* Reads the file and takes over what can change while the server runs, if nothing is wrong with any
 * of it.  Returns: whether it has done so. */
bool reload_configuration(struct configuration *configuration, int argc, char **argv);

/* New connections have what the TLS files hold now, if nothing is wrong with them.  `tls` NULL: no
 * TLS. */
void reload_tls(struct tls_context *tls);
