/* SPDX-License-Identifier: Apache-2.0 */

/* See index_duty.h. All look-ups are binary searches in arrays that are sorted once, since a thread
 * may have thousands of messages, each with many recipients. */

#include "index_duty.h"

#include <stdint.h>
#include <stdlib.h>

#include "index_ledger.h"

enum { FIRST_CAPACITY = 32 };

/* ---- adding ---- */

/* Makes room for one more.  Returns: PARLEY_E_MEMORY. */
static enum parley_status grow(void **items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) {
        return PARLEY_OK;
    }
    const size_t wanted = *capacity > 0 ? 2 * *capacity : FIRST_CAPACITY;
    void *grown = realloc(*items, wanted * size);
    if (grown == NULL) {
        return PARLEY_E_MEMORY;
    }
    *items = grown;
    *capacity = wanted;
    return PARLEY_OK;
}

enum parley_status duty_add_message(struct duty_thread *thread,
                                    const struct duty_message *message) {
    void *items = thread->messages;
    const enum parley_status status =
        grow(&items, thread->count, &thread->capacity, sizeof *message);
    thread->messages = items;
    if (status == PARLEY_OK) {
        thread->messages[thread->count++] = *message;
    }
    return status;
}

enum parley_status duty_add_ack(struct duty_thread *thread, const struct duty_ack *ack) {
    void *items = thread->acks;
    const enum parley_status status =
        grow(&items, thread->ack_count, &thread->ack_capacity, sizeof *ack);
    thread->acks = items;
    if (status == PARLEY_OK) {
        thread->acks[thread->ack_count++] = *ack;
    }
    return status;
}

void duty_finish(struct duty_thread *thread) {
    free(thread->messages);
    free(thread->acks);
    free(thread->writers.items);
    free(thread->answers.items);
    free(thread->subjects.items);
    *thread = (struct duty_thread){.count = 0};
}

/* ---- names ---- */

int duty_compare(struct parley_bytes one, struct parley_bytes other) {
    const size_t length = one.length < other.length ? one.length : other.length;
    const int difference = length > 0 ? memcmp(one.data, other.data, length) : 0;
    return difference != 0 ? difference : (one.length > other.length) - (one.length < other.length);
}

static int compare_numbers(size_t one, size_t other) {
    return (one > other) - (one < other);
}

static int compare_names(const void *one, const void *other) {
    const struct duty_name *a = one, *b = other;
    const int difference = duty_compare(a->text, b->text);
    return difference != 0 ? difference : compare_numbers(a->number, b->number);
}

static int compare_by_number(const void *one, const void *other) {
    const struct duty_name *a = one, *b = other;
    return compare_numbers(a->number, b->number);
}

static enum parley_status make_room(struct duty_names *names, size_t capacity) {
    names->items = calloc(capacity > 0 ? capacity : 1, sizeof *names->items);
    return names->items != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static void add_name(struct duty_names *names, struct parley_bytes text, size_t number) {
    if (text.length > 0) {
        names->items[names->count++] = (struct duty_name){.text = text, .number = number};
    }
}

static void sort_names(struct duty_names *names) {
    qsort(names->items, names->count, sizeof *names->items, compare_names);
}

/* The first name that is not before this one. */
static size_t find_name(const struct duty_names *names, struct parley_bytes text, size_t number) {
    const struct duty_name wanted = {.text = text, .number = number};
    size_t from = 0, end = names->count;
    while (from < end) {
        const size_t middle = from + (end - from) / 2;
        if (compare_names(&names->items[middle], &wanted) < 0) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return from;
}

/* Leaves the first of each text. */
static void keep_first(struct duty_names *names) {
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (kept == 0 || !parley_bytes_equal(names->items[kept - 1].text, names->items[i].text)) {
            names->items[kept++] = names->items[i];
        }
    }
    names->count = kept;
}

static struct parley_bytes short_subject(struct parley_bytes text) {
    text.length = text.length < DUTY_SUBJECT_MAX ? text.length : DUTY_SUBJECT_MAX;
    return text;
}

static enum parley_status make_names(struct duty_thread *thread) {
    PARLEY_TRY(make_room(&thread->writers, thread->count));
    PARLEY_TRY(make_room(&thread->answers, thread->count));
    PARLEY_TRY(make_room(&thread->subjects, 2 * thread->count));
    for (size_t i = 0; i < thread->count; i++) {
        const struct duty_message *message = &thread->messages[i];
        if ((message->part & PARLEY_INDEX_REMINDS) != 0) {
            continue;
        }
        add_name(&thread->writers, message->sender, i);
        if ((message->part & PARLEY_INDEX_ACKNOWLEDGES) == 0) {
            add_name(&thread->answers, message->sender, i);
            add_name(&thread->subjects, short_subject(message->subject), i);
            add_name(&thread->subjects, short_subject(message->topic), i);
        }
    }
    sort_names(&thread->writers);
    keep_first(&thread->writers);
    qsort(thread->writers.items, thread->writers.count, sizeof *thread->writers.items,
          compare_by_number);
    sort_names(&thread->answers);
    sort_names(&thread->subjects);
    return PARLEY_OK;
}

/* ---- acknowledgements ---- */

static void find_by_topic(const struct duty_thread *thread, size_t number, struct duty_ack *ack) {
    const struct parley_bytes topic = short_subject(ack->topic);
    if (topic.length == 0) {
        return;
    }
    for (size_t i = find_name(&thread->subjects, topic, number); i > 0; i--) {
        const struct duty_name *name = &thread->subjects.items[i - 1];
        const struct duty_message *message = &thread->messages[name->number];
        if (!parley_bytes_equal(name->text, topic)) {
            return;
        }
        if (!parley_bytes_equal(message->sender, ack->sender)) {
            ack->of = message->at.pos;
            return;
        }
    }
}

/* The highest status of a sender first, and of these the first. */
static int compare_acks(const void *one, const void *other) {
    const struct duty_ack *a = one, *b = other;
    const int sender = duty_compare(a->sender, b->sender);
    if (a->of != b->of) {
        return a->of < b->of ? -1 : 1;
    }
    if (sender != 0) {
        return sender;
    }
    if (a->status != b->status) {
        return compare_numbers(b->status, a->status);
    }
    return ledger_is_before(&b->at, &a->at) - ledger_is_before(&a->at, &b->at);
}

enum parley_status duty_settle(struct duty_thread *thread) {
    PARLEY_TRY(make_names(thread));
    for (size_t i = 0; i < thread->ack_count; i++) {
        struct duty_ack *ack = &thread->acks[i];
        const size_t number = duty_number(thread, &ack->at);
        if (number != SIZE_MAX && ack->of == 0) {
            find_by_topic(thread, number, ack);
        }
        if (number != SIZE_MAX) {
            thread->messages[number].of = ack->of;
        }
    }
    if (thread->ack_count > 0) {
        qsort(thread->acks, thread->ack_count, sizeof *thread->acks, compare_acks);
    }
    return PARLEY_OK;
}

/* The first acknowledgement of the message, of this sender or a later one. */
static size_t find_acks(const struct duty_thread *thread, int64_t of, struct parley_bytes sender) {
    size_t from = 0, end = thread->ack_count;
    while (from < end) {
        const size_t middle = from + (end - from) / 2;
        const struct duty_ack *ack = &thread->acks[middle];
        const bool is_before = ack->of != of ? ack->of < of : duty_compare(ack->sender, sender) < 0;
        if (is_before) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return from;
}

/* ---- asking ---- */

size_t duty_number(const struct duty_thread *thread, const struct index_cursor *at) {
    size_t from = 0, end = thread->count;
    while (from < end) {
        const size_t middle = from + (end - from) / 2;
        if (ledger_is_before(&thread->messages[middle].at, at)) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return from < thread->count && thread->messages[from].at.pos == at->pos ? from : SIZE_MAX;
}

size_t duty_writers(const struct duty_thread *thread, size_t number,
                    struct parley_bytes out[DUTY_NAMES_MAX], bool *out_more) {
    const struct duty_names *writers = &thread->writers;
    size_t count = 0;
    *out_more = false;
    for (size_t i = 0; i < writers->count && writers->items[i].number < number; i++) {
        if (parley_bytes_equal(writers->items[i].text, thread->messages[number].sender)) {
            continue;
        }
        if (count == DUTY_NAMES_MAX) {
            *out_more = true;
            break;
        }
        out[count++] = writers->items[i].text;
    }
    return count;
}

/* Whether `one` says more than `other`, or as much and sooner. */
static bool is_more(const struct duty_ack *one, const struct duty_ack *other) {
    return one->status != other->status ? one->status > other->status
                                        : ledger_is_before(&one->at, &other->at);
}

static bool is_sooner(const struct duty_ack *one, const struct duty_ack *other) {
    return ledger_is_before(&one->at, &other->at);
}

typedef bool is_better_fn(const struct duty_ack *one, const struct duty_ack *other);

static const struct duty_ack *choose_ack(const struct duty_thread *thread, size_t number,
                                         struct parley_bytes recipient, is_better_fn *is_better) {
    const struct duty_message *message = &thread->messages[number];
    const bool is_one = recipient.data != NULL;
    const struct parley_bytes first = is_one ? recipient : (struct parley_bytes){0};
    const struct duty_ack *best = NULL;
    for (size_t i = find_acks(thread, message->at.pos, first); i < thread->ack_count; i++) {
        const struct duty_ack *ack = &thread->acks[i];
        if (ack->of != message->at.pos || (is_one && !parley_bytes_equal(ack->sender, recipient))) {
            break;
        }
        if ((is_one || !parley_bytes_equal(ack->sender, message->sender)) &&
            (best == NULL || is_better(ack, best))) {
            best = ack;
        }
    }
    return best;
}

const struct duty_ack *duty_acknowledged(const struct duty_thread *thread, size_t number,
                                         struct parley_bytes recipient) {
    return choose_ack(thread, number, recipient, is_more);
}

const struct duty_ack *duty_first_ack(const struct duty_thread *thread, size_t number,
                                      struct parley_bytes recipient) {
    return choose_ack(thread, number, recipient, is_sooner);
}

const struct duty_message *duty_answered(const struct duty_thread *thread, size_t number,
                                         struct parley_bytes recipient) {
    const size_t at = find_name(&thread->answers, recipient, number + 1);
    const bool is_found = recipient.length > 0 && at < thread->answers.count &&
                          parley_bytes_equal(thread->answers.items[at].text, recipient);
    return is_found ? &thread->messages[thread->answers.items[at].number] : NULL;
}

/* ---- which message has the id ---- */

size_t duty_choose(const struct index_cursor *ack, const struct duty_bearer *bearers,
                   size_t count) {
    size_t chosen = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct duty_bearer *bearer = &bearers[i];
        const bool is_better =
            chosen == SIZE_MAX || (bearer->is_near != bearers[chosen].is_near
                                       ? bearer->is_near
                                       : ledger_is_before(&bearers[chosen].at, &bearer->at));
        if (ledger_is_before(&bearer->at, ack) && is_better) {
            chosen = i;
        }
    }
    return chosen;
}
