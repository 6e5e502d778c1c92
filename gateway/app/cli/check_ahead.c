/* SPDX-License-Identifier: Apache-2.0 */

/* The caller's thread reads: it fills a ring of pieces that end at line ends. Each of them is a
 * task of a worker pool. */

#include "check_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <parley/splitter.h>

#include "worker_pool.h"

enum {
    PIECE_BYTES = 512 * 1024,                     /* all of them fit into the processors' caches */
    PIECES_MAX = 2 * WORKER_POOL_THREADS_MAX + 1, /* one is used by the caller */
};

struct piece {
    struct check_ahead *ahead;
    struct worker_pool_task task;
    char *data;
    size_t length;
    bool is_partial; /* begins or ends within a line: not checked ahead */
    bool is_done;    /* under the lock */
    struct check_piece result;
};

struct check_ahead {
    int fd;
    const struct parley_schema *schema;
    const struct parley_codec *codec;
    struct parley_options options;
    size_t message_bytes_max;

    struct piece pieces[PIECES_MAX];
    size_t piece_count; /* in the ring */
    bool is_inside;     /* the next read begins within a line */
    bool has_ended;
    enum parley_status status; /* why it has ended … */
    int error;                 /* … as errno */
    struct parley_bytes rest;  /* of the piece read last, after its last whole line */
    size_t given_count;        /* pieces returned to the caller */

    struct worker_pool *pool;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a piece is done */
    size_t read_count;
};

/* ---- the checking threads ---- */

/* Whether the message of a slice is valid, without a warning. */
static bool is_right(struct check_ahead *ahead, struct parley_message *message,
                     enum parley_split split, const struct parley_slice *slice) {
    return split == PARLEY_SPLIT_MESSAGE &&
           parley_message_check(message, slice->bytes, ahead->codec, &ahead->options,
                                slice->origin) == PARLEY_OK &&
           message->findings.count == 0 && message->findings.omitted_count == 0;
}

static void look_at(struct check_ahead *ahead, struct piece *piece) {
    struct parley_message message;
    struct parley_splitter splitter;
    struct parley_slice slice;
    enum parley_split split;
    struct check_piece *result = &piece->result;
    struct parley_bytes rest = result->bytes;
    parley_message_init(&message, ahead->schema);
    parley_splitter_init(&splitter, PARLEY_FRAMING_LINES, ahead->message_bytes_max);
    result->is_right = true;
    while (result->is_right &&
           (split = parley_splitter_next(&splitter, &rest, &slice)) != PARLEY_SPLIT_MORE) {
        result->is_right = is_right(ahead, &message, split, &slice);
        result->message_count++;
    }
    while (result->is_right &&
           (split = parley_splitter_end(&splitter, &slice)) != PARLEY_SPLIT_END) {
        result->is_right = is_right(ahead, &message, split, &slice);
        result->message_count++;
    }
    result->line_count = splitter.number;
    parley_splitter_finish(&splitter);
    parley_message_finish(&message);
}

static void look(struct worker_pool_task *task) {
    struct piece *piece = OWNER_OF(task, struct piece, task);
    struct check_ahead *ahead = piece->ahead;
    if (!piece->is_partial) {
        look_at(ahead, piece);
    }
    pthread_mutex_lock(&ahead->lock);
    piece->is_done = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

/* ---- the reading thread ---- */

static void fill(struct check_ahead *ahead, struct piece *piece) {
    while (piece->length < PIECE_BYTES && !ahead->has_ended) {
        const ssize_t got =
            read(ahead->fd, piece->data + piece->length, PIECE_BYTES - piece->length);
        if (got < 0 && errno != EINTR) {
            ahead->status = PARLEY_E_IO;
            ahead->error = errno;
        }
        ahead->has_ended = got == 0 || ahead->status != PARLEY_OK;
        piece->length += got > 0 ? (size_t)got : 0;
    }
}

/* How much of a piece is returned: whole lines, if there are any. */
static size_t whole_length(const struct check_ahead *ahead, const struct piece *piece,
                           const char *feed) {
    const bool is_last = ahead->has_ended && ahead->status == PARLEY_OK;
    return feed != NULL && !is_last ? (size_t)(feed + 1 - piece->data) : piece->length;
}

/* Reads into the next piece of the ring, which is free. */
static void read_piece(struct check_ahead *ahead) {
    struct piece *piece = &ahead->pieces[ahead->read_count % ahead->piece_count];
    memmove(piece->data, ahead->rest.data, ahead->rest.length);
    piece->length = ahead->rest.length;
    fill(ahead, piece);
    const char *feed = memrchr(piece->data, '\n', piece->length);
    const size_t length = whole_length(ahead, piece, feed);
    const bool is_cut = feed == NULL && !ahead->has_ended;
    ahead->rest = (struct parley_bytes){piece->data + length, piece->length - length};
    piece->is_partial = ahead->is_inside || is_cut;
    piece->is_done = false;
    piece->result = (struct check_piece){.bytes = {piece->data, length}};
    ahead->is_inside = is_cut;
    ahead->read_count++;
    worker_pool_detach(ahead->pool, &piece->task);
}

enum parley_status check_ahead_next(struct check_ahead *ahead, struct check_piece *out) {
    /* The piece returned last is free again, except for the rest of a line. */
    while (!ahead->has_ended && ahead->read_count < ahead->given_count + ahead->piece_count - 1) {
        read_piece(ahead);
    }
    *out = (struct check_piece){.bytes = {"", 0}};
    if (ahead->given_count == ahead->read_count) {
        errno = ahead->error;
        return ahead->status;
    }
    const struct piece *piece = &ahead->pieces[ahead->given_count % ahead->piece_count];
    pthread_mutex_lock(&ahead->lock);
    while (!piece->is_done) {
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    }
    pthread_mutex_unlock(&ahead->lock);
    *out = piece->result;
    ahead->given_count++;
    return PARLEY_OK;
}

/* ---- setup ---- */

static unsigned processor_count(void) {
    cpu_set_t set;
    const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < WORKER_POOL_THREADS_MAX ? (unsigned)count : WORKER_POOL_THREADS_MAX;
}

static bool make_pieces(struct check_ahead *ahead, unsigned thread_count) {
    ahead->piece_count = 2 * thread_count + 1;
    for (size_t i = 0; i < ahead->piece_count; i++) {
        ahead->pieces[i] =
            (struct piece){.ahead = ahead, .task = {.work = look}, .data = malloc(PIECE_BYTES)};
        if (ahead->pieces[i].data == NULL) {
            return false;
        }
    }
    return true;
}

struct check_ahead *check_ahead_create(int fd, const struct parley_schema *schema,
                                       const struct parley_codec *codec,
                                       const struct parley_options *options,
                                       size_t message_bytes_max) {
    const unsigned thread_count = processor_count();
    struct check_ahead *ahead = thread_count > 1 ? malloc(sizeof *ahead) : NULL;
    if (ahead == NULL) {
        return NULL;
    }
    *ahead = (struct check_ahead){.fd = fd,
                                  .schema = schema,
                                  .codec = codec,
                                  .options = *options,
                                  .message_bytes_max = message_bytes_max,
                                  .is_inside = true,
                                  .rest = {"", 0},
                                  .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER};
    if (!make_pieces(ahead, thread_count) ||
        worker_pool_create(thread_count, &ahead->pool) != PARLEY_OK) {
        check_ahead_destroy(ahead);
        return NULL;
    }
    return ahead;
}

void check_ahead_destroy(struct check_ahead *ahead) {
    if (ahead == NULL) {
        return;
    }
    worker_pool_destroy(ahead->pool);
    for (size_t i = 0; i < ahead->piece_count; i++) {
        free(ahead->pieces[i].data);
    }
    free(ahead);
}
