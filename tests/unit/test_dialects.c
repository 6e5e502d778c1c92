/* SPDX-License-Identifier: Apache-2.0 */

/* What the dialects of protocols are translated to, and back: the cases of tests/dialects. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <parley/dialect.h>
#include <parley/message.h>

#include "lib/fault_heap.h"
#include "lib/message_fixture.h"

#define NOW "2026-01-02T03:04:05Z"

struct dialect_case {
    json_t *json;
    const char *name;
    const struct parley_dialect *dialect;
    const struct parley_codec *codec;
    struct parley_options options;
    char query[256];
    struct parley_buffer body;
};

static const char *text_of(const json_t *json, const char *member) {
    return json_string_value(json_object_get(json, member));
}

static void set_options(struct dialect_case *its, const struct parley_protocol *protocol) {
    const char *query = text_of(its->json, "query");
    char *place = NULL;
    snprintf(its->query, sizeof its->query, "%s", query != NULL ? query : "");
    its->options = (struct parley_options){
        .dialect = its->dialect, .stored_subject = text_of(its->json, "subject"), .now = NOW};
    for (char *pair = strtok_r(its->query, "&", &place); pair != NULL;
         pair = strtok_r(NULL, "&", &place)) {
        char *equals = strchr(pair, '=');
        const char *wants;
        *equals = '\0';
        assert_int_equal(parley_options_set(&its->options, protocol, pair, equals + 1, &wants),
                         PARLEY_OPTION_SET);
    }
}

static const struct parley_codec *codec_named(const struct parley_protocol *protocol,
                                              const char *name) {
    const struct parley_codec *const *codec = protocol->codecs;
    while (name != NULL && strcmp((*codec)->name, name) != 0) {
        codec++;
    }
    return *codec;
}

/* Sends the body in the encoding that the case names. */
static void encode_body(struct message_fixture *fixture, struct dialect_case *its) {
    static const struct parley_options none;
    const struct parley_bytes text = parley_bytes_of(text_of(its->json, "body"));
    const char *encoding = text_of(its->json, "encoding");
    its->codec = encoding != NULL ? codec_named(fixture->protocol, encoding) : &parley_codec_json;
    parley_buffer_init(&its->body);
    if (encoding == NULL) {
        parley_buffer_append(&its->body, text);
        return;
    }
    assert_int_equal(parley_message_check(&fixture->other, text, &parley_codec_json, &none,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_int_equal(fixture->protocol->convert(&fixture->other, its->codec, &its->body),
                     PARLEY_OK);
}

static void begin(struct message_fixture *fixture, struct dialect_case *its, const char *line) {
    its->json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(its->json);
    its->name = text_of(its->json, "name");
    its->dialect =
        parley_dialect_find(fixture->protocol, parley_bytes_of(text_of(its->json, "dialect")));
    assert_non_null(its->dialect);
    set_options(its, fixture->protocol);
    encode_body(fixture, its);
}

static void end(struct dialect_case *its) {
    parley_buffer_finish(&its->body);
    json_decref(its->json);
}

static void check(struct message_fixture *fixture, struct dialect_case *its) {
    assert_int_equal(parley_message_check(&fixture->message, parley_buffer_bytes(&its->body),
                                          its->codec, &its->options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
}

/* ---- to the contract ---- */

static void assert_json(const char *name, struct parley_bytes got, const json_t *wanted) {
    json_t *json = json_loadb(got.data, got.length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_equal(json, wanted)) {
        char *text = json_dumps(wanted, JSON_COMPACT);
        fail_msg("%s:\n%.*s\nnot\n%s", name, (int)got.length, got.data, text);
    }
    json_decref(json);
}

static void assert_broken(const struct parley_message *message, const struct dialect_case *its) {
    const json_t *wanted = json_object_get(its->json, "broken");
    json_t *none = json_array(), *broken = json_array();
    for (size_t i = 0; i < message->findings.count; i++) {
        const struct parley_finding *finding = &message->findings.items[i];
        if (finding->rule->severity == PARLEY_ERROR) {
            json_array_append_new(broken, json_string(finding->rule->id));
        }
    }
    if (!json_equal(broken, wanted != NULL ? wanted : none)) {
        fail_msg("%s: breaks %s", its->name, json_dumps(broken, JSON_COMPACT));
    }
    json_decref(none);
    json_decref(broken);
}

/* Its findings have no place: nobody has sent that text. */
static void assert_no_places(const struct parley_message *message) {
    for (size_t i = 0; i < message->findings.count; i++) {
        assert_int_equal(message->findings.items[i].at.line, 0);
    }
}

static void assert_translated(struct message_fixture *fixture, struct dialect_case *its) {
    const struct parley_message *message = &fixture->message;
    const json_t *wanted = json_object_get(its->json, "wanted");
    check(fixture, its);
    if (json_is_null(wanted)) {
        if (message->dialect != NULL) {
            fail_msg("%s: was translated to %.*s", its->name, (int)message->sent.length,
                     message->sent.data);
        }
        assert_ptr_equal(message->sent.data, its->body.data);
    } else {
        assert_json(its->name, message->sent, wanted);
        assert_ptr_equal(message->dialect, its->dialect);
        assert_true(parley_bytes_equal(message->original, parley_buffer_bytes(&its->body)));
        assert_null(memchr(message->sent.data, '\n', message->sent.length));
        assert_no_places(message);
    }
    assert_broken(message, its);
}

/* What is stored is read without the dialect or with it, and is the same. */
static void assert_stays(struct message_fixture *fixture, const struct dialect_case *its) {
    const struct parley_message *message = &fixture->message;
    if (message->dialect == NULL || !parley_message_is_valid(message)) {
        return;
    }
    assert_int_equal(parley_message_check(&fixture->other, message->sent, &parley_codec_json,
                                          &its->options, (struct parley_position){1, 1}),
                     PARLEY_OK);
    assert_null(fixture->other.dialect);
    assert_true(parley_message_is_valid(&fixture->other));
}

/* ---- and back ---- */

/* In an event, as a requester gets it. */
static void assert_back(struct message_fixture *fixture, struct dialect_case *its) {
    const json_t *wanted = json_object_get(its->json, "back");
    if (wanted == NULL) {
        return;
    }
    assert_true(parley_message_is_valid(&fixture->message));
    struct parley_buffer event;
    parley_buffer_init(&event);
    parley_buffer_text(&event, "{\"data\":");
    parley_buffer_append(&event, fixture->message.sent);
    parley_buffer_char(&event, '}');
    parley_buffer_clear(&fixture->out);
    assert_int_equal(
        parley_dialect_event(its->dialect, fixture->message.schema, parley_buffer_bytes(&event),
                             parley_bytes_of(text_of(its->json, "request")), &fixture->out),
        PARLEY_OK);
    json_t *data = json_is_null(wanted) ? json_loadb(fixture->message.sent.data,
                                                     fixture->message.sent.length, 0, NULL)
                                        : json_deep_copy(wanted);
    json_t *whole = json_pack("{s:o}", "data", data);
    assert_json(its->name, parley_buffer_bytes(&fixture->out), whole);
    json_decref(whole);
    parley_buffer_finish(&event);
}

/* ---- without memory ---- */

/* Each allocation fails once: the status says so, and the message can be used again. */
static void assert_bears_lack_of_memory(struct message_fixture *fixture, struct dialect_case *its) {
    bool has_failed = true;
    for (size_t first = 0; has_failed; first++) {
        parley_message_finish(&fixture->message);
        parley_message_init(&fixture->message, fixture->schema);
        fault_heap_arm(first, 1);
        const enum parley_status status =
            parley_message_check(&fixture->message, parley_buffer_bytes(&its->body), its->codec,
                                 &its->options, (struct parley_position){1, 1});
        has_failed = fault_heap_has_failed();
        fault_heap_disarm();
        assert_true(status == PARLEY_OK || status == PARLEY_E_MEMORY);
        check(fixture, its);
        assert_broken(&fixture->message, its);
    }
}

static void run_cases(struct message_fixture *fixture, const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    assert_non_null(file);
    while (getline(&line, &size, file) > 0) {
        struct dialect_case its;
        begin(fixture, &its, line);
        assert_translated(fixture, &its);
        assert_stays(fixture, &its);
        assert_back(fixture, &its);
        assert_bears_lack_of_memory(fixture, &its);
        end(&its);
    }
    free(line);
    fclose(file);
}

static void test_knights(void **state) {
    run_cases(*state, PARLEY_SOURCE_DIR "/tests/dialects/roundtable_knights.ndjson");
}

static void test_o(void **state) {
    run_cases(*state, PARLEY_SOURCE_DIR "/tests/dialects/supervisor_o.ndjson");
}

static void test_mail(void **state) {
    run_cases(*state, PARLEY_SOURCE_DIR "/tests/dialects/brenner_mail.ndjson");
}

static void test_a_dialect_is_found_by_its_whole_name(void **state) {
    (void)state;
    for (size_t i = 0; parley_protocols[i] != NULL; i++) {
        const struct parley_dialect *at = parley_protocols[i]->dialects;
        for (; at != NULL && at->name != NULL; at++) {
            assert_ptr_equal(parley_dialect_find(parley_protocols[i], parley_bytes_of(at->name)),
                             at);
            assert_non_null(at->summary);
            assert_non_null(at->to_contract);
        }
        assert_null(parley_dialect_find(parley_protocols[i], PARLEY_BYTES("")));
        assert_null(parley_dialect_find(parley_protocols[i], PARLEY_BYTES("knight")));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_knights, message_set_up_roundtable, message_tear_down),
        cmocka_unit_test_setup_teardown(test_o, message_set_up_supervisor, message_tear_down),
        cmocka_unit_test_setup_teardown(test_mail, message_set_up_brenner, message_tear_down),
        cmocka_unit_test(test_a_dialect_is_found_by_its_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
