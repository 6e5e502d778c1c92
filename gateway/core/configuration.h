/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of `parley serve`, as every layer may read them; app/config/ fills them in. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/protocol.h>

struct channel;
struct tls_files;

/* Which requests have a line in the log. */
enum access_log { ACCESS_LOG_OFF, ACCESS_LOG_ERRORS, ACCESS_LOG_ALL };

/* The condition that a promise must meet before its answer leaves. */
enum durability {
    DURABILITY_PROCESS, /* nats-server has the data: it outlives the processes, not the machine */
    DURABILITY_MACHINE, /* the disk of the embedded nats-server has it (ADR 36) */
    DURABILITY_SERVER,  /* the servers of --nats ensure it: the operator says so */
};

#define CONFIGURATION_PROTOCOLS_MAX 16

struct configuration {
    const char *listen;       /* "127.0.0.1:8080"; ":PORT" means 127.0.0.1; "[::1]:PORT" */
    const char *admin_listen; /* like listen, for monitoring alone; may be NULL */
    const char *data;       /* NULL until loaded: $XDG_STATE_HOME/parley or ~/.local/state/parley */
    const char *nats;       /* URLs, comma-separated; NULL: the embedded nats-server */
    const char *nats_shown; /* those URLs without users, passwords and tokens, or NULL */
    const char *nats_creds, *nats_nkey;                     /* files, or NULL */
    const char *nats_tls_ca, *nats_tls_cert, *nats_tls_key; /* files, or NULL */
    const char *nats_tls_name; /* in the servers' certificates; NULL: the URL's host */
    const char *hosts;         /* names that it answers to besides its own, with commas, or NULL */
    const char *cors_origins;  /* sites whose pages may use it, with commas, or NULL */
    const char *jwks;          /* a file; NULL: JSON Web Tokens are not accepted */
    const char *jwt_issuer;    /* required claims of such a token … */
    const char *jwt_audience;  /* … */
    const char *config;        /* the file to read, or NULL */
    const char *tokens;        /* the file, which must exist; NULL if not given … */
    const char *token_file;    /* … and it is DIR/tokens.json, if that exists */
    const char *webhooks;      /* a file, or NULL */
    const char *web;           /* a folder with the console's files; NULL: the program's own */
    bool bind_sender;          /* a sender must have the name of the token */
    bool first_token;          /* create one where there is no token file */
    bool insecure;             /* allow an address other than loopback without access control */
    bool quarantine;           /* keep messages that were refused as invalid */
    uint64_t durability;       /* enum durability */
    uint64_t index;            /* whether an index is kept: 0 or 1 */
    uint64_t index_max_bytes;  /* of its file */
    bool index_text;           /* it has the words of messages */
    int64_t remind_ms;         /* of acknowledgements that are overdue by it; 0: not */
    uint64_t log_format, log_level; /* enum log_format, enum log_level */
    uint64_t access_log;            /* enum access_log */
    bool trace;                     /* start a trace for requests without one */
    bool check_config;              /* print the effective configuration, and exit */
    bool example_config;            /* print a file with every option, and exit */
    uint64_t reactors;              /* 0: one per core */
    uint64_t replicas;
    const char *dialects;               /* "roundtable=knights,…", or NULL */
    const char *subject_prefixes;       /* "roundtable=fleet-a,…", or NULL */
    uint64_t message_max_bytes;         /* GW-002; 0: the protocol's default */
    uint64_t head_max_bytes;            /* of a request */
    uint64_t body_max_bytes;            /* as it is sent; 0: no limit */
    uint64_t gather_max_bytes;          /* all bodies being received */
    uint64_t spool_max_bytes;           /* all results spooled to files */
    uint64_t compression_max_bytes;     /* all compressed answers */
    uint64_t connections_max;           /* of all reactors */
    uint64_t in_flight_max;             /* messages awaiting their ack, of all reactors */
    uint64_t connections_per_address;   /* 0: a quarter of connections_max */
    uint64_t streams_per_token;         /* likewise */
    uint64_t rate_messages, rate_bytes; /* per second, of each sender; 0: no limit */
    int64_t dedupe_window_ms;           /* 0: off */
    int64_t ack_timeout_ms;
    int64_t bus_patience_ms; /* how long messages wait for NATS; 0: not at all */
    int64_t idle_timeout_ms;
    int64_t head_timeout_ms;
    int64_t stall_timeout_ms;       /* of a worker; 0: no limit */
    uint64_t body_rate_bytes;       /* per second; 0: no limit */
    const char *tls_cert, *tls_key; /* NULL: plain HTTP */
    const char *tls_client_ca;      /* NULL: certificates are not requested */
    bool tls_client_optional;       /* a client may come without one */
    int64_t tls_handshake_timeout_ms;

    /* The options of each protocol, in the order of parley_protocols; those that only a request can
     * give are 0. */
    union parley_option_value values[CONFIGURATION_PROTOCOLS_MAX][PARLEY_OPTIONS_MAX];

    /* the parts of `listen` */
    char address[64];
    unsigned port;
    /* the parts of `admin_listen` */
    char admin_address[64];
    unsigned admin_port;

    const struct channel *channels; /* of parley_protocols, with the prefixes */

    void *storage; /* private: an arena for the texts above */
};

/* The values of a protocol's options, by their index.  `channel`: of it, in
 * configuration->channels; in the other functions, the channels have that of `protocol`. */
const union parley_option_value *configuration_values(const struct configuration *configuration,
                                                      const struct channel *channel);
/* The value of one of them that is a choice or a count. */
uint64_t configuration_number(const struct configuration *configuration,
                              const struct parley_protocol *protocol,
                              const struct parley_option *option);
/* Whether earlier messages decide on later ones, of a protocol that has facts. */
enum parley_lifecycle configuration_lifecycle(const struct configuration *configuration,
                                              const struct parley_protocol *protocol);
/* Whether messages of a halted conversation are refused; false for a protocol without halts. */
bool configuration_obeys_halts(const struct configuration *configuration,
                               const struct parley_protocol *protocol);
