/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answer to a body of many: its items in their order, as lines or in one JSON document, written
 * as they become known and read by the client at its own pace. This decides when the answer begins,
 * and where items wait until the client has read them. */

#include "commit.h"
#include "http.h"
#include "reactor.h"
#include "spool.h"

enum outlet_form {
    OUTLET_LINES,    /* a line each */
    OUTLET_DOCUMENT, /* {"results":[…],"summary":{…}} */
    OUTLET_ARRAY,    /* […] */
};

enum outlet_phase {
    OUTLET_AFTER, /* the client cannot be answered before the body has ended */
    OUTLET_LATE,  /* it does, but the body is short: the answer begins if it is slow to end … */
    OUTLET_ENDED, /* … and it was not */
    OUTLET_READY, /* the answer begins with the first piece of the body */
    OUTLET_LIVE,  /* it has begun */
    OUTLET_WHOLE, /* all of it is there */
};

struct outlet_options {
    struct reactor *reactor;
    struct commit_queue *commit; /* what is sent has to be on the disk before; NULL: it has not */
    struct http_request *request;
    const char *data;          /* the folder for what waits; borrowed, like all of these */
    struct spool_quota *quota; /* of the process */
    int64_t idle_timeout_ms;   /* of a connection */
    const char *media_type;    /* of the answer */
    enum outlet_form form;
    ssize_t (*read)(void *state, char *buffer,
                    size_t size); /* of http's state, as it asks for it */
    /* More items may be written. */
    void (*on_room)(void *context);
    void *context;
};

/* The owner embeds it. */
struct outlet {
    struct outlet_options options; /* request: NULL once it is gone */
    struct spool spool;
    struct reactor_timer timer; /* until a client counts as slow, or room is asked for again */
    enum outlet_phase phase;
    bool is_spooled; /* the client may send all before it reads anything */
    uint64_t read_offset, item_count;
    struct commit_wait commit;
    struct reactor_timer commit_pause; /* before it */
    uint64_t sent_bytes;               /* of the answer, in all */
    uint64_t committing_bytes;         /* of it, for which `commit` waits … */
    uint64_t committed_bytes;          /* … and which may be sent */
    size_t item_start;                 /* in the spool's open end */
};

void outlet_init(struct outlet *outlet, const struct outlet_options *options);
void outlet_finish(struct outlet *outlet);
/* The request is gone. */
void outlet_close(struct outlet *outlet);

/* Whether more items may wait for the client. */
bool outlet_has_room(struct outlet *outlet);

/* To write one item, with a line feed at its end, and then outlet_end_item.
 * Returns: NULL: nothing more can be kept. */
struct parley_buffer *outlet_begin_item(struct outlet *outlet);
/* Returns: whether it is kept: there may have been no memory for it. */
bool outlet_end_item(struct outlet *outlet);

/* A piece of the body has come, or its end. */
void outlet_begin(struct outlet *outlet, bool has_ended);
/* What could be done with the body was done: sees to it that what waits for room goes on.
 * Returns: false: it never will, since the client cannot be answered before its body has ended. */
bool outlet_wait(struct outlet *outlet);

/* All items were written: `summary` follows, which is a member of an object; NULL: none.
 * Returns: whether there was memory for it. */
bool outlet_end(struct outlet *outlet, struct parley_buffer *summary);
/* The answer goes out, or its end does: all of it is there, or it cannot be whole. */
void outlet_send(struct outlet *outlet);
/* Lets the client learn at once that the answer breaks off. */
void outlet_wake(struct outlet *outlet);

/* For http_respond_stream.  Returns: how much there was, 0 where there is nothing that may be sent
 * now, -1: it cannot be read. */
ssize_t outlet_read(struct outlet *outlet, char *buffer, size_t size);
/* Whether all that there is was read. */
bool outlet_is_read(const struct outlet *outlet);
