/* SPDX-License-Identifier: Apache-2.0 */

/* Releases the halts of a conversation, of a sender, or all: overwrites their keys, some at a time,
 * and once all are stored publishes one message that says so. Should its client go away, it goes
 * on.
 *
 *   WAITING ── the halts are read ──▶ WRITING ── the last key is stored ──▶ TELLING ── the
 * message's ack ──▶ (answered) WAITING ── they are not read for two seconds ──▶ (503) WRITING ── a
 * key is not stored ──▶ (503: asked again, it releases the rest) */

#include "halts.h"

#include <stdio.h>
#include <stdlib.h>

#include "announcement.h"
#include "clock_and_ids.h"
#include "log.h"
#include "stream_halt.h"

enum { KEYS_MAX = 1024, AT_A_TIME = 32 };
/* The halts are not read for a moment, too, after keys that were written one soon after the other
 * (bucket_watch.h). */
enum { READ_WITHIN_MS = 2000, READ_AGAIN_MS = 20 };

struct key {
    char text[HALT_KEY_LENGTH + 1];
    char *value; /* as it was; then as it is */
    size_t length;
    struct parley_bytes id; /* of the message that had halted; in the arena */
};

struct release {
    struct gateway *gateway;
    const struct parley_protocol *protocol;
    struct http_request *request; /* NULL once it is gone */
    struct halts_query query;     /* borrowed from the request, until the keys are chosen */
    struct reactor_timer again;   /* while it waits for the halts to be read */
    int64_t read_by_ms;
    struct parley_arena arena;
    struct key *keys;
    size_t count, written_count, stored_count, awaited_reply_count;
    bool has_failed, has_more;
    const char *kind, *name; /* NULL: it is not of one conversation; here and below in the arena */
    const char *made_by;     /* NULL: it is not of one sender */
    const char *reason, *by;
    const char *principal; /* the name of the token; NULL: none, or it is `by` */
    char now[32], notice_id[37];
};

struct writing {
    struct release *release;
    struct key *key;
};

static void destroy(struct release *release) {
    for (size_t i = 0; i < release->count; i++) {
        free(release->keys[i].value);
    }
    free(release->keys);
    parley_arena_finish(&release->arena);
    free(release);
}

static void on_closed(void *state, bool is_complete) {
    struct release *release = state;
    (void)is_complete;
    release->request = NULL;
    reactor_timer_clear(release->gateway->reactor, &release->again);
    if (release->awaited_reply_count == 0) {
        destroy(release);
    }
}

static const struct http_handler handler = {.closed = on_closed};

/* ---- the answer ---- */

/* `ack` is NULL if no release was published. */
static void respond(struct release *release, const struct jetstream_ack *ack) {
    struct parley_buffer out;
    parley_buffer_init(&out);
    parley_buffer_format(&out, "{\"released\":%zu,\"notice\":", release->count);
    if (ack == NULL) {
        parley_buffer_text(&out, "null");
    } else {
        parley_buffer_format(&out, "{\"id\":\"%s\",\"stream\":", release->notice_id);
        parley_buffer_json(&out, parley_bytes_of(ack->stream));
        parley_buffer_text(&out, ",\"seq\":");
        parley_buffer_uint(&out, ack->sequence);
        parley_buffer_char(&out, '}');
    }
    parley_buffer_text(&out, release->has_more ? ",\"more\":true}\n" : "}\n");
    if (out.has_failed) {
        problem_respond(release->request, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        http_respond(release->request, 200, "application/json", parley_buffer_bytes(&out));
    }
    parley_buffer_finish(&out);
}

/* ---- the message that says so ---- */

static void on_told(void *context, const struct jetstream_ack *ack) {
    struct release *release = context;
    release->awaited_reply_count--;
    if (release->request == NULL) {
        destroy(release);
        return;
    }
    respond(release, ack->outcome == JETSTREAM_STORED ? ack : NULL);
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const struct key *)a)->text, ((const struct key *)b)->text);
}

/* One release is told once, whichever gateway was asked. */
static void write_message_id(struct release *release, char out[64]) {
    struct parley_buffer all;
    char digest[HALT_DIGEST_LENGTH + 1];
    parley_buffer_init(&all);
    qsort(release->keys, release->count, sizeof *release->keys, by_text);
    for (size_t i = 0; i < release->count; i++) {
        parley_buffer_text(&all, release->keys[i].text);
    }
    halt_digest_conversation("release", parley_buffer_bytes(&all), digest);
    snprintf(out, 64, "release:%s", digest);
    parley_buffer_finish(&all);
}

static bool publish(struct release *release, struct parley_bytes text) {
    char message_id[64];
    write_message_id(release, message_id);
    const char *kind = release->kind != NULL ? release->kind : STREAM_RELEASED_ALL;
    const struct announcement announcement = {.protocol = release->protocol,
                                              .text = text,
                                              .message_id = message_id,
                                              .header = {STREAM_RELEASED_HEADER, kind}};
    return announcement_publish(release->gateway, &announcement, on_told, release) ==
           JETSTREAM_PUBLISHED;
}

static void tell(struct release *release) {
    struct parley_bytes *ids = calloc(release->count, sizeof *ids);
    struct parley_buffer text;
    size_t id_count = 0;
    parley_buffer_init(&text);
    for (size_t i = 0; ids != NULL && i < release->count; i++) {
        if (release->keys[i].id.data != NULL) {
            ids[id_count++] = release->keys[i].id;
        }
    }
    id_new(release->notice_id);
    const struct parley_release says = {.kind = release->kind,
                                        .name = parley_bytes_of(release->name),
                                        .reason = parley_bytes_of(release->reason),
                                        .ids = ids,
                                        .id_count = id_count,
                                        .id = release->notice_id,
                                        .now = release->now};
    release->protocol->halts->write_release(&says, &text);
    const bool is_published = !text.has_failed && publish(release, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    free(ids);
    if (is_published) {
        release->awaited_reply_count++;
    } else if (release->request != NULL) {
        respond(release, NULL);
    } else {
        destroy(release);
    }
}

/* ---- keys ---- */

static void log_released(const struct release *release) {
    log_event(LOG_HALT_RELEASED,
              LOG_FIELDS(LOG_TEXT("protocol", release->protocol->name),
                         LOG_TEXT("kind", release->kind), LOG_TEXT("name", release->name),
                         LOG_TEXT("made_by", release->made_by), LOG_NUMBER("count", release->count),
                         LOG_TEXT("by", release->by), LOG_TEXT("principal", release->principal),
                         LOG_TEXT("reason", release->reason)));
}

static void write_keys(struct release *release);

static void finish_writing(struct release *release) {
    if (!release->has_failed) {
        log_released(release);
        tell(release);
    } else if (release->request == NULL) {
        destroy(release);
    } else {
        problem_respond_format(release->request, PROBLEM_BUS_UNAVAILABLE,
                               "NATS has stored %zu of %zu releases; the others still halt. Send "
                               "the request again; it "
                               "releases the rest.",
                               release->stored_count, release->count);
    }
}

static void on_written(void *context, const struct jetstream_ack *ack) {
    struct writing *writing = context;
    struct release *release = writing->release;
    struct key *key = writing->key;
    free(writing);
    release->awaited_reply_count--;
    if (ack->outcome == JETSTREAM_STORED) {
        release->stored_count++;
        halt_set_read(halt_gate_set(gateway_halt_gate(release->gateway, release->protocol)),
                      parley_bytes_of(key->text), (struct parley_bytes){key->value, key->length},
                      ack->sequence, clock_now_seconds());
    } else {
        release->has_failed = true;
    }
    write_keys(release);
}

static bool write_key(struct release *release, struct key *key) {
    struct writing *writing = malloc(sizeof *writing);
    if (writing == NULL) {
        return false;
    }
    *writing = (struct writing){release, key};
    const bool is_written =
        halt_gate_overwrite(gateway_halt_gate(release->gateway, release->protocol), key->text,
                            (struct parley_bytes){key->value, key->length}, on_written,
                            writing) == JETSTREAM_PUBLISHED;
    if (!is_written) {
        free(writing);
    }
    return is_written;
}

static void write_keys(struct release *release) {
    while (!release->has_failed && release->written_count < release->count &&
           release->awaited_reply_count < AT_A_TIME) {
        release->has_failed = !write_key(release, &release->keys[release->written_count]);
        if (!release->has_failed) {
            release->written_count++;
            release->awaited_reply_count++;
        }
    }
    if (release->awaited_reply_count == 0) {
        finish_writing(release);
    }
}

/* ---- its beginning ---- */

static bool add_key(void *context, const char *text, struct parley_bytes value) {
    struct release *release = context;
    release->has_more = release->count == KEYS_MAX;
    if (release->has_more) {
        return false;
    }
    struct key *key = &release->keys[release->count++];
    memcpy(key->text, text, HALT_KEY_LENGTH + 1);
    key->value = parley_bytes_copy(value);
    key->length = key->value != NULL ? value.length : 0;
    return true;
}

/* Writes the value again, with the name of the person who released it. */
static enum parley_status rewrite(struct release *release, struct key *key) {
    struct halt_value says = {0};
    struct parley_buffer out;
    const char *old = parley_arena_copy(
        &release->arena, (struct parley_bytes){key->value != NULL ? key->value : "", key->length});
    if (old == NULL) {
        return PARLEY_E_MEMORY;
    }
    PARLEY_TRY(halt_value_read(parley_bytes_of(old), &release->arena, &says));
    key->id = says.id;
    if (release->kind != NULL) {
        says.kind = parley_bytes_of(release->kind);
        says.name = parley_bytes_of(release->name);
    } else if (says.kind.data == NULL) { /* it cannot be read */
        says.kind = PARLEY_BYTES("unknown");
    }
    says.released_by = parley_bytes_of(release->by);
    says.released_principal = parley_bytes_of(release->principal);
    says.reason = parley_bytes_of(release->reason);
    says.released_at = parley_bytes_of(release->now);
    parley_buffer_init(&out);
    halt_value_write(&says, &out);
    free(key->value);
    key->value = out.has_failed ? NULL : parley_bytes_copy(parley_buffer_bytes(&out));
    key->length = out.length;
    parley_buffer_finish(&out);
    return key->value != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* Returns: whether there was memory for it. */
static bool keep(struct release *release, const char *text, const char **out) {
    *out = text != NULL ? parley_arena_copy(&release->arena, parley_bytes_of(text)) : NULL;
    return text == NULL || *out != NULL;
}

static enum parley_status collect(struct release *release, const struct halts_query *query) {
    const char *token = guard_principal(release->request)->name;
    const char *by = query->released_by != NULL ? query->released_by : token;
    release->keys = calloc(KEYS_MAX, sizeof *release->keys);
    if (release->keys == NULL || !keep(release, query->kind, &release->kind) ||
        !keep(release, query->name, &release->name) ||
        !keep(release, query->by, &release->made_by) ||
        !keep(release, query->reason, &release->reason) ||
        !keep(release, by[0] != '\0' ? by : "anybody", &release->by) ||
        !keep(release, token[0] != '\0' && by != token ? token : NULL, &release->principal)) {
        return PARLEY_E_MEMORY;
    }
    clock_now_text(release->now);
    halts_query_each(query, halt_gate_set(gateway_halt_gate(release->gateway, release->protocol)),
                     add_key, release);
    for (size_t i = 0; i < release->count; i++) {
        PARLEY_TRY(rewrite(release, &release->keys[i]));
    }
    return PARLEY_OK;
}

static void begin(struct release *release) {
    if (collect(release, &release->query) != PARLEY_OK) {
        problem_respond(release->request, PROBLEM_INTERNAL, "Out of memory.");
    } else if (release->count == 0) {
        respond(release, NULL);
    } else {
        write_keys(release);
    }
}

static void begin_when_read(struct release *release) {
    struct reactor *reactor = release->gateway->reactor;
    if (halt_set_is_seen(halt_gate_set(gateway_halt_gate(release->gateway, release->protocol)))) {
        begin(release);
    } else if (reactor_now_ms(reactor) < release->read_by_ms) {
        reactor_timer_set(reactor, &release->again, READ_AGAIN_MS);
    } else {
        problem_respond(release->request, PROBLEM_BUS_UNAVAILABLE,
                        "The halts cannot be read from NATS at present. Send it again later.");
    }
}

static void on_again(struct reactor_timer *timer) {
    begin_when_read(OWNER_OF(timer, struct release, again));
}

/* A token that is bound to a name releases in that name only.  Returns: false: it is refused. */
static bool names_itself(const struct gateway *gateway, struct http_request *request,
                         const struct halts_query *query) {
    const char *agent =
        principal_agent(guard_principal(request), gateway->configuration->bind_sender);
    const bool is_other =
        agent != NULL && query->released_by != NULL && strcmp(agent, query->released_by) != 0;
    if (is_other) {
        problem_respond_format(request, PROBLEM_FORBIDDEN,
                               "This token releases in the name of `%s` only: `released_by=` names "
                               "that, or is left out.",
                               agent);
    }
    return !is_other;
}

void halt_release_serve(struct gateway *gateway, struct http_request *request,
                        const struct parley_protocol *protocol) {
    struct halts_query query;
    if (gateway_halt_gate(gateway, protocol) == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND, "Nothing halts in %s.", protocol->name);
        return;
    }
    if (!halts_query_read(request, protocol, true, &query) ||
        !names_itself(gateway, request, &query)) {
        return;
    }
    struct release *release = calloc(1, sizeof *release);
    if (release == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *release = (struct release){.gateway = gateway,
                                .protocol = protocol,
                                .request = request,
                                .query = query,
                                .again = {.fire = on_again},
                                .read_by_ms = reactor_now_ms(gateway->reactor) + READ_WITHIN_MS};
    parley_arena_init(&release->arena, 0);
    http_request_serve(request, &handler, release);
    http_commit(request);
    begin_when_read(release);
}
