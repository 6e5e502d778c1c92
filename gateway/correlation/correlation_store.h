/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The correlations of one protocol on one reactor (protocol.h: memory): what later messages need to
 * know of earlier ones, as texts by keys in a key-value bucket of JetStream that all gateways
 * share. The first text that a key gets stays. */

#include <sys/queue.h>

#include <parley/bytes.h>

#include "jetstream.h"

struct correlation_store;

/* The stream of a bucket, as jetstream_setup creates it: KV_<bucket> with $KV.<bucket>.> */
#define CORRELATION_NAME_MAX 128
void correlation_stream_name(const char *bucket, char out[CORRELATION_NAME_MAX]);
void correlation_stream_subjects(const char *bucket, char out[CORRELATION_NAME_MAX]);

/* `bucket`: one token.  Owns: borrows all arguments; returns a new store, which the caller destroys
 * before the jetstream. */
enum parley_status correlation_store_create(struct reactor *reactor, struct jetstream *jetstream,
                                            const char *bucket,
                                            struct correlation_store **out) PARLEY_MUST_CHECK;
/* Pending queries end with CORRELATION_FAILED. NULL is allowed. */
void correlation_store_destroy(struct correlation_store *store);

/* No query is pending. */
bool correlation_store_is_idle(const struct correlation_store *store);

/* A key is one token of a subject, and at most this long. */
#define CORRELATION_KEY_MAX 256

/* ---- writing ---- */

/* Writes `value` under `key`, unless the key has a value.  Owns: copies key and value.
 * Returns: as jetstream_publish; `done` gets JETSTREAM_STORED also when the key has a value
 * already. */
enum jetstream_publish correlation_store_put(struct correlation_store *store,
                                             struct parley_bytes key, struct parley_bytes value,
                                             jetstream_ack_fn *done, void *context);

/* Publishes a message and writes its correlation at the same time. `done` is called once both are
 * acknowledged (the correlation perhaps a moment before): with the message's own ack, or, when the
 * message is stored and the correlation is not, with that failure, which sending the message again
 * repairs. Otherwise as jetstream_publish. */
enum jetstream_publish correlation_store_publish(struct correlation_store *store,
                                                 struct parley_bytes key, struct parley_bytes value,
                                                 const struct jetstream_message *message,
                                                 jetstream_ack_fn *done, void *context);

/* ---- queries ---- */

/* Owns: the texts are borrowed for the call. */
struct correlation_answer {
    enum {
        CORRELATION_FOUND,
        CORRELATION_ABSENT, /* the key has no value */
        CORRELATION_FAILED, /* NATS is away or does not answer; `error` says what to do */
    } found;
    const char *value; /* NUL-terminated */
    const char *error; /* one or more sentences for the sender; NULL: out of memory */
};

/* A pending query. Only `done` is public.  Owns: the caller embeds it, zeroed at first, and keeps
 * it until `done` is called or the query is cancelled. */
struct correlation_query {
    void (*done)(struct correlation_query *query, const struct correlation_answer *answer);
    TAILQ_ENTRY(correlation_query) link;
    struct correlation_queries *list; /* the queue that holds it; NULL: none */
    struct correlation_store *store;
    struct jetstream_request *request;
    char *key;
    bool may_retry, has_retried;
    int64_t due_ms, patient_until_ms;
};
TAILQ_HEAD(correlation_queries, correlation_query);

/* Returns: the value of `key`, NULL when it is not in the cache.  Owns: borrowed, until the next
 * turn. */
const char *correlation_store_cached(struct correlation_store *store, struct parley_bytes key);

/* Asks the bucket's leader for the value of `key`. `may_retry`: an absent key is looked up once
 * more after CORRELATION_RETRY_MS, since a correlation_consumer may be about to write it.
 * While NATS does not answer, the query waits as long as a message would (jetstream_options).
 * Returns: true: `done` is called once, in a later turn, unless the query is cancelled first;
 * false: NATS is away and not waited for, or there is no memory.  Owns: copies the key. */
#define CORRELATION_RETRY_MS 250
bool correlation_store_query(struct correlation_store *store, struct correlation_query *query,
                             struct parley_bytes key, bool may_retry) PARLEY_MUST_CHECK;
/* `done` is not called any more. Harmless when the query is not pending. */
void correlation_query_cancel(struct correlation_query *query);
