/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What later messages of a protocol want to know of earlier ones (protocol.h: memory), for one
 * reactor: texts by keys, in a key-value bucket of JetStream that all gateways share. The first
 * text that a key gets stays. */

#include <sys/queue.h>

#include <parley/bytes.h>

#include "jetstream.h"

struct memory;

/* The stream of a bucket, as jetstream_setup makes it: KV_<bucket> with $KV.<bucket>.> */
#define MEMORY_NAME_MAX 128
void memory_stream_name(const char *bucket, char out[MEMORY_NAME_MAX]);
void memory_stream_subjects(const char *bucket, char out[MEMORY_NAME_MAX]);

/* `bucket` is one token.  Owns: everything is borrowed. */
enum parley_status memory_create(struct reactor *reactor, struct jetstream *jetstream,
                                 const char *bucket, struct memory **out) PARLEY_MUST_CHECK;
/* Before the jetstream. Whoever still waits for a recollection is told that there is none. */
void memory_destroy(struct memory *memory);

/* Nobody waits for anything. */
bool memory_is_idle(const struct memory *memory);

/* A key is one token of a subject, and at most so long. */
#define MEMORY_KEY_MAX 256

/* ---- remembering ---- */

/* Keeps `value` under `key`, unless the key has one.  Copies both.  Returns: as jetstream_publish
 * does; `done` is told of JETSTREAM_STORED also when the key has a value already. */
enum jetstream_publish memory_keep(struct memory *memory, struct parley_bytes key,
                                   struct parley_bytes value, jetstream_ack_fn *done,
                                   void *context);

/* Publishes a message, and keeps what it is to be remembered by at the same time. `done` is told
 * once both are acknowledged (the value perhaps a moment ago): of the message's own ack, or, when
 * the message is stored and the rest is not, of that failure. Sending the message again mends it.
 * Otherwise as jetstream_publish. */
enum jetstream_publish memory_publish(struct memory *memory, struct parley_bytes key,
                                      struct parley_bytes value, const char *subject,
                                      const struct bus_header *headers, size_t header_count,
                                      struct parley_bytes payload, jetstream_ack_fn *done,
                                      void *context);

/* ---- recalling ---- */

/* Owns: texts are borrowed for the call. */
struct memory_recollection {
    enum {
        MEMORY_FOUND,
        MEMORY_NOTHING, /* nobody has kept anything under this key */
        MEMORY_FAILED,  /* NATS is away, or does not answer; `error` says what to do */
    } found;
    const char *value; /* NUL-terminated */
    const char *error; /* a sentence or more for whoever sent the message, NULL: no memory */
};

/* A question under way. The owner embeds it, zeroed at first, and keeps it until it is told or has
 * cancelled. Private but for `done`. */
struct memory_recall {
    void (*done)(struct memory_recall *recall, const struct memory_recollection *recollection);
    TAILQ_ENTRY(memory_recall) link;
    struct memory_recalls *list; /* that it is in, NULL: none */
    struct memory *memory;
    struct jetstream_request *request;
    char *key;
    bool is_patient, has_looked;
    int64_t due_ms;
};
TAILQ_HEAD(memory_recalls, memory_recall);

/* The value of `key`, if it is known here.  Returns: NULL when not.  Owns: borrowed, until the next
 * turn. */
const char *memory_known(struct memory *memory, struct parley_bytes key);

/* Asks for the value of `key`, which the bucket's leader knows. `is_patient`: a key that is not
 * there is looked for once more after MEMORY_PATIENCE_MS, since whoever gathers what was published
 * straight to NATS may be about to keep it.
 * Returns: true: `done` will be called once, in a later turn, unless memory_recall_cancel comes
 * first; false: NATS is away (or there is no memory). */
#define MEMORY_PATIENCE_MS 250
bool memory_recall(struct memory *memory, struct memory_recall *recall, struct parley_bytes key,
                   bool is_patient) PARLEY_MUST_CHECK;
/* `done` is not called any more. Harmless when nothing is under way. */
void memory_recall_cancel(struct memory_recall *recall);
