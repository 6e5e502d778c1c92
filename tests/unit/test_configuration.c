/* SPDX-License-Identifier: Apache-2.0 */

/* The configuration of the server: where values come from, which are refused, and what is said. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "configuration_fixture.h"
#include "log.h"
#include "option.h"

/* ---- values ---- */

/* (attack F8) */
static void test_a_url_that_cannot_be_is_refused_with_what_is_expected(void **state) {
    (void)state;
    static const struct {
        const char *urls, *says;
    } rows[] = {
        {"http://x", "http://"},
        {"ws://x:80", "ws://"},
        {"nats://a:1,https://b", "URL 2"},
        {"nats://", "no valid host"},
        {"nats://user:pw@", "no valid host"},
        {"nats://a:0", "an invalid port"},
        {"nats://a:65536", "an invalid port"},
        {"nats://a:4222/path", "an invalid port"},
        {"nats://a/path", "no valid host"},
        {"nats://a?b", "no valid host"},
        {",", "1 to 64"},
        {" ", "1 to 64"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ASSERT_REFUSED(rows[i].says, "--nats", rows[i].urls, NULL);
        ASSERT_REFUSED("nats://USER:PASSWORD@HOST:4222", "--nats", rows[i].urls, NULL);
    }
}

/* (attack F7) */
static void test_a_password_in_a_url_that_cannot_be_is_not_repeated(void **state) {
    (void)state;
    static const char *const urls[] = {
        "nats://bob:secret,more@host",
        "nats://bob:1,secret@host",
        "nats://bob:secret@",
        "nats://secret@",
        "nats://bob:secret@host:secret",
        "bob:secret@host",
        "secret@host",
        "bob:secret://host",
        "nats://bob:se%2Csecret@host:x",
        "nats://bob:x secret@host",
        "nats://a:1,nats://bob:secret@b:none",
        "nats://bob:top/secret?@h:secret",
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct loaded loaded;
        LOAD(&loaded, "--nats", urls[i], NULL);
        if (loaded.status != 2 || strstr(loaded.error, "secret") != NULL) {
            fail_msg("%s: %d %s", urls[i], loaded.status, loaded.error);
        }
        finish_loaded(&loaded);
    }
}

/* (attack F7) */
static void test_urls_are_shown_without_user_password_and_token(void **state) {
    (void)state;
    static const struct {
        const char *urls, *shown;
    } rows[] = {
        {"nats://bob:secret@127.0.0.1:4333", "nats://127.0.0.1:4333"},
        {"tls://secret@nats.example", "tls://nats.example:4222"},
        {"nats://bob:s%40e%2Ccret@[::1]:1", "nats://[::1]:1"},
        {"nats://bob:a@b@host", "nats://host:4222"},
        {"nats://bob:a/b@host/", "nats://host:4222"},
        {"nats://:secret@host:5", "nats://host:5"},
        {"a, nats://t@b:2,c:3", "nats://a:4222, nats://b:2, nats://c:3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct loaded loaded;
        LOAD(&loaded, "--nats", rows[i].urls, NULL);
        assert_int_equal(loaded.status, -1);
        assert_string_equal(loaded.configuration.nats_shown, rows[i].shown);
        finish_loaded(&loaded);
    }
}

static void test_the_defaults_are_those_of_the_contract(void **state) {
    (void)state;
    struct loaded loaded;
    LOAD(&loaded, NULL);
    const struct configuration *configuration = &loaded.configuration;
    assert_int_equal(loaded.status, -1);
    assert_string_equal(loaded.error, "");
    assert_string_equal(configuration->listen, "127.0.0.1:8080");
    assert_string_equal(configuration->address, "127.0.0.1");
    assert_int_equal(configuration->port, 8080);
    assert_null(configuration->admin_listen);
    assert_string_equal(configuration->data, "/home/somebody/.local/state/parley");
    assert_null(configuration->nats);
    assert_null(configuration->nats_creds);
    assert_null(configuration->nats_nkey);
    assert_null(configuration->nats_tls_ca);
    assert_null(configuration->nats_tls_cert);
    assert_null(configuration->nats_tls_key);
    assert_null(configuration->nats_tls_name);
    assert_null(configuration->jwks);
    assert_null(configuration->jwt_issuer);
    assert_null(configuration->jwt_audience);
    assert_null(configuration->hosts);
    assert_null(configuration->cors_origins);
    assert_null(configuration->config);
    assert_false(configuration->insecure);
    assert_false(configuration->first_token);
    assert_false(configuration->bind_sender);
    assert_null(configuration->tokens);
    assert_null(configuration->webhooks);
    assert_null(configuration->web);
    assert_string_equal(configuration->token_file,
                        "/home/somebody/.local/state/parley/tokens.json");
    assert_int_equal(configuration->log_format, LOG_LOGFMT);
    assert_int_equal(configuration->log_level, LOG_LEVEL_INFO);
    assert_int_equal(configuration->access_log, ACCESS_LOG_ERRORS);
    assert_false(configuration->trace);
    assert_int_equal(configuration->reactors, 0);
    assert_int_equal(configuration->replicas, 1);
    assert_int_equal(configuration->message_max_bytes, 0);
    assert_int_equal(configuration->head_max_bytes, 16 << 10);
    assert_int_equal(configuration->body_max_bytes, 0);
    assert_int_equal(configuration->gather_max_bytes, 256 << 20);
    assert_true(configuration->spool_max_bytes == UINT64_C(1) << 30);
    assert_int_equal(configuration->index, 0);
    assert_true(configuration->index_max_bytes == UINT64_C(2) << 30);
    assert_false(configuration->index_text);
    assert_int_equal(configuration->remind_ms, 0);
    assert_int_equal(configuration->compression_max_bytes, 64 << 20);
    assert_int_equal(configuration->connections_max, 20000);
    assert_int_equal(configuration->in_flight_max, 16384);
    assert_int_equal(configuration->connections_per_address, 0);
    assert_int_equal(configuration->streams_per_token, 0);
    assert_int_equal(configuration->rate_messages, 0);
    assert_int_equal(configuration->rate_bytes, 0);
    assert_int_equal(configuration->dedupe_window_ms, 120000);
    assert_int_equal(configuration->ack_timeout_ms, 10000);
    assert_int_equal(configuration->bus_patience_ms, 8000);
    assert_int_equal(configuration->idle_timeout_ms, 30000);
    assert_int_equal(configuration->head_timeout_ms, 10000);
    assert_int_equal(configuration->body_rate_bytes, 500);
    assert_null(configuration->tls_cert);
    assert_null(configuration->tls_key);
    assert_null(configuration->tls_client_ca);
    assert_false(configuration->tls_client_optional);
    assert_int_equal(configuration->tls_handshake_timeout_ms, 10000);
    finish_loaded(&loaded);
    LOAD(&loaded, "--check-config", NULL); /* all of them, so that a new one must be added here */
    assert_string_equal(loaded.out, "{\n"
                                    "  \"listen\": \"127.0.0.1:8080\",\n"
                                    "  \"admin-listen\": null,\n"
                                    "  \"data\": \"/home/somebody/.local/state/parley\",\n"
                                    "  \"nats\": null,\n"
                                    "  \"nats-creds\": null,\n"
                                    "  \"nats-nkey\": null,\n"
                                    "  \"nats-tls-ca\": null,\n"
                                    "  \"nats-tls-cert\": null,\n"
                                    "  \"nats-tls-key\": null,\n"
                                    "  \"nats-tls-name\": null,\n"
                                    "  \"jwks\": null,\n"
                                    "  \"jwt-issuer\": null,\n"
                                    "  \"jwt-audience\": null,\n"
                                    "  \"host\": null,\n"
                                    "  \"cors-origin\": null,\n"
                                    "  \"tokens\": null,\n"
                                    "  \"first-token\": false,\n"
                                    "  \"bind-sender\": false,\n"
                                    "  \"insecure\": false,\n"
                                    "  \"quarantine\": false,\n"
                                    "  \"web\": null,\n"
                                    "  \"webhooks\": null,\n"
                                    "  \"durability\": \"process\",\n"
                                    "  \"log-format\": \"logfmt\",\n"
                                    "  \"log-level\": \"info\",\n"
                                    "  \"access-log\": \"errors\",\n"
                                    "  \"trace\": false,\n"
                                    "  \"reactors\": 0,\n"
                                    "  \"replicas\": 1,\n"
                                    "  \"subject-prefix\": null,\n"
                                    "  \"dialect\": null,\n"
                                    "  \"message-max\": \"0\",\n"
                                    "  \"head-max\": \"16k\",\n"
                                    "  \"body-max\": \"0\",\n"
                                    "  \"gather-max\": \"256m\",\n"
                                    "  \"index\": \"off\",\n"
                                    "  \"index-max\": \"2g\",\n"
                                    "  \"index-text\": false,\n"
                                    "  \"remind\": \"0\",\n"
                                    "  \"spool-max\": \"1g\",\n"
                                    "  \"compression-max\": \"64m\",\n"
                                    "  \"connections\": 20000,\n"
                                    "  \"connections-per-address\": 0,\n"
                                    "  \"streams-per-token\": 0,\n"
                                    "  \"in-flight\": 16384,\n"
                                    "  \"rate-messages\": 0,\n"
                                    "  \"rate-bytes\": \"0\",\n"
                                    "  \"dedupe-window\": \"2m\",\n"
                                    "  \"ack-timeout\": \"10s\",\n"
                                    "  \"bus-patience\": \"8s\",\n"
                                    "  \"idle-timeout\": \"30s\",\n"
                                    "  \"head-timeout\": \"10s\",\n"
                                    "  \"stall-timeout\": \"30s\",\n"
                                    "  \"body-rate\": \"500\",\n"
                                    "  \"tls-cert\": null,\n"
                                    "  \"tls-key\": null,\n"
                                    "  \"tls-client-ca\": null,\n"
                                    "  \"tls-client-optional\": false,\n"
                                    "  \"tls-handshake-timeout\": \"10s\",\n"
                                    "  \"escalate\": false,\n"
                                    "  \"on-halt\": \"refuse\",\n"
                                    "  \"lifecycle\": \"on\",\n"
                                    "  \"task-lease\": \"15m\",\n"
                                    "  \"task-max\": \"1d\",\n"
                                    "  \"task-attempts\": 3,\n"
                                    "  \"checkpoints-keep\": 8,\n"
                                    "  \"wal\": \"on\"\n"
                                    "}\n");
    finish_loaded(&loaded);
}

static void test_a_flag_takes_its_value_in_both_forms(void **state) {
    (void)state;
    struct loaded loaded;
    LOAD(&loaded, "--listen", ":9000", "--data=./state", "--nats=nats://a:1,nats://b:2",
         "--replicas", "3", "--message-max=512k", "--ack-timeout", "250ms", "--dedupe-window=0",
         NULL);
    const struct configuration *configuration = &loaded.configuration;
    assert_int_equal(loaded.status, -1);
    assert_string_equal(configuration->address, "127.0.0.1");
    assert_int_equal(configuration->port, 9000);
    assert_string_equal(configuration->data, "./state");
    assert_string_equal(configuration->nats, "nats://a:1,nats://b:2");
    assert_int_equal(configuration->replicas, 3);
    assert_int_equal(configuration->message_max_bytes, 512 * 1024);
    assert_int_equal(configuration->ack_timeout_ms, 250);
    assert_int_equal(configuration->dedupe_window_ms, 0);
    finish_loaded(&loaded);
}

static void test_flag_goes_over_variable_over_file_over_default(void **state) {
    (void)state;
    char path[32];
    struct loaded loaded;
    write_configuration(path,
                        "{\"reactors\": 2, \"replicas\": 2, \"in-flight\": 2, \"nats\": \"n\"}");
    setenv("PARLEY_CONFIG", path, 1);
    setenv("PARLEY_REPLICAS", "3", 1);
    setenv("PARLEY_IN_FLIGHT", "3", 1);
    LOAD(&loaded, "--in-flight=4", NULL);
    assert_int_equal(loaded.status, -1);
    assert_int_equal(loaded.configuration.connections_max, 20000);
    assert_int_equal(loaded.configuration.reactors, 2);
    assert_int_equal(loaded.configuration.replicas, 3);
    assert_int_equal(loaded.configuration.in_flight_max, 4);
    assert_string_equal(loaded.configuration.config, path);
    finish_loaded(&loaded);
    unlink(path);
}

static void test_the_last_of_equal_flags_counts(void **state) {
    (void)state;
    struct loaded loaded;
    LOAD(&loaded, "--reactors=1", "--reactors=2", NULL);
    assert_int_equal(loaded.configuration.reactors, 2);
    finish_loaded(&loaded);
}

static void test_prefixes_add_up_on_the_command_line_and_go_over_others_as_a_whole(void **state) {
    (void)state;
    struct loaded loaded;
    LOAD(&loaded, NULL);
    assert_string_equal(vlp_stream(&loaded), "VLP");
    finish_loaded(&loaded);
    setenv("PARLEY_SUBJECT_PREFIX", "vlp=a,roundtable=b", 1);
    LOAD(&loaded, NULL);
    assert_string_equal(vlp_stream(&loaded), "VLP_A");
    assert_string_equal(roundtable_stream(&loaded), "ROUNDTABLE_B");
    finish_loaded(&loaded);
    LOAD(&loaded, "--subject-prefix=vlp=c", NULL);
    assert_string_equal(vlp_stream(&loaded), "VLP_C");
    assert_string_equal(roundtable_stream(&loaded), "ROUNDTABLE");
    finish_loaded(&loaded);
    LOAD(&loaded, "--subject-prefix", "vlp=c", "--subject-prefix", "roundtable=d", NULL);
    assert_string_equal(vlp_stream(&loaded), "VLP_C");
    assert_string_equal(roundtable_stream(&loaded), "ROUNDTABLE_D");
    finish_loaded(&loaded);
}

static void test_prefixes_that_cannot_be_are_refused_with_who_brought_them(void **state) {
    (void)state;
    ASSERT_REFUSED("--subject-prefix: 'x' is not PROTOCOL=TOKEN", "--subject-prefix=x", NULL);
    ASSERT_REFUSED("--subject-prefix must be a non-empty value", "--subject-prefix=", NULL);
    ASSERT_REFUSED("vlp already has a prefix", "--subject-prefix=vlp=a", "--subject-prefix=vlp=b",
                   NULL);
    ASSERT_REFUSED("another protocol has it", "--subject-prefix=vlp=a,roundtable=a", NULL);
    ASSERT_REFUSED("another protocol's name", "--subject-prefix=vlp=roundtable", NULL);
    setenv("PARLEY_SUBJECT_PREFIX", "vlp=a.b", 1);
    ASSERT_REFUSED("PARLEY_SUBJECT_PREFIX: vlp cannot have the prefix 'a.b'", NULL);
    unsetenv("PARLEY_SUBJECT_PREFIX");
}

static void test_an_empty_variable_is_as_none(void **state) {
    (void)state;
    struct loaded loaded;
    setenv("PARLEY_NATS", "", 1);
    setenv("PARLEY_REACTORS", "", 1);
    LOAD(&loaded, NULL);
    assert_int_equal(loaded.status, -1);
    assert_null(loaded.configuration.nats);
    finish_loaded(&loaded);
}

/* ---- what is refused ---- */

static void test_a_value_out_of_form_or_range_is_refused_by_its_name(void **state) {
    (void)state;
    ASSERT_REFUSED("--reactors must be a whole number from 0 to 1024, not 'two'", "--reactors",
                   "two", NULL);
    ASSERT_REFUSED("--replicas must be", "--replicas=6", "--nats=x", NULL);
    ASSERT_REFUSED("from 1 to 5", "--replicas=0", NULL);
    ASSERT_REFUSED("--message-max must be a size such as 512k, from", "--message-max=1t", NULL);
    ASSERT_REFUSED("from 1s to 1d", "--idle-timeout=10", NULL);
    ASSERT_REFUSED("--insecure must be true or false", "--insecure=maybe", NULL);
    ASSERT_REFUSED("--data must be a non-empty value", "--data=", NULL);
    setenv("PARLEY_ACK_TIMEOUT", "soon", 1);
    ASSERT_REFUSED("PARLEY_ACK_TIMEOUT must be", NULL);
}

static void test_an_unknown_flag_suggests_the_nearest(void **state) {
    (void)state;
    ASSERT_REFUSED("did you mean '--listen'?", "--lisen", ":1", NULL);
    ASSERT_REFUSED("did you mean '--spool-max'?", "--spoolmax=1", NULL);
    ASSERT_REFUSED("(parley serve --help lists them)", "--verbose", NULL);
    ASSERT_REFUSED("--listen needs a value", "--listen", NULL);
    ASSERT_REFUSED("unexpected argument 'now': serve takes only options", "now", NULL);
}

static void test_reminders_need_an_index_and_a_dedupe_window(void **state) {
    struct loaded loaded;
    (void)state;
    ASSERT_REFUSED("--remind needs the index, which knows what is overdue: --index on",
                   "--remind=4h", NULL);
    ASSERT_REFUSED("--remind needs a --dedupe-window of 1m or more", "--remind=4h", "--index=on",
                   "--dedupe-window=59s", NULL);
    static const char *const wrong[] = {"--remind=", "--remind=4", "--remind=-4h", "--remind=often",
                                        "--remind=31d"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ASSERT_REFUSED("--remind", wrong[i], "--index=on", NULL);
    }
    LOAD(&loaded, "--remind=30d", "--index=on", "--dedupe-window=1m", NULL);
    assert_int_equal(loaded.status, -1);
    assert_true(loaded.configuration.remind_ms == INT64_C(30) * 86400000);
    finish_loaded(&loaded);
}

static void test_an_open_address_is_refused_unless_it_is_wanted(void **state) {
    (void)state;
    ASSERT_REFUSED("--admin-listen: ':0' has no port", "--admin-listen=:0", NULL);
    ASSERT_REFUSED("--admin-listen: '9090' ", "--admin-listen", "9090", NULL);
    ASSERT_REFUSED("--admin-listen needs another port", "--admin-listen=:8080", NULL);
    ASSERT_REFUSED("--admin-listen needs another port", "--admin-listen=0.0.0.0:9000",
                   "--listen=:9000", NULL);
    ASSERT_REFUSED("there are no tokens", "--listen=0.0.0.0:80", NULL);
    ASSERT_REFUSED("--insecure in a trusted network", "--listen", "[::]:80", NULL);
    ASSERT_REFUSED("parley token create", "--listen", "192.0.2.1:80", "--insecure=false", NULL);
    static const char *const ways[] = {"--insecure", "--tokens=t.json", "--first-token"};
    struct loaded loaded;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        LOAD(&loaded, "--listen=0.0.0.0:80", ways[i], NULL);
        assert_int_equal(loaded.status, -1);
        finish_loaded(&loaded);
    }
    setenv("PARLEY_INSECURE", "1", 1);
    LOAD(&loaded, "--listen=0.0.0.0:80", NULL);
    assert_int_equal(loaded.status, -1);
    finish_loaded(&loaded);
    setenv("PARLEY_INSECURE", "true", 1);
    ASSERT_REFUSED("there are no tokens", "--listen=0.0.0.0:80", "--insecure=false", NULL);
}

static void test_an_open_address_is_served_where_every_client_shows_a_certificate(void **state) {
    (void)state;
    struct loaded loaded;
    LOAD(&loaded, "--listen=0.0.0.0:80", "--tls-cert=c", "--tls-key=k", "--tls-client-ca=a", NULL);
    assert_int_equal(loaded.status, -1);
    finish_loaded(&loaded);
    ASSERT_REFUSED("there are no tokens", "--listen=0.0.0.0:80", "--tls-cert=c", "--tls-key=k",
                   "--tls-client-ca=a", "--tls-client-optional", NULL);
    ASSERT_REFUSED("there are no tokens", "--listen=0.0.0.0:80", "--tls-cert=c", "--tls-key=k",
                   NULL);
}

static void test_what_is_no_address_is_refused_with_examples(void **state) {
    (void)state;
    ASSERT_REFUSED(":8080", "--listen", "8080", NULL);
    ASSERT_REFUSED("neither IPv4 nor IPv6", "--listen", "example.org:80", NULL);
}

static void test_keys_of_tokens_need_an_issuer_and_an_audience(void **state) {
    (void)state;
    ASSERT_REFUSED("--jwt-issuer TEXT", "--jwks=f", "--jwt-audience=a", NULL);
    ASSERT_REFUSED("--jwt-audience TEXT", "--jwks=f", "--jwt-issuer=i", NULL);
    ASSERT_REFUSED("--jwks FILE", "--jwt-issuer=i", "--jwt-audience=a", NULL);
    struct loaded loaded; /* which is access control enough for any address */
    LOAD(&loaded, "--jwks=f", "--jwt-issuer=i", "--jwt-audience=a", "--listen=0.0.0.0:1", NULL);
    assert_int_equal(loaded.status, -1);
    finish_loaded(&loaded);
}

static void test_hosts_and_origins_are_checked(void **state) {
    (void)state;
    ASSERT_REFUSED("--host: 'a:80' is not a host", "--host=b", "--host=a:80", NULL);
    ASSERT_REFUSED("--cors-origin: '*' is not an origin", "--cors-origin=*", NULL);
    struct loaded loaded;
    LOAD(&loaded, "--host=a", "--host=b", "--cors-origin=http://c", NULL);
    assert_int_equal(loaded.status, -1);
    assert_string_equal(loaded.configuration.hosts, "a,b");
    assert_string_equal(loaded.configuration.cors_origins, "http://c");
    finish_loaded(&loaded);
}

static void test_files_for_nats_need_nats_and_each_other(void **state) {
    (void)state;
    static const char *const flags[] = {"--nats-creds=f",   "--nats-nkey=f",
                                        "--nats-tls-ca=f",  "--nats-tls-cert=f",
                                        "--nats-tls-key=f", "--nats-tls-name=f"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        ASSERT_REFUSED("give their URLs with --nats", flags[i], NULL);
    }
    ASSERT_REFUSED("exclude each other", "--nats=x", "--nats-creds=f", "--nats-nkey=f", NULL);
    ASSERT_REFUSED("--nats-tls-key FILE", "--nats=x", "--nats-tls-cert=f", NULL);
    ASSERT_REFUSED("--nats-tls-cert FILE", "--nats=x", "--nats-tls-key=f", NULL);
}

static void test_durability_is_of_the_server_that_there_is(void **state) {
    (void)state;
    ASSERT_REFUSED("--durability server", "--durability=machine", "--nats=x", NULL);
    ASSERT_REFUSED("--durability machine", "--durability=server", NULL);
    ASSERT_REFUSED("process", "--durability=power", NULL);
}

static void test_replicas_need_a_cluster(void **state) {
    (void)state;
    ASSERT_REFUSED("--nats", "--replicas=3", NULL);
}

static void test_the_data_folder_follows_the_xdg_specification(void **state) {
    (void)state;
    struct loaded loaded;
    setenv("XDG_STATE_HOME", "/var/state", 1);
    LOAD(&loaded, NULL);
    assert_string_equal(loaded.configuration.data, "/var/state/parley");
    finish_loaded(&loaded);
    setenv("XDG_STATE_HOME", "relative", 1);
    LOAD(&loaded, NULL);
    assert_string_equal(loaded.configuration.data, "/home/somebody/.local/state/parley");
    finish_loaded(&loaded);
    unsetenv("HOME");
    ASSERT_REFUSED("--data", NULL);
    LOAD(&loaded, "--data=/data", NULL);
    assert_int_equal(loaded.status, -1);
    assert_string_equal(loaded.configuration.data, "/data");
    finish_loaded(&loaded);
}

/* ---- what is told ---- */

static void test_help_names_every_option_and_its_variable(void **state) {
    (void)state;
    struct loaded loaded;
    LOAD(&loaded, "--help", NULL);
    assert_int_equal(loaded.status, 0);
    assert_string_equal(loaded.error, "");
    for (size_t i = 0; i < option_count(); i++) {
        char flag[64], variable[64];
        snprintf(flag, sizeof flag, "  --%s", option_at(i).flag);
        option_name_variable(option_at(i).flag, variable);
        assert_says(loaded.out, flag);
        assert_says(loaded.out, variable);
    }
    assert_says(loaded.out, "127.0.0.1:8080");
    assert_says(loaded.out, "1g");
    finish_loaded(&loaded);
}

static void test_check_config_prints_a_file_that_says_the_same(void **state) {
    (void)state;
    char path[32];
    struct loaded first, second;
    LOAD(&first, "--check-config", "--listen=:0", "--insecure", "--message-max=3000",
         "--ack-timeout=1500ms", "--dedupe-window=0", "--subject-prefix=vlp=a",
         "--subject-prefix=roundtable=b", NULL);
    assert_int_equal(first.status, 0);
    assert_says(first.out, "\"subject-prefix\": \"vlp=a,roundtable=b\"");
    assert_says(first.out, "\"gather-max\": \"256m\"");
    assert_says(first.out, "\"spool-max\": \"1g\"");
    assert_says(first.out, "\"ack-timeout\": \"1500ms\"");
    assert_says(first.out, "\"nats\": null");
    write_configuration(path, first.out);
    LOAD(&second, "--check-config", "--config", path, NULL);
    assert_int_equal(second.status, 0);
    assert_string_equal(second.error, "");
    assert_string_equal(second.out, first.out);
    finish_loaded(&first);
    finish_loaded(&second);
    unlink(path);
}

static void test_check_config_still_refuses_what_is_wrong(void **state) {
    (void)state;
    ASSERT_REFUSED("there are no tokens", "--check-config", "--listen=0.0.0.0:1", NULL);
}

/* Those that a copy of the structure can carry. */
static void test_only_numbers_and_switches_are_reloadable(void **state) {
    (void)state;
    for (size_t i = 0; i < option_count(); i++) {
        const enum option_type type = option_at(i).type;
        assert_false(option_at(i).is_reloadable && (type == OPTION_TEXT || type == OPTION_LIST));
        assert_false(option_at(i).is_reloadable && option_at(i).is_not_in_file);
    }
}

/* (contract 19) */
static void test_a_variable_of_no_option_is_named_and_a_misspelt_one_refused(void **state) {
    (void)state;
    static const struct {
        const char *variable, *value;
        int status;
        const char *says; /* NULL: nothing */
    } rows[] = {
        {"PARLEY_LISTN", ":1", 2, "PARLEY_LISTN; did you mean PARLEY_LISTEN?"},
        {"PARLEY_SPOOLMAX", "1", 2, "did you mean PARLEY_SPOOL_MAX?"},
        {"PARLEY_HOSTS", "a", 2, "did you mean PARLEY_HOST?"},
        {"PARLEY_DATE", "/x", 2, "did you mean PARLEY_DATA?"},
        {"PARLEY_HOME", "/x", -1, "PARLEY_HOME has no effect"}, /* short: too far from HOST */
        {"PARLEY_TEST", "1", -1, "PARLEY_TEST has no effect"},
        {"PARLEY_NAME", "a", -1, "PARLEY_NAME has no effect"},
        {"PARLEY_PATH", "/x", -1, "PARLEY_PATH has no effect"},
        {"PARLEY_QWERTZUIOP", "1", -1, "PARLEY_QWERTZUIOP has no effect"},
        {"PARLEY_QWERTZ\x1b[2J\n", "1", -1, "PARLEY_QWERTZ\\x1b[2J\\x0a has no effect"},
        {"PARLEY_DATA_FILE", "1", -1, "PARLEY_DATA_FILE has no effect"},
        {"PARLEY_PORT", "9000", -1,
         "PARLEY_PORT has no effect; the port to listen on is part of "
         "--listen (PARLEY_LISTEN)"},
        {"PARLEY_NATS_PORT", "4222", -1, "PARLEY_NATS_PORT has no effect; the port"},
        {"PARLEY_TOKEN", "1", -1, NULL}, /* of clients */
        {"PARLEY_URL", "1", -1, NULL},
        {"PARLEY_SERVICE_HOST", "10.0.0.7", -1, NULL}, /* of Kubernetes, as are those that follow */
        {"PARLEY_SERVICE_PORT_HTTP", "80", -1, NULL},
        {"PARLEY_PORT", "tcp://10.0.0.7:80", -1, NULL},
        {"PARLEY_PORT_8080_TCP_ADDR", "10.0.0.7", -1, NULL},
        {"PARLEY_NATS_SERVICE_HOST", "10.0.0.7", -1, NULL},
        {"PARLEY_NATS_SERVICE_PORT", "4222", -1, NULL},
        {"PARLEY_NATS_PORT", "tcp://10.0.0.7:4222", -1, NULL},
        {"PARLEY_NATS_PORT_4222_TCP", "tcp://10.0.0.7:4222", -1, NULL},
        {"PARLEY", "1", -1, NULL},
        {"XPARLEY_LISTN", ":1", -1, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct loaded loaded;
        setenv(rows[i].variable, rows[i].value, 1);
        LOAD(&loaded, NULL);
        unsetenv(rows[i].variable);
        if (loaded.status != rows[i].status) {
            fail_msg("%s: %d %s", rows[i].variable, loaded.status, loaded.error);
        }
        if (rows[i].says != NULL) {
            assert_says(loaded.error, rows[i].says);
        } else {
            assert_string_equal(loaded.error, "");
        }
        assert_null(strchr(loaded.error, '\x1b'));
        finish_loaded(&loaded);
    }
}

/* As a terminal would take it. */
static void test_control_characters_in_values_are_not_printed(void **state) {
    (void)state;
    struct loaded loaded;
    LOAD(&loaded, "--reactors=\x1b[31m", NULL);
    assert_null(strchr(loaded.error, '\x1b'));
    assert_says(loaded.error, "not '\\x1b[31m'");
    finish_loaded(&loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_url_that_cannot_be_is_refused_with_what_is_expected,
                               clean_environment),
        cmocka_unit_test_setup(test_a_password_in_a_url_that_cannot_be_is_not_repeated,
                               clean_environment),
        cmocka_unit_test_setup(test_urls_are_shown_without_user_password_and_token,
                               clean_environment),
        cmocka_unit_test_setup(test_the_defaults_are_those_of_the_contract, clean_environment),
        cmocka_unit_test_setup(test_a_flag_takes_its_value_in_both_forms, clean_environment),
        cmocka_unit_test_setup(test_flag_goes_over_variable_over_file_over_default,
                               clean_environment),
        cmocka_unit_test_setup(test_the_last_of_equal_flags_counts, clean_environment),
        cmocka_unit_test_setup(
            test_prefixes_add_up_on_the_command_line_and_go_over_others_as_a_whole,
            clean_environment),
        cmocka_unit_test_setup(test_prefixes_that_cannot_be_are_refused_with_who_brought_them,
                               clean_environment),
        cmocka_unit_test_setup(test_an_empty_variable_is_as_none, clean_environment),
        cmocka_unit_test_setup(test_a_value_out_of_form_or_range_is_refused_by_its_name,
                               clean_environment),
        cmocka_unit_test_setup(test_an_unknown_flag_suggests_the_nearest, clean_environment),
        cmocka_unit_test_setup(test_reminders_need_an_index_and_a_dedupe_window, clean_environment),
        cmocka_unit_test_setup(test_an_open_address_is_refused_unless_it_is_wanted,
                               clean_environment),
        cmocka_unit_test_setup(
            test_an_open_address_is_served_where_every_client_shows_a_certificate,
            clean_environment),
        cmocka_unit_test_setup(test_what_is_no_address_is_refused_with_examples, clean_environment),
        cmocka_unit_test_setup(test_keys_of_tokens_need_an_issuer_and_an_audience,
                               clean_environment),
        cmocka_unit_test_setup(test_hosts_and_origins_are_checked, clean_environment),
        cmocka_unit_test_setup(test_files_for_nats_need_nats_and_each_other, clean_environment),
        cmocka_unit_test_setup(test_durability_is_of_the_server_that_there_is, clean_environment),
        cmocka_unit_test_setup(test_replicas_need_a_cluster, clean_environment),
        cmocka_unit_test_setup(test_the_data_folder_follows_the_xdg_specification,
                               clean_environment),
        cmocka_unit_test_setup(test_help_names_every_option_and_its_variable, clean_environment),
        cmocka_unit_test_setup(test_a_variable_of_no_option_is_named_and_a_misspelt_one_refused,
                               clean_environment),
        cmocka_unit_test_setup(test_control_characters_in_values_are_not_printed,
                               clean_environment),
        cmocka_unit_test_setup(test_only_numbers_and_switches_are_reloadable, clean_environment),
        cmocka_unit_test_setup(test_check_config_prints_a_file_that_says_the_same,
                               clean_environment),
        cmocka_unit_test_setup(test_check_config_still_refuses_what_is_wrong, clean_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
