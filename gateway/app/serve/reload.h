/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SIGHUP: the configuration file and the TLS files are read again, and the result is logged. */

#include <stdbool.h>

struct configuration;
struct tls_context;

/* Reads the file and applies the options that can change while the server runs, if it has no
 * mistake.  Returns: whether it has done so. */
bool reload_configuration(struct configuration *configuration, int argc, char **argv);

/* Uses the present TLS files for new connections, if they are valid.  `tls` is NULL without TLS. */
void reload_tls(struct tls_context *tls);
