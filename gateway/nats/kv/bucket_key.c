/* SPDX-License-Identifier: Apache-2.0 */

/* See bucket_key.h. */

#include "bucket_key.h"

#include <stdio.h>

#include "fact_store.h"
#include "jetstream_codes.h"

enum { SUBJECT_MAX = FACT_NAME_MAX + FACT_KEY_MAX + 1 };

static void write_subject(const char *bucket, const char *key, char out[SUBJECT_MAX]) {
    snprintf(out, SUBJECT_MAX, "$KV.%s.%s", bucket, key);
}

static enum jetstream_publish write_value(struct jetstream *jetstream,
                                          const struct bucket_value *value, bool is_first,
                                          jetstream_ack_fn *done, void *context) {
    static const struct bus_header first = {"Nats-Expected-Last-Subject-Sequence", "0"};
    char subject[SUBJECT_MAX];
    write_subject(value->bucket, value->key, subject);
    const struct jetstream_message message = {.subject = subject,
                                              .headers = is_first ? &first : NULL,
                                              .header_count = is_first ? 1 : 0,
                                              .payload = value->value,
                                              .share = value->share};
    return jetstream_publish(jetstream, &message, done, context);
}

enum jetstream_publish bucket_key_create(struct jetstream *jetstream,
                                         const struct bucket_value *value, jetstream_ack_fn *done,
                                         void *context) {
    return write_value(jetstream, value, true, done, context);
}

enum jetstream_publish bucket_key_overwrite(struct jetstream *jetstream,
                                            const struct bucket_value *value,
                                            jetstream_ack_fn *done, void *context) {
    return write_value(jetstream, value, false, done, context);
}

bool bucket_key_is_taken(const struct jetstream_ack *ack) {
    return jetstream_ack_is_behind(ack);
}

struct jetstream_request *bucket_key_ask(struct jetstream *jetstream, const char *bucket,
                                         const char *key, jetstream_last_fn *done, void *context) {
    char stream[FACT_NAME_MAX], subject[SUBJECT_MAX];
    fact_stream_name(bucket, stream);
    write_subject(bucket, key, subject);
    return jetstream_last_ask(jetstream, stream, subject, done, context);
}
