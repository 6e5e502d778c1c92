/* SPDX-License-Identifier: Apache-2.0 */

/* Keys of acknowledgements that are overdue: another one for each message and recipient, and of
 * characters and of a length that NATS takes. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "overdue_key.h"

enum { LONG = 97 };

static const struct {
    const char *place, *recipient, *wanted; /* recipient NULL: anyone */
} rows[] = {
    {"BRENNER:12", "Bob", "BRENNER.12.overdue.Bob"},
    {"BRENNER:12", "bob", "BRENNER.12.overdue.bob"},
    {"BRENNER_fleet-a:18446744073709551615", "Bob",
     "BRENNER_fleet-a.18446744073709551615.overdue.Bob"},
    {"a:b:1", "Bob", "a=3Ab.1.overdue.Bob"},
    {"BRENNER:12", NULL, "BRENNER.12.overdue.="},
    {"BRENNER:12", "", "BRENNER.12.overdue.=="},
    {"BRENNER:12", "=", "BRENNER.12.overdue.=3D"},
    {"BRENNER:12", "=3D", "BRENNER.12.overdue.=3D3D"},
    {"BRENNER:12", "a.b *>\n", "BRENNER.12.overdue.a=2Eb=20=2A=3E=0A"},
    {"BRENNER:12", "\xC3\xA9", "BRENNER.12.overdue.=C3=A9"},
};

static void write(const char *place, const char *recipient, char out[OVERDUE_KEY_SIZE]) {
    overdue_key_write(parley_bytes_of(place),
                      recipient != NULL ? parley_bytes_of(recipient) : (struct parley_bytes){0},
                      out);
}

static void test_a_key_says_which_message_and_who(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char key[OVERDUE_KEY_SIZE];
        write(rows[i].place, rows[i].recipient, key);
        assert_string_equal(key, rows[i].wanted);
    }
}

static void test_long_names_are_told_apart_by_their_digest(void **state) {
    char name[LONG + 1] = "", kept[OVERDUE_KEY_SIZE], one[OVERDUE_KEY_SIZE],
                     other[OVERDUE_KEY_SIZE];
    (void)state;
    memset(name, 'n', LONG - 1);
    write("BRENNER:12", name, kept);
    assert_string_equal(kept + strlen("BRENNER.12.overdue."), name);
    name[LONG - 1] = 'n';
    write("BRENNER:12", name, one);
    assert_int_equal(strncmp(one, "BRENNER.12.overdue.=d", 21), 0);
    assert_int_equal(strlen(one), 21 + 32);
    name[LONG - 1] = 'm';
    write("BRENNER:12", name, other);
    assert_string_not_equal(one, other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_says_which_message_and_who),
        cmocka_unit_test(test_long_names_are_told_apart_by_their_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
