/* SPDX-License-Identifier: Apache-2.0 */

/* What is noted of work: the last message of its holder that only tells. Any reactor notes; the one
 * that reads the bucket writes the keys, each at most every REST_MS, and few at a time, so that
 * what senders wait for goes first. A key that could not be written is written with the next note.
 * Two gateways may hold notes of one task: the message that is later in the stream counts. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board_state.h"
#include "bucket_key.h"
#include "fact_place.h"

enum {
    REST_MS = 5000,
    AT_ONCE_MAX = 64,
    AGAIN_MS = 100,    /* after so many, or without room in the window */
    WINDOW_SHARE = 50, /* the percentage of the window that they may use */
};

/* ---- phases ---- */

static void leave(struct board *board, struct note *note) {
    if (note->phase == NOTE_READY) {
        TAILQ_REMOVE(&board->notes_ready, note, link);
    } else if (note->phase == NOTE_RESTING) {
        TAILQ_REMOVE(&board->notes_resting, note, link);
    }
    note->phase = NOTE_QUIET;
}

static void enter_ready(struct board *board, struct note *note) {
    leave(board, note);
    note->phase = NOTE_READY;
    TAILQ_INSERT_TAIL(&board->notes_ready, note, link);
}

static void enter_rest(struct board *board, struct note *note, int64_t now_ms) {
    leave(board, note);
    note->phase = NOTE_RESTING;
    note->rested_ms = now_ms + REST_MS;
    TAILQ_INSERT_TAIL(&board->notes_resting, note, link);
}

/* ---- what they hold ---- */

static void count_bytes(struct board *board, struct note *note, size_t bytes) {
    board->bytes += bytes - note->bytes;
    note->work->bytes += bytes - note->bytes;
    note->bytes = bytes;
}

void notes_forget(struct board *board, struct work *work) {
    struct note *note = work->note;
    if (note == NULL) {
        return;
    }
    leave(board, note);
    count_bytes(board, note, 0);
    free(note->value);
    free(note->shown);
    free(note);
    work->note = NULL;
}

static struct note *note_of(struct work *work) {
    if (work->note == NULL) {
        work->note = calloc(1, sizeof *work->note);
        if (work->note != NULL) {
            work->note->work = work;
        }
    }
    return work->note;
}

/* `is_own`: it is yet to be written. What cannot be read, or has no memory, is left out. */
static void keep(struct board *board, struct work *work, const struct bucket_entry *entry,
                 uint64_t sequence, bool is_own) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_arena_reset(&board->arena);
    const enum parley_status status = board->kind->write_note(entry->value, &board->arena, &text);
    char *shown = status == PARLEY_OK && entry->value.length <= BOARD_FACT_BYTES_MAX
                      ? parley_bytes_copy(parley_buffer_bytes(&text))
                      : NULL;
    char *value = is_own && shown != NULL ? parley_bytes_copy(entry->value) : NULL;
    struct note *note = shown != NULL && (value != NULL || !is_own) ? note_of(work) : NULL;
    const size_t bytes =
        sizeof *note + text.length + 1 + (value != NULL ? entry->value.length + 1 : 0);
    parley_buffer_finish(&text);
    if (note == NULL) {
        free(shown);
        free(value);
        return;
    }
    if (!parley_bytes_equal(parley_bytes_of(note->shown), parley_bytes_of(shown))) {
        change_log_touch(&board->changes, &work->change);
    }
    free(note->shown);
    free(note->value);
    note->shown = shown;
    note->value = value;
    note->sequence = sequence;
    count_bytes(board, note, bytes);
}

/* Returns: whether it is the key of a note, of this task. */
static bool is_note(const struct board *board, struct parley_bytes key, struct parley_bytes *id) {
    const struct parley_bytes suffix = parley_bytes_of(board->kind->note_suffix);
    if (suffix.data == NULL || key.length <= suffix.length) {
        return false;
    }
    *id = (struct parley_bytes){key.data, key.length - suffix.length};
    return parley_bytes_equal((struct parley_bytes){key.data + id->length, suffix.length}, suffix);
}

static bool has_later(const struct work *work, uint64_t sequence) {
    return work->note != NULL && sequence != 0 && sequence < work->note->sequence;
}

bool notes_take_in(struct board *board, const struct bucket_entry *entry) {
    struct parley_bytes id;
    struct fact_place place = {.sequence = 0};
    if (!is_note(board, entry->key, &id)) {
        return false;
    }
    struct work *work = works_find(board, id);
    if (work == NULL) {
        return true;
    }
    if (entry->value.data == NULL) {
        notes_forget(board, work);
        change_log_touch(&board->changes, &work->change);
        return true;
    }
    (void)fact_place_read(entry->value, &place);
    if (work->note == NULL || work->note->value == NULL || !has_later(work, place.sequence)) {
        keep(board, work, entry, place.sequence, false);
    }
    return true;
}

void board_progress(struct board *board, struct parley_bytes id, struct parley_buffer *out) {
    if (board == NULL) {
        return;
    }
    pthread_mutex_lock(&board->lock);
    const struct work *work = works_find(board, id);
    if (work != NULL && work->note != NULL) {
        parley_buffer_text(out, work->note->shown);
    }
    pthread_mutex_unlock(&board->lock);
}

/* ---- writing ---- */

/* The next note makes up for one that is lost. */
static void on_ack(void *context, const struct jetstream_ack *ack) {
    (void)context;
    (void)ack;
}

/* Returns: false: there is no room now. */
static bool write(struct board *board, struct note *note, int64_t now_ms) {
    enum { KEY_MAX = BOARD_ID_MAX + 32 };
    char key[KEY_MAX];
    if (note->value == NULL) { /* another gateway has written a later one */
        leave(board, note);
        return true;
    }
    snprintf(key, sizeof key, "%s%s", note->work->id, board->kind->note_suffix);
    const struct bucket_value value = {.bucket = board->bucket,
                                       .key = key,
                                       .value = parley_bytes_of(note->value),
                                       .share = WINDOW_SHARE};
    if (bucket_key_overwrite(board->jetstream, &value, on_ack, NULL) != JETSTREAM_PUBLISHED) {
        return false;
    }
    count_bytes(board, note, note->bytes - strlen(note->value) - 1);
    free(note->value);
    note->value = NULL;
    enter_rest(board, note, now_ms);
    return true;
}

static void end_rests(struct board *board, int64_t now_ms) {
    struct note *note;
    while ((note = TAILQ_FIRST(&board->notes_resting)) != NULL && note->rested_ms <= now_ms) {
        leave(board, note);
        if (note->value != NULL) {
            enter_ready(board, note);
        }
    }
}

/* Threads: that of the reactor that reads. */
static void go_on(struct board *board) {
    const int64_t now_ms = reactor_now_ms(board->reactor);
    bool has_room = true;
    end_rests(board, now_ms);
    for (size_t i = 0; i < AT_ONCE_MAX && has_room && !TAILQ_EMPTY(&board->notes_ready); i++) {
        has_room = write(board, TAILQ_FIRST(&board->notes_ready), now_ms);
    }
    const struct note *next = TAILQ_FIRST(&board->notes_resting);
    if (!TAILQ_EMPTY(&board->notes_ready)) {
        reactor_timer_set(board->reactor, &board->note_timer, AGAIN_MS);
    } else if (next != NULL) {
        reactor_timer_set(board->reactor, &board->note_timer, next->rested_ms - now_ms);
    }
}

void notes_on_timer(struct reactor_timer *timer) {
    struct board *board = OWNER_OF(timer, struct board, note_timer);
    pthread_mutex_lock(&board->lock);
    go_on(board);
    pthread_mutex_unlock(&board->lock);
}

static void on_post(void *context) {
    struct board *board = context;
    pthread_mutex_lock(&board->lock);
    board->is_woken = false;
    if (board->may_note) {
        go_on(board);
    }
    pthread_mutex_unlock(&board->lock);
}

static void wake(struct board *board) {
    if (board->may_note && !board->is_woken) {
        board->is_woken = reactor_post(board->reactor, on_post, board) == PARLEY_OK;
    }
}

void board_on_noted(void *context, const struct bucket_entry *entry) {
    struct board *board = context;
    struct parley_bytes id;
    pthread_mutex_lock(&board->lock);
    struct work *work = is_note(board, entry->key, &id) ? works_find(board, id) : NULL;
    if (work != NULL && !has_later(work, entry->sequence)) {
        keep(board, work, entry, entry->sequence, true);
        if (work->note != NULL && work->note->phase == NOTE_QUIET) {
            enter_ready(board, work->note);
            wake(board);
        }
    }
    pthread_mutex_unlock(&board->lock);
}
