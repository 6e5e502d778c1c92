/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_world.h. Failures of the second client abort: it is not what is tested. */

#include "jetstream_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nats_client.h"

static const struct jetstream_stream STREAMS[] = {{.name = "VLP", .subjects = "vlp.>"}};

static void on_ready(void *context) {
    ((struct js_world *)context)->ready++;
}
static void on_away(void *context) {
    struct js_world *world = context;
    world->away++;
    if (world->when_away != NULL) {
        world->when_away(world->when_away_context);
    }
}
static void on_unresponsive(void *context) {
    ((struct js_world *)context)->unresponsive++;
}

static void on_unusable(void *context, const char *error) {
    struct js_world *world = context;
    world->unusable++;
    snprintf(world->error, sizeof world->error, "%s", error);
}

void js_world_init(struct js_world *world) {
    memset(world, 0, sizeof *world);
    nats_server_init(&world->server, true);
    world->options = (struct jetstream_options){
        .bus = {.name = "test"},
        .streams = STREAMS,
        .stream_count = 1,
        .replicas = 1,
        .dedupe_window_ms = 120000,
        .ack_timeout_ms = LOOP_PATIENCE_MS,
        .in_flight_count_max = 4096,
        .in_flight_bytes_max = 64 * 1024 * 1024,
    };
}

void js_world_open(struct js_world *world) {
    loop_create(&world->loop);
    world->options.bus.urls = world->server.url;
    const struct jetstream_events events = {.ready = on_ready,
                                            .away = on_away,
                                            .unusable = on_unusable,
                                            .unresponsive = on_unresponsive,
                                            .context = world};
    if (jetstream_create(world->loop.reactor, &world->options, &events, &world->jetstream) !=
        PARLEY_OK) {
        abort();
    }
    loop_start(&world->loop);
}

void js_world_close(struct js_world *world) {
    loop_stop(&world->loop);
    jetstream_destroy(world->jetstream);
    loop_destroy(&world->loop);
    world->jetstream = NULL;
}

bool js_world_is_ready(void *context) {
    return jetstream_is_ready(((struct js_world *)context)->jetstream);
}
bool js_world_is_away(void *context) {
    return !js_world_is_ready(context);
}
bool js_world_is_unusable(void *context) {
    return ((struct js_world *)context)->unusable > 0;
}
bool js_world_is_unresponsive(void *context) {
    return ((struct js_world *)context)->unresponsive > 0;
}
bool js_world_is_idle(void *context) {
    return jetstream_in_flight_count(((struct js_world *)context)->jetstream) == 0;
}

static void must(natsStatus status, const char *what) {
    if (status != NATS_OK) {
        fprintf(stderr, "%s: %s\n", what, natsStatus_GetText(status));
        abort();
    }
}

void js_world_start(struct js_world *world) {
    nats_server_start(&world->server);
    js_world_open(world);
    if (!loop_wait(&world->loop, js_world_is_ready, world, LOOP_PATIENCE_MS)) {
        fprintf(stderr, "never ready\n");
        abort();
    }
}

static void stop_looking(struct js_world *world) {
    jsCtx_Destroy(world->context);
    natsConnection_Destroy(world->connection);
    world->context = NULL;
    world->connection = NULL;
}

void js_world_finish(struct js_world *world) {
    if (world->jetstream != NULL) {
        js_world_close(world);
    }
    stop_looking(world);
    nats_server_finish(&world->server);
}

int js_world_set_up(void **state) {
    struct js_world *world = malloc(sizeof *world);
    if (world == NULL) {
        return -1;
    }
    js_world_init(world);
    *state = world;
    return 0;
}

int js_world_tear_down(void **state) {
    js_world_finish(*state);
    free(*state);
    return 0;
}

void js_world_look(struct js_world *world) {
    stop_looking(world);
    nats_client_connect(world->server.url, &world->connection, &world->context);
}

void js_world_add_stream(struct js_world *world, const char *name, const char *subject) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = name;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    must(js_AddStream(NULL, world->context, &config, NULL, NULL), "add stream");
}

uint64_t js_world_store(struct js_world *world, const char *subject, const char *text) {
    jsPubAck *ack = NULL;
    must(js_Publish(&ack, world->context, subject, text, (int)strlen(text), NULL, NULL), "publish");
    uint64_t sequence = ack->Sequence;
    jsPubAck_Destroy(ack);
    return sequence;
}

uint64_t js_world_last_sequence(struct js_world *world) {
    jsStreamInfo *info = NULL;
    must(js_GetStreamInfo(&info, world->context, "VLP", NULL, NULL), "stream info");
    uint64_t last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    return last;
}

void js_world_read_all(struct js_world *world,
                       void (*seen)(void *context, uint64_t sequence, const char *text, int length),
                       void *context) {
    uint64_t last = js_world_last_sequence(world);
    if (last == 0) {
        return;
    }
    natsSubscription *subscription = NULL;
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Ordered = true;
    must(js_SubscribeSync(&subscription, world->context, "vlp.>", NULL, &options, NULL),
         "subscribe");
    for (uint64_t sequence = 0; sequence < last;) {
        natsMsg *message = NULL;
        jsMsgMetaData *meta = NULL;
        must(natsSubscription_NextMsg(&message, subscription, LOOP_PATIENCE_MS), "next message");
        must(natsMsg_GetMetaData(&meta, message), "meta data");
        sequence = meta->Sequence.Stream;
        jsMsgMetaData_Destroy(meta);
        seen(context, sequence, natsMsg_GetData(message), natsMsg_GetDataLength(message));
        natsMsg_Destroy(message);
    }
    natsSubscription_Destroy(subscription);
}

static void on_done(void *context, const struct jetstream_ack *ack) {
    struct js_shot *shot = context;
    shot->done++;
    shot->ack = *ack;
    snprintf(shot->stream, sizeof shot->stream, "%s", ack->stream != NULL ? ack->stream : "");
    snprintf(shot->error, sizeof shot->error, "%s", ack->error != NULL ? ack->error : "");
}

void js_shot_go(void *context) {
    struct js_shot *shot = context;
    const struct bus_header header = {"Nats-Msg-Id", shot->id};
    shot->done = 0;
    const struct jetstream_message message = {.subject = shot->subject,
                                              .headers = &header,
                                              .header_count = shot->id != NULL ? 1 : 0,
                                              .payload = shot->payload,
                                              .sender = shot->sender,
                                              .share = shot->share};
    shot->result = jetstream_publish(shot->world->jetstream, &message, on_done, shot);
    if (shot->done != 0) {
        fprintf(stderr, "the ack came within the call\n");
        abort();
    }
}

bool js_shot_is_done(void *context) {
    return ((struct js_shot *)context)->done > 0;
}

struct js_shot js_world_fire(struct js_world *world, const char *subject, const char *id) {
    struct js_shot shot = {
        .world = world, .subject = subject, .id = id, .payload = PARLEY_BYTES("{}")};
    loop_do(&world->loop, js_shot_go, &shot);
    if (shot.result != JETSTREAM_PUBLISHED ||
        !loop_wait(&world->loop, js_shot_is_done, &shot, LOOP_PATIENCE_MS) || shot.done != 1) {
        fprintf(stderr, "publishing on %s: result %d, done %u times\n", subject, shot.result,
                shot.done);
        abort();
    }
    return shot;
}

long js_world_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
