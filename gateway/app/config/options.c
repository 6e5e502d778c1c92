/* SPDX-License-Identifier: Apache-2.0 */

/* The options of the server: the one place that names their flags, bounds and help, but for those
 * of protocols, which are in their folders. */

#include <assert.h>
#include <stddef.h>

#include "log.h"
#include "option.h"

#define FIELD(name) .field = offsetof(struct configuration, name)
#define DAY_MS 86400000

const char *const durability_names[] = {"process", "machine", "server", NULL};
const char *const index_names[] = {"off", "on", NULL};
const char *const access_log_names[] = {"off", "errors", "all", NULL};

static const struct option own[] = {
    {.flag = "listen",
     FIELD(listen),
     .value_name = "ADDR:PORT",
     .fallback = "127.0.0.1:8080",
     .help = "Address and port to listen on. :PORT is 127.0.0.1:PORT; port 0 picks a free port. An "
             "address that other machines can reach needs tokens (see --tokens), or --insecure."},
    {.flag = "admin-listen",
     FIELD(admin_listen),
     .value_name = "ADDR:PORT",
     .fallback_text = "none",
     .help = "Serve /metrics, /livez and /readyz, and nothing else, on this address and port too: "
             "over plain HTTP and without a token, for monitoring. :PORT is 127.0.0.1:PORT. "
             "Everyone who reaches it can read them."},
    {.flag = "data",
     FIELD(data),
     .value_name = "DIR",
     .fallback_text = "$XDG_STATE_HOME/parley, else ~/.local/state/parley",
     .help = "Folder for the embedded nats-server's store and for spooled results."},
    {.flag = "nats",
     FIELD(nats),
     .value_name = "URL,…",
     .is_secret = true,
     .fallback_text = "the embedded nats-server, which parley starts and stops",
     .help = "Use these NATS servers, which must have JetStream enabled: "
             "nats://USER:PASSWORD@HOST:4222. If one URL has tls://, all servers must support TLS. "
             "Write a comma in a password as %2C. PARLEY_NATS_FILE names a file that contains this "
             "value."},
    {.flag = "nats-creds",
     FIELD(nats_creds),
     .value_name = "FILE",
     .fallback_text = "none",
     .help = "Credentials for --nats: a user's JWT and seed, as nsc writes them. The file is read "
             "again for each connection. No other user may be able to read it."},
    {.flag = "nats-nkey",
     FIELD(nats_nkey),
     .value_name = "FILE",
     .fallback_text = "none",
     .help = "The seed of the nkey (SU…) that --nats knows parley by. No other user may be able to "
             "read the file."},
    {.flag = "nats-tls-ca",
     FIELD(nats_tls_ca),
     .value_name = "FILE",
     .fallback_text = "the system's authorities, where a URL has tls://",
     .help = "Use TLS to --nats, and trust only servers whose certificate is signed by one of the "
             "certificates in this file (PEM)."},
    {.flag = "nats-tls-cert",
     FIELD(nats_tls_cert),
     .value_name = "FILE",
     .fallback_text = "none",
     .help = "Use TLS to --nats, and show this certificate (PEM, followed by those between it and "
             "its authority). Needs --nats-tls-key."},
    {.flag = "nats-tls-key",
     FIELD(nats_tls_key),
     .value_name = "FILE",
     .fallback_text = "none",
     .help = "The private key of --nats-tls-cert (PEM, without a password). No other user may be "
             "able to read it."},
    {.flag = "nats-tls-name",
     FIELD(nats_tls_name),
     .value_name = "NAME",
     .fallback_text = "the host in the URL",
     .help = "Use TLS to --nats, and expect this name in the servers' certificates instead of the "
             "URL's host."},
    {.flag = "jwks",
     FIELD(jwks),
     .value_name = "FILE",
     .fallback_text = "none",
     .help = "Let in who shows a JSON Web Token that is signed (RS256, ES256 or EdDSA) with one of "
             "the public keys in this JWK set. Needs --jwt-issuer and --jwt-audience. The file is "
             "read again when it changes, and on SIGHUP. No other user may be able to write it."},
    {.flag = "jwt-issuer",
     FIELD(jwt_issuer),
     .value_name = "TEXT",
     .fallback_text = "none",
     .help = "The issuer (iss) that a JSON Web Token must have."},
    {.flag = "jwt-audience",
     FIELD(jwt_audience),
     .value_name = "TEXT",
     .fallback_text = "none",
     .help = "The audience (aud) that a JSON Web Token must have, alone or among others: by it the "
             "issuer says that the token is for this server."},
    {.flag = "host",
     .type = OPTION_LIST,
     FIELD(hosts),
     .value_name = "NAME",
     .fallback_text = "on loopback localhost, 127.0.0.1 and [::1]; elsewhere any",
     .help =
         "Answer to this name in the Host header, with any port, and with 421 to names that are "
         "not given: a page that has its own name point here (DNS rebinding) reaches nothing. "
         "Needed on loopback behind a proxy that passes its own name on. Can be given more than "
         "once; the variable is a comma-separated list."},
    {.flag = "cors-origin",
     .type = OPTION_LIST,
     FIELD(cors_origins),
     .value_name = "ORIGIN",
     .fallback_text = "none",
     .help = "Let the pages of this site, such as https://console.example, send and read. Pages of "
             "other sites get 403. Can be given more than once; the variable is a comma-separated "
             "list."},
    {.flag = "config",
     FIELD(config),
     .value_name = "FILE",
     .fallback_text = "none",
     .is_not_in_file = true,
     .help = "Read options from this file (see below)."},
    {.flag = "tokens",
     FIELD(tokens),
     .value_name = "FILE",
     .fallback_text = "tokens.json in the data folder, if it exists",
     .help = "Serve only requests that show a token of this file, which parley token writes. It "
             "is read again when it changes, and on SIGHUP. No other user may be able to read or "
             "write it."},
    {.flag = "first-token",
     .type = OPTION_SWITCH,
     FIELD(first_token),
     .fallback = "false",
     .help = "If there is no token file yet, make one with a token that may do everything, and "
             "write that token to first-token in the data folder (mode 0600). For containers."},
    {.flag = "bind-sender",
     .type = OPTION_SWITCH,
     FIELD(bind_sender),
     .fallback = "false",
     .is_reloadable = true,
     .help = "Accept only messages whose sender has the name of the token (rule GW-102). A token "
             "made with --agent is bound to that agent in any case."},
    {.flag = "insecure",
     .type = OPTION_SWITCH,
     FIELD(insecure),
     .fallback = "false",
     .help = "Allow an address that other machines can reach although there are no tokens: "
             "anyone who can reach it can send and read. For trusted networks only."},
    {.flag = "quarantine",
     .type = OPTION_SWITCH,
     FIELD(quarantine),
     .fallback = "false",
     .help =
         "Keep messages that were refused as invalid or halted, and why: in NATS on "
         "rejected.PROTOCOL, in the stream REJECTED, for a day and up to 1 GiB; both names have "
         "the prefixes of --subject-prefix. "
         "GET /v1/rejected/stream reads them, with the scope admin. Whatever senders put into "
         "them, such as secrets, is kept too."},
    {.flag = "web",
     FIELD(web),
     .value_name = "FOLDER",
     .help =
         "For work on the console: read its files from this folder, which is laid out like web/, "
         "at each request, instead of those in the program."},
    {.flag = "webhooks",
     FIELD(webhooks),
     .value_name = "FILE",
     .fallback_text = "none",
     .help =
         "Send events (a task has ended, a conversation was halted, …) to the URLs in this YAML "
         "file, signed as Standard Webhooks says; docs/webhooks.md explains it. It has secrets: "
         "no other user may be able to read or write it. It is read at the start."},
    {.flag = "durability",
     .type = OPTION_CHOICE,
     FIELD(durability),
     .value_name = "WHEN",
     .choices = durability_names,
     .fallback = "process",
     .help = "What an answer promises. process: what was stored outlives killed processes; if the "
             "machine fails, the last of it may be lost. machine, with the embedded nats-server: "
             "the answer leaves once it is on the disk. server, with --nats: the servers see to "
             "it (sync_interval: always), which parley cannot check."},
    {.flag = "log-format",
     .type = OPTION_CHOICE,
     FIELD(log_format),
     .value_name = "FORMAT",
     .choices = log_format_names,
     .fallback = "logfmt",
     .help = "The form of the log, on standard error: logfmt (time=… level=… msg=…) or json, one "
             "line an event in both. logfmt is coloured on a terminal, unless NO_COLOR is set."},
    {.flag = "log-level",
     .type = OPTION_CHOICE,
     FIELD(log_level),
     .value_name = "LEVEL",
     .choices = log_level_names,
     .fallback = "info",
     .is_reloadable = true,
     .help = "Log events of this level and the more important ones: error, warn, info or debug."},
    {.flag = "access-log",
     .type = OPTION_CHOICE,
     FIELD(access_log),
     .value_name = "WHICH",
     .choices = access_log_names,
     .fallback = "errors",
     .help = "Which requests have a line in the log: off, errors (those answered with 4xx or 5xx, "
             "at most 100 a second) or all. A request with a sampled traceparent has one, too, "
             "except with off. A line has no payload."},
    {.flag = "trace",
     .type = OPTION_SWITCH,
     FIELD(trace),
     .fallback = "false",
     .help = "Start a trace for each request to send that has no valid traceparent header, and "
             "pass it on to NATS. It is sampled: with --access-log errors, too, each of these "
             "requests has a line in the log."},
    {.flag = "check-config",
     .type = OPTION_SWITCH,
     FIELD(check_config),
     .fallback = "false",
     .is_not_in_file = true,
     .help =
         "Print the effective configuration in the form of a configuration file (JSON, which is "
         "YAML), including the passwords in --nats, and exit. If something is wrong, say what, "
         "and in which line. Then all files are opened and checked as at a start (tokens, keys, "
         "certificates, the data folder), but no port is opened and NATS is not asked. Run it as "
         "the server's user."},
    {.flag = "example-config",
     .type = OPTION_SWITCH,
     FIELD(example_config),
     .fallback = "false",
     .is_not_in_file = true,
     .help = "Print a configuration file with every option, its default and this help, and exit."},
    {.flag = "reactors",
     .type = OPTION_COUNT,
     FIELD(reactors),
     .value_name = "N",
     .fallback = "0",
     .fallback_text = "0 (one per core)",
     .maximum = 1024,
     .help = "Number of threads that serve requests, each with its own connection to NATS."},
    {.flag = "replicas",
     .type = OPTION_COUNT,
     FIELD(replicas),
     .value_name = "N",
     .fallback = "1",
     .minimum = 1,
     .maximum = 5,
     .help = "Number of servers in the NATS cluster that store each message. Applies to streams "
             "that parley creates; more than 1 needs --nats."},
    {.flag = "subject-prefix",
     .type = OPTION_LIST,
     FIELD(subject_prefixes),
     .value_name = "PROTOCOL=TOKEN",
     .fallback_text = "each protocol's name",
     .help = "Publish this protocol's messages under TOKEN.> and in a separate stream, so that "
             "several fleets can share one NATS. With roundtable=fleet-a, the subjects are "
             "fleet-a.> and the stream is ROUNDTABLE_FLEET-A. Can be given more than once; the "
             "variable is a comma-separated list."},
    {.flag = "dialect",
     .type = OPTION_LIST,
     FIELD(dialects),
     .value_name = "PROTOCOL=NAME",
     .fallback_text = "none",
     .help = "Translate this protocol's messages from a dialect that programs speak (dialect= of "
             "requests that name none, and messages that are published straight to NATS): "
             "docs/protocols has them. Can be given more than once; the variable is a "
             "comma-separated list. All gateways of a fleet need the same one."},
    {.flag = "message-max",
     .type = OPTION_SIZE,
     FIELD(message_max_bytes),
     .value_name = "SIZE",
     .fallback = "0",
     .fallback_text = "0 (each protocol's own limit)",
     .maximum = UINT64_C(1) << 30,
     .is_reloadable = true,
     .help = "Refuse larger messages (rule GW-002)."},
    {.flag = "head-max",
     .type = OPTION_SIZE,
     FIELD(head_max_bytes),
     .value_name = "SIZE",
     .fallback = "16k",
     .minimum = 1024,
     .maximum = UINT64_C(48) << 10,
     .help = "Refuse requests whose request line and headers are larger, with 431, or with 414 if "
             "the target alone is."},
    {.flag = "body-max",
     .type = OPTION_SIZE,
     FIELD(body_max_bytes),
     .value_name = "SIZE",
     .fallback = "0",
     .fallback_text = "0 (no limit)",
     .maximum = INT64_MAX,
     .is_reloadable = true,
     .help = "Refuse larger request bodies with 413. A batch needs no such limit: it is processed "
             "while it arrives, and each of its messages has --message-max."},
    {.flag = "gather-max",
     .type = OPTION_SIZE,
     FIELD(gather_max_bytes),
     .value_name = "SIZE",
     .fallback = "256m",
     .minimum = 1 << 20,
     .maximum = UINT64_C(1) << 40,
     .is_reloadable = true,
     .help =
         "Memory for all request bodies being received. When it is used up, requests get 503. The "
         "first 64 KiB of each body use a reserve of their own, one eighth of this size; the first "
         "4 KiB are not counted. A single message larger than this is always refused."},
    {.flag = "index",
     .type = OPTION_CHOICE,
     FIELD(index),
     .value_name = "NAME",
     .choices = index_names,
     .fallback = "off",
     .help =
         "on: keep an index of all streams in the data folder, index.sqlite, and answer lists of "
         "messages, threads and senders, and traces, from it. It takes some 300 bytes a message, "
         "and processor time from sending while it reads. off: those addresses answer 404."},
    {.flag = "index-max",
     .type = OPTION_SIZE,
     FIELD(index_max_bytes),
     .value_name = "SIZE",
     .fallback = "2g",
     .minimum = 1 << 20,
     .maximum = INT64_MAX,
     .help = "The size of the index: beyond it the oldest messages of each stream are no longer "
             "listed."},
    {.flag = "index-text",
     .type = OPTION_SWITCH,
     FIELD(index_text),
     .fallback = "false",
     .help =
         "Keep the words of messages in the index, too: lists of messages can be searched by q=. "
         "It needs --index on, and takes more of the disk and of processor time. With it, an "
         "index that was made without it is made again."},
    {.flag = "remind",
     .type = OPTION_DURATION,
     FIELD(remind_ms),
     .value_name = "TIME",
     .fallback = "0",
     .fallback_text = "0 (no reminders)",
     .maximum = INT64_C(30) * DAY_MS,
     .help = "Remind of an acknowledgement that a message has asked for and not got for so long: "
             "once, by an INFO in its thread. It needs --index on. What became overdue more than a "
             "day ago is left alone."},
    {.flag = "spool-max",
     .type = OPTION_SIZE,
     FIELD(spool_max_bytes),
     .value_name = "SIZE",
     .fallback = "1g",
     .maximum = INT64_MAX,
     .is_reloadable = true,
     .help = "Disk space in the data folder for batch results that clients have not read yet. "
             "parley leaves the last tenth of the disk and its last GiB free. When the space is "
             "used up, parley stops reading a batch until the client has read its results."},
    {.flag = "compression-max",
     .type = OPTION_SIZE,
     FIELD(compression_max_bytes),
     .value_name = "SIZE",
     .fallback = "64m",
     .maximum = UINT64_C(1) << 40,
     .is_reloadable = true,
     .help = "Memory for compressing event streams and other long answers, for clients that accept "
             "gzip or zstd: about 100 KB for each that is open. When it is used up, further ones "
             "are sent uncompressed. 0: all of them are."},
    {.flag = "connections",
     .type = OPTION_COUNT,
     FIELD(connections_max),
     .value_name = "N",
     .fallback = "20000",
     .minimum = 1,
     .maximum = 10000000,
     .help =
         "Maximum number of open connections. parley lowers it if the limit on open files requires "
         "it."},
    {.flag = "connections-per-address",
     .type = OPTION_COUNT,
     FIELD(connections_per_address),
     .value_name = "N",
     .fallback = "0",
     .fallback_text = "0 (--connections/4; not on loopback)",
     .maximum = 10000000,
     .help = "Maximum number of open connections of one address; of IPv6, of one /64. Above it, "
             "connections get 429 and are closed. A number other than 0 applies to loopback too. "
             "Raise it if clients come through a proxy on another machine."},
    {.flag = "streams-per-token",
     .type = OPTION_COUNT,
     FIELD(streams_per_token),
     .value_name = "N",
     .fallback = "0",
     .fallback_text = "0 (--connections/4; not on loopback)",
     .maximum = 10000000,
     .is_reloadable = true,
     .help = "Maximum number of open streams of one token, or of one address without a token. "
             "Above it, streams get 429."},
    {.flag = "in-flight",
     .type = OPTION_COUNT,
     FIELD(in_flight_max),
     .value_name = "N",
     .fallback = "16384",
     .minimum = 1,
     .maximum = 10000000,
     .help =
         "Maximum number of messages waiting for NATS or its acknowledgement; above it, requests "
         "get 503. A message may use a part of it, by its priority: low 70 %, normal or none 85 %, "
         "high 95 %, critical all."},
    {.flag = "rate-messages",
     .type = OPTION_COUNT,
     FIELD(rate_messages),
     .value_name = "N",
     .fallback = "0",
     .fallback_text = "0 (no limit)",
     .maximum = 10000000,
     .is_reloadable = true,
     .help = "Messages a second that each token can send, and each address without one, with "
             "bursts of two seconds. A single message above it gets 429; a batch is read no faster "
             "than this. An invalid message counts as four."},
    {.flag = "rate-bytes",
     .type = OPTION_SIZE,
     FIELD(rate_bytes),
     .value_name = "SIZE",
     .fallback = "0",
     .fallback_text = "0 (no limit)",
     .maximum = UINT64_C(1) << 32,
     .is_reloadable = true,
     .help = "The same for the bytes of request bodies."},
    {.flag = "dedupe-window",
     .type = OPTION_DURATION,
     FIELD(dedupe_window_ms),
     .value_name = "TIME",
     .fallback = "2m",
     .maximum = 7 * DAY_MS,
     .help = "How long repeats of a message are recognised and dropped. Applies to streams that "
             "parley creates; 0 turns it off."},
    {.flag = "ack-timeout",
     .type = OPTION_DURATION,
     FIELD(ack_timeout_ms),
     .value_name = "TIME",
     .fallback = "10s",
     .minimum = 1,
     .maximum = DAY_MS,
     .help = "How long to wait for NATS's acknowledgement before answering 504."},
    {.flag = "bus-patience",
     .type = OPTION_DURATION,
     FIELD(bus_patience_ms),
     .value_name = "TIME",
     .fallback = "8s",
     .maximum = DAY_MS,
     .help =
         "How long a message waits while NATS is unreachable, or the servers of a cluster elect "
         "a leader for its stream, before it gets 503. It is stored once NATS is back. Waiting "
         "messages count towards --in-flight. 0 answers at once."},
    {.flag = "idle-timeout",
     .type = OPTION_DURATION,
     FIELD(idle_timeout_ms),
     .value_name = "TIME",
     .fallback = "30s",
     .minimum = 1000,
     .maximum = DAY_MS,
     .help = "Close a connection after this time without traffic. A body that pauses for this time "
             "gets 408."},
    {.flag = "head-timeout",
     .type = OPTION_DURATION,
     FIELD(head_timeout_ms),
     .value_name = "TIME",
     .fallback = "10s",
     .minimum = 1000,
     .maximum = DAY_MS,
     .help = "Time for the whole head of a request, from its first byte; after it, 408."},
    {.flag = "stall-timeout",
     .type = OPTION_DURATION,
     FIELD(stall_timeout_ms),
     .value_name = "TIME",
     .fallback = "30s",
     .maximum = DAY_MS,
     .help =
         "End the process, so that a service manager starts it again, if a worker does not come "
         "back to its loop for this time; 0: never."},
    {.flag = "body-rate",
     .type = OPTION_SIZE,
     FIELD(body_rate_bytes),
     .value_name = "SIZE",
     .fallback = "500",
     .maximum = UINT64_C(1) << 32,
     .is_reloadable = true,
     .help =
         "Refuse with 408 a body that is slower than this many bytes a second on average, after "
         "the first --idle-timeout. Does not apply to chunked batches, which may pause; 0 turns "
         "it off."},
    {.flag = "tls-cert",
     FIELD(tls_cert),
     .value_name = "FILE",
     .fallback_text = "none: plain HTTP",
     .help = "Speak HTTPS only, with this certificate (PEM), followed by those of intermediate "
             "authorities. Needs --tls-key. The TLS files are read again on SIGHUP."},
    {.flag = "tls-key",
     FIELD(tls_key),
     .value_name = "FILE",
     .fallback_text = "none",
     .help = "The certificate's private key (PEM, without a passphrase). Other users must not be "
             "able to read the file."},
    {.flag = "tls-client-ca",
     FIELD(tls_client_ca),
     .value_name = "FILE",
     .fallback_text = "none: no client certificates",
     .help = "Require of every client a certificate that one of these authorities (PEM) has "
             "issued."},
    {.flag = "tls-client-optional",
     .type = OPTION_SWITCH,
     FIELD(tls_client_optional),
     .fallback = "false",
     .help = "With --tls-client-ca: let clients without a certificate in, too. A certificate that "
             "is shown must be valid all the same."},
    {.flag = "tls-handshake-timeout",
     .type = OPTION_DURATION,
     FIELD(tls_handshake_timeout_ms),
     .value_name = "TIME",
     .fallback = "10s",
     .minimum = 100,
     .maximum = DAY_MS,
     .help = "Close a connection whose TLS handshake is not complete after this time."},
};

enum { OWN_COUNT = sizeof own / sizeof own[0] };

/* ---- those of protocols ---- */

/* Which option of which protocol. */
struct place {
    size_t protocol, option;
};

/* The one with this number, among those that the operator can give.  Returns: how many there are
 * before the place; less than `number`: there are not so many. */
static size_t find(size_t number, struct place *out) {
    size_t count = 0;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_option *rows = parley_protocols[i]->options;
        for (size_t k = 0; rows != NULL && rows[k].help.name != NULL; k++) {
            if (rows[k].server.help != NULL && count++ == number) {
                *out = (struct place){i, k};
                return number;
            }
        }
    }
    return count;
}

static struct option of_protocol(struct place place) {
    static const enum option_type types[] = {[PARLEY_OPTION_SWITCH] = OPTION_SWITCH,
                                             [PARLEY_OPTION_CHOICE] = OPTION_CHOICE,
                                             [PARLEY_OPTION_COUNT] = OPTION_COUNT,
                                             [PARLEY_OPTION_TIME] = OPTION_DURATION};
    const struct parley_option *row = &parley_protocols[place.protocol]->options[place.option];
    const size_t before = place.protocol * PARLEY_OPTIONS_MAX + place.option;
    assert(row->type != PARLEY_OPTION_TEXT && place.protocol < CONFIGURATION_PROTOCOLS_MAX &&
           place.option < PARLEY_OPTIONS_MAX);
    return (struct option){.flag = row->help.name,
                           .type = types[row->type],
                           .field = offsetof(struct configuration, values) +
                                    before * sizeof(union parley_option_value),
                           .value_name = row->value_name,
                           .fallback = row->server.fallback,
                           .minimum = row->minimum,
                           .maximum = row->maximum,
                           .choices = row->choices,
                           .is_reloadable = row->server.is_reloadable,
                           .help = row->server.help};
}

/* ---- all ---- */

struct option option_at(size_t number) {
    struct place place = {0, 0};
    if (number < OWN_COUNT) {
        return own[number];
    }
    find(number - OWN_COUNT, &place);
    return of_protocol(place);
}

size_t option_count(void) {
    struct place place;
    const size_t count = OWN_COUNT + find(SIZE_MAX, &place);
    assert(count <= OPTIONS_MAX);
    return count;
}
