/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration file: how it is read, what is refused and how that is said, and reading it
 * again. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "configuration_fixture.h"
#include "option.h"

static void test_prefixes_in_a_file_are_a_string_or_an_array(void **state) {
    (void)state;
    static const char *const files[] = {"{\"subject-prefix\": \"vlp=a,roundtable=b\"}",
                                        "{\"subject-prefix\": [\"vlp=a\", \"roundtable=b\"]}"};
    for (size_t i = 0; i < 2; i++) {
        char path[32];
        struct loaded loaded;
        write_configuration(path, files[i]);
        LOAD(&loaded, "--config", path, NULL);
        assert_string_equal(loaded.error, "");
        assert_string_equal(vlp_stream(&loaded), "VLP_A");
        assert_string_equal(roundtable_stream(&loaded), "ROUNDTABLE_B");
        finish_loaded(&loaded);
        unlink(path);
    }
    assert_file_refused("{\"subject-prefix\": [[vlp=a]]}", "items of a list must be texts");
    assert_file_refused("{\"subject-prefix\": {}}", "a value must be a text or a list of texts");
    assert_file_refused("{\"listen\": []}", "'listen' must be one value, not a list\n");
    assert_file_refused("{\"subject-prefix\": \"vlp\"}", "PROTOCOL=TOKEN");
}

static void test_a_file_may_hold_every_type(void **state) {
    (void)state;
    char path[32];
    struct loaded loaded;
    write_configuration(path,
                        "{\"listen\": \"0.0.0.0:80\", \"insecure\": true, \"spool-max\": 4096,"
                        " \"message-max\": \"2m\", \"idle-timeout\": \"1m\", \"dedupe-window\": 0,"
                        " \"nats\": null}");
    LOAD(&loaded, "--config", path, NULL);
    assert_string_equal(loaded.error, "");
    assert_int_equal(loaded.status, -1);
    assert_string_equal(loaded.configuration.address, "0.0.0.0");
    assert_true(loaded.configuration.insecure);
    assert_int_equal(loaded.configuration.spool_max_bytes, 4096);
    assert_int_equal(loaded.configuration.message_max_bytes, 2 << 20);
    assert_int_equal(loaded.configuration.idle_timeout_ms, 60000);
    assert_int_equal(loaded.configuration.dedupe_window_ms, 0);
    assert_null(loaded.configuration.nats);
    finish_loaded(&loaded);
    unlink(path);
}

static void test_a_file_can_have_comments_and_values_in_every_style(void **state) {
    (void)state;
    char path[32];
    struct loaded loaded;
    write_configuration(path, "%YAML 1.1\n--- # the server\n"
                              "listen: \"[::1]:80\" # of this machine\n"
                              "\n# not yet: data: /x\n"
                              "nats: nats://bob:pa#ss@a:1,b:2\n"
                              "host:\n  - a.example\n  - 'b.example'\n"
                              "cors-origin: [https://c.example]\n"
                              "reactors: \"2\"\nreplicas: ~\ntokens:\njwks: null\n"
                              "subject-prefix: >-\n  vlp=a\n");
    LOAD(&loaded, "--config", path, NULL);
    const struct configuration *configuration = &loaded.configuration;
    assert_string_equal(loaded.error, "");
    assert_int_equal(loaded.status, -1);
    assert_string_equal(configuration->address, "::1");
    assert_string_equal(configuration->nats, "nats://bob:pa#ss@a:1,b:2");
    assert_string_equal(configuration->hosts, "a.example,b.example");
    assert_string_equal(configuration->cors_origins, "https://c.example");
    assert_int_equal(configuration->reactors, 2);
    assert_int_equal(configuration->replicas, 1);
    assert_null(configuration->tokens);
    assert_null(configuration->jwks);
    assert_string_equal(vlp_stream(&loaded), "VLP_A");
    finish_loaded(&loaded);
    unlink(path);
}

static void test_an_empty_file_changes_nothing(void **state) {
    (void)state;
    static const char *const files[] = {"", "# nothing\n", "---\n", "{}", "null"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[32];
        struct loaded loaded;
        write_configuration(path, files[i]);
        LOAD(&loaded, "--config", path, NULL);
        assert_string_equal(loaded.error, "");
        assert_int_equal(loaded.status, -1);
        finish_loaded(&loaded);
        unlink(path);
    }
}

/* Uncomments every key: those with a default have it, the others get no value. */
static void write_uncommented(char path[32], const char *example) {
    char text[32768] = "";
    size_t length = 0;
    for (const char *line = example; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const bool is_key = line[0] == '#' && line[1] >= 'a' && line[1] <= 'z';
        for (size_t i = 0; is_key && i < option_count(); i++) {
            const size_t flag = strlen(option_at(i).flag);
            if (strncmp(line + 1, option_at(i).flag, flag) == 0 && line[flag + 1] == ':') {
                length += (size_t)snprintf(
                    text + length, sizeof text - length, "%s: %s\n", option_at(i).flag,
                    option_at(i).fallback != NULL ? option_at(i).fallback : "");
            }
        }
    }
    write_configuration(path, text);
}

static void test_the_example_has_every_key_with_its_default_and_its_help(void **state) {
    (void)state;
    char path[32];
    struct loaded example, plain, loaded;
    LOAD(&example, "--example-config", NULL);
    assert_int_equal(example.status, 0);
    assert_string_equal(example.error, "");
    for (size_t i = 0; i < option_count(); i++) {
        char line[128];
        snprintf(line, sizeof line, "\n#%s: %s\n", option_at(i).flag,
                 option_at(i).fallback != NULL ? option_at(i).fallback : option_at(i).value_name);
        assert_true((strstr(example.out, line) != NULL) == !option_at(i).is_not_in_file);
    }
    assert_says(example.out, "\n# Address and port to listen on.");
    write_configuration(path, example.out); /* as it is, it sets nothing */
    LOAD(&plain, "--check-config", NULL);
    LOAD(&loaded, "--check-config", "--config", path, NULL);
    assert_string_equal(loaded.error, "");
    assert_string_equal(loaded.out, plain.out);
    finish_loaded(&loaded);
    unlink(path);
    write_uncommented(path, example.out);
    LOAD(&loaded, "--check-config", "--config", path, NULL);
    assert_string_equal(loaded.error, "");
    assert_string_equal(loaded.out, plain.out);
    finish_loaded(&loaded);
    finish_loaded(&plain);
    finish_loaded(&example);
    unlink(path);
}

/* ---- what is refused ---- */

static void test_a_file_is_refused_by_its_line_and_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *says; /* after the name of the file */
    } rows[] = {
        {"{\"lisen\": \":1\"}", ":1: unknown key 'lisen'; did you mean 'listen'?"},
        {"# a\n\nlisen: :1", ":3: unknown key 'lisen'; did you mean 'listen'?"},
        {"qwertz: 1", ":1: unknown key 'qwertz' (the keys are the options"},
        {"config: x", ":1: unknown key 'config'"},
        {"check-config: true", ":1: unknown key 'check-config'"},
        {"listen: 8080", ":1: 'listen': '8080' does not end with a port"},
        {"insecure: yes", ":1: 'insecure' must be true or false, not 'yes'"},
        {"reactors: -1", ":1: 'reactors' must be a whole number from 0 to 1024, not '-1'"},
        {"reactors: 2.5", "not '2.5'"},
        {"reactors: 0x10", "not '0x10'"},
        {"reactors: 2000", "from 0 to 1024"},
        {"ack-timeout: 10", "must be a number with a unit"},
        {"listen: ''", "'listen' must be a non-empty value"},
        {"data: a\nreactors: 1\ndata: b", ":3: duplicate key 'data' (it is in line 1, too)"},
        {"[]", ":1: a configuration file must have a line KEY: VALUE"},
        {"listen", ":1: a configuration file must have a line KEY: VALUE"},
        {"listen: :1\n---\ndata: x", ":2: a second document (---) is not supported"},
        {"data: &a x", ":1: anchors, aliases and tags are not supported"},
        {"nats: *a", ":1: anchors, aliases and tags are not supported"},
        {"data: !!str x", ":1: anchors, aliases and tags are not supported"},
        {"data: !x {a: b}", ":1: anchors, aliases and tags are not supported"},
        {"&a data: x", ":1: a key must be the name of an option"},
        {"? [data]\n: x", ":1: a key must be the name of an option"},
        {"host: [a, {b: [c]}]", ":1: the items of a list must be texts"},
        {"data: {a: {b: c}}", ":1: a value must be a text or a list of texts"},
        {"data: |\n  a\n  b\n", ":1: a value cannot contain line breaks"},
        {"data: \"a\\0b\"", ":1: a value cannot contain line breaks or control characters"},
        {"data: a\nlisten: [::1]:80\n", ":2: not valid YAML"},
        {"data: \"a", "not valid YAML"},
        {"\tdata: a", ":1: not valid YAML"},
        {"data: \xff", "not valid YAML"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_file_refused(rows[i].text, rows[i].says);
    }
    ASSERT_REFUSED("/nowhere/at/all cannot be read: No such file", "--config=/nowhere/at/all",
                   NULL);
    ASSERT_REFUSED("/dev/zero cannot be read: it is too large", "--config=/dev/zero", NULL);
}

static void test_every_mistake_is_named_at_once(void **state) {
    (void)state;
    static const char *const says[] = {
        "PARLEY_ACK_TIMEOUT must be", "unknown environment variable PARLEY_LISTN",
        ":1: unknown key 'lisen'",    ":2: 'reactors' must be",
        ":3: the items of a list",    ":4: 'insecure' must be",
        "--replicas must be",
    };
    char path[32];
    struct loaded loaded;
    write_configuration(path, "lisen: :1\nreactors: two\nhost: [{a: b}]\ninsecure: 2\n");
    setenv("PARLEY_ACK_TIMEOUT", "soon", 1);
    setenv("PARLEY_LISTN", ":1", 1);
    LOAD(&loaded, "--config", path, "--replicas=9", NULL);
    assert_int_equal(loaded.status, 2);
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++) {
        assert_says(loaded.error, says[i]);
    }
    finish_loaded(&loaded);
    unlink(path);
    LOAD(&loaded, "--listen=x", "--host=a:1", "--cors-origin=*", "--nats=http://a", NULL);
    assert_int_equal(loaded.status, 2);
    finish_loaded(&loaded);
}

static void test_values_that_do_not_fit_together_are_named_with_their_lines(void **state) {
    (void)state;
    char path[32];
    struct loaded loaded;
    write_configuration(path, "replicas: 3\ntls-cert: c\njwks: f\nlisten: 0.0.0.0:1\n");
    LOAD(&loaded, "--config", path, NULL);
    assert_int_equal(loaded.status, 2);
    assert_says(loaded.error, ":1: 'replicas' above 1 needs a cluster");
    assert_says(loaded.error, ":2: 'tls-cert' needs the certificate's private key");
    assert_says(loaded.error, ":3: 'jwks' needs the issuer of the tokens");
    assert_says(loaded.error, ":3: 'jwks' needs the audience");
    finish_loaded(&loaded);
    unlink(path);
}

static void test_a_value_is_wrong_even_where_a_flag_goes_over_it(void **state) {
    (void)state;
    char path[32];
    write_configuration(path, "reactors: many");
    ASSERT_REFUSED("'reactors' must be a whole number", "--config", path, "--reactors=1", NULL);
    unlink(path);
}

/* ---- values from files of their own ---- */

static void test_a_secret_can_come_from_a_file(void **state) {
    (void)state;
    static const char *const texts[] = {"nats://bob:pw@a:1", "nats://bob:pw@a:1\n",
                                        "nats://bob:pw@a:1\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char path[32];
        struct loaded loaded;
        write_configuration(path, texts[i]);
        setenv("PARLEY_NATS_FILE", path, 1);
        LOAD(&loaded, NULL);
        assert_string_equal(loaded.error, "");
        assert_int_equal(loaded.status, -1);
        assert_string_equal(loaded.configuration.nats, "nats://bob:pw@a:1");
        finish_loaded(&loaded);
        LOAD(&loaded, "--nats=nats://b:2", NULL); /* a flag goes over it */
        assert_string_equal(loaded.configuration.nats, "nats://b:2");
        finish_loaded(&loaded);
        unlink(path);
    }
}

static void test_a_secret_in_a_file_is_refused_without_being_repeated(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", " is empty"},
        {"\n", " is empty"},
        {"nats://bob:secret@a:1\nb", " must have one line"},
        {"nats://bob:secret@a:1\tb", " must have one line"},
        {"http://bob:secret@a:1", "PARLEY_NATS_FILE: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[32];
        struct loaded loaded;
        write_configuration(path, rows[i].text);
        setenv("PARLEY_NATS_FILE", path, 1);
        LOAD(&loaded, NULL);
        assert_int_equal(loaded.status, 2);
        assert_says(loaded.error, rows[i].says);
        assert_null(strstr(loaded.error, "secret"));
        finish_loaded(&loaded);
        unlink(path);
    }
    setenv("PARLEY_NATS_FILE", "/nowhere/at/all", 1);
    ASSERT_REFUSED("PARLEY_NATS_FILE: /nowhere/at/all cannot be read: No such file", NULL);
    setenv("PARLEY_NATS_FILE", "/dev/zero", 1);
    ASSERT_REFUSED("PARLEY_NATS_FILE: /dev/zero cannot be read: it is too large", NULL);
    setenv("PARLEY_NATS", "nats://a", 1);
    ASSERT_REFUSED("PARLEY_NATS and PARLEY_NATS_FILE are both set", NULL);
}

/* ---- reading again ---- */

static void rewrite(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Reads again what `loaded` was read from. */
static bool reload(struct loaded *loaded, const char *path, struct configuration_changes *changes) {
    const char *const argv[] = {"--config", path, "--gather-max=32m"};
    *changes = (struct configuration_changes){0};
    const bool is_sound = configuration_reload(&loaded->configuration, 3, (char **)argv, changes);
    parley_buffer_char(&changes->taken, '\0');
    parley_buffer_char(&changes->waiting, '\0');
    parley_buffer_char(&changes->error, '\0');
    return is_sound;
}

static void forget(struct configuration_changes *changes) {
    parley_buffer_finish(&changes->taken);
    parley_buffer_finish(&changes->waiting);
    parley_buffer_finish(&changes->error);
}

static void test_reading_again_takes_what_can_change_and_names_the_rest(void **state) {
    (void)state;
    char path[32];
    struct loaded loaded;
    struct configuration_changes changes;
    write_configuration(path, "rate-messages: 5\nlisten: :1\nmessage-max: 1k\nhost: [a]\n");
    LOAD(&loaded, "--config", path, "--gather-max=32m", NULL);
    assert_int_equal(loaded.status, -1);
    rewrite(path, "rate-messages: 7\nlisten: :2\nbind-sender: true\nlog-level: debug\n"
                  "gather-max: 64m\n");
    assert_true(reload(&loaded, path, &changes));
    assert_string_equal(changes.error.data, "");
    assert_string_equal(changes.waiting.data, "listen, host");
    assert_string_equal(changes.taken.data,
                        "bind-sender false -> true, log-level info -> debug, message-max 1k -> 0, "
                        "rate-messages 5 -> 7");
    assert_int_equal(loaded.configuration.rate_messages, 7);
    assert_int_equal(loaded.configuration.message_max_bytes, 0);
    assert_true(loaded.configuration.bind_sender);
    assert_string_equal(loaded.configuration.listen, ":1");
    assert_string_equal(loaded.configuration.hosts, "a");
    assert_int_equal(loaded.configuration.gather_max_bytes, 32 << 20); /* a flag goes over it */
    forget(&changes);
    assert_true(reload(&loaded, path, &changes)); /* what waits for a restart is named again */
    assert_string_equal(changes.taken.data, "");
    assert_string_equal(changes.waiting.data, "listen, host");
    forget(&changes);
    finish_loaded(&loaded);
    unlink(path);
}

static void test_reading_again_takes_nothing_from_a_file_that_is_wrong(void **state) {
    (void)state;
    static const char *const wrong[] = {"rate-messages: 7\nlisten: x\n",
                                        "rate-messages: 7\nlisn: :2\n",
                                        "rate-messages: 7\nreplicas: 3\n", "rate-messages: [7\n"};
    char path[32];
    struct loaded loaded;
    struct configuration_changes changes;
    write_configuration(path, "rate-messages: 5\n");
    LOAD(&loaded, "--config", path, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rewrite(path, wrong[i]);
        assert_false(reload(&loaded, path, &changes));
        assert_says(changes.error.data, ":2: ");
        assert_string_equal(changes.taken.data, "");
        assert_int_equal(loaded.configuration.rate_messages, 5);
        forget(&changes);
    }
    unlink(path);
    assert_false(reload(&loaded, path, &changes));
    assert_says(changes.error.data, "cannot be read: No such file");
    forget(&changes);
    finish_loaded(&loaded);
}

static void assert_kept(struct loaded *loaded, const char *path, const char *says) {
    struct configuration_changes changes;
    alarm(60); /* to open a pipe without a writer has no other end */
    assert_false(reload(loaded, path, &changes));
    alarm(0);
    assert_says(changes.error.data, says);
    assert_says(changes.error.data, " cannot be read: it is not a regular file");
    assert_string_equal(changes.taken.data, "");
    assert_int_equal(loaded->configuration.rate_messages, 5);
    forget(&changes);
}

static void test_a_pipe_is_read_at_the_start_and_keeps_what_it_said(void **state) {
    (void)state;
    char path[32], name[64];
    struct loaded loaded;
    int fds[2];
    static const char text[] = "rate-messages: 5\n";
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], text, strlen(text)), (ssize_t)strlen(text));
    close(fds[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", fds[0]);
    LOAD(&loaded, "--config", name, NULL);
    assert_string_equal(loaded.error, "");
    assert_int_equal(loaded.configuration.rate_messages, 5);
    assert_kept(&loaded, name, name); /* it is empty now */
    close(fds[0]);
    write_configuration(path, "");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_kept(&loaded, path, path);
    setenv("PARLEY_NATS_FILE", path, 1);
    char file[32];
    write_configuration(file, text);
    assert_kept(&loaded, file, "PARLEY_NATS_FILE: ");
    unlink(file);
    unlink(path);
    finish_loaded(&loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_prefixes_in_a_file_are_a_string_or_an_array, clean_environment),
        cmocka_unit_test_setup(test_a_file_may_hold_every_type, clean_environment),
        cmocka_unit_test_setup(test_a_file_can_have_comments_and_values_in_every_style,
                               clean_environment),
        cmocka_unit_test_setup(test_an_empty_file_changes_nothing, clean_environment),
        cmocka_unit_test_setup(test_the_example_has_every_key_with_its_default_and_its_help,
                               clean_environment),
        cmocka_unit_test_setup(test_a_file_is_refused_by_its_line_and_what_is_wrong,
                               clean_environment),
        cmocka_unit_test_setup(test_every_mistake_is_named_at_once, clean_environment),
        cmocka_unit_test_setup(test_values_that_do_not_fit_together_are_named_with_their_lines,
                               clean_environment),
        cmocka_unit_test_setup(test_a_value_is_wrong_even_where_a_flag_goes_over_it,
                               clean_environment),
        cmocka_unit_test_setup(test_a_secret_can_come_from_a_file, clean_environment),
        cmocka_unit_test_setup(test_a_secret_in_a_file_is_refused_without_being_repeated,
                               clean_environment),
        cmocka_unit_test_setup(test_reading_again_takes_what_can_change_and_names_the_rest,
                               clean_environment),
        cmocka_unit_test_setup(test_reading_again_takes_nothing_from_a_file_that_is_wrong,
                               clean_environment),
        cmocka_unit_test_setup(test_a_pipe_is_read_at_the_start_and_keeps_what_it_said,
                               clean_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
