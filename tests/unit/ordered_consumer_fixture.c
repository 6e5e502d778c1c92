/* SPDX-License-Identifier: Apache-2.0 */

/* What a reader of a feed notes of what it is told. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ordered_consumer_fixture.h"

static void on_opened(void *context, uint64_t next_sequence) {
    struct reader *reader = context;
    reader->opened++;
    reader->next_sequence = next_sequence;
    if (reader->closes_when_opened) {
        ordered_consumer_close(reader->feed);
        reader->feed = NULL;
    }
}

static void on_stored(void *context, const struct jetstream_stored *stored) {
    struct reader *reader = context;
    reader->disorders += reader->opened != 1 || stored->sequence <= reader->last;
    reader->first = reader->count == 0 ? stored->sequence : reader->first;
    reader->last = stored->sequence;
    reader->count++;
    reader->last_time_ns = stored->time_ns;
    snprintf(reader->subject, sizeof reader->subject, "%s", stored->subject);
    snprintf(reader->text, sizeof reader->text, "%.*s", (int)stored->payload.length,
             stored->payload.data);
    if (reader->pulls_again) {
        ordered_consumer_pull(reader->feed, 1, BYTES_A_PULL);
    }
    if (reader->close_after == reader->count) {
        ordered_consumer_close(reader->feed);
        reader->feed = NULL;
    }
}

static void on_pull_ended(void *context) {
    struct reader *reader = context;
    reader->rests++;
    if (reader->rest_pull > 0) {
        ordered_consumer_pull(reader->feed, reader->rest_pull, reader->rest_bytes);
    }
}

static void on_refused(void *context, const char *error) {
    struct reader *reader = context;
    reader->refusals++;
    snprintf(reader->text, sizeof reader->text, "%s", error);
}

bool is_refused(void *context) {
    return ((struct reader *)context)->refusals > 0;
}

void open_now(void *context) {
    struct reader *reader = context;
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_stored,
                                                   .pull_ended = on_pull_ended,
                                                   .refused = on_refused,
                                                   .context = reader};
    assert_int_equal(ordered_consumer_open(reader->world->jetstream, "VLP", reader->start,
                                           reader->mode, &events, &reader->feed),
                     PARLEY_OK);
    if (reader->pull_at_first > 0) {
        ordered_consumer_pull(reader->feed, reader->pull_at_first,
                              reader->first_bytes > 0 ? reader->first_bytes
                                                      : reader->pull_at_first * BYTES_A_PULL);
    }
}

void close_now(void *context) {
    struct reader *reader = context;
    ordered_consumer_close(reader->feed);
    reader->feed = NULL;
}

void open_and_close(void *context) {
    open_now(context);
    close_now(context);
}

void pull_more(void *context) {
    struct reader *reader = context;
    ordered_consumer_pull(reader->feed, reader->more, reader->more * BYTES_A_PULL);
}

bool is_opened(void *context) {
    return ((struct reader *)context)->opened > 0;
}
bool has_reached(void *context) {
    return ((struct reader *)context)->last >= ((struct reader *)context)->goal;
}
bool is_closed(void *context) {
    return ((struct reader *)context)->feed == NULL;
}

void open_reader(struct reader *reader) {
    loop_do(&reader->world->loop, open_now, reader);
}

void close_reader(struct reader *reader) {
    loop_do(&reader->world->loop, close_now, reader);
}

void wait_for(struct reader *reader, uint64_t sequence, int timeout_ms) {
    reader->goal = sequence;
    if (!loop_wait(&reader->world->loop, has_reached, reader, timeout_ms)) {
        fail_msg("reached %lu of %lu", (unsigned long)reader->last, (unsigned long)sequence);
    }
}

void start(struct js_world *world) {
    js_world_start(world);
    js_world_look(world);
}

void store_many(struct js_world *world, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        js_world_store(world, "vlp.safe.claim", "text");
    }
}

void store_burst(struct js_world *world, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(js_PublishAsync(world->context, "vlp.safe.claim", "text", 4, NULL),
                         NATS_OK);
    }
    assert_int_equal(js_PublishAsyncComplete(world->context, NULL), NATS_OK);
}

const enum ordered_mode MODES[2] = {ORDERED_FOLLOW, ORDERED_REPLAY};

struct reader reader_of(struct js_world *world, enum ordered_mode mode) {
    return (struct reader){.world = world,
                           .mode = mode,
                           .pull_at_first = mode == ORDERED_REPLAY ? 16 : 0,
                           .pulls_again = mode == ORDERED_REPLAY};
}
