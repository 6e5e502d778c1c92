/* SPDX-License-Identifier: Apache-2.0 */

/* The correlation store of a protocol on a real JetStream: what one gateway writes another one
 * finds, and nothing is said to be unknown that somebody was told is kept. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"
#include "correlation_consumer.h"
#include "correlation_store.h"

enum { PATIENCE_MS = LOOP_PATIENCE_MS, MANY = 3000 };

static const struct jetstream_stream STREAMS[] = {
    {.name = "VLP", .subjects = "vlp.>"},
    {.name = "KV_tasks", .subjects = "$KV.tasks.>", .bucket_days = 7}};

/* ---- a protocol whose claims are remembered by their id, as their sender ---- */

extern const struct parley_protocol vlp_protocol;

static enum parley_status route(struct parley_message *message, struct parley_route *out) {
    PARLEY_TRY(vlp_protocol.route(message, out));
    if (parley_bytes_equal(parley_message_type(message), PARLEY_BYTES("claim"))) {
        out->remember_key = out->id;
        out->remember_value = out->sender;
    }
    return PARLEY_OK;
}

static struct parley_protocol protocol;

/* ---- two gateways ---- */

struct side {
    struct js_world world;
    struct correlation_store *store;
    struct parley_schema *schema;
    struct parley_message message;
    struct channel channel;
    struct correlation_consumer *consumer;
};

struct sides {
    struct side one, two;
};

static void open_store(void *context) {
    struct side *side = context;
    assert_int_equal(correlation_store_create(side->world.loop.reactor, side->world.jetstream,
                                              "tasks", &side->store),
                     PARLEY_OK);
}

static void close_store(void *context) {
    struct side *side = context;
    correlation_consumer_destroy(side->consumer);
    correlation_store_destroy(side->store);
    side->consumer = NULL;
    side->store = NULL;
}

static void init_side(struct side *side) {
    js_world_init(&side->world);
    side->world.options.streams = STREAMS;
    side->world.options.stream_count = 2;
    assert_int_equal(parley_schema_create(&protocol, &side->schema), PARLEY_OK);
    parley_message_init(&side->message, side->schema);
    side->channel = (struct channel){.protocol = &protocol,
                                     .stream = "VLP",
                                     .subjects = "vlp.>",
                                     .correlation_subjects = "vlp.safe.>"};
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
    struct sides *sides = calloc(1, sizeof *sides);
    assert_non_null(sides);
    protocol = vlp_protocol;
    protocol.route = route;
    protocol.memory = "tasks";
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
    const char *key, *value, *subject; /* subject NULL: no message with it */
    bool loses_bucket;                 /* just before */
    enum jetstream_publish result;
    unsigned done;
    struct jetstream_ack ack;
    char error[512], stream[64];
};

static void on_kept(void *context, const struct jetstream_ack *ack) {
    struct keeping *keeping = context;
    keeping->done++;
    keeping->ack = *ack;
    snprintf(keeping->error, sizeof keeping->error, "%s", ack->error != NULL ? ack->error : "");
    snprintf(keeping->stream, sizeof keeping->stream, "%s", ack->stream != NULL ? ack->stream : "");
}

static void begin_keeping(void *context) {
    struct keeping *keeping = context;
    const struct parley_bytes key = parley_bytes_of(keeping->key);
    const struct parley_bytes value = parley_bytes_of(keeping->value);
    struct correlation_store *store = keeping->side->store;
    const struct jetstream_message message = {.subject = keeping->subject,
                                              .payload = PARLEY_BYTES("{}")};
    if (keeping->loses_bucket) {
        lose_bucket(keeping->side);
    }
    keeping->result =
        keeping->subject == NULL
            ? correlation_store_put(store, key, value, on_kept, keeping)
            : correlation_store_publish(store, key, value, &message, on_kept, keeping);
}

static bool is_kept(void *context) {
    return ((struct keeping *)context)->done > 0;
}

static void wait_until_kept(struct keeping *keeping) {
    struct loop *loop = &keeping->side->world.loop;
    loop_do(loop, begin_keeping, keeping);
    assert_int_equal(keeping->result, JETSTREAM_PUBLISHED);
    assert_true(loop_wait(loop, is_kept, keeping, PATIENCE_MS));
    assert_int_equal(keeping->done, 1);
}

static struct keeping publish(struct side *side, const char *key, const char *value,
                              const char *subject) {
    struct keeping keeping = {.side = side, .key = key, .value = value, .subject = subject};
    wait_until_kept(&keeping);
    return keeping;
}

static void keep(struct side *side, const char *key, const char *value) {
    assert_int_equal(publish(side, key, value, NULL).ack.outcome, JETSTREAM_STORED);
}

/* ---- recalling ---- */

struct question {
    struct correlation_query query;
    struct side *side;
    char key[32];
    bool loses_bucket; /* just before */
    bool is_patient, is_asked;
    unsigned done;
    int found; /* of correlation_answer; -1: it could not be asked */
    char text[512];
    long began_ms, took_ms;
};

static void on_recalled(struct correlation_query *query, const struct correlation_answer *answer) {
    struct question *question = (struct question *)(void *)query; /* its first member */
    const char *text = answer->found == CORRELATION_FOUND ? answer->value : answer->error;
    question->done++;
    question->found = (int)answer->found;
    question->took_ms = js_world_now_ms() - question->began_ms;
    snprintf(question->text, sizeof question->text, "%s", text != NULL ? text : "");
}

static void begin_question(void *context) {
    struct question *question = context;
    question->began_ms = js_world_now_ms();
    question->query.done = on_recalled;
    if (question->loses_bucket) {
        lose_bucket(question->side);
    }
    question->is_asked =
        correlation_store_query(question->side->store, &question->query,
                                parley_bytes_of(question->key), question->is_patient);
    if (!question->is_asked) {
        question->found = -1;
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

static struct question ask(struct side *side, const char *key, bool is_patient) {
    struct question question = {.side = side, .is_patient = is_patient};
    snprintf(question.key, sizeof question.key, "%s", key);
    wait_until_answered(&question);
    return question;
}

static void assert_recalls(struct side *side, const char *key, const char *value) {
    struct question question = ask(side, key, true);
    assert_int_equal(question.found, CORRELATION_FOUND);
    assert_string_equal(question.text, value);
}

struct known {
    struct side *side;
    const char *key;
    char value[64]; /* "" for unknown */
};

static void look_known(void *context) {
    struct known *known = context;
    const char *value = correlation_store_cached(known->side->store, parley_bytes_of(known->key));
    snprintf(known->value, sizeof known->value, "%s", value != NULL ? value : "");
}

static void assert_known(struct side *side, const char *key, const char *value) {
    struct known known = {.side = side, .key = key};
    loop_do(&side->world.loop, look_known, &known);
    assert_string_equal(known.value, value);
}

/* ---- what is kept ---- */

static void test_what_one_keeps_another_recalls(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    keep(one, "a", "research");
    assert_known(one, "a", "research");
    assert_known(two, "a", "");
    assert_recalls(two, "a", "research");
    assert_known(two, "a", "research");
    assert_recalls(one, "a", "research");
}

static void test_the_first_value_of_a_key_stays(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    keep(one, "a", "first");
    keep(two, "a", "second");
    assert_known(two, "a", "");
    assert_recalls(two, "a", "first");
    keep(one, "a", "third");
    assert_recalls(one, "a", "first");
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
    assert_int_equal(ask(one, "c", false).found, CORRELATION_ABSENT);
    assert_int_equal(kvStore_PutString(NULL, bucket, "d", ""), NATS_OK);
    assert_int_equal(ask(one, "d", false).found, CORRELATION_ABSENT);
    kvStore_Destroy(bucket);
}

/* ---- what is not there ---- */

static void test_a_key_that_is_not_there_is_looked_for_twice(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = ask(one, "a", true);
    assert_int_equal(question.found, CORRELATION_ABSENT);
    assert_true(question.took_ms >= CORRELATION_RETRY_MS);
    assert_int_equal(ask(one, "a", false).found, CORRELATION_ABSENT);
    keep(one, "a", "x");
    assert_recalls(one, "a", "x"); /* that it was not there is not remembered */
}

static bool has_looked_once(void *context) {
    return ((struct question *)context)->query.has_retried;
}

/* Asks, and has the other side keep it once it was not found. */
static void test_what_is_kept_meanwhile_is_found(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    struct question question = {.side = one, .is_patient = true, .key = "a"};
    loop_do(&one->world.loop, begin_question, &question);
    assert_true(loop_wait(&one->world.loop, has_looked_once, &question, PATIENCE_MS));
    assert_int_equal(question.done, 0);
    keep(two, "a", "x");
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
        question->is_patient = true;
        snprintf(question->key, sizeof question->key, "%zu", i);
    }
    loop_do(&one->world.loop, begin_all, questions);
    assert_true(loop_wait(&one->world.loop, all_answered, questions, PATIENCE_MS));
    for (size_t i = 0; i < MANY; i++) {
        const struct question *question = &questions->items[i];
        assert_int_equal(question->done, 1);
        assert_int_equal(question->found, i == 7 ? CORRELATION_FOUND : CORRELATION_ABSENT);
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
    assert_known(one, "0", "");
    assert_recalls(one, "0", "0");
    free(keepings);
    free(keys);
}

/* ---- behind a write ---- */

struct race {
    struct keeping keeping;
    struct question question;
};

static void keep_and_ask(void *context) {
    struct race *race = context;
    begin_keeping(&race->keeping);
    begin_question(&race->question);
}

static void test_a_question_waits_for_a_write_under_way_here(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides), *two = start_second(sides);
    struct race race = {.keeping = {.side = one, .key = "a", .value = "x"},
                        .question = {.side = one, .key = "a", .is_patient = false}};
    loop_do(&one->world.loop, keep_and_ask, &race);
    assert_true(loop_wait(&one->world.loop, is_answered, &race.question, PATIENCE_MS));
    assert_string_equal(race.question.text, "x");
    /* One that another gateway has written already. */
    keep(two, "b", "first");
    struct race lost = {.keeping = {.side = one, .key = "b", .value = "second"},
                        .question = {.side = one, .key = "b", .is_patient = false}};
    loop_do(&one->world.loop, keep_and_ask, &lost);
    assert_true(loop_wait(&one->world.loop, is_answered, &lost.question, PATIENCE_MS));
    assert_string_equal(lost.question.text, "first");
}

/* ---- a message and what it is remembered by ---- */

static void test_a_message_and_its_correlation_are_acknowledged_together(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct keeping keeping = publish(one, "a", "x", "vlp.safe.query");
    assert_int_equal(keeping.ack.outcome, JETSTREAM_STORED);
    assert_string_equal(keeping.stream, "VLP");
    assert_int_equal(keeping.ack.sequence, 1);
    assert_known(one, "a", "x");
}

static void test_a_message_whose_correlation_is_refused_is_not_called_stored(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct keeping keeping = {
        .side = one, .key = "a", .value = "x", .subject = "vlp.safe.query", .loses_bucket = true};
    wait_until_kept(&keeping);
    assert_int_equal(keeping.ack.outcome, JETSTREAM_TIMEOUT);
    assert_non_null(strstr(keeping.error, "`tasks`"));
    assert_non_null(strstr(keeping.error, "The message was stored, but"));
}

static void test_a_message_that_is_refused_says_so(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct keeping keeping = publish(one, "a", "x", "nobody.listens");
    assert_int_equal(keeping.ack.outcome, JETSTREAM_REFUSED);
    assert_non_null(strstr(keeping.error, "no stream listens"));
}

struct crowd {
    struct keeping first, second;
};

static void begin_crowd(void *context) {
    struct crowd *crowd = context;
    begin_keeping(&crowd->first);
    begin_keeping(&crowd->second);
}

static void test_a_message_and_its_correlation_find_room_together_or_not_at_all(void **state) {
    struct sides *sides = *state;
    sides->one.world.options.in_flight_count_max = 1;
    struct side *one = start(sides);
    struct crowd crowd = {
        .first = {.side = one, .key = "a", .value = "x", .subject = "vlp.safe.query"},
        .second = {.side = one, .key = "b", .value = "y", .subject = "vlp.safe.query"}};
    loop_do(&one->world.loop, begin_crowd, &crowd);
    assert_int_equal(crowd.first.result, JETSTREAM_PUBLISHED);
    assert_int_equal(crowd.second.result, JETSTREAM_FULL);
    assert_true(loop_wait(&one->world.loop, is_kept, &crowd.first, PATIENCE_MS));
    assert_int_equal(crowd.first.ack.outcome, JETSTREAM_STORED);
    assert_string_equal(crowd.first.stream, "VLP");
    assert_known(one, "a", "x");
    assert_known(one, "b", "");
}

/* ---- when things go wrong ---- */

static bool is_back(void *context) {
    struct side *side = context;
    struct question question = {.side = side, .key = "zzz"};
    begin_question(&question);
    correlation_query_cancel(&question.query);
    return question.is_asked;
}

static void test_a_bucket_that_is_gone_fails_with_its_name_and_is_made_again(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .key = "a", .is_patient = true, .loses_bucket = true};
    wait_until_answered(&question);
    assert_int_equal(question.found, CORRELATION_FAILED);
    assert_non_null(strstr(question.text, "`tasks`"));
    assert_non_null(strstr(question.text, "nats kv add tasks"));
    for (int i = 0; i < 1000 && ask(one, "a", false).found != CORRELATION_ABSENT; i++) {
        loop_pause();
    }
    keep(one, "a", "x");
    assert_recalls(one, "a", "x");
}

static void test_a_question_under_way_fails_when_nats_goes_away(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .is_patient = true, .key = "a"};
    nats_server_stop(&one->world.server);
    loop_do(&one->world.loop, begin_question, &question);
    assert_true(question.is_asked);
    nats_server_end(&one->world.server, SIGKILL);
    assert_true(loop_wait(&one->world.loop, is_answered, &question, PATIENCE_MS));
    assert_int_equal(question.found, CORRELATION_FAILED);
    assert_non_null(strstr(question.text, "NATS"));
    assert_true(loop_wait(&one->world.loop, js_world_is_away, &one->world, PATIENCE_MS));
    assert_int_equal(ask(one, "a", true).found, -1);
    nats_server_start(&one->world.server);
    assert_true(loop_wait(&one->world.loop, is_back, one, PATIENCE_MS));
    keep(one, "a", "x");
    assert_recalls(one, "a", "x");
}

static void test_whoever_waits_at_the_end_is_told(void **state) {
    struct sides *sides = *state;
    struct side *one = start(sides);
    struct question question = {.side = one, .is_patient = true, .key = "a"};
    loop_do(&one->world.loop, begin_question, &question);
    loop_do(&one->world.loop, close_store, one);
    assert_int_equal(question.done, 1);
    assert_int_equal(question.found, CORRELATION_FAILED);
}

/* ---- what was published straight to NATS ---- */

static void open_consumer(void *context) {
    struct side *side = context;
    assert_int_equal(correlation_consumer_create(side->store, side->world.jetstream, &side->channel,
                                                 &side->message, &side->consumer),
                     PARLEY_OK);
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
    for (int i = 0; i < 3000; i++) {
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
    assert_recalls(two, "before", "x");
    assert_recalls(one, "ID0", "ID0");
    assert_recalls(two, "ID99", "ID99");
    assert_int_equal(ask(one, "invalid", false).found, CORRELATION_ABSENT);
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
    wait_until_gathered(one);
    assert_recalls(one, "a2", "y");
    assert_int_equal(js_DeleteConsumer(one->world.context, "VLP", "tasks", NULL, NULL), NATS_OK);
    store_claim(one, "a3", "z");
    wait_until_gathered(one);
    assert_recalls(one, "a3", "z");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_one_keeps_another_recalls),
        TEST(test_the_first_value_of_a_key_stays),
        TEST(test_it_outlives_gateways_and_the_server),
        TEST(test_other_clients_can_read_and_write_it),
        TEST(test_a_key_that_is_not_there_is_looked_for_twice),
        TEST(test_what_is_kept_meanwhile_is_found),
        TEST(test_many_are_asked_for_at_once),
        TEST(test_what_is_forgotten_here_is_still_known),
        TEST(test_a_question_waits_for_a_write_under_way_here),
        TEST(test_a_message_and_its_correlation_are_acknowledged_together),
        TEST(test_a_message_whose_correlation_is_refused_is_not_called_stored),
        TEST(test_a_message_that_is_refused_says_so),
        TEST(test_a_message_and_its_correlation_find_room_together_or_not_at_all),
        TEST(test_a_bucket_that_is_gone_fails_with_its_name_and_is_made_again),
        TEST(test_a_question_under_way_fails_when_nats_goes_away),
        TEST(test_whoever_waits_at_the_end_is_told),
        TEST(test_what_is_published_straight_to_nats_is_gathered),
        TEST(test_gathering_goes_on_whatever_happens_to_nats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
