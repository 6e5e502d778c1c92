/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Certificates for tests of TLS, made while they run. What fails fails the test. */

#include <openssl/x509.h>

struct certificate {
    EVP_PKEY *key;
    X509 *x509;
};

struct certificate_wanted {
    const char *common_name; /* NULL: no subject */
    const char *alternative; /* as in openssl.cnf: "DNS:a,URI:b"; NULL: none */
    long ends_s;             /* from now; 0: in an hour */
    int is_authority;
};

/* `issuer` NULL: signed by itself. */
struct certificate certificate_make(const struct certificate_wanted *wanted,
                                    const struct certificate *issuer);
void certificate_write(const struct certificate *certificate, const char *path);
/* With mode 0600. */
void certificate_write_key(const struct certificate *certificate, const char *path);
void certificate_finish(struct certificate *certificate);
