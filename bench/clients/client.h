/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the programs that load a server share: connections to loopback, the clock, and answers in
 * chunks, read for their lines. All of it exits when something fails: half a run measures nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

double client_now_s(void);
/* Processor time of this process so far, its threads together. */
double client_cpu_s(void);

/* A decimal number of at least `least` from the command line. */
unsigned long client_number(const char *text, unsigned long least);

/* A connected socket, which blocks and does not wait to fill segments. */
int client_connect(const char *port);

void client_send(int fd, const char *data, size_t length);

/* Asks for a stream on that connection. `TE: chunked` is what nchan wants to hear. */
void client_send_get(int fd, const char *port, const char *target);

/* A response in chunks while it arrives. Zeroed, it is at its start. */
struct chunked {
    enum {
        CHUNKED_STATUS,
        CHUNKED_HEAD,
        CHUNKED_SIZE,
        CHUNKED_DATA,
        CHUNKED_DATA_END,
        CHUNKED_END
    } state;
    char text[16];      /* of the status line, or of a chunk's size */
    size_t text_length; /* of it, or of the header line */
    size_t left;        /* of the chunk */
    bool is_in_line;    /* a line has begun; blank ones keep a connection alive, and do not count */
    uint64_t line_count; /* of whole lines */
    uint64_t byte_count; /* of their bytes, without the ends */
};

/* Takes what came. It exits on any status but 200 and on what is no chunk. */
void chunked_take(struct chunked *chunked, const char *data, size_t size);

static inline bool chunked_has_head(const struct chunked *chunked) {
    return chunked->state >= CHUNKED_SIZE;
}

/* Its last chunk has come. */
static inline bool chunked_has_ended(const struct chunked *chunked) {
    return chunked->state == CHUNKED_END;
}
