/* SPDX-License-Identifier: Apache-2.0 */

/* See loss_keeper.h. A round reads all agents, a page after the other, and writes the keys of a
 * page before the next one is read. The next round looks only for losses after the last one that
 * was whole, so that keys are not tried again and again. */

#include "loss_keeper.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent_page.h"
#include "agent_reader.h"
#include "bucket_key.h"
#include "since_key.h"

enum {
    AT_ONCE_MAX = 32,
    AGAIN_MS = 1000,
    DEADLINE_MS = 10000, /* of the reading of a page */
    DELAY_MS = 500,      /* after an agent should be lost: a beat may be on its way */
    OVERLAP_MS = 10000,  /* what comes to be seen later than its time of storage says */
    PAST_MS = 86400000,
    PAGE_COUNT_MAX = 1000,
    PAGE_BYTES_MAX = 4 * 1024 * 1024,
    NAME_BYTES_MAX = 128, /* agents of POST have up to 64; others are not told */
    KEY_MAX = NAME_BYTES_MAX + 32,
    NS_A_MS = 1000000,
    NS_A_S = 1000000000,
};

struct loss_keeper {
    struct reactor *reactor;
    struct jetstream *jetstream;
    const struct channel *channel;
    const struct parley_schema *schema;
    struct since_key since;
    struct reactor_timer timer; /* the next round; while a page is read, its deadline */
    bool is_stopped;
    /* The round: */
    struct agent_reader *reader; /* NULL: none */
    struct agent_page page;
    char after[AGENT_TOKEN_SIZE]; /* the last name of the page before */
    size_t next;                  /* entry of the page */
    size_t under_way;             /* keys that are being written */
    int64_t now_ns, next_ns;      /* its beginning; when the next agent is lost */
    bool has_failed;
    int64_t told_ms; /* losses up to then are stored */
};

static const struct parley_agents *agents_of(const struct loss_keeper *keeper) {
    return keeper->channel->protocol->agents;
}

/* ---- the end of a round ---- */

static void end_page(struct loss_keeper *keeper) {
    agent_reader_close(keeper->reader);
    keeper->reader = NULL;
    agent_page_finish(&keeper->page);
    reactor_timer_clear(keeper->reactor, &keeper->timer);
}

static void end_round(struct loss_keeper *keeper) {
    const int64_t wait_ms = (keeper->next_ns - reactor_wall_clock_ns()) / NS_A_MS;
    end_page(keeper);
    if (!keeper->has_failed) {
        keeper->told_ms = keeper->now_ns / NS_A_MS - OVERLAP_MS;
    }
    reactor_timer_set(keeper->reactor, &keeper->timer,
                      keeper->has_failed ? AGAIN_MS : DELAY_MS + (wait_ms > 0 ? wait_ms : 0));
}

static void fail_round(struct loss_keeper *keeper) {
    keeper->has_failed = true;
    end_round(keeper);
}

/* ---- keys ---- */

static void proceed(struct loss_keeper *keeper);

static void on_written(void *context, const struct jetstream_ack *ack) {
    struct loss_keeper *keeper = context;
    keeper->under_way--;
    keeper->has_failed |= ack->outcome != JETSTREAM_STORED && !bucket_key_is_taken(ack);
    proceed(keeper);
}

/* A name in subjects may have `%`, which clients of buckets do not take in keys. */
static void write_key(const struct agent_entry *entry, char out[KEY_MAX]) {
    const int length =
        snprintf(out, KEY_MAX, "%s.lost.%ju", entry->name, (uintmax_t)entry->beat_sequence);
    for (int i = 0; i < length; i++) {
        out[i] = out[i] == '%' ? '=' : out[i]; /* no name has one */
    }
}

static void write_loss(struct loss_keeper *keeper, const struct agent_entry *entry) {
    char key[KEY_MAX];
    struct parley_buffer text;
    parley_buffer_init(&text);
    write_key(entry, key);
    agent_entry_write(entry, agents_of(keeper), keeper->now_ns, &text);
    const struct bucket_value value = {
        .bucket = keeper->channel->loss_bucket, .key = key, .value = parley_buffer_bytes(&text)};
    if (!text.has_failed &&
        bucket_key_create(keeper->jetstream, &value, on_written, keeper) == JETSTREAM_PUBLISHED) {
        keeper->under_way++;
    } else {
        keeper->has_failed = true;
    }
    parley_buffer_finish(&text);
}

/* What was before the first such webhook, or is stored already, is not told. */
static bool is_to_be_told(const struct loss_keeper *keeper, const struct agent_entry *entry,
                          int64_t at_ns) {
    const int64_t at_ms = at_ns / NS_A_MS;
    return at_ms >= keeper->since.since_ms && at_ms >= keeper->told_ms &&
           at_ms >= keeper->now_ns / NS_A_MS - PAST_MS && strlen(entry->name) <= NAME_BYTES_MAX;
}

static void look_at(struct loss_keeper *keeper, const struct agent_entry *entry) {
    int64_t at_ns;
    if (!agent_is_missed(entry, agents_of(keeper), keeper->now_ns, &at_ns)) {
        if (at_ns >= keeper->now_ns && at_ns < keeper->next_ns) {
            keeper->next_ns = at_ns;
        }
    } else if (is_to_be_told(keeper, entry, at_ns)) {
        write_loss(keeper, entry);
    }
}

/* ---- pages ---- */

static void read_page(struct loss_keeper *keeper);

static void leave_page(struct loss_keeper *keeper) {
    const struct agent_page *page = &keeper->page;
    if (page->has_more && page->count > 0 && !keeper->has_failed) {
        snprintf(keeper->after, sizeof keeper->after, "%s", page->entries[page->count - 1].name);
        end_page(keeper);
        read_page(keeper);
    } else {
        end_round(keeper);
    }
}

static void proceed(struct loss_keeper *keeper) {
    if (keeper->is_stopped) {
        return;
    }
    while (keeper->under_way < AT_ONCE_MAX && keeper->next < keeper->page.count) {
        look_at(keeper, &keeper->page.entries[keeper->next++]);
    }
    if (keeper->under_way == 0) {
        leave_page(keeper);
    }
}

static enum parley_status note(void *context, const struct agent_news *news) {
    struct loss_keeper *keeper = context;
    return agent_page_note(&keeper->page, news);
}

static void done(void *context, enum parley_status status, const char *error) {
    struct loss_keeper *keeper = context;
    (void)error; /* it is tried again, and GET agents says so */
    agent_reader_close(keeper->reader);
    keeper->reader = NULL;
    reactor_timer_clear(keeper->reactor, &keeper->timer);
    if (status == PARLEY_OK) {
        proceed(keeper);
    } else {
        fail_round(keeper);
    }
}

static void read_page(struct loss_keeper *keeper) {
    const struct agent_reader_options options = {.jetstream = keeper->jetstream,
                                                 .channel = keeper->channel,
                                                 .schema = keeper->schema,
                                                 .is_of_lives = true,
                                                 .now_ns = keeper->now_ns,
                                                 .note = note,
                                                 .done = done,
                                                 .context = keeper};
    agent_page_init(&keeper->page, keeper->after, PAGE_COUNT_MAX, PAGE_BYTES_MAX);
    keeper->next = 0;
    if (!jetstream_can_read(keeper->jetstream) ||
        agent_reader_open(&options, &keeper->reader) != PARLEY_OK) {
        fail_round(keeper);
        return;
    }
    reactor_timer_set(keeper->reactor, &keeper->timer, DEADLINE_MS);
}

/* An agent that is not known yet is lost no sooner than one that beats now. */
static void begin_round(struct loss_keeper *keeper) {
    keeper->now_ns = reactor_wall_clock_ns();
    keeper->next_ns = keeper->now_ns + (int64_t)agents_of(keeper)->late_seconds * NS_A_S;
    keeper->has_failed = false;
    keeper->after[0] = '\0';
    read_page(keeper);
}

static void on_timer(struct reactor_timer *timer) {
    struct loss_keeper *keeper = OWNER_OF(timer, struct loss_keeper, timer);
    if (keeper->reader != NULL) {
        fail_round(keeper);
    } else {
        begin_round(keeper);
    }
}

static void on_since(struct since_key *since) {
    begin_round(OWNER_OF(since, struct loss_keeper, since));
}

/* ---- life ---- */

enum parley_status loss_keeper_create(struct reactor *reactor, struct jetstream *jetstream,
                                      const struct channel *channel,
                                      const struct parley_schema *schema,
                                      struct loss_keeper **out) {
    struct loss_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper == NULL) {
        return PARLEY_E_MEMORY;
    }
    *keeper = (struct loss_keeper){.reactor = reactor,
                                   .jetstream = jetstream,
                                   .channel = channel,
                                   .schema = schema,
                                   .since = {.reactor = reactor,
                                             .jetstream = jetstream,
                                             .bucket = channel->loss_bucket,
                                             .key = "since",
                                             .known = on_since},
                                   .timer = {.fire = on_timer}};
    since_key_start(&keeper->since);
    *out = keeper;
    return PARLEY_OK;
}

void loss_keeper_stop(struct loss_keeper *keeper) {
    if (keeper != NULL && !keeper->is_stopped) {
        keeper->is_stopped = true;
        since_key_stop(&keeper->since);
        end_page(keeper);
    }
}

void loss_keeper_destroy(struct loss_keeper *keeper) {
    free(keeper);
}
