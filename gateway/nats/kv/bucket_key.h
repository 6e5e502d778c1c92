/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Single keys of a key-value bucket, written and read without a cache. A key is one or more tokens
 * of a subject. `bucket`: as of channel.h. */

#include "jetstream.h"

struct bucket_value {
    const char *bucket, *key;
    struct parley_bytes value;
    unsigned share; /* as of jetstream_message */
};

/* Creates the key, on the condition that it has no value: of all that try, one is stored, and
 * bucket_key_is_taken is true of the acks of the others.  Owns: copies the value; returns: as
 * jetstream_publish. */
enum jetstream_publish bucket_key_create(struct jetstream *jetstream,
                                         const struct bucket_value *value, jetstream_ack_fn *done,
                                         void *context);
/* Replaces the value of a key.  Owns, returns: as bucket_key_create. */
enum jetstream_publish bucket_key_overwrite(struct jetstream *jetstream,
                                            const struct bucket_value *value,
                                            jetstream_ack_fn *done, void *context);
/* The key has a value already. */
bool bucket_key_is_taken(const struct jetstream_ack *ack);

/* Asks the bucket's leader for the value of a key.  Returns, Owns: as jetstream_last_ask. */
struct jetstream_request *bucket_key_ask(struct jetstream *jetstream, const char *bucket,
                                         const char *key, jetstream_last_fn *done, void *context);
