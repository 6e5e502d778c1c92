/* SPDX-License-Identifier: Apache-2.0 */

#include "worker_streams.h"

#include <stdlib.h>

#include <parley/objects.h>

#include "ack_watch.h"
#include "fact_store.h"
#include "log.h"
#include "loss_keeper.h"
#include "object_layout.h"
#include "rejection.h"
#include "reviews.h"
#include "worker_tasks.h"

enum {
    FACT_DAYS_MAX = 90, /* of messages that operators' streams keep longer, or without a limit */
    BUCKETS_MAX = 5,    /* per protocol: of facts, halts, reviews, lost agents, acknowledgements */
};

struct bucket_names {
    char stream[FACT_NAME_MAX], subjects[FACT_NAME_MAX];
};

struct object_names {
    char stream[OBJECT_STREAM_MAX], all[OBJECT_STREAM_MAX];
    char chunks[OBJECT_SUBJECT_MAX], metas[OBJECT_SUBJECT_MAX];
    const char *subjects[3];
};

static void add(struct worker_streams *streams, struct jetstream_stream stream) {
    streams->all[streams->count++] = stream;
}

static void add_messages(struct worker_streams *streams, const struct channel *channel) {
    add(streams, (struct jetstream_stream){.name = channel->stream,
                                           .subjects = channel->subjects,
                                           .families = channel->families});
}

/* `bucket` NULL: the protocol has none of its kind. */
static void add_bucket(struct worker_streams *streams, const char *bucket,
                       struct jetstream_stream kind) {
    if (bucket == NULL) {
        return;
    }
    struct bucket_names *names = &streams->buckets[streams->bucket_count++];
    fact_stream_name(bucket, names->stream);
    fact_stream_subjects(bucket, names->subjects);
    kind.name = names->stream;
    kind.subjects = names->subjects;
    add(streams, kind);
}

static void add_buckets(struct worker_streams *streams, const struct channel *channel,
                        const struct webhook_file *webhooks) {
    const struct jetstream_stream facts = {
        .bucket_days = FACT_DAYS_MAX, .outlives = channel->stream, .needs = channel->stream};
    const struct jetstream_stream halts = {.bucket_days = JETSTREAM_BUCKET_FOR_EVER,
                                           .needs = channel->stream};
    struct jetstream_stream reviews = facts;
    struct jetstream_stream losses = facts;
    struct jetstream_stream overdue = facts;
    reviews.without = REVIEWS_WITHOUT;
    losses.without = LOSSES_WITHOUT;
    overdue.without = OVERDUE_WITHOUT;
    add_bucket(streams, channel->fact_bucket, facts);
    add_bucket(streams, channel->halt_bucket, halts);
    add_bucket(streams, channel->review_bucket, reviews);
    if (worker_tasks_keep_losses(webhooks, channel->protocol)) {
        add_bucket(streams, channel->loss_bucket, losses);
    }
    if (worker_tasks_keep_overdue(webhooks, channel->protocol)) {
        add_bucket(streams, channel->ack_bucket, overdue);
    }
}

static void add_store(struct worker_streams *streams, const struct channel *channel,
                      struct object_names *names) {
    const char *bucket = channel->object_bucket;
    if (bucket == NULL) {
        return;
    }
    object_stream_name(bucket, names->stream);
    object_stream_subjects(bucket, names->all);
    object_store_subjects(bucket, names->chunks, names->metas);
    names->subjects[0] = names->chunks;
    names->subjects[1] = names->metas;
    add(streams, (struct jetstream_stream){.name = names->stream,
                                           .subjects = names->all,
                                           .object_subjects = names->subjects,
                                           .needs = channel->stream,
                                           .days = channel->protocol->objects->days});
}

enum parley_status worker_streams_list(struct worker_streams *streams,
                                       const struct configuration *configuration,
                                       const struct webhook_file *webhooks) {
    enum { PER_PROTOCOL = BUCKETS_MAX + 2 }; /* and its messages, and an object store */
    const size_t count = parley_protocol_count();
    const struct channel *channels = configuration->channels;
    streams->all = calloc(PER_PROTOCOL * count + 1, sizeof *streams->all);
    streams->buckets = calloc(BUCKETS_MAX * count, sizeof *streams->buckets);
    streams->stores = calloc(count, sizeof *streams->stores);
    if (streams->all == NULL || streams->buckets == NULL || streams->stores == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        add_messages(streams, &channels[i]);
    }
    for (size_t i = 0; i < count; i++) {
        add_buckets(streams, &channels[i], webhooks);
    }
    for (size_t i = 0; i < count; i++) {
        add_store(streams, &channels[i], &streams->stores[i]);
    }
    if (configuration->quarantine) {
        const struct channel *rejected = channel_rejected(channels);
        add(streams, (struct jetstream_stream){.name = rejected->stream,
                                               .subjects = rejected->subjects,
                                               .days = QUARANTINE_DAYS,
                                               .bytes_max = QUARANTINE_BYTES_MAX,
                                               .without = QUARANTINE_WITHOUT});
    }
    return PARLEY_OK;
}

void worker_streams_finish(struct worker_streams *streams) {
    free(streams->all);
    free(streams->buckets);
    free(streams->stores);
}

bool worker_streams_find_protocol(const struct worker_streams *streams,
                                  const struct jetstream_stream *stream, size_t *out_protocol) {
    *out_protocol = (size_t)(stream - streams->all);
    return *out_protocol < parley_protocol_count();
}

void worker_streams_tell_kind(const struct jetstream_place *place) {
    if (place->retention == JETSTREAM_WORK_QUEUE) {
        log_event(LOG_NATS_QUEUE, LOG_FIELDS(LOG_TEXT("stream", place->stream)));
    } else if (place->retention == JETSTREAM_INTEREST) {
        log_event(LOG_NATS_INTEREST, LOG_FIELDS(LOG_TEXT("stream", place->stream)));
    }
}
