/* SPDX-License-Identifier: Apache-2.0 */

/* Webhooks: their file, who may be reached, what is signed, and when an event is sent again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "public_address.h"
#include "webhook_file.h"
#include "webhook_retry.h"
#include "webhook_signature.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" /* 24 bytes */
#define FINE "url: https://a.example/x, secret: " SECRET ", events: halted"

/* ---- the file ---- */

static bool read_text(const char *text, struct webhook_file *out, struct parley_buffer *error) {
    char path[] = "/tmp/parley-webhooks-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    parley_buffer_init(error);
    const bool is_fine = webhook_file_read(path, out, error);
    parley_buffer_char(error, '\0');
    unlink(path);
    return is_fine;
}

static void test_a_file_names_webhooks_and_what_each_wants(void **state) {
    (void)state;
    struct webhook_file file = {.count = 0};
    struct parley_buffer error;
    assert_true(read_text("# comments\n"
                          "deploys:\n"
                          "  url: https://a.example/x?y\n"
                          "  secret: [" SECRET ", " SECRET "]\n"
                          "  events: [task.ended, halted]\n"
                          "  protocols: roundtable\n"
                          "  domains: [build, test]\n"
                          "  senders: The Observer\n"
                          "  at-once: 16\n"
                          "here: {url: 'http://127.0.0.1/', secret: " SECRET
                          ", events: halted, private: true}\n",
                          &file, &error));
    assert_string_equal(error.data, "");
    assert_int_equal(file.count, 2);
    const struct webhook *deploys = webhook_file_find(&file, "deploys");
    assert_string_equal(deploys->url, "https://a.example/x?y");
    assert_int_equal(deploys->secret_count, 2);
    assert_int_equal(deploys->secrets[1].length, 24);
    assert_true(webhook_list_has(deploys->events, PARLEY_BYTES("halted")));
    assert_false(webhook_list_has(deploys->events, PARLEY_BYTES("halt")));
    assert_true(webhook_list_has(deploys->senders, PARLEY_BYTES("The Observer")));
    assert_true(webhook_list_has(deploys->domains, PARLEY_BYTES("test")));
    assert_int_equal(deploys->at_once, 16);
    assert_false(deploys->is_private);
    const struct webhook *here = webhook_file_find(&file, "here");
    assert_true(here->is_private);
    assert_int_equal(here->at_once, WEBHOOK_AT_ONCE);
    assert_true(webhook_list_has(here->domains, PARLEY_BYTES("any")));
    assert_null(webhook_file_find(&file, "there"));
    parley_buffer_finish(&error);
    webhook_file_finish(&file);
}

static void test_each_mistake_is_named_with_its_line(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "there is no webhook in it"},
        {"a: b", ":1: 'a' must have the lines of a webhook below it"},
        {"a: {}", ":1: the webhook needs a usable 'url'"},
        {"a: {" FINE "}\nA: {" FINE "}", ":2: a webhook's name is 1 to 32 of a-z 0-9 -"},
        {"a: {" FINE "}\na: {" FINE "}", ":2: this name is taken"},
        {"a: {" FINE ", of: x}", ":1: unknown key 'of'"},
        {"a: {" FINE ", at-once: 17}", "'at-once' must be a whole number from 1 to 16"},
        {"a: {" FINE ", at-once: 0}", "'at-once' must be a whole number from 1 to 16"},
        {"a: {" FINE ", at-once: [1]}", "'at-once' must be one value, not a list"},
        {"a: {" FINE ", private: yes}", "'private' must be true or false"},
        {"a: {" FINE ", protocols: [vlp, nothing]}", "'protocols' must be names of protocols"},
        {"a: {" FINE ", domains: {b: c}}", "a value must be a text or a list of texts"},
        {"a:\n  url: https://a.example\n  secret: " SECRET "\n  events: [halted, task.over]",
         ":4: 'events' must be events"},
        {"a: {url: https://a.example, events: halted}", ":1: the webhook needs a usable 'secret'"},
        {"a: {url: https://a.example, secret: whsec_YWJj, events: halted}",
         ":1: 'secret' must be whsec_ and the base64 of 24 to 64 random bytes"},
        {"a: {url: https://a.example, secret: MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, events: halted}",
         "'secret' must be whsec_"},
        {"a: {url: http://a.example, secret: " SECRET ", events: halted}",
         ":1: the url must begin with https://"},
        {"a: {url: ftp://a.example, secret: " SECRET ", events: halted, private: true}",
         ":1: the url must begin with https://"},
        {"a: {url: https://me:pw@a.example, secret: " SECRET ", events: halted}",
         ":1: 'url' must be a URL such as https://hooks.example/parley, without user"},
        {"a: {url: a.example, secret: " SECRET ", events: halted}", ":1: 'url' must be a URL"},
        {"a: *b", "anchors, aliases and tags are not supported"},
        {"a: [", "not valid YAML"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct webhook_file file = {.count = 0};
        struct parley_buffer error;
        assert_false(read_text(rows[i].text, &file, &error));
        if (strstr(error.data, rows[i].says) == NULL) {
            fail_msg("%s: %s, expected %s", rows[i].text, error.data, rows[i].says);
        }
        assert_null(strstr(error.data, "me:pw@")); /* no secret is repeated */
        assert_null(strstr(error.data, "YWJj"));
        parley_buffer_finish(&error);
        webhook_file_finish(&file);
    }
}

static void test_a_file_that_others_can_read_is_refused(void **state) {
    (void)state;
    struct webhook_file file = {.count = 0};
    struct parley_buffer error;
    char path[] = "/tmp/parley-webhooks-XXXXXX";
    const int fd = mkstemp(path);
    assert_int_equal(fchmod(fd, 0644), 0);
    close(fd);
    parley_buffer_init(&error);
    assert_false(webhook_file_read(path, &file, &error));
    parley_buffer_char(&error, '\0');
    assert_non_null(strstr(error.data, path));
    assert_non_null(strstr(error.data, "chmod 600"));
    unlink(path);
    parley_buffer_finish(&error);
    webhook_file_finish(&file);
}

/* ---- addresses ---- */

static bool is_public(const char *text) {
    struct sockaddr_in six_or_four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &six_or_four.sin_addr) == 1) {
        return public_address_is((const struct sockaddr *)&six_or_four);
    }
    assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return public_address_is((const struct sockaddr *)&six);
}

static void test_only_addresses_of_the_internet_are_public(void **state) {
    (void)state;
    static const struct {
        const char *address;
        bool is_public;
    } rows[] = {
        {"1.1.1.1", true},
        {"9.255.255.255", true},
        {"11.0.0.0", true},
        {"100.63.255.255", true},
        {"100.128.0.0", true},
        {"126.255.255.255", true},
        {"128.0.0.0", true},
        {"172.15.255.255", true},
        {"172.32.0.0", true},
        {"192.167.255.255", true},
        {"198.17.255.255", true},
        {"198.20.0.0", true},
        {"223.255.255.255", true},
        {"0.0.0.0", false},
        {"10.0.0.0", false},
        {"10.255.255.255", false},
        {"100.64.0.0", false},
        {"100.127.255.255", false},
        {"127.0.0.1", false},
        {"127.255.255.255", false},
        {"169.254.169.254", false},
        {"172.16.0.0", false},
        {"172.31.255.255", false},
        {"192.0.0.8", false},
        {"192.0.2.1", false},
        {"192.168.1.1", false},
        {"198.18.0.1", false},
        {"198.51.100.1", false},
        {"203.0.113.1", false},
        {"224.0.0.1", false},
        {"240.0.0.1", false},
        {"255.255.255.255", false},
        {"2606:4700::1111", true},
        {"2a00:1450::1", true},
        {"::ffff:1.1.1.1", true},
        {"64:ff9b::1.1.1.1", true},
        {"2002:0101:0101::1", true},
        {"::", false},
        {"::1", false},
        {"::127.0.0.1", false},
        {"::ffff:127.0.0.1", false},
        {"::ffff:10.0.0.1", false},
        {"64:ff9b::10.0.0.1", false},
        {"64:ff9b:1::1", false},
        {"2002:7f00:0001::1", false},
        {"2001::1", false},
        {"2001:db8::1", false},
        {"3fff::1", false},
        {"fc00::1", false},
        {"fd12:3456::1", false},
        {"fe80::1", false},
        {"fec0::1", false},
        {"ff02::1", false},
        {"4000::1", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_public(rows[i].address) != rows[i].is_public) {
            fail_msg("%s is %spublic", rows[i].address, rows[i].is_public ? "" : "not ");
        }
    }
    assert_false(public_address_is(&(struct sockaddr){.sa_family = AF_UNIX}));
}

/* ---- signatures ---- */

/* Source: the example of the reference libraries of Standard Webhooks. */
static void test_a_signature_is_that_of_the_standard(void **state) {
    (void)state;
    struct webhook_file file = {.count = 0};
    struct parley_buffer error, out;
    assert_true(read_text("a: {url: https://a.example, secret: [" SECRET ", " SECRET
                          "], events: halted}",
                          &file, &error));
    parley_buffer_init(&out);
    webhook_sign(&file.webhooks[0], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                 PARLEY_BYTES("{\"test\": 2432232314}"), &out);
    parley_buffer_char(&out, '\0');
    assert_string_equal(out.data, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= "
                                  "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    parley_buffer_finish(&out);
    parley_buffer_finish(&error);
    webhook_file_finish(&file);
}

static void test_an_id_is_that_of_event_and_place(void **state) {
    (void)state;
    char ids[6][WEBHOOK_ID_SIZE];
    webhook_id_write("halted", PARLEY_BYTES("VLP"), 7, 9, ids[0]);
    webhook_id_write("halted", PARLEY_BYTES("VLP"), 7, 9, ids[1]);
    webhook_id_write("task.ended", PARLEY_BYTES("VLP"), 7, 9, ids[2]);
    webhook_id_write("halted", PARLEY_BYTES("VLP2"), 7, 9, ids[3]);
    webhook_id_write("halted", PARLEY_BYTES("VLP"), 8, 9, ids[4]);
    webhook_id_write("halted", PARLEY_BYTES("VLP"), 7, 10, ids[5]);
    assert_string_equal(ids[0], ids[1]);
    for (size_t i = 2; i < 6; i++) {
        assert_string_not_equal(ids[0], ids[i]);
    }
}

/* ---- sending again ---- */

static void test_a_delay_doubles_is_capped_jittered_and_ends_after_a_day(void **state) {
    (void)state;
    static const struct {
        int64_t age_ms;
        uint64_t tries;
        uint32_t random;
        int64_t retry_after_ms, delay_ms;
    } rows[] = {
        {0, 1, 0, 0, 5000},
        {0, 1, 2500, 0, 2500},
        {0, 1, 2501, 0, 5000},
        {0, 2, 0, 0, 10000},
        {0, 2, 5000, 0, 5000},
        {0, 8, 0, 0, 640000},
        {0, 9, 0, 0, 900000},
        {0, 9, 450000, 0, 450000},
        {0, 1000000, 0, 0, 900000},
        {0, 0, 0, 0, 5000},
        {0, 1, 0, 60000, 60000},
        {0, 1, 0, 1000, 5000},
        {0, 1, 0, INT64_C(86400000), 900000},
        {86399999, 9, 0, 0, 900000},
        {86400000, 1, 0, 0, -1},
        {86400000, 9, 7, 60000, -1},
        {-5000, 1, 0, 0, 5000}, /* clocks differ */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct webhook_failure failure = {.age_ms = rows[i].age_ms,
                                                .tries = rows[i].tries,
                                                .random = rows[i].random,
                                                .retry_after_ms = rows[i].retry_after_ms};
        if (webhook_retry_delay_ms(&failure) != rows[i].delay_ms) {
            fail_msg("row %zu: %lld", i, (long long)webhook_retry_delay_ms(&failure));
        }
    }
}

static int set_up(void **state) {
    (void)state;
    return sodium_init() < 0 ? -1 : 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_names_webhooks_and_what_each_wants),
        cmocka_unit_test(test_each_mistake_is_named_with_its_line),
        cmocka_unit_test(test_a_file_that_others_can_read_is_refused),
        cmocka_unit_test(test_only_addresses_of_the_internet_are_public),
        cmocka_unit_test(test_a_signature_is_that_of_the_standard),
        cmocka_unit_test(test_an_id_is_that_of_event_and_place),
        cmocka_unit_test(test_a_delay_doubles_is_capped_jittered_and_ends_after_a_day),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
