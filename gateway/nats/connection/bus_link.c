/* SPDX-License-Identifier: Apache-2.0 */

/* See bus_link.h. It opens nothing: it converts parley's options to the library's, and the
 * library's errors to words. A text of the library is used only where it comes from the server or
 * the system: its other texts may quote a URL. */

#include "bus_link.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static int hex_digit(char c) {
    return isdigit((unsigned char)c) ? c - '0'
           : c >= 'a' && c <= 'f'    ? c - 'a' + 10
           : c >= 'A' && c <= 'F'    ? c - 'A' + 10
                                     : -1;
}

/* Decodes the text before the last '@', in place. A ':' in a user name stays encoded, since the
 * library would end the name there. */
static void decode_user(char *url) {
    char *end = strrchr(url, '@');
    char *to = url;
    for (char *from = url; *from != '\0'; to++) {
        const int high = end != NULL && from < end && *from == '%' ? hex_digit(from[1]) : -1;
        const int low = high >= 0 ? hex_digit(from[2]) : -1;
        const int decoded = 16 * high + low;
        if (low >= 0 && decoded != 0 && decoded != ':') {
            *to = (char)decoded;
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static natsStatus set_servers(natsOptions *options, const char *urls) {
    enum { SERVERS_MAX = 64 };
    const char *servers[SERVERS_MAX];
    int count = 0;
    bool is_secure = false;
    char *copy = strdup(urls);
    char *rest = NULL;
    for (char *url = copy != NULL ? strtok_r(copy, ", ", &rest) : NULL;
         url != NULL && count < SERVERS_MAX; url = strtok_r(NULL, ", ", &rest)) {
        is_secure = is_secure || strncmp(url, "tls://", 6) == 0;
        decode_user(url);
        servers[count++] = url;
    }
    natsStatus status =
        copy != NULL ? natsOptions_SetServers(options, servers, count) : NATS_NO_MEMORY;
    free(copy);
    return status == NATS_OK && is_secure ? natsOptions_SetSecure(options, true) : status;
}

static bool wants_tls(const struct bus_identity *identity) {
    return identity->ca != NULL || identity->cert != NULL || identity->server_name != NULL;
}

/* *out_member: the member being set, which is the one that failed. */
static natsStatus set_identity(natsOptions *options, const struct bus_identity *identity,
                               const char **out_member) {
    natsStatus status = NATS_OK;
    *out_member = "creds";
    if (identity->creds != NULL) {
        status = natsOptions_SetUserCredentialsFromFiles(options, identity->creds, NULL);
    }
    if (status == NATS_OK && identity->nkey != NULL) {
        *out_member = "nkey";
        status = natsOptions_SetNKeyFromSeed(options, identity->nkey, identity->nkey_seed);
    }
    if (status == NATS_OK && identity->ca != NULL) {
        *out_member = "ca";
        status = natsOptions_LoadCATrustedCertificates(options, identity->ca);
    }
    if (status == NATS_OK && identity->cert != NULL) {
        *out_member = "cert";
        status = natsOptions_LoadCertificatesChain(options, identity->cert, identity->key);
    }
    if (status == NATS_OK && identity->server_name != NULL) {
        *out_member = "server_name";
        status = natsOptions_SetExpectedHostname(options, identity->server_name);
    }
    return status == NATS_OK && wants_tls(identity) ? natsOptions_SetSecure(options, true) : status;
}

natsStatus bus_link_set(natsOptions *options, const struct bus_options *wanted) {
    const char *member;
    natsStatus status = set_servers(options, wanted->urls);
    if (status == NATS_OK) {
        status = set_identity(options, &wanted->identity, &member);
    }
    if (status == NATS_OK && wanted->token != NULL) {
        status = natsOptions_SetToken(options, wanted->token);
    }
    if (status == NATS_OK && wanted->name != NULL) {
        status = natsOptions_SetName(options, wanted->name);
    }
    return status;
}

/* ---- why there is no connection ---- */

/* Returns the library's text for the last error on this thread. */
static const char *last_error(natsStatus status) {
    natsStatus ignored;
    const char *text = nats_GetLastError(&ignored);
    const char *prefix_end = text != NULL ? strstr(text, "): ") : NULL; /* "(conn.c:1905): " */
    text = prefix_end != NULL ? prefix_end + 3 : text;
    return text != NULL && text[0] != '\0' ? text : natsStatus_GetText(status);
}

const char *bus_identity_fault(const struct bus_identity *identity, char why[BUS_FAULT_MAX]) {
    const char *member = NULL;
    natsOptions *options = NULL;
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK) {
        status = set_identity(options, identity, &member);
    }
    if (status != NATS_OK) {
        snprintf(why, BUS_FAULT_MAX, "%s", last_error(status));
    }
    natsOptions_Destroy(options);
    return status != NATS_OK ? member : NULL;
}

bool bus_link_explain(natsStatus status, const char *where, char out[BUS_WHY_MAX]) {
    const char *text = last_error(status);
    switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
        snprintf(out, BUS_WHY_MAX,
                 "NATS refused the credentials (%.80s); check those in --nats, --nats-creds or "
                 "--nats-nkey: %s",
                 text, where);
        return true;
    case NATS_SECURE_CONNECTION_WANTED:
        snprintf(
            out, BUS_WHY_MAX,
            "NATS does not support TLS, which tls:// and --nats-tls-… require; use nats://, or "
            "enable TLS there: %s",
            where);
        return true;
    case NATS_SSL_ERROR:
        snprintf(out, BUS_WHY_MAX, "NATS cannot be reached with TLS (%.120s): %s", text, where);
        return true;
    case NATS_SYS_ERROR: /* the host name cannot be resolved, or no file descriptor is left */
        snprintf(out, BUS_WHY_MAX, "NATS is unreachable (%.120s): %s", text, where);
        return false;
    /* A server that misses a certificate closes after the handshake, which nats.c calls so, or from
     * 3.10 on a connection that is closed. */
    case NATS_PROTOCOL_ERROR:
    case NATS_CONNECTION_CLOSED:
        text = "it does not speak the NATS protocol, or expects a certificate: --nats-tls-cert";
        /* fall through */
    case NATS_ERR:
        snprintf(out, BUS_WHY_MAX, "NATS refused the connection (%.100s): %s", text, where);
        return true;
    case NATS_TIMEOUT:
        snprintf(out, BUS_WHY_MAX, "NATS is unreachable (no answer in time): %s", where);
        return false;
    default:
        snprintf(out, BUS_WHY_MAX, "NATS is unreachable (no connection): %s", where);
        return false;
    }
}

/* ---- subjects that the server does not permit ---- */

static pthread_mutex_t violations_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bus_violation *violations;

static void keep_violation(struct bus_violation *violation, const char *text) {
    const size_t count = atomic_load(&violation->count);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(violation->texts[i], text, BUS_VIOLATION_MAX - 1) == 0) {
            return;
        }
    }
    if (count < BUS_VIOLATION_COUNT_MAX) {
        snprintf(violation->texts[count], BUS_VIOLATION_MAX, "%s", text);
        atomic_store(&violation->count, count + 1);
    }
}

static void note_violation(natsConnection *connection, natsSubscription *subscription,
                           natsStatus status, void *context) {
    (void)connection;
    (void)subscription;
    natsStatus ignored;
    const char *text = status == NATS_NOT_PERMITTED ? nats_GetLastError(&ignored) : NULL;
    if (text == NULL) {
        return; /* anything else ends the connection, which is noticed anyway */
    }
    pthread_mutex_lock(&violations_lock);
    struct bus_violation *found = violations;
    while (found != NULL && found != context) {
        found = found->next;
    }
    if (found != NULL && (found->ignored == NULL || strstr(text, found->ignored) == NULL)) {
        keep_violation(found, text);
        reactor_wake(found->reactor);
    }
    pthread_mutex_unlock(&violations_lock);
}

natsStatus bus_violation_add(struct bus_violation *violation, struct reactor *reactor,
                             const char *ignored, natsOptions *options) {
    violation->reactor = reactor;
    violation->ignored = ignored;
    pthread_mutex_lock(&violations_lock);
    violation->next = violations;
    violations = violation;
    pthread_mutex_unlock(&violations_lock);
    return natsOptions_SetErrorHandler(options, note_violation, violation);
}

void bus_violation_remove(struct bus_violation *violation) {
    pthread_mutex_lock(&violations_lock);
    struct bus_violation **link = &violations;
    while (*link != NULL && *link != violation) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = violation->next;
    }
    pthread_mutex_unlock(&violations_lock);
}

/* Permissions Violation for Publish to "vlp.safe.claim" */
bool bus_violation_take(struct bus_violation *violation, bool *out_is_publish,
                        char subject[BUS_VIOLATION_MAX]) {
    if (atomic_load_explicit(&violation->count, memory_order_relaxed) == 0) {
        return false;
    }
    char text[BUS_VIOLATION_MAX];
    pthread_mutex_lock(&violations_lock); /* only this thread takes violations: there is still
                                             one */
    const size_t count = atomic_load(&violation->count) - 1;
    memcpy(text, violation->texts[count], sizeof text);
    atomic_store(&violation->count, count);
    pthread_mutex_unlock(&violations_lock);
    const char *quoted = strchr(text, '"');
    *out_is_publish = strcasestr(text, "publish to") != NULL;
    snprintf(subject, BUS_VIOLATION_MAX, "%.*s",
             quoted != NULL ? (int)strcspn(quoted + 1, "\"") : 0, quoted != NULL ? quoted + 1 : "");
    return true;
}
