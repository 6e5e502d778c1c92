/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Facts of one protocol on one reactor: texts by keys in a key-value bucket of JetStream that all
 * gateways share. A key is created once and never changed, so that writing it twice or late changes
 * nothing, and values that were read may be cached (ADR 25).
 *
 * Or, for a protocol with a hook `fact_of`, the content of the last message on a subject: keys are
 * subjects, nothing is written, and nothing is kept, since the next message changes it (ADR 32). */

#include <sys/queue.h>

#include <parley/protocol.h>

#include "bucket_watch.h"
#include "fact_cache.h"
#include "fact_ledger.h"
#include "id_search.h"
#include "jetstream.h"

struct fact_store;

/* The stream of a bucket, as jetstream_setup creates it: KV_<bucket> with $KV.<bucket>.> */
#define FACT_NAME_MAX 128
void fact_stream_name(const char *bucket, char out[FACT_NAME_MAX]);
void fact_stream_subjects(const char *bucket, char out[FACT_NAME_MAX]);

/* `bucket`: one token.  Owns: borrows all arguments; returns a new store, which the caller destroys
 * before the jetstream. */
enum parley_status fact_store_create(struct reactor *reactor, struct jetstream *jetstream,
                                     const char *bucket, struct fact_store **out) PARLEY_MUST_CHECK;
/* Creates a store without a bucket: a fact is the value that `fact_of` reads from the last message
 * on a subject; of a key that also has an id (parley/facts.h), that there may be such a message. */
typedef enum parley_status fact_of_fn(struct parley_bytes payload, struct parley_buffer *out);
enum parley_status fact_store_create_last(struct reactor *reactor, struct jetstream *jetstream,
                                          fact_of_fn *fact_of,
                                          struct fact_store **out) PARLEY_MUST_CHECK;
/* Its writes are noted in the ledger, for the process.  Owns: borrowed for the store's life. */
void fact_store_share(struct fact_store *store, struct fact_ledger *ledger);
/* Reports each write, once it is acknowledged and before `done`: with sequence 0 if the key has a
 * value already, which may be another one. */
typedef void fact_entry_fn(void *context, const struct bucket_entry *entry);
void fact_store_on_written(struct fact_store *store, fact_entry_fn *written, void *context);
/* Reports what is to be noted under a key (parley_decision.note_key), of a message that is stored:
 * `sequence` is that of the message. The listener decides whether it is written, and when. */
void fact_store_on_noted(struct fact_store *store, fact_entry_fn *noted, void *context);
/* `decision`: its note; does nothing where it has none.  `stream`, `sequence`: of the message. */
void fact_store_note(const struct fact_store *store, const struct parley_decision *decision,
                     struct parley_bytes stream, uint64_t sequence);
/* What is known of a key without asking. */
enum fact_known {
    FACT_UNKNOWN,
    FACT_IS_THERE, /* with the value that was appended */
    FACT_IS_ABSENT,
};
/* Says what is known of a key. That it has no value is known only of a bucket that was read up to
 * `read_to`, which is 0 where no look at the bucket says how far it has been written. */
typedef enum fact_known fact_known_fn(void *context, struct parley_bytes key, uint64_t read_to,
                                      struct parley_buffer *out_value);
void fact_store_on_known(struct fact_store *store, fact_known_fn *known, void *context);
/* Finds the last key of a series that is known without asking: appends its value, and returns its
 * number; 1: its first key is known, and no other; 0: nothing is. Queries then ask only for those
 * after it. */
typedef uint64_t fact_series_fn(void *context, struct parley_bytes series,
                                struct parley_buffer *out_value);
void fact_store_on_series(struct fact_store *store, fact_series_fn *last, void *context);
/* Pending queries fail. NULL is allowed. */
void fact_store_destroy(struct fact_store *store);

/* Whether the store works without a bucket. */
bool fact_store_is_last(const struct fact_store *store);
/* How long the bucket keeps a key.  Returns: 0: always, or it is not known. */
int64_t fact_store_kept_ms(const struct fact_store *store);

/* No query is pending. */
bool fact_store_is_idle(const struct fact_store *store);

/* A key is one or more tokens of a subject, and at most this long. */
#define FACT_KEY_MAX 256
/* PARLEY_FACT_SERIES */
bool fact_key_is_series(struct parley_bytes key);

/* ---- writing ---- */

enum fact_written {
    FACT_WRITTEN,
    FACT_EXISTS, /* the key has a value already */
    FACT_FAILED, /* `ack` has the reason: it may have been written */
};
typedef void fact_written_fn(void *context, enum fact_written written,
                             const struct jetstream_ack *ack);

/* Creates `key` with `value`, for a message whose ack has just come: it takes over the room of that
 * message in the window. `within_ms`: not later than that; 0: whenever.  Owns: copies key and
 * value.  Returns: as jetstream_publish. */
enum jetstream_publish fact_store_write(struct fact_store *store, struct parley_bytes key,
                                        struct parley_bytes value, int64_t within_ms,
                                        fact_written_fn *done, void *context);

/* The same for a key without a message, which needs room of its own.  Returns: as
 * jetstream_publish. */
enum jetstream_publish fact_store_create_key(struct fact_store *store, struct parley_bytes key,
                                             struct parley_bytes value, fact_written_fn *done,
                                             void *context);

/* Whether the key is known to have been written a moment ago, by any store that shares the ledger.
 */
bool fact_store_has_written(const struct fact_store *store, struct parley_bytes key);

/* A message that is being published will create the key: queries of this reactor wait until each
 * fact_store_expect is followed by fact_store_expect_end.  Returns: false without memory. */
bool fact_store_expect(struct fact_store *store, struct parley_bytes key) PARLEY_MUST_CHECK;
void fact_store_expect_end(struct fact_store *store, struct parley_bytes key);

/* ---- reading ---- */

/* A query for up to PARLEY_FACT_KEYS_MAX keys together, and their values.  Owns: the caller embeds
 * it, zeroed at first, keeps it until `done` is called, and calls fact_query_finish. */
struct fact_query {
    void (*done)(struct fact_query *query);

    /* The answer. */
    char *values[PARLEY_FACT_KEYS_MAX];       /* NULL if the key does not exist */
    uint64_t sequences[PARLEY_FACT_KEYS_MAX]; /* without a bucket: of the messages */
    bool has_failed;                          /* NATS is away or does not answer */
    const char *error; /* then: one or more sentences for the sender, during `done`; NULL if out of
                          memory */

    /* Private. */
    TAILQ_ENTRY(fact_query) link;
    struct fact_queries *list; /* the queue that holds it; NULL if none does */
    struct fact_store *store;
    char *keys[PARLEY_FACT_KEYS_MAX];      /* of a series: the next one that may exist */
    bool are_absent[PARLEY_FACT_KEYS_MAX]; /* it is known that the key has no value */
    struct {
        uint64_t next; /* its number; 0: it is no series */
        bool is_begun; /* its first key exists */
    } series[PARLEY_FACT_KEYS_MAX];
    struct fact_request {
        struct fact_query *query;
        struct jetstream_request *request; /* NULL when not under way */
        struct id_search *search;          /* likewise, of a key with an id */
        bool is_asked;
    } requests[PARLEY_FACT_KEYS_MAX];
    int64_t due_ms, patient_until_ms;
};

/* Takes the keys and their values known here.  `keys`: data NULL if there is none at that place.
 * `read_to`: the leader said a moment ago that the bucket is written up to there, so that keys
 * which are not known to be there by then are absent (fact_known_fn); 0: it was not asked. Returns:
 * false without memory.  Owns: copies the keys. */
bool fact_query_init(struct fact_query *query, struct fact_store *store,
                     const struct parley_bytes keys[PARLEY_FACT_KEYS_MAX],
                     uint64_t read_to) PARLEY_MUST_CHECK;
/* `done` is no longer called; frees keys and values. */
void fact_query_finish(struct fact_query *query);

/* Adds values that became known here since.  Returns: whether no missing key is expected. */
bool fact_query_refresh(struct fact_query *query);
/* Whether every key has a value, or is known to have none. */
bool fact_query_is_complete(const struct fact_query *query);
/* The value of a key that was asked for, or of the last one of its series if it is known to exist;
 * NULL if it has none. */
const char *fact_query_value(const struct fact_query *query, const char *key);

/* Asks the bucket's leader for the keys without a value, after `delay_ms`: 0 or FACT_RETRY_MS.
 * While NATS does not answer, the query waits as long as a message may (jetstream_options).
 * Returns: true: `done` is called once, in a later turn; false: NATS is away and not waited for. */
#define FACT_RETRY_MS 250
bool fact_query_begin(struct fact_query *query, int64_t delay_ms) PARLEY_MUST_CHECK;
