/* SPDX-License-Identifier: Apache-2.0 */

/* See memory.h. A value is written with the condition that its key has none, so that the first one
 * stays (as the first one of two messages with the same id does), and so that a value, once read,
 * can be held for a while without asking: the cache. It holds what JetStream has acknowledged or
 * answered, never what was not found, for that may change at any moment at another gateway.
 *
 * A question goes through up to four queues: behind a write of this very reactor for the same key,
 * in the line of those to be asked (a bounded number is asked at a time), asked, and, with nothing
 * found, in the pause before it is asked again. All pauses are equally long, so one timer serves
 * them. */

#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CACHE_COUNT_MAX = 4096,
    CHAIN_COUNT = 8192,
    CACHED_BYTES_MAX = 512, /* a larger entry is not kept, which bounds the whole cache */
    CACHE_MS = 10000,
    ASKED_COUNT_MAX = 1024,
    AGAIN_MS = 50,           /* when the bus takes no question at present */
    E_NOT_THE_FIRST = 10071, /* JetStream: wrong last sequence */
};

struct entry {
    struct entry *chain_next;
    TAILQ_ENTRY(entry) link;       /* in `known`, with a value */
    struct memory_recalls waiting; /* for the end of the writes */
    unsigned write_count;          /* under way here */
    int64_t known_ms;
    char *value; /* NULL: not known yet */
    size_t size;
    char key[];
};
TAILQ_HEAD(entries, entry);

struct memory {
    struct reactor *reactor;
    struct jetstream *jetstream;
    char stream[MEMORY_NAME_MAX], prefix[MEMORY_NAME_MAX], error[512];
    struct entry *chains[CHAIN_COUNT];
    struct entries known; /* the longest unused first */
    size_t known_count;
    struct memory_recalls line, asked, pausing;
    size_t asked_count, recall_count;
    struct reactor_timer ask_timer, pause_timer;
    bool is_ending;
};

/* A write under way.  Owns: itself, until its ack. */
struct write {
    struct memory *memory;
    struct entry *entry;
    jetstream_ack_fn *done;
    void *context;
    char value[];
};

void memory_stream_name(const char *bucket, char out[MEMORY_NAME_MAX]) {
    snprintf(out, MEMORY_NAME_MAX, "KV_%s", bucket);
}

void memory_stream_subjects(const char *bucket, char out[MEMORY_NAME_MAX]) {
    snprintf(out, MEMORY_NAME_MAX, "$KV.%s.>", bucket);
}

static const char *memory_bucket(const struct memory *memory) {
    return memory->stream + strlen("KV_");
}

/* ---- entries ---- */

static struct entry **chain_of(struct memory *memory, struct parley_bytes key) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.length; i++) {
        hash = (hash ^ (unsigned char)key.data[i]) * UINT64_C(1099511628211);
    }
    return &memory->chains[(hash ^ hash >> 32) % CHAIN_COUNT];
}

static struct entry *find_entry(struct memory *memory, struct parley_bytes key) {
    struct entry *entry = *chain_of(memory, key);
    while (entry != NULL && !parley_bytes_equal(parley_bytes_of(entry->key), key)) {
        entry = entry->chain_next;
    }
    return entry;
}

static struct entry *add_entry(struct memory *memory, struct parley_bytes key) {
    struct entry *entry = malloc(sizeof *entry + key.length + 1);
    if (entry == NULL) {
        return NULL;
    }
    struct entry **chain = chain_of(memory, key);
    *entry = (struct entry){.chain_next = *chain, .size = key.length};
    TAILQ_INIT(&entry->waiting);
    memcpy(entry->key, key.data, key.length);
    entry->key[key.length] = '\0';
    *chain = entry;
    return entry;
}

static void forget_value(struct memory *memory, struct entry *entry) {
    if (entry->value != NULL) {
        TAILQ_REMOVE(&memory->known, entry, link);
        memory->known_count--;
        free(entry->value);
        entry->value = NULL;
    }
}

/* Nobody waits at an entry that is not written to. */
static void remove_if_unused(struct memory *memory, struct entry *entry) {
    if (entry->write_count > 0 || entry->value != NULL) {
        return;
    }
    struct entry **link = chain_of(memory, parley_bytes_of(entry->key));
    while (*link != entry) {
        link = &(*link)->chain_next;
    }
    *link = entry->chain_next;
    free(entry);
}

static void forget_oldest(struct memory *memory) {
    struct entry *oldest = TAILQ_FIRST(&memory->known);
    forget_value(memory, oldest);
    remove_if_unused(memory, oldest);
}

/* What has no room is not kept, and asked for again. */
static void learn(struct memory *memory, struct entry *entry, struct parley_bytes value) {
    forget_value(memory, entry);
    if (value.length == 0 || entry->size + value.length > CACHED_BYTES_MAX) {
        return;
    }
    entry->value = strndup(value.data, value.length);
    if (entry->value == NULL) {
        return;
    }
    entry->known_ms = reactor_now_ms(memory->reactor);
    TAILQ_INSERT_TAIL(&memory->known, entry, link);
    if (++memory->known_count > CACHE_COUNT_MAX) {
        forget_oldest(memory);
    }
}

const char *memory_known(struct memory *memory, struct parley_bytes key) {
    struct entry *entry = find_entry(memory, key);
    if (entry == NULL || entry->value == NULL ||
        reactor_now_ms(memory->reactor) - entry->known_ms > CACHE_MS) {
        return NULL;
    }
    TAILQ_REMOVE(&memory->known, entry, link);
    TAILQ_INSERT_TAIL(&memory->known, entry, link);
    return entry->value;
}

/* ---- queues ---- */

static void leave_list(struct memory_recall *recall) {
    TAILQ_REMOVE(recall->list, recall, link);
    recall->memory->asked_count -= recall->list == &recall->memory->asked ? 1 : 0;
    recall->list = NULL;
}

static void enter_list(struct memory_recall *recall, struct memory_recalls *list) {
    if (recall->list != NULL) {
        leave_list(recall);
    }
    TAILQ_INSERT_TAIL(list, recall, link);
    recall->list = list;
    recall->memory->asked_count += list == &recall->memory->asked ? 1 : 0;
}

static void clear_recall(struct memory_recall *recall) {
    leave_list(recall);
    recall->memory->recall_count--;
    jetstream_request_cancel(recall->request);
    recall->request = NULL;
    free(recall->key);
    recall->key = NULL;
}

static void end_recall(struct memory_recall *recall,
                       const struct memory_recollection *recollection) {
    clear_recall(recall);
    recall->done(recall, recollection);
}

void memory_recall_cancel(struct memory_recall *recall) {
    if (recall->list != NULL) {
        clear_recall(recall);
    }
}

static void line_up(struct memory_recall *recall) {
    struct memory *memory = recall->memory;
    enter_list(recall, &memory->line);
    if (!memory->ask_timer.is_armed) {
        reactor_timer_set(memory->reactor, &memory->ask_timer, 0);
    }
}

static void pause_recall(struct memory_recall *recall) {
    struct memory *memory = recall->memory;
    enter_list(recall, &memory->pausing);
    recall->due_ms = reactor_now_ms(memory->reactor) + MEMORY_PATIENCE_MS;
    if (!memory->pause_timer.is_armed) {
        reactor_timer_set(memory->reactor, &memory->pause_timer, MEMORY_PATIENCE_MS);
    }
}

static void on_pause_over(struct reactor_timer *timer) {
    struct memory *memory = OWNER_OF(timer, struct memory, pause_timer);
    const int64_t now_ms = reactor_now_ms(memory->reactor);
    struct memory_recall *first;
    while ((first = TAILQ_FIRST(&memory->pausing)) != NULL && first->due_ms <= now_ms) {
        line_up(first);
    }
    if (first != NULL) {
        reactor_timer_set(memory->reactor, timer, first->due_ms - now_ms);
    }
}

/* ---- asking the bucket ---- */

static void fail(struct memory_recall *recall, const char *error) {
    const struct memory_recollection failed = {.found = MEMORY_FAILED, .error = error};
    end_recall(recall, &failed);
}

static const char *away(struct memory *memory) {
    const char *trouble = jetstream_trouble(memory->jetstream);
    snprintf(memory->error, sizeof memory->error,
             "%.400s. Nothing was stored: send it again later.",
             trouble != NULL ? trouble : "NATS cannot take messages now");
    return memory->error;
}

static void fail_unanswered(struct memory_recall *recall, const struct jetstream_last *last) {
    struct memory *memory = recall->memory;
    if (!jetstream_is_ready(memory->jetstream)) {
        fail(recall, away(memory));
        return;
    }
    if (last->found == JETSTREAM_LAST_NO_STREAM) {
        snprintf(memory->error, sizeof memory->error,
                 "The key-value bucket `%s`, which knows what this message answers, is not there. "
                 "parley is making it again; if that fails, `nats kv add %s` does. Nothing was "
                 "stored: send the message again.",
                 memory_bucket(memory), memory_bucket(memory));
    } else {
        snprintf(memory->error, sizeof memory->error,
                 "The key-value bucket `%s` did not tell what this message answers (%s). Nothing "
                 "was stored: send it again.",
                 memory_bucket(memory),
                 last->error != NULL ? last->error : "no answer came in time");
    }
    fail(recall, memory->error);
}

static void found(struct memory_recall *recall, struct parley_bytes payload) {
    struct memory *memory = recall->memory;
    const struct parley_bytes key = parley_bytes_of(recall->key);
    struct entry *entry = find_entry(memory, key);
    entry = entry != NULL ? entry : add_entry(memory, key);
    char *value = strndup(payload.data, payload.length);
    if (entry != NULL) {
        learn(memory, entry, payload);
        remove_if_unused(memory, entry);
    }
    if (value == NULL) {
        fail(recall, NULL);
        return;
    }
    const struct memory_recollection known = {.found = MEMORY_FOUND, .value = value};
    end_recall(recall, &known);
    free(value);
}

static void not_found(struct memory_recall *recall) {
    if (recall->is_patient && !recall->has_looked) {
        recall->has_looked = true;
        pause_recall(recall);
        return;
    }
    end_recall(recall, &(struct memory_recollection){.found = MEMORY_NOTHING});
}

static void on_last(void *context, const struct jetstream_last *last) {
    struct memory_recall *recall = context;
    struct memory *memory = recall->memory;
    recall->request = NULL;
    if (last->found == JETSTREAM_LAST_FOUND && last->payload.length > 0) {
        found(recall, last->payload);
    } else if (last->found == JETSTREAM_LAST_FOUND || last->found == JETSTREAM_LAST_NONE) {
        not_found(recall);
    } else {
        fail_unanswered(recall, last);
    }
    if (!TAILQ_EMPTY(&memory->line) && !memory->ask_timer.is_armed) {
        reactor_timer_set(memory->reactor, &memory->ask_timer, 0);
    }
}

static void ask_next(struct memory *memory, struct memory_recall *recall) {
    char subject[MEMORY_NAME_MAX + MEMORY_KEY_MAX];
    snprintf(subject, sizeof subject, "%s%s", memory->prefix, recall->key);
    recall->request =
        jetstream_last_ask(memory->jetstream, memory->stream, subject, on_last, recall);
    if (recall->request != NULL) {
        enter_list(recall, &memory->asked);
    }
}

static void on_ask(struct reactor_timer *timer) {
    struct memory *memory = OWNER_OF(timer, struct memory, ask_timer);
    struct memory_recall *first;
    while ((first = TAILQ_FIRST(&memory->line)) != NULL) {
        if (!jetstream_is_ready(memory->jetstream)) {
            fail(first, away(memory));
            continue;
        }
        if (memory->asked_count >= ASKED_COUNT_MAX) {
            return; /* the next answer goes on */
        }
        ask_next(memory, first);
        if (first->request == NULL) {
            reactor_timer_set(memory->reactor, timer, AGAIN_MS);
            return;
        }
    }
}

bool memory_recall(struct memory *memory, struct memory_recall *recall, struct parley_bytes key,
                   bool is_patient) {
    struct entry *entry = find_entry(memory, key);
    if (memory->is_ending || !jetstream_is_ready(memory->jetstream)) {
        return false;
    }
    recall->key = strndup(key.data, key.length < MEMORY_KEY_MAX ? key.length : MEMORY_KEY_MAX);
    if (recall->key == NULL) {
        return false;
    }
    recall->memory = memory;
    recall->is_patient = is_patient;
    recall->has_looked = false;
    memory->recall_count++;
    if (entry != NULL && entry->write_count > 0) {
        enter_list(recall, &entry->waiting);
    } else {
        line_up(recall);
    }
    return true;
}

/* ---- remembering ---- */

/* The last write to an entry is over: those who waited take its value, or ask. */
static void release_waiting(struct memory *memory, struct entry *entry) {
    struct memory_recall *recall;
    if (entry->write_count > 0) {
        return;
    }
    entry->write_count++; /* it must outlive what those who are told do */
    while ((recall = TAILQ_FIRST(&entry->waiting)) != NULL) {
        char *value = entry->value != NULL ? strdup(entry->value) : NULL;
        if (value != NULL) {
            const struct memory_recollection known = {.found = MEMORY_FOUND, .value = value};
            end_recall(recall, &known);
            free(value);
        } else {
            line_up(recall);
        }
    }
    entry->write_count--;
    remove_if_unused(memory, entry);
}

static void on_written(void *context, const struct jetstream_ack *ack) {
    struct write *write = context;
    struct memory *memory = write->memory;
    struct entry *entry = write->entry;
    struct jetstream_ack told = *ack;
    if (ack->outcome == JETSTREAM_STORED) {
        learn(memory, entry, parley_bytes_of(write->value));
    } else if (ack->outcome == JETSTREAM_REFUSED && ack->error_code == E_NOT_THE_FIRST) {
        told = (struct jetstream_ack){.outcome = JETSTREAM_STORED, .stream = memory->stream};
    }
    entry->write_count--;
    release_waiting(memory, entry);
    write->done(write->context, &told);
    free(write);
}

enum jetstream_publish memory_keep(struct memory *memory, struct parley_bytes key,
                                   struct parley_bytes value, jetstream_ack_fn *done,
                                   void *context) {
    static const struct bus_header first = {"Nats-Expected-Last-Subject-Sequence", "0"};
    char subject[MEMORY_NAME_MAX + MEMORY_KEY_MAX + 1];
    if (key.length > MEMORY_KEY_MAX) {
        return JETSTREAM_FAILED;
    }
    snprintf(subject, sizeof subject, "%s%.*s", memory->prefix, (int)key.length, key.data);
    struct entry *entry = find_entry(memory, key);
    entry = entry != NULL ? entry : add_entry(memory, key);
    struct write *write = malloc(sizeof *write + value.length + 1);
    if (entry == NULL || write == NULL) {
        if (entry != NULL) {
            remove_if_unused(memory, entry);
        }
        free(write);
        return JETSTREAM_FAILED;
    }
    *write = (struct write){.memory = memory, .entry = entry, .done = done, .context = context};
    memcpy(write->value, value.data, value.length);
    write->value[value.length] = '\0';
    const enum jetstream_publish published =
        memory->is_ending
            ? JETSTREAM_AWAY
            : jetstream_publish(memory->jetstream, subject, &first, 1, value, on_written, write);
    if (published == JETSTREAM_PUBLISHED) {
        entry->write_count++;
    } else {
        remove_if_unused(memory, entry);
        free(write);
    }
    return published;
}

/* ---- both at once ---- */

/* A message and what it is remembered by.  Owns: itself, until both acks. */
struct pair {
    struct memory *memory;
    jetstream_ack_fn *done; /* NULL: the message was not published */
    void *context;
    unsigned awaited_count;
    struct jetstream_ack message, kept;
    char stream[256], error[512];
};

/* The texts of an ack are borrowed for its call. */
static void keep_error(struct pair *pair, struct jetstream_ack *ack) {
    if (ack->error != NULL) {
        snprintf(pair->error, sizeof pair->error, "%s", ack->error);
        ack->error = pair->error;
    }
}

/* The message is stored; whether it can be recalled is not sure. For its sender that is as an ack
 * that did not come: to send it again is right. */
static void tell_not_kept(struct pair *pair) {
    char text[sizeof pair->error + 256];
    struct jetstream_ack told = pair->kept;
    if (told.outcome == JETSTREAM_REFUSED) {
        snprintf(text, sizeof text,
                 "The message was stored, but where its replies go was not: the key-value bucket "
                 "`%s` refused it (%.100s).",
                 memory_bucket(pair->memory), pair->error);
        told = (struct jetstream_ack){.outcome = JETSTREAM_TIMEOUT, .error = text};
    }
    pair->done(pair->context, &told);
}

static void settle_pair(struct pair *pair) {
    if (--pair->awaited_count > 0) {
        return;
    }
    if (pair->done != NULL && pair->message.outcome == JETSTREAM_STORED &&
        pair->kept.outcome != JETSTREAM_STORED) {
        tell_not_kept(pair);
    } else if (pair->done != NULL) {
        pair->done(pair->context, &pair->message);
    }
    free(pair);
}

static void on_kept(void *context, const struct jetstream_ack *ack) {
    struct pair *pair = context;
    pair->kept = *ack;
    if (pair->message.outcome == JETSTREAM_STORED) { /* else it is the message's that is told */
        keep_error(pair, &pair->kept);
    }
    settle_pair(pair);
}

static void on_stored(void *context, const struct jetstream_ack *ack) {
    struct pair *pair = context;
    pair->message = *ack;
    keep_error(pair, &pair->message);
    if (ack->stream != NULL) {
        snprintf(pair->stream, sizeof pair->stream, "%s", ack->stream);
        pair->message.stream = pair->stream;
    }
    settle_pair(pair);
}

/* What is kept goes first: if then the message cannot go, it is sent again, and keeping the same
 * again changes nothing. But it must not be for want of room, which those who wait to send it again
 * would take from themselves by keeping it, again and again. */
enum jetstream_publish memory_publish(struct memory *memory, struct parley_bytes key,
                                      struct parley_bytes value, const char *subject,
                                      const struct bus_header *headers, size_t header_count,
                                      struct parley_bytes payload, jetstream_ack_fn *done,
                                      void *context) {
    if (memory_known(memory, key) != NULL) { /* it was acknowledged a moment ago */
        return jetstream_publish(memory->jetstream, subject, headers, header_count, payload, done,
                                 context);
    }
    struct pair *pair = calloc(1, sizeof *pair);
    if (pair == NULL) {
        return JETSTREAM_FAILED;
    }
    *pair = (struct pair){.memory = memory, .context = context, .awaited_count = 1};
    enum jetstream_publish published = memory_keep(memory, key, value, on_kept, pair);
    if (published != JETSTREAM_PUBLISHED) {
        free(pair);
        return published;
    }
    published = jetstream_publish_second(memory->jetstream, subject, headers, header_count, payload,
                                         on_stored, pair);
    if (published == JETSTREAM_PUBLISHED) {
        pair->awaited_count++;
        pair->done = done;
    }
    return published;
}

/* ---- its life ---- */

enum parley_status memory_create(struct reactor *reactor, struct jetstream *jetstream,
                                 const char *bucket, struct memory **out) {
    struct memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL) {
        return PARLEY_E_MEMORY;
    }
    memory->reactor = reactor;
    memory->jetstream = jetstream;
    memory_stream_name(bucket, memory->stream);
    snprintf(memory->prefix, sizeof memory->prefix, "$KV.%s.", bucket);
    TAILQ_INIT(&memory->known);
    TAILQ_INIT(&memory->line);
    TAILQ_INIT(&memory->asked);
    TAILQ_INIT(&memory->pausing);
    memory->ask_timer.fire = on_ask;
    memory->pause_timer.fire = on_pause_over;
    *out = memory;
    return PARLEY_OK;
}

static void end_all(struct memory_recalls *list) {
    while (!TAILQ_EMPTY(list)) {
        fail(TAILQ_FIRST(list), "parley is shutting down. Nothing was stored: send it again.");
    }
}

/* Of writes under way nobody hears any more: their acks end with the jetstream. */
void memory_destroy(struct memory *memory) {
    if (memory == NULL) {
        return;
    }
    memory->is_ending = true;
    end_all(&memory->line);
    end_all(&memory->asked);
    end_all(&memory->pausing);
    for (size_t i = 0; i < CHAIN_COUNT; i++) {
        while (memory->chains[i] != NULL) {
            struct entry *entry = memory->chains[i];
            end_all(&entry->waiting);
            memory->chains[i] = entry->chain_next;
            free(entry->value);
            free(entry);
        }
    }
    reactor_timer_clear(memory->reactor, &memory->ask_timer);
    reactor_timer_clear(memory->reactor, &memory->pause_timer);
    free(memory);
}

bool memory_is_idle(const struct memory *memory) {
    return memory->recall_count == 0;
}
