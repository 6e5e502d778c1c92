/* SPDX-License-Identifier: Apache-2.0 */

/* See follow_reader.h. The list and its log are looked at in slices, with their lock; what passes
 * is written into the reader's text, which is sent without it. */

#include "follow_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_envelope.h"

enum {
    SLICE = 64, /* items that are looked at with the lock */
    SLICES_MAX = 16,
    TEXT_BYTES = 16 * 1024, /* that are made at a time */
    ID_MAX = 96,
};

/* ---- tokens ---- */

static size_t write_token(const struct follow_reader *reader, char out[FOLLOW_TOKEN_MAX]) {
    return (size_t)snprintf(out, FOLLOW_TOKEN_MAX, "%s:%016" PRIx64 ":%08" PRIx32 ":%" PRIu64,
                            reader->name, reader->cursor.epoch, reader->digest,
                            reader->cursor.version);
}

bool follow_token_read(const char *text, const char *name, struct follow_token *out) {
    char again[FOLLOW_TOKEN_MAX];
    const size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 ||
        sscanf(text + length, ":%16" SCNx64 ":%8" SCNx32 ":%20" SCNu64, &out->epoch, &out->digest,
               &out->version) != 3) {
        return false;
    }
    snprintf(again, sizeof again, "%s:%016" PRIx64 ":%08" PRIx32 ":%" PRIu64, name, out->epoch,
             out->digest, out->version);
    return strcmp(text, again) == 0;
}

/* ---- events ---- */

/* `id`: NULL: that of an event about the response itself. */
static void write_event(struct follow_reader *reader, const char *type, const char *id,
                        struct parley_bytes data) {
    char token[FOLLOW_TOKEN_MAX], own_id[ID_MAX];
    struct stream_layout layout = {0};
    struct parley_buffer *text = &reader->text;
    const int64_t now_ns = reactor_wall_clock_ns();
    const struct parley_bytes resume = {token, write_token(reader, token)};
    snprintf(own_id, sizeof own_id, "%.60s:%s:%" PRIu64, http_request_id(reader->request),
             type + sizeof "parley." - 1, (uint64_t)(now_ns / 1000));
    if (reader->is_sse) {
        parley_buffer_text(text, "id: ");
        parley_buffer_append(text, resume);
        parley_buffer_text(text, "\ndata: ");
    }
    const struct stream_own_event event = {.time_ns = now_ns,
                                           .id = id != NULL ? id : own_id,
                                           .source = http_request_path(reader->request),
                                           .type = type,
                                           .token = resume,
                                           .data = data};
    stream_write_own(text, &event, &layout);
    parley_buffer_text(text, reader->is_sse ? "\n\n" : "\n");
}

/* An event source stores an id without data, and reports nothing. */
static void write_position(struct follow_reader *reader, const char *type) {
    char token[FOLLOW_TOKEN_MAX];
    static const struct parley_bytes nothing = {"{}", 2};
    if (!reader->is_sse) {
        write_event(reader, type, NULL, reader->is_open_due ? nothing : (struct parley_bytes){0});
        return;
    }
    const struct parley_bytes resume = {token, write_token(reader, token)};
    parley_buffer_text(&reader->text, reader->is_open_due ? "retry: 2000\nid: " : "id: ");
    parley_buffer_append(&reader->text, resume);
    parley_buffer_text(&reader->text, "\n\n");
}

static void write_reason(struct follow_reader *reader, const char *type, const char *reason) {
    struct parley_buffer data;
    parley_buffer_init(&data);
    stream_write_member(&data, "{\"reason\":", parley_bytes_of(reason));
    parley_buffer_char(&data, '}');
    reader->text.has_failed |= data.has_failed;
    write_event(reader, type, NULL, parley_buffer_bytes(&data));
    parley_buffer_finish(&data);
}

/* The id of an event about an item is the same for all readers, unless time alone made it. */
static void write_about(struct follow_reader *reader, const char *type, uint64_t version,
                        struct parley_bytes data) {
    char id[ID_MAX], swept[32] = "";
    if (version <= reader->swept_to) {
        snprintf(swept, sizeof swept, ":%" PRIu64, (uint64_t)(reactor_wall_clock_ns() / 1000000));
    }
    snprintf(id, sizeof id, "%s:%016" PRIx64 ":%" PRIu64 "%s", reader->name, reader->cursor.epoch,
             version, swept);
    write_event(reader, type, id, data);
}

static void write_left(struct follow_reader *reader, uint64_t version, struct parley_bytes id) {
    struct parley_buffer data;
    parley_buffer_init(&data);
    stream_write_member(&data, "{\"id\":", id);
    parley_buffer_char(&data, '}');
    reader->text.has_failed |= data.has_failed;
    write_about(reader, "parley.left", version, parley_buffer_bytes(&data));
    parley_buffer_finish(&data);
}

/* ---- what is shown ---- */

static bool is_shown(const struct follow_reader *reader, uint32_t slot) {
    return slot / 8 < reader->shown_bytes && (reader->shown[slot / 8] >> slot % 8 & 1) != 0;
}

static enum parley_status set_shown(struct follow_reader *reader, uint32_t slot, bool shows) {
    enum { STEP = 64 };
    if (slot / 8 >= reader->shown_bytes && shows) {
        const size_t size = (slot / 8 / STEP + 1) * STEP;
        unsigned char *shown = realloc(reader->shown, size);
        if (shown == NULL) {
            return PARLEY_E_MEMORY;
        }
        memset(shown + reader->shown_bytes, 0, size - reader->shown_bytes);
        reader->shown = shown;
        reader->shown_bytes = size;
    }
    if (slot / 8 < reader->shown_bytes) {
        const unsigned char bit = (unsigned char)(1u << slot % 8);
        reader->shown[slot / 8] =
            (unsigned char)(shows ? reader->shown[slot / 8] | bit : reader->shown[slot / 8] & ~bit);
    }
    return PARLEY_OK;
}

static enum parley_status look_at(struct follow_reader *reader, const struct change *item,
                                  bool *out_passes) {
    parley_buffer_clear(&reader->item);
    *out_passes = false;
    PARLEY_TRY(
        reader->ops->write(reader->list, reader->filter.filter, item, &reader->item, out_passes));
    return parley_buffer_status(&reader->item);
}

static enum parley_status show(struct follow_reader *reader, const struct change *item) {
    const bool was_shown = is_shown(reader, item->slot);
    bool passes;
    PARLEY_TRY(look_at(reader, item, &passes));
    if (passes && !(was_shown && item->version <= reader->swept_to)) {
        write_about(reader, "parley.item", item->version, parley_buffer_bytes(&reader->item));
    } else if (!passes && was_shown) {
        write_left(reader, item->version, reader->ops->id(reader->list, item));
    }
    return set_shown(reader, item->slot, passes);
}

/* One that was removed before the reader knew what its client has may be in the client's list. */
static enum parley_status show_gone(struct follow_reader *reader, const struct change_gone *gone) {
    const bool may_be_shown = gone->part == reader->part && gone->born <= reader->resumed_at &&
                              gone->version <= reader->began_at;
    if (is_shown(reader, gone->slot) || may_be_shown) {
        write_left(reader, gone->version, parley_bytes_of(gone->id));
    }
    return set_shown(reader, gone->slot, false);
}

/* ---- its place ---- */

static void stop_walking(struct follow_reader *reader) {
    change_cursor_leave(&reader->walk);
    reader->walking = FOLLOW_WALKS_NOT;
}

static void walk_from_the_first(struct follow_reader *reader) {
    (void)change_cursor_place(reader->log, &reader->walk, reader->log->epoch, 0);
}

/* `reason` NULL: its client has nothing. */
static void begin_again(struct follow_reader *reader, const char *reason) {
    stop_walking(reader);
    reader->is_current = false;
    reader->resumed_at = 0;
    if (reader->shown != NULL) {
        memset(reader->shown, 0, reader->shown_bytes);
    }
    (void)change_cursor_place(reader->log, &reader->cursor, reader->log->epoch, 0);
    reader->reset_reason = reason;
}

/* What passes by time alone may have passed while no one looked. */
static const char *objection_to(const struct follow_reader *reader,
                                const struct follow_token *token) {
    return token->digest != reader->digest      ? "other-options"
           : token->epoch != reader->log->epoch ? "other-gateway"
           : reader->filter.sweep_ms > 0        ? "time-alone"
                                                : NULL;
}

void follow_reader_place(struct follow_reader *reader, const struct follow_token *token) {
    struct change_log *log = reader->log;
    pthread_mutex_lock(log->lock);
    const char *reason = token != NULL ? objection_to(reader, token) : NULL;
    if (reason != NULL || token == NULL) {
        begin_again(reader, reason);
    } else if ((token->version > 0 && token->version < reader->born) ||
               !change_cursor_place(log, &reader->cursor, token->epoch, token->version)) {
        begin_again(reader, "token-too-old");
    } else if (token->version > 0) {
        reader->resumed_at = token->version;
        reader->walking = FOLLOW_REMEMBERS;
        walk_from_the_first(reader);
    }
    pthread_mutex_unlock(log->lock);
}

/* ---- walks ---- */

/* What has not changed since the token is in the client's list if it passes. Of what has changed,
 * or was removed, that is not known: its leaving is told. */
static enum parley_status remember(struct follow_reader *reader, const struct change *item) {
    bool passes = true;
    if (item->born > reader->resumed_at) {
        return PARLEY_OK;
    }
    if (item->version <= reader->resumed_at) {
        PARLEY_TRY(look_at(reader, item, &passes));
    } else if (reader->ops->may_pass != NULL) {
        passes = reader->ops->may_pass(reader->list, reader->filter.filter, item);
    }
    return set_shown(reader, item->slot, passes);
}

/* What changed after the cursor comes by itself. */
static enum parley_status sweep(struct follow_reader *reader, const struct change *item) {
    enum parley_status status = PARLEY_OK;
    if (item->version <= reader->cursor.version) {
        reader->swept_to = reader->cursor.version;
        status = show(reader, item);
        reader->swept_to = 0;
    }
    return status;
}

static enum parley_status walk_on(struct follow_reader *reader) {
    const struct change *item;
    const struct change_gone *gone;
    switch (change_cursor_take(reader->log, &reader->walk, &item, &gone)) {
    case CHANGE_ITEM:
        return reader->walking == FOLLOW_SWEEPS ? sweep(reader, item) : remember(reader, item);
    case CHANGE_GONE:
        return PARLEY_OK;
    case CHANGE_NONE:
        reader->began_at = reader->log->version;
        stop_walking(reader);
        return PARLEY_OK;
    case CHANGE_LOST:
        begin_again(reader, "behind");
        return PARLEY_OK;
    }
    return PARLEY_OK;
}

/* ---- what comes next ---- */

/* Nothing has changed. */
static enum follow_found rest(struct follow_reader *reader) {
    if (!reader->is_current) {
        reader->is_current = true;
        write_event(reader, "parley.current", NULL, PARLEY_BYTES("{}"));
        return FOLLOW_MORE;
    }
    if (reader->is_sweep_due) {
        reader->is_sweep_due = false;
        reader->walking = FOLLOW_SWEEPS;
        walk_from_the_first(reader);
    }
    return reader->walking == FOLLOW_WALKS_NOT ? FOLLOW_DRY : FOLLOW_MORE;
}

static enum follow_found take(struct follow_reader *reader, enum parley_status *status) {
    const struct change *item;
    const struct change_gone *gone;
    if (reader->walking == FOLLOW_REMEMBERS) {
        *status = walk_on(reader);
        return FOLLOW_MORE;
    }
    switch (change_cursor_take(reader->log, &reader->cursor, &item, &gone)) {
    case CHANGE_ITEM:
        *status = show(reader, item);
        return FOLLOW_MORE;
    case CHANGE_GONE:
        *status = show_gone(reader, gone);
        return FOLLOW_MORE;
    case CHANGE_LOST:
        begin_again(reader, reader->cursor.epoch != reader->log->epoch ? "read-again" : "behind");
        return FOLLOW_MORE;
    case CHANGE_NONE:
        break;
    }
    if (rest(reader) == FOLLOW_DRY) {
        return FOLLOW_DRY;
    }
    *status = reader->walking == FOLLOW_SWEEPS ? walk_on(reader) : PARLEY_OK;
    return FOLLOW_MORE;
}

static enum follow_found take_slice(struct follow_reader *reader) {
    enum follow_found found = FOLLOW_MORE;
    enum parley_status status = PARLEY_OK;
    pthread_mutex_lock(reader->log->lock);
    if (!reader->ops->is_whole(reader->list)) {
        found = FOLLOW_DRY;
    } else if (reader->ops->prepare != NULL) {
        reader->ops->prepare(reader->list, reader->filter.filter);
    }
    for (size_t i = 0; i < SLICE && found == FOLLOW_MORE && status == PARLEY_OK &&
                       reader->text.length < TEXT_BYTES;
         i++) {
        if (reader->reset_reason != NULL) {
            write_reason(reader, "parley.reset", reader->reset_reason);
            reader->reset_reason = NULL;
        }
        found = take(reader, &status);
    }
    pthread_mutex_unlock(reader->log->lock);
    if (status != PARLEY_OK) {
        reader->course = FOLLOW_BREAKS;
    }
    return found;
}

/* Memory that is not used until there is something is given back. */
static void release_text(struct follow_reader *reader) {
    parley_buffer_finish(&reader->text);
    parley_buffer_finish(&reader->item);
    parley_buffer_init(&reader->text);
    parley_buffer_init(&reader->item);
}

enum follow_found follow_reader_fill(struct follow_reader *reader) {
    enum follow_found found = FOLLOW_MORE;
    if (reader->is_open_due) {
        write_position(reader, "parley.open");
        reader->is_open_due = false;
    }
    if (reader->end_reason != NULL) {
        write_reason(reader, "parley.end", reader->end_reason);
        reader->course = FOLLOW_ENDS;
    }
    for (size_t i = 0; i < SLICES_MAX && reader->course == FOLLOW_GOES_ON && found == FOLLOW_MORE &&
                       reader->text.length == 0;
         i++) {
        found = take_slice(reader);
    }
    if (found == FOLLOW_DRY && reader->is_keepalive_due && reader->text.length == 0) {
        write_position(reader, "parley.keepalive");
    }
    if (reader->text.has_failed) {
        reader->course = FOLLOW_BREAKS;
    }
    if (reader->text.length > 0) {
        reader->is_keepalive_due = false;
    } else if (found == FOLLOW_DRY) {
        release_text(reader);
    }
    return found;
}

void follow_reader_finish(struct follow_reader *reader) {
    pthread_mutex_lock(reader->log->lock);
    change_cursor_leave(&reader->cursor);
    change_cursor_leave(&reader->walk);
    pthread_mutex_unlock(reader->log->lock);
    reader->filter.release(reader->filter.context);
    release_text(reader);
    free(reader->shown);
}
