/* SPDX-License-Identifier: Apache-2.0 */

/* Names of certificates. They come from those who had the certificates signed, so a text with
 * anything but visible ASCII (a NUL, a blank that looks like another name) is not a name. */

#include "tls_name.h"

#include <stdio.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/x509v3.h>

static bool is_plain(const unsigned char *text, int length) {
    for (int i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~') {
            return false;
        }
    }
    return length > 0;
}

static void write_name(const char *kind, const ASN1_STRING *value, char out[TLS_NAME_MAX]) {
    const unsigned char *text = ASN1_STRING_get0_data(value);
    const int length = ASN1_STRING_length(value);
    out[0] = '\0';
    if (is_plain(text, length) && strlen(kind) + 1 + (size_t)length < TLS_NAME_MAX) {
        snprintf(out, TLS_NAME_MAX, "%s:%.*s", kind, length, (const char *)text);
    }
}

static const ASN1_STRING *find(const GENERAL_NAMES *names, int type) {
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == type) {
            return name->d.ia5; /* as of each of the three types below */
        }
    }
    return NULL;
}

static void read_alternative(const GENERAL_NAMES *names, char out[TLS_NAME_MAX]) {
    static const struct {
        int type;
        const char *kind;
    } kinds[] = {{GEN_URI, "uri"}, {GEN_DNS, "dns"}, {GEN_EMAIL, "email"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const ASN1_STRING *value = find(names, kinds[i].type);
        if (value != NULL) {
            write_name(kinds[i].kind, value, out);
            return;
        }
    }
}

/* With several common names, none is used. */
static void read_common(const X509 *certificate, char out[TLS_NAME_MAX]) {
    const X509_NAME *subject = X509_get_subject_name(certificate);
    const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0) {
        return;
    }
    unsigned char *text = NULL;
    const int length =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first)));
    ASN1_STRING *value = length > 0 ? ASN1_STRING_new() : NULL;
    if (value != NULL && ASN1_STRING_set(value, text, length) == 1) {
        write_name("cn", value, out);
    }
    ASN1_STRING_free(value);
    OPENSSL_free(text);
}

void tls_name_read(const struct x509_st *certificate, char out[TLS_NAME_MAX]) {
    int found;
    out[0] = '\0';
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, &found, NULL);
    if (names != NULL) {
        read_alternative(names, out);
    } else if (found == -1) { /* there are none; -2: several extensions, otherwise unreadable */
        read_common(certificate, out);
    }
    GENERAL_NAMES_free(names);
}
