/* SPDX-License-Identifier: Apache-2.0 */

/* See agent_watch.h. What is stored from now on is read first; then the last message on each
 * subject, so that nothing is missed between them. The latter again from time to time, for what has
 * left the stream says nothing, and after NATS or a consumer was away: the stream may have been
 * created again. */

#include "agent_watch.h"

#include <stdlib.h>

#include "agent_table.h"
#include "problem.h"

enum {
    READ_AGAIN_MS = 10 * 60 * 1000,
    READING_MAX_MS = 10000,
    IDLE_MS = 10000, /* a client that comes back after a break finds the table */
};

struct agent_watch {
    const struct channel *channel;
    const struct parley_schema *schema;
    struct agent_table *table;
    pthread_mutex_t *lock; /* of the table, and of the next two */
    size_t reader_count;
    struct reactor *reactor; /* which reads; NULL: none does */
    /* Of this reactor: */
    struct jetstream *jetstream;
    struct agent_reader *tail, *reading;
    bool has_tail; /* it has begun … */
    bool is_cut;   /* … and was lost: it begins again */
    bool is_whole; /* a reading has ended since NATS was there */
    struct reactor_timer timer;
    int64_t read_again_ms, reading_until_ms, idle_since_ms;
};

/* ---- messages ---- */

static enum parley_status note(void *context, const struct agent_news *news) {
    struct agent_watch *watch = context;
    pthread_mutex_lock(watch->lock);
    const enum parley_status status = agent_table_note(watch->table, news, reactor_wall_clock_ns());
    pthread_mutex_unlock(watch->lock);
    return status;
}

static void close_readers(struct agent_watch *watch) {
    agent_reader_close(watch->tail);
    agent_reader_close(watch->reading);
    watch->tail = watch->reading = NULL;
    watch->has_tail = watch->is_cut = watch->is_whole = false;
}

static void lose(struct agent_watch *watch) {
    close_readers(watch);
    pthread_mutex_lock(watch->lock);
    agent_table_set_away(watch->table);
    pthread_mutex_unlock(watch->lock);
}

/* It has begun; or it cannot be read, and is tried again in a second. */
static void tail_done(void *context, enum parley_status status, const char *error) {
    struct agent_watch *watch = context;
    (void)error; /* GET without follow=true says it */
    if (status == PARLEY_OK) {
        watch->has_tail = true;
        reactor_timer_set(watch->reactor, &watch->timer, 0);
    } else {
        lose(watch);
    }
}

static void tail_cut(void *context) {
    struct agent_watch *watch = context;
    watch->is_cut = true; /* looked at by the next tick */
}

static void reading_done(void *context, enum parley_status status, const char *error) {
    struct agent_watch *watch = context;
    (void)error;
    if (status != PARLEY_OK) {
        lose(watch);
        return;
    }
    agent_reader_close(watch->reading);
    watch->reading = NULL;
    watch->is_whole = true;
    watch->read_again_ms = reactor_now_ms(watch->reactor) + READ_AGAIN_MS;
    pthread_mutex_lock(watch->lock);
    agent_table_end_reading(watch->table);
    pthread_mutex_unlock(watch->lock);
}

static void open_reader(struct agent_watch *watch, bool is_live, struct agent_reader **out) {
    const struct agent_reader_options options = {.jetstream = watch->jetstream,
                                                 .channel = watch->channel,
                                                 .schema = watch->schema,
                                                 .is_live = is_live,
                                                 .is_kept = true,
                                                 .now_ns = reactor_wall_clock_ns(),
                                                 .note = note,
                                                 .done = is_live ? tail_done : reading_done,
                                                 .cut = tail_cut,
                                                 .context = watch};
    if (agent_reader_open(&options, out) != PARLEY_OK) {
        lose(watch);
    }
}

static void begin_reading(struct agent_watch *watch, int64_t now_ms) {
    pthread_mutex_lock(watch->lock);
    agent_table_begin_reading(watch->table);
    pthread_mutex_unlock(watch->lock);
    watch->reading_until_ms = now_ms + READING_MAX_MS;
    open_reader(watch, false, &watch->reading);
}

/* ---- the clock ---- */

static void look_after(struct agent_watch *watch, int64_t now_ms) {
    const bool can_read = jetstream_can_read(watch->jetstream);
    if (!can_read || watch->is_cut ||
        (watch->reading != NULL && now_ms > watch->reading_until_ms)) {
        lose(watch);
    }
    if (!can_read) {
        return;
    }
    if (watch->tail == NULL) {
        open_reader(watch, true, &watch->tail);
    } else if (watch->has_tail && watch->reading == NULL &&
               (!watch->is_whole || now_ms >= watch->read_again_ms)) {
        begin_reading(watch, now_ms);
    }
    if (watch->is_whole) {
        pthread_mutex_lock(watch->lock);
        agent_table_tick(watch->table, reactor_wall_clock_ns());
        pthread_mutex_unlock(watch->lock);
    }
}

/* Returns: whether it has ended: no reader has been there for long. */
static bool has_ended(struct agent_watch *watch, int64_t now_ms) {
    pthread_mutex_lock(watch->lock);
    if (watch->reader_count > 0) {
        watch->idle_since_ms = now_ms;
    }
    const bool is_over = now_ms - watch->idle_since_ms >= IDLE_MS;
    if (is_over) {
        watch->reactor = NULL; /* another one may begin once the lock is free */
        close_readers(watch);
        agent_table_clear(watch->table);
    }
    pthread_mutex_unlock(watch->lock);
    return is_over;
}

static void on_timer(struct reactor_timer *timer) {
    struct agent_watch *watch = OWNER_OF(timer, struct agent_watch, timer);
    struct reactor *reactor = watch->reactor;
    const int64_t now_ms = reactor_now_ms(reactor);
    if (!has_ended(watch, now_ms)) {
        look_after(watch, now_ms);
        reactor_timer_set(reactor, timer, AGENT_TABLE_PERIOD_MS);
    }
}

/* ---- readers ---- */

static void begin(struct agent_watch *watch, const struct agent_follow *with) {
    pthread_mutex_lock(watch->lock);
    watch->reader_count++;
    if (watch->reactor == NULL) {
        watch->reactor = with->reactor;
        watch->jetstream = with->jetstream;
        watch->idle_since_ms = reactor_now_ms(with->reactor);
        reactor_timer_set(with->reactor, &watch->timer, 0);
    }
    pthread_mutex_unlock(watch->lock);
}

void agent_watch_end(struct agent_watch *watch, const struct reactor *reactor) {
    pthread_mutex_lock(watch->lock);
    const bool is_own = watch->reactor == reactor;
    if (is_own) {
        reactor_timer_clear(watch->reactor, &watch->timer);
        close_readers(watch);
        agent_table_set_away(watch->table);
        watch->reactor = NULL;
    }
    pthread_mutex_unlock(watch->lock);
}

/* One that follows. */
struct agent_following {
    struct agent_watch *watch;
    struct agent_watching watching;
};

static void release(void *context) {
    struct agent_following *following = context;
    struct agent_watch *watch = following->watch;
    pthread_mutex_lock(watch->lock);
    watch->reader_count--;
    pthread_mutex_unlock(watch->lock);
    free(following);
}

void agent_watch_serve(struct agent_watch *watch, struct http_request *request,
                       const struct agent_query *query, const struct agent_follow *with) {
    struct agent_following *following = calloc(1, sizeof *following);
    if (following == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *following = (struct agent_following){
        .watch = watch,
        .watching = {.states = query->states, .value = query->value, .own = with->own}};
    begin(watch, with);
    const struct follow_options options = {
        .ops = &agent_table_follow_ops,
        .list = watch->table,
        .log = agent_table_changes(watch->table),
        .protocol = watch->channel->protocol,
        .name = "agents",
        .agent = with->own,
        .filter = {.filter = &following->watching, .release = release, .context = following},
        .absent = PROBLEM_BUS_UNAVAILABLE,
        .absence = "The agents' messages are still being read from NATS, or lie in no stream that "
                   "can be read. Ask again later."};
    follows_serve(with->follows, with->limits, request, &query->follow, &options);
}

/* ---- its life ---- */

static void destroy(struct agent_watch *watch) {
    if (watch != NULL) {
        agent_table_destroy(watch->table);
        free(watch);
    }
}

static enum parley_status create(const struct channel *channel, const struct parley_schema *schema,
                                 struct agent_watch **out) {
    struct agent_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return PARLEY_E_MEMORY;
    }
    *watch =
        (struct agent_watch){.channel = channel, .schema = schema, .timer = {.fire = on_timer}};
    if (agent_table_create(channel, schema, &watch->table) != PARLEY_OK) {
        destroy(watch);
        return PARLEY_E_MEMORY;
    }
    watch->lock = agent_table_changes(watch->table)->lock;
    *out = watch;
    return PARLEY_OK;
}

enum parley_status agent_watches_create(const struct channel *channels,
                                        struct parley_schema *const *schemas,
                                        struct agent_watch ***out) {
    const size_t count = parley_protocol_count();
    struct agent_watch **watches = calloc(count + 1, sizeof(struct agent_watch *));
    enum parley_status status = watches != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    for (size_t i = 0; i < count && status == PARLEY_OK; i++) {
        if (parley_protocols[i]->agents != NULL) {
            status = create(&channels[i], schemas[i], &watches[i]);
        }
    }
    if (status != PARLEY_OK) {
        agent_watches_destroy(watches);
        return status;
    }
    *out = watches;
    return PARLEY_OK;
}

void agent_watches_destroy(struct agent_watch **watches) {
    for (size_t i = 0; watches != NULL && i < parley_protocol_count(); i++) {
        destroy(watches[i]);
    }
    free(watches);
}
