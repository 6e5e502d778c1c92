/* SPDX-License-Identifier: Apache-2.0 */

/* One row for each subject that ever had a problem: a few more than there are streams. */

#include "nats_log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "log.h"

enum { SETTLE_MS = 500, TEXT_MAX = 512, SUBJECT_MAX = 300, WORKERS_MAX = 1024 };

struct row {
    SLIST_ENTRY(row) link;
    char subject[SUBJECT_MAX];
    char text[TEXT_MAX];    /* the last one noted */
    char written[TEXT_MAX]; /* "": the end was written, or nothing yet */
    unsigned char workers[WORKERS_MAX / 8];
    unsigned count; /* of workers that have this problem */
};

struct nats_log {
    struct reactor *reactor;
    struct reactor_timer settle;
    pthread_mutex_t lock; /* of the rows; taken only when a problem begins or ends */
    SLIST_HEAD(, row) rows;
};

static bool is_due(const struct row *row) {
    return strcmp(row->written, row->count > 0 ? row->text : "") != 0;
}

/* Names the problems that remain, so that the last line of the log is true by itself. */
static void write_end(const struct nats_log *troubles, const struct row *ended) {
    const struct row *row;
    const char *between = ", but still: ";
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "%s: resolved", ended->subject);
    SLIST_FOREACH(row, &troubles->rows, link) {
        if (row->count > 0) {
            parley_buffer_format(&text, "%s%s", between, row->text);
            between = "; ";
        }
    }
    log_write(LOG_NATS_RESOLVED, parley_buffer_bytes(&text),
              LOG_FIELDS(LOG_TEXT("subject", ended->subject)));
    parley_buffer_finish(&text);
}

static void write_row(const struct nats_log *troubles, struct row *row) {
    if (row->count > 0) {
        log_write(LOG_NATS_TROUBLE, parley_bytes_of(row->text),
                  LOG_FIELDS(LOG_TEXT("subject", row->subject)));
        memcpy(row->written, row->text, sizeof row->written);
    } else {
        write_end(troubles, row);
        row->written[0] = '\0';
    }
}

unsigned nats_log_flush(struct nats_log *troubles) {
    unsigned count = 0;
    struct row *row;
    pthread_mutex_lock(&troubles->lock);
    SLIST_FOREACH(row, &troubles->rows, link) {
        if (is_due(row)) {
            write_row(troubles, row);
        }
        count += row->count > 0;
    }
    pthread_mutex_unlock(&troubles->lock);
    return count;
}

static void on_settle(struct reactor_timer *timer) {
    nats_log_flush(OWNER_OF(timer, struct nats_log, settle));
}

static void arm(void *context) {
    struct nats_log *troubles = context;
    if (!troubles->settle.is_armed) {
        reactor_timer_set(troubles->reactor, &troubles->settle, SETTLE_MS);
    }
}

static struct row *find_row(struct nats_log *troubles, const char *subject) {
    struct row *row;
    SLIST_FOREACH(row, &troubles->rows, link) {
        if (strcmp(row->subject, subject) == 0) {
            return row;
        }
    }
    row = calloc(1, sizeof *row);
    if (row != NULL) {
        snprintf(row->subject, sizeof row->subject, "%s", subject);
        SLIST_INSERT_HEAD(&troubles->rows, row, link);
    }
    return row;
}

static void set_worker(struct row *row, unsigned worker, bool is_troubled) {
    unsigned char *byte = &row->workers[worker % WORKERS_MAX / 8];
    const unsigned char bit = (unsigned char)(1U << worker % 8);
    const bool was_troubled = (*byte & bit) != 0;
    if (is_troubled && !was_troubled) {
        *byte = (unsigned char)(*byte | bit);
        row->count++;
    } else if (!is_troubled && was_troubled) {
        *byte = (unsigned char)(*byte & ~bit);
        row->count--;
    }
}

void nats_log_note(struct nats_log *troubles, unsigned worker, const char *subject,
                   const char *text) {
    pthread_mutex_lock(&troubles->lock);
    struct row *row = find_row(troubles, subject);
    if (row != NULL) {
        set_worker(row, worker, text != NULL);
        if (text != NULL) {
            snprintf(row->text, sizeof row->text, "%s", text);
        }
    }
    pthread_mutex_unlock(&troubles->lock);
    if (reactor_post(troubles->reactor, arm, troubles) != PARLEY_OK) {
        log_event(LOG_MEMORY, NULL); /* the next change writes both */
    }
}

enum parley_status nats_log_create(struct reactor *reactor, struct nats_log **out) {
    struct nats_log *troubles = calloc(1, sizeof *troubles);
    if (troubles == NULL) {
        return PARLEY_E_MEMORY;
    }
    troubles->reactor = reactor;
    troubles->settle.fire = on_settle;
    pthread_mutex_init(&troubles->lock, NULL);
    SLIST_INIT(&troubles->rows);
    *out = troubles;
    return PARLEY_OK;
}

void nats_log_destroy(struct nats_log *troubles) {
    if (troubles == NULL) {
        return;
    }
    reactor_timer_clear(troubles->reactor, &troubles->settle);
    while (!SLIST_EMPTY(&troubles->rows)) {
        struct row *row = SLIST_FIRST(&troubles->rows);
        SLIST_REMOVE_HEAD(&troubles->rows, link);
        free(row);
    }
    pthread_mutex_destroy(&troubles->lock);
    free(troubles);
}
