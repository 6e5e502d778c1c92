/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "certificates.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

static void add_extension(X509 *x509, int nid, const char *value) {
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(x509, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

struct certificate certificate_make(const struct certificate_wanted *wanted,
                                    const struct certificate *issuer) {
    enum { HOUR_S = 3600 };
    static long serial = 1;
    struct certificate made = {.key = EVP_EC_gen("P-256"), .x509 = X509_new()};
    assert_non_null(made.key);
    assert_non_null(made.x509);
    X509 *x509 = made.x509;
    const struct certificate *signer = issuer != NULL ? issuer : &made;
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), serial++);
    X509_gmtime_adj(X509_getm_notBefore(x509), -2 * HOUR_S);
    X509_gmtime_adj(X509_getm_notAfter(x509), wanted->ends_s != 0 ? wanted->ends_s : HOUR_S);
    X509_set_pubkey(x509, made.key);
    if (wanted->common_name != NULL) {
        X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_UTF8,
                                   (const unsigned char *)wanted->common_name, -1, -1, 0);
    }
    X509_set_issuer_name(x509, X509_get_subject_name(signer->x509));
    add_extension(x509, NID_basic_constraints,
                  wanted->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (wanted->alternative != NULL) {
        add_extension(x509, NID_subject_alt_name, wanted->alternative);
    }
    assert_true(X509_sign(x509, signer->key, EVP_sha256()) > 0);
    return made;
}

void certificate_write(const struct certificate *certificate, const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate->x509), 1);
    assert_int_equal(fclose(file), 0);
}

void certificate_write_key(const struct certificate *certificate, const char *path) {
    (void)unlink(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_not_equal(fd, -1);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, certificate->key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
}

void certificate_finish(struct certificate *certificate) {
    EVP_PKEY_free(certificate->key);
    X509_free(certificate->x509);
    *certificate = (struct certificate){NULL, NULL};
}
