/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The reason why a message was not stored, or why that is not known, as a problem with advice for
 * its sender. */

#include "object_store.h"
#include "problem.h"
#include "request_options.h"

struct failure {
    enum problem problem;
    char detail[512];
};

/* The message was not published. */
struct failure failure_of_refusal(const struct request_options *options,
                                  enum jetstream_publish refused);
/* It was published, and its ack says that it was not stored, or does not say that it was. */
struct failure failure_of_ack(const struct request_options *options,
                              const struct publication_mark *mark, const struct jetstream_ack *ack);
/* A part of it, which must be in an object store, is not stored. */
struct failure failure_of_upload(const struct object_put *put);
/* An internal error. */
struct failure failure_of_status(enum parley_status status);
/* The budget has no room for the received bytes. */
struct failure failure_overloaded(const struct request_options *options);
/* It never has room for the message and what this is converted to. */
struct failure failure_ungathered(const struct request_options *options);

/* Writes the problem's further members, each with a comma before it: the message's id, which its
 * sender needs to send it again (504), and where the first one is stored (409). `id`: as JSON; data
 * NULL if it is not known.  `stream`: NULL for none. */
void failure_write_members(enum problem problem, struct parley_bytes id, const char *stream,
                           uint64_t sequence, struct parley_buffer *out);
