/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads the options of `parley serve`. Each is a flag, an environment variable (PARLEY_LISTEN), a
 * key of the configuration file and an entry of --help and of docs/parley.conf, all from one row of
 * the table in options.c, or of a protocol's. Precedence: flag, variable, file, default. */

#include <parley/buffer.h>
#include <parley/status.h>

#include "configuration.h"

/* The values of options that are one of a few words.  Each ends with NULL. */
extern const char *const access_log_names[];
extern const char *const durability_names[];

/* Reads flags, variables and the file, and checks them all; every mistake is printed. `argv` starts
 * after "serve". Returns: -1 to continue, else the exit status, after --help or an error message
 * was printed. Owns: the configuration borrows from argv and the environment; give it to
 * configuration_finish. */
int configuration_load(struct configuration *configuration, int argc, char **argv);

/* For --check-config: prints all values, as JSON that is a configuration file.  Returns: the exit
 * status. */
int configuration_print(const struct configuration *configuration);
/* The result of reading it again. */
struct configuration_changes {
    struct parley_buffer taken;   /* "rate-messages 0 -> 5, …": from now on so */
    struct parley_buffer waiting; /* "listen, reactors": options whose values differ from those that
                                     the server runs with */
    struct parley_buffer error;   /* all that is wrong */
};

/* Reads flags, variables and the file again, as configuration_load did, and applies the options
 * that can change while the server runs, all of them or, after any mistake, none. Returns: false
 * after a mistake. */
bool configuration_reload(struct configuration *configuration, int argc, char **argv,
                          struct configuration_changes *changes);
/* configuration_load for `listen` and `tls_cert` alone, to find the server that runs with this
 * configuration: from the variables and the file at `path` (NULL: the one in PARLEY_CONFIG).  Sets
 * only those members, not the parts of `listen`. */
int configuration_load_listen(struct configuration *configuration, const char *path);
/* The same for `tokens` and `data` alone; `tokens` and `data` are flags, NULL: not given. */
int configuration_load_tokens(struct configuration *configuration, const char *tokens,
                              const char *data);
/* The same for `webhooks` alone. */
int configuration_load_webhooks(struct configuration *configuration, const char *webhooks);
/* The paths of the TLS files; the certificate is NULL where there is no TLS.  Owns: borrowed. */
struct tls_files configuration_tls_files(const struct configuration *configuration);
void configuration_finish(struct configuration *configuration);
