/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answer to a body of many: its items in their order, as lines or in one JSON document, written
 * as they become known and read by the client at its own pace. This decides when the answer begins,
 * and where items wait until the client has read them. */

#include "commit.h"
#include "http.h"
#include "reactor.h"
#include "spool.h"

enum result_writer_form {
    OUTLET_LINES,    /* a line each */
    OUTLET_DOCUMENT, /* {"results":[…],"summary":{…}} */
    OUTLET_ARRAY,    /* […] */
};

enum result_writer_phase {
    OUTLET_AFTER, /* the client cannot be answered before the body has ended */
    OUTLET_LATE,  /* it does, but the body is short: the answer begins if it is slow to end … */
    OUTLET_ENDED, /* … and it was not */
    OUTLET_READY, /* the answer begins with the first piece of the body */
    OUTLET_LIVE,  /* it has begun */
    OUTLET_WHOLE, /* all of it is there */
};

struct result_writer_options {
    struct reactor *reactor;
    struct commit_queue
        *commit; /* results must be on the disk before they are sent; NULL if they need not */
    struct http_request *request;
    const char *data;          /* the folder for what waits; borrowed, like all of these */
    struct spool_quota *quota; /* of the process */
    int64_t idle_timeout_ms;   /* of a connection */
    const char *media_type;    /* of the answer */
    enum result_writer_form form;
    ssize_t (*read)(void *state, char *buffer,
                    size_t size); /* of http's state, as it asks for it */
    /* More items may be written. */
    void (*on_room)(void *context);
    void *context;
};

/* The owner embeds it. */
struct result_writer {
    struct result_writer_options options; /* request: NULL once it is gone */
    struct spool spool;
    struct reactor_timer timer; /* until a client counts as slow, or room is asked for again */
    enum result_writer_phase phase;
    bool is_spooled; /* the client may send all before it reads anything */
    uint64_t read_offset, item_count;
    struct commit_wait commit;
    struct reactor_timer commit_pause; /* before it */
    uint64_t sent_bytes;               /* of the answer, in all */
    uint64_t committing_bytes;         /* of it, for which `commit` waits … */
    uint64_t committed_bytes;          /* … and which may be sent */
    size_t item_start;                 /* in the spool's open end */
};

void result_writer_init(struct result_writer *outlet, const struct result_writer_options *options);
void result_writer_finish(struct result_writer *outlet);
/* The request is gone. */
void result_writer_close(struct result_writer *outlet);

/* Whether more items may wait for the client. */
bool result_writer_has_room(struct result_writer *outlet);

/* To write one item, with a line feed at its end, and then result_writer_end_item. Returns: NULL:
 * no more can be kept. */
struct parley_buffer *result_writer_begin_item(struct result_writer *outlet);
/* Returns: whether it is kept: there may have been no memory for it. */
bool result_writer_end_item(struct result_writer *outlet);

/* A piece of the body has come, or its end. */
void result_writer_begin(struct result_writer *outlet, bool has_ended);
/* Called when the body can make no further progress: makes the part that waits for room continue.
 * Returns: false: it never will, since the client cannot be answered before its body has ended. */
bool result_writer_wait(struct result_writer *outlet);

/* Ends the items: `summary` follows, which is a member of an object; NULL for none. Returns:
 * whether there was memory for it. */
bool result_writer_end(struct result_writer *outlet, struct parley_buffer *summary);
/* The answer goes out, or its end does: all of it is there, or it cannot be whole. */
void result_writer_send(struct result_writer *outlet);
/* Lets the client learn at once that the answer breaks off. */
void result_writer_wake(struct result_writer *outlet);

/* For http_respond_stream.  Returns: how much there was, 0 where there is nothing that may be sent
 * now, -1: it cannot be read. */
ssize_t result_writer_read(struct result_writer *outlet, char *buffer, size_t size);
/* Whether all that there is was read. */
bool result_writer_is_read(const struct result_writer *outlet);
