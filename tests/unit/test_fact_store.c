/* SPDX-License-Identifier: Apache-2.0 */

/* The facts of a protocol on a real JetStream: what one gateway writes another one finds, the first
 * value stays, and what was published straight to NATS leaves the same. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"
#include "fact_consumers.h"
#include "fact_store.h"

enum { PATIENCE_MS = LOOP_PATIENCE_MS, MANY = 3000 };

static const struct jetstream_stream STREAMS[] = {
    {.name = "VLP", .subjects = "vlp.>"},
    {.name = "KV_tasks", .subjects = "$KV.tasks.>", .bucket_days = 7}};

/* ---- a protocol whose claims leave a fact: their id, with their sender ---- */

extern const struct parley_protocol vlp_protocol;

static enum parley_status route(struct parley_message *message, struct parley_route *out) {
    PARLEY_TRY(vlp_protocol.route(message, out));
    if (parley_bytes_equal(parley_message_type(message), PARLEY_BYTES("claim"))) {
        out->fact_keys[2] = out->id;
    }
    return PARLEY_OK;
}

static enum parley_status decide(struct parley_message *message, struct parley_decision *out) {
    struct parley_route route;
    PARLEY_TRY(parley_message_route(message, &route));
    if (route.fact_keys[2].data != NULL && message->options.known->values[2].data == NULL) {
        char text[64];
        snprintf(text, sizeof text, ",\"of\":\"%.*s\"", (int)route.sender.length,
                 route.sender.data);
        out->fact_key = route.id;
        out->fact_members =
            parley_bytes_of(parley_arena_copy(&message->arena, parley_bytes_of(text)));
    }
    return PARLEY_OK;
}

static struct parley_protocol protocol;

/* ---- two gateways ---- */

struct side {
    struct js_world world;
    struct fact_store *store;
    struct fact_ledger *ledger;
    struct parley_schema *schema;
    struct parley_message message;
    struct channel channel;
    struct fact_consumers *consumer;
};

struct sides {
    struct side one, two;
};

static void open_store(void *context) {
    struct side *side = context;
    assert_int_equal(
        fact_store_create(side->world.loop.reactor, side->world.jetstream, "tasks", &side->store),
        PARLEY_OK);
}

static void share_ledger(void *context) {
    struct side *side = context;
    side->ledger = fact_ledger_create();
    assert_non_null(side->ledger);
    fact_store_share(side->store, side->ledger);
}

static void close_store(void *context) {
    struct side *side = context;
    fact_consumers_destroy(side->consumer);
    fact_store_destroy(side->store);
    fact_ledger_destroy(side->ledger);
    side->consumer = NULL;
    side->ledger = NULL;
    side->store = NULL;
}

static void init_side(struct side *side) {
    static const char *const subjects[] = {"vlp.safe.>", NULL};
    js_world_init(&side->world);
    side->world.options.streams = STREAMS;
    side->world.options.stream_count = 2;
    assert_int_equal(parley_schema_create(&protocol, &side->schema), PARLEY_OK);
    parley_message_init(&side->message, side->schema);
    side->channel = (struct channel){
        .protocol = &protocol, .stream = "VLP", .subjects = "vlp.>", .fact_subjects = subjects};
}

static void finish_side(struct side *side) {
    if (side->store != NULL) {
        loop_do(&side->world.loop, close_store, side);
    }
    js_world_finish(&side->world);
    parley_message_finish(&side->message);
    parley_schema_destroy(side->schema);
}

static int set_up(void **state) {
    static const char *const below[] = {"safe.>", NULL};
    static const struct parley_facts_kind facts = {
        .bucket = "tasks", .subjects = below, .decide = decide};
    struct sides *sides = calloc(1, sizeof *sides);
    assert_non_null(sides);
    protocol = vlp_protocol;
    protocol.route = route;
    protocol.facts = &facts;
    init_side(&sides->one);
    init_side(&sides->two);
    *state = sides;
    return 0;
}

static int tear_down(void **state) {
    struct sides *sides = *state;
    finish_side(&sides->two);
    finish_side(&sides->one);
    free(sides);
    return 0;
}

static struct side *start(struct sides *sides) {
    struct side *one = &sides->one;
    js_world_start(&one->world);
    js_world_look(&one->world);
    loop_do(&one->world.loop, open_store, one);
    return one;
}

static struct side *start_second(struct sides *sides) {
    struct side *two = &sides->two;
    memcpy(two->world.server.url, sides->one.world.server.url, sizeof two->world.server.url);
    js_world_open(&two->world);
    assert_true(loop_wait(&two->world.loop, js_world_is_ready, &two->world, PATIENCE_MS));
    loop_do(&two->world.loop, open_store, two);
    return two;
}

/* On the loop's thread, so that the gateway can make it again only after what it does next. */
static void lose_bucket(struct side *side) {
    js_DeleteStream(side->world.context, "KV_tasks", NULL, NULL);
}

/* ---- keeping ---- */

struct keeping {
    struct side *side;
    const char *key, *value;
    enum jetstream_publish result;
    unsigned done;
    enum fact_written written;
};

static void on_kept(void *context, enum fact_written written, const struct jetstream_ack *ack) {
    struct keeping *keeping = context;
    (void)ack;
    keeping->done++;
    keeping->written = written;
}

static void begin_keeping(void *context) {
    struct keeping *keeping = context;
    keeping->result = fact_store_write(keeping->side->store, parley_bytes_of(keeping->key),
                                       parley_bytes_of(keeping->value), 0, on_kept, keeping);
}

static bool is_kept(void *context) {
    return ((struct keeping *)context)->done > 0;
}

static enum fact_written keep(struct side *side, const char *key, const char *value) {
    struct keeping keeping = {.side = side, .key = key, .value = value};
    loop_do(&side->world.loop, begin_keeping, &keeping);
    assert_int_equal(keeping.result, JETSTREAM_PUBLISHED);
    assert_true(loop_wait(&side->world.loop, is_kept, &keeping, PATIENCE_MS));
    assert_int_equal(keeping.done, 1);
    return keeping.written;
}

/* ---- recalling ---- */

enum answer { FOUND, ABSENT, FAILED, NOT_ASKED };

struct question {
    struct fact_query query;
    struct side *side;
    char key[32], other[32], series[32]; /* "": there is none; the series begins with `key` */
    const char *in_series;               /* a key that fact_query_value is asked for */
    char value_in_series[64];
    int64_t delay_ms;
    uint64_t read_to;
    bool asks_again;   /* whatever is known */
    bool loses_bucket; /* just before */
    atomic_uint done;
    enum answer found;
    char text[512], other_text[64];
};

static void on_answer(struct fact_query *query) {
    struct question *question = (struct question *)(void *)query; /* its first member */
    const char *text = query->has_failed ? query->error : query->values[0];
    question->done++;
    question->found = query->has_failed ? FAILED : query->values[0] != NULL ? FOUND : ABSENT;
    snprintf(question->text, sizeof question->text, "%s", text != NULL ? text : "");
    snprintf(question->other_text, sizeof question->other_text, "%s",
             query->values[2] != NULL ? query->values[2] : "");
    if (question->series[0] != '\0') {
        const char *value = fact_query_value(query, question->in_series);
        snprintf(question->value_in_series, sizeof question->value_in_series, "%s",
                 value != NULL ? value : "");
        snprintf(question->other_text, sizeof question->other_text, "%s",
                 query->values[1] != NULL ? query->values[1] : "");
    }
    fact_query_finish(query);
}

static void begin_question(void *context) {
    struct question *question = context;
    const struct parley_bytes other = parley_bytes_of(question->other);
    const struct parley_bytes keys[PARLEY_FACT_KEYS_MAX] = {
        parley_bytes_of(question->key),
        parley_bytes_of(question->series[0] != '\0' ? question->series : NULL),
        other.length > 0 ? other : (struct parley_bytes){0}};
    question->query.done = on_answer;
    if (question->loses_bucket) {
        lose_bucket(question->side);
    }
    assert_true(fact_query_init(&question->query, question->side->store, keys, question->read_to));
    if (fact_query_is_complete(&question->query) && !question->asks_again) {
        on_answer(&question->query);
    } else if (!fact_query_begin(&question->query, question->delay_ms)) {
        fact_query_finish(&question->query);
        question->found = NOT_ASKED;
        question->done = 1;
    }
}

static bool is_answered(void *context) {
    return ((struct question *)context)->done > 0;
}

static void wait_until_answered(struct question *question) {
    struct loop *loop = &question->side->world.loop;
    loop_do(loop, begin_question, question);
    assert_true(loop_wait(loop, is_answered, question, PATIENCE_MS));
    assert_int_equal(question->done, 1);
}

static struct question ask(struct side *side, const char *key) {
    struct question question = {.side = side};
    snprintf(question.key, sizeof question.key, "%s", key);
    wait_until_answered(&question);
    return question;
}

static void assert_recalls(struct side *side, const char *key, const char *value) {
    struct question question = ask(side, key);
    assert_int_equal(question.found, FOUND);
    assert_string_equal(question.text, value);
}

/* ---- what is kept ---- */

static void test_what_one_keeps_another_recalls(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    assert_int_equal(keep(one, "a", "research"), FACT_WRITTEN);
    assert_recalls(two, "a", "research");
    assert_recalls(one, "a", "research");
}

static void test_the_first_value_of_a_key_stays(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    assert_int_equal(keep(one, "a", "first"), FACT_WRITTEN);
    assert_int_equal(keep(two, "a", "second"), FACT_EXISTS);
    assert_recalls(two, "a", "first");
    assert_int_equal(keep(one, "a", "third"), FACT_EXISTS);
    assert_recalls(one, "a", "first");
}

/* "key=value" of each that was written, "key?value" of each that another had written before. */
struct reports {
    struct side *side;
    char text[200];
    uint64_t sequence;
};

static void on_reported(void *context, const struct bucket_entry *entry) {
    struct reports *reports = context;
    const size_t length = strlen(reports->text);
    const bool is_placed = entry->sequence > 0;
    assert_true(!is_placed || entry->sequence > reports->sequence);
    assert_true(entry->time_ns > 0);
    reports->sequence = is_placed ? entry->sequence : reports->sequence;
    snprintf(reports->text + length, sizeof reports->text - length, "%.*s%c%.*s ",
             (int)entry->key.length, entry->key.data, is_placed ? '=' : '?',
             (int)entry->value.length, entry->value.data);
}

static void report_to(void *context) {
    struct reports *reports = context;
    fact_store_on_written(reports->side->store, on_reported, reports);
}

static void test_what_is_written_is_reported(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    struct reports reports = {.side = one};
    loop_do(&one->world.loop, report_to, &reports);
    assert_int_equal(keep(two, "a", "other"), FACT_WRITTEN);
    assert_int_equal(keep(one, "a", "own"), FACT_EXISTS);
    assert_int_equal(keep(one, "b", "own"), FACT_WRITTEN);
    assert_int_equal(keep(one, "c.end", "own"), FACT_WRITTEN);
    assert_string_equal(reports.text, "a?own b=own c.end=own ");
}

static void test_several_keys_are_asked_for_together(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    keep(one, "a.end", "x");
    struct question question = {.side = two, .key = "a", .other = "a.end"};
    wait_until_answered(&question);
    assert_int_equal(question.found, ABSENT);
    assert_string_equal(question.other_text, "x");
}

/* ---- series ---- */

static void test_the_value_of_a_series_is_that_of_its_last_key(void **state) {
    static const struct {
        const char *keys, *series; /* that exist; the value of the series */
        const char *asked, *value; /* of a key in it */
    } cases[] = {
        {"", "", "S.turn.2", ""},
        {"S.turn.2", "", "S.turn.2", ""}, /* without its first key there are no others */
        {"S", "", "S.turn.2", ""},
        {"S S.turn.2", "of S.turn.2", "S.turn.2", "of S.turn.2"},
        {"S S.turn.2 S.turn.3", "of S.turn.3", "S.turn.2", "of S.turn.3"},
        {"S S.turn.2 S.turn.3", "of S.turn.3", "S.turn.4", ""},
        {"S S.turn.2 S.turn.4", "of S.turn.2", "S.turn.4", ""},
    };
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct question question = {.side = two};
        char keys[64], asked[16], value[64];
        snprintf(keys, sizeof keys, "%s", cases[i].keys);
        for (char *rest, *key = strtok_r(keys, " ", &rest); key != NULL;
             key = strtok_r(NULL, " ", &rest)) {
            char own[16];
            snprintf(own, sizeof own, "%c%s", (char)('a' + i), key + 1);
            snprintf(value, sizeof value, "of %s", key);
            assert_int_equal(keep(one, own, value), FACT_WRITTEN);
        }
        snprintf(question.key, sizeof question.key, "%c", (char)('a' + i));
        snprintf(question.series, sizeof question.series, "%c.turn.*", (char)('a' + i));
        snprintf(asked, sizeof asked, "%c%s", (char)('a' + i), cases[i].asked + 1);
        question.in_series = asked;
        wait_until_answered(&question);
        assert_string_equal(question.other_text, cases[i].series);
        assert_string_equal(question.value_in_series, cases[i].value);
    }
}

static uint64_t know_third(void *context, struct parley_bytes series,
                           struct parley_buffer *out_value) {
    (void)context;
    assert_true(parley_bytes_equal(series, PARLEY_BYTES("a.turn.*")));
    parley_buffer_text(out_value, "known");
    return 3;
}

static void report_series(void *context) {
    struct side *side = context;
    fact_store_on_series(side->store, know_third, NULL);
}

/* The keys before it do not exist: so it shows that nobody asked for them. */
static void test_only_what_follows_the_last_known_key_of_a_series_is_asked_for(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    struct question question = {
        .side = two, .key = "a", .series = "a.turn.*", .in_series = "a.turn.3"};
    loop_do(&two->world.loop, report_series, two);
    wait_until_answered(&question);
    assert_string_equal(question.other_text, "known");
    assert_string_equal(question.value_in_series, "known");
    assert_int_equal(keep(one, "a.turn.4", "asked"), FACT_WRITTEN);
    question.done = 0;
    wait_until_answered(&question);
    assert_string_equal(question.other_text, "asked");
}

/* Of "a" more than there is; that "b" is absent, which it is not: so answers show who was asked. */
static enum fact_known know_two(void *context, struct parley_bytes key, uint64_t read_to,
                                struct parley_buffer *out_value) {
    (void)context;
    if (parley_bytes_equal(key, PARLEY_BYTES("a"))) {
        parley_buffer_text(out_value, "known");
        return FACT_IS_THERE;
    }
    return parley_bytes_equal(key, PARLEY_BYTES("b")) && read_to > 0 ? FACT_IS_ABSENT
                                                                     : FACT_UNKNOWN;
}

static void reopen(struct side *side) {
    loop_do(&side->world.loop, close_store, side);
    loop_do(&side->world.loop, open_store, side); /* its cache is empty */
}

static void expect_b(void *context) {
    struct side *side = context;
    assert_true(fact_store_expect(side->store, PARLEY_BYTES("b")));
}

static void expect_b_no_more(void *context) {
    struct side *side = context;
    fact_store_expect_end(side->store, PARLEY_BYTES("b"));
}

static void report_two(void *context) {
    struct side *side = context;
    fact_store_on_known(side->store, know_two, NULL);
}

static void test_what_is_known_is_not_asked_for_until_it_is_asked_again(void **state) {
    static const struct {
        const char *key;
        uint64_t read_to;
        bool asks_again;
        enum answer found;
        const char *text;
    } rows[] = {
        {"a", 0, false, FOUND, "known"}, {"a", 7, false, FOUND, "known"},
        {"b", 0, false, FOUND, "x"},     {"b", 7, false, ABSENT, ""},
        {"b", 7, true, FOUND, "x"},      {"c", 7, false, FOUND, "y"},
    };
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    assert_int_equal(keep(one, "b", "x"), FACT_WRITTEN);
    assert_int_equal(keep(one, "c", "y"), FACT_WRITTEN);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct question question = {
            .side = two, .read_to = rows[i].read_to, .asks_again = rows[i].asks_again};
        snprintf(question.key, sizeof question.key, "%s", rows[i].key);
        reopen(two);
        loop_do(&two->world.loop, report_two, two);
        wait_until_answered(&question);
        assert_int_equal(question.found, rows[i].found);
        assert_string_equal(question.text, rows[i].text);
    }
}

/* Two claims of one task come together: the second waits for the first, as ever. */
static void test_a_key_that_is_expected_here_is_not_absent(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .key = "b", .read_to = 7};
    loop_do(&one->world.loop, report_two, one);
    loop_do(&one->world.loop, expect_b, one);
    loop_do(&one->world.loop, begin_question, &question);
    assert_int_equal(question.done, 0);
    loop_do(&one->world.loop, expect_b_no_more, one);
    assert_true(loop_wait(&one->world.loop, is_answered, &question, PATIENCE_MS));
    assert_int_equal(question.found, ABSENT);
}

static void test_it_outlives_gateways_and_the_server(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    keep(one, "a", "x");
    loop_do(&one->world.loop, close_store, one);
    js_world_close(&one->world);
    nats_server_end(&one->world.server, SIGTERM);
    js_world_start(&one->world);
    loop_do(&one->world.loop, open_store, one);
    assert_recalls(one, "a", "x");
}

static void test_other_clients_can_read_and_write_it(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    kvStore *bucket = NULL;
    kvEntry *entry = NULL;
    keep(one, "a", "x");
    assert_int_equal(js_KeyValue(&bucket, one->world.context, "tasks"), NATS_OK);
    assert_int_equal(kvStore_Get(&entry, bucket, "a"), NATS_OK);
    assert_string_equal(kvEntry_ValueString(entry), "x");
    kvEntry_Destroy(entry);
    assert_int_equal(kvStore_PutString(NULL, bucket, "b", "y"), NATS_OK);
    assert_recalls(one, "b", "y");
    assert_int_equal(kvStore_PutString(NULL, bucket, "c", "z"), NATS_OK);
    assert_int_equal(kvStore_Delete(bucket, "c"), NATS_OK);
    assert_int_equal(ask(one, "c").found, ABSENT);
    assert_int_equal(kvStore_PutString(NULL, bucket, "d", ""), NATS_OK);
    assert_int_equal(ask(one, "d").found, ABSENT);
    kvStore_Destroy(bucket);
}

/* ---- what is not there ---- */

static void test_that_a_key_is_not_there_is_not_remembered(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    assert_int_equal(ask(one, "a").found, ABSENT);
    keep(one, "a", "x");
    assert_recalls(one, "a", "x");
}

/* While the loop of `one` is held here, however long that takes, the question waits. */
static void begin_question_and_keep(void *context) {
    struct question *question = context;
    struct sides *sides = OWNER_OF(question->side, struct sides, one);
    begin_question(question);
    assert_int_equal(question->done, 0);
    keep(&sides->two, "a", "x");
}

static void test_what_is_kept_meanwhile_is_found(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .delay_ms = FACT_RETRY_MS, .key = "a"};
    start_second(sides);
    loop_do(&one->world.loop, begin_question_and_keep, &question);
    assert_true(loop_wait(&one->world.loop, is_answered, &question, PATIENCE_MS));
    assert_string_equal(question.text, "x");
}

struct questions {
    struct question items[MANY];
    size_t answered;
};

static void begin_all(void *context) {
    struct questions *questions = context;
    for (size_t i = 0; i < MANY; i++) {
        begin_question(&questions->items[i]);
    }
}

static bool all_answered(void *context) {
    struct questions *questions = context;
    while (questions->answered < MANY && questions->items[questions->answered].done > 0) {
        questions->answered++;
    }
    return questions->answered == MANY;
}

static void test_many_are_asked_for_at_once(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct questions *questions = calloc(1, sizeof *questions);
    assert_non_null(questions);
    keep(one, "7", "x");
    for (size_t i = 0; i < MANY; i++) {
        struct question *question = &questions->items[i];
        question->side = one;
        snprintf(question->key, sizeof question->key, "%zu", i);
    }
    loop_do(&one->world.loop, begin_all, questions);
    assert_true(loop_wait(&one->world.loop, all_answered, questions, PATIENCE_MS));
    for (size_t i = 0; i < MANY; i++) {
        const struct question *question = &questions->items[i];
        assert_int_equal(question->done, 1);
        assert_int_equal(question->found, i == 7 ? FOUND : ABSENT);
    }
    free(questions);
}

/* More than are held, so that the oldest are forgotten: they are asked for again. */
static void test_what_is_forgotten_here_is_still_known(void **state) {
    enum { TOO_MANY = 4200 };
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct keeping *keepings = calloc(TOO_MANY, sizeof *keepings);
    char(*keys)[16] = calloc(TOO_MANY, sizeof *keys);
    assert_non_null(keepings);
    assert_non_null(keys);
    for (size_t i = 0; i < TOO_MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "%zu", i);
        keepings[i] = (struct keeping){.side = one, .key = keys[i], .value = keys[i]};
        loop_do(&one->world.loop, begin_keeping, &keepings[i]);
        assert_int_equal(keepings[i].result, JETSTREAM_PUBLISHED);
        if (i % 1000 == 999 || i == TOO_MANY - 1) {
            assert_true(loop_wait(&one->world.loop, is_kept, &keepings[i], PATIENCE_MS));
        }
    }
    assert_recalls(one, "0", "0");
    free(keepings);
    free(keys);
}

/* ---- what is expected ---- */

static void expect(void *context) {
    assert_true(fact_store_expect(((struct side *)context)->store, PARLEY_BYTES("a")));
}

static void expect_end(void *context) {
    fact_store_expect_end(((struct side *)context)->store, PARLEY_BYTES("a"));
}

static void test_a_question_waits_for_what_is_expected_here(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .key = "a"};
    loop_do(&one->world.loop, expect, one);
    loop_do(&one->world.loop, expect, one);
    loop_do(&one->world.loop, begin_question, &question);
    loop_do(&one->world.loop, expect_end, one);
    keep(one, "b", "y"); /* as long as the question would have taken */
    assert_int_equal(question.done, 0);
    keep(one, "a", "x");
    loop_do(&one->world.loop, expect_end, one);
    assert_true(loop_wait(&one->world.loop, is_answered, &question, PATIENCE_MS));
    assert_string_equal(question.text, "x");
}

/* ---- when things go wrong ---- */

static bool is_back(void *context) {
    struct side *side = context;
    struct question question = {.side = side, .key = "zzz"};
    begin_question(&question);
    fact_query_finish(&question.query);
    return question.found != NOT_ASKED;
}

static void test_a_bucket_that_is_gone_fails_with_its_name_and_is_made_again(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .key = "a", .loses_bucket = true};
    wait_until_answered(&question);
    assert_int_equal(question.found, FAILED);
    assert_non_null(strstr(question.text, "`tasks`"));
    assert_non_null(strstr(question.text, "nats kv add tasks"));
    for (int tries = 0; ask(one, "a").found != ABSENT; tries++) {
        assert_true(tries < PATIENCE_MS / 2);
        loop_pause();
    }
    keep(one, "a", "x");
    assert_recalls(one, "a", "x");
}

static void test_a_bucket_that_offers_no_direct_reading_is_asked_by_the_api(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, one->world.context, "KV_tasks", NULL, NULL), NATS_OK);
    assert_true(info->Config->AllowDirect);
    info->Config->AllowDirect = false;
    assert_int_equal(js_UpdateStream(NULL, one->world.context, info->Config, NULL, NULL), NATS_OK);
    jsStreamInfo_Destroy(info);
    assert_int_equal(keep(one, "a", "x"), FACT_WRITTEN);
    assert_recalls(two, "a", "x");
    assert_int_equal(ask(two, "b").found, ABSENT);
}

static void test_a_question_under_way_fails_when_nats_goes_away(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .key = "a"};
    nats_server_stop(&one->world.server);
    loop_do(&one->world.loop, begin_question, &question);
    assert_int_equal(question.done, 0);
    nats_server_end(&one->world.server, SIGKILL);
    assert_true(loop_wait(&one->world.loop, is_answered, &question, PATIENCE_MS));
    assert_int_equal(question.found, FAILED);
    assert_non_null(strstr(question.text, "NATS"));
    assert_true(loop_wait(&one->world.loop, js_world_is_away, &one->world, PATIENCE_MS));
    assert_int_equal(ask(one, "a").found, NOT_ASKED);
    nats_server_start(&one->world.server);
    assert_true(loop_wait(&one->world.loop, is_back, one, PATIENCE_MS));
    keep(one, "a", "x");
    assert_recalls(one, "a", "x");
}

static void begin_question_and_close_store(void *context) {
    struct question *question = context;
    begin_question(question);
    close_store(question->side);
}

static void test_whoever_waits_at_the_end_is_told(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .delay_ms = FACT_RETRY_MS, .key = "a"};
    loop_do(&one->world.loop, begin_question_and_close_store, &question);
    assert_int_equal(question.done, 1);
    assert_int_equal(question.found, FAILED);
}

/* ---- what was published straight to NATS ---- */

static void open_consumer(void *context) {
    static const union parley_option_value values[PARLEY_OPTIONS_MAX];
    struct side *side = context;
    const struct fact_consumers_options options = {.reactor = side->world.loop.reactor,
                                                   .jetstream = side->world.jetstream,
                                                   .store = side->store,
                                                   .channel = &side->channel,
                                                   .message = &side->message,
                                                   .values = values};
    assert_int_equal(fact_consumers_create(&options, &side->consumer), PARLEY_OK);
}

static void store_claim(struct side *side, const char *id, const char *sender) {
    char text[256];
    snprintf(text, sizeof text,
             "{\"id\":\"%s\",\"protocol\":\"VLP/1.1\",\"type\":\"claim\","
             "\"timestamp\":\"2025-12-14T10:30:00Z\",\"sender\":\"%s\",\"content\":\"x\","
             "\"confidence\":0.5}",
             id, sender);
    js_world_store(&side->world, "vlp.safe.claim", text);
}

static void wait_until_gathered(struct side *side) {
    for (int tries = 0; tries < PATIENCE_MS / 2; tries++) {
        jsConsumerInfo *info = NULL;
        natsStatus status =
            js_GetConsumerInfo(&info, side->world.context, "VLP", "tasks", NULL, NULL);
        const bool is_done = status == NATS_OK && info->NumAckPending == 0 && info->NumPending == 0;
        jsConsumerInfo_Destroy(info);
        if (is_done) {
            return;
        }
        loop_pause();
    }
    fail_msg("not everything was gathered");
}

static void test_what_is_published_straight_to_nats_is_gathered(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    store_claim(one, "before", "x");
    loop_do(&one->world.loop, open_consumer, one);
    loop_do(&two->world.loop, open_consumer, two);
    js_world_store(&one->world, "vlp.safe.claim", "{\"id\":\"invalid\"}");
    js_world_store(&one->world, "vlp.safe.claim", "\xff");
    js_world_store(&one->world, "vlp.safe.claim", "");
    for (unsigned i = 0; i < 100; i++) {
        char id[16];
        snprintf(id, sizeof id, "ID%u", i);
        store_claim(one, id, id);
    }
    wait_until_gathered(one);
    assert_recalls(two, "before", "{\"stream\":\"VLP\",\"seq\":1,\"of\":\"x\"}");
    assert_recalls(one, "ID0", "{\"stream\":\"VLP\",\"seq\":5,\"of\":\"ID0\"}");
    assert_recalls(two, "ID99", "{\"stream\":\"VLP\",\"seq\":104,\"of\":\"ID99\"}");
    assert_int_equal(ask(one, "invalid").found, ABSENT);
}

static void wait_until_found(struct side *side, const char *key) {
    for (int tries = 0; tries < PATIENCE_MS / 2 && ask(side, key).found != FOUND; tries++) {
        loop_pause();
    }
    assert_int_equal(ask(side, key).found, FOUND);
}

struct noting {
    struct side *side;
    const char *subject;
    int64_t ago_ms;
};

static void note_written(void *context) {
    const struct noting *noting = context;
    fact_ledger_note(noting->side->ledger, parley_bytes_of(noting->subject),
                     reactor_now_ms(noting->side->world.loop.reactor) - noting->ago_ms);
}

/* It is said of keys that were not: so it shows that nobody asked for them. */
static void test_what_the_process_has_written_is_not_looked_at_again(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct noting now = {one, "$KV.tasks.now", 0}, past = {one, "$KV.tasks.past", 60000};
    loop_do(&one->world.loop, share_ledger, one);
    loop_do(&one->world.loop, note_written, &now);
    loop_do(&one->world.loop, note_written, &past);
    loop_do(&one->world.loop, open_consumer, one);
    store_claim(one, "now", "x");
    store_claim(one, "past", "x");
    store_claim(one, "other", "x");
    wait_until_found(one, "other"); /* the last one: nats-server may say before that none is left */
    assert_int_equal(ask(one, "now").found, ABSENT);
    assert_int_equal(ask(one, "past").found, FOUND);
}

static void test_gathering_goes_on_whatever_happens_to_nats(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    loop_do(&one->world.loop, open_consumer, one);
    store_claim(one, "a1", "x");
    wait_until_gathered(one);
    nats_server_end(&one->world.server, SIGKILL);
    assert_true(loop_wait(&one->world.loop, js_world_is_away, &one->world, PATIENCE_MS));
    nats_server_start(&one->world.server);
    js_world_look(&one->world);
    store_claim(one, "a2", "y");
    wait_until_found(one, "a2"); /* nats-server may say before that nothing is left */
    assert_int_equal(js_DeleteConsumer(one->world.context, "VLP", "tasks", NULL, NULL), NATS_OK);
    store_claim(one, "a3", "z");
    wait_until_found(one, "a3");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_one_keeps_another_recalls),
        TEST(test_the_first_value_of_a_key_stays),
        TEST(test_what_is_written_is_reported),
        TEST(test_what_is_known_is_not_asked_for_until_it_is_asked_again),
        TEST(test_a_key_that_is_expected_here_is_not_absent),
        TEST(test_it_outlives_gateways_and_the_server),
        TEST(test_other_clients_can_read_and_write_it),
        TEST(test_several_keys_are_asked_for_together),
        TEST(test_the_value_of_a_series_is_that_of_its_last_key),
        TEST(test_only_what_follows_the_last_known_key_of_a_series_is_asked_for),
        TEST(test_that_a_key_is_not_there_is_not_remembered),
        TEST(test_a_question_waits_for_what_is_expected_here),
        TEST(test_what_is_kept_meanwhile_is_found),
        TEST(test_many_are_asked_for_at_once),
        TEST(test_what_is_forgotten_here_is_still_known),
        TEST(test_a_bucket_that_is_gone_fails_with_its_name_and_is_made_again),
        TEST(test_a_bucket_that_offers_no_direct_reading_is_asked_by_the_api),
        TEST(test_a_question_under_way_fails_when_nats_goes_away),
        TEST(test_whoever_waits_at_the_end_is_told),
        TEST(test_what_is_published_straight_to_nats_is_gathered),
        TEST(test_what_the_process_has_written_is_not_looked_at_again),
        TEST(test_gathering_goes_on_whatever_happens_to_nats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
