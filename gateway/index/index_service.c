/* SPDX-License-Identifier: Apache-2.0 */

#include "index_service.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "index_file.h"

enum { WAITING_MAX = 64 };

/* What one thread has. */
struct answerer {
    struct worker_pool *pool;
    sqlite3 *file;   /* NULL: it is not open */
    uint64_t number; /* of the file: one that was made again has another */
};

struct index_service {
    const char *folder;
    bool has_words;
    struct answerer answerers[INDEX_POOLS];
    atomic_uint waiting_count;
};

/* ---- files ---- */

static void close_file(struct answerer *answerer) {
    sqlite3_close(answerer->file);
    answerer->file = NULL;
    answerer->number = 0;
}

static void open_file(struct answerer *answerer, const char *folder) {
    const uint64_t number = index_file_number(folder);
    if (answerer->number != number) {
        close_file(answerer);
        answerer->file = number != 0 ? index_file_read(folder) : NULL;
        answerer->number = answerer->file != NULL ? number : 0;
    }
}

enum index_answered index_service_answer(struct index_service *service, enum index_pool pool,
                                         const struct index_question *question,
                                         struct parley_buffer *out, struct index_places *places,
                                         char progress[INDEX_PROGRESS_MAX]) {
    struct answerer *answerer = &service->answerers[pool];
    open_file(answerer, service->folder);
    const enum index_answered answered =
        answerer->file == NULL ? INDEX_BROKEN
                               : index_view_answer(answerer->file, question, out, places, progress);
    if (answered == INDEX_BROKEN) {
        close_file(answerer);
    }
    return answered;
}

/* ---- life ---- */

enum parley_status index_service_create(const char *folder, bool has_words,
                                        struct index_service **out) {
    struct index_service *service = calloc(1, sizeof *service);
    if (service == NULL) {
        return PARLEY_E_MEMORY;
    }
    service->folder = folder;
    service->has_words = has_words;
    enum parley_status status = PARLEY_OK;
    for (size_t i = 0; i < INDEX_POOLS && status == PARLEY_OK; i++) {
        status = worker_pool_create(1, &service->answerers[i].pool);
    }
    if (status != PARLEY_OK) {
        index_service_destroy(service);
        return status;
    }
    *out = service;
    return PARLEY_OK;
}

void index_service_destroy(struct index_service *service) {
    if (service == NULL) {
        return;
    }
    for (size_t i = 0; i < INDEX_POOLS; i++) {
        worker_pool_destroy(service->answerers[i].pool);
        close_file(&service->answerers[i]);
    }
    free(service);
}

struct worker_pool *index_service_pool(const struct index_service *service, enum index_pool pool) {
    return service->answerers[pool].pool;
}

bool index_service_has_words(const struct index_service *service) {
    return service->has_words;
}

bool index_service_enter(struct index_service *service) {
    const bool has_room = atomic_fetch_add(&service->waiting_count, 1) < WAITING_MAX;
    if (!has_room) {
        index_service_leave(service);
    }
    return has_room;
}

void index_service_leave(struct index_service *service) {
    atomic_fetch_sub(&service->waiting_count, 1);
}
