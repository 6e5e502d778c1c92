/* SPDX-License-Identifier: Apache-2.0 */

/* See index_keeper.h. A look, every two seconds, asks each stream what it holds: a stream that is
 * new is followed from then on, one that was created again begins again, and rows of messages that
 * are gone are removed. A failure of the file ends everything until the next look, which opens it
 * again.
 *
 * Rows are committed when all messages have come, and while catching up in large batches, which
 * cost a third of small ones.
 *
 * Before each pull index_pace is asked. While it says no, places are held, until it says yes or
 * until a question waits for a message (index_keeper_hurry). */

#include "index_keeper.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "index_checks.h"
#include "index_clocks.h"
#include "index_message.h"
#include "index_pace.h"
#include "index_words.h"
#include "log.h"
#include "ordered_consumer.h"

enum {
    PLACES_MAX = 64,
    LOOK_MS = 2000,
    HURRY_MS = 1000,
    WRITABLE_MS = 10000, /* after the last failure */
    HELD_MS = 25,        /* index_pace and index_keeper_hurry are asked again */
    BATCH_ROWS = 20000,
    PULL_COUNT = 256,
    PULL_BYTES = 512 * 1024,
    PULLS_LIMITED = 4, /* at once: a message costs less where more are read in a row */
    PRUNE_ROWS = 2000, /* a step */
    NICE = 10,
    IN_FLIGHT = 16,
    IN_FLIGHT_BYTES = 1 << 20,
};

/* A stream that is followed. */
struct place {
    struct index_keeper *keeper;
    size_t channel;
    char stream[JETSTREAM_STREAM_MAX], created[40];
    struct index_place at;
    struct ordered_consumer *consumer; /* NULL: it is not read */
    struct jetstream_request *asked;
    uint64_t pruned; /* nothing is left before it … */
    uint64_t first;  /* … and nothing is to be before this */
    uint64_t last;   /* sequence in the stream, as the last look saw it */
    uint64_t whole;  /* all up to there has come, though its end may be gone from the stream */
    int64_t asked_ms, looked_ms; /* when the next look and the last one asked the stream … */
    int64_t covered_ms; /* … and the last one of which all that it saw is committed; 0: none */
    bool is_current;    /* nothing more has come than the stream said it would */
    bool is_held;       /* it is to be read on when that is allowed */
    bool is_seen;
    bool is_gone;   /* it is not there, and messages lie in others: it is waited for no more */
    bool is_placed; /* the file knows it, and holds nothing of an earlier one of its name */
};

struct index_keeper {
    struct index_keeper_options options;
    struct reactor *reactor;
    struct jetstream *jetstream;
    struct jetstream_stream *streams;
    struct index_reader *readers; /* one per protocol */
    struct index_store *store;    /* NULL: it cannot be used at present */
    struct place places[PLACES_MAX];
    size_t place_count;
    struct reactor_timer look, commit, prune, held;
    struct index_pace pace;
    struct index_clocks clocks;
    int64_t paced_ms;   /* when `pace` was asked last */
    int64_t pending_ms; /* when the first row of the transaction was written */
    int64_t failed_ms;  /* when the file could not be used last */
    pthread_t thread;
    uint64_t file_number;                  /* of the store's file */
    bool is_ready, has_thread, has_failed; /* has_failed: it was logged */
    atomic_int state;                      /* enum index_state */
    atomic_bool is_known;
    atomic_ullong lag, bytes;
    atomic_llong *covered_ms; /* one per protocol */
    atomic_llong hurried_ms;  /* until then, on reactor_clock_ms, nothing is held back */
    int lock_fd;
};

/* ---- the file ---- */

static void stop_reading(struct index_keeper *keeper) {
    for (size_t i = 0; i < keeper->place_count; i++) {
        ordered_consumer_close(keeper->places[i].consumer);
        keeper->places[i].consumer = NULL;
        keeper->places[i].is_placed = false;
        keeper->places[i].is_current = false;
        keeper->places[i].is_held = false;
        keeper->places[i].whole = 0; /* rows may be lost */
    }
}

/* Of each protocol the place of which least is committed counts. */
static void publish_covered(struct index_keeper *keeper) {
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        int64_t covered_ms = INT64_MAX;
        for (size_t j = 0; j < keeper->place_count; j++) {
            const struct place *place = &keeper->places[j];
            if (place->channel == i && !place->is_gone && place->covered_ms < covered_ms) {
                covered_ms = place->covered_ms;
            }
        }
        atomic_store(&keeper->covered_ms[i], covered_ms != INT64_MAX ? covered_ms : 0);
    }
}

static void forget_covered(struct index_keeper *keeper) {
    for (size_t i = 0; i < keeper->place_count; i++) {
        keeper->places[i].covered_ms = 0;
    }
    publish_covered(keeper);
}

/* The next sequence that is to come, or may be missing. */
static uint64_t next_of(const struct place *place) {
    return place->whole >= place->at.next ? place->whole + 1 : place->at.next;
}

/* That a file can be opened, or takes a transaction, does not say that it can be written, as on a
 * full disk: it can, once it has all that there is, or has not failed for a while. */
static void note_written(struct index_keeper *keeper, bool is_whole) {
    keeper->has_failed = false;
    if (is_whole || atomic_load(&keeper->state) == INDEX_UNWRITABLE) {
        atomic_store(&keeper->state, INDEX_KEPT);
    }
}

static void note_covered(struct index_keeper *keeper) {
    bool is_whole = keeper->place_count > 0;
    if (keeper->store == NULL || index_store_pending(keeper->store) > 0) {
        return;
    }
    for (size_t i = 0; i < keeper->place_count; i++) {
        struct place *place = &keeper->places[i];
        const bool is_covered = place->is_seen && place->is_placed && next_of(place) > place->last;
        place->covered_ms = is_covered ? place->looked_ms : place->covered_ms;
        is_whole = is_whole && (is_covered || place->is_gone);
    }
    publish_covered(keeper);
    if (is_whole) { /* of what there was at the last look: more may always have come since */
        note_written(keeper, true);
    }
}

/* The next look opens it again. What is covered is forgotten before there is another file. */
static void close_store(struct index_keeper *keeper) {
    forget_covered(keeper);
    stop_reading(keeper);
    index_store_close(keeper->store);
    keeper->store = NULL;
    reactor_timer_clear(keeper->reactor, &keeper->commit);
    reactor_timer_clear(keeper->reactor, &keeper->prune);
    atomic_store(&keeper->is_known, false);
}

static void note_remade(struct index_keeper *keeper, const char *why) {
    atomic_store(&keeper->state, INDEX_REMADE);
    log_event(LOG_INDEX_REBUILT, LOG_FIELDS(LOG_TEXT("why", why)));
}

static void on_failure(struct index_keeper *keeper, const char *why) {
    const bool is_damaged = keeper->store != NULL && index_store_is_damaged(keeper->store);
    close_store(keeper);
    keeper->failed_ms = reactor_now_ms(keeper->reactor);
    if (is_damaged && index_file_set_aside(keeper->options.folder)) {
        note_remade(keeper, "the file is damaged");
        return;
    }
    atomic_store(&keeper->state, INDEX_UNWRITABLE);
    if (!keeper->has_failed) {
        keeper->has_failed = true;
        log_event(LOG_INDEX_FAILED, LOG_FIELDS(LOG_TEXT("why", why)));
    }
}

/* Questions find the file by its name, and would find none, or another one. What SQLite has beside
 * it may still be there, and must not be read with the next file. */
static void check_file(struct index_keeper *keeper) {
    const char *folder = keeper->options.folder;
    if (keeper->store == NULL || index_file_number(folder) == keeper->file_number) {
        return;
    }
    close_store(keeper);
    if (index_file_set_aside(folder) || index_file_remove(folder)) {
        note_remade(keeper, "the file was removed or replaced");
    }
}

/* A file whose rows have no words is made again if they are wanted. */
static enum parley_status open_file(struct index_keeper *keeper, bool *out_is_new,
                                    char error[INDEX_ERROR_MAX]) {
    const struct index_keeper_options *options = &keeper->options;
    bool is_lacking, is_newer;
    snprintf(error, INDEX_ERROR_MAX, "the words of messages cannot be kept");
    PARLEY_TRY(index_store_open(options->folder, &keeper->store, out_is_new, error));
    PARLEY_TRY(index_store_keep_words(keeper->store, options->has_words, &is_lacking));
    if (!is_lacking) {
        return PARLEY_OK;
    }
    index_store_close(keeper->store);
    keeper->store = NULL;
    if (!index_file_set_aside(options->folder)) {
        return PARLEY_E_IO;
    }
    PARLEY_TRY(index_store_open(options->folder, &keeper->store, &is_newer, error));
    *out_is_new = true;
    snprintf(error, INDEX_ERROR_MAX, INDEX_FILE_NAME " was made without --index-text");
    return index_store_keep_words(keeper->store, true, &is_lacking);
}

static bool open_store(struct index_keeper *keeper) {
    char error[INDEX_ERROR_MAX] = "";
    bool is_new = false;
    if (keeper->store != NULL) {
        return true;
    }
    if (open_file(keeper, &is_new, error) != PARLEY_OK) {
        on_failure(keeper, error);
        return false;
    }
    keeper->file_number = index_file_number(keeper->options.folder);
    if (is_new) {
        note_remade(keeper, error);
    }
    return true;
}

/* All rows that were written are. */
static void note_committed(struct index_keeper *keeper) {
    if (reactor_now_ms(keeper->reactor) - keeper->failed_ms >= WRITABLE_MS) {
        note_written(keeper, false);
    }
    note_covered(keeper);
}

static void commit(struct index_keeper *keeper) {
    reactor_timer_clear(keeper->reactor, &keeper->commit);
    if (keeper->store != NULL && index_store_commit(keeper->store) != PARLEY_OK) {
        on_failure(keeper, "rows cannot be committed");
    } else {
        note_committed(keeper);
    }
}

static void on_commit(struct reactor_timer *timer) {
    commit(OWNER_OF(timer, struct index_keeper, commit));
}

static bool is_hurried(const struct index_keeper *keeper) {
    return reactor_now_ms(keeper->reactor) < atomic_load(&keeper->hurried_ms);
}

/* There are rows to commit. */
static void commit_soon(struct index_keeper *keeper, bool is_current) {
    const int64_t age_ms = reactor_now_ms(keeper->reactor) - keeper->pending_ms;
    reactor_timer_set(keeper->reactor, &keeper->commit,
                      index_pace_commit_ms(&keeper->pace, age_ms, is_current, is_hurried(keeper)));
}

/* ---- messages ---- */

static bool may_read(struct index_keeper *keeper) {
    struct index_pace_sample sample = {.lag = atomic_load(&keeper->lag),
                                       .is_wanted = is_hurried(keeper)};
    index_clocks_read(&keeper->clocks, &sample);
    keeper->paced_ms = reactor_now_ms(keeper->reactor);
    return index_pace_allows(&keeper->pace, &sample);
}

static void pull(void *context) {
    struct place *place = context;
    struct index_keeper *keeper = place->keeper;
    place->is_held = place->consumer != NULL && !may_read(keeper);
    if (place->is_held) {
        reactor_timer_set(keeper->reactor, &keeper->held, HELD_MS);
    } else if (place->consumer != NULL) {
        const size_t pulls = index_pace_is_limited(&keeper->pace) ? PULLS_LIMITED : 1;
        ordered_consumer_pull(place->consumer, pulls * PULL_COUNT, pulls * PULL_BYTES);
    }
}

static void on_held(struct reactor_timer *timer) {
    struct index_keeper *keeper = OWNER_OF(timer, struct index_keeper, held);
    for (size_t i = 0; i < keeper->place_count; i++) {
        if (keeper->places[i].is_held) {
            pull(&keeper->places[i]);
        }
    }
    if (keeper->store != NULL && index_store_pending(keeper->store) > 0 && is_hurried(keeper)) {
        commit_soon(keeper, false);
    }
}

static void on_opened(void *context, uint64_t next_sequence) {
    (void)next_sequence;
    pull(context);
}

static void on_stored(void *context, const struct jetstream_stored *stored) {
    struct place *place = context;
    struct index_keeper *keeper = place->keeper;
    struct index_row row;
    if (keeper->store == NULL || stored->sequence < place->at.next) {
        return;
    }
    const int64_t now_ms = reactor_now_ms(keeper->reactor);
    if (now_ms - keeper->paced_ms >= INDEX_PACE_MS) {
        (void)may_read(keeper);
    }
    if (index_store_pending(keeper->store) == 0) {
        keeper->pending_ms = now_ms;
        commit_soon(keeper, false);
    }
    if (index_reader_read(&keeper->readers[place->channel], place->at.number, stored, &row) !=
            PARLEY_OK ||
        index_store_add(keeper->store, &row) != PARLEY_OK) {
        on_failure(keeper, "a row cannot be written");
        return;
    }
    place->at.next = stored->sequence + 1;
    place->is_current = false;
    if (index_store_pending(keeper->store) >= BATCH_ROWS) {
        commit(keeper);
    }
}

static void on_current(void *context) {
    struct place *place = context;
    struct index_keeper *keeper = place->keeper;
    place->is_current = true;
    if (keeper->store != NULL && index_store_pending(keeper->store) > 0) {
        commit_soon(keeper, true);
    }
}

/* A stream of another kind (a work queue) is not read. */
static void on_refused(void *context, const char *error) {
    struct place *place = context;
    (void)error;
    ordered_consumer_close(place->consumer);
    place->consumer = NULL;
}

static void read_on(struct place *place) {
    struct index_keeper *keeper = place->keeper;
    const struct jetstream_start start = {.from = JETSTREAM_FROM_SEQUENCE,
                                          .sequence = place->at.next,
                                          .filter =
                                              keeper->options.channels[place->channel].subjects};
    const struct ordered_consumer_events events = {.opened = on_opened,
                                                   .stored = on_stored,
                                                   .pull_ended = pull,
                                                   .refused = on_refused,
                                                   .current = on_current,
                                                   .context = place};
    if (ordered_consumer_open(keeper->jetstream, place->stream, start, ORDERED_REPLAY, &events,
                              &place->consumer) != PARLEY_OK) {
        place->consumer = NULL;
    }
}

/* ---- looks ---- */

static void note_progress(struct index_keeper *keeper) {
    uint64_t lag = 0;
    bool is_known = keeper->store != NULL && keeper->place_count > 0;
    for (size_t i = 0; i < keeper->place_count; i++) {
        const struct place *place = &keeper->places[i];
        if (place->is_gone) {
            continue;
        }
        is_known = is_known && place->is_seen;
        const uint64_t next = next_of(place);
        lag += place->last >= next ? place->last + 1 - next : 0;
    }
    atomic_store(&keeper->lag, lag);
    atomic_store(&keeper->is_known, is_known);
}

/* The stream is read from where its rows end. */
static void begin_place(struct place *place) {
    struct index_keeper *keeper = place->keeper;
    const unsigned protocol = keeper->readers[place->channel].protocol;
    if (index_store_place(keeper->store, place->stream, protocol, place->created, PRUNE_ROWS,
                          &place->at) != PARLEY_OK) {
        on_failure(keeper, "a stream cannot be noted");
        return;
    }
    if (!place->at.is_left) {
        place->is_placed = true;
        place->pruned = 1;
        place->is_current = false;
        place->at.next = place->at.next < place->first ? place->first : place->at.next;
        read_on(place);
    }
}

static void prune(struct place *place) {
    struct index_keeper *keeper = place->keeper;
    bool is_left;
    if (index_store_prune(keeper->store, place->at.number, place->first, PRUNE_ROWS, &is_left) !=
        PARLEY_OK) {
        on_failure(keeper, "rows cannot be removed");
    } else {
        place->pruned = is_left ? place->pruned : place->first;
        note_committed(keeper);
    }
}

static bool has_old_rows(const struct place *place) {
    return place->is_seen && (!place->is_placed || place->first > place->pruned);
}

static bool is_pruning(const struct index_keeper *keeper) {
    bool is_any = false;
    for (size_t i = 0; i < keeper->place_count; i++) {
        is_any = is_any || has_old_rows(&keeper->places[i]);
    }
    return is_any;
}

/* A few rows of each stream a turn, so that messages are read meanwhile, and the thread can end. */
static void on_prune(struct reactor_timer *timer) {
    struct index_keeper *keeper = OWNER_OF(timer, struct index_keeper, prune);
    for (size_t i = 0; i < keeper->place_count && keeper->store != NULL; i++) {
        struct place *place = &keeper->places[i];
        if (place->is_seen && !place->is_placed) {
            begin_place(place);
        } else if (has_old_rows(place)) {
            prune(place);
        }
    }
    if (keeper->store != NULL && is_pruning(keeper)) {
        reactor_timer_set(keeper->reactor, timer, 0);
    }
}

static void follow(struct place *place, const struct jetstream_stream_info *info) {
    struct index_keeper *keeper = place->keeper;
    if (strcmp(place->created, info->created) != 0) {
        ordered_consumer_close(place->consumer);
        place->consumer = NULL;
        place->is_placed = false;
        place->covered_ms = 0;
        place->first = 0;
        snprintf(place->created, sizeof place->created, "%s", info->created);
    }
    if (place->first < info->first_sequence) {
        place->first = info->first_sequence;
    }
    if (place->is_placed && place->consumer == NULL) {
        read_on(place);
    }
    if (has_old_rows(place)) {
        reactor_timer_set(keeper->reactor, &keeper->prune, 0);
    }
}

static void on_info(void *context, const struct jetstream_stream_info *info) {
    struct place *place = context;
    struct index_keeper *keeper = place->keeper;
    place->asked = NULL;
    place->is_gone =
        !info->is_known && !index_is_stream_of(keeper->jetstream, (unsigned)place->channel,
                                               parley_bytes_of(place->stream));
    if (!info->is_known || !open_store(keeper)) {
        return;
    }
    /* The last messages may have been removed, or be of other subjects. */
    place->whole = place->is_current && place->last == info->last_sequence ? place->last : 0;
    place->last = info->last_sequence;
    place->looked_ms = place->asked_ms;
    place->is_seen = true;
    follow(place, info);
    atomic_store(&keeper->bytes, index_store_bytes(keeper->store));
    note_progress(keeper);
    note_covered(keeper);
}

/* Where there is no room for all, the oldest twentieth of each stream goes. */
static void bound_size(struct index_keeper *keeper) {
    if (keeper->store == NULL || is_pruning(keeper) ||
        index_store_bytes(keeper->store) <= keeper->options.bytes_max) {
        return;
    }
    for (size_t i = 0; i < keeper->place_count; i++) {
        struct place *place = &keeper->places[i];
        uint64_t first = 0;
        if (index_store_first(keeper->store, place->at.number, &first) == PARLEY_OK &&
            first < place->at.next) {
            place->first = first + (place->at.next - first) / 20 + 1;
        }
    }
    reactor_timer_set(keeper->reactor, &keeper->prune, 0);
}

static void add_place(struct index_keeper *keeper, size_t channel, const char *stream) {
    for (size_t i = 0; i < keeper->place_count; i++) {
        if (keeper->places[i].channel == channel && strcmp(keeper->places[i].stream, stream) == 0) {
            return;
        }
    }
    if (keeper->place_count < PLACES_MAX) {
        struct place *place = &keeper->places[keeper->place_count++];
        *place = (struct place){.keeper = keeper, .channel = channel, .at = {.next = 1}};
        snprintf(place->stream, sizeof place->stream, "%s", stream);
    }
}

static void on_look(struct reactor_timer *timer) {
    struct index_keeper *keeper = OWNER_OF(timer, struct index_keeper, look);
    reactor_timer_set(keeper->reactor, timer, LOOK_MS);
    check_file(keeper);
    if (!keeper->is_ready) {
        return;
    }
    for (size_t i = 0; i < parley_protocol_count(); i++) {
        const struct jetstream_place *at;
        for (size_t j = 0; (at = jetstream_place_at(keeper->jetstream, i, j)) != NULL; j++) {
            if (at->families != 0 && jetstream_place_takes_consumers(at)) {
                add_place(keeper, i, at->stream);
            }
        }
    }
    for (size_t i = 0; i < keeper->place_count; i++) {
        struct place *place = &keeper->places[i];
        if (place->asked == NULL) {
            place->asked_ms = reactor_clock_ms();
            place->asked = jetstream_stream_ask(keeper->jetstream, place->stream, on_info, place);
        }
    }
    bound_size(keeper);
}

/* ---- NATS ---- */

static void on_ready(void *context) {
    struct index_keeper *keeper = context;
    keeper->is_ready = true;
    reactor_timer_set(keeper->reactor, &keeper->look, 0);
}

static void on_away(void *context) {
    struct index_keeper *keeper = context;
    keeper->is_ready = false;
}

static void on_unusable(void *context, const char *error) {
    (void)context, (void)error; /* the workers say so */
}

static enum parley_status connect_to_nats(struct index_keeper *keeper) {
    const size_t count = parley_protocol_count();
    keeper->streams = calloc(count, sizeof *keeper->streams);
    keeper->readers = calloc(count, sizeof *keeper->readers);
    keeper->covered_ms = calloc(count, sizeof *keeper->covered_ms);
    if (keeper->streams == NULL || keeper->readers == NULL || keeper->covered_ms == NULL) {
        return PARLEY_E_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        const struct channel *channel = &keeper->options.channels[i];
        keeper->streams[i] = (struct jetstream_stream){
            .name = channel->stream, .subjects = channel->subjects, .families = channel->families};
        index_reader_init(&keeper->readers[i], keeper->options.schemas[i], channel);
        keeper->readers[i].has_words = keeper->options.has_words;
    }
    const struct jetstream_options options = {.bus = keeper->options.bus,
                                              .store = keeper->options.nats_store,
                                              .streams = keeper->streams,
                                              .stream_count = count,
                                              .replicas = keeper->options.replicas,
                                              .dedupe_window_ms = keeper->options.dedupe_window_ms,
                                              .ack_timeout_ms = 10000,
                                              .in_flight_count_max = IN_FLIGHT,
                                              .in_flight_bytes_max = IN_FLIGHT_BYTES};
    const struct jetstream_events events = {
        .ready = on_ready, .away = on_away, .unusable = on_unusable, .context = keeper};
    return jetstream_create(keeper->reactor, &options, &events, &keeper->jetstream);
}

/* ---- the thread ---- */

static void *run(void *context) {
    struct index_keeper *keeper = context;
    pthread_setname_np(pthread_self(), "index");
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
    struct index_pace_sample sample = {.lag = 0};
    index_clocks_open(&keeper->clocks);
    index_clocks_read(&keeper->clocks, &sample);
    index_pace_init(&keeper->pace, index_clocks_processors(), &sample);
    reactor_run(keeper->reactor);
    index_clocks_close(&keeper->clocks);
    return NULL;
}

enum parley_status index_keeper_create(const struct index_keeper_options *options,
                                       struct index_keeper **out, char error[512]) {
    struct index_keeper *keeper = calloc(1, sizeof *keeper);
    snprintf(error, 512, "out of memory");
    *out = NULL;
    if (keeper == NULL) {
        return PARLEY_E_MEMORY;
    }
    keeper->options = *options;
    keeper->look.fire = on_look;
    keeper->commit.fire = on_commit;
    keeper->prune.fire = on_prune;
    keeper->held.fire = on_held;
    if (options->has_words && !index_words_are_possible()) {
        snprintf(error, 512,
                 "--index-text needs SQLite with FTS5, which this one was built without");
        free(keeper);
        return PARLEY_E_UNSUPPORTED;
    }
    index_file_prepare_sqlite();
    keeper->lock_fd = index_file_lock(options->folder);
    enum parley_status status =
        keeper->lock_fd >= 0 ? reactor_create(&keeper->reactor) : PARLEY_E_IO;
    if (keeper->lock_fd < 0) {
        snprintf(error, 512, "another process has the index of this data folder");
    }
    status = status == PARLEY_OK ? connect_to_nats(keeper) : status;
    if (status == PARLEY_OK) {
        keeper->has_thread = pthread_create(&keeper->thread, NULL, run, keeper) == 0;
        status = keeper->has_thread ? PARLEY_OK : PARLEY_E_IO;
    }
    if (status != PARLEY_OK) {
        index_keeper_destroy(keeper);
        return status;
    }
    *out = keeper;
    return PARLEY_OK;
}

static void free_readers(struct index_keeper *keeper) {
    for (size_t i = 0; keeper->readers != NULL && i < parley_protocol_count(); i++) {
        if (keeper->readers[i].channel != NULL) {
            index_reader_finish(&keeper->readers[i]);
        }
    }
    free(keeper->readers);
    free(keeper->streams);
    free(keeper->covered_ms);
}

void index_keeper_destroy(struct index_keeper *keeper) {
    if (keeper == NULL) {
        return;
    }
    if (keeper->has_thread) {
        reactor_stop(keeper->reactor);
        pthread_join(keeper->thread, NULL);
    }
    stop_reading(keeper);
    if (keeper->store != NULL) {
        (void)!index_store_commit(keeper->store); /* else it is read again */
    }
    index_store_close(keeper->store);
    jetstream_destroy(keeper->jetstream);
    free_readers(keeper);
    reactor_destroy(keeper->reactor);
    if (keeper->lock_fd >= 0) {
        close(keeper->lock_fd);
    }
    free(keeper);
}

struct index_progress index_keeper_progress(const struct index_keeper *keeper) {
    return (struct index_progress){.state = (enum index_state)atomic_load(&keeper->state),
                                   .is_known = atomic_load(&keeper->is_known),
                                   .lag = atomic_load(&keeper->lag),
                                   .bytes = atomic_load(&keeper->bytes)};
}

int64_t index_keeper_covered_ms(const struct index_keeper *keeper, size_t protocol) {
    return atomic_load(&keeper->covered_ms[protocol]);
}

void index_keeper_hurry(struct index_keeper *keeper) {
    atomic_store(&keeper->hurried_ms, reactor_clock_ms() + HURRY_MS);
}
