/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tls_context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/x509.h>

#include "../lib/certificates.h"
#include "tls_name.h"

/* A folder with a server's certificate, another one's, and what is not one. */
static char folder[64];

static const char *in_folder(const char *name) {
    static char paths[4][128];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode) {
    const char *path = in_folder(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void write_pair(const char *certificate, const char *key) {
    struct certificate made =
        certificate_make(&(struct certificate_wanted){.common_name = "localhost"}, NULL);
    certificate_write(&made, in_folder(certificate));
    certificate_write_key(&made, in_folder(key));
    certificate_finish(&made);
}

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/parley-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    write_pair("cert.pem", "key.pem");
    write_pair("other.pem", "other.key");
    write_pair("x.pem", "group.key");
    write_pair("group.pem", "readable.key");
    write_file("text.pem", "not a certificate\n", 0600);
    assert_int_equal(chmod(in_folder("readable.key"), 0644), 0);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    static const char *const names[] = {"cert.pem", "key.pem",   "other.pem", "other.key",
                                        "x.pem",    "group.key", "group.pem", "readable.key",
                                        "text.pem", "pipe"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unlink(in_folder(names[i]));
    }
    return rmdir(folder);
}

static void test_files_that_cannot_be_used_are_refused_with_what_to_do(void **state) {
    (void)state;
    static const struct {
        const char *certificate, *key, *client_ca, *says;
    } cases[] = {
        {"missing.pem", "key.pem", NULL, "missing.pem cannot be read: No such file"},
        {"text.pem", "key.pem", NULL, "text.pem does not begin with a certificate"},
        {"key.pem", "key.pem", NULL, "key.pem does not begin with a certificate"},
        {"cert.pem", "missing.key", NULL, "missing.key cannot be read: No such file"},
        {"cert.pem", "text.pem", NULL, "text.pem is not a private key in PEM form"},
        {"cert.pem", "cert.pem", NULL, "chmod 600"},
        {"cert.pem", "readable.key", NULL, "readable.key holds a private key, and other users"},
        {"cert.pem", "other.key", NULL, "does not belong to the first certificate"},
        {"pipe", "key.pem", NULL, "pipe is not a regular file"},
        {"cert.pem", "pipe", NULL, "pipe is not a regular file"},
        {"cert.pem", "key.pem", "pipe", "pipe is not a regular file"},
        {"cert.pem", "key.pem", "missing.pem", "missing.pem cannot be read: No such file"},
        {"cert.pem", "key.pem", "text.pem", "text.pem does not hold certificates"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tls_context *context = NULL;
        char error[TLS_ERROR_MAX], certificate[128], key[128], client_ca[128];
        snprintf(certificate, sizeof certificate, "%s", in_folder(cases[i].certificate));
        snprintf(key, sizeof key, "%s", in_folder(cases[i].key));
        snprintf(client_ca, sizeof client_ca, "%s",
                 in_folder(cases[i].client_ca != NULL ? cases[i].client_ca : ""));
        const struct tls_files files = {.certificate = certificate,
                                        .key = key,
                                        .client_ca = cases[i].client_ca ? client_ca : NULL};
        assert_int_equal(tls_context_create(&files, error, &context), PARLEY_E_IO);
        assert_null(context);
        if (strstr(error, cases[i].says) == NULL) {
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, error, cases[i].says);
        }
    }
}

static void test_a_key_that_a_group_may_read_is_taken(void **state) {
    (void)state;
    struct tls_context *context;
    char error[TLS_ERROR_MAX];
    assert_int_equal(chmod(in_folder("group.key"), 0640), 0);
    const struct tls_files files = {in_folder("x.pem"), in_folder("group.key"), NULL, false};
    assert_int_equal(tls_context_create(&files, error, &context), PARLEY_OK);
    tls_context_destroy(context);
}

static void test_files_that_broke_are_not_taken_when_they_are_read_again(void **state) {
    (void)state;
    struct tls_context *context;
    char error[TLS_ERROR_MAX], certificate[128], key[128];
    snprintf(certificate, sizeof certificate, "%s", in_folder("cert.pem"));
    snprintf(key, sizeof key, "%s", in_folder("key.pem"));
    const struct tls_files files = {.certificate = certificate, .key = key};
    assert_int_equal(tls_context_create(&files, error, &context), PARLEY_OK);
    write_file("cert.pem", "half of it", 0600);
    assert_int_equal(tls_context_reload(context, error), PARLEY_E_IO);
    assert_non_null(strstr(error, "cert.pem does not begin with a certificate"));
    write_pair("cert.pem", "other.key");
    assert_int_equal(tls_context_reload(context, error), PARLEY_E_IO);
    assert_non_null(strstr(error, "does not belong"));
    write_pair("cert.pem", "key.pem");
    assert_int_equal(tls_context_reload(context, error), PARLEY_OK);
    tls_context_destroy(context);
    tls_context_destroy(NULL);
}

static void test_the_name_of_a_certificate_says_what_kind_it_is(void **state) {
    (void)state;
    static const struct {
        const char *common, *alternative, *name;
    } cases[] = {
        {"agent-7", NULL, "cn:agent-7"},
        {"agent-7", "DNS:a.example,DNS:b.example", "dns:a.example"},
        {"agent-7", "email:a@example.com,DNS:a.example", "dns:a.example"},
        {"agent-7", "email:a@example.com", "email:a@example.com"},
        {NULL, "DNS:a.example,URI:spiffe://example/agent", "uri:spiffe://example/agent"},
        {"agent-7", "IP:127.0.0.1", ""}, /* its common name is not asked when there are others */
        {"two words", NULL, ""},
        {"\xc3\xa4gent", NULL, ""},
        {NULL, NULL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[TLS_NAME_MAX];
        struct certificate made =
            certificate_make(&(struct certificate_wanted){.common_name = cases[i].common,
                                                          .alternative = cases[i].alternative},
                             NULL);
        tls_name_read(made.x509, name);
        assert_string_equal(name, cases[i].name);
        certificate_finish(&made);
    }
}

static void test_a_name_that_is_too_long_or_has_a_nul_is_none(void **state) {
    (void)state;
    char name[TLS_NAME_MAX], alternative[400] = "DNS:";
    memset(alternative + 4, 'a', 300);
    struct certificate made =
        certificate_make(&(struct certificate_wanted){.alternative = alternative}, NULL);
    tls_name_read(made.x509, name);
    assert_string_equal(name, "");
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.x509), "CN", MBSTRING_UTF8,
                               (const unsigned char *)"a\0b", 3, -1, 0);
    X509_EXTENSION_free(
        X509_delete_ext(made.x509, X509_get_ext_by_NID(made.x509, NID_subject_alt_name, -1)));
    tls_name_read(made.x509, name);
    assert_string_equal(name, "");
    certificate_finish(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_that_cannot_be_used_are_refused_with_what_to_do),
        cmocka_unit_test(test_a_key_that_a_group_may_read_is_taken),
        cmocka_unit_test(test_files_that_broke_are_not_taken_when_they_are_read_again),
        cmocka_unit_test(test_the_name_of_a_certificate_says_what_kind_it_is),
        cmocka_unit_test(test_a_name_that_is_too_long_or_has_a_nul_is_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
