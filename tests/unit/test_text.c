/* SPDX-License-Identifier: Apache-2.0 */

/* The forms of text, against references that are written another way. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/text.h"
#include "lib/random.h"

/* ---- times ---- */

enum answer { NO_TIME, IN_UTC, ELSEWHERE };

struct time_row {
    const char *text;
    enum answer wanted;
};

static void check_times(const struct time_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        static const char *const names[] = {"no time", "in UTC", "elsewhere"};
        const struct parley_bytes text = parley_bytes_of(rows[i].text);
        const enum answer got = !text_is_time(text)      ? NO_TIME
                                : text_time_is_utc(text) ? IN_UTC
                                                         : ELSEWHERE;
        if (got != rows[i].wanted) {
            fail_msg("%s: %s, not %s", rows[i].text, names[got], names[rows[i].wanted]);
        }
    }
}

#define CHECK_TIMES(...)                                                                           \
    check_times((const struct time_row[]){__VA_ARGS__},                                            \
                sizeof((const struct time_row[]){__VA_ARGS__}) / sizeof(struct time_row))

static void test_a_time_has_the_form_of_rfc_3339(void **state) {
    (void)state;
    CHECK_TIMES({"2025-12-14T10:30:00Z", IN_UTC}, {"2025-12-14t10:30:00z", IN_UTC},
                {"2025-12-14T10:30:00.5Z", IN_UTC},
                {"2025-12-14T10:30:00.123456789012345678901234567890Z", IN_UTC},
                {"0000-01-01T00:00:00Z", IN_UTC}, {"9999-12-31T23:59:59Z", IN_UTC}, {"", NO_TIME},
                {"2025-12-14", NO_TIME}, {"2025-12-14T10:30:00", NO_TIME},
                {"2025-12-14 10:30:00Z", NO_TIME}, {"2025-12-14T10:30Z", NO_TIME},
                {"2025-12-14T10:30:00.Z", NO_TIME}, {"2025-12-14T10:30:00,5Z", NO_TIME},
                {"2025-12-14T10:30:00ZZ", NO_TIME}, {"2025-12-14T10:30:00Z ", NO_TIME},
                {" 2025-12-14T10:30:00Z", NO_TIME}, {"2025-12-14T10:30:00.5", NO_TIME},
                {"2025-12-14T10:30:00.5.5Z", NO_TIME}, {"2025-1-14T10:30:00Z", NO_TIME},
                {"+2025-12-14T10:30:00Z", NO_TIME}, {"20251214T103000Z", NO_TIME},
                {"2025-12-14T10:30:00\xCE\xB6", NO_TIME}, {"2025-12-14T1a:30:00Z", NO_TIME});
}

static void test_a_time_has_an_offset_that_exists(void **state) {
    (void)state;
    CHECK_TIMES({"2025-12-14T10:30:00+00:00", IN_UTC}, {"2025-12-14T10:30:00-00:00", IN_UTC},
                {"2025-12-14T10:30:00+01:00", ELSEWHERE}, {"2025-12-14T10:30:00-23:59", ELSEWHERE},
                {"2025-12-14T10:30:00.25+05:45", ELSEWHERE},
                {"2025-12-14T10:30:00+00:01", ELSEWHERE}, {"2025-12-14T10:30:00+24:00", NO_TIME},
                {"2025-12-14T10:30:00+01:60", NO_TIME}, {"2025-12-14T10:30:00+0100", NO_TIME},
                {"2025-12-14T10:30:00+01", NO_TIME}, {"2025-12-14T10:30:00+1:00", NO_TIME},
                {"2025-12-14T10:30:00*01:00", NO_TIME}, {"2025-12-14T10:30:00+01-00", NO_TIME},
                {"2025-12-14T10:30:00Z+01:00", NO_TIME}, {"2025-12-14T10:30:00+01:00Z", NO_TIME});
}

static void test_a_leap_second_ends_june_or_december_in_utc(void **state) {
    (void)state;
    CHECK_TIMES({"2016-12-31T23:59:60Z", IN_UTC}, {"2015-06-30T23:59:60Z", IN_UTC},
                {"2016-12-31T23:59:60.999Z", IN_UTC}, {"2016-12-31T15:59:60-08:00", ELSEWHERE},
                {"2017-01-01T05:29:60+05:30", ELSEWHERE}, {"2015-07-01T00:59:60+01:00", ELSEWHERE},
                {"2016-12-30T23:59:60-24:00", NO_TIME}, {"2016-12-31T00:00:60-23:59", ELSEWHERE},
                {"2016-12-30T23:59:60Z", NO_TIME}, {"2016-12-30T23:58:60-23:59", NO_TIME},
                {"2016-12-31T00:59:60-23:00", ELSEWHERE}, {"2015-06-30T00:00:60-23:59", ELSEWHERE},
                {"2015-06-29T23:59:60-00:01", NO_TIME}, {"2016-12-31T23:59:60+01:00", NO_TIME},
                {"2016-12-31T22:59:60Z", NO_TIME}, {"2016-12-31T23:58:60Z", NO_TIME},
                {"2016-11-30T23:59:60Z", NO_TIME}, {"2016-03-31T23:59:60Z", NO_TIME},
                {"2016-12-31T23:59:61Z", NO_TIME}, {"2017-01-01T23:59:60+01:00", NO_TIME},
                {"2017-08-01T00:59:60+01:00", NO_TIME}, {"2017-07-02T00:59:60+01:00", NO_TIME});
}

/* timegm takes any number in any member and says, by what it makes of them, which were real. */
static bool is_real(const struct tm *wanted) {
    struct tm made = *wanted;
    timegm(&made);
    return made.tm_year == wanted->tm_year && made.tm_mon == wanted->tm_mon &&
           made.tm_mday == wanted->tm_mday && made.tm_hour == wanted->tm_hour &&
           made.tm_min == wanted->tm_min && made.tm_sec == wanted->tm_sec;
}

static void test_a_date_is_a_time_exactly_when_timegm_leaves_it_as_it_is(void **state) {
    (void)state;
    struct random_source source = {3339};
    size_t real_count = 0;
    for (int i = 0; i < 200000; i++) {
        /* Mostly near the ends of months, and of what two digits may say. */
        struct tm at = {.tm_year = (int)random_below(&source, 10000) - 1900,
                        .tm_mon = (int)random_below(&source, 14) - 1,
                        .tm_mday = (int)random_below(&source, 2) == 0
                                       ? 27 + (int)random_below(&source, 6)
                                       : (int)random_below(&source, 34),
                        .tm_hour = (int)random_below(&source, 26),
                        .tm_min = (int)random_below(&source, 62),
                        .tm_sec = (int)random_below(&source, 60)};
        char text[64];
        snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", at.tm_year + 1900,
                 at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
        const bool wanted = is_real(&at);
        real_count += wanted;
        if (text_is_time(parley_bytes_of(text)) != wanted) {
            fail_msg("%s: %s", text, wanted ? "it exists" : "it does not exist");
        }
    }
    assert_in_range(real_count, 20000, 180000);
}

static void test_a_time_has_the_unix_time_that_timegm_gives_it(void **state) {
    (void)state;
    struct random_source source = {1970};
    for (int i = 0; i < 100000; i++) {
        const int offset = (int)random_below(&source, 2 * 1439 + 1) - 1439;
        struct tm at = {.tm_year = (int)random_below(&source, 10000) - 1900,
                        .tm_mon = (int)random_below(&source, 12),
                        .tm_mday = 1 + (int)random_below(&source, 28),
                        .tm_hour = (int)random_below(&source, 24),
                        .tm_min = (int)random_below(&source, 60),
                        .tm_sec = (int)random_below(&source, 60)};
        char text[64];
        snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d", at.tm_year + 1900,
                 at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec,
                 offset < 0 ? '-' : '+', abs(offset) / 60, abs(offset) % 60);
        const int64_t wanted = timegm(&at) - INT64_C(60) * offset;
        double seconds = 0;
        if (!text_unix_time(parley_bytes_of(text), &seconds) || (int64_t)seconds != wanted) {
            fail_msg("%s is %.3f, not %lld", text, seconds, (long long)wanted);
        }
    }
}

static void test_a_unix_time_counts_fractions_and_leap_seconds(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {{"1970-01-01T00:00:00Z", 0},
                {"1970-01-01T00:00:00.25Z", 0.25},
                {"1969-12-31T23:59:59.75Z", -0.25},
                {"1970-01-01T00:00:00.000000000000000000000000000001Z", 1e-30},
                {"2026-02-08T15:00:00.5Z", 1770562800.5},
                {"2026-02-08t16:00:00.500+01:00", 1770562800.5},
                {"2026-02-08T11:15:00-03:45", 1770562800},
                {"2016-12-31T23:59:60Z", 1483228800},
                {"2017-01-01T00:00:00Z", 1483228800},
                {"0000-01-01T00:00:00Z", -62167219200},
                {"0000-12-31T23:59:59Z", -62135596801},
                {"9999-12-31T23:59:59Z", 253402300799}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double seconds = NAN;
        assert_true(text_unix_time(parley_bytes_of(rows[i].text), &seconds));
        if (fabs(seconds - rows[i].seconds) > 1e-6) {
            fail_msg("%s is %.9f, not %.9f", rows[i].text, seconds, rows[i].seconds);
        }
    }
}

static void test_what_is_no_time_has_no_unix_time(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "0",
                                        "2026-02-30T00:00:00Z",
                                        "2026-02-08T15:00:00",
                                        "2026-02-08T23:59:60Z",
                                        "2026-02-08T15:00:00.Z"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double seconds = 7;
        assert_false(text_unix_time(parley_bytes_of(texts[i]), &seconds));
        assert_true(seconds == 7);
    }
    double seconds;
    assert_false(text_unix_time((struct parley_bytes){0}, &seconds));
}

static void assert_written(double seconds, const char *wanted) {
    char text[TEXT_TIME_SIZE];
    text_write_unix_time(seconds, text);
    if (strcmp(text, wanted) != 0) {
        fail_msg("%.3f is %s, not %s", seconds, wanted, text);
    }
}

static void test_a_unix_time_is_written_as_gmtime_gives_it(void **state) {
    (void)state;
    struct random_source source = {2026};
    for (int i = 0; i < 100000; i++) {
        const time_t seconds =
            (time_t)(random_below(&source, 3201) * 86400 * 98 + random_below(&source, 86400 * 98)) -
            INT64_C(62167219200);
        struct tm at;
        char wanted[64];
        gmtime_r(&seconds, &at);
        snprintf(wanted, sizeof wanted, "%04d-%02d-%02dT%02d:%02d:%02dZ", at.tm_year + 1900,
                 at.tm_mon + 1, at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
        assert_written((double)seconds, wanted);
    }
}

static void test_a_unix_time_is_written_within_the_years_of_rfc_3339(void **state) {
    (void)state;
    assert_written(1770562800.9, "2026-02-08T15:00:00Z");
    assert_written(-0.5, "1969-12-31T23:59:59Z");
    assert_written(-62167219200, "0000-01-01T00:00:00Z");
    assert_written(-1e300, "0000-01-01T00:00:00Z");
    assert_written(253402300799, "9999-12-31T23:59:59Z");
    assert_written(253402300800, "9999-12-31T23:59:59Z");
    assert_written(1e300, "9999-12-31T23:59:59Z");
    assert_written(NAN, "0000-01-01T00:00:00Z");
}

/* ---- domains ---- */

static void test_a_domain_is_one_token_of_letters_digits_and_two_signs(void **state) {
    (void)state;
    static const char *const domains[] = {"a",          "security", "0",        "_", "-",
                                          "cve-2026_1", "A",        "Security", "Z"};
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        assert_true(text_is_domain(parley_bytes_of(domains[i])));
    }
    static const char *const others[] = {"",  "@",  "[",   "a.b", "a b", "*",
                                         ">", "a/", "a\n", "a{",  "`",   "\xC3\xA9"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(text_is_domain(parley_bytes_of(others[i])));
    }
    char many[129];
    memset(many, 'd', sizeof many);
    assert_true(text_is_domain((struct parley_bytes){many, 128}));
    assert_false(text_is_domain((struct parley_bytes){many, 129}));
    assert_false(text_is_domain((struct parley_bytes){"a\0b", 3}));
    assert_false(text_is_domain((struct parley_bytes){0}));
}

static void test_a_token_has_no_space_no_control_character_and_no_sign_of_subjects(void **state) {
    (void)state;
    static const char *const tokens[] = {
        "a", "-", "A~b", "50%", "a/b", "\xC2\xA0", "\xC3\x80", "\xE2\x80\xA8", "\xF0\x9F\x98\x80"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        assert_true(text_is_token(parley_bytes_of(tokens[i])));
    }
    static const char *const others[] = {"",     " ",     "a ",       "a.b",       "*",   "a>",
                                         "\x1F", "a\x7F", "\xC2\x80", "\xC2\x9Fz", "\r\n"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(text_is_token(parley_bytes_of(others[i])));
    }
    assert_false(text_is_token((struct parley_bytes){"a\0b", 3}));
    assert_false(text_is_token((struct parley_bytes){0}));
}

/* Where the second is 60, the time one second before must end June or December in UTC. */
static void test_a_leap_second_is_where_timegm_finds_the_last_second(void **state) {
    (void)state;
    struct random_source source = {60};
    size_t leap_count = 0;
    for (int i = 0; i < 200000; i++) {
        const bool is_near = random_below(&source, 4) != 0;
        const int offset = (int)random_below(&source, 2 * 1439 + 1) - 1439;
        struct tm utc = {.tm_year = 70 + (int)random_below(&source, 100),
                         .tm_mon = random_below(&source, 2) == 0 ? 5 : 11,
                         .tm_mday = is_near ? 30 + (int)random_below(&source, 2)
                                            : (int)random_below(&source, 33),
                         .tm_hour = is_near ? 23 : (int)random_below(&source, 24),
                         .tm_min = is_near ? 59 : (int)random_below(&source, 60)};
        const time_t minute = timegm(&utc);
        struct tm local, in_utc, behind;
        const time_t local_minute = minute + offset * 60, next = minute + 60;
        gmtime_r(&local_minute, &local);
        gmtime_r(&minute, &in_utc);
        gmtime_r(&next, &behind);
        char text[64];
        snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:60%c%02d:%02d", local.tm_year + 1900,
                 local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min,
                 offset < 0 ? '-' : '+', abs(offset) / 60, abs(offset) % 60);
        const bool wanted = (behind.tm_mon == 0 || behind.tm_mon == 6) && behind.tm_mday == 1 &&
                            behind.tm_hour == 0 && behind.tm_min == 0;
        leap_count += wanted;
        if (text_is_time(parley_bytes_of(text)) != wanted) {
            fail_msg("%s: %s", text, wanted ? "it may be" : "it cannot be");
        }
    }
    assert_in_range(leap_count, 20000, 180000);
}

static void test_a_time_that_is_cut_short_anywhere_is_none(void **state) {
    (void)state;
    static const char text[] = "2025-12-14T10:30:00.25+05:45";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        /* On the heap, so that a read behind its end is seen. */
        char *copy = malloc(length + 1);
        memcpy(copy, text, length);
        assert_false(text_is_time((struct parley_bytes){copy, length}));
        free(copy);
    }
}

/* ---- UTF-8 ---- */

/* By value: puts the bits together and asks whether the shortest form of a code point was used. */
static size_t reference_sequence(const unsigned char *at, size_t left) {
    static const struct {
        unsigned char mask, lead;
        uint32_t smallest;
    } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
    for (size_t length = 1; length <= 4; length++) {
        if ((at[0] & forms[length - 1].mask) != forms[length - 1].lead) {
            continue;
        }
        if (left < length) {
            return 0;
        }
        uint32_t code = at[0] & (uint32_t)(unsigned char)~forms[length - 1].mask;
        for (size_t i = 1; i < length; i++) {
            if (at[i] >> 6 != 2) {
                return 0;
            }
            code = code << 6 | (at[i] & 0x3F);
        }
        const bool is_code_point = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
        return code >= forms[length - 1].smallest && is_code_point ? length : 0;
    }
    return 0;
}

static void check_sequence(const unsigned char *bytes, size_t left) {
    const size_t got = text_utf8_sequence((const char *)bytes, left);
    const size_t wanted = reference_sequence(bytes, left);
    if (got != wanted) {
        fail_msg("%02x %02x %02x %02x, %zu left: %zu, not %zu", bytes[0], bytes[1], bytes[2],
                 bytes[3], left, got, wanted);
    }
}

static void test_every_pair_of_bytes_is_utf8_when_the_reference_says_so(void **state) {
    (void)state;
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        const unsigned char bytes[4] = {(unsigned char)(pair >> 8), (unsigned char)pair, 0x80,
                                        0x80};
        for (size_t left = 1; left <= 4; left++) {
            check_sequence(bytes, left);
        }
    }
}

static void test_longer_sequences_are_utf8_when_the_reference_says_so(void **state) {
    (void)state;
    static const unsigned char edges[] = {0x00, 0x22, 0x7F, 0x80, 0x8F, 0x90,
                                          0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
    const size_t edge_count = sizeof edges;
    for (unsigned first = 0xC0; first < 0x100; first++) {
        for (size_t i = 0; i < edge_count * edge_count * edge_count; i++) {
            const unsigned char bytes[4] = {(unsigned char)first, edges[i % edge_count],
                                            edges[i / edge_count % edge_count],
                                            edges[i / edge_count / edge_count]};
            check_sequence(bytes, 4);
            check_sequence(bytes, 3);
        }
    }
    struct random_source source = {3629};
    for (int i = 0; i < 1000000; i++) {
        const uint64_t bits = random_next(&source);
        const unsigned char bytes[4] = {(unsigned char)(0xE0 | (bits & 0x1F)),
                                        (unsigned char)(bits >> 8), (unsigned char)(bits >> 16),
                                        (unsigned char)(bits >> 24)};
        check_sequence(bytes, 4);
    }
}

static void test_code_points_are_counted_not_bytes(void **state) {
    (void)state;
    assert_int_equal(text_code_points(PARLEY_BYTES("")), 0);
    assert_int_equal(text_code_points(PARLEY_BYTES("abc")), 3);
    assert_int_equal(text_code_points(PARLEY_BYTES("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")), 3);
    assert_int_equal(text_code_points(PARLEY_BYTES("a\0b")), 3);
}

/* ---- UUIDs ---- */

static void test_a_uuid_has_its_digits_and_dashes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_uuid, is_version_4;
    } rows[] = {
        {"0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b", true, true},
        {"0C9C2D3E-6F6A-4C43-BA5B-0A8F4F0F1A2B", true, true},
        {"0c9c2d3e-6f6a-4c43-8a5b-0a8f4f0f1a2b", true, true},
        {"0c9c2d3e-6f6a-4c43-Aa5b-0a8f4f0f1a2b", true, true},
        {"0c9c2d3e-6f6a-4c43-7a5b-0a8f4f0f1a2b", true, false},
        {"0c9c2d3e-6f6a-4c43-ca5b-0a8f4f0f1a2b", true, false},
        {"0c9c2d3e-6f6a-1c43-9a5b-0a8f4f0f1a2b", true, false},
        {"00000000-0000-0000-0000-000000000000", true, false},
        {"ffffffff-ffff-ffff-ffff-ffffffffffff", true, false},
        {"0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2", false, false},
        {"0c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2bc", false, false},
        {"0c9c2d3e6f6a-4c43-9a5b-0a8f4f0f1a2b-", false, false},
        {"0c9c2d3e-6f6a-4c43-9a5b_0a8f4f0f1a2b", false, false},
        {"0c9c2d3g-6f6a-4c43-9a5b-0a8f4f0f1a2b", false, false},
        {"0c9c2d3@-6f6a-4c43-9a5b-0a8f4f0f1a2b", false, false},
        {"{c9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2}", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct parley_bytes text = parley_bytes_of(rows[i].text);
        if (text_is_uuid(text, false) != rows[i].is_uuid ||
            text_is_uuid(text, true) != rows[i].is_version_4) {
            fail_msg("%s", rows[i].text);
        }
    }
}

/* ---- percent-encoding ---- */

static void test_all_but_the_unreserved_bytes_are_percent_encoded(void **state) {
    (void)state;
    static const char unreserved[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    for (unsigned byte = 0; byte < 256; byte++) {
        const char c = (char)byte;
        char wanted[8];
        const bool is_plain = c != '\0' && strchr(unreserved, c) != NULL;
        snprintf(wanted, sizeof wanted, is_plain ? "/%c" : "/%%%02X", byte);
        const struct parley_bytes got =
            text_percent_encode(&arena, PARLEY_BYTES("/"), (struct parley_bytes){&c, 1});
        assert_string_equal(got.data, wanted);
        assert_int_equal(got.length, strlen(wanted));
    }
    parley_arena_finish(&arena);
}

static void test_the_prefix_of_a_percent_encoding_is_left_as_it_is(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    assert_string_equal(
        text_percent_encode(&arena, PARLEY_BYTES("/vlp/"), PARLEY_BYTES("The Observer")).data,
        "/vlp/The%20Observer");
    assert_string_equal(text_percent_encode(&arena, PARLEY_BYTES("/ %"), PARLEY_BYTES("")).data,
                        "/ %");
    parley_arena_finish(&arena);
}

static void test_a_percent_encoding_without_memory_is_null(void **state) {
    (void)state;
    struct parley_arena arena;
    parley_arena_init(&arena, 16);
    assert_null(text_percent_encode(&arena, PARLEY_BYTES("/"), PARLEY_BYTES("        ")).data);
    parley_arena_finish(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_time_has_the_form_of_rfc_3339),
        cmocka_unit_test(test_a_time_has_an_offset_that_exists),
        cmocka_unit_test(test_a_leap_second_ends_june_or_december_in_utc),
        cmocka_unit_test(test_a_date_is_a_time_exactly_when_timegm_leaves_it_as_it_is),
        cmocka_unit_test(test_a_time_has_the_unix_time_that_timegm_gives_it),
        cmocka_unit_test(test_a_unix_time_counts_fractions_and_leap_seconds),
        cmocka_unit_test(test_what_is_no_time_has_no_unix_time),
        cmocka_unit_test(test_a_unix_time_is_written_as_gmtime_gives_it),
        cmocka_unit_test(test_a_unix_time_is_written_within_the_years_of_rfc_3339),
        cmocka_unit_test(test_a_domain_is_one_token_of_letters_digits_and_two_signs),
        cmocka_unit_test(test_a_token_has_no_space_no_control_character_and_no_sign_of_subjects),
        cmocka_unit_test(test_a_leap_second_is_where_timegm_finds_the_last_second),
        cmocka_unit_test(test_a_time_that_is_cut_short_anywhere_is_none),
        cmocka_unit_test(test_every_pair_of_bytes_is_utf8_when_the_reference_says_so),
        cmocka_unit_test(test_longer_sequences_are_utf8_when_the_reference_says_so),
        cmocka_unit_test(test_code_points_are_counted_not_bytes),
        cmocka_unit_test(test_a_uuid_has_its_digits_and_dashes),
        cmocka_unit_test(test_all_but_the_unreserved_bytes_are_percent_encoded),
        cmocka_unit_test(test_the_prefix_of_a_percent_encoding_is_left_as_it_is),
        cmocka_unit_test(test_a_percent_encoding_without_memory_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
