/* SPDX-License-Identifier: Apache-2.0 */

/* See ordered_delivery.h. */

#include "ordered_delivery.h"

#include "jetstream_delivery.h"
#include "ordered_flow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void ordered_delivery_advance(struct ordered_consumer *consumer, enum ordered_position position) {
    assert(consumer->position <= position);
    consumer->position = position;
}

/* ---- messages ---- */

static struct ordered_seen *seen_at(struct ordered_consumer *consumer, uint64_t sequence) {
    return &consumer->seen[sequence & (consumer->seen_count - 1)];
}

static void deliver(struct ordered_consumer *consumer, const struct jetstream_delivery *delivery,
                    const struct bus_message *message) {
    ordered_flow_delivering(consumer);
    ordered_delivery_advance(consumer, ORDERED_DELIVERED);
    consumer->doubt_count = 0;
    consumer->next_sequence = delivery->stream_sequence + 1;
    *seen_at(consumer, delivery->stream_sequence) =
        (struct ordered_seen){delivery->stream_sequence, delivery->time_ns};
    const struct jetstream_stored stored = {
        .sequence = delivery->stream_sequence,
        .time_ns = delivery->time_ns,
        .subject = message->subject,
        .payload = message->payload,
        .message = message,
    };
    consumer->events.stored(consumer->events.context, &stored);
    ordered_flow_delivered(consumer);
}

/* Asked to begin past the end, the server begins at the end, and a member of a cluster that catches
 * up with the others has an end of its own: the first messages were not asked for, or were
 * delivered before. But where the stream lost its last messages with a power cut, others have their
 * sequences, and these are new. The time at which a message was stored tells them apart. */
static bool is_repeated(struct ordered_consumer *consumer,
                        const struct jetstream_delivery *delivery) {
    const uint64_t sequence = delivery->stream_sequence;
    if (sequence >= consumer->next_sequence || consumer->start.from == JETSTREAM_FROM_LAST) {
        return false;
    }
    if (consumer->position != ORDERED_DELIVERED) {
        return true;
    }
    const struct ordered_seen *seen = seen_at(consumer, sequence);
    return seen->sequence == sequence
               ? delivery->time_ns == seen->time_ns
               : delivery->time_ns <= seen_at(consumer, consumer->next_sequence - 1)->time_ns;
}

/* A member of a cluster whose replica is reset catches up from a later sequence on, and delivers
 * those messages while the stream's leader holds all. And nats-server 2.9 forgets the undelivered
 * messages of a consumer when one subject of its stream is purged or rolled up. */
static bool is_doubtful(struct ordered_consumer *consumer, uint64_t sequence) {
    if (consumer->position < ORDERED_KNOWN || sequence <= consumer->next_sequence) {
        return false;
    }
    switch (consumer->start.doubts) {
    case JETSTREAM_DOUBTS_HELD:
        return consumer->whole_from > 0 && consumer->whole_from <= consumer->next_sequence &&
               ++consumer->doubt_count <= ORDERED_DOUBTS_MAX;
    case JETSTREAM_DOUBTS_NEW:
        return consumer->has_all; /* its replacement begins here, and does not have all */
    case JETSTREAM_DOUBTS_NONE:
        break;
    }
    return false;
}

static bool handle_message(struct ordered_consumer *consumer,
                           const struct jetstream_delivery *delivery,
                           const struct bus_message *message) {
    if (delivery->consumer_sequence != consumer->consumer_sequence + 1 ||
        is_doubtful(consumer, delivery->stream_sequence)) {
        return false;
    }
    consumer->consumer_sequence = delivery->consumer_sequence;
    ordered_flow_received(consumer, message->payload.length + strlen(message->subject) +
                                        strlen(message->reply));
    if (!is_repeated(consumer, delivery)) {
        deliver(consumer, delivery, message);
    }
    if (delivery->pending == 0 && consumer->phase == ORDERED_RUNNING) {
        consumer->has_all = true;
        if (consumer->events.current != NULL) {
            consumer->events.current(consumer->events.context);
        }
    }
    ordered_flow_top_up(consumer);
    return true;
}

/* ---- statuses ---- */

/* Returns: false when the last messages were lost. */
static bool handle_heartbeat(const struct ordered_consumer *consumer,
                             const struct bus_message *message) {
    const char *sent = bus_message_header(message, "Nats-Last-Consumer");
    return sent == NULL || strtoull(sent, NULL, 10) <= consumer->consumer_sequence;
}

/* From nats-server 2.10 on a request that is limited in bytes ends so once all its messages have
 * come ("409 Batch Completed"). One whose next message exceeds its bytes lacks that message. */
static bool is_completed(unsigned status, size_t left) {
    return status == 409 && left == 0;
}

static bool handle_status(struct ordered_consumer *consumer, const struct bus_message *message) {
    const unsigned status = bus_message_status(message);
    const char *left = bus_message_header(message, "Nats-Pending-Messages");
    if (status == 100) {
        return handle_heartbeat(consumer, message);
    }
    if ((status == 408 || status == 409) && left != NULL) {
        const size_t count = strtoull(left, NULL, 10);
        return is_completed(status, count) ||
               ordered_flow_request_ended(consumer, count, status == 409);
    }
    return false; /* 409: deleted, another leader, …; 503: it does not exist */
}

bool ordered_delivery_handle(struct ordered_consumer *consumer, const struct bus_message *message) {
    struct jetstream_delivery delivery;
    consumer->heard_ms = reactor_now_ms(consumer->jetstream->reactor);
    return jetstream_delivery_read_tail(message->reply_tail, &delivery)
               ? handle_message(consumer, &delivery, message)
               : handle_status(consumer, message);
}
