/* SPDX-License-Identifier: Apache-2.0 */

/* The form of tokens, their file, and how they are looked up. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "jansson_setup.h"
#include "tokens.h"

struct place {
    char folder[64], path[128];
    struct parley_buffer error;
};

static int set_up(void **state) {
    struct place *place = calloc(1, sizeof *place);
    assert_non_null(place);
    snprintf(place->folder, sizeof place->folder, "/tmp/parley-tokens-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/tokens.json", place->folder);
    parley_buffer_init(&place->error);
    *state = place;
    return 0;
}

static int tear_down(void **state) {
    struct place *place = *state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s", place->folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the test's own folder */
    parley_buffer_finish(&place->error);
    free(place);
    return 0;
}

static const char *error_of(struct place *place) {
    parley_buffer_char(&place->error, '\0');
    return place->error.data;
}

static void write_file(const struct place *place, const char *text, mode_t mode) {
    FILE *file = fopen(place->path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(place->path, mode), 0);
}

/* ---- the form ---- */

static void test_a_token_can_be_recognised_and_is_new_each_time(void **state) {
    (void)state;
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char one[TOKEN_LENGTH + 1], other[TOKEN_LENGTH + 1];
    token_new(one);
    token_new(other);
    assert_string_not_equal(one, other);
    assert_int_equal(strlen(one), TOKEN_LENGTH);
    assert_int_equal(strncmp(one, "parley_", 7), 0);
    assert_int_equal(strspn(one + 7, alphabet), TOKEN_LENGTH - 7);
    assert_true(token_is_whole(parley_bytes_of(one)));
}

#define CHECKSUM "1f36Ld"

/* Its checksum is zlib's: python3 -c 'import zlib; print(zlib.crc32(b"parley_" + b"0" * 43))' */
static void test_the_checksum_is_that_of_zlib_in_base_62(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_whole;
    } cases[] = {
        {"parley_0000000000000000000000000000000000000000000" CHECKSUM, true},
        {"parley_0000000000000000000000000000000000000000001" CHECKSUM, false},
        {"parlex_0000000000000000000000000000000000000000000" CHECKSUM, false},
        {"parley_0000000000000000000000000000000000000000000", false},
        {"parley_0000000000000000000000000000000000000000000" CHECKSUM "0", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(token_is_whole(parley_bytes_of(cases[i].text)), cases[i].is_whole);
    }
}

/* ---- the file ---- */

struct made {
    const char *name, *agent, *allow;
    int64_t expires_at;
    char token[TOKEN_LENGTH + 1];
};

static bool make(struct token_file *file, void *context, struct parley_buffer *error) {
    struct made *made = context;
    struct token_entry entry = {.name = made->name,
                                .agent = made->agent,
                                .created_at = 1000,
                                .expires_at = made->expires_at};
    token_new(made->token);
    token_hash(parley_bytes_of(made->token), entry.hash);
    return token_scopes_read(made->allow, &entry.scopes, error) &&
           token_file_add(file, &entry, 2000, error);
}

static bool revoke_one(struct token_file *file, void *context, struct parley_buffer *error) {
    (void)error;
    struct token_entry *entry = token_file_find(file, context);
    assert_non_null(entry);
    entry->revoked_at = (int64_t)time(NULL);
    return true;
}

static void add(struct place *place, struct made *made) {
    if (!token_file_change(place->path, make, made, &place->error)) {
        fail_msg("%s", error_of(place));
    }
}

static enum token_state find(const struct place *place, const char *token, int64_t now,
                             struct tokens **out_tokens, struct principal **out) {
    struct parley_buffer error;
    parley_buffer_init(&error);
    *out_tokens = tokens_read(place->path, &error);
    assert_non_null(*out_tokens);
    assert_int_equal(error.length, 0);
    parley_buffer_finish(&error);
    return tokens_find(*out_tokens, parley_bytes_of(token), now, out);
}

static enum token_state state_of(const struct place *place, const char *token, int64_t now) {
    struct tokens *tokens;
    struct principal *principal = NULL;
    const enum token_state found = find(place, token, now, &tokens, &principal);
    tokens_unref(tokens);
    return found;
}

static void test_a_token_is_found_with_what_it_was_made_with(void **state) {
    struct place *place = *state;
    struct made made = {"ci", "The Observer", "send:vlp,read:*", INT64_C(4000000000), ""};
    struct tokens *tokens;
    struct principal *principal = NULL;
    add(place, &made);
    assert_int_equal(find(place, made.token, 3999999999, &tokens, &principal), TOKEN_VALID);
    assert_string_equal(principal->name, "ci");
    assert_string_equal(principal->agent, "The Observer");
    assert_int_equal(principal->expires_at, 4000000000);
    assert_int_equal(principal->scopes.send, 1);
    assert_true(principal->scopes.read == UINT64_MAX);
    principal_ref(principal);
    tokens_unref(tokens_ref(tokens));
    tokens_unref(tokens);
    assert_string_equal(principal->name, "ci"); /* it outlives the table */
    principal_unref(principal);
    assert_int_equal(state_of(place, made.token, 4000000000), TOKEN_EXPIRED);
    assert_int_equal(state_of(place, "", 0), TOKEN_UNKNOWN);
    made.token[TOKEN_LENGTH - 1] ^= 1;
    assert_int_equal(state_of(place, made.token, 0), TOKEN_UNKNOWN);
}

static void test_a_certificate_stands_for_a_token_by_its_name_alone(void **state) {
    struct place *place = *state;
    struct tokens *tokens;
    struct principal *principal = NULL;
    static const char hash[] =
        "blake2b:0000000000000000000000000000000000000000000000000000000000000000";
    char text[1024];
    write_file(place,
               "{\"version\":1,\"tokens\":["
               "{\"name\":\"old\",\"certificate\":\"dns:a.example\",\"allow\":\"admin\","
               "\"revoked\":\"2026-01-01T00:00:00Z\"},"
               "{\"name\":\"a\",\"certificate\":\"dns:a.example\",\"allow\":\"send:vlp\"},"
               "{\"name\":\"b\",\"certificate\":\"cn:b\",\"allow\":\"metrics\","
               "\"revoked\":\"2026-01-01T00:00:00Z\"}]}",
               0600);
    assert_int_equal(find(place, "dns:a.example", 0, &tokens, &principal), TOKEN_UNKNOWN);
    assert_int_equal(tokens_find_certificate(tokens, "dns:a.example", 0, &principal), TOKEN_VALID);
    assert_string_equal(principal->name, "a");
    assert_false(principal->scopes.admin);
    assert_int_equal(tokens_find_certificate(tokens, "cn:b", 0, &principal), TOKEN_REVOKED);
    assert_int_equal(tokens_find_certificate(tokens, "dns:b", 0, &principal), TOKEN_UNKNOWN);
    tokens_unref(tokens);
    const struct {
        const char *members, *error;
    } wrong[] = {{"\"certificate\":\"agent\"", "the name of a certificate is 'uri:'"},
                 {"\"certificate\":\"dns:\"", "the name of a certificate is 'uri:'"},
                 {"\"certificate\":7", "'certificate' must be a string"},
                 {"\"agent\":\"a\"", "one of 'hash' and 'certificate'"},
                 {hash, "one of 'hash' and 'certificate'"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const bool has_both = wrong[i].members == hash;
        snprintf(text, sizeof text,
                 "{\"version\":1,\"tokens\":[{\"name\":\"a\",\"allow\":\"admin\",%s%s%s}]}",
                 has_both ? "\"certificate\":\"cn:a\",\"hash\":\"" : "", wrong[i].members,
                 has_both ? "\"" : "");
        write_file(place, text, 0600);
        parley_buffer_clear(&place->error);
        assert_null(tokens_read(place->path, &place->error));
        assert_non_null(strstr(error_of(place), wrong[i].error));
    }
}

static bool take_all(struct token_file *file, void *context, struct parley_buffer *error) {
    struct token_file *other = context;
    (void)error;
    *file = *other;
    *other = (struct token_file){0};
    return true;
}

static void test_every_one_of_many_tokens_is_found(void **state) {
    enum { COUNT = 300 };
    struct place *place = *state;
    static struct made made[COUNT];
    char names[COUNT][16];
    struct token_file file = {0};
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "t%zu", i);
        made[i] = (struct made){names[i], NULL, "metrics", 0, ""};
        assert_true(make(&file, &made[i], &place->error));
    }
    assert_true(token_file_change(place->path, take_all, &file, &place->error));
    struct tokens *tokens;
    struct principal *principal;
    assert_int_equal(find(place, "other", 0, &tokens, &principal), TOKEN_UNKNOWN);
    assert_int_equal(tokens_count(tokens), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(tokens_find(tokens, parley_bytes_of(made[i].token), 0, &principal),
                         TOKEN_VALID);
        assert_string_equal(principal->name, names[i]);
    }
    tokens_unref(tokens);
}

static void test_a_revoked_token_is_remembered_until_its_name_is_used_again(void **state) {
    struct place *place = *state;
    struct made first = {"ci", NULL, "send:vlp", 0, ""}, second = {"ci", NULL, "admin", 0, ""};
    char name[] = "ci";
    add(place, &first);
    assert_false(token_file_change(place->path, make, &second, &place->error));
    assert_non_null(strstr(error_of(place), "a token named 'ci' already"));
    parley_buffer_clear(&place->error);
    assert_true(token_file_change(place->path, revoke_one, name, &place->error));
    assert_int_equal(state_of(place, first.token, 0), TOKEN_REVOKED);
    add(place, &second);
    assert_int_equal(state_of(place, first.token, 0), TOKEN_UNKNOWN);
    assert_int_equal(state_of(place, second.token, 0), TOKEN_VALID);
}

static void test_the_file_is_private_and_has_no_token(void **state) {
    struct place *place = *state;
    struct made made = {"ci", NULL, "send:vlp", 0, ""};
    struct stat status;
    char text[4096] = "";
    add(place, &made);
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    FILE *file = fopen(place->path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_null(strstr(text, made.token));
    assert_null(strstr(text, made.token + 7));
    assert_non_null(strstr(text, "\"blake2b:"));
}

#define HASH "\"hash\":\"blake2b:0000000000000000000000000000000000000000000000000000000000000000\""
#define FILE_OF(entries) "{\"version\":1,\"tokens\":[" entries "]}"

static void test_a_file_that_is_wrong_is_refused_with_the_reason(void **state) {
    struct place *place = *state;
    static const struct {
        const char *text;
        mode_t mode;
        const char *reason; /* NULL: it is fine */
    } cases[] = {
        {FILE_OF(""), 0600, NULL},
        {FILE_OF(""), 0400, NULL},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"admin\"," HASH "}"), 0600, NULL},
        {FILE_OF(""), 0640, "other users may read or write it (mode 0640): chmod 600 "},
        {FILE_OF(""), 0604, "chmod 600 "},
        {FILE_OF(""), 0620, "chmod 600 "},
        {FILE_OF(""), 0602, "chmod 600 "},
        {"", 0600, "not valid JSON"},
        {"{\"version\":1,\n\"tokens\":[{\"name\":\"secret\",}]}", 0600, "line 2, column "},
        {"[]", 0600, "expected {\"version\": 1"},
        {"{\"version\":2,\"tokens\":[]}", 0600, "expected {\"version\": 1"},
        {"{\"version\":1,\"tokens\":{}}", 0600, "expected {\"version\": 1"},
        {FILE_OF("1"), 0600, "token 1: it must be an object"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"admin\"}"), 0600, "one of 'hash' and 'certificate'"},
        {FILE_OF("{\"name\":\"a b\",\"allow\":\"admin\"," HASH "}"), 0600, "a token's name is"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"send:vpl\"," HASH "}"), 0600,
         "there is no scope 'send:vpl'"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"\"," HASH "}"), 0600, "there is no scope ''"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"admin\",\"hash\":\"blake2b:00\"}"), 0600,
         "'hash' must be 'blake2b:' and 64 hex digits"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"admin\",\"expire\":1," HASH "}"), 0600,
         "unknown key 'expire'"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"admin\",\"expires\":\"2026-13-01\"," HASH "}"), 0600,
         "'expires' must be a time"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"admin\",\"rate-messages\":0," HASH "}"), 0600,
         "'rate-messages' must be a whole number above 0"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"admin\",\"agent\":\"a\\nb\"," HASH "}"), 0600,
         "a token's agent is"},
        {FILE_OF("{\"name\":\"a\",\"allow\":\"admin\"," HASH "},"
                 "{\"name\":\"a\",\"allow\":\"admin\"," HASH "}"),
         0600, "token 2: there is a token named 'a' already"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(place, cases[i].text, cases[i].mode);
        struct tokens *tokens = tokens_read(place->path, &place->error);
        const char *error = error_of(place);
        if (cases[i].reason == NULL) {
            assert_string_equal(error, "");
            assert_non_null(tokens);
        } else {
            assert_null(tokens);
            assert_int_equal(strncmp(error, "the token file /tmp/", 20), 0);
            if (strstr(error, cases[i].reason) == NULL) {
                fail_msg("'%s' lacks '%s'", error, cases[i].reason);
            }
        }
        tokens_unref(tokens);
        parley_buffer_clear(&place->error);
        unlink(place->path);
    }
}

static void test_what_cannot_be_a_token_file_is_not_waited_for(void **state) {
    struct place *place = *state;
    assert_null(tokens_read(place->path, &place->error));
    assert_non_null(strstr(error_of(place), "cannot open it: No such file"));
    parley_buffer_clear(&place->error);
    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_null(tokens_read(place->path, &place->error));
    assert_non_null(strstr(error_of(place), "not a regular file"));
    parley_buffer_clear(&place->error);
    assert_null(tokens_read(place->folder, &place->error));
    assert_non_null(strstr(error_of(place), "not a regular file"));
}

static void test_a_link_stays_one_when_its_file_is_replaced(void **state) {
    struct place *place = *state;
    struct made made = {"ci", NULL, "send:vlp", 0, ""};
    struct stat status;
    char real[160];
    snprintf(real, sizeof real, "%s/real.json", place->folder);
    FILE *file = fopen(real, "w");
    assert_non_null(file);
    fputs(FILE_OF(""), file);
    fclose(file);
    assert_int_equal(chmod(real, 0600), 0);
    assert_int_equal(symlink("real.json", place->path), 0);
    add(place, &made);
    assert_int_equal(lstat(place->path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(state_of(place, made.token, 0), TOKEN_VALID);
}

static void test_a_file_that_cannot_be_read_is_not_replaced(void **state) {
    struct place *place = *state;
    struct made made = {"ci", NULL, "send:vlp", 0, ""};
    char text[16] = "";
    write_file(place, "broken", 0600);
    assert_false(token_file_change(place->path, make, &made, &place->error));
    assert_non_null(strstr(error_of(place), "not valid JSON"));
    FILE *file = fopen(place->path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), 6);
    fclose(file);
    assert_string_equal(text, "broken");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_token_can_be_recognised_and_is_new_each_time),
        cmocka_unit_test(test_the_checksum_is_that_of_zlib_in_base_62),
        cmocka_unit_test_setup_teardown(test_a_token_is_found_with_what_it_was_made_with, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_certificate_stands_for_a_token_by_its_name_alone,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_one_of_many_tokens_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_revoked_token_is_remembered_until_its_name_is_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_file_is_private_and_has_no_token, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_wrong_is_refused_with_the_reason,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_a_token_file_is_not_waited_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_link_stays_one_when_its_file_is_replaced, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_cannot_be_read_is_not_replaced, set_up,
                                        tear_down),
    };
    jansson_set_up();
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
