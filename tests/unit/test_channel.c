/* SPDX-License-Identifier: Apache-2.0 */

/* The names that --subject-prefix gives to subjects and streams, and what it may not be. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "channel.h"

/* A character less than a prefix may have. */
#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct parley_arena arena;

static int set_up(void **state) {
    (void)state;
    parley_arena_init(&arena, 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    parley_arena_finish(&arena);
    return 0;
}

static const struct channel *vlp_with(const char *prefixes) {
    char error[CHANNEL_ERROR_MAX];
    const struct channel *channels = NULL;
    assert_int_equal(channels_create(prefixes, &arena, &channels, error), PARLEY_OK);
    return channel_find(channels, parley_protocol_find(PARLEY_BYTES("vlp")));
}

static void test_without_a_prefix_names_are_the_protocols_own(void **state) {
    (void)state;
    static const char *const none[] = {NULL, "vlp=vlp"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        const struct channel *channel = vlp_with(none[i]);
        assert_null(channel->prefix);
        assert_string_equal(channel->stream, "VLP");
        assert_string_equal(channel->subjects, "vlp.>");
        assert_string_equal(channel->halt_bucket, "parley_halts");
        assert_string_equal(channel->halt_subjects, "vlp.block.>");
        assert_string_equal(channel->review_bucket, "parley_reviews");
        assert_string_equal(channel->review_subjects, "vlp.review.>");
    }
}

static void test_a_prefix_is_the_first_token_and_part_of_the_streams_name(void **state) {
    (void)state;
    static const struct {
        const char *given, *prefix, *stream, *subjects, *bucket, *review_subjects;
    } rows[] = {
        {"vlp=fleet-a", "fleet-a", "VLP_FLEET-A", "fleet-a.>", "parley_reviews_fleet-a",
         "fleet-a.review.>"},
        {"vlp=B", "B", "VLP_B", "B.>", "parley_reviews_B", "B.review.>"},
        {"vlp=_0", "_0", "VLP__0", "_0.>", "parley_reviews__0", "_0.review.>"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct channel *channel = vlp_with(rows[i].given);
        assert_string_equal(channel->prefix, rows[i].prefix);
        assert_string_equal(channel->stream, rows[i].stream);
        assert_string_equal(channel->subjects, rows[i].subjects);
        assert_string_equal(channel->review_bucket, rows[i].bucket);
        assert_string_equal(channel->review_subjects, rows[i].review_subjects);
    }
}

static void test_agents_that_are_lost_have_a_bucket_of_the_fleet(void **state) {
    (void)state;
    static const struct {
        const char *given, *bucket;
    } rows[] = {
        {NULL, "parley_agents"},
        {"vlp=x", "parley_agents"},
        {"supervisor=fleet-a", "parley_agents_fleet-a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[CHANNEL_ERROR_MAX];
        const struct channel *channels = NULL;
        assert_int_equal(channels_create(rows[i].given, &arena, &channels, error), PARLEY_OK);
        const struct parley_protocol *supervisor = parley_protocol_find(PARLEY_BYTES("supervisor"));
        const struct parley_protocol *vlp = parley_protocol_find(PARLEY_BYTES("vlp"));
        assert_string_equal(channel_find(channels, supervisor)->loss_bucket, rows[i].bucket);
        assert_null(channel_find(channels, vlp)->loss_bucket);
    }
}

static void test_acknowledgements_that_are_overdue_have_a_bucket_of_the_fleet(void **state) {
    (void)state;
    static const struct {
        const char *given, *bucket;
    } rows[] = {
        {NULL, "parley_acks"},
        {"vlp=x", "parley_acks"},
        {"brenner=fleet-a", "parley_acks_fleet-a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[CHANNEL_ERROR_MAX];
        const struct channel *channels = NULL;
        assert_int_equal(channels_create(rows[i].given, &arena, &channels, error), PARLEY_OK);
        const struct parley_protocol *brenner = parley_protocol_find(PARLEY_BYTES("brenner"));
        const struct parley_protocol *vlp = parley_protocol_find(PARLEY_BYTES("vlp"));
        assert_string_equal(channel_find(channels, brenner)->ack_bucket, rows[i].bucket);
        assert_null(channel_find(channels, vlp)->ack_bucket);
    }
}

static void test_all_others_keep_their_names(void **state) {
    (void)state;
    char error[CHANNEL_ERROR_MAX];
    const struct channel *channels = NULL;
    assert_int_equal(channels_create("vlp=x", &arena, &channels, error), PARLEY_OK);
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        assert_ptr_equal(channels[i].protocol, parley_protocols[i]);
        if (strcmp(parley_protocols[i]->name, "vlp") != 0) {
            assert_string_equal(channels[i].stream, parley_protocols[i]->stream);
            assert_string_equal(channels[i].subjects, parley_protocols[i]->subjects);
        }
    }
}

static void test_a_bucket_is_named_by_the_prefix_too(void **state) {
    (void)state;
    char error[CHANNEL_ERROR_MAX];
    const struct channel *channels = NULL;
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("roundtable"));
    assert_int_equal(channels_create(NULL, &arena, &channels, error), PARLEY_OK);
    assert_string_equal(channel_find(channels, protocol)->fact_bucket, "parley_tasks");
    assert_int_equal(channels_create("roundtable=fleet-a", &arena, &channels, error), PARLEY_OK);
    assert_string_equal(channel_find(channels, protocol)->fact_bucket, "parley_tasks_fleet-a");
    assert_string_equal(channel_find(channels, protocol)->fact_subjects[0], "fleet-a.tasks.>");
    protocol = parley_protocol_find(PARLEY_BYTES("supervisor"));
    assert_string_equal(channel_find(channels, protocol)->object_bucket, "parley_checkpoints");
    assert_int_equal(channels_create("supervisor=fleet-a", &arena, &channels, error), PARLEY_OK);
    assert_string_equal(channel_find(channels, protocol)->object_bucket,
                        "parley_checkpoints_fleet-a");
    assert_null(vlp_with("vlp=x")->fact_bucket);
}

static const struct channel *rejected_with(const char *prefixes) {
    char error[CHANNEL_ERROR_MAX];
    const struct channel *channels = NULL;
    assert_int_equal(channels_create(prefixes, &arena, &channels, error), PARLEY_OK);
    return channel_rejected(channels);
}

static void test_what_was_refused_is_the_fleets_by_all_of_its_prefixes(void **state) {
    (void)state;
    static const struct {
        const char *given, *prefix, *stream, *subjects;
    } rows[] = {
        {NULL, NULL, "REJECTED", "rejected.>"},
        {"vlp=vlp", NULL, "REJECTED", "rejected.>"},
        {"vlp=fleet-a", "rejected_fleet-a", "REJECTED_FLEET-A", "rejected_fleet-a.>"},
        {"roundtable=b,vlp=a", "rejected_a~b", "REJECTED_A~B", "rejected_a~b.>"},
        {"vlp=a_b", "rejected_a_b", "REJECTED_A_B", "rejected_a_b.>"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct channel *channel = rejected_with(rows[i].given);
        assert_string_equal(channel->name, "rejected");
        assert_int_equal(channel->prefix == NULL, rows[i].prefix == NULL);
        if (rows[i].prefix != NULL) {
            assert_string_equal(channel->prefix, rows[i].prefix);
        }
        assert_string_equal(channel->stream, rows[i].stream);
        assert_string_equal(channel->subjects, rows[i].subjects);
        assert_non_null(strstr(channel->absence, rows[i].stream));
    }
}

static void test_what_cannot_be_a_prefix_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *given, *part;
    } rows[] = {
        {"", "'' is not PROTOCOL=TOKEN"},
        {"fleet", "'fleet' is not PROTOCOL=TOKEN"},
        {"vlp=a,", "'' is not PROTOCOL=TOKEN"},
        {"nothing=a", "unknown protocol 'nothing'"},
        {"VLP=a", "unknown protocol 'VLP'"},
        {"=a", "unknown protocol ''"},
        {"vlp=", "one token"},
        {"vlp=a.b", "'a.b'"},
        {"vlp=a b", "'a b'"},
        {"vlp=a>", "'a>'"},
        {"vlp=*", "'*'"},
        {"vlp=\xC3\xA4", "one token"},
        {"vlp=a=b", "'a=b'"},
        {"vlp=" LONG "aa", "one token"},
        {"vlp=rejected", "reserved"},
        {"vlp=rejected_fleet-a", "reserved"},
        {"vlp=" LONG "1,roundtable=" LONG "2,supervisor=" LONG "3,brenner=" LONG "4",
         "too long together"},
        {"vlp=_INBOX", "reserved"},
        {"vlp=a,vlp=b", "vlp already has a prefix and cannot also have 'b'; a protocol takes one"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[CHANNEL_ERROR_MAX] = "";
        const struct channel *channels = NULL;
        assert_int_equal(channels_create(rows[i].given, &arena, &channels, error),
                         PARLEY_E_UNSUPPORTED);
        if (strstr(error, rows[i].part) == NULL) {
            fail_msg("\"%s\": \"%s\" does not say \"%s\"", rows[i].given, error, rows[i].part);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_a_prefix_names_are_the_protocols_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_prefix_is_the_first_token_and_part_of_the_streams_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_agents_that_are_lost_have_a_bucket_of_the_fleet,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_acknowledgements_that_are_overdue_have_a_bucket_of_the_fleet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_others_keep_their_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_bucket_is_named_by_the_prefix_too, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_refused_is_the_fleets_by_all_of_its_prefixes,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_a_prefix_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
