/* SPDX-License-Identifier: Apache-2.0 */

/* A file that is looked at ahead: what does not go by is what would have been said without, and
 * what does is right. On one processor nothing is looked at ahead, and all the same holds. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_ahead.h"
#include "check_input.h"
#include "lib/random.h"

#define RIGHT                                                                                      \
    "{\"id\":\"abc\",\"protocol\":\"VLP/1.1\",\"type\":\"notice\",\"timestamp\":"                  \
    "\"2025-12-14T10:30:00Z\",\"sender\":\"a\",\"content\":\"b\",\"confidence\":0.5}"

struct fixture {
    struct parley_schema *schema;
    struct parley_message message;
    struct parley_buffer text; /* of the file */
    int fd;
};

static int set_up(void **state) {
    static struct fixture fixture;
    char name[] = "/tmp/parley-test-XXXXXX";
    const struct parley_protocol *protocol = parley_protocol_find(PARLEY_BYTES("vlp"));
    if (parley_schema_create(protocol, &fixture.schema) != PARLEY_OK) {
        return -1;
    }
    parley_message_init(&fixture.message, fixture.schema);
    parley_buffer_init(&fixture.text);
    fixture.fd = mkstemp(name);
    *state = &fixture;
    return fixture.fd >= 0 ? unlink(name) : -1;
}

static int tear_down(void **state) {
    struct fixture *fixture = *state;
    parley_message_finish(&fixture->message);
    parley_schema_destroy(fixture->schema);
    parley_buffer_finish(&fixture->text);
    return close(fixture->fd);
}

/* What was found in a file: a digest of all that is not right, and how much there is. */
struct found {
    uint64_t digest;
    size_t right_count, other_count;
};

static void add(struct found *found, const struct parley_message *message, size_t number) {
    const struct parley_findings *findings = &message->findings;
    found->right_count += findings->count == 0;
    found->other_count += findings->count > 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct parley_finding *finding = &findings->items[i];
        const uint64_t mixed = finding->at.line * 31 + finding->at.column + number * 7 +
                               (uint64_t)(uintptr_t)finding->rule;
        found->digest = found->digest * UINT64_C(0x9E3779B97F4A7C15) + mixed;
    }
}

static struct found check(struct fixture *fixture, bool looks_ahead) {
    static const struct parley_options options = {0};
    struct check_input input;
    struct found found = {0};
    assert_int_equal(lseek(fixture->fd, 0, SEEK_SET), 0);
    check_input_init(&input, fixture->fd, fixture->message.protocol, &parley_codec_ndjson);
    if (looks_ahead) {
        check_input_look_ahead(&input, fixture->schema, &options);
    }
    for (;;) {
        enum parley_split split;
        struct parley_slice slice;
        assert_int_equal(check_input_next(&input, &split, &slice), PARLEY_OK);
        if (split == PARLEY_SPLIT_END) {
            break;
        }
        if (split != PARLEY_SPLIT_MORE) {
            assert_int_equal(parley_splitter_check(&input.splitter, split, &slice,
                                                   &fixture->message, input.codec, &options),
                             PARLEY_OK);
            add(&found, &fixture->message, slice.number);
        }
    }
    found.right_count += input.passed_count;
    assert_int_equal(input.read_bytes, fixture->text.length);
    check_input_finish(&input);
    return found;
}

static void assert_same_ahead(struct fixture *fixture, const char *name) {
    assert_int_equal(ftruncate(fixture->fd, 0), 0);
    assert_int_equal(pwrite(fixture->fd, fixture->text.data, fixture->text.length, 0),
                     (ssize_t)fixture->text.length);
    const struct found one = check(fixture, false), other = check(fixture, true);
    if (one.digest != other.digest || one.right_count != other.right_count ||
        one.other_count != other.other_count) {
        fail_msg("%s: %zu right, %zu not; ahead %zu and %zu", name, one.right_count,
                 one.other_count, other.right_count, other.other_count);
    }
}

static void append_lines(struct parley_buffer *text, size_t count) {
    while (count-- > 0) {
        parley_buffer_text(text, RIGHT "\n");
    }
}

static void append_blanks(struct parley_buffer *text, size_t count) {
    assert_true(parley_buffer_reserve(text, count));
    memset(text->data + text->length, ' ', count);
    text->length += count;
}

static void test_what_is_not_right_is_found_where_it_stands(void **state) {
    struct fixture *fixture = *state;
    static const char *const odd[] = {"", "  ", "{", "{}", RIGHT "x", RIGHT "\r", "[" RIGHT "]"};
    struct random_source source = {7};
    for (int round = 0; round < 4; round++) {
        parley_buffer_clear(&fixture->text);
        while (fixture->text.length < 6 << 20) {
            append_lines(&fixture->text, 1 + random_below(&source, 4000));
            parley_buffer_text(&fixture->text, odd[random_below(&source, 7)]);
            parley_buffer_text(&fixture->text, "\n");
        }
        parley_buffer_text(&fixture->text, round % 2 == 0 ? RIGHT : "{");
        assert_same_ahead(fixture, "odd lines");
    }
}

/* A line may be right as far as a piece goes, and wrong behind it. */
static void test_lines_longer_than_a_piece_are_read_as_one(void **state) {
    struct fixture *fixture = *state;
    static const char *const ends[] = {"", "x", "\n", "x\n", "\n" RIGHT, "x\n" RIGHT "\n"};
    for (size_t blanks = 200 * 1024; blanks < 2 << 20; blanks += 300 * 1024) {
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
            parley_buffer_clear(&fixture->text);
            append_lines(&fixture->text, 10000);
            parley_buffer_text(&fixture->text, RIGHT);
            append_blanks(&fixture->text, blanks);
            parley_buffer_text(&fixture->text, ends[i]);
            assert_same_ahead(fixture, ends[i]);
        }
    }
}

static void test_a_file_of_right_messages_goes_by(void **state) {
    struct fixture *fixture = *state;
    parley_buffer_clear(&fixture->text);
    append_lines(&fixture->text, 50000);
    assert_same_ahead(fixture, "right lines");
    assert_int_equal(check(fixture, true).right_count, 50000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_right_is_found_where_it_stands),
        cmocka_unit_test(test_lines_longer_than_a_piece_are_read_as_one),
        cmocka_unit_test(test_a_file_of_right_messages_goes_by),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
