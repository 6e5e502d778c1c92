/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_queue.h"

void stream_queue_init(struct stream_queue *queue, struct stream_pool *pool,
                       void (*give_back)(struct stream_holder *holder)) {
    *queue = (struct stream_queue){.pool = pool, .holder.give_back = give_back};
    queue->end = &queue->first;
}

void stream_queue_push(struct stream_queue *queue, struct stream_event *event) {
    *queue->end = event;
    queue->end = &event->next;
    queue->count++;
    queue->bytes += event->size_bytes;
    stream_pool_hold(queue->pool, event);
    stream_pool_touch(queue->pool, &queue->holder);
}

void stream_queue_pop(struct stream_queue *queue) {
    struct stream_event *event = queue->first;
    queue->first = event->next;
    if (queue->first == NULL) {
        queue->end = &queue->first;
    }
    queue->count--;
    queue->bytes -= event->size_bytes;
    event->next = NULL;
    stream_pool_release(queue->pool, event);
    if (queue->first == NULL) {
        stream_pool_leave(queue->pool, &queue->holder);
    }
    stream_event_unref(event);
}

void stream_queue_drop(struct stream_queue *queue) {
    while (queue->first != NULL) {
        stream_queue_pop(queue);
    }
}

void stream_queue_touch(struct stream_queue *queue) {
    if (queue->first != NULL) {
        stream_pool_touch(queue->pool, &queue->holder);
    }
}
