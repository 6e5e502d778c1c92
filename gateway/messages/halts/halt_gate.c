/* SPDX-License-Identifier: Apache-2.0 */

/* See halt_gate.h. A held message is a copy. It is in one of three states:
 *
 *   HELD_FOR_KEY    until the key of its halt is acknowledged
 *   HELD_FOR_TURN   until the next turn: its outcome is known
 *   HELD_FOR_SIGHT  until the bucket can be read: looked at every 20 ms while there are any */

#include "halt_gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "bucket_key.h"
#include "log.h"

enum {
    HEADERS_MAX = 12,
    LOOK_MS = 20,
    HELD_COUNT_MAX = 4096,
    HELD_BYTES_MAX = 32 << 20, /* or one message */
};

struct held {
    struct halt_gate *gate;
    TAILQ_ENTRY(held) link;
    jetstream_ack_fn *done;
    void *context;
    struct halt_hold *hold;
    bool is_key_only;
    const char *refusal; /* HELD_FOR_TURN: why it is not stored; NULL: its key is */
    int64_t due_ms;
    char conversation[HALT_DIGEST_LENGTH + 1], key[HALT_KEY_LENGTH + 1];
    struct jetstream_message message; /* its texts are in `texts` */
    struct bus_header headers[HEADERS_MAX];
    char texts[];
};

struct halt_gate {
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct halt_set *set;
    const char *bucket;
    TAILQ_HEAD(held_list, held) for_key, for_turn, for_sight; /* in the order of their coming */
    struct reactor_timer turn, timer;                         /* of for_turn, for_sight */
    size_t held_count, held_bytes;
};

static const char unread[] = "The halts cannot be read from NATS at present, so that it is not "
                             "known whether this conversation is halted";

/* ---- copies ---- */

static size_t texts_size(const struct jetstream_message *message) {
    size_t size = strlen(message->subject) + 1 + message->payload.length;
    for (size_t i = 0; i < message->header_count; i++) {
        size += strlen(message->headers[i].name) + strlen(message->headers[i].value) + 2;
    }
    return size;
}

static const char *copy_text(char **at, const char *text) {
    const size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static void copy_message(struct held *held, const struct jetstream_message *message) {
    char *at = held->texts;
    held->message = *message;
    held->message.subject = copy_text(&at, message->subject);
    for (size_t i = 0; i < message->header_count; i++) {
        held->headers[i].name = copy_text(&at, message->headers[i].name);
        held->headers[i].value = copy_text(&at, message->headers[i].value);
    }
    held->message.headers = held->headers;
    memcpy(at, message->payload.data, message->payload.length);
    held->message.payload = (struct parley_bytes){at, message->payload.length};
}

/* Returns: NULL: no memory, or no room. */
static struct held *hold(struct halt_gate *gate, const struct halt_post *post) {
    const struct jetstream_message *message = post->message;
    const size_t bytes = message->payload.length;
    const bool has_room = gate->held_count == 0 || (gate->held_count < HELD_COUNT_MAX &&
                                                    gate->held_bytes + bytes <= HELD_BYTES_MAX);
    struct held *held = has_room && message->header_count <= HEADERS_MAX
                            ? malloc(sizeof *held + texts_size(message))
                            : NULL;
    if (held == NULL) {
        return NULL;
    }
    *held = (struct held){.gate = gate,
                          .done = post->done,
                          .context = post->context,
                          .hold = post->hold,
                          .is_key_only = post->is_key_only};
    snprintf(held->conversation, sizeof held->conversation, "%s", post->conversation);
    copy_message(held, message);
    gate->held_count++;
    gate->held_bytes += bytes;
    if (held->hold != NULL) {
        held->hold->held_count++;
    }
    return held;
}

static void free_held(struct held *held) {
    held->gate->held_count--;
    held->gate->held_bytes -= held->message.payload.length;
    free(held);
}

static void let_go(struct halt_hold *hold) {
    if (hold != NULL && --hold->held_count == 0) {
        hold->released(hold);
    }
}

/* ---- its end ---- */

/* The tasks that wait after it continue first: with `done` its owner may be gone. */
static void end(struct held *held, const struct jetstream_ack *ack) {
    jetstream_ack_fn *done = held->done;
    void *context = held->context;
    let_go(held->hold);
    free_held(held);
    done(context, ack);
}

static void refuse(struct held *held, const char *error) {
    end(held, &(struct jetstream_ack){.outcome = JETSTREAM_REFUSED, .error = error});
}

/* Returns: false: the window is full. */
static bool publish(struct held *held, bool is_second) {
    struct jetstream *jetstream = held->gate->jetstream;
    const enum jetstream_publish published =
        is_second ? jetstream_publish_second(jetstream, &held->message, held->done, held->context)
                  : jetstream_publish(jetstream, &held->message, held->done, held->context);
    if (published == JETSTREAM_FULL) {
        return false;
    }
    if (published == JETSTREAM_PUBLISHED) {
        struct halt_hold *hold_of_it = held->hold;
        free_held(held);
        let_go(hold_of_it);
        return true;
    }
    const char *trouble =
        published == JETSTREAM_BARRED ? jetstream_bar(jetstream) : jetstream_trouble(jetstream);
    refuse(held, trouble != NULL ? trouble : "NATS cannot take messages now");
    return true;
}

/* ---- keys ---- */

enum jetstream_publish halt_gate_put(struct halt_gate *gate, const char *key,
                                     struct parley_bytes value, unsigned share,
                                     jetstream_ack_fn *done, void *context) {
    const struct bucket_value written = {gate->bucket, key, value, share};
    return bucket_key_create(gate->jetstream, &written, done, context);
}

enum jetstream_publish halt_gate_overwrite(struct halt_gate *gate, const char *key,
                                           struct parley_bytes value, jetstream_ack_fn *done,
                                           void *context) {
    const struct bucket_value written = {.bucket = gate->bucket, .key = key, .value = value};
    return bucket_key_overwrite(gate->jetstream, &written, done, context);
}

/* ---- messages that halt ---- */

static const char full[] = "As many conversations are halted as can be, so that this message "
                           "cannot halt its own: people have to release some";
static const char share_full[] =
    "This sender has made a quarter of all halts that can be open, so that its message cannot halt "
    "its conversation: people have to release some";

/* Reads a key alone. */
static const struct jetstream_ack stored = {.outcome = JETSTREAM_STORED};

static void on_key(void *context, const struct jetstream_ack *ack) {
    struct held *held = context;
    struct halt_set *set = held->gate->set;
    TAILQ_REMOVE(&held->gate->for_key, held, link);
    if (ack->outcome == JETSTREAM_STORED || bucket_key_is_taken(ack)) {
        halt_set_latched(set, held->key, ack->outcome == JETSTREAM_STORED ? ack->sequence : 0);
        if (held->is_key_only) {
            end(held, &stored);
        } else if (!publish(held, true)) {
            refuse(held, "Too many messages are in progress"); /* a second one needs no room */
        }
        return;
    }
    char error[384];
    halt_set_unlatch(set, held->key);
    snprintf(error, sizeof error, "The halt could not be stored in the bucket `%s` (%.200s)",
             held->gate->bucket, ack->error != NULL ? ack->error : "NATS did not acknowledge it");
    refuse(held, error);
}

static void on_turn(struct reactor_timer *timer) {
    struct halt_gate *gate = OWNER_OF(timer, struct halt_gate, turn);
    while (!TAILQ_EMPTY(&gate->for_turn)) {
        struct held *held = TAILQ_FIRST(&gate->for_turn);
        TAILQ_REMOVE(&gate->for_turn, held, link);
        if (held->refusal != NULL) {
            refuse(held, held->refusal);
        } else {
            end(held, &stored);
        }
    }
}

/* `refusal`: NULL: its key is stored. */
static enum jetstream_publish end_in_next_turn(struct halt_gate *gate, const struct halt_post *post,
                                               const char *refusal) {
    struct held *held = hold(gate, post);
    if (held == NULL) {
        return JETSTREAM_FULL;
    }
    held->refusal = refusal;
    TAILQ_INSERT_TAIL(&gate->for_turn, held, link);
    if (!gate->turn.is_armed) {
        reactor_timer_set(gate->reactor, &gate->turn, 0);
    }
    return JETSTREAM_PUBLISHED;
}

static enum jetstream_publish write_and_hold(struct halt_gate *gate, const struct halt_post *post) {
    struct held *held = hold(gate, post);
    enum jetstream_publish written = JETSTREAM_FULL;
    if (held != NULL) {
        memcpy(held->key, post->key, HALT_KEY_LENGTH);
        written = halt_gate_put(gate, post->key, post->value, post->message->share, on_key, held);
    }
    if (written == JETSTREAM_PUBLISHED) {
        TAILQ_INSERT_TAIL(&gate->for_key, held, link);
    } else {
        halt_set_unlatch(gate->set, post->key);
        if (held != NULL) {
            held->hold = NULL;
            if (post->hold != NULL) {
                post->hold->held_count--;
            }
            free_held(held);
        }
    }
    return written;
}

static enum jetstream_publish halt(struct halt_gate *gate, const struct halt_post *post) {
    if (!jetstream_is_accepting(gate->jetstream)) {
        return JETSTREAM_AWAY;
    }
    switch (halt_set_latch(gate->set, post->key, post->value)) {
    case HALT_LATCH_KNOWN:
        return post->is_key_only
                   ? end_in_next_turn(gate, post, NULL)
                   : jetstream_publish(gate->jetstream, post->message, post->done, post->context);
    case HALT_LATCH_FULL: /* waiting for room in the window would not help */
        return end_in_next_turn(gate, post, full);
    case HALT_LATCH_SHARE_FULL:
        return end_in_next_turn(gate, post, share_full);
    case HALT_LATCH_NO_MEMORY:
        return JETSTREAM_FAILED;
    case HALT_LATCH_WRITE:
        break;
    }
    return write_and_hold(gate, post);
}

/* ---- messages that obey, while the bucket cannot be read ---- */

/* Returns: whether it has gone. */
static bool look(struct held *held, int64_t now_ms) {
    struct halt_gate *gate = held->gate;
    const enum halt_answer answer = halt_set_ask(gate->set, held->conversation, NULL);
    const bool is_over = now_ms >= held->due_ms || !jetstream_is_accepting(gate->jetstream);
    if (answer == HALT_BLIND && !is_over) {
        return false;
    }
    TAILQ_REMOVE(&gate->for_sight, held, link);
    if (answer == HALT_HALTED) {
        refuse(held, "The conversation was halted while this message waited");
    } else if (answer == HALT_BLIND) {
        const char *trouble = jetstream_trouble(gate->jetstream);
        refuse(held, trouble != NULL ? trouble : unread);
    } else if (!publish(held, false)) {
        TAILQ_INSERT_HEAD(&gate->for_sight, held, link);
        return false;
    }
    return true;
}

/* In order, so that one that finds no room is not passed. */
static void on_time(struct reactor_timer *timer) {
    struct halt_gate *gate = OWNER_OF(timer, struct halt_gate, timer);
    const int64_t now_ms = reactor_now_ms(gate->reactor);
    while (!TAILQ_EMPTY(&gate->for_sight) && look(TAILQ_FIRST(&gate->for_sight), now_ms)) {
    }
    if (!TAILQ_EMPTY(&gate->for_sight)) {
        reactor_timer_set(gate->reactor, timer, LOOK_MS);
    }
}

static enum jetstream_publish wait_for_sight(struct halt_gate *gate, const struct halt_post *post) {
    const int64_t patience_ms = jetstream_patience_ms(gate->jetstream);
    if (!jetstream_is_accepting(gate->jetstream)) {
        return JETSTREAM_AWAY;
    }
    struct held *held = hold(gate, post);
    if (held == NULL) {
        return JETSTREAM_FULL;
    }
    held->due_ms = reactor_now_ms(gate->reactor) + patience_ms;
    TAILQ_INSERT_TAIL(&gate->for_sight, held, link);
    if (!gate->timer.is_armed) {
        reactor_timer_set(gate->reactor, &gate->timer,
                          patience_ms < LOOK_MS ? patience_ms : LOOK_MS);
    }
    return JETSTREAM_PUBLISHED;
}

enum jetstream_publish halt_gate_publish(struct halt_gate *gate, const struct halt_post *post) {
    if (post->key != NULL) {
        return halt(gate, post);
    }
    if (halt_set_ask(gate->set, post->conversation, NULL) == HALT_BLIND) {
        return wait_for_sight(gate, post);
    }
    return jetstream_publish(gate->jetstream, post->message, post->done, post->context);
}

/* ---- its life ---- */

struct halt_set *halt_gate_set(struct halt_gate *gate) {
    return gate->set;
}

size_t halt_gate_held_count(const struct halt_gate *gate) {
    return gate->held_count;
}

void halt_gate_give_up(struct halt_gate *gate) {
    while (!TAILQ_EMPTY(&gate->for_sight)) {
        struct held *held = TAILQ_FIRST(&gate->for_sight);
        TAILQ_REMOVE(&gate->for_sight, held, link);
        refuse(held, unread);
    }
}

enum parley_status halt_gate_create(struct reactor *reactor, struct jetstream *jetstream,
                                    struct halt_set *set, const char *bucket,
                                    struct halt_gate **out) {
    struct halt_gate *gate = calloc(1, sizeof *gate);
    if (gate == NULL) {
        return PARLEY_E_MEMORY;
    }
    *gate = (struct halt_gate){
        .reactor = reactor, .jetstream = jetstream, .set = set, .bucket = bucket};
    gate->timer.fire = on_time;
    gate->turn.fire = on_turn;
    TAILQ_INIT(&gate->for_key);
    TAILQ_INIT(&gate->for_turn);
    TAILQ_INIT(&gate->for_sight);
    *out = gate;
    return PARLEY_OK;
}

static void free_all(struct held_list *list) {
    while (!TAILQ_EMPTY(list)) {
        struct held *held = TAILQ_FIRST(list);
        TAILQ_REMOVE(list, held, link);
        free_held(held);
    }
}

void halt_gate_destroy(struct halt_gate *gate) {
    if (gate == NULL) {
        return;
    }
    reactor_timer_clear(gate->reactor, &gate->timer);
    reactor_timer_clear(gate->reactor, &gate->turn);
    free_all(&gate->for_key);
    free_all(&gate->for_turn);
    free_all(&gate->for_sight);
    free(gate);
}
