/* SPDX-License-Identifier: Apache-2.0 */

#include "nats_identity.h"

#include <sodium.h>

#include "nkey.h"
#include "private_file.h"

enum { SECRET_BYTES_MAX = 64 * 1024 };

_Static_assert(sizeof((struct nats_identity *)0)->nkey >= NKEY_TEXT_SIZE, "a public key fits");

/* ---- secrets, which no other user may read ---- */

static const char *creds_fault(struct parley_bytes text, char nkey[NKEY_TEXT_SIZE]) {
    static const char mark[] = "-----BEGIN NATS USER JWT-----";
    const bool has_jwt = memmem(text.data, text.length, mark, sizeof mark - 1) != NULL;
    return has_jwt && nkey_read_public(text, nkey)
               ? NULL
               : "it has no user's JWT and seed (SU…); give the file that `nsc generate creds` "
                 "writes";
}

static const char *nkey_fault(struct parley_bytes text, char nkey[NKEY_TEXT_SIZE]) {
    return nkey_read_public(text, nkey)
               ? NULL
               : "it has no seed of a user (SU…, 58 characters); `nk -gen user` makes one";
}

/* nats.c would ask for the password on the terminal. */
static const char *key_fault(struct parley_bytes text, char *unused) {
    static const char mark[] = "ENCRYPTED";
    unused[0] = '\0';
    return memmem(text.data, text.length, mark, sizeof mark - 1) == NULL
               ? NULL
               : "it needs a password; `openssl pkey -in KEY -out FILE` writes it without";
}

static bool fail(struct parley_buffer *error, const char *option, const char *path,
                 const char *why) {
    parley_buffer_format(error, "%s%s %s: %s", error->length > 0 ? "; " : "", option, path, why);
    return false;
}

/* Checks the file of an option, if it is given. */
static bool check_secret(const char *option, const char *path,
                         const char *(*find_fault)(struct parley_bytes text, char *nkey),
                         char *nkey, struct parley_buffer *error) {
    struct parley_buffer text, why;
    if (path == NULL) {
        return true;
    }
    parley_buffer_init(&text);
    parley_buffer_init(&why);
    const char *fault = NULL;
    if (private_file_read(path, SECRET_BYTES_MAX, &text, &why)) {
        fault = find_fault(parley_buffer_bytes(&text), nkey);
    } else {
        parley_buffer_char(&why, '\0');
        fault = why.has_failed ? parley_status_text(PARLEY_E_MEMORY) : why.data;
    }
    const bool is_good = fault == NULL || fail(error, option, path, fault);
    if (text.data != NULL) {
        sodium_memzero(text.data, text.capacity);
    }
    parley_buffer_finish(&text);
    parley_buffer_finish(&why);
    return is_good;
}

/* ---- all of it ---- */

/* Lets nats.c check the others: a file that is not PEM, a key of another certificate. */
static bool check_by_library(const struct nats_identity *identity, struct parley_buffer *error) {
    const struct {
        const char *member, *option, *path;
    } files[] = {
        {"ca", "--nats-tls-ca", identity->bus.ca},
        {"cert", "--nats-tls-cert (with its key)", identity->bus.cert},
    };
    char why[BUS_FAULT_MAX];
    const char *member = bus_identity_fault(&identity->bus, why);
    for (size_t i = 0; member != NULL && i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(member, files[i].member) == 0) {
            return fail(error, files[i].option, files[i].path, why);
        }
    }
    return member == NULL || fail(error, "--nats", member, why);
}

bool nats_identity_load(const struct configuration *configuration, struct nats_identity *out,
                        struct parley_buffer *error) {
    const char *nkey = configuration->nats_nkey;
    char unused[NKEY_TEXT_SIZE]; /* the key of credentials is in their JWT */
    *out = (struct nats_identity){.bus = {.creds = configuration->nats_creds,
                                          .nkey = nkey != NULL ? out->nkey : NULL,
                                          .nkey_seed = nkey,
                                          .ca = configuration->nats_tls_ca,
                                          .cert = configuration->nats_tls_cert,
                                          .key = configuration->nats_tls_key,
                                          .server_name = configuration->nats_tls_name}};
    const bool has_creds =
        check_secret("--nats-creds", configuration->nats_creds, creds_fault, unused, error);
    const bool has_nkey = check_secret("--nats-nkey", nkey, nkey_fault, out->nkey, error);
    const bool has_key =
        check_secret("--nats-tls-key", configuration->nats_tls_key, key_fault, unused, error);
    return has_creds && has_nkey && has_key && check_by_library(out, error);
}
