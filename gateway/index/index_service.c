/* SPDX-License-Identifier: Apache-2.0 */

#include "index_service.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "index_file.h"

enum { THREADS = 2, WAITING_MAX = 64 };

/* A connection, for one thread at a time. */
struct reader {
    sqlite3 *file; /* NULL: it is not open */
    ino_t number;  /* of the file: one that was made again has another */
    bool is_taken;
};

struct index_service {
    const char *folder;
    bool has_words;
    struct worker_pool *pool;
    pthread_mutex_t lock; /* of readers */
    struct reader readers[THREADS];
    atomic_uint waiting_count;
};

/* ---- files ---- */

static ino_t number_of(const char *folder) {
    char path[INDEX_PATH_MAX];
    struct stat about;
    snprintf(path, sizeof path, "%s/" INDEX_FILE_NAME, folder);
    return stat(path, &about) == 0 ? about.st_ino : 0;
}

static struct reader *take_reader(struct index_service *service) {
    struct reader *reader = service->readers;
    pthread_mutex_lock(&service->lock);
    while (reader->is_taken) {
        reader++; /* there is one for each thread */
    }
    reader->is_taken = true;
    pthread_mutex_unlock(&service->lock);
    const ino_t number = number_of(service->folder);
    if (reader->number != number) {
        sqlite3_close(reader->file);
        reader->file = number != 0 ? index_file_read(service->folder) : NULL;
        reader->number = reader->file != NULL ? number : 0;
    }
    return reader;
}

static void give_reader(struct index_service *service, struct reader *reader, bool is_broken) {
    if (is_broken) {
        sqlite3_close(reader->file);
        reader->file = NULL;
        reader->number = 0;
    }
    pthread_mutex_lock(&service->lock);
    reader->is_taken = false;
    pthread_mutex_unlock(&service->lock);
}

enum index_answered index_service_answer(struct index_service *service,
                                         const struct index_question *question,
                                         struct parley_buffer *out, struct index_places *places,
                                         char progress[INDEX_PROGRESS_MAX]) {
    struct reader *reader = take_reader(service);
    const enum index_answered answered =
        reader->file == NULL ? INDEX_BROKEN
                             : index_view_answer(reader->file, question, out, places, progress);
    give_reader(service, reader, answered == INDEX_BROKEN);
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
    pthread_mutex_init(&service->lock, NULL);
    const enum parley_status status = worker_pool_create(THREADS, &service->pool);
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
    worker_pool_destroy(service->pool);
    for (size_t i = 0; i < THREADS; i++) {
        sqlite3_close(service->readers[i].file);
    }
    pthread_mutex_destroy(&service->lock);
    free(service);
}

struct worker_pool *index_service_pool(const struct index_service *service) {
    return service->pool;
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
