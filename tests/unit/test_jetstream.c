/* SPDX-License-Identifier: Apache-2.0 */

/* Publishing to a real JetStream, looked at by a second client: what is said to be stored is in the
 * stream exactly once, whatever happens to the server; and nothing ever blocks. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../lib/jetstream_world.h"

static void test_a_publication_is_acknowledged_with_its_sequence(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    for (uint64_t sequence = 1; sequence <= 3; sequence++) {
        struct js_shot shot = js_world_fire(world, "vlp.safe.claim", NULL);
        assert_int_equal(shot.ack.outcome, JETSTREAM_STORED);
        assert_string_equal(shot.stream, "VLP");
        assert_int_equal(shot.ack.sequence, sequence);
        assert_false(shot.ack.is_duplicate);
    }
    js_world_look(world);
    assert_int_equal(js_world_last_sequence(world), 3);
}

static void test_the_same_id_again_is_a_duplicate(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    struct js_shot first = js_world_fire(world, "vlp.safe.claim", "one");
    js_world_fire(world, "vlp.safe.claim", "two");
    struct js_shot again = js_world_fire(world, "vlp.safe.claim", "one");
    assert_int_equal(again.ack.outcome, JETSTREAM_STORED);
    assert_true(again.ack.is_duplicate);
    assert_int_equal(again.ack.sequence, first.ack.sequence);
    assert_string_equal(again.stream, "VLP");
}

/* ---- limits ---- */

static void test_one_byte_too_much_is_refused_before_it_is_sent(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    size_t length = 1024 * 1024 + 1; /* the server's default and one */
    char *payload = calloc(1, length);
    struct js_shot shot = {
        .world = world, .subject = "vlp.safe.claim", .payload = {payload, length}};
    loop_do(&world->loop, js_shot_go, &shot);
    assert_int_equal(shot.result, JETSTREAM_TOO_LARGE);
    shot.payload.length--;
    loop_do(&world->loop, js_shot_go, &shot);
    assert_int_equal(shot.result, JETSTREAM_PUBLISHED);
    assert_true(loop_wait(&world->loop, js_shot_is_done, &shot, LOOP_PATIENCE_MS));
    assert_int_equal(shot.ack.outcome, JETSTREAM_STORED);
    free(payload);
}

struct queue {
    struct js_world *world;
    struct js_shot *shots;
    struct waiting {
        struct jetstream_waiter waiter;
        struct queue *queue;
        unsigned number;
        struct js_shot shot;
    } waiting[8];
    unsigned order[8];
    unsigned woken;
    unsigned woken_at_once_max, woken_this_turn;
    bool publishes;
};

static void on_room(struct jetstream_waiter *waiter) {
    struct waiting *waiting = (struct waiting *)waiter; /* its first member */
    struct queue *queue = waiting->queue;
    queue->order[queue->woken++] = waiting->number;
    if (queue->publishes) {
        js_shot_go(&waiting->shot);
        assert_int_equal(waiting->shot.result, JETSTREAM_PUBLISHED);
    }
}

static void fill_and_wait(void *context) {
    struct queue *queue = context;
    for (int i = 0; i < 2; i++) {
        js_shot_go(&queue->shots[i]);
        assert_int_equal(queue->shots[i].result, JETSTREAM_PUBLISHED);
    }
    js_shot_go(&queue->shots[2]);
    assert_int_equal(queue->shots[2].result, JETSTREAM_FULL);
    for (unsigned i = 0; i < 8; i++) {
        struct waiting *waiting = &queue->waiting[i];
        waiting->waiter.room = on_room;
        waiting->queue = queue;
        waiting->number = i;
        waiting->shot = queue->shots[0];
        jetstream_wait_for_room(queue->world->jetstream, &waiting->waiter);
        jetstream_wait_for_room(queue->world->jetstream, &waiting->waiter);
    }
    jetstream_wait_cancel(queue->world->jetstream, &queue->waiting[3].waiter);
    jetstream_wait_cancel(queue->world->jetstream, &queue->waiting[3].waiter);
    assert_int_equal(queue->woken, 0);
}

static bool seven_woken(void *context) {
    return ((struct queue *)context)->woken >= 7;
}

static void test_a_full_window_wakes_its_waiters_in_turn(void **state) {
    struct js_world *world = *state;
    world->options.in_flight_count_max = 2;
    js_world_start(world);
    struct js_shot shots[3];
    for (int i = 0; i < 3; i++) {
        shots[i] = (struct js_shot){
            .world = world, .subject = "vlp.safe.claim", .payload = PARLEY_BYTES("{}")};
    }
    struct queue queue = {.world = world, .shots = shots, .publishes = true};
    loop_do(&world->loop, fill_and_wait, &queue);
    assert_true(loop_wait(&world->loop, seven_woken, &queue, LOOP_PATIENCE_MS));
    const unsigned expected[] = {0, 1, 2, 4, 5, 6, 7};
    assert_memory_equal(queue.order, expected, sizeof expected);
    assert_true(loop_wait(&world->loop, js_world_is_idle, world, LOOP_PATIENCE_MS));
    js_world_look(world);
    assert_int_equal(js_world_last_sequence(world), 9);
}

/* Publishes as long as there is room for this share, and once more. */
struct filling {
    struct js_world *world;
    unsigned share, accepted;
    size_t payload_bytes;
    struct js_shot shots[64];
    unsigned count;
    char bound[160];
};

static void fill_share(void *context) {
    static char payload[4096];
    struct filling *filling = context;
    struct js_shot *shot;
    filling->accepted = 0;
    do {
        assert_true(filling->count < 64);
        shot = &filling->shots[filling->count++];
        *shot = (struct js_shot){.world = filling->world,
                                 .subject = "vlp.safe.claim",
                                 .payload = {payload, filling->payload_bytes},
                                 .share = filling->share};
        js_shot_go(shot);
        filling->accepted += shot->result == JETSTREAM_PUBLISHED;
    } while (shot->result == JETSTREAM_PUBLISHED);
    assert_int_equal(shot->result, JETSTREAM_FULL);
    snprintf(filling->bound, sizeof filling->bound, "%s",
             jetstream_bound(filling->world->jetstream));
}

static void check_shares(struct js_world *world, size_t payload_bytes, const char *bound) {
    static const struct {
        unsigned share, accepted; /* beyond what those before have taken */
        const char *part;
    } rows[] = {{70, 14, "70 % of "}, {70, 0, "70 % of "}, {85, 3, "85 % of "},
                {95, 2, "95 % of "},  {70, 0, "70 % of "}, {100, 1, "reached "},
                {0, 0, "reached "}};
    struct filling *filling = calloc(1, sizeof *filling);
    filling->world = world;
    filling->payload_bytes = payload_bytes;
    js_world_start(world);
    nats_server_stop(&world->server);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        filling->share = rows[i].share;
        loop_do(&world->loop, fill_share, filling);
        assert_int_equal(filling->accepted, rows[i].accepted);
        assert_non_null(strstr(filling->bound, rows[i].part));
        assert_non_null(strstr(filling->bound, bound));
    }
    nats_server_continue(&world->server);
    assert_true(loop_wait(&world->loop, js_world_is_idle, world, LOOP_PATIENCE_MS));
    free(filling);
}

static void test_each_share_of_the_window_is_full_in_its_turn(void **state) {
    struct js_world *world = *state;
    world->options.in_flight_count_max = 20;
    check_shares(world, 2, "20 a worker (--in-flight)");
}

static void test_each_share_of_the_bytes_is_full_in_its_turn(void **state) {
    struct js_world *world = *state;
    world->options.in_flight_bytes_max = 20 * 4096;
    check_shares(world, 4096, "81920 bytes a worker");
}

static void set_share(void *context) {
    struct queue *queue = context;
    fill_and_wait(queue);
    for (unsigned i = 0; i < 8; i++) {
        queue->waiting[i].waiter.share = i % 2 == 0 ? 50 : 100;
        queue->waiting[i].shot.share = queue->waiting[i].waiter.share;
    }
}

/* Of the two places each waiter with half of them may take the first, the others both. */
static void test_a_waiter_is_not_woken_for_what_is_not_its_share(void **state) {
    struct js_world *world = *state;
    world->options.in_flight_count_max = 2;
    js_world_start(world);
    struct js_shot shots[3];
    for (int i = 0; i < 3; i++) {
        shots[i] = (struct js_shot){
            .world = world, .subject = "vlp.safe.claim", .payload = PARLEY_BYTES("{}")};
    }
    struct queue queue = {.world = world, .shots = shots, .publishes = true};
    loop_do(&world->loop, set_share, &queue);
    assert_true(loop_wait(&world->loop, seven_woken, &queue, LOOP_PATIENCE_MS));
    assert_true(loop_wait(&world->loop, js_world_is_idle, world, LOOP_PATIENCE_MS));
    js_world_look(world);
    assert_int_equal(js_world_last_sequence(world), 9);
}

static void test_waiters_are_woken_when_the_bus_goes_away(void **state) {
    struct js_world *world = *state;
    world->options.in_flight_count_max = 2;
    js_world_start(world);
    nats_server_stop(&world->server);
    struct js_shot shots[3];
    for (int i = 0; i < 3; i++) {
        shots[i] = (struct js_shot){
            .world = world, .subject = "vlp.safe.claim", .payload = PARLEY_BYTES("{}")};
    }
    struct queue queue = {.world = world, .shots = shots};
    loop_do(&world->loop, fill_and_wait, &queue);
    nats_server_end(&world->server, SIGKILL);
    assert_true(loop_wait(&world->loop, seven_woken, &queue, LOOP_PATIENCE_MS));
    assert_int_equal(shots[0].ack.outcome, JETSTREAM_LOST);
    assert_int_equal(shots[0].done, 1);
    assert_int_equal(shots[1].ack.outcome, JETSTREAM_LOST);
}

/* ---- a server that fails ---- */

enum { LOAD_MAX = 400000, UNTRIED = 0 };

/* Publishes numbered messages as fast as there is room. */
struct load {
    struct js_world *world;
    struct jetstream_waiter waiter;
    struct reactor_timer pause;
    struct numbered {
        struct load *load;
        unsigned number;
        unsigned done;
        enum jetstream_outcome outcome;
        uint64_t sequence;
        unsigned found;
    } * messages;
    unsigned sent, stored, lost, timed_out, refused, full, away;
    unsigned more, goal; /* of stored */
    bool is_stopped;
    long most_slept_ms; /* in a call */
};

static void go_on(struct load *load);

static void on_load_ack(void *context, const struct jetstream_ack *ack) {
    struct numbered *message = context;
    struct load *load = message->load;
    message->done++;
    message->outcome = ack->outcome;
    message->sequence = ack->sequence;
    load->stored += ack->outcome == JETSTREAM_STORED;
    load->lost += ack->outcome == JETSTREAM_LOST;
    load->timed_out += ack->outcome == JETSTREAM_TIMEOUT;
    load->refused += ack->outcome == JETSTREAM_REFUSED;
}

static void on_load_room(struct jetstream_waiter *waiter) {
    go_on((struct load *)(void *)((char *)waiter - offsetof(struct load, waiter)));
}

static void on_load_pause(struct reactor_timer *timer) {
    go_on((struct load *)(void *)((char *)timer - offsetof(struct load, pause)));
}

static void go_on(struct load *load) {
    for (int i = 0; i < 500 && !load->is_stopped && load->sent < LOAD_MAX; i++) {
        struct numbered *message = &load->messages[load->sent];
        *message = (struct numbered){.load = load, .number = load->sent};
        char text[16], id[16];
        int length = snprintf(text, sizeof text, "%u", load->sent);
        snprintf(id, sizeof id, "id-%u", load->sent);
        const struct bus_header header = {"Nats-Msg-Id", id};
        const struct jetstream_message sent = {.subject = "vlp.safe.claim",
                                               .headers = &header,
                                               .header_count = 1,
                                               .payload = {text, (size_t)length}};
        struct loop_nap nap;
        loop_nap_begin(&nap);
        enum jetstream_publish result =
            jetstream_publish(load->world->jetstream, &sent, on_load_ack, message);
        const long slept = loop_nap_ms(&nap);
        load->most_slept_ms = slept > load->most_slept_ms ? slept : load->most_slept_ms;
        if (result == JETSTREAM_FULL) {
            load->full++;
            jetstream_wait_for_room(load->world->jetstream, &load->waiter);
            return;
        }
        if (result != JETSTREAM_PUBLISHED) {
            load->away++;
            reactor_timer_set(load->world->loop.reactor, &load->pause, 10);
            return;
        }
        load->sent++;
    }
    if (!load->is_stopped) {
        reactor_timer_set(load->world->loop.reactor, &load->pause, 1);
    }
}

static void start_load(void *context) {
    go_on(context);
}
static void stop_load(void *context) {
    struct load *load = context;
    load->is_stopped = true;
    reactor_timer_clear(load->world->loop.reactor, &load->pause);
    jetstream_wait_cancel(load->world->jetstream, &load->waiter);
}

static void raise_goal(void *context) {
    struct load *load = context;
    load->goal = load->stored + load->more;
}

static bool has_stored_more(void *context) {
    const struct load *load = context;
    return load->stored >= load->goal;
}

static void wait_for_more(struct load *load, unsigned more) {
    load->more = more;
    loop_do(&load->world->loop, raise_goal, load);
    assert_true(loop_wait(&load->world->loop, has_stored_more, load, LOOP_PATIENCE_MS));
}

static void see(void *context, uint64_t sequence, const char *text, int length) {
    struct load *load = context;
    char number[16] = "";
    assert_true(length < 16);
    memcpy(number, text, (size_t)length);
    struct numbered *message = &load->messages[atoi(number)];
    message->found++;
    if (message->outcome == JETSTREAM_STORED) {
        assert_int_equal(message->sequence, sequence);
    }
}

static void check_load(struct load *load) {
    loop_do(&load->world->loop, stop_load, load);
    assert_true(loop_wait(&load->world->loop, js_world_is_idle, load->world, LOOP_PATIENCE_MS));
    js_world_look(load->world);
    js_world_read_all(load->world, see, load);
    for (unsigned i = 0; i < load->sent; i++) {
        const struct numbered *message = &load->messages[i];
        assert_int_equal(message->done, 1);
        if (message->outcome == JETSTREAM_STORED) {
            assert_int_equal(message->found, 1);
        } else {
            assert_true(message->found <= 1);
        }
    }
}

static struct load *create_load(struct js_world *world) {
    struct load *load = calloc(1, sizeof *load);
    load->world = world;
    load->waiter.room = on_load_room;
    load->pause.fire = on_load_pause;
    load->messages = calloc(LOAD_MAX, sizeof *load->messages);
    return load;
}

static void destroy_load(struct load *load) {
    free(load->messages);
    free(load);
}

static void test_a_server_killed_under_load_loses_nothing_that_was_acknowledged(void **state) {
    struct js_world *world = *state;
    world->options.in_flight_count_max = 512;
    js_world_start(world);
    struct load *load = create_load(world);
    loop_do(&world->loop, start_load, load);
    for (int life = 0; life < 3; life++) {
        wait_for_more(load, 1000);
        nats_server_end(&world->server, SIGKILL);
        assert_true(loop_wait(&world->loop, js_world_is_away, world, LOOP_PATIENCE_MS));
        nats_server_start(&world->server);
        assert_true(loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS));
    }
    wait_for_more(load, 1000);
    check_load(load);
    assert_true(load->lost > 0);
    assert_int_equal(load->timed_out, 0); /* they are told at once */
    assert_int_equal(world->away, 3);
    assert_int_equal(world->ready, 4);
    assert_true(load->most_slept_ms < 1000);
    destroy_load(load);
}

static void test_a_server_killed_under_load_is_waited_out(void **state) {
    struct js_world *world = *state;
    world->options.in_flight_count_max = 512;
    world->options.patience_ms = LOOP_PATIENCE_MS;
    world->options.ack_timeout_ms = LOOP_PATIENCE_MS;
    js_world_start(world);
    struct load *load = create_load(world);
    loop_do(&world->loop, start_load, load);
    for (int life = 0; life < 3; life++) {
        wait_for_more(load, 1000);
        nats_server_end(&world->server, SIGKILL);
        nats_server_start(&world->server);
    }
    wait_for_more(load, 1000);
    check_load(load);
    assert_int_equal(load->stored, load->sent);
    assert_int_equal(load->away, 0);
    destroy_load(load);
}

static bool has_timed_out(void *context) {
    return ((struct load *)context)->timed_out > 1000;
}
static bool is_full(void *context) {
    return ((struct load *)context)->full > 0;
}

static void test_a_frozen_server_brings_timeouts_and_blocks_nothing(void **state) {
    struct js_world *world = *state;
    world->options.ack_timeout_ms = 500;
    world->options.in_flight_count_max = 512;
    js_world_start(world);
    struct load *load = create_load(world);
    loop_do(&world->loop, start_load, load);
    wait_for_more(load, 500);
    nats_server_stop(&world->server);
    assert_true(loop_wait(&world->loop, is_full, load, LOOP_PATIENCE_MS));
    assert_true(loop_wait(&world->loop, has_timed_out, load, LOOP_PATIENCE_MS));
    nats_server_continue(&world->server);
    wait_for_more(load, 500);
    check_load(load);
    assert_true(load->most_slept_ms < 1000);
    assert_int_equal(world->away, 0);
    destroy_load(load);
}

struct large_load {
    struct js_world *world;
    struct jetstream_waiter waiter;
    char *payload;
    struct js_shot shots[64];
    unsigned sent, full, woken, woken_before;
    enum jetstream_publish result;
};

static void send_large(void *context);

static void on_large_room(struct jetstream_waiter *waiter) {
    struct large_load *load =
        (struct large_load *)(void *)((char *)waiter - offsetof(struct large_load, waiter));
    load->woken++;
    send_large(load);
}

static void send_large(void *context) {
    struct large_load *load = context;
    load->result = JETSTREAM_PUBLISHED;
    while (load->result == JETSTREAM_PUBLISHED && load->sent < 64) {
        struct js_shot *shot = &load->shots[load->sent];
        *shot = (struct js_shot){.world = load->world,
                                 .subject = "vlp.safe.claim",
                                 .payload = {load->payload, 1000 * 1000}};
        js_shot_go(shot);
        load->result = shot->result;
        load->sent += load->result == JETSTREAM_PUBLISHED;
    }
    if (load->result == JETSTREAM_FULL) {
        load->full++;
        jetstream_wait_for_room(load->world->jetstream, &load->waiter);
    }
}

static bool was_full(void *context) {
    return ((struct large_load *)context)->full > 0;
}

static bool is_woken(void *context) {
    const struct large_load *load = context;
    return load->woken > load->woken_before;
}

/* After the timeouts nothing is in flight, but the bus is still full of what was not read: then no
 * ack will come to wake anyone. */
static void test_a_full_bus_wakes_its_waiters_when_it_drains(void **state) {
    struct js_world *world = *state;
    world->options.ack_timeout_ms = 300;
    js_world_start(world);
    nats_server_stop(&world->server);
    struct large_load *load = calloc(1, sizeof *load);
    load->world = world;
    load->waiter.room = on_large_room;
    load->payload = calloc(1, 1000 * 1000);
    loop_do(&world->loop, send_large, load);
    assert_true(loop_wait(&world->loop, was_full, load, LOOP_PATIENCE_MS));
    assert_true(loop_wait(&world->loop, js_world_is_idle, world, LOOP_PATIENCE_MS));
    assert_true(load->sent < 64);
    load->woken_before = load->woken;
    assert_false(loop_wait(&world->loop, is_woken, load, 300));
    nats_server_continue(&world->server);
    assert_true(loop_wait(&world->loop, is_woken, load, LOOP_PATIENCE_MS));
    assert_true(loop_wait(&world->loop, js_world_is_idle, world, LOOP_PATIENCE_MS));
    for (unsigned i = 0; i < load->sent; i++) {
        assert_int_equal(load->shots[i].done, 1);
    }
    assert_int_equal(load->shots[0].ack.outcome, JETSTREAM_TIMEOUT);
    free(load->payload);
    free(load);
}

/* ---- probing ---- */

static void test_a_frozen_server_is_said_to_be_unresponsive(void **state) {
    struct js_world *world = *state;
    world->options.is_probing = true;
    const long before = js_world_now_ms(); /* it is not probed yet, let alone silent */
    js_world_start(world);
    nats_server_stop(&world->server);
    assert_true(loop_wait(&world->loop, js_world_is_unresponsive, world, LOOP_PATIENCE_MS));
    assert_true(js_world_now_ms() - before >= 5000);
    nats_server_continue(&world->server);
}

/* As nats-server 2.15 does with a stream of which it could not write a message: it answers all but
 * what is published to that. */
static void let_it_acknowledge_nothing(struct js_world *world) {
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, world->context, "VLP", NULL, NULL), NATS_OK);
    info->Config->NoAck = true;
    assert_int_equal(js_UpdateStream(NULL, world->context, info->Config, NULL, NULL), NATS_OK);
    jsStreamInfo_Destroy(info);
}

static void test_a_server_is_unresponsive_that_acknowledges_nothing_in_one_stream(void **state) {
    struct js_world *world = *state;
    world->options.is_probing = true;
    world->options.patience_ms = 8000;
    world->options.ack_timeout_ms = 2000;
    js_world_start(world);
    js_world_look(world);
    let_it_acknowledge_nothing(world);
    const long before = js_world_now_ms();
    struct js_shot shot = {
        .world = world, .subject = "vlp.claim", .id = "1", .payload = PARLEY_BYTES("{}")};
    loop_do(&world->loop, js_shot_go, &shot);
    assert_true(loop_wait(&world->loop, js_world_is_unresponsive, world, LOOP_PATIENCE_MS));
    assert_true(js_world_now_ms() - before >= 5000);
    assert_true(loop_wait(&world->loop, js_shot_is_done, &shot, LOOP_PATIENCE_MS));
}

static void be_busy(void *context) {
    (void)context;
    const struct timespec longer_than_a_server_may_be_silent = {.tv_sec = 7};
    nanosleep(&longer_than_a_server_may_be_silent, NULL);
}

static void test_a_turn_of_ours_that_takes_long_is_not_the_servers_silence(void **state) {
    struct js_world *world = *state;
    world->options.is_probing = true;
    js_world_start(world);
    loop_do(&world->loop, be_busy, NULL);
    assert_false(loop_wait(&world->loop, js_world_is_unresponsive, world, 3000));
}

static void test_a_healthy_server_is_probed_and_left_in_peace(void **state) {
    struct js_world *world = *state;
    world->options.is_probing = true;
    const long before = js_world_now_ms();
    js_world_start(world);
    js_world_look(world);
    uint64_t probes = 0;
    while (probes < 3) {
        assert_false(loop_wait(&world->loop, js_world_is_unresponsive, world, 1000));
        jsStreamInfo *info = NULL;
        assert_int_equal(js_GetStreamInfo(&info, world->context, "PARLEY_PROBE", NULL, NULL),
                         NATS_OK);
        probes = info->State.LastSeq;
        assert_int_equal(info->State.Msgs, probes > 0);
        jsStreamInfo_Destroy(info);
    }
    assert_true(probes <= 1 + (uint64_t)(js_world_now_ms() - before) / 2000); /* no more often */
}

/* ---- asking ---- */

struct asking {
    struct js_world *world;
    const char *stream;
    const char *subject; /* NULL: about the stream alone */
    bool is_asked;
    unsigned answers;
    struct jetstream_stream_info info;
};

static void on_info(void *context, const struct jetstream_stream_info *info) {
    struct asking *asking = context;
    asking->answers++;
    asking->info = *info;
}

static void ask(void *context) {
    struct asking *asking = context;
    struct jetstream *jetstream = asking->world->jetstream;
    asking->is_asked =
        (asking->subject != NULL
             ? jetstream_subject_ask(jetstream, asking->stream, asking->subject, on_info, asking)
             : jetstream_stream_ask(jetstream, asking->stream, on_info, asking)) != NULL;
}

static bool is_answered(void *context) {
    return ((struct asking *)context)->answers > 0;
}

static struct jetstream_stream_info ask_about_subject(struct js_world *world, const char *stream,
                                                      const char *subject) {
    struct asking asking = {.world = world, .stream = stream, .subject = subject};
    loop_do(&world->loop, ask, &asking);
    assert_true(asking.is_asked);
    assert_true(loop_wait(&world->loop, is_answered, &asking, LOOP_PATIENCE_MS));
    return asking.info;
}

static struct jetstream_stream_info ask_about(struct js_world *world, const char *stream) {
    return ask_about_subject(world, stream, NULL);
}

static void test_a_stream_tells_how_many_messages_a_subject_has(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    js_world_look(world);
    js_world_store(world, "vlp.safe.claim", "x");
    js_world_store(world, "vlp.safe.query", "x");
    js_world_store(world, "vlp.safe.claim", "y");
    static const struct {
        const char *subject;
        uint64_t count;
    } rows[] = {{"vlp.safe.claim", 2}, {"vlp.safe.query", 1}, {"vlp.safe.answer", 0}, {NULL, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct jetstream_stream_info info = ask_about_subject(world, "VLP", rows[i].subject);
        assert_true(info.is_known);
        assert_int_equal(info.last_sequence, 3);
        assert_int_equal(info.subject_message_count, rows[i].count);
    }
}

static void test_a_stream_tells_its_bounds(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    struct jetstream_stream_info info = ask_about(world, "VLP");
    assert_true(info.is_known);
    assert_true(strlen(info.created) >= 20);
    assert_int_equal(info.first_sequence, 1);
    assert_int_equal(info.last_sequence, 0);
    assert_int_equal(info.first_time_ns, 0);
    assert_false(ask_about(world, "NONE").is_known);
    js_world_look(world);
    int64_t before = nats_NowInNanoSeconds();
    for (int i = 0; i < 3; i++) {
        js_world_store(world, "vlp.safe.claim", "x");
    }
    info = ask_about(world, "VLP");
    assert_int_equal(info.first_sequence, 1);
    assert_int_equal(info.last_sequence, 3);
    assert_true(info.first_time_ns >= before && info.first_time_ns <= nats_NowInNanoSeconds());
    assert_int_equal(js_PurgeStream(world->context, "VLP", NULL, NULL), NATS_OK);
    info = ask_about(world, "VLP");
    assert_int_equal(info.first_sequence, 4);
    assert_int_equal(info.last_sequence, 3);
}

static void test_a_question_is_answered_when_the_connection_breaks(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    nats_server_stop(&world->server);
    struct asking asking = {.world = world, .stream = "VLP"};
    loop_do(&world->loop, ask, &asking);
    assert_true(asking.is_asked);
    nats_server_end(&world->server, SIGKILL);
    assert_true(loop_wait(&world->loop, js_world_is_away, world, LOOP_PATIENCE_MS));
    assert_true(loop_wait(&world->loop, is_answered, &asking, 0)); /* not only after a timeout */
    assert_false(asking.info.is_known);
    loop_do(&world->loop, ask, &asking);
    assert_false(asking.is_asked);
}

struct holding {
    struct js_world *world;
    const char *stream;
    uint64_t sequence;
    struct jetstream_request *request;
    unsigned answers;
    int found;
    char subject[64], headers[512], error[128];
};

static void on_held(void *context, const struct jetstream_held *held) {
    struct holding *holding = context;
    holding->answers++;
    holding->found = (int)held->found;
    snprintf(holding->subject, sizeof holding->subject, "%s",
             held->subject != NULL ? held->subject : "");
    snprintf(holding->headers, sizeof holding->headers, "%.*s", (int)held->headers.length,
             held->headers.data != NULL ? held->headers.data : "");
    snprintf(holding->error, sizeof holding->error, "%s", held->error != NULL ? held->error : "");
}

static void ask_held(void *context) {
    struct holding *holding = context;
    holding->request = jetstream_held_ask(holding->world->jetstream, holding->stream,
                                          holding->sequence, on_held, holding);
}

static bool is_told_held(void *context) {
    return ((struct holding *)context)->answers == 1;
}

static struct holding held_of(struct js_world *world, const char *stream, uint64_t sequence) {
    struct holding holding = {.world = world, .stream = stream, .sequence = sequence};
    loop_do(&world->loop, ask_held, &holding);
    assert_non_null(holding.request);
    assert_true(loop_wait(&world->loop, is_told_held, &holding, LOOP_PATIENCE_MS));
    return holding;
}

static void test_a_message_is_found_by_its_sequence_with_its_headers(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    js_world_look(world);
    js_world_store(world, "vlp.safe.claim", "{}");
    const struct js_shot shot = js_world_fire(world, "vlp.block.notice", "an id");
    const struct holding first = held_of(world, "VLP", shot.ack.sequence - 1);
    assert_int_equal(first.found, JETSTREAM_HELD_FOUND);
    assert_string_equal(first.subject, "vlp.safe.claim");
    assert_string_equal(first.headers, "");
    const struct holding second = held_of(world, "VLP", shot.ack.sequence);
    assert_string_equal(second.subject, "vlp.block.notice");
    assert_string_equal(second.headers, "NATS/1.0\r\nNats-Msg-Id: an id\r\n\r\n");
}

/* Its answer is longer than what a client may send. */
static void test_the_headers_of_a_message_as_large_as_can_be_are_found(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    size_t length = 1024 * 1024 - 64;
    char *payload = malloc(length);
    memset(payload, '"', length);
    struct js_shot shot = {
        .world = world, .subject = "vlp.safe.claim", .id = "large", .payload = {payload, length}};
    loop_do(&world->loop, js_shot_go, &shot);
    assert_true(loop_wait(&world->loop, js_shot_is_done, &shot, LOOP_PATIENCE_MS));
    const struct holding holding = held_of(world, "VLP", shot.ack.sequence);
    assert_int_equal(holding.found, JETSTREAM_HELD_FOUND);
    assert_non_null(strstr(holding.headers, "Nats-Msg-Id: large\r\n"));
    free(payload);
}

static void test_a_message_that_was_removed_is_gone(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    js_world_look(world);
    const uint64_t sequence = js_world_store(world, "vlp.safe.claim", "{}");
    assert_int_equal(js_DeleteMsg(world->context, "VLP", sequence, NULL, NULL), NATS_OK);
    assert_int_equal(held_of(world, "VLP", sequence).found, JETSTREAM_HELD_GONE);
    assert_int_equal(held_of(world, "VLP", sequence + 1).found, JETSTREAM_HELD_GONE);
}

static void test_of_a_stream_that_is_gone_nothing_is_known(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    const struct holding holding = held_of(world, "NONE", 1);
    assert_int_equal(holding.found, JETSTREAM_HELD_UNKNOWN);
    assert_non_null(strstr(holding.error, "stream"));
}

struct fetching {
    struct js_world *world;
    uint64_t sequence;
    unsigned answers;
    int found;
    char payload[32];
};

static void on_fetched(void *context, const struct jetstream_last *last) {
    struct fetching *fetching = context;
    fetching->answers++;
    fetching->found = (int)last->found;
    snprintf(fetching->payload, sizeof fetching->payload, "%.*s", (int)last->payload.length,
             last->payload.data != NULL ? last->payload.data : "");
}

static void fetch(void *context) {
    struct fetching *fetching = context;
    assert_non_null(jetstream_message_ask(fetching->world->jetstream, "VLP", fetching->sequence,
                                          on_fetched, fetching));
}

static bool is_fetched(void *context) {
    return ((struct fetching *)context)->answers == 1;
}

static void assert_fetched(struct js_world *world, uint64_t sequence, int found,
                           const char *payload) {
    struct fetching fetching = {.world = world, .sequence = sequence};
    loop_do(&world->loop, fetch, &fetching);
    assert_true(loop_wait(&world->loop, is_fetched, &fetching, LOOP_PATIENCE_MS));
    assert_int_equal(fetching.found, found);
    assert_string_equal(fetching.payload, payload);
}

/* Before it is noticed that no server answers direct requests any more, and after. */
static void test_a_message_is_fetched_directly_and_else_by_the_api(void **state) {
    struct js_world *world = *state;
    jsStreamInfo *info = NULL;
    js_world_start(world);
    js_world_look(world);
    const uint64_t sequence = js_world_store(world, "vlp.safe.claim", "{\"n\":1}");
    assert_int_equal(js_GetStreamInfo(&info, world->context, "VLP", NULL, NULL), NATS_OK);
    assert_true(info->Config->AllowDirect);
    for (int round = 0; round < 3; round++) {
        assert_fetched(world, sequence, JETSTREAM_LAST_FOUND, "{\"n\":1}");
        assert_fetched(world, sequence + 1, JETSTREAM_LAST_NONE, "");
        info->Config->AllowDirect = false;
        assert_int_equal(js_UpdateStream(NULL, world->context, info->Config, NULL, NULL), NATS_OK);
    }
    jsStreamInfo_Destroy(info);
}

static void test_nothing_is_known_of_a_message_when_the_connection_breaks(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    nats_server_stop(&world->server);
    struct holding holding = {.world = world, .stream = "VLP", .sequence = 1};
    loop_do(&world->loop, ask_held, &holding);
    nats_server_end(&world->server, SIGKILL);
    assert_true(loop_wait(&world->loop, js_world_is_away, world, LOOP_PATIENCE_MS));
    assert_true(loop_wait(&world->loop, is_told_held, &holding, 0)); /* not only after a timeout */
    assert_int_equal(holding.found, JETSTREAM_HELD_UNKNOWN);
    assert_string_equal(holding.error, "");
}

/* ---- removing ---- */

struct removing {
    struct js_world *world;
    struct jetstream_removal what;
    unsigned answers;
    bool is_done;
};

static void on_removed(void *context, bool is_done) {
    struct removing *removing = context;
    removing->answers++;
    removing->is_done = is_done;
}

static void ask_to_remove(void *context) {
    struct removing *removing = context;
    assert_non_null(jetstream_purge_ask(removing->world->jetstream, "VLP", &removing->what,
                                        on_removed, removing));
}

static bool is_told_removed(void *context) {
    return ((struct removing *)context)->answers == 1;
}

static void append_sequence(void *context, uint64_t sequence, const char *text, int length) {
    char *left = context;
    (void)text;
    (void)length;
    snprintf(strchr(left, '\0'), 8, "%u ", (unsigned)sequence);
}

/* `left`: their sequences, with blanks. */
static void assert_leaves(struct js_world *world, struct jetstream_removal what, const char *left) {
    struct removing removing = {.world = world, .what = what};
    char found[64] = "";
    loop_do(&world->loop, ask_to_remove, &removing);
    assert_true(loop_wait(&world->loop, is_told_removed, &removing, LOOP_PATIENCE_MS));
    assert_true(removing.is_done);
    js_world_read_all(world, append_sequence, found);
    assert_string_equal(found, left);
}

static void test_a_part_of_a_subject_is_removed(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    js_world_look(world);
    for (int i = 0; i < 4; i++) {
        js_world_store(world, "vlp.safe.claim", "{}");
        js_world_store(world, "vlp.block.notice", "{}");
    }
    const char *subject = "vlp.safe.claim";
    assert_leaves(world, (struct jetstream_removal){subject, .before = 4}, "2 4 5 6 7 8 ");
    assert_leaves(world, (struct jetstream_removal){subject, .before = 5}, "2 4 5 6 7 8 ");
    assert_leaves(world, (struct jetstream_removal){subject, .keep = 1}, "2 4 6 7 8 ");
    assert_leaves(world, (struct jetstream_removal){subject, .before = 90}, "2 4 6 8 ");
}

static void test_it_can_be_destroyed_with_everything_under_way(void **state) {
    struct js_world *world = *state;
    js_world_start(world);
    nats_server_stop(&world->server);
    struct js_shot shot = {.world = world, .subject = "vlp.safe.claim"};
    struct asking asking = {.world = world, .stream = "VLP"};
    loop_do(&world->loop, js_shot_go, &shot);
    loop_do(&world->loop, ask, &asking);
    js_world_close(world);
    assert_int_equal(shot.done, 0);
    assert_int_equal(asking.answers, 0);
    nats_server_continue(&world->server);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, js_world_set_up, js_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_publication_is_acknowledged_with_its_sequence),
        TEST(test_the_same_id_again_is_a_duplicate),
        TEST(test_one_byte_too_much_is_refused_before_it_is_sent),
        TEST(test_a_full_window_wakes_its_waiters_in_turn),
        TEST(test_each_share_of_the_window_is_full_in_its_turn),
        TEST(test_each_share_of_the_bytes_is_full_in_its_turn),
        TEST(test_a_waiter_is_not_woken_for_what_is_not_its_share),
        TEST(test_waiters_are_woken_when_the_bus_goes_away),
        TEST(test_a_server_killed_under_load_loses_nothing_that_was_acknowledged),
        TEST(test_a_server_killed_under_load_is_waited_out),
        TEST(test_a_frozen_server_brings_timeouts_and_blocks_nothing),
        TEST(test_a_full_bus_wakes_its_waiters_when_it_drains),
        TEST(test_a_frozen_server_is_said_to_be_unresponsive),
        TEST(test_a_server_is_unresponsive_that_acknowledges_nothing_in_one_stream),
        TEST(test_a_turn_of_ours_that_takes_long_is_not_the_servers_silence),
        TEST(test_a_healthy_server_is_probed_and_left_in_peace),
        TEST(test_a_stream_tells_how_many_messages_a_subject_has),
        TEST(test_a_stream_tells_its_bounds),
        TEST(test_a_question_is_answered_when_the_connection_breaks),
        TEST(test_a_message_is_found_by_its_sequence_with_its_headers),
        TEST(test_the_headers_of_a_message_as_large_as_can_be_are_found),
        TEST(test_a_message_that_was_removed_is_gone),
        TEST(test_of_a_stream_that_is_gone_nothing_is_known),
        TEST(test_a_message_is_fetched_directly_and_else_by_the_api),
        TEST(test_nothing_is_known_of_a_message_when_the_connection_breaks),
        TEST(test_a_part_of_a_subject_is_removed),
        TEST(test_it_can_be_destroyed_with_everything_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
