/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `parley serve` can be told, as one table: each row is a flag, an environment variable
 * (PARLEY_LISTEN), a key of the configuration file and a line of --help. Flag goes over variable
 * over file over default. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/status.h>

struct channel;

struct configuration {
    const char *listen;     /* "127.0.0.1:8080"; ":PORT" means 127.0.0.1; "[::1]:PORT" */
    const char *data;       /* NULL until loaded: $XDG_STATE_HOME/parley or ~/.local/state/parley */
    const char *nats;       /* NULL: an own nats-server; else its URLs, comma-separated */
    const char *nats_shown; /* those URLs without users, passwords and tokens, or NULL */
    const char *config;     /* the file that was read, or NULL */
    bool insecure;          /* listen beyond loopback without tokens */
    bool check_config;      /* say what would be done, and exit */
    uint64_t reactors;      /* 0: one a core */
    uint64_t replicas;
    const char *subject_prefixes; /* "roundtable=fleet-a,…", or NULL */
    uint64_t message_max_bytes;   /* GW-002; 0: the protocol's default */
    uint64_t gather_max_bytes;    /* bodies that are being received, all in sum */
    uint64_t spool_max_bytes;     /* results that wait in files, all in sum */
    uint64_t connections_max;     /* of all reactors together */
    uint64_t in_flight_max;       /* messages that await their ack, of all reactors together */
    int64_t dedupe_window_ms;     /* 0: off */
    int64_t ack_timeout_ms;
    int64_t idle_timeout_ms;

    /* listen, taken apart */
    char address[64];
    unsigned port;

    const struct channel *channels; /* of parley_protocols, with the prefixes */

    void *storage; /* private: what the texts above live in */
};

/* Reads flags, variables and the file, and checks them all. `argv` starts behind "serve".
 * Returns: -1 to go on, else the exit status: what there is to say (--help, or what is wrong and
 * what would be right) has been said.
 * Owns: the configuration borrows from argv and the environment; give it to
 * configuration_finish. */
int configuration_load(struct configuration *configuration, int argc, char **argv);
/* The same, of `listen` alone, for those who ask the server that was told so: by the file at
 * `path`, NULL: the one that PARLEY_CONFIG names.  Sets only that member, not taken apart. */
int configuration_load_listen(struct configuration *configuration, const char *path);
void configuration_finish(struct configuration *configuration);
