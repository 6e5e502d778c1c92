/* SPDX-License-Identifier: Apache-2.0 */

#include "delay_queue.h"

#include <stdlib.h>
#include <string.h>

enum {
    COUNT_MAX = 16384,
    BYTES_MAX = 16 * 1024 * 1024,
};

struct late_message {
    TAILQ_ENTRY(late_message) link;
    int64_t due_ms;
    size_t size;
    struct jetstream_stored stored;
    char text[]; /* subject and payload */
};

static void handle_first(struct delay_queue *queue) {
    struct late_message *first = TAILQ_FIRST(&queue->messages);
    TAILQ_REMOVE(&queue->messages, first, link);
    queue->count--;
    queue->bytes -= first->size;
    queue->due(queue, &first->stored);
    free(first);
}

static void arm(struct delay_queue *queue) {
    const struct late_message *first = TAILQ_FIRST(&queue->messages);
    if (first != NULL) {
        const int64_t wait_ms = first->due_ms - reactor_now_ms(queue->reactor);
        reactor_timer_set(queue->reactor, &queue->timer, wait_ms > 0 ? wait_ms : 0);
    }
}

static void on_timer(struct reactor_timer *timer) {
    struct delay_queue *queue = OWNER_OF(timer, struct delay_queue, timer);
    const int64_t now_ms = reactor_now_ms(queue->reactor);
    while (!TAILQ_EMPTY(&queue->messages) && TAILQ_FIRST(&queue->messages)->due_ms <= now_ms) {
        handle_first(queue);
    }
    arm(queue);
}

void delay_queue_init(struct delay_queue *queue, struct reactor *reactor, int64_t delay_ms,
                      void (*due)(struct delay_queue *queue,
                                  const struct jetstream_stored *stored)) {
    *queue = (struct delay_queue){
        .reactor = reactor, .delay_ms = delay_ms, .due = due, .timer.fire = on_timer};
    TAILQ_INIT(&queue->messages);
}

void delay_queue_finish(struct delay_queue *queue) {
    struct late_message *first;
    reactor_timer_clear(queue->reactor, &queue->timer);
    while ((first = TAILQ_FIRST(&queue->messages)) != NULL) {
        TAILQ_REMOVE(&queue->messages, first, link);
        free(first);
    }
    queue->count = queue->bytes = 0;
}

static struct late_message *copy(const struct jetstream_stored *stored) {
    const size_t subject_size = strlen(stored->subject) + 1;
    const size_t size = sizeof(struct late_message) + subject_size + stored->payload.length;
    struct late_message *message = malloc(size);
    if (message == NULL) {
        return NULL;
    }
    *message = (struct late_message){.size = size, .stored = *stored};
    char *payload = message->text + subject_size;
    memcpy(message->text, stored->subject, subject_size);
    if (stored->payload.length > 0) {
        memcpy(payload, stored->payload.data, stored->payload.length);
    }
    message->stored.subject = message->text;
    message->stored.payload.data = payload;
    message->stored.message = NULL;
    return message;
}

void delay_queue_add(struct delay_queue *queue, const struct jetstream_stored *stored) {
    struct late_message *message = copy(stored);
    if (message == NULL) {
        queue->due(queue, stored);
        return;
    }
    message->due_ms = reactor_now_ms(queue->reactor) + queue->delay_ms;
    TAILQ_INSERT_TAIL(&queue->messages, message, link);
    queue->count++;
    queue->bytes += message->size;
    while (queue->count > COUNT_MAX || (queue->count > 1 && queue->bytes > BYTES_MAX)) {
        handle_first(queue);
    }
    if (!queue->timer.is_armed) {
        arm(queue);
    }
}
