/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A jetstream on a loop of its own with a real nats-server, for tests, and nats.c beside it as the
 * second client that looks at what is really there. */

#include <nats/nats.h>

#include "jetstream.h"
#include "loop.h"
#include "nats_server.h"

struct js_world {
    struct nats_server server;
    struct loop loop;
    struct jetstream *jetstream;
    struct jetstream_options options;
    unsigned ready, away, unusable, unresponsive;
    char error[1024];
    void (*when_away)(void *context); /* called on the loop's thread as it goes away, or NULL */
    void *when_away_context;
    /* The second client. */
    natsConnection *connection;
    jsCtx *context;
};

/* The server is not yet started; options are a stream VLP with vlp.>, and may be changed. */
void js_world_init(struct js_world *world);
void js_world_finish(struct js_world *world);
/* For cmocka: the state is one that is initialised. */
int js_world_set_up(void **state);
int js_world_tear_down(void **state);

void js_world_open(struct js_world *world);
void js_world_close(struct js_world *world);
/* Starts the server, opens, and waits until it is ready. */
void js_world_start(struct js_world *world);

bool js_world_is_ready(void *world);
bool js_world_is_away(void *world);
bool js_world_is_unusable(void *world);
bool js_world_is_unresponsive(void *world);
bool js_world_is_idle(void *world); /* nothing in flight */

/* Connects the second client. Again after the server was restarted. */
void js_world_look(struct js_world *world);
/* Creates a stream by the second client. */
void js_world_add_stream(struct js_world *world, const char *name, const char *subject);
/* Stores a message by the second client; returns its sequence. */
uint64_t js_world_store(struct js_world *world, const char *subject, const char *text);
uint64_t js_world_last_sequence(struct js_world *world);

/* What the stream VLP holds: calls `seen` for each message, in order. */
void js_world_read_all(struct js_world *world,
                       void (*seen)(void *context, uint64_t sequence, const char *text, int length),
                       void *context);

/* One publication and what came of it. */
struct js_shot {
    struct js_world *world;
    const char *subject;
    const char *id; /* Nats-Msg-Id, or NULL */
    struct parley_bytes payload;
    struct jetstream_sender *sender; /* or NULL */
    unsigned share;                  /* of the window; 0: all of it */
    enum jetstream_publish result;
    unsigned done;
    struct jetstream_ack ack;
    char stream[64], error[256]; /* the ack's texts */
};

/* Publishes it; for loop_do. */
void js_shot_go(void *shot);
bool js_shot_is_done(void *shot);
/* Publishes `{}` and waits for what comes of it. */
struct js_shot js_world_fire(struct js_world *world, const char *subject, const char *id);

long js_world_now_ms(void);
