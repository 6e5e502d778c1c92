/* SPDX-License-Identifier: Apache-2.0 */

/* Scopes, and who has them. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "principal.h"

static const struct parley_protocol *protocol(const char *name) {
    return parley_protocol_find(parley_bytes_of(name));
}

static void test_a_scope_allows_what_it_names_and_nothing_else(void **state) {
    (void)state;
    static const struct {
        const char *scope;
        bool sends_vlp, reads_vlp, sends_brenner, reads_brenner, is_admin, measures, reviews;
    } cases[] = {
        {.scope = "send:vlp", .sends_vlp = true},
        {.scope = "send:*", .sends_vlp = true, .sends_brenner = true},
        {.scope = "read:brenner", .reads_brenner = true},
        {.scope = "read:*", .reads_vlp = true, .reads_brenner = true},
        {.scope = "admin", .is_admin = true, .measures = true, .reviews = true},
        {.scope = "metrics", .measures = true},
        {.scope = "review", .reviews = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scopes scopes = {0};
        assert_true(scopes_add(&scopes, parley_bytes_of(cases[i].scope), NULL));
        assert_int_equal(scopes_may_send(&scopes, protocol("vlp")), cases[i].sends_vlp);
        assert_int_equal(scopes_may_read(&scopes, protocol("vlp")), cases[i].reads_vlp);
        assert_int_equal(scopes_may_send(&scopes, protocol("brenner")), cases[i].sends_brenner);
        assert_int_equal(scopes_may_read(&scopes, protocol("brenner")), cases[i].reads_brenner);
        assert_int_equal(scopes.admin, cases[i].is_admin);
        assert_int_equal(scopes_may_measure(&scopes), cases[i].measures);
        assert_int_equal(scopes_may_review(&scopes), cases[i].reviews);
    }
}

static void test_an_unknown_scope_is_refused_and_the_known_ones_are_named(void **state) {
    (void)state;
    static const char *const unknown[] = {"",          "send",    "send:", "send:VLP",
                                          "send:vlp ", "vlp",     "read",  "read:nope",
                                          "write:*",   "send:**", "send*", "admin:*"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct scopes scopes = {0};
        struct parley_buffer error;
        parley_buffer_init(&error);
        assert_false(scopes_add(&scopes, parley_bytes_of(unknown[i]), &error));
        assert_int_equal(scopes.send | scopes.read, 0);
        parley_buffer_char(&error, '\0');
        assert_non_null(strstr(error.data, unknown[i]));
        assert_non_null(strstr(error.data, "send:vlp, send:roundtable, send:supervisor, "
                                           "send:brenner, send:*, read:vlp, "));
        assert_non_null(strstr(error.data, "read:*, admin, metrics and review"));
        parley_buffer_finish(&error);
    }
}

static void test_scopes_are_written_as_they_are_read(void **state) {
    (void)state;
    static const char *const given[] = {"read:brenner", "send:vlp", "send:roundtable",
                                        "review",       "metrics",  "admin"};
    struct scopes scopes = {0};
    struct parley_buffer text;
    parley_buffer_init(&text);
    scopes_write(&scopes, ',', &text);
    assert_int_equal(text.length, 0);
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        assert_true(scopes_add(&scopes, parley_bytes_of(given[i]), NULL));
    }
    scopes_write(&scopes, ',', &text);
    parley_buffer_char(&text, '\0');
    assert_string_equal(text.data, "send:vlp,send:roundtable,read:brenner,admin,metrics,review");
    parley_buffer_clear(&text);
    scopes = SCOPES_ALL;
    scopes_write(&scopes, ' ', &text);
    parley_buffer_char(&text, '\0');
    assert_string_equal(text.data, "send:* read:* admin metrics review");
    parley_buffer_finish(&text);
}

static void test_a_principal_lives_until_its_last_reference(void **state) {
    (void)state;
    char name[] = "ci", agent[] = "The Observer";
    struct principal *principal = principal_create(name, agent);
    assert_non_null(principal);
    name[0] = agent[0] = '?';
    struct principal *again = principal_ref(principal);
    principal_unref(principal);
    assert_string_equal(again->name, "ci");
    assert_string_equal(again->agent, "The Observer");
    assert_false(principal_has_expired(again, INT64_MAX));
    again->expires_at = 100;
    assert_false(principal_has_expired(again, 99));
    assert_true(principal_has_expired(again, 100));
    principal_unref(again);
    principal_unref(NULL);
    again = principal_create("", NULL);
    assert_null(again->agent);
    principal_unref(again);
}

static void test_nobody_may_do_nothing_and_the_anonymous_everything(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        assert_false(scopes_may_send(&principal_nobody.scopes, parley_protocols[i]));
        assert_false(scopes_may_read(&principal_nobody.scopes, parley_protocols[i]));
        assert_true(scopes_may_send(&principal_anonymous.scopes, parley_protocols[i]));
        assert_true(scopes_may_read(&principal_anonymous.scopes, parley_protocols[i]));
    }
    assert_false(scopes_may_measure(&principal_nobody.scopes));
    assert_false(scopes_may_review(&principal_nobody.scopes));
    assert_false(principal_nobody.scopes.admin);
    assert_true(principal_anonymous.scopes.admin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scope_allows_what_it_names_and_nothing_else),
        cmocka_unit_test(test_an_unknown_scope_is_refused_and_the_known_ones_are_named),
        cmocka_unit_test(test_scopes_are_written_as_they_are_read),
        cmocka_unit_test(test_a_principal_lives_until_its_last_reference),
        cmocka_unit_test(test_nobody_may_do_nothing_and_the_anonymous_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
