/* SPDX-License-Identifier: Apache-2.0 */

/* Where supervisor messages go and which side sent them, how large they may be to the byte, and
 * what they become in another encoding. The rules have their conformance cases. */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include <parley/message.h>
#include <parley/objects.h>

#include "lib/protocol_options.h"
#include "lib/message_fixture.h"

static int forget_options(void **state) {
    struct message_fixture *fixture = *state;
    fixture->options = (struct parley_options){0};
    return 0;
}

static const struct parley_codec *codec(const struct message_fixture *fixture,
                                        const char *media_type) {
    return parley_codec_find(fixture->protocol, parley_bytes_of(media_type));
}

static void check_bytes(struct message_fixture *fixture, struct parley_bytes bytes,
                        const struct parley_codec *in) {
    assert_int_equal(parley_message_check(&fixture->message, bytes, in, &fixture->options,
                                          (struct parley_position){1, 1}),
                     PARLEY_OK);
}

static void check(struct message_fixture *fixture, const char *text) {
    check_bytes(fixture, parley_bytes_of(text), &parley_codec_json);
}

static void check_route(struct message_fixture *fixture, const char *text) {
    check(fixture, text);
    assert_int_equal(parley_message_route(&fixture->message, &fixture->route), PARLEY_OK);
}

static void assert_is(struct parley_bytes got, const char *wanted) {
    if (!parley_bytes_equal(got, parley_bytes_of(wanted)) ||
        (got.data == NULL) != (wanted == NULL)) {
        fail_msg("%.*s, not %s", (int)got.length, got.data != NULL ? got.data : "",
                 wanted != NULL ? wanted : "nothing");
    }
}

#define MESSAGE(type, more) "{\"type\":\"" type "\",\"timestamp\":1705392000" more "}"
#define HEARTBEAT MESSAGE("heartbeat", "")
#define ERROR(more) MESSAGE("error", ",\"error\":{\"code\":\"X\",\"message\":\"m\"" more "}")

/* ---- routes ---- */

static void test_every_type_goes_to_the_side_that_sends_it(void **state) {
    static const struct {
        const char *text, *subject, *type, *sender;
    } cases[] = {
        {HEARTBEAT, "supervisor._.gerbil.heartbeat", "supervisor.heartbeat", "gerbil"},
        {MESSAGE("checkpoint", ",\"data\":{}"), "supervisor._.gerbil.checkpoint",
         "supervisor.checkpoint", "gerbil"},
        {MESSAGE("wal_entry", ",\"data\":{\"operation\":\"memory_add\",\"params\":{},"
                              "\"sequence\":1}"),
         "supervisor._.gerbil.wal_entry", "supervisor.wal_entry", "gerbil"},
        {MESSAGE("wal_batch", ",\"data\":[{\"operation\":\"memory_add\",\"params\":{},"
                              "\"sequence\":1}]"),
         "supervisor._.gerbil.wal_batch", "supervisor.wal_batch", "gerbil"},
        {MESSAGE("evolution_intent",
                 ",\"hypothesis\":{\"reason\":\"\",\"target\":\"\",\"new_code\":\"\"}"),
         "supervisor._.gerbil.evolution_intent", "supervisor.evolution_intent", "gerbil"},
        {MESSAGE("metrics", ",\"data\":{}"), "supervisor._.gerbil.metrics", "supervisor.metrics",
         "gerbil"},
        {MESSAGE("checkpoint_ack", ",\"checkpoint_id\":\"550e8400-e29b-41d4-a716-446655440000\""),
         "supervisor._.elixir.checkpoint_ack", "supervisor.checkpoint_ack", "elixir"},
        {MESSAGE("restore", ",\"checkpoint_id\":\"550e8400-e29b-41d4-a716-446655440000\","
                            "\"snapshot\":{}"),
         "supervisor._.elixir.restore", "supervisor.restore", "elixir"},
        {MESSAGE("hot_reload", ",\"code\":\"\""), "supervisor._.elixir.hot_reload",
         "supervisor.hot_reload", "elixir"},
        {MESSAGE("evolution_result", ",\"success\":true,\"decision\":\"promoted\""),
         "supervisor._.elixir.evolution_result", "supervisor.evolution_result", "elixir"},
        {MESSAGE("process_request", ",\"request_id\":\"r\",\"data\":{\"message\":\"\"}"),
         "supervisor._.elixir.process_request", "supervisor.process_request", "elixir"},
        {MESSAGE("shutdown", ",\"reason\":\"\""), "supervisor._.elixir.shutdown",
         "supervisor.shutdown", "elixir"},
    };
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char source[64];
        check_route(fixture, cases[i].text);
        snprintf(source, sizeof source, "/supervisor/_/%s", cases[i].sender);
        assert_is(fixture->route.subject, cases[i].subject);
        assert_is(fixture->route.type, cases[i].type);
        assert_is(fixture->route.sender, cases[i].sender);
        assert_is(fixture->route.source, source);
        assert_is(fixture->route.agent, NULL);
        assert_is(fixture->route.id, NULL);
        assert_is(fixture->route.lane, NULL);
        assert_int_equal(fixture->route.receiver_count, 0);
        assert_int_equal(fixture->route.dedupe, PARLEY_DEDUPE_NONE);
    }
}

static void
test_the_side_of_an_error_is_that_of_from_then_subject_then_code_then_form(void **state) {
#define CODED(code, more)                                                                          \
    MESSAGE("error", ",\"error\":{\"code\":\"" code "\",\"message\":\"m\"" more "}")
    static const struct {
        const char *from, *stored, *text, *side;
    } cases[] = {
        {NULL, NULL, ERROR(""), "gerbil"},
        {NULL, NULL, ERROR(",\"details\":{}"), "elixir"},
        {NULL, NULL, ERROR(",\"context\":{},\"stack_trace\":\"\""), "gerbil"},
        /* (protocols b2) the codes that the document lists for each side */
        {NULL, NULL, CODED("CHECKPOINT_FAILED", ""), "elixir"},
        {NULL, NULL, CODED("WAL_FULL", ""), "elixir"},
        {NULL, NULL, CODED("INVALID_MESSAGE", ""), "elixir"},
        {NULL, NULL, CODED("INVALID_MESSAGE", ",\"context\":{}"), "elixir"},
        {NULL, NULL, CODED("MEMORY_FULL", ",\"details\":{}"), "gerbil"},
        {NULL, NULL, CODED("TOOL_FAILED", ",\"details\":{}"), "gerbil"},
        {NULL, NULL, CODED("EVAL_ERROR", ",\"details\":{}"), "gerbil"},
        {NULL, NULL, CODED("wal_full", ""), "gerbil"},
        {"gerbil", NULL, CODED("WAL_FULL", ""), "gerbil"},
        {NULL, "supervisor._.gerbil.error", CODED("WAL_FULL", ""), "gerbil"},
        {"elixir", NULL, ERROR(""), "elixir"},
        {"gerbil", NULL, ERROR(",\"details\":{}"), "gerbil"},
        {NULL, "supervisor._.elixir.error", ERROR(""), "elixir"},
        {NULL, "fleet-a._.gerbil.error", ERROR(",\"details\":{}"), "gerbil"},
        {"elixir", "supervisor._.gerbil.error", ERROR(""), "elixir"},
        {NULL, "supervisor._.elixirs.error", ERROR(""), "gerbil"},
        {NULL, "supervisor.elixir.error", ERROR(""), "gerbil"},
        {NULL, "supervisor._.elixir", ERROR(""), "gerbil"},
        {NULL, "supervisor._.elixir.", ERROR(""), "gerbil"},
        {NULL, "supervisor._.elixir.error.x", ERROR(""), "gerbil"},
        {NULL, "supervisor.error", ERROR(",\"details\":{}"), "elixir"},
        {NULL, "supervisor", ERROR(",\"details\":{}"), "elixir"},
        {NULL, "", ERROR(",\"details\":{}"), "elixir"},
    };
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char subject[64];
        fixture->options = (struct parley_options){.stored_subject = cases[i].stored};
        set_option(&fixture->options, fixture->protocol, "from", cases[i].from);
        check_route(fixture, cases[i].text);
        snprintf(subject, sizeof subject, "supervisor._.%s.error", cases[i].side);
        assert_is(fixture->route.sender, cases[i].side);
        assert_is(fixture->route.subject, subject);
    }
}

static void test_the_agent_is_the_options_then_the_stored_subjects(void **state) {
    static const struct {
        const char *agent, *stored, *named, *subject, *source;
    } cases[] = {
        {"coder-1", NULL, "coder-1", "supervisor.coder-1.gerbil.heartbeat",
         "/supervisor/coder-1/gerbil"},
        {"0_A", NULL, "0_A", "supervisor.0_A.gerbil.heartbeat", "/supervisor/0_A/gerbil"},
        {"_", NULL, NULL, "supervisor._.gerbil.heartbeat", "/supervisor/_/gerbil"},
        {"a.b", NULL, NULL, "supervisor._.gerbil.heartbeat", "/supervisor/_/gerbil"},
        {NULL, "supervisor.coder-1.gerbil.heartbeat", "coder-1",
         "supervisor.coder-1.gerbil.heartbeat", "/supervisor/coder-1/gerbil"},
        {NULL, "fleet-a.coder-1.gerbil.heartbeat", "coder-1", "supervisor.coder-1.gerbil.heartbeat",
         "/supervisor/coder-1/gerbil"},
        {"other", "supervisor.coder-1.gerbil.heartbeat", "other",
         "supervisor.other.gerbil.heartbeat", "/supervisor/other/gerbil"},
        {NULL, "supervisor._.gerbil.heartbeat", NULL, "supervisor._.gerbil.heartbeat",
         "/supervisor/_/gerbil"},
        {NULL, "supervisor.-x.gerbil.heartbeat", NULL, "supervisor._.gerbil.heartbeat",
         "/supervisor/_/gerbil"},
        {NULL, "supervisor.gerbil.heartbeat", NULL, "supervisor._.gerbil.heartbeat",
         "/supervisor/_/gerbil"},
        {NULL, "supervisor.coder-1.heartbeat", NULL, "supervisor._.gerbil.heartbeat",
         "/supervisor/_/gerbil"},
    };
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture->options =
            (struct parley_options){.agent = cases[i].agent, .stored_subject = cases[i].stored};
        check_route(fixture, HEARTBEAT);
        assert_is(fixture->route.agent, cases[i].named);
        assert_int_equal(fixture->route.dedupe,
                         cases[i].named != NULL ? PARLEY_DEDUPE_PAYLOAD : PARLEY_DEDUPE_NONE);
        assert_is(fixture->route.subject, cases[i].subject);
        assert_is(fixture->route.source, cases[i].source);
    }
}

static void test_a_prefix_takes_the_place_of_the_subjects_first_token(void **state) {
    struct message_fixture *fixture = *state;
    fixture->options.subject_prefix = "fleet-a";
    check_route(fixture, HEARTBEAT);
    assert_is(fixture->route.subject, "fleet-a._.gerbil.heartbeat");
    assert_is(fixture->route.type, "supervisor.heartbeat");
}

static void test_unix_seconds_become_a_time_that_four_digits_hold(void **state) {
    static const struct {
        const char *seconds, *time;
    } cases[] = {
        {"0", "1970-01-01T00:00:00Z"},
        {"1705392000", "2024-01-16T08:00:00Z"},
        {"17053920e2", "2024-01-16T08:00:00Z"},
        {"-0.0", "1970-01-01T00:00:00Z"},
        {"951782400", "2000-02-29T00:00:00Z"},
        {"1709251199", "2024-02-29T23:59:59Z"},
        {"4107542400", "2100-03-01T00:00:00Z"},
        {"253402300799", "9999-12-31T23:59:59Z"},
        {"253402300800", NULL},
        {"9223372036854775807", NULL},
        {"1e300", NULL},
        {"-1", NULL},
        {"\"now\"", NULL},
    };
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"type\":\"heartbeat\",\"timestamp\":%s}", cases[i].seconds);
        check_route(fixture, text);
        assert_is(fixture->route.time, cases[i].time);
    }
}

static void test_a_requests_id_is_its_thread(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, MESSAGE("process_request", ",\"request_id\":\"r-1\",\"data\":"
                                                    "{\"message\":\"m\"}"));
    assert_is(fixture->route.thread, "r-1");
    check_route(fixture, HEARTBEAT);
    assert_is(fixture->route.thread, NULL);
}

static void test_an_invalid_message_has_no_subject_but_what_can_be_read(void **state) {
    struct message_fixture *fixture = *state;
    check_route(fixture, "{\"type\":\"shutdown\",\"timestamp\":1}");
    assert_is(fixture->route.subject, NULL);
    assert_is(fixture->route.type, NULL);
    assert_is(fixture->route.sender, "elixir");
    assert_is(fixture->route.time, "1970-01-01T00:00:01Z");
    check_route(fixture, "{\"type\":\"unheard of\",\"timestamp\":[]}");
    assert_is(fixture->route.sender, NULL);
    assert_is(fixture->route.source, NULL);
    assert_is(fixture->route.time, NULL);
}

/* ---- sizes ---- */

#define UUID "550e8400-e29b-41d4-a716-446655440000"
#define ENTRY "{\"operation\":\"memory_add\",\"params\":{},\"sequence\":1}"

enum { KIB = 1024, MIB = 1024 * KIB };

/* Members besides type and timestamp that make a good message, and the limit of their type. */
static const struct {
    const char *type, *members;
    size_t limit;
} sized[] = {
    {"heartbeat", "", 100},
    {"wal_entry", ",\"data\":" ENTRY, 10 * KIB},
    {"metrics", ",\"data\":{}", 10 * KIB},
    {"evolution_intent", ",\"hypothesis\":{\"reason\":\"\",\"target\":\"\",\"new_code\":\"\"}",
     MIB},
};

/* Those that the document does not list. */
static const struct {
    const char *type, *members;
} unlimited[] = {
    {"wal_batch", ",\"data\":[" ENTRY "]"},
    {"checkpoint_ack", ",\"checkpoint_id\":\"" UUID "\""},
    {"restore", ",\"checkpoint_id\":\"" UUID "\",\"snapshot\":{}"},
    {"hot_reload", ",\"code\":\"\""},
    {"evolution_result", ",\"success\":true,\"decision\":\"promoted\""},
    {"process_request", ",\"request_id\":\"\",\"data\":{\"message\":\"\"}"},
    {"shutdown", ",\"reason\":\"\""},
    {"error", ",\"error\":{\"code\":\"\",\"message\":\"\"}"},
};

static void make(struct parley_buffer *text, const char *type, const char *members, size_t fill) {
    parley_buffer_clear(text);
    parley_buffer_format(text, "{\"type\":\"%s\",\"timestamp\":1%s,\"fill\":\"", type, members);
    assert_true(parley_buffer_reserve(text, fill));
    memset(text->data + text->length, 'x', fill);
    text->length += fill;
    parley_buffer_text(text, "\"}");
}

static void pack(struct message_fixture *fixture) {
    check_bytes(fixture, parley_buffer_bytes(&fixture->out), &parley_codec_json);
    parley_buffer_clear(&fixture->second);
    assert_int_equal(fixture->protocol->convert(&fixture->message,
                                                codec(fixture, "application/msgpack"),
                                                &fixture->second),
                     PARLEY_OK);
}

/* Leaves a message of exactly `size` bytes of MessagePack in fixture->second, and the same as JSON
 * in fixture->out. */
static void make_of_size(struct message_fixture *fixture, const char *type, const char *members,
                         size_t size) {
    make(&fixture->out, type, members, 0);
    pack(fixture);
    const size_t left = size - fixture->second.length;
    make(&fixture->out, type, members,
         left < 32      ? left
         : left < 258   ? left - 1
         : left < 65538 ? left - 2
                        : left - 4);
    pack(fixture);
    assert_int_equal(fixture->second.length, size);
}

/* The same of a size that takes long to read as JSON: in fixture->second alone, by making the
 * filling, a str 32 at the end, longer. */
static void make_large(struct message_fixture *fixture, const char *type, const char *members,
                       size_t size) {
    enum { FILL = 1 << 16 };
    struct parley_buffer *packed = &fixture->second;
    make(&fixture->out, type, members, FILL);
    pack(fixture);
    const size_t more = size - packed->length, fill = FILL + more;
    for (unsigned i = 1; i <= 4; i++) {
        packed->data[packed->length - FILL - i] = (char)(fill >> (8 * (i - 1)) & 255);
    }
    assert_true(parley_buffer_reserve(packed, more));
    memset(packed->data + packed->length, 'x', more);
    packed->length += more;
}

static const char *first_rule(const struct message_fixture *fixture) {
    const struct parley_findings *findings = &fixture->message.findings;
    return findings->count == 0 ? "" : findings->items[0].rule->id;
}

static void assert_packed(struct message_fixture *fixture, const char *rule, size_t count) {
    check_bytes(fixture, parley_buffer_bytes(&fixture->second),
                codec(fixture, "application/msgpack"));
    assert_string_equal(first_rule(fixture), rule);
    assert_int_equal(fixture->message.findings.count, count);
}

static void assert_both(struct message_fixture *fixture, const char *rule, size_t count) {
    assert_packed(fixture, rule, count);
    check_bytes(fixture, parley_buffer_bytes(&fixture->out), &parley_codec_json);
    assert_string_equal(first_rule(fixture), rule);
    assert_int_equal(fixture->message.findings.count, count);
}

static void test_limits_hold_to_the_byte(void **state) {
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof sized / sizeof sized[0]; i++) {
        make_of_size(fixture, sized[i].type, sized[i].members, sized[i].limit);
        assert_both(fixture, "", 0);
        make_of_size(fixture, sized[i].type, sized[i].members, sized[i].limit + 1);
        assert_both(fixture, "IPC-007", 1);
    }
}

static void test_a_type_that_the_document_does_not_list_has_no_limit_of_its_own(void **state) {
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof unlimited / sizeof unlimited[0]; i++) {
        make_of_size(fixture, unlimited[i].type, unlimited[i].members, 2 * MIB);
        assert_both(fixture, "", 0);
    }
    fixture->options.message_bytes_max = 101 * MIB;
    make_large(fixture, "restore", unlimited[2].members, 100 * MIB + 1);
    assert_packed(fixture, "", 0);
}

static void test_a_checkpoint_should_be_compressed_past_a_mebibyte_and_ends_at_100(void **state) {
    struct message_fixture *fixture = *state;
    fixture->options.message_bytes_max = 101 * MIB;
    make_of_size(fixture, "checkpoint", ",\"data\":{}", MIB);
    assert_both(fixture, "", 0);
    make_of_size(fixture, "checkpoint", ",\"data\":{}", MIB + 1);
    assert_both(fixture, "IPC-101", 1);
    make_large(fixture, "checkpoint", ",\"data\":{}", 100 * MIB);
    assert_packed(fixture, "IPC-101", 1);
    make_large(fixture, "checkpoint", ",\"data\":{}", 100 * MIB + 1);
    assert_packed(fixture, "IPC-007", 2);
}

/* An evolution_intent as JSON whose shortest MessagePack has `size` bytes: its code is a str 32,
 * whose head is 5 bytes; the other strings and their keys take one byte of head each. */
static void make_intent(struct parley_buffer *text, size_t size, const char *character) {
    parley_buffer_clear(text);
    parley_buffer_text(text, "{\"type\":\"evolution_intent\",\"timestamp\":1705392000,"
                             "\"hypothesis\":{\"reason\":\"r\",\"target\":\"t\",\"new_code\":\"");
    const size_t head = 1 + 5 + 17 + 10 + 5;
    const size_t hypothesis = 11 + 1 + 7 + 2 + 7 + 2 + 9 + 5;
    for (size_t i = head + hypothesis; i < size; i++) {
        parley_buffer_text(text, character);
    }
    parley_buffer_text(text, "\"}}");
}

static void test_json_is_measured_on_its_shortest_messagepack(void **state) {
    static const char *const characters[] = {"x", "\\n", "\\u0041"};
    struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        make_intent(&fixture->out, 1 << 20, characters[i]);
        check_bytes(fixture, parley_buffer_bytes(&fixture->out), &parley_codec_json);
        assert_string_equal(first_rule(fixture), "");
        make_intent(&fixture->out, (1 << 20) + 1, characters[i]);
        check_bytes(fixture, parley_buffer_bytes(&fixture->out), &parley_codec_json);
        assert_string_equal(first_rule(fixture), "IPC-007");
    }
}

/* ---- encodings ---- */

static void assert_converts(struct message_fixture *fixture, const char *media_type,
                            struct parley_bytes wanted) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    assert_int_equal(
        fixture->protocol->convert(&fixture->message, codec(fixture, media_type), &out), PARLEY_OK);
    assert_int_equal(out.length, wanted.length);
    assert_memory_equal(out.data, wanted.data, wanted.length);
    parley_buffer_finish(&out);
}

#define PACKED "\x82\xa4type\xa9heartbeat\xa9timestamp\xce\x65\xa6\x37\x80"
#define FRAMED "\0\0\0\x1f" PACKED

static void test_json_becomes_messagepack_and_frames(void **state) {
    struct message_fixture *fixture = *state;
    check(fixture, "{ \"type\":\"heartbeat\",\n\"timestamp\":1705392000 }");
    assert_converts(fixture, "application/msgpack", PARLEY_BYTES(PACKED));
    assert_converts(fixture, "application/vnd.parley.frames", PARLEY_BYTES(FRAMED));
    assert_converts(fixture, "application/json", PARLEY_BYTES(HEARTBEAT));
    assert_converts(fixture, "application/x-ndjson", PARLEY_BYTES(HEARTBEAT));
}

/* Map 16, str 8, uint 64: what a lavish encoder sends goes on as it came. */
static void test_messagepack_goes_on_as_it_was_sent(void **state) {
#define LAVISH "\xde\0\2\xd9\4type\xa9heartbeat\xa9timestamp\xcf\0\0\0\0\x65\xa6\x37\x80"
    struct message_fixture *fixture = *state;
    static const char *const media_types[] = {"application/msgpack",
                                              "application/vnd.parley.frames"};
    for (size_t i = 0; i < 2; i++) {
        check_bytes(fixture, PARLEY_BYTES(LAVISH), codec(fixture, media_types[i]));
        assert_true(parley_message_is_valid(&fixture->message));
        assert_converts(fixture, "application/msgpack", PARLEY_BYTES(LAVISH));
        assert_converts(fixture, "application/vnd.parley.frames",
                        PARLEY_BYTES("\0\0\0\x26" LAVISH));
        assert_converts(fixture, "application/json", PARLEY_BYTES(HEARTBEAT));
    }
#undef LAVISH
}

static void test_a_stamp_fills_the_timestamp_alone(void **state) {
    struct message_fixture *fixture = *state;
    fixture->options =
        (struct parley_options){.stamp = true, .now_seconds = 1705392000, .fresh_id = "id"};
    check(fixture, "{\"type\":\"heartbeat\"}");
    assert_converts(fixture, "application/json",
                    PARLEY_BYTES("{\"timestamp\":1705392000,\"type\":\"heartbeat\"}"));
    check_bytes(fixture, PARLEY_BYTES("\x81\xa4type\xa9heartbeat"),
                codec(fixture, "application/msgpack"));
    assert_converts(fixture, "application/json",
                    PARLEY_BYTES("{\"timestamp\":1705392000,\"type\":\"heartbeat\"}"));
    assert_converts(fixture, "application/msgpack",
                    PARLEY_BYTES("\x82\xa9timestamp\xce\x65\xa6\x37\x80\xa4type\xa9heartbeat"));
}

static void test_an_encoding_is_told_by_its_first_bytes(void **state) {
    const struct {
        struct parley_bytes bytes;
        const char *codec;
    } cases[] = {
        {PARLEY_BYTES(PACKED), "msgpack"},
        {PARLEY_BYTES(FRAMED), "frames"},
        {PARLEY_BYTES("\xde\0\1"), "msgpack"},
        {PARLEY_BYTES("\xdf\0\0\0\1"), "msgpack"},
        {PARLEY_BYTES("\x06\x40\0\0\x80"), "frames"},
        {PARLEY_BYTES("\x06\x40\0\1\x80"), NULL},
        {PARLEY_BYTES("\0\0\0\0\x80"), NULL},
        {PARLEY_BYTES("\0\0\0\1\x90"), NULL},
        {PARLEY_BYTES("\0\0\0\1"), NULL},
        {PARLEY_BYTES(""), NULL},
        {PARLEY_BYTES("{\"type\""), NULL},
        {PARLEY_BYTES(" \n{}"), NULL},
        {PARLEY_BYTES("[{}]"), NULL},
    };
    const struct message_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = NULL;
        for (size_t j = 0; fixture->protocol->codecs[j] != NULL; j++) {
            const struct parley_codec *one = fixture->protocol->codecs[j];
            if (one->begins != NULL && one->begins(cases[i].bytes)) {
                assert_null(found); /* one at most */
                found = one->name;
            }
        }
        assert_string_equal(found != NULL ? found : "",
                            cases[i].codec != NULL ? cases[i].codec : "");
    }
}

/* ---- acknowledgements ---- */

#define CHECKPOINT(time)                                                                           \
    "{\"data\":{\"agent_state\":{}},\"timestamp\":" time ",\"type\":\"checkpoint\"}"

/* The gateway adds the id. */
static void test_a_checkpoint_is_acknowledged_by_a_valid_message_of_its_own_time(void **state) {
    static const char *const times[] = {"0", "1705392000", "9007199254740991",
                                        "9223372036854775807"};
    struct message_fixture *fixture = *state;
    const struct parley_objects *objects = fixture->protocol->objects;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char text[128], wanted[128];
        struct parley_buffer ack;
        parley_buffer_init(&ack);
        snprintf(text, sizeof text, CHECKPOINT("%s"), times[i]);
        check(fixture, text);
        assert_true(parley_message_is_valid(&fixture->message));
        assert_int_equal(fixture->message.type, objects->type);
        objects->begin_ack(&fixture->message, 4711, &ack);
        snprintf(wanted, sizeof wanted, "{\"type\":\"checkpoint_ack\",\"timestamp\":%.16s",
                 times[i]);
        assert_memory_equal(ack.data, wanted, strlen(wanted)); /* as exact as a double is */
        assert_non_null(strstr(ack.data, ",\"size\":4711,\"checkpoint_id\":"));
        parley_buffer_text(&ack, "\"550e8400-e29b-41d4-a716-446655440000\"}");
        set_option(&fixture->options, fixture->protocol, "from", "elixir");
        check_bytes(fixture, parley_buffer_bytes(&ack), &parley_codec_json);
        assert_int_equal(fixture->message.findings.count, 0);
        set_option(&fixture->options, fixture->protocol, "from", NULL);
        parley_buffer_finish(&ack);
    }
}

/* ---- examples ---- */

static void test_there_is_a_good_example_of_every_type_of_each_side(void **state) {
    struct message_fixture *fixture = *state;
    uint32_t shown = 0;
    bool has_error[2] = {false, false};
    for (const struct parley_example *one = fixture->protocol->examples; one->name != NULL; one++) {
        check_route(fixture, one->text);
        assert_int_equal(fixture->message.findings.count, 0);
        shown |= PARLEY_TYPE_BIT(fixture->message.type);
        const bool is_error =
            parley_bytes_equal(parley_message_type(&fixture->message), PARLEY_BYTES("error"));
        has_error[fixture->route.sender.data[0] == 'e'] |= is_error;
    }
    assert_int_equal(shown, (1u << 13) - 1);
    assert_true(has_error[0] && has_error[1]);
}

int main(void) {
#define TEST(test) cmocka_unit_test_setup(test, forget_options)
    const struct CMUnitTest tests[] = {
        TEST(test_every_type_goes_to_the_side_that_sends_it),
        TEST(test_the_side_of_an_error_is_that_of_from_then_subject_then_code_then_form),
        TEST(test_the_agent_is_the_options_then_the_stored_subjects),
        TEST(test_a_prefix_takes_the_place_of_the_subjects_first_token),
        TEST(test_unix_seconds_become_a_time_that_four_digits_hold),
        TEST(test_a_requests_id_is_its_thread),
        TEST(test_an_invalid_message_has_no_subject_but_what_can_be_read),
        TEST(test_limits_hold_to_the_byte),
        TEST(test_a_type_that_the_document_does_not_list_has_no_limit_of_its_own),
        TEST(test_a_checkpoint_should_be_compressed_past_a_mebibyte_and_ends_at_100),
        TEST(test_json_is_measured_on_its_shortest_messagepack),
        TEST(test_json_becomes_messagepack_and_frames),
        TEST(test_messagepack_goes_on_as_it_was_sent),
        TEST(test_a_stamp_fills_the_timestamp_alone),
        TEST(test_an_encoding_is_told_by_its_first_bytes),
        TEST(test_a_checkpoint_is_acknowledged_by_a_valid_message_of_its_own_time),
        TEST(test_there_is_a_good_example_of_every_type_of_each_side),
    };
    return cmocka_run_group_tests(tests, message_set_up_supervisor, message_tear_down);
}
