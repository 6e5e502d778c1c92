/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A reader of one feed on a real JetStream, for the tests of feeds. The functions that take a void
 * pointer to it run on the loop's thread (loop_do), or are asked there (loop_wait). */

#include "../lib/jetstream_world.h"

struct reader {
    struct js_world *world;
    struct jetstream_start start;
    enum ordered_mode mode;
    struct ordered_consumer *feed;
    unsigned opened;
    uint64_t next_sequence;
    unsigned count;
    uint64_t first, last;
    uint64_t goal; /* a last sequence to wait for */
    unsigned disorders;
    int64_t last_time_ns;
    char subject[64], text[64];
    size_t pull_at_first; /* and one for each that comes, if pulls_again */
    bool pulls_again;
    unsigned close_after; /* in the callback, after so many; 0: never */
    bool closes_when_opened;
    size_t more;
    size_t first_bytes;           /* of pull_at_first; 0: enough */
    size_t rest_pull, rest_bytes; /* when it rests */
    unsigned rests;
    unsigned refusals; /* text is why */
};

/* More than any message here that is not large on purpose. */
enum { BYTES_A_PULL = 1000 };

extern const enum ordered_mode MODES[2];

void open_now(void *context);
void close_now(void *context);
void open_and_close(void *context);
void pull_more(void *context);
bool is_opened(void *context);
bool is_refused(void *context);
bool has_reached(void *context);
bool is_closed(void *context);
void open_reader(struct reader *reader);
void close_reader(struct reader *reader);
void wait_for(struct reader *reader, uint64_t sequence, int timeout_ms);
void start(struct js_world *world);
void store_many(struct js_world *world, unsigned count);
void store_burst(struct js_world *world, unsigned count);
struct reader reader_of(struct js_world *world, enum ordered_mode mode);
