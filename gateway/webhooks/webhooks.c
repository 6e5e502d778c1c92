/* SPDX-License-Identifier: Apache-2.0 */

/* See webhooks.h. An event that was not delivered is returned to its consumer with a delay, and any
 * gateway gets it then. How often it was delivered to a gateway is counted by NATS. A gateway that
 * is killed leaves its events unacknowledged: another one gets them after ACK_WAIT_MS. */

#include "webhooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include <sodium.h>

#include <parley/notice.h>

#include "configuration.h"
#include "clock_and_ids.h"
#include "fact_store.h"
#include "jetstream.h"
#include "log.h"
#include "webhook_retry.h"
#include "webhook_sender.h"
#include "webhook_signature.h"

enum {
    /* Longer than a request and the wait for one's turn before it. */
    ACK_WAIT_MS = 4 * WEBHOOK_TIMEOUT_MS,
    UNACKED_MAX = 256,      /* of a consumer: those that wait to be sent again, above all */
    IDLE_MS = 3 * 86400000, /* a consumer that no gateway reads from is removed then */
    AGAIN_MS = 1000,
    FETCHES_MAX = 5,
    NS_A_MS = 1000000,
    NAME_MAX_BYTES = 160,
};

struct delivery;
TAILQ_HEAD(delivery_list, delivery);

/* A webhook on this gateway. */
struct target {
    struct webhooks *all;
    const struct webhook *webhook;
    struct delivery_list fetching, waiting, sent;
    size_t sent_count;
    bool is_failing; /* the last request was not delivered */
};

/* One of its events, of one protocol. */
struct feed {
    struct target *target;
    struct webhook_source source;
    struct shared_consumer *shared; /* NULL: stopped */
    char durable[NAME_MAX_BYTES], stream[NAME_MAX_BYTES], filter[NAME_MAX_BYTES];
};

/* An event under way. */
struct delivery {
    TAILQ_ENTRY(delivery) link;
    struct feed *feed;
    struct fact_place place;            /* of a message that a fact names … */
    struct jetstream_request *fetching; /* … while it is asked for; NULL if it is not */
    struct webhook_sending sending;
    struct parley_buffer body;
    char id[WEBHOOK_ID_SIZE];
    int64_t stored_ns;
    char receipt[];
};

struct webhooks {
    struct webhooks_options options;
    struct webhook_sender *sender;
    struct target targets[WEBHOOKS_MAX];
    struct feed *feeds;
    size_t feed_count;
};

/* ---- the end of a delivery ---- */

static void count(struct webhooks *all, enum figure figure) {
    counter_add(&all->options.figures->values[figure], 1);
}

static void free_delivery(struct delivery *delivery) {
    parley_buffer_finish(&delivery->body);
    free(delivery);
}

static void give_back(struct delivery *delivery, int64_t delay_ms) {
    struct feed *feed = delivery->feed;
    shared_consumer_return(feed->target->all->options.jetstream, feed->shared, delivery->receipt,
                           delay_ms);
    free_delivery(delivery);
}

static void acknowledge(struct delivery *delivery) {
    struct feed *feed = delivery->feed;
    shared_consumer_ack(feed->target->all->options.jetstream, feed->shared, delivery->receipt);
    free_delivery(delivery);
}

static void log_end(enum log_event event, const struct delivery *delivery,
                    const struct webhook_result *result) {
    const struct feed *feed = delivery->feed;
    log_event(event,
              LOG_FIELDS(LOG_TEXT("webhook", feed->target->webhook->name),
                         LOG_TEXT("event_type", feed->source.event), LOG_TEXT("id", delivery->id),
                         LOG_NUMBER("tries", shared_consumer_tries(delivery->receipt)),
                         LOG_TEXT("why", result->error)));
}

static void on_delivered(struct delivery *delivery, const struct webhook_result *result) {
    struct target *target = delivery->feed->target;
    count(target->all, FIGURE_WEBHOOKS_DELIVERED);
    if (target->is_failing) {
        log_end(LOG_WEBHOOK_WORKS, delivery, result);
    }
    target->is_failing = false;
    acknowledge(delivery);
}

/* Of many failures in a row the first is logged, and each event that is given up. */
static void on_failed(struct delivery *delivery, const struct webhook_result *result) {
    struct target *target = delivery->feed->target;
    const struct webhook_failure failure = {
        .age_ms = (reactor_wall_clock_ns() - delivery->stored_ns) / NS_A_MS,
        .tries = shared_consumer_tries(delivery->receipt),
        .random = randombytes_random(),
        .retry_after_ms = result->retry_after_ms};
    const int64_t delay_ms = webhook_retry_delay_ms(&failure);
    count(target->all, FIGURE_WEBHOOKS_FAILED);
    if (!target->is_failing) {
        log_end(LOG_WEBHOOK_FAILS, delivery, result);
    }
    target->is_failing = true;
    if (delay_ms < 0) {
        count(target->all, FIGURE_WEBHOOKS_GIVEN_UP);
        log_end(LOG_WEBHOOK_GIVEN_UP, delivery, result);
        acknowledge(delivery);
    } else {
        give_back(delivery, delay_ms);
    }
}

/* ---- sending ---- */

static void send_waiting(struct target *target);

static void set_sent_count(struct target *target, size_t sent_count) {
    struct counter *counter = &target->all->options.figures->values[FIGURE_WEBHOOKS_IN_FLIGHT];
    counter_set(counter, counter_read(counter) + sent_count - target->sent_count);
    target->sent_count = sent_count;
}

static void on_done(struct webhook_sending *sending, const struct webhook_result *result) {
    struct delivery *delivery = OWNER_OF(sending, struct delivery, sending);
    struct target *target = delivery->feed->target;
    TAILQ_REMOVE(&target->sent, delivery, link);
    set_sent_count(target, target->sent_count - 1);
    if (result->is_delivered) {
        on_delivered(delivery, result);
    } else {
        on_failed(delivery, result);
    }
    send_waiting(target);
}

static void send_one(struct target *target, struct delivery *delivery) {
    struct webhook_sending *sending = &delivery->sending;
    sending->done = on_done;
    TAILQ_REMOVE(&target->waiting, delivery, link);
    if (webhook_request_init(&sending->request, target->webhook, delivery->id, clock_now_seconds(),
                             parley_buffer_bytes(&delivery->body)) &&
        webhook_sender_start(target->all->sender, sending)) {
        TAILQ_INSERT_TAIL(&target->sent, delivery, link);
        set_sent_count(target, target->sent_count + 1);
    } else {
        webhook_request_finish(&sending->request);
        give_back(delivery, AGAIN_MS);
    }
}

static void send_waiting(struct target *target) {
    struct delivery *delivery;
    while (target->sent_count < target->webhook->at_once &&
           (delivery = TAILQ_FIRST(&target->waiting)) != NULL) {
        send_one(target, delivery);
    }
}

/* ---- events ---- */

static struct delivery *create_delivery(struct feed *feed, const struct jetstream_stored *stored,
                                        const char *receipt) {
    const size_t length = strlen(receipt) + 1;
    struct delivery *delivery = calloc(1, sizeof *delivery + length);
    if (delivery != NULL) {
        delivery->feed = feed;
        delivery->stored_ns = stored->time_ns;
        parley_buffer_init(&delivery->body);
        memcpy(delivery->receipt, receipt, length);
        webhook_id_write(feed->source.event, parley_bytes_of(shared_consumer_stream(feed->shared)),
                         stored->sequence, stored->time_ns, delivery->id);
    }
    return delivery;
}

/* Sends the event, once it is written. */
static void enter(struct delivery *delivery, enum webhook_writing written) {
    struct target *target = delivery->feed->target;
    switch (written) {
    case WEBHOOK_WRITTEN:
        TAILQ_INSERT_TAIL(&target->waiting, delivery, link);
        send_waiting(target);
        break;
    case WEBHOOK_OTHER:
        acknowledge(delivery);
        break;
    case WEBHOOK_FAILED:
        give_back(delivery, AGAIN_MS);
        break;
    }
}

/* Any client that can write to the bucket may have written the value. */
static bool is_of_channel(const struct channel *channel, const char *subject) {
    const char *prefix = channel->prefix != NULL ? channel->prefix : channel->name;
    const size_t length = strlen(prefix);
    return strncmp(subject, prefix, length) == 0 && subject[length] == '.';
}

static enum webhook_writing write_held(struct delivery *delivery,
                                       const struct jetstream_held *held) {
    const struct feed *feed = delivery->feed;
    const struct jetstream_stored stored = {.sequence = held->sequence,
                                            .time_ns = held->time_ns,
                                            .subject = held->subject,
                                            .payload = held->payload};
    return is_of_channel(feed->source.channel, held->subject)
               ? webhook_event_write_message(feed->target->webhook, &feed->source,
                                             parley_bytes_of(delivery->place.stream), &stored,
                                             &delivery->body)
               : WEBHOOK_OTHER;
}

/* A message that cannot be had is left out in the end. */
static void on_held(void *context, const struct jetstream_held *held) {
    struct delivery *delivery = context;
    struct target *target = delivery->feed->target;
    delivery->fetching = NULL;
    TAILQ_REMOVE(&target->fetching, delivery, link);
    if (held->found == JETSTREAM_HELD_FOUND) {
        enter(delivery, write_held(delivery, held));
    } else if (held->found == JETSTREAM_HELD_GONE ||
               shared_consumer_tries(delivery->receipt) > FETCHES_MAX) {
        enter(delivery, webhook_event_write_gone(&delivery->feed->source, &delivery->place,
                                                 delivery->stored_ns, &delivery->body));
    } else {
        give_back(delivery, AGAIN_MS);
    }
}

static void fetch(struct delivery *delivery, struct parley_bytes fact) {
    struct target *target = delivery->feed->target;
    if (!fact_place_read(fact, &delivery->place)) {
        acknowledge(delivery);
        return;
    }
    delivery->fetching = jetstream_held_ask(target->all->options.jetstream, delivery->place.stream,
                                            delivery->place.sequence, on_held, delivery);
    if (delivery->fetching == NULL) {
        give_back(delivery, AGAIN_MS);
        return;
    }
    TAILQ_INSERT_TAIL(&target->fetching, delivery, link);
}

static void on_stored(void *context, struct shared_consumer *from,
                      const struct jetstream_stored *stored, const char *receipt) {
    struct feed *feed = context;
    const struct webhook *webhook = feed->target->webhook;
    const struct webhook_source *source = &feed->source;
    struct delivery *delivery = create_delivery(feed, stored, receipt);
    if (delivery == NULL) {
        shared_consumer_return(feed->target->all->options.jetstream, from, receipt, AGAIN_MS);
    } else if (source->key != WEBHOOK_KEY_NONE) {
        enter(delivery, webhook_event_write_key(webhook, source, stored, &delivery->body));
    } else if (source->notice->keys != NULL) {
        fetch(delivery, stored->payload);
    } else {
        enter(delivery, webhook_event_write_message(webhook, source,
                                                    parley_bytes_of(shared_consumer_stream(from)),
                                                    stored, &delivery->body));
    }
}

/* ---- feeds ---- */

/* Names what the feed reads: messages on the notice's subjects, keys of facts, those of agents that
 * were lost, of acknowledgements that are overdue, or of halts. */
static void name_feed(struct feed *feed) {
    const struct webhook_source *source = &feed->source;
    const struct channel *channel = source->channel;
    snprintf(feed->durable, sizeof feed->durable, "parley_webhook_%s_%s_%s",
             feed->target->webhook->name, source->event, channel->protocol->name);
    for (char *at = feed->durable; *at != '\0'; at++) {
        *at = *at == '.' ? '-' : *at; /* the name of a consumer has none */
    }
    if (source->key == WEBHOOK_KEY_LOSS) {
        fact_stream_name(channel->loss_bucket, feed->stream);
        snprintf(feed->filter, sizeof feed->filter, "$KV.%s.*.lost.*", channel->loss_bucket);
    } else if (source->key == WEBHOOK_KEY_OVERDUE) {
        fact_stream_name(channel->ack_bucket, feed->stream);
        snprintf(feed->filter, sizeof feed->filter, "$KV.%s.*.*.overdue.*", channel->ack_bucket);
    } else if (source->key == WEBHOOK_KEY_HALT) {
        fact_stream_name(channel->halt_bucket, feed->stream);
        fact_stream_subjects(channel->halt_bucket, feed->filter);
    } else if (source->notice->keys != NULL) {
        fact_stream_name(channel->fact_bucket, feed->stream);
        snprintf(feed->filter, sizeof feed->filter, "$KV.%s.%s", channel->fact_bucket,
                 source->notice->keys);
    } else {
        snprintf(feed->stream, sizeof feed->stream, "%s", channel->stream);
        snprintf(feed->filter, sizeof feed->filter, "%s.%s",
                 channel->prefix != NULL ? channel->prefix : channel->name,
                 source->notice->subjects);
    }
}

static enum parley_status open_feed(struct feed *feed, size_t batch) {
    name_feed(feed);
    const struct shared_consumer_options options = {.stream = feed->stream,
                                                    .durable = feed->durable,
                                                    .filter = feed->filter,
                                                    .batch = batch,
                                                    .ack_wait_ms = ACK_WAIT_MS,
                                                    .unacked_max = UNACKED_MAX,
                                                    .idle_ms = IDLE_MS,
                                                    .is_from_now = true};
    return shared_consumer_open(feed->target->all->options.jetstream, &options, on_stored, feed,
                                &feed->shared);
}

static const struct parley_notice *find_notice(const struct parley_protocol *protocol,
                                               const char *event) {
    const struct parley_notice *notice = protocol->notices;
    while (notice != NULL && notice->event != NULL && notice->event != event) {
        notice++;
    }
    return notice != NULL && notice->event != NULL ? notice : NULL;
}

static enum webhook_key key_of(const char *event, const struct parley_notice *notice) {
    return event == webhook_halted               ? WEBHOOK_KEY_HALT
           : event == webhook_lost               ? WEBHOOK_KEY_LOSS
           : event == webhook_overdue            ? WEBHOOK_KEY_OVERDUE
           : notice != NULL && notice->is_moment ? WEBHOOK_KEY_MOMENT
                                                 : WEBHOOK_KEY_NONE;
}

/* Adds the events that the webhook wants to the feeds; with `feeds` NULL it counts them. */
struct listing {
    struct target *target;
    struct feed *feeds;
    size_t count;
};

static void list_event(void *context, const struct parley_protocol *protocol, const char *event) {
    struct listing *listing = context;
    const struct webhook *webhook = listing->target->webhook;
    const struct webhooks_options *options = &listing->target->all->options;
    const struct channel *channel = channel_find(options->configuration->channels, protocol);
    const size_t number = (size_t)(channel - options->configuration->channels);
    if (!webhook_list_has(webhook->events, parley_bytes_of(event)) ||
        !webhook_list_has(webhook->protocols, parley_bytes_of(protocol->name))) {
        return;
    }
    if (listing->feeds != NULL) {
        const struct parley_notice *notice = find_notice(protocol, event);
        listing->feeds[listing->count] = (struct feed){
            .target = listing->target,
            .source = {.channel = channel,
                       .event = event,
                       .key = key_of(event, notice),
                       .notice = notice,
                       .message = &options->messages[number],
                       .values = configuration_values(options->configuration, channel)}};
    }
    listing->count++;
}

static size_t list_feeds(struct target *target, struct feed *feeds) {
    struct listing listing = {.target = target, .feeds = feeds};
    webhook_events_visit(list_event, &listing);
    return listing.count;
}

/* The events of a webhook share what it takes at once. */
static enum parley_status open_feeds(struct webhooks *all, struct target *target) {
    struct feed *feeds = all->feeds + all->feed_count;
    const size_t feed_count = list_feeds(target, feeds);
    all->feed_count += feed_count;
    for (size_t i = 0; i < feed_count; i++) {
        const size_t share = target->webhook->at_once / feed_count;
        PARLEY_TRY(open_feed(&feeds[i], share > 0 ? share : 1));
    }
    return PARLEY_OK;
}

/* ---- life ---- */

static enum parley_status build(struct webhooks *all) {
    const struct webhook_file *file = all->options.file;
    size_t feed_count = 0;
    for (size_t i = 0; i < file->count; i++) {
        struct target *target = &all->targets[i];
        *target = (struct target){.all = all, .webhook = &file->webhooks[i]};
        TAILQ_INIT(&target->fetching);
        TAILQ_INIT(&target->waiting);
        TAILQ_INIT(&target->sent);
        feed_count += list_feeds(target, NULL);
    }
    PARLEY_TRY(webhook_sender_create(all->options.reactor, &all->sender));
    all->feeds = calloc(feed_count + 1, sizeof *all->feeds);
    if (all->feeds == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < file->count; i++) {
        PARLEY_TRY(open_feeds(all, &all->targets[i]));
    }
    return PARLEY_OK;
}

enum parley_status webhooks_create(const struct webhooks_options *options, struct webhooks **out) {
    struct webhooks *all = calloc(1, sizeof *all);
    if (all == NULL) {
        return PARLEY_E_MEMORY;
    }
    all->options = *options;
    const enum parley_status status = build(all);
    if (status != PARLEY_OK) {
        webhooks_destroy(all);
        return status;
    }
    *out = all;
    return PARLEY_OK;
}

/* What is not being sent goes to another gateway. */
static void return_waiting(struct target *target) {
    struct delivery *delivery;
    while ((delivery = TAILQ_FIRST(&target->fetching)) != NULL) {
        TAILQ_REMOVE(&target->fetching, delivery, link);
        jetstream_request_cancel(delivery->fetching);
        give_back(delivery, 0);
    }
    while ((delivery = TAILQ_FIRST(&target->waiting)) != NULL) {
        TAILQ_REMOVE(&target->waiting, delivery, link);
        give_back(delivery, 0);
    }
}

void webhooks_stop(struct webhooks *all) {
    for (size_t i = 0; all != NULL && i < all->feed_count; i++) {
        shared_consumer_close(all->feeds[i].shared);
        all->feeds[i].shared = NULL;
    }
    for (size_t i = 0; all != NULL && all->feeds != NULL && i < all->options.file->count; i++) {
        return_waiting(&all->targets[i]);
    }
}

bool webhooks_are_idle(const struct webhooks *all) {
    for (size_t i = 0; all != NULL && i < all->options.file->count; i++) {
        if (all->targets[i].sent_count > 0) {
            return false;
        }
    }
    return true;
}

/* What is being sent is delivered again, by another gateway. */
static void drop_sent(struct webhooks *all, struct target *target) {
    struct delivery *delivery;
    while ((delivery = TAILQ_FIRST(&target->sent)) != NULL) {
        TAILQ_REMOVE(&target->sent, delivery, link);
        webhook_sender_drop(all->sender, &delivery->sending);
        give_back(delivery, 0);
    }
}

void webhooks_destroy(struct webhooks *all) {
    if (all == NULL) {
        return;
    }
    webhooks_stop(all);
    for (size_t i = 0; all->feeds != NULL && i < all->options.file->count; i++) {
        drop_sent(all, &all->targets[i]);
    }
    webhook_sender_destroy(all->sender);
    free(all->feeds);
    free(all);
}
