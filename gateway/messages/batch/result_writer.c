/* SPDX-License-Identifier: Apache-2.0 */

/* The answer to a chunked or long body begins with its first piece. A short one is answered once it
 * has ended, which keeps its connection; but if it has results and does not end for LATE_MS, its
 * client is slow, and gets the results so far.
 *
 * A client that does not read a live answer is not read from. But there are clients that read only
 * when they have sent all: of a body whose length is announced, and of one whose client has read
 * nothing for a part of the idle timeout, items wait in the spool. When the spool may take no more,
 * the body waits in any case; a client that reads nothing then is closed by live_response.c. */

#include "result_writer.h"

enum {
    LIVE_LENGTH_MIN = 1 << 20, /* shorter bodies keep their connection */
    LIVE_BYTES = 32 * 1024,    /* of items that the client has not been sent */
    LATE_MS = 150,
    PATIENCE_SHARE = 6,             /* of the idle timeout */
    UNCOMMITTED_BYTES = 512 * 1024, /* of items, at most, of which some wait for the disk */
    COMMIT_PAUSE_MS = 5, /* so that a large body does not keep the disk busy with syncs */
    AGAIN_MS = 250,      /* until the spool is asked for room again, which others may have left */
};

#define NO_COMMIT UINT64_MAX

static void on_timer(struct reactor_timer *timer);
static void on_committed(struct commit_wait *wait);
static void on_commit_pause(struct reactor_timer *timer);

void result_writer_init(struct result_writer *outlet, const struct result_writer_options *options) {
    const int64_t length = http_request_content_length(options->request);
    const bool is_long = length < 0 || length > LIVE_LENGTH_MIN;
    *outlet = (struct result_writer){.options = *options,
                                     .timer = {.fire = on_timer},
                                     .commit = {.done = on_committed},
                                     .commit_pause = {.fire = on_commit_pause}};
    outlet->phase = !http_can_be_live(options->request) ? OUTLET_AFTER
                    : is_long                           ? OUTLET_READY
                                                        : OUTLET_LATE;
    outlet->is_spooled = length >= 0 || outlet->phase == OUTLET_AFTER;
    outlet->committed_bytes = options->commit != NULL ? 0 : NO_COMMIT;
    spool_init(&outlet->spool, options->data, options->quota);
}

void result_writer_close(struct result_writer *outlet) {
    outlet->options.request = NULL;
    commit_wait_cancel(&outlet->commit);
    reactor_timer_clear(outlet->options.reactor, &outlet->commit_pause);
    reactor_timer_clear(outlet->options.reactor, &outlet->timer);
}

void result_writer_finish(struct result_writer *outlet) {
    result_writer_close(outlet);
    spool_finish(&outlet->spool);
}

/* ---- items ---- */

static uint64_t unread_bytes(const struct result_writer *outlet) {
    return spool_length(&outlet->spool) - outlet->read_offset;
}

/* Results that wait for the disk are not the client's fault, and have a bound of their own. */
bool result_writer_has_room(struct result_writer *outlet) {
    if (outlet->is_spooled) {
        return spool_has_room(&outlet->spool);
    }
    const uint64_t unread = unread_bytes(outlet);
    const uint64_t may_be_sent = outlet->committed_bytes - outlet->sent_bytes;
    return (unread < may_be_sent ? unread : may_be_sent) < LIVE_BYTES && unread < UNCOMMITTED_BYTES;
}

/* Writes the text before an item, or before the end if there is none. */
static void write_start(const struct result_writer *outlet, struct parley_buffer *out) {
    static const char *const starts[] = {
        [OUTLET_LINES] = "", [OUTLET_DOCUMENT] = "{\"results\":[\n", [OUTLET_ARRAY] = "[\n"};
    if (outlet->item_count == 0) {
        parley_buffer_text(out, starts[outlet->options.form]);
    }
}

struct parley_buffer *result_writer_begin_item(struct result_writer *outlet) {
    struct parley_buffer *out = spool_open(&outlet->spool);
    if (out != NULL) {
        outlet->item_start = out->length;
        if (outlet->options.form != OUTLET_LINES) {
            write_start(outlet, out);
            parley_buffer_text(out, outlet->item_count > 0 ? "," : "");
        }
    }
    return out;
}

/* ---- when they are on the disk ---- */

/* Items that are sent while the body comes wait for the disk on their own, together with those that
 * follow within a moment; an answer that begins once all of it is there waits as any other does
 * (http_commit). */
static void commit_items(struct result_writer *outlet) {
    const uint64_t written_bytes = outlet->sent_bytes + unread_bytes(outlet);
    if (written_bytes > outlet->committed_bytes && !commit_is_waiting(&outlet->commit) &&
        !outlet->commit_pause.is_armed) {
        reactor_timer_set(outlet->options.reactor, &outlet->commit_pause, COMMIT_PAUSE_MS);
    }
}

static void on_commit_pause(struct reactor_timer *timer) {
    struct result_writer *outlet = OWNER_OF(timer, struct result_writer, commit_pause);
    outlet->committing_bytes = outlet->sent_bytes + unread_bytes(outlet);
    commit_wait_begin(outlet->options.commit, &outlet->commit);
}

static void on_committed(struct commit_wait *wait) {
    struct result_writer *outlet = OWNER_OF(wait, struct result_writer, commit);
    outlet->committed_bytes = outlet->committing_bytes;
    commit_items(outlet);
    http_wake(outlet->options.request);
}

void result_writer_wake(struct result_writer *outlet) {
    if (outlet->phase == OUTLET_LIVE && outlet->options.request != NULL) {
        commit_items(outlet);
        http_wake(outlet->options.request);
    }
}

static void set_timer(struct result_writer *outlet, int64_t delay_ms) {
    if (!outlet->timer.is_armed && outlet->options.request != NULL) {
        reactor_timer_set(outlet->options.reactor, &outlet->timer, delay_ms);
    }
}

bool result_writer_end_item(struct result_writer *outlet) {
    if (outlet->spool.tail.has_failed) {
        spool_take_back(&outlet->spool, outlet->item_start);
        return false;
    }
    outlet->item_count++;
    if (outlet->phase == OUTLET_LATE) {
        set_timer(outlet, LATE_MS);
    } else {
        result_writer_wake(outlet);
    }
    return true;
}

/* ---- when the answer begins ---- */

static void begin(struct result_writer *outlet) {
    if (outlet->options.request == NULL) {
        return;
    }
    outlet->phase = OUTLET_LIVE;
    commit_items(outlet);
    http_compress(outlet->options.request);
    http_respond_live(outlet->options.request, 200, outlet->options.media_type,
                      outlet->options.read);
}

void result_writer_begin(struct result_writer *outlet, bool has_ended) {
    if (outlet->phase == OUTLET_READY) {
        begin(outlet);
    } else if (has_ended && outlet->phase == OUTLET_LATE) {
        outlet->phase = OUTLET_ENDED;
        reactor_timer_clear(outlet->options.reactor, &outlet->timer);
    }
}

bool result_writer_wait(struct result_writer *outlet) {
    if (result_writer_has_room(outlet)) {
        return true;
    }
    if (outlet->phase == OUTLET_AFTER) {
        return false;
    }
    if (outlet->phase == OUTLET_LATE || outlet->phase == OUTLET_ENDED) {
        reactor_timer_clear(outlet->options.reactor, &outlet->timer);
        begin(outlet);
    }
    set_timer(outlet, outlet->is_spooled ? (int64_t)AGAIN_MS
                                         : outlet->options.idle_timeout_ms / PATIENCE_SHARE);
    return true;
}

static void on_room(struct result_writer *outlet) {
    outlet->options.on_room(outlet->options.context);
    if (outlet->phase == OUTLET_LIVE) {
        result_writer_wait(outlet);
    }
}

static void on_timer(struct reactor_timer *timer) {
    struct result_writer *outlet = OWNER_OF(timer, struct result_writer, timer);
    if (outlet->phase == OUTLET_LATE) {
        begin(outlet);
    } else {
        outlet->is_spooled = true;
        on_room(outlet);
    }
}

/* ---- its end ---- */

bool result_writer_end(struct result_writer *outlet, struct parley_buffer *summary) {
    struct parley_buffer *out = &outlet->spool.tail;
    const enum result_writer_form form = outlet->options.form;
    const char *before = form == OUTLET_LINES ? "{" : form == OUTLET_ARRAY ? "]" : "],";
    if (form == OUTLET_LINES && summary == NULL) {
        return true;
    }
    /* The end is always there: a full disk must not take it. */
    outlet->spool.has_failed = false;
    write_start(outlet, out);
    parley_buffer_text(out, before);
    if (form != OUTLET_ARRAY) {
        parley_buffer_append(out, parley_buffer_bytes(summary));
        parley_buffer_char(out, '}');
    }
    parley_buffer_char(out, '\n');
    return !out->has_failed && (summary == NULL || !summary->has_failed);
}

void result_writer_send(struct result_writer *outlet) {
    reactor_timer_clear(outlet->options.reactor, &outlet->timer);
    const bool is_live = outlet->phase == OUTLET_LIVE;
    outlet->phase = OUTLET_WHOLE;
    if (is_live) {
        commit_items(outlet);
        http_wake(outlet->options.request);
    } else {
        outlet->committed_bytes = NO_COMMIT;
        if (spool_length(&outlet->spool) >= HTTP_COMPRESSED_BYTES_MIN) {
            http_compress(outlet->options.request);
        }
        http_respond_stream(outlet->options.request, 200, outlet->options.media_type,
                            outlet->options.read);
    }
}

bool result_writer_is_read(const struct result_writer *outlet) {
    return unread_bytes(outlet) == 0;
}

ssize_t result_writer_read(struct result_writer *outlet, char *buffer, size_t size) {
    const uint64_t committed = outlet->committed_bytes - outlet->sent_bytes;
    const size_t most = size < committed ? size : (size_t)committed;
    const ssize_t count =
        most > 0 ? spool_read(&outlet->spool, outlet->read_offset, buffer, most) : 0;
    if (count <= 0) {
        return count;
    }
    outlet->read_offset += (uint64_t)count;
    outlet->sent_bytes += (uint64_t)count;
    if (outlet->phase == OUTLET_LIVE) {
        outlet->read_offset = spool_forget(&outlet->spool, outlet->read_offset);
        reactor_timer_clear(outlet->options.reactor, &outlet->timer);
        on_room(outlet);
    }
    return count;
}
