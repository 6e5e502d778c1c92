/* SPDX-License-Identifier: Apache-2.0 */

/* A POST's head, whether its body is one message or many, and the one. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../lib/fault_heap.h"
#include "failure.h"
#include "ingest_fixture.h"

#define JSON .type = "application/json"

static const struct request_head one = {JSON};
#define BAD "{\"a\":1}"

static const struct request_head one_verdict = {JSON, .task = INGEST_VALIDATE};

/* ---- the head ---- */

#define KEY_16 "0123456789abcdef"
#define KEY_64 KEY_16 KEY_16 KEY_16 KEY_16
#define KEY_128 KEY_64 KEY_64

static void test_a_head_that_cannot_be_is_refused_before_the_body(void **state) {
    struct world *world = *state;
    static const struct {
        struct request_head head;
        unsigned status;
        const char *says;
    } rows[] = {
        {{.type = ""}, 415, "A missing Content-Type"},
        {{.type = "text/plain"}, 415, "`text/plain`"},
        {{.type = "application/jsonx"}, 415, "application/json"},
        /* contract 19 */
        {{.type = "application/json; charset=latin1"}, 415, "`latin1`"},
        {{.type = "application/x-ndjson;charset=\"ISO-8859-1\""}, 415, "`ISO-8859-1`"},
        {{.type = "application/json; charset"}, 415, "are malformed"},
        {{.type = "application/json; charset=utf-8; charset=utf-8"}, 415, "are malformed"},
        {{.headers = {{"Content-Encoding", "br"}}}, 415, "`br`"},
        {{.headers = {{"Content-Encoding", "gzip, gzip"}}}, 415, "`gzip, gzip`"},
        {{.headers = {{"Content-Encoding", "gzip,zstd"}}}, 415, "gzip or zstd, once"},
        {{.headers = {{"Accept", "image/png"}}}, 406, "application/x-ndjson"},
        {{.headers = {{"Accept", "application/*;q=0"}}}, 406, "application/json"},
        {{.headers = {{"Idempotency-Key", ""}}}, 400, "Idempotency-Key"},
        {{.headers = {{"Idempotency-Key", "a b"}}}, 400, "Idempotency-Key"},
        {{.headers = {{"Idempotency-Key", "a\x7f"}}}, 400, "Idempotency-Key"},
        {{.headers = {{"Idempotency-Key", "\xC3\xA9"}}}, 400, "Idempotency-Key"},
        {{.headers = {{"Idempotency-Key", KEY_128 "0"}}}, 400, "Idempotency-Key"},
        {{.query = {{"sctrict", "true"}}}, 400, "`sctrict`"},
        {{.query = {{"strict", ""}}}, 400, "true or false"},
        {{.query = {{"stamp", "yes"}}}, 400, "true or false"},
        {{.query = {{"results", "none"}}}, 400, "all, errors or summary"},
        {{.query = {{"emit", "Both"}}}, 400, "verdicts, messages or both"},
        {{.query = {{"domain", "a.b"}}}, 400, "1 to 128 of A-Z a-z 0-9 _ -"},
        {{.query = {{"agent", "_"}}}, 400, "A-Z a-z 0-9 _ -"},
        {{.query = {{"strict", "true"}, {"x", "1"}}}, 400, "`x`"},
        /* contract 9 */
        {{.query = {{"stamp", "false"}, {"stamp", "true"}}}, 400, "`stamp` is given twice"},
        {{.query = {{"strict", "true"}, {"strict", "true"}}}, 400, "`strict` is given twice"},
        {{.query = {{"domain", "a"}, {"domain", "b"}}}, 400, "`domain` is given twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_begin(world, &rows[i].head);
        assert_int_equal(world->request.status, rows[i].status);
        assert_string_equal(world->request.type, "application/problem+json");
        assert_non_null(strstr(world_answer(world), rows[i].says));
    }
}

static void test_a_415_says_what_would_do(void **state) {
    struct world *world = *state;
    world_begin(world, &(struct request_head){.type = "text/plain"});
    assert_string_equal(world->request.accept, "application/json, application/x-ndjson");
    world_begin(world, &(struct request_head){.headers = {{"Content-Encoding", "br"}}});
    assert_string_equal(world->request.accept, "gzip, zstd, identity");
}

static void test_a_head_that_is_only_unusual_is_served(void **state) {
    struct world *world = *state;
    static const struct request_head heads[] = {
        {JSON},
        {.type = "Application/JSON; charset=utf-8"},
        {.type = "application/json;charset=\"UTF-8\""},
        {.type = "application/json; profile=\"a;b\"; Charset=Utf-8;"},
        {.type = "application/jsonl"},
        {JSON, .headers = {{"Content-Encoding", "Identity"}}},
        {JSON, .headers = {{"Accept", "text/html, */*;q=0.1"}}},
        {JSON, .headers = {{"Accept", ""}}},
        {JSON, .headers = {{"Idempotency-Key", KEY_128}}},
        {JSON, .headers = {{"traceparent", "not a good one"}}},
        {JSON, .query = {{"domain", "ops"}, {"from", "elixir"}, {"strict", "false"}}},
        {JSON, .query = {{"agent", "coder-1"}}},
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        world_post(world, &heads[i], CLAIM_OF("1"));
        world_ack_all(world);
        assert_int_equal(world->request.status, 200);
    }
}

static void test_a_batch_is_refused_at_once_while_nats_is_away(void **state) {
    struct world *world = *state;
    world->jetstream.is_ready = false;
    world_begin(world, &(struct request_head){0});
    assert_int_equal(world->request.status, 503);
    assert_string_equal(world->request.retry_after, "1");
    world_begin(world, &one); /* it may be one message, which may be invalid */
    assert_int_equal(world->request.status, 0);
    world_send(world, " [");
    assert_int_equal(world->request.status, 503);
    world_post(world, &(struct request_head){.task = INGEST_VALIDATE}, CLAIM_OF("1"));
    assert_int_equal(world->request.status, 200);
}

/* ---- one or many ---- */

static void test_an_array_is_detected_by_its_first_byte_that_is_not_blank(void **state) {
    struct world *world = *state;
    static const struct {
        const char *body;
        bool is_many;
    } rows[] = {
        {"[]", true},     {" \t\r\n[]", true}, {"[", true},   {"[" CLAIM_OF("1") "]", true},
        {"", false},      {" ", false},        {"{}", false}, {"\n\n" CLAIM_OF("1"), false},
        {"\"[\"", false}, {"7", false},        {"]", false},  {"\xEF\xBB\xBF[]", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *wanted = rows[i].is_many ? "application/x-ndjson" : "application/json";
        world_post(world, &one_verdict, rows[i].body);
        assert_int_equal(world->request.status, 200);
        assert_string_equal(world->request.type, wanted);
        char *whole = strdup(world_answer(world));
        world_begin(world, &one_verdict);
        for (const char *at = rows[i].body; *at != '\0'; at++) {
            world_send(world, (char[]){*at, '\0'});
        }
        world_end(world);
        assert_string_equal(world_answer(world), whole);
        free(whole);
    }
}

static void test_blanks_before_an_array_count_for_places(void **state) {
    struct world *world = *state;
    world_begin(world, &one_verdict);
    world_send(world, "\n\n");
    world_send(world, " [7]");
    world_end(world);
    assert_non_null(strstr(world_answer(world), "\"at\":{\"line\":3,\"column\":3}"));
}

static void test_what_holds_one_message_is_no_array_whatever_it_begins_with(void **state) {
    struct world *world = *state;
    world_speak(world, toy_protocol());
    const struct request_head head = {.type = "text/markdown", .task = INGEST_VALIDATE};
    world_post(world, &head, "[" CLAIM_OF("1") "]");
    assert_string_equal(world->request.type, "application/json");
    assert_non_null(strstr(world_answer(world), "GW-006"));
}

/* ---- one message ---- */

static void test_one_message_is_answered_when_it_is_stored(void **state) {
    struct world *world = *state;
    world_post(world, &one, CLAIM_OF("1"));
    assert_int_equal(world->jetstream.count, 1);
    assert_int_equal(world->request.status, 0);
    world_ack(world, 0, JETSTREAM_STORED);
    assert_string_equal(
        world_answer(world),
        "{\"protocol\":\"vlp\",\"type\":\"claim\",\"id\":\"MSG1\",\"lane\":\"safe\","
        "\"subject\":\"vlp.safe.claim\",\"stream\":\"VLP\",\"seq\":0,"
        "\"duplicate\":false,\"warnings\":[]}\n");
}

static void test_what_jetstream_answers_becomes_a_status(void **state) {
    struct world *world = *state;
    static const struct {
        enum jetstream_outcome outcome;
        unsigned status;
        const char *retry_after;
    } rows[] = {
        {JETSTREAM_STORED, 200, ""},
        {JETSTREAM_REFUSED, 503, "1"},
        {JETSTREAM_TIMEOUT, 504, ""},
        {JETSTREAM_LOST, 504, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_post(world, &one, CLAIM_OF("1"));
        world_ack(world, i, rows[i].outcome);
        assert_int_equal(world->request.status, rows[i].status);
        assert_string_equal(world->request.retry_after, rows[i].retry_after);
    }
}

static void test_a_message_over_a_limit_of_nats_is_too_large(void **state) {
    struct world *world = *state;
    const struct request_options options = {.gateway = &world->gateway,
                                            .protocol = parley_protocols[0],
                                            .check = {.message_bytes_max = 7654321}};
    const struct publication_mark mark = {.repeat = PUBLICATION_REPEAT_SAME};
    static const struct {
        int error_code;
        size_t bytes_max;
        const char *says;
    } rows[] = {
        {10054, 1024, "exceeds the 1024 bytes of its stream"},
        {10054, 0, "exceeds the limit of its stream"},
        {413, 0, "bytes that NATS accepts (its max_payload)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct jetstream_ack ack = {.outcome = JETSTREAM_REFUSED,
                                          .error_code = rows[i].error_code,
                                          .bytes_max = rows[i].bytes_max};
        const struct failure failure = failure_of_ack(&options, &mark, &ack);
        assert_int_equal(failure.problem, PROBLEM_TOO_LARGE);
        assert_non_null(strstr(failure.detail, rows[i].says));
        assert_non_null(strstr(failure.detail, "7654321 bytes (--message-max)"));
    }
}

static void test_what_cannot_be_published_becomes_a_status(void **state) {
    struct world *world = *state;
    static const struct {
        enum jetstream_publish says;
        unsigned status;
    } rows[] = {
        {JETSTREAM_AWAY, 503},
        {JETSTREAM_FULL, 503},
        {JETSTREAM_TOO_LARGE, 413},
        {JETSTREAM_FAILED, 500},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world->jetstream.says = rows[i].says;
        world_post(world, &one, CLAIM_OF("1"));
        assert_int_equal(world->request.status, rows[i].status);
    }
}

static void test_a_message_too_large_for_nats_gets_both_limits(void **state) {
    struct world *world = *state;
    world->jetstream.says = JETSTREAM_TOO_LARGE;
    world->configuration.message_max_bytes = 7654321;
    world_post(world, &one, CLAIM_OF("1"));
    assert_non_null(strstr(world_answer(world), "/problems/too-large"));
    assert_non_null(strstr(world_answer(world), "1048576 bytes that NATS accepts"));
    assert_non_null(strstr(world_answer(world), "7654321 bytes (--message-max)"));
}

/* A batch is stored whether or not its client waits for the answer: docs/api.md#batch. */
static void test_a_message_whose_client_is_gone_need_not_be_waited_with(void **state) {
    struct world *world = *state;
    world_post(world, &one, CLAIM_OF("1"));
    const struct jetstream_sender *sender = world->jetstream.published[0].sender;
    assert_false(sender->is_abandoned);
    world_close(world);
    assert_true(sender->is_abandoned);
    world_ack(world, 0, JETSTREAM_REFUSED);
    world_post(world, &(struct request_head){0}, CLAIM_OF("2"));
    sender = world->jetstream.published[1].sender;
    world_close(world);
    assert_false(sender->is_abandoned);
    world_ack(world, 1, JETSTREAM_STORED);
}

/* (contract 7) */
static void test_a_verdict_warns_of_what_nats_will_not_take(void **state) {
    struct world *world = *state;
    static const struct {
        const char *type, *body, *emit;
        size_t nats_bytes_max; /* 0: NATS is away */
        bool is_warned;
        size_t stream_bytes_max; /* 0: the stream has no limit */
    } rows[] = {
        {"application/json", CLAIM_OF("1"), "verdicts", 100000, true, 200},
        {"application/json", CLAIM_OF("1"), "verdicts", 100000, false, 1000},
        {"application/json", CLAIM_OF("1"), "verdicts", 200, true, 1000},
        {"application/json", CLAIM_OF("1"), "verdicts", 0, false, 200},
        {"application/json", CLAIM_OF("1"), "verdicts", 200, true, 0},
        {"application/json", CLAIM_OF("1"), "verdicts", 1000, false, 0},
        {"application/json", CLAIM_OF("1"), "verdicts", 100000, false, 0},
        {"application/json", CLAIM_OF("1"), "verdicts", 0, false, 0},
        {"application/json", BAD, "verdicts", 300, false, 0},
        {"application/json", "[" CLAIM_OF("1") "]", "verdicts", 200, true, 0},
        {"application/x-ndjson", CLAIM_OF("1"), "both", 200, true, 0},
        {"application/x-ndjson", CLAIM_OF("1"), "messages", 200, false, 0},
        {"application/x-ndjson", CLAIM_OF("1"), "verdicts", 1000, false, 0},
        {"text/markdown", CLAIM_OF("1"), "verdicts", 200, true, 0},
    };
    world_speak(world, toy_protocol());
    world->configuration.message_max_bytes = 7654321;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct request_head head = {
            .type = rows[i].type, .task = INGEST_VALIDATE, .query = {{"emit", rows[i].emit}}};
        world->jetstream.is_ready = rows[i].nats_bytes_max > 0;
        world->jetstream.max_payload_bytes = rows[i].nats_bytes_max;
        world->jetstream.message_bytes_max = rows[i].stream_bytes_max;
        world_post(world, &head, rows[i].body);
        const char *warning = strstr(world_answer(world), "\"rule\":\"GW-101\"");
        if ((warning != NULL) != rows[i].is_warned) {
            fail_msg("row %zu: %s", i, world_answer(world));
        }
        if (warning != NULL) {
            assert_non_null(strstr(warning, "\"severity\":\"warning\""));
            assert_non_null(strstr(warning, "200 bytes"));
            assert_non_null(strstr(warning, "7654321 bytes"));
            assert_non_null(strstr(world_answer(world), "\"valid\":true"));
        }
    }
}

/* ---- the protocol's own form of a refusal ---- */

static void test_a_refusal_has_the_form_that_the_client_likes_best(void **state) {
    struct world *world = *state;
    static const struct {
        const char *accept;
        bool is_own;
    } rows[] = {
        {NULL, false},
        {"", false},
        {"*/*", false},
        {"text/markdown", true},
        {"Text/*", true},
        {"text/markdown, application/json", false},
        {"application/json, text/markdown", false},
        {"text/markdown, application/problem+json", false},
        {"text/markdown;q=0.5, application/json;q=0.4", true},
        {"text/markdown;q=0.4, application/json;q=0.5", false},
        {"text/markdown, */*;q=0.1", true},
        {"text/markdown;q=0, */*", false},
    };
    world_speak(world, toy_protocol());
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct request_head head = {JSON, .headers = {{"Accept", rows[i].accept}}};
        world_post(world, &head, "{}");
        assert_int_equal(world->request.status, 422);
        assert_string_equal(world->request.type, rows[i].is_own ? "text/markdown; charset=utf-8"
                                                                : "application/problem+json");
    }
}

static void test_a_refusal_in_the_protocols_own_form_keeps_its_status(void **state) {
    struct world *world = *state;
    static const struct {
        enum ingest_task task;
        const char *body;
        unsigned status;
        const char *answer;
    } rows[] = {
        {INGEST_FORWARD, "{}", 422, "# VLP-001\n"},
        {INGEST_FORWARD, "{", 400, "# GW-001\n"},
        {INGEST_FORWARD, CLAIM_OF("12"), 413, "# GW-002\n"},
        {INGEST_CONVERT, "{}", 422, "# VLP-001\n"},
        {INGEST_CONVERT, "{", 400, "# GW-001\n"},
        {INGEST_CONVERT, CLAIM_OF("12"), 413, "# GW-002\n"},
        {INGEST_VALIDATE, "{}", 200, "# VLP-001\n"},
        {INGEST_VALIDATE, "{", 200, "# GW-001\n"},
        {INGEST_VALIDATE, CLAIM_OF("12"), 413, "# GW-002\n"},
    };
    world_speak(world, toy_protocol());
    world->configuration.message_max_bytes = strlen(CLAIM_OF("1"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bool is_converting = rows[i].task == INGEST_CONVERT;
        const struct request_head head = {
            JSON,
            .task = rows[i].task,
            .headers = {{"Accept", "text/markdown"}},
            .query = {{is_converting ? "to" : NULL, "sheet"}},
        };
        world_post(world, &head, rows[i].body);
        assert_int_equal(world->request.status, rows[i].status);
        assert_string_equal(world->request.type, "text/markdown; charset=utf-8");
        assert_string_equal(world_answer(world), rows[i].answer);
    }
}

static void test_everything_but_a_refusal_stays_json(void **state) {
    struct world *world = *state;
    const struct request_head own = {JSON, .headers = {{"Accept", "text/markdown"}}};
    const struct request_head verdict = {JSON, .headers = {{"Accept", "text/markdown"}},
                                         .task = INGEST_VALIDATE};
    world_speak(world, toy_protocol());
    world_post(world, &own, CLAIM_OF("1"));
    world_ack(world, 0, JETSTREAM_STORED);
    assert_string_equal(world->request.type, "application/json");
    world_post(world, &own, CLAIM_OF("1"));
    world_ack(world, 1, JETSTREAM_TIMEOUT);
    assert_string_equal(world->request.type, "application/problem+json");
    world_post(world, &verdict, CLAIM_OF("1"));
    assert_string_equal(world->request.type, "application/json");
    world_post(world, &verdict, "[{}]");
    assert_string_equal(world->request.type, "application/x-ndjson");
    world_speak(world, parley_protocol_find(PARLEY_BYTES("vlp")));
    world_post(world, &own, "{}");
    assert_int_equal(world->request.status, 406);
}

/* ---- JSON or NDJSON ---- */

#define LINES "application/x-ndjson"

/* (contract 8) */
static void test_accept_decides_between_json_and_lines(void **state) {
    struct world *world = *state;
    static const struct {
        const char *accept;
        const char *one, *many; /* what each is answered as */
    } rows[] = {
        {NULL, "application/json", LINES},
        {"*/*", "application/json", LINES},
        {"application/*", "application/json", LINES},
        {"application/json, text/plain, */*", "application/json", LINES}, /* axios */
        {"application/json", "application/json", "application/json"},
        {"application/json, */*;q=0.1", "application/json", "application/json"},
        {LINES, LINES, LINES},
        {"application/jsonl", "application/jsonl", "application/jsonl"},
        {"application/ndjson, application/json;q=0.9", "application/ndjson", "application/ndjson"},
        {LINES ";q=0.9, application/json", "application/json", "application/json"},
        {"application/json;q=0, */*", LINES, LINES},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct request_head head = {JSON, .task = INGEST_VALIDATE,
                                          .headers = {{"Accept", rows[i].accept}}};
        world_post(world, &head, CLAIM_OF("1"));
        assert_string_equal(world->request.type, rows[i].one);
        world_post(world, &head, "[" CLAIM_OF("1") "]");
        assert_string_equal(world->request.type, rows[i].many);
    }
}

/* (contract 8) */
static void test_one_message_in_lines_is_a_batch_of_one(void **state) {
    struct world *world = *state;
    static const struct {
        const char *body, *statuses;
    } rows[] = {
        {CLAIM_OF("1"), "accepted 1/1/0/0/0"},
        {" \n" CLAIM_OF("1") "\n", "accepted 1/1/0/0/0"},
        {BAD, "invalid 1/0/0/1/0"},
        {"", "invalid 1/0/0/1/0"},
        {"  ", "invalid 1/0/0/1/0"},
        {"7", "invalid 1/0/0/1/0"},
    };
    static const char *const types[] = {"application/json", "text/markdown"};
    world_speak(world, toy_protocol());
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < 2; k++) {
            const struct request_head head = {.type = types[k], .headers = {{"Accept", LINES}}};
            world_post(world, &head, rows[i].body);
            world_ack_all(world);
            assert_int_equal(world->request.status, 200);
            assert_string_equal(world_statuses(world), rows[i].statuses);
        }
    }
}

/* (contract 8) */
static void test_many_in_a_document_are_one_json_value(void **state) {
    struct world *world = *state;
#define RESULT(line, valid) "{\"line\":" line ",\"valid\":" valid
    static const struct {
        const char *body, *emit;
        const char *answer; /* of which each part up to a | is there, in this order */
    } rows[] = {
        {"[]", "verdicts",
         "{\"results\":[\n],\"summary\":{\"received\":0,\"valid\":0,\"invalid\":0}}\n"},
        {"[" CLAIM_OF("1") "]", "verdicts",
         "{\"results\":[\n" RESULT("1", "true") "|}\n],\"summary\":{\"received\":1,"},
        {"[" CLAIM_OF("1") "," BAD "]", "verdicts",
         "{\"results\":[\n" RESULT("1", "true") "|}\n," RESULT("2", "false") "|}\n],\"summary\""},
        {"[" BAD "]", "messages", "[\n]\n"},
        {"[" CLAIM_OF("1") "," BAD "," CLAIM_OF("2") "]", "messages",
         "[\n" CLAIM_OF("1") "\n," CLAIM_OF("2") "\n]\n"},
    };
#undef RESULT
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct request_head head = {JSON, .task = INGEST_VALIDATE,
                                          .headers = {{"Accept", "application/json"}},
                                          .query = {{"emit", rows[i].emit}}};
        world_post(world, &head, rows[i].body);
        assert_string_equal(world->request.type, "application/json");
        const char *at = world_answer(world);
        char *parts = strdup(rows[i].answer);
        for (char *part = strtok(parts, "|"); part != NULL; part = strtok(NULL, "|")) {
            at = strstr(at, part);
            assert_non_null(at);
            at += strlen(part);
        }
        free(parts);
        json_error_t error;
        json_t *root = json_loads(world_answer(world), 0, &error);
        assert_non_null(root);
        json_decref(root);
    }
}

static void test_every_check_knows_the_time(void **state) {
    struct world *world = *state;
    const time_t before = time(NULL);
    world_post(world, &one_verdict, CLAIM_OF("1"));
    assert_in_range(world->message.options.now_seconds, before - 1, time(NULL));
}

static void test_a_request_may_close_before_its_ack(void **state) {
    struct world *world = *state;
    world_post(world, &one, CLAIM_OF("1"));
    world_close(world);
    world_ack(world, 0, JETSTREAM_STORED); /* frees it: the leak sanitizer watches */
    world_begin(world, &one);
    world_send(world, "{");
    world_close(world);
}

static void test_a_message_over_the_limit_is_413_on_both_paths(void **state) {
    struct world *world = *state;
    world->configuration.message_max_bytes = strlen(CLAIM_OF("1"));
    world_post(world, &one, CLAIM_OF("1"));
    world_ack_all(world);
    assert_int_equal(world->request.status, 200);
    for (int is_validating = 0; is_validating < 2; is_validating++) {
        world_begin(world, is_validating ? &one_verdict : &one);
        for (size_t i = 0; i < 100; i++) {
            world_send(world, CLAIM_OF("1"));
        }
        world_end(world);
        assert_int_equal(world->request.status, 413);
        assert_non_null(strstr(world_answer(world), "GW-002"));
    }
}

static void test_what_is_wrong_with_a_message_becomes_a_status(void **state) {
    struct world *world = *state;
    static const struct {
        const char *body;
        unsigned status;
    } rows[] = {{"", 400}, {"{", 400}, {"7", 400}, {"{\"a\":1,\"a\":2}", 400}, {"{}", 422}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_post(world, &one, rows[i].body);
        assert_int_equal(world->request.status, rows[i].status);
        assert_non_null(strstr(world_answer(world), "\"violations\":[{"));
        world_post(world, &one_verdict, rows[i].body);
        assert_int_equal(world->request.status, 200);
        assert_non_null(strstr(world_answer(world), "{\"valid\":false,"));
    }
}

static void test_the_same_invalid_bytes_again_are_called_unchanged(void **state) {
    struct world *world = *state;
    static const struct {
        const struct request_head *head;
        const char *body;
        const char *wanted; /* NULL: nothing */
    } rows[] = {
        {&one, "{}", NULL},
        {&one, "{}", ",\"unchanged\":true,\"tries\":2,\"violations\":[{"},
        {&one, "{ }", NULL},
        {&one, "{}", ",\"unchanged\":true,\"tries\":3,\"violations\":[{"},
        {&one, "{", NULL},
        {&one, "{", ",\"unchanged\":true,\"tries\":2,\"violations\":[{"},
        {&one_verdict, "{}", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_post(world, rows[i].head, rows[i].body);
        const char *at = strstr(world_answer(world), ",\"unchanged\"");
        assert_int_equal(at != NULL, rows[i].wanted != NULL);
        assert_true(at == NULL || strncmp(at, rows[i].wanted, strlen(rows[i].wanted)) == 0);
    }
}

static void test_nothing_is_kept_of_a_message_whose_request_is_over(void **state) {
    struct world *world = *state;
    static const struct request_head *const heads[] = {&one, &one_verdict};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        world_post(world, heads[i], "{}"); /* of one that is right there is nothing to keep */
        assert_true(world->message.findings.count > 0 && world->message.arena.used_bytes > 0);
        world_close(world);
        assert_true(world->message.findings.count == 0 && world->message.arena.used_bytes == 0);
    }
}

static void test_whichever_allocation_fails_one_message_is_answered(void **state) {
    struct world *world = *state;
    size_t failed_count = 0;
    for (bool has_failed = true; has_failed; failed_count++) {
        world_close_all(world);
        fault_heap_arm(failed_count, 1);
        world_post(world, &one, CLAIM_OF("1"));
        world_ack_all(world);
        has_failed = fault_heap_has_failed();
        fault_heap_disarm();
        assert_true(world->request.status == 200 || (has_failed && world->request.status == 500));
    }
    assert_true(failed_count > 5);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_head_that_cannot_be_is_refused_before_the_body),
        TEST(test_a_415_says_what_would_do),
        TEST(test_accept_decides_between_json_and_lines),
        TEST(test_one_message_in_lines_is_a_batch_of_one),
        TEST(test_many_in_a_document_are_one_json_value),
        TEST(test_a_head_that_is_only_unusual_is_served),
        TEST(test_a_batch_is_refused_at_once_while_nats_is_away),
        TEST(test_an_array_is_detected_by_its_first_byte_that_is_not_blank),
        TEST(test_blanks_before_an_array_count_for_places),
        TEST(test_what_holds_one_message_is_no_array_whatever_it_begins_with),
        TEST(test_one_message_is_answered_when_it_is_stored),
        TEST(test_what_jetstream_answers_becomes_a_status),
        TEST(test_a_message_over_a_limit_of_nats_is_too_large),
        TEST(test_what_cannot_be_published_becomes_a_status),
        TEST(test_a_message_too_large_for_nats_gets_both_limits),
        TEST(test_a_message_whose_client_is_gone_need_not_be_waited_with),
        TEST(test_a_verdict_warns_of_what_nats_will_not_take),
        TEST(test_a_refusal_has_the_form_that_the_client_likes_best),
        TEST(test_a_refusal_in_the_protocols_own_form_keeps_its_status),
        TEST(test_everything_but_a_refusal_stays_json),
        TEST(test_every_check_knows_the_time),
        TEST(test_a_request_may_close_before_its_ack),
        TEST(test_a_message_over_the_limit_is_413_on_both_paths),
        TEST(test_what_is_wrong_with_a_message_becomes_a_status),
        TEST(test_the_same_invalid_bytes_again_are_called_unchanged),
        TEST(test_nothing_is_kept_of_a_message_whose_request_is_over),
        TEST(test_whichever_allocation_fails_one_message_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
