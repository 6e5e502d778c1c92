/* SPDX-License-Identifier: Apache-2.0 */

/* Fixes: which there are, what they leave alone, and, of all conformance cases, that a safe one
 * makes its violation go away and adds none. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <parley/message.h>

#include "json/json_message.h"
#include "lib/cases.h"
#include "lib/json_patch.h"
#include "lib/mutate.h"
#include "lib/rounds.h"

/* ---- one message ---- */

struct bench {
    struct parley_schema *schema;
    struct parley_message message;
    enum parley_fixing takes;
};

static void bench_init(struct bench *bench, const struct parley_protocol *protocol) {
    assert_non_null(protocol);
    assert_int_equal(parley_schema_create(protocol, &bench->schema), PARLEY_OK);
    parley_message_init(&bench->message, bench->schema);
    bench->takes = PARLEY_FIX_SAFELY;
}

static void bench_finish(struct bench *bench) {
    parley_message_finish(&bench->message);
    parley_schema_destroy(bench->schema);
}

static struct parley_bytes fix(struct bench *bench, struct parley_bytes text,
                               const struct parley_options *options) {
    struct parley_options fixing = *options;
    fixing.fix = bench->takes;
    assert_int_equal(parley_message_check(&bench->message, text, &parley_codec_json, &fixing,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    return bench->message.text;
}

/* ---- what is fixed ---- */

/* Messages to which a member is added. */
#define VLP                                                                                        \
    "\"id\":\"MSG1\",\"type\":\"notice\",\"timestamp\":\"2025-12-14T10:30:00Z\",\"content\":\"c\""
#define VLP_ALL VLP ",\"protocol\":\"VLP/1.1\",\"sender\":\"S\",\"confidence\":0.5"
#define RT_HEAD "\"id\":\"7f9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b\",\"from\":\"galahad\""
#define RT RT_HEAD ",\"timestamp\":\"2026-02-08T15:00:00Z\",\"version\":\"1.0\""
#define RT_REQUEST RT ",\"type\":\"task.request\",\"payload\":{\"task\":\"security.briefing\""

#define BRENNER(subject, body) "{\"subject\":\"" subject "\",\"body_md\":\"" body "\"}"
#define HYPOTHESIS                                                                                 \
    "{\\\"name\\\":\\\"n\\\",\\\"claim\\\":\\\"c\\\",\\\"mechanism\\\":\\\"m\\\",\\\"anchors\\\":" \
    "[]}"
#define ADD_OF(payload)                                                                            \
    "{\\\"operation\\\":\\\"ADD\\\",\\\"section\\\":\\\"hypothesis_slate\\\","                     \
    "\\\"payload\\\":" payload ",\\\"rationale\\\":\\\"r\\\"}"

static const struct {
    const char *protocol, *text, *wanted;
} safely[] = {
    /* Constants. */
    {"vlp", "{" VLP ",\"sender\":\"S\",\"confidence\":0.5,\"protocol\":\"vlp 1\"}",
     "{" VLP ",\"sender\":\"S\",\"confidence\":0.5,\"protocol\":\"VLP/1.1\"}"},
    {"vlp", "{" VLP ",\"sender\":\"S\",\"confidence\":0.5 }",
     "{" VLP ",\"sender\":\"S\",\"confidence\":0.5,\"protocol\":\"VLP/1.1\" }"},
    /* Numbers and booleans in quotes, and texts without. */
    {"vlp", "{" VLP ",\"protocol\":\"VLP/1.1\",\"sender\":\"S\",\"confidence\" : \"0.50\"}",
     "{" VLP ",\"protocol\":\"VLP/1.1\",\"sender\":\"S\",\"confidence\" : 0.5}"},
    {"vlp", "{" VLP_ALL ",\"seq\":\"4\", \"topic\":17}",
     "{" VLP_ALL ",\"seq\":4, \"topic\":\"17\"}"},
    {"roundtable",
     "{" RT_HEAD ",\"timestamp\":\"2026-02-08T15:00:00Z\",\"version\":1.0,"
     "\"type\":\"heartbeat\",\"payload\":{\"status\":\"idle\"}}",
     "{" RT_HEAD ",\"timestamp\":\"2026-02-08T15:00:00Z\",\"version\":\"1.0\","
     "\"type\":\"heartbeat\",\"payload\":{\"status\":\"idle\"}}"},
    {"roundtable",
     "{" RT ",\"type\":\"task.failed\",\"correlationId\":\"7f9c2d3e6f6a4c439a5b0a8f4f0f1a2b\","
     "\"payload\":{\"error\":\"timeout\",\"retryable\":\"True\"}}",
     "{" RT ",\"type\":\"task.failed\",\"correlationId\":\"7f9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b\","
     "\"payload\":{\"error\":\"timeout\",\"retryable\":true}}"},
    /* The case of letters, in closed sets. */
    {"vlp", "{" VLP_ALL ",\"safety\":{\"level\":\"Review\"}}",
     "{" VLP_ALL ",\"safety\":{\"level\":\"review\"}}"},
    {"roundtable", "{" RT_REQUEST "},\"priority\":\"HIGH\"}",
     "{" RT_REQUEST "},\"priority\":\"high\"}"},
    {"brenner",
     "{\"subject\":\"Delta[Opus]: Kill H2\",\"body_md\":\"```delta\\n{\\\"operation\\\":"
     "\\\"EDIT\\\",\\\"section\\\":\\\"research_thread\\\",\\\"payload\\\":{},"
     "\\\"rationale\\\":\\\"r\\\"}\\n```\"}",
     "{\"subject\":\"DELTA[opus]: Kill H2\",\"body_md\":\"```delta\\n{\\\"operation\\\":"
     "\\\"EDIT\\\",\\\"section\\\":\\\"research_thread\\\",\\\"payload\\\":{},"
     "\\\"rationale\\\":\\\"r\\\"}\\n```\"}"},
    /* Times, in other notations. */
    {"roundtable",
     "{" RT_HEAD ",\"version\":\"1.0\",\"type\":\"heartbeat\",\"payload\":{\"status\":\"idle\"},"
     "\"timestamp\":\"2026-02-08 15:00:00+0100\"}",
     "{" RT_HEAD ",\"version\":\"1.0\",\"type\":\"heartbeat\",\"payload\":{\"status\":\"idle\"},"
     "\"timestamp\":\"2026-02-08T15:00:00+01:00\"}"},
    {"roundtable",
     "{" RT_HEAD ",\"version\":\"1.0\",\"type\":\"heartbeat\",\"payload\":{\"status\":\"idle\"},"
     "\"timestamp\":\"2026-02-08 15:00:00 UTC\"}",
     "{" RT_HEAD ",\"version\":\"1.0\",\"type\":\"heartbeat\",\"payload\":{\"status\":\"idle\"},"
     "\"timestamp\":\"2026-02-08T15:00:00Z\"}"},
    /* Members under other keys. */
    {"vlp", "{" VLP ",\"protocol\":\"VLP/1.1\",\"confidence\":0.5,\n  \"sendr\" : \"S\"}",
     "{" VLP ",\"protocol\":\"VLP/1.1\",\"confidence\":0.5,\n  \"sender\" : \"S\"}"},
    {"vlp", "{" VLP ",\"protocol\":\"VLP/1.1\",\"confidence\":0.5,\"from\":\"S\"}",
     "{" VLP ",\"protocol\":\"VLP/1.1\",\"confidence\":0.5,\"sender\":\"S\"}"},
    {"roundtable",
     "{" RT ",\"type\":\"task.claimed\",\"payload\":{},"
     "\"correlation_id\":\"7f9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b\"}",
     "{" RT ",\"type\":\"task.claimed\",\"payload\":{},"
     "\"correlationId\":\"7f9c2d3e-6f6a-4c43-9a5b-0a8f4f0f1a2b\"}"},
    /* Deltas, as Brenner's own programs repair them. */
    {"brenner",
     BRENNER("DELTA[gpt]: x",
             "\\u00e9\\ud83d\\ude00\\n```delta\\n{\\\"operation\\\":\\\"KILL\\\",\\\"section\\\":"
             "\\\"hypothesis_slate\\\",\\\"target_id\\\":\\\"H2\\\",\\\"payload\\\":{"
             "\\\"kill_reason\\\" : \\\"\\u00fc\\\"},\\\"rationale\\\":\\\"r\\\"}\\n```"),
     BRENNER("DELTA[gpt]: x",
             "\\u00e9\\ud83d\\ude00\\n```delta\\n{\\\"operation\\\":\\\"KILL\\\",\\\"section\\\":"
             "\\\"hypothesis_slate\\\",\\\"target_id\\\":\\\"H2\\\",\\\"payload\\\":{"
             "\\\"reason\\\" : \\\"\\u00fc\\\"},\\\"rationale\\\":\\\"r\\\"}\\n```")},
    {"brenner",
     BRENNER("DELTA[gpt]: x",
             "~~~ delta\\n{// why\\n\\\"operation\\\":\\\"EDIT\\\",\\\"section\\\":"
             "\\\"research_thread\\\",\\\"payload\\\":{\\\"a\\\":[1,2, ],},\\r\\n/* , */"
             "\\\"rationale\\\":\\\"// ,}\\\", /**/ }\\n~~~"),
     BRENNER("DELTA[gpt]: x", "~~~ delta\\n{\\n\\\"operation\\\":\\\"EDIT\\\",\\\"section\\\":"
                              "\\\"research_thread\\\",\\\"payload\\\":{\\\"a\\\":[1,2 ]},\\r\\n"
                              "\\\"rationale\\\":\\\"// ,}\\\"  }\\n~~~")},
    {"brenner", BRENNER("DELTA[gpt]: x", "````delta\\n" ADD_OF("[" HYPOTHESIS "]") "\\n````\\n"),
     BRENNER("DELTA[gpt]: x", "````delta\\n" ADD_OF(HYPOTHESIS) "\\n````\\n")},
    {"brenner",
     BRENNER("DELTA[gpt]: x",
             "````delta\\n" ADD_OF("[" HYPOTHESIS ", " HYPOTHESIS "]") "\\n````\\n"),
     BRENNER("DELTA[gpt]: x", "````delta\\n" ADD_OF(HYPOTHESIS) "\\n````\\n\\n````delta\\n" ADD_OF(
                                  HYPOTHESIS) "\\n````\\n")},
    {"brenner", BRENNER("DELTA[gpt]: x", "a\\n:::delta x\\n" ADD_OF(HYPOTHESIS) "\\n:::\\nb"),
     BRENNER("DELTA[gpt]: x", "a\\n```delta x\\n" ADD_OF(HYPOTHESIS) "\\n```\\nb")},
    {"brenner",
     BRENNER("DELTA[gpt]: x",
             "> a\\n> - ````delta x\\r\\n>   " ADD_OF("[" HYPOTHESIS ",\\r\\n>   " HYPOTHESIS
                                                      "]") "\\r\\n>   ````\\nb"),
     BRENNER("DELTA[gpt]: x",
             "> a\\n> - ````delta x\\r\\n>   " ADD_OF(
                 HYPOTHESIS) "\\r\\n>   ````\\r\\n>\\r\\n>   "
                             "````delta x\\r\\n>   " ADD_OF(HYPOTHESIS) "\\r\\n>   ````\\nb")},
    {"brenner",
     BRENNER("DELTA[gpt]: x", "> ~~~\\n> ~~~\\n- :::delta\\n  " ADD_OF(HYPOTHESIS) "\\n  :::"),
     BRENNER("DELTA[gpt]: x", "> ~~~\\n> ~~~\\n- ```delta\\n  " ADD_OF(HYPOTHESIS) "\\n  ```")},
    {"brenner",
     BRENNER("DELTA[gpt]: x", "> :::delta\\n> old\\n> :::\\n\\n1. a\\n\\n   :::delta\\n   " ADD_OF(
                                  HYPOTHESIS) "\\n   :::"),
     BRENNER("DELTA[gpt]: x", "> :::delta\\n> old\\n> :::\\n\\n1. a\\n\\n   ```delta\\n   " ADD_OF(
                                  HYPOTHESIS) "\\n   ```")},
    {"brenner", BRENNER("DELTA[gpt]: x", "\\ufeff:::delta\\n" ADD_OF(HYPOTHESIS) "\\n:::"),
     BRENNER("DELTA[gpt]: x", "\\ufeff```delta\\n" ADD_OF(HYPOTHESIS) "\\n```")},
    {"brenner",
     BRENNER("DELTA[gpt]: x",
             "\\ufeff  > ```delta\\n> " ADD_OF("[" HYPOTHESIS "," HYPOTHESIS "]") "\\n> ```"),
     BRENNER(
         "DELTA[gpt]: x",
         "\\ufeff  > ```delta\\n> " ADD_OF(
             HYPOTHESIS) "\\n  > ```\\n  >\\n  > ```delta\\n  > " ADD_OF(HYPOTHESIS) "\\n> ```")},
    {"brenner", BRENNER("ACK: x", "## Message ID\\n1\\n## Status\\n- > will action\\n"),
     BRENNER("ACK: x", "## Message ID\\n1\\n## Status\\n- > Will Action\\n")},
    {"brenner",
     BRENNER("ack: x", "# A\\n## Message ID\\n1\\n## Status\\n\\n  will action  \\n\\n## Note\\nn"),
     BRENNER("ACK: x",
             "# A\\n## Message ID\\n1\\n## Status\\n\\n  Will Action  \\n\\n## Note\\nn")},
    /* A fault that another one hid, and several at once. */
    {"brenner",
     BRENNER("Delta[GPT]: x",
             "```delta\\n{\\\"operation\\\":\\\"kill\\\",\\\"section\\\":"
             "\\\"Hypothesis_slate\\\",\\\"target_id\\\":\\\"H2\\\",\\\"payload\\\":{"
             "\\\"kill_reason\\\":\\\"r\\\"},\\\"rationale\\\":\\\"r\\\",}\\n```"),
     BRENNER("DELTA[gpt]: x",
             "```delta\\n{\\\"operation\\\":\\\"KILL\\\",\\\"section\\\":"
             "\\\"hypothesis_slate\\\",\\\"target_id\\\":\\\"H2\\\",\\\"payload\\\":{"
             "\\\"reason\\\":\\\"r\\\"},\\\"rationale\\\":\\\"r\\\"}\\n```")},
    {"vlp",
     "{" VLP_ALL ",\"safety\":{\"issues\":[{\"Code\":4},{\"code\":\"a\"}],\"LEVEL\":\"SAFE\"}}",
     "{" VLP_ALL
     ",\"safety\":{\"issues\":[{\"code\":\"4\"},{\"code\":\"a\"}],\"level\":\"safe\"}}"},
};

static void test_safe_fixes_change_what_they_must_and_no_other_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof safely / sizeof safely[0]; i++) {
        struct bench bench;
        bench_init(&bench, parley_protocol_find(parley_bytes_of(safely[i].protocol)));
        const struct parley_options options = {0};
        const struct parley_bytes got = fix(&bench, parley_bytes_of(safely[i].text), &options);
        if (!parley_bytes_equal(got, parley_bytes_of(safely[i].wanted))) {
            fail_msg("%s\nbecomes\n%.*s", safely[i].text, (int)got.length, got.data);
        }
        assert_true(parley_message_is_valid(&bench.message));
        bench_finish(&bench);
    }
}

/* Of each the first violation's patch. */
static const struct {
    const char *protocol, *text, *patch; /* patch NULL: there is no fix */
} unsafely[] = {
    {"vlp", "{" VLP_ALL ",\"safety\":{\"level\":\"blok\"}}",
     "[{\"op\":\"replace\",\"path\":\"/safety/level\",\"value\":\"block\"}]"},
    {"vlp",
     "{\"id\":\"MSG1\",\"type\":\"clain\",\"timestamp\":\"2025-12-14T10:30:00Z\",\"content\":\"c\","
     "\"protocol\":\"VLP/1.1\",\"sender\":\"S\",\"confidence\":0.5}",
     "[{\"op\":\"replace\",\"path\":\"/type\",\"value\":\"claim\"}]"},
    {"vlp", "{" VLP ",\"protocol\":\"VLP/1.1\",\"sender\":\"S\",\"confidence\":95}",
     "[{\"op\":\"replace\",\"path\":\"/confidence\",\"value\":1}]"},
    {"vlp",
     "{\"id\":\"MSG1\",\"type\":\"claim\",\"timestamp\":\"2025-12-14T10:30:00Z\",\"content\":\"c\","
     "\"protocol\":\"VLP/1.1\",\"sender\":\"S\",\"confidence\":0.95}",
     "[{\"op\":\"add\",\"path\":\"/confidence\",\"value\":0.89}]"},
    {"vlp",
     "{\"id\":\"MSG1\",\"type\":\"notice\",\"timestamp\":\"2025-12-14T10:30:00\",\"content\":\"c\","
     "\"protocol\":\"VLP/1.1\",\"sender\":\"S\",\"confidence\":0.5}",
     "[{\"op\":\"replace\",\"path\":\"/timestamp\",\"value\":\"2025-12-14T10:30:00Z\"}]"},
    {"vlp",
     "{\"id\":\"MSG1\",\"type\":\"notice\",\"timestamp\":1765708200.5,\"content\":\"c\","
     "\"protocol\":\"VLP/1.1\",\"sender\":\"S\",\"confidence\":0.5}",
     "[{\"op\":\"replace\",\"path\":\"/timestamp\",\"value\":\"2025-12-14T10:30:00Z\"}]"},
    {"vlp", "{" VLP ",\"protocol\":\"VLP/1.1\",\"confidence\":0.5}", NULL},
    {"vlp", "{" VLP ",\"protocol\":\"VLP/1.1\",\"confidence\":0.5,\"from\":1,\"sender_name\":2}",
     NULL},
    {"vlp", "{" VLP_ALL ",\"provenance\":\"https://a.example\"}",
     "[{\"op\":\"replace\",\"path\":\"/provenance\",\"value\":[\"https://a.example\"]}]"},
    {"roundtable", "{" RT_REQUEST "},\"priority\":\"critcal\"}",
     "[{\"op\":\"replace\",\"path\":\"/priority\",\"value\":\"critical\"}]"},
    {"roundtable", "{" RT_REQUEST "},\"ttl\":0}",
     "[{\"op\":\"replace\",\"path\":\"/ttl\",\"value\":1}]"},
    {"supervisor", "{\"type\":\"heartbeat\",\"timestamp\":1705392000.75}",
     "[{\"op\":\"replace\",\"path\":\"/timestamp\",\"value\":1705392000}]"},
    {"supervisor",
     "{\"type\":\"evolution_result\",\"timestamp\":1,\"success\":true,\"decision\":\"promotd\"}",
     "[{\"op\":\"replace\",\"path\":\"/decision\",\"value\":\"promoted\"}]"},
    {"brenner", BRENNER("ACK: x", "# A\\n## Message ID\\n1\\n## Status\\nReceivd"),
     "[{\"op\":\"replace\",\"path\":\"/body_md\",\"value\":\"# A\\n## Message ID\\n1\\n## "
     "Status\\nReceived\"}]"},
    {"brenner", BRENNER("ACK: x", "# A\\n## Message ID\\n1\\n## Status\\nreceived\\nand completed"),
     NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "a\\n```json\\n{\\\"operation\\\":1}\\n```"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "a\\n:::delta\\n" ADD_OF(HYPOTHESIS)), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "```delta\\n" ADD_OF("[]") "\\n```"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "```delta\\n" ADD_OF("[1]") "\\n```"), NULL},
    /* Colons in a quote may be the words of another; lazy lines are in no code block; and whether
     * this is an item, only the lines before it say. */
    {"brenner", BRENNER("DELTA[gpt]: x", "> :::delta\\n> {}\\n> :::"),
     "[{\"op\":\"replace\",\"path\":\"/body_md\",\"value\":\"> ```delta\\n> {}\\n> ```\"}]"},
    {"brenner", BRENNER("DELTA[gpt]: x", "> :::delta\\n{}\\n:::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "> :::delta\\n> {}\\n:::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "> > :::delta\\n> {}\\n> :::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "- :::delta\\n{}\\n:::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "- :::delta\\n  {}\\n:::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "a\\n14. :::delta\\n    {}\\n    :::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "-     :::delta\\n      {}\\n      :::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "<pre>\\n> :::delta\\n> {}\\n> :::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "> ```\\n> :::delta\\n> {}\\n> :::\\n> ```"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "- a\\n\\n  ```\\n```\\n:::delta\\n{}\\n:::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "2. ```\\n   ```\\n:::delta\\n{}\\n:::"), NULL},
    {"brenner", BRENNER("DELTA[gpt]: x", "> ```delta\\n> {,\\u0000}\\n> ```"), NULL},
    {"brenner", BRENNER("ACK: x", "## Message ID\\n1\\n## Status\\n> receivd"),
     "[{\"op\":\"replace\",\"path\":\"/body_md\",\"value\":\"## Message ID\\n1\\n## Status\\n> "
     "Received\"}]"},
    {"brenner", BRENNER("DELTA[gpt]: x", "```delta\\n{\\\"operation\\\":}\\n```"), NULL},
};

static void test_what_may_change_the_meaning_is_only_suggested(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof unsafely / sizeof unsafely[0]; i++) {
        struct bench bench;
        struct parley_buffer memory, patch;
        struct parley_fix found;
        const struct parley_options options = {0};
        const struct parley_bytes text = parley_bytes_of(unsafely[i].text);
        bench_init(&bench, parley_protocol_find(parley_bytes_of(unsafely[i].protocol)));
        parley_buffer_init(&memory);
        parley_buffer_init(&patch);
        assert_true(parley_bytes_equal(fix(&bench, text, &options), text));
        assert_int_equal(bench.message.fixes.count, 0);
        assert_true(bench.message.findings.count > 0);
        const struct parley_finding *first = &bench.message.findings.items[0];
        parley_fix_of(first, &memory, &found);
        assert_false(found.is_safe);
        if (found.kind != PARLEY_FIX_NONE) {
            parley_fix_write_patch(first, &found, &patch);
        }
        const char *wanted = unsafely[i].patch != NULL ? unsafely[i].patch : "";
        if (!parley_bytes_equal(parley_buffer_bytes(&patch), parley_bytes_of(wanted))) {
            fail_msg("%s has the fix\n%.*s", unsafely[i].text, (int)patch.length, patch.data);
        }
        bench.takes = PARLEY_FIX_ALL;
        fix(&bench, text, &options);
        assert_int_equal(bench.message.fixes.count > 0, unsafely[i].patch != NULL);
        parley_buffer_finish(&memory);
        parley_buffer_finish(&patch);
        bench_finish(&bench);
    }
}

static void test_a_violation_bears_its_fix(void **state) {
    (void)state;
    struct bench bench;
    struct parley_buffer verdict;
    const struct parley_options options = {0};
    bench_init(&bench, parley_protocol_find(PARLEY_BYTES("vlp")));
    parley_buffer_init(&verdict);
    assert_int_equal(
        parley_message_check(&bench.message, PARLEY_BYTES("{" VLP_ALL ",\"Seq\":1,\"seq\":\"4\"}"),
                             &parley_codec_json, &options, (struct parley_position){1, 1}),
        PARLEY_OK);
    parley_findings_write(&bench.message.findings, &verdict);
    parley_buffer_char(&verdict, '\0');
    assert_non_null(strstr(verdict.data,
                           ",\"fix\":{\"safe\":true,\"patch\":[{\"op\":\"replace\",\"path\":"
                           "\"/seq\",\"value\":4}]}}]"));
    parley_buffer_finish(&verdict);
    bench_finish(&bench);
}

/* An answer must not be much larger than the message. */
static void test_a_long_value_has_no_fix(void **state) {
    (void)state;
    struct bench bench;
    struct parley_buffer memory;
    struct parley_fix found;
    char text[1024];
    const struct parley_options options = {0};
    bench_init(&bench, parley_protocol_find(PARLEY_BYTES("vlp")));
    bench.takes = PARLEY_FIX_NOTHING;
    parley_buffer_init(&memory);
    snprintf(text, sizeof text, "{" VLP_ALL ",\"provenance\":\"%0200d\"}", 0);
    fix(&bench, parley_bytes_of(text), &options);
    assert_int_equal(bench.message.findings.count, 1);
    parley_fix_of(&bench.message.findings.items[0], &memory, &found);
    assert_int_equal(found.kind, PARLEY_FIX_NONE);
    parley_buffer_finish(&memory);
    bench_finish(&bench);
}

/* ---- how often ---- */

/* A protocol whose members are constants, made for this. */
static const char *const x[] = {"x", NULL};
static const char *const y[] = {"y", NULL};
#define CONSTANT(at, value)                                                                        \
    {                                                                                              \
        .path = (at), .kinds = PARLEY_STRING, .is_required = true, .constraint = PARLEY_ONE_OF,    \
        .choices = (value)                                                                         \
    }
#define FIVE                                                                                       \
    CONSTANT("/a", x), CONSTANT("/b", x), CONSTANT("/c", x), CONSTANT("/d", x), CONSTANT("/e", x)
#define TEN                                                                                        \
    FIVE, CONSTANT("/f", x), CONSTANT("/g", x), CONSTANT("/h", x), CONSTANT("/i", x),              \
        CONSTANT("/j", x)
#define FIVE_SET "\"a\":\"x\",\"b\":\"x\",\"c\":\"x\",\"d\":\"x\",\"e\":\"x\""
#define TEN_SET FIVE_SET ",\"f\":\"x\",\"g\":\"x\",\"h\":\"x\",\"i\":\"x\",\"j\":\"x\""

static const struct parley_rule ten[] = {{.id = "T-1", .hint = "h", PARLEY_PLACES(TEN)}};
static const struct parley_rule eleven[] = {
    {.id = "T-1", .hint = "h", PARLEY_PLACES(TEN, CONSTANT("/k", x))}};
static const struct parley_rule contrary[] = {
    {.id = "T-1", .hint = "h", PARLEY_PLACES(CONSTANT("/a", x))},
    {.id = "T-2", .hint = "h", PARLEY_PLACES(CONSTANT("/a", y))}};

/* What is added to one object has one place in its text, so that each pass adds one member. */
static const struct {
    const char *about;
    const struct parley_rule *rules;
    size_t rule_count;
    const char *text, *wanted;
    size_t applied, left;
} often[] = {
    {"half of them are missing", ten, 1, "{" FIVE_SET "}", "{" TEN_SET "}", 5, 0},
    {"as many as there are passes", ten, 1, "{}", "{" TEN_SET "}", 10, 0},
    {"one more", eleven, 1, "{}", "{" TEN_SET "}", 10, 1},
    {"the next time does the rest", eleven, 1, "{" TEN_SET "}", "{" TEN_SET ",\"k\":\"x\"}", 1, 0},
    {"two rules that contradict", contrary, 2, "{\"a\":\"x\"}", "{\"a\":\"x\"}", 10, 1},
};

static const char *const no_types[] = {NULL};
static const char *const type_alone[] = {"/type", NULL};

static enum parley_status no_route(struct parley_message *message, struct parley_route *out) {
    (void)message;
    *out = (struct parley_route){0};
    return PARLEY_OK;
}

static void test_a_message_is_fixed_at_most_ten_times_and_what_is_left_is_reported(void **state) {
    (void)state;
    assert_int_equal(PARLEY_FIX_PASSES_MAX, 10);
    for (size_t i = 0; i < sizeof often / sizeof often[0]; i++) {
        const struct parley_protocol protocol = {.name = "t",
                                                 .message_bytes_max = 1 << 16,
                                                 .types = no_types,
                                                 .fields = type_alone,
                                                 .rules = often[i].rules,
                                                 .rule_count = often[i].rule_count,
                                                 .decode = json_decode,
                                                 .validate = json_validate,
                                                 .encode = json_encode,
                                                 .route = no_route};
        struct bench bench;
        bench_init(&bench, &protocol);
        const struct parley_options options = {0};
        const struct parley_bytes got = fix(&bench, parley_bytes_of(often[i].text), &options);
        if (!parley_bytes_equal(got, parley_bytes_of(often[i].wanted))) {
            fail_msg("%s: %.*s", often[i].about, (int)got.length, got.data);
        }
        assert_int_equal(bench.message.fixes.count, often[i].applied);
        assert_int_equal(bench.message.findings.count, often[i].left);
        assert_int_equal(parley_message_is_valid(&bench.message), often[i].left == 0);
        bench_finish(&bench);
    }
}

/* ---- every case ---- */

static json_t *violations_of(struct parley_message *message) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_char(&out, '{');
    assert_int_equal(parley_message_write_verdict(message, &out), PARLEY_OK);
    parley_buffer_char(&out, '}');
    json_t *verdict = json_loadb(out.data, out.length, JSON_ALLOW_NUL, NULL);
    assert_non_null(verdict);
    json_t *violations = json_incref(json_object_get(verdict, "violations"));
    json_decref(verdict);
    parley_buffer_finish(&out);
    return violations;
}

static json_t *check_text(struct bench *bench, struct parley_bytes text,
                          const struct parley_options *options) {
    assert_int_equal(parley_message_check(&bench->message, text, &parley_codec_json, options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
    return violations_of(&bench->message);
}

static bool has_same(const json_t *violations, const json_t *one) {
    size_t i;
    json_t *other;
    json_array_foreach(violations, i, other) {
        if (json_equal(json_object_get(one, "rule"), json_object_get(other, "rule")) &&
            json_equal(json_object_get(one, "path"), json_object_get(other, "path"))) {
            return true;
        }
    }
    return false;
}

struct tally {
    size_t safe, suggested, hidden;
};

/* The errors that `after` has and `before` had not: the fault has hidden them, where they are at
 * the same place or below it, or are about the members that a type or a number decides on. */
static void count_hidden(const json_t *before, const json_t *after, struct tally *tally) {
    size_t i;
    json_t *violation;
    json_array_foreach(after, i, violation) {
        const char *severity = json_string_value(json_object_get(violation, "severity"));
        tally->hidden += strcmp(severity, "error") == 0 && !has_same(before, violation);
    }
}

static void try_fix(struct bench *bench, const struct test_case *test, const json_t *before,
                    const json_t *violation, struct tally *tally) {
    const json_t *fix_of = json_object_get(violation, "fix");
    if (fix_of == NULL || !json_is_true(json_object_get(fix_of, "safe"))) {
        tally->suggested += fix_of != NULL;
        return;
    }
    tally->safe++;
    json_t *tree = json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL);
    assert_non_null(tree);
    json_patch_apply(tree, json_object_get(fix_of, "patch"));
    const json_t *edit = json_object_get(fix_of, "edit");
    if (edit != NULL) { /* says the same as the patch */
        json_t *edited = json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL);
        json_patch_edit_member(edited, json_string_value(json_object_get(violation, "path")), edit);
        assert_true(json_equal(edited, tree));
        json_decref(edited);
    }
    char *text = json_dumps(tree, 0);
    json_t *after = check_text(bench, parley_bytes_of(text), &test->options);
    if (has_same(after, violation)) {
        fail_msg("%s: its fix leaves %s\n%s", test->name,
                 json_string_value(json_object_get(violation, "rule")), text);
    }
    count_hidden(before, after, tally);
    json_decref(after);
    json_decref(tree);
    free(text);
}

static void test_every_safe_fix_of_a_case_removes_its_violation_and_adds_none(void **state) {
    static const char *const names[] = {"vlp", "roundtable", "supervisor", "brenner"};
    (void)state;
    struct tally tally = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct test_cases cases;
        struct bench bench;
        bench.schema = cases_read_of(&cases, names[i]);
        parley_schema_destroy(bench.schema);
        bench_init(&bench, cases.items[0].protocol);
        for (size_t j = 0; j < cases.count; j++) {
            const struct test_case *test = &cases.items[j];
            if (test->codec != &parley_codec_json) {
                continue;
            }
            json_t *before = check_text(&bench, test->body, &test->options);
            size_t k;
            json_t *violation;
            json_array_foreach(before, k, violation) {
                try_fix(&bench, test, before, violation, &tally);
            }
            json_decref(before);
        }
        bench_finish(&bench);
        cases_finish(&cases);
    }
    print_message("%zu safe fixes, %zu suggestions; %zu errors were hidden\n", tally.safe,
                  tally.suggested, tally.hidden);
    assert_true(tally.safe > 50);
    assert_true(tally.hidden * 10 < tally.safe);
}

/* Integers of more than 64 bits, too. */
#define ANY_NUMBER (JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL)

/* The text by the library and the tree by the patches that it says it has applied. */
static void follow(struct bench *bench, const struct test_case *test) {
    const struct parley_bytes fixed = fix(bench, test->body, &test->options);
    json_t *by_text = json_loadb(fixed.data, fixed.length, ANY_NUMBER, NULL);
    json_t *by_patch = json_loadb(test->body.data, test->body.length, ANY_NUMBER, NULL);
    struct parley_buffer list;
    parley_buffer_init(&list);
    parley_buffer_char(&list, '[');
    parley_buffer_append(&list, parley_buffer_bytes(&bench->message.fixes.applied));
    parley_buffer_char(&list, ']');
    json_t *applied = json_loadb(list.data, list.length, ANY_NUMBER, NULL);
    if (by_text == NULL) {
        fail_msg("%s: not JSON\n%.*s", test->name, (int)fixed.length, fixed.data);
    }
    assert_int_equal(json_array_size(applied), bench->message.fixes.count);
    size_t i;
    json_t *one;
    json_array_foreach(applied, i, one) {
        const json_t *edit = json_object_get(one, "edit");
        if (edit != NULL) {
            json_patch_edit_member(by_patch, json_string_value(json_object_get(one, "path")), edit);
        } else {
            json_patch_apply(by_patch, json_object_get(one, "patch"));
        }
    }
    if (!bench->message.is_escalated && !json_equal(by_text, by_patch)) {
        fail_msg("%s: patches and text differ\n%.*s", test->name, (int)fixed.length, fixed.data);
    }
    char *copy = parley_bytes_copy(fixed);
    const struct parley_bytes again = {copy, fixed.length};
    fix(bench, again, &test->options);
    if (bench->message.fixes.count > 0) {
        fail_msg("%s: a second time fixes %.*s of\n%s", test->name,
                 (int)bench->message.fixes.applied.length, bench->message.fixes.applied.data, copy);
    }
    free(copy);
    json_decref(applied);
    json_decref(by_text);
    json_decref(by_patch);
    parley_buffer_finish(&list);
}

static void
test_the_text_says_what_the_patches_say_and_a_second_time_changes_nothing(void **state) {
    static const char *const names[] = {"vlp", "roundtable", "supervisor", "brenner"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct test_cases cases;
        struct bench bench;
        parley_schema_destroy(cases_read_of(&cases, names[i]));
        bench_init(&bench, cases.items[0].protocol);
        for (size_t j = 0; j < 2 * cases.count; j++) {
            const struct test_case *test = &cases.items[j / 2];
            bench.takes = j % 2 != 0 ? PARLEY_FIX_ALL : PARLEY_FIX_SAFELY;
            if (test->codec == &parley_codec_json && !test->options.stamp) {
                json_decref(check_text(&bench, test->body, &test->options));
                if (bench.message.is_decoded && !bench.message.is_escalated) {
                    follow(&bench, test);
                }
            }
        }
        bench_finish(&bench);
        cases_finish(&cases);
    }
}

/* A case whose message was damaged, in the two ways of fixing. */
static void follow_damaged(struct bench *bench, const struct test_case *test, const json_t *message,
                           struct random_source *source, struct parley_buffer *text) {
    struct test_case damaged = *test;
    parley_buffer_clear(text);
    mutate(source, message, text);
    damaged.body = parley_buffer_bytes(text);
    damaged.options.stamp = false;
    bench->takes = random_below(source, 2) == 0 ? PARLEY_FIX_ALL : PARLEY_FIX_SAFELY;
    json_decref(check_text(bench, damaged.body, &damaged.options));
    const bool was_valid = parley_message_is_valid(&bench->message);
    json_t *tree = json_loadb(text->data, text->length, ANY_NUMBER, NULL);
    const bool is_comparable = tree != NULL && bench->message.is_decoded;
    json_decref(tree);
    if (is_comparable && !bench->message.is_escalated) {
        follow(bench, &damaged);
        /* A suggestion may have a delta read that was not one before. */
        assert_true(!was_valid || bench->takes == PARLEY_FIX_ALL ||
                    parley_message_is_valid(&bench->message));
    }
}

static void test_damaged_messages_are_fixed_by_what_their_patches_say(void **state) {
    enum { MUTATIONS = 400 }; /* of each protocol */
    static const char *const names[] = {"vlp", "roundtable", "supervisor", "brenner"};
    (void)state;
    struct random_source source = {7};
    struct parley_buffer text;
    parley_buffer_init(&text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct test_cases cases;
        struct bench bench;
        parley_schema_destroy(cases_read_of(&cases, names[i]));
        bench_init(&bench, cases.items[0].protocol);
        for (size_t made = 0, rounds = test_rounds(MUTATIONS); made < rounds;) {
            const struct test_case *test = &cases.items[random_below(&source, cases.count)];
            json_t *message =
                test->body.length < 10000
                    ? json_loadb(test->body.data, test->body.length, JSON_ALLOW_NUL, NULL)
                    : NULL;
            if (message != NULL) {
                follow_damaged(&bench, test, message, &source, &text);
                made++;
            }
            json_decref(message);
        }
        bench_finish(&bench);
        cases_finish(&cases);
    }
    parley_buffer_finish(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safe_fixes_change_what_they_must_and_no_other_byte),
        cmocka_unit_test(test_what_may_change_the_meaning_is_only_suggested),
        cmocka_unit_test(test_a_violation_bears_its_fix),
        cmocka_unit_test(test_a_long_value_has_no_fix),
        cmocka_unit_test(test_a_message_is_fixed_at_most_ten_times_and_what_is_left_is_reported),
        cmocka_unit_test(test_every_safe_fix_of_a_case_removes_its_violation_and_adds_none),
        cmocka_unit_test(test_the_text_says_what_the_patches_say_and_a_second_time_changes_nothing),
        cmocka_unit_test(test_damaged_messages_are_fixed_by_what_their_patches_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
