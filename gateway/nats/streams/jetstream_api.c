/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_request.h and jetstream_api.h. Each request has its own mailbox and deadline.
 * Requests are few (checking streams, opening consumers, looking up single messages), so speed
 * does not matter. Those about streams and consumers are built and read with jansson, which ends
 * the process when memory runs out; those about single messages, which messages provoke, are not.
 * Nothing is sent twice: that is the caller's decision. Only that there is no such message is asked
 * again where the stream has several copies, since its new leader may not have it so far:
 *
 *   NONE ── no such message ──▶ MEASURING ── it has what is known ──▶ AGAIN ── any answer ──▶ over
 *   MEASURING ── it has not, or does not answer ──▶ PAUSING ──▶ MEASURING, for DOUBT_MAX_MS
 */

#include "jetstream_api.h"

#include "jetstream_reach.h"
#include "jetstream_request.h"
#include "stored_message.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <parley/buffer.h>

enum { DOUBT_PAUSE_MS = 100, DOUBT_MAX_MS = 2000 };

enum doubt { DOUBT_NONE, DOUBT_MEASURING, DOUBT_PAUSING, DOUBT_AGAIN };

struct jetstream_request {
    struct jetstream *jetstream;
    struct bus_mailbox mailbox;
    struct reactor_timer deadline;
    jetstream_answer_fn *done;
    jetstream_info_fn *info;        /* instead, for jetstream_stream_ask */
    jetstream_done_fn *was_done;    /* instead, for jetstream_purge_ask */
    jetstream_last_fn *last;        /* instead, for jetstream_last_ask */
    jetstream_held_fn *held;        /* instead, for jetstream_held_ask */
    struct jetstream_check *direct; /* the stream that a direct request is for; NULL for other
                                       requests */
    char *direct_subject;           /* that it asks for; NULL if it never was direct, or is for a
                                       sequence */
    char *question; /* its body, to ask it again; NULL if the first answer is final */
    char stream[JETSTREAM_STREAM_MAX]; /* that the question, or a direct request, is about; else ""
                                        */
    uint64_t sequence;                 /* that it is for; 0: for a subject */
    enum doubt doubt;
    int64_t doubt_until_ms;
    const char *reason; /* why it ends without an answer; NULL: none came */
    void *context;
    struct jetstream_request *next, **link; /* *link == this */
};

/* ---- answers ---- */

int jetstream_answer_error(const json_t *answer) {
    const json_t *error = json_object_get(answer, "error");
    if (error == NULL) {
        return 0;
    }
    json_int_t code = json_integer_value(json_object_get(error, "err_code"));
    if (code == 0) {
        code = json_integer_value(json_object_get(error, "code"));
    }
    return code > 0 && code < 100000 ? (int)code : -1;
}

const char *jetstream_answer_text(const json_t *answer) {
    const json_t *error = json_object_get(answer, "error");
    const char *text = json_string_value(json_object_get(error, "description"));
    return text != NULL ? text : "JetStream gave no reason";
}

uint64_t jetstream_answer_number(const json_t *answer, const char *object, const char *name) {
    json_int_t number = json_integer_value(json_object_get(json_object_get(answer, object), name));
    return number > 0 ? (uint64_t)number : 0;
}

static const char *read_fraction(const char *at, int64_t *nanoseconds) {
    *nanoseconds = 0;
    int64_t unit = 100000000;
    for (; isdigit((unsigned char)*at); at++, unit /= 10) {
        *nanoseconds += (*at - '0') * unit;
    }
    return at;
}

int64_t jetstream_time_ns(const char *text) {
    struct tm parts = {0};
    int64_t nanoseconds = 0;
    int hours = 0, minutes = 0;
    const char *at = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (at == NULL || parts.tm_year < 70) {
        return 0;
    }
    if (*at == '.') {
        at = read_fraction(at + 1, &nanoseconds);
    }
    if (*at != 'Z' && sscanf(at, "%3d:%2d", &hours, &minutes) != 2) {
        return 0;
    }
    int64_t offset = (int64_t)hours * 3600 + (*at == '-' ? -60 : 60) * (int64_t)minutes;
    return ((int64_t)timegm(&parts) - offset) * 1000000000 + nanoseconds;
}

/* A server that is alone may leave the cluster out. */
static bool is_of_leader(const json_t *answer) {
    const json_t *cluster = json_object_get(answer, "cluster");
    const char *leader = json_string_value(json_object_get(cluster, "leader"));
    return cluster == NULL || (leader != NULL && leader[0] != '\0');
}

static void read_info(const json_t *answer, struct jetstream_stream_info *out) {
    const json_t *state = json_object_get(answer, "state");
    const char *created = json_string_value(json_object_get(answer, "created"));
    if (state == NULL || created == NULL) {
        return;
    }
    out->is_known = true;
    snprintf(out->created, sizeof out->created, "%s", created);
    out->last_sequence = jetstream_answer_number(answer, "state", "last_seq");
    out->message_count = jetstream_answer_number(answer, "state", "messages");
    out->is_replicated = jetstream_answer_number(answer, "config", "num_replicas") > 1;
    out->is_led = is_of_leader(answer);
    /* At most one, since no wildcard was asked for. */
    out->subject_message_count = (uint64_t)json_integer_value(
        json_object_iter_value(json_object_iter(json_object_get(state, "subjects"))));
    out->max_age_ns = (int64_t)jetstream_answer_number(answer, "config", "max_age");
    if (out->message_count == 0) {
        out->first_sequence = out->last_sequence + 1;
        return;
    }
    out->first_sequence = jetstream_answer_number(answer, "state", "first_seq");
    out->first_time_ns = jetstream_time_ns(json_string_value(json_object_get(state, "first_ts")));
}

static void report_last(struct jetstream *jetstream, struct stored_message *answer,
                        jetstream_last_fn *last, void *context) {
    struct jetstream_last read;
    stored_message_last(answer, &read);
    if (read.found == JETSTREAM_LAST_NO_STREAM) {
        jetstream_recheck(jetstream);
    }
    last(context, &read);
}

/* `stream`: whose it is, if that may have several copies; otherwise "". */
static void report_held(struct jetstream *jetstream, const char *stream,
                        struct stored_message *answer, jetstream_held_fn *held, void *context) {
    struct jetstream_held read;
    stored_message_held(answer, &read);
    if (answer->error == JETSTREAM_E_NO_STREAM) {
        jetstream_recheck(jetstream);
    }
    if (read.found == JETSTREAM_HELD_FOUND) {
        jetstream_reach_note(jetstream, stream, read.sequence);
    }
    held(context, &read);
}

/* ---- requests ---- */

static void free_request(struct jetstream_request *request) {
    *request->link = request->next;
    if (request->next != NULL) {
        request->next->link = request->link;
    }
    reactor_timer_clear(request->jetstream->reactor, &request->deadline);
    bus_mailbox_close(request->jetstream->bus, request->mailbox);
    free(request->direct_subject);
    free(request->question);
    free(request);
}

static void measure(struct jetstream_request *request);

static bool is_to_be_doubted(const struct jetstream_request *request,
                             const struct stored_message *answer) {
    return answer->error == JETSTREAM_E_NO_MESSAGE && request->question != NULL &&
           request->doubt == DOUBT_NONE;
}

static void end_message_request(struct jetstream_request *request, struct parley_bytes text,
                                bool is_unanswerable) {
    jetstream_last_fn *last = request->last;
    jetstream_held_fn *held = request->held;
    struct jetstream *jetstream = request->jetstream;
    void *context = request->context;
    struct stored_message answer;
    stored_message_init(&answer, text, is_unanswerable);
    if (is_to_be_doubted(request, &answer)) {
        stored_message_finish(&answer);
        request->doubt_until_ms = reactor_now_ms(jetstream->reactor) + DOUBT_MAX_MS;
        measure(request);
        return;
    }
    if (text.data == NULL && request->reason != NULL) {
        answer.error = -1;
        answer.reason = request->reason;
    }
    char stream[JETSTREAM_STREAM_MAX];
    memcpy(stream, request->stream, sizeof stream);
    free_request(request);
    if (last != NULL) {
        report_last(jetstream, &answer, last, context);
    } else {
        report_held(jetstream, stream, &answer, held, context);
    }
    stored_message_finish(&answer);
}

static void end_json_request(struct jetstream_request *request, json_t *answer) {
    jetstream_answer_fn *done = request->done;
    jetstream_info_fn *info = request->info;
    jetstream_done_fn *was_done = request->was_done;
    void *context = request->context;
    free_request(request);
    if (was_done != NULL) {
        was_done(context, answer != NULL && jetstream_answer_error(answer) == 0);
        return;
    }
    if (info == NULL) {
        done(context, answer);
        return;
    }
    struct jetstream_stream_info read = {0};
    if (answer != NULL && jetstream_answer_error(answer) == 0) {
        read_info(answer, &read);
    }
    info(context, &read);
}

static bool is_for_message(const struct jetstream_request *request) {
    return request->last != NULL || request->held != NULL;
}

/* Ends a request that has no answer. */
static void end_request(struct jetstream_request *request) {
    if (is_for_message(request)) {
        end_message_request(request, (struct parley_bytes){0}, false);
    } else {
        end_json_request(request, NULL);
    }
}

static bool ask_leader_instead(struct jetstream_request *request);

static void pause_or_end(struct jetstream_request *request, const char *reason);

static void on_deadline(struct reactor_timer *timer) {
    struct jetstream_request *request = OWNER_OF(timer, struct jetstream_request, deadline);
    if (request->doubt == DOUBT_PAUSING) {
        measure(request);
    } else if (request->doubt == DOUBT_MEASURING) {
        pause_or_end(request, NULL);
    } else if (request->direct == NULL || !ask_leader_instead(request)) {
        end_request(request);
    }
}

static void on_direct_answer(struct jetstream_request *request, const struct bus_message *message);

static void on_measured(struct jetstream_request *request, struct parley_bytes text);

static void on_answer(void *context, const struct bus_message *message) {
    struct jetstream_request *request = context;
    if (request->direct != NULL) {
        on_direct_answer(request, message);
        return;
    }
    if (request->doubt == DOUBT_MEASURING) {
        on_measured(request, message->payload);
        return;
    }
    const bool is_unanswerable = bus_message_status(message) == JETSTREAM_NO_RESPONDERS;
    if (is_for_message(request)) {
        end_message_request(request, message->payload, is_unanswerable);
        return;
    }
    json_t *answer = is_unanswerable
                         ? json_pack("{s:{s:i, s:s}}", "error", "code", JETSTREAM_NO_RESPONDERS,
                                     "description", MESSAGE_ANSWER_NO_RESPONDERS)
                         : json_loadb(message->payload.data, message->payload.length, 0, NULL);
    end_json_request(request, json_is_object(answer) ? answer : NULL);
    json_decref(answer);
}

static bool send_request(struct jetstream *jetstream, const char *what, const char *reply,
                         const char *body) {
    char subject[JETSTREAM_SUBJECT_MAX];
    int length = snprintf(subject, sizeof subject, "$JS.API.%s", what);
    return length >= 0 && (size_t)length < sizeof subject &&
           bus_publish(jetstream->bus, subject, reply, parley_bytes_of(body)) == BUS_SENT;
}

/* Sends it with a mailbox of its own, which receives until its deadline. */
static bool post(struct jetstream_request *request, const char *what, const char *body) {
    struct jetstream *jetstream = request->jetstream;
    char reply[BUS_SUBJECT_MAX];
    if (bus_mailbox_open(jetstream->bus, on_answer, request, &request->mailbox) != PARLEY_OK) {
        return false;
    }
    bus_mailbox_address(jetstream->bus, request->mailbox, reply);
    reactor_timer_set(jetstream->reactor, &request->deadline, JETSTREAM_API_TIMEOUT_MS);
    return send_request(jetstream, what, reply, body);
}

/* `body` may be NULL.  Returns: as jetstream_request_send. */
static struct jetstream_request *send_text(struct jetstream *jetstream, const char *what,
                                           const char *body, void *context) {
    struct jetstream_request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        return NULL;
    }
    request->jetstream = jetstream;
    request->mailbox.slot = UINT32_MAX; /* none */
    request->deadline.fire = on_deadline;
    request->context = context;
    request->next = jetstream->requests;
    request->link = &jetstream->requests;
    if (request->next != NULL) {
        request->next->link = &request->next;
    }
    jetstream->requests = request;
    if (!post(request, what, body)) {
        free_request(request);
        return NULL;
    }
    return request;
}

struct jetstream_request *jetstream_request_send(struct jetstream *jetstream, const char *what,
                                                 json_t *body, jetstream_answer_fn *done,
                                                 void *context) {
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    struct jetstream_request *request =
        body == NULL || text != NULL ? send_text(jetstream, what, text, context) : NULL;
    if (request != NULL) {
        request->done = done;
    }
    free(text);
    json_decref(body);
    return request;
}

void jetstream_request_cancel(struct jetstream_request *request) {
    if (request != NULL) {
        free_request(request);
    }
}

void jetstream_requests_end(struct jetstream *jetstream, bool calls_back) {
    while (jetstream->requests != NULL) {
        if (calls_back) {
            end_request(jetstream->requests);
        } else {
            free_request(jetstream->requests);
        }
    }
}

void jetstream_request_forget(struct jetstream *jetstream, const char *what) {
    (void)send_request(jetstream, what, NULL, NULL);
}

static struct jetstream_request *ask_for_info(struct jetstream *jetstream, const char *stream,
                                              json_t *body, jetstream_info_fn *done,
                                              void *context) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "STREAM.INFO.%s", stream);
    struct jetstream_request *request =
        jetstream_request_send(jetstream, what, body, NULL, context);
    if (request != NULL) {
        request->info = done;
    }
    return request;
}

struct jetstream_request *jetstream_stream_ask(struct jetstream *jetstream, const char *stream,
                                               jetstream_info_fn *done, void *context) {
    return ask_for_info(jetstream, stream, NULL, done, context);
}

struct jetstream_request *jetstream_subject_ask(struct jetstream *jetstream, const char *stream,
                                                const char *subject, jetstream_info_fn *done,
                                                void *context) {
    return ask_for_info(jetstream, stream, json_pack("{s:s}", "subjects_filter", subject), done,
                        context);
}

struct jetstream_request *jetstream_purge_ask(struct jetstream *jetstream, const char *stream,
                                              const struct jetstream_removal *what,
                                              jetstream_done_fn *done, void *context) {
    char name[JETSTREAM_SUBJECT_MAX];
    snprintf(name, sizeof name, "STREAM.PURGE.%s", stream);
    assert(what->before != 1 && (what->keep == 0 || what->before == 0));
    json_t *body =
        json_pack("{s:s, s:I}", "filter", what->subject, what->before > 0 ? "seq" : "keep",
                  (json_int_t)(what->before > 0 ? what->before : what->keep));
    struct jetstream_request *request =
        jetstream_request_send(jetstream, name, body, NULL, context);
    if (request != NULL) {
        request->was_done = done;
    }
    return request;
}

static void ignore_answer(void *context, json_t *answer) {
    (void)context;
    (void)answer;
}

void jetstream_purge(struct jetstream *jetstream, const char *stream, const char *subject) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "STREAM.PURGE.%s", stream);
    (void)jetstream_request_send(jetstream, what, json_pack("{s:s}", "filter", subject),
                                 ignore_answer, NULL);
}

/* ---- a message that is said to be missing ---- */

static void post_again(struct jetstream_request *request, enum doubt doubt, const char *what,
                       const char *body) {
    char subject[JETSTREAM_SUBJECT_MAX];
    snprintf(subject, sizeof subject, "%s.%s", what, request->stream);
    bus_mailbox_close(request->jetstream->bus, request->mailbox);
    request->doubt = doubt;
    if (!post(request, subject, body)) {
        end_request(request);
    }
}

static void measure(struct jetstream_request *request) {
    post_again(request, DOUBT_MEASURING, "STREAM.INFO", NULL);
}

static bool is_late(const struct jetstream_request *request) {
    return reactor_now_ms(request->jetstream->reactor) >= request->doubt_until_ms;
}

static void pause_or_end(struct jetstream_request *request, const char *reason) {
    request->reason = reason;
    if (is_late(request)) {
        end_request(request);
        return;
    }
    bus_mailbox_close(request->jetstream->bus, request->mailbox);
    request->doubt = DOUBT_PAUSING;
    reactor_timer_set(request->jetstream->reactor, &request->deadline, DOUBT_PAUSE_MS);
}

/* Returns: false: it is not an answer about a stream. */
static bool read_last_sequence(struct parley_bytes text, uint64_t *out) {
    enum { STATE = ANSWER_ERROR_COUNT, LAST, COUNT };
    struct answer_member members[COUNT] = {ANSWER_ERROR_MEMBERS, [STATE] = {.name = "state"},
                                           [LAST] = {.object = "state", .name = "last_seq"}};
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    const bool is_read = api_fields_read(text, members, COUNT, &arena) == PARLEY_OK &&
                         members[STATE].value.kind == PARLEY_OBJECT;
    *out = answer_member_number(text, &members[LAST]);
    parley_arena_finish(&arena);
    return is_read;
}

/* A sequence may be one that was never stored: after a while it suffices that the leader has all
 * that is known. */
static void on_measured(struct jetstream_request *request, struct parley_bytes text) {
    uint64_t last, reached;
    if (!read_last_sequence(text, &last)) {
        pause_or_end(request, NULL);
        return;
    }
    (void)jetstream_reach_of(request->jetstream, request->stream, &reached);
    const uint64_t wanted = request->sequence > 0 ? request->sequence : reached;
    if (last >= wanted || (is_late(request) && last >= reached)) {
        jetstream_reach_note(request->jetstream, request->stream, last);
        post_again(request, DOUBT_AGAIN, "STREAM.MSG.GET", request->question);
    } else {
        pause_or_end(request, "the new leader of its stream has not caught up so far");
    }
}

/* Keeps the question, if its answer may have to be doubted. `sequence`: see jetstream_request.
 * Returns: the request; NULL where there is none, or no memory. */
static struct jetstream_request *with_doubt(struct jetstream_request *request, const char *stream,
                                            uint64_t sequence, const char *body) {
    uint64_t reached;
    if (request == NULL || !jetstream_reach_of(request->jetstream, stream, &reached)) {
        return request;
    }
    request->question = strdup(body);
    if (request->question == NULL) {
        free_request(request);
        return NULL;
    }
    request->sequence = sequence;
    snprintf(request->stream, sizeof request->stream, "%s", stream);
    return request;
}

/* ---- messages by their subject ---- */

/* `sequence` 0: the last message on the subject; else the first from there on. */
static void write_subject_request(const char *subject, uint64_t sequence,
                                  struct parley_buffer *out) {
    parley_buffer_init(out);
    if (sequence > 0) {
        parley_buffer_format(out, "{\"seq\":%" PRIu64 ",\"next_by_subj\":", sequence);
    } else {
        parley_buffer_text(out, "{\"last_by_subj\":");
    }
    parley_buffer_json(out, parley_bytes_of(subject));
    parley_buffer_append(out, (struct parley_bytes){"}", 2}); /* and a NUL */
}

static void write_sequence_request(uint64_t sequence, struct parley_buffer *out) {
    parley_buffer_init(out);
    parley_buffer_format(out, "{\"seq\":%" PRIu64 "}", sequence);
    parley_buffer_char(out, '\0');
}

/* No server answers direct requests: JetStream's API knows the reason. Late answers are dropped. By
 * now the check may be that of another stream. Returns: false if it cannot be asked. */
static bool ask_leader_instead(struct jetstream_request *request) {
    struct jetstream *jetstream = request->jetstream;
    char what[JETSTREAM_SUBJECT_MAX];
    struct parley_buffer body;
    snprintf(what, sizeof what, "STREAM.MSG.GET.%s", request->stream);
    request->direct->direct = JETSTREAM_DIRECT_DEAD;
    request->direct->direct_dead_ms = reactor_now_ms(jetstream->reactor);
    request->direct = NULL;
    bus_mailbox_close(jetstream->bus, request->mailbox);
    if (request->direct_subject != NULL) {
        write_subject_request(request->direct_subject, 0, &body);
    } else {
        write_sequence_request(request->sequence, &body);
    }
    const bool is_asked = !body.has_failed && post(request, what, body.data);
    parley_buffer_finish(&body);
    return is_asked;
}

static uint64_t direct_sequence(const struct bus_message *message) {
    const char *text = bus_message_header(message, "Nats-Sequence");
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static uint64_t direct_count(const struct bus_message *message) {
    const char *text = bus_message_header(message, JETSTREAM_COUNT_HEADER);
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* The message itself, or a status without a payload. */
static void on_direct_answer(struct jetstream_request *request, const struct bus_message *message) {
    enum { NOT_FOUND = 404 };
    const unsigned status = bus_message_status(message);
    struct jetstream_last read = {.found = JETSTREAM_LAST_NONE,
                                  .sequence = direct_sequence(message)};
    if (status != 0 && status != NOT_FOUND) {
        if (!ask_leader_instead(request)) {
            end_request(request);
        }
        return;
    }
    if (status == 0 && bus_message_header(message, "KV-Operation") == NULL) {
        read = (struct jetstream_last){
            .found = JETSTREAM_LAST_FOUND,
            .payload = message->payload,
            .sequence = direct_sequence(message),
            .count = direct_count(message),
            .time_ns = jetstream_time_ns(bus_message_header(message, "Nats-Time-Stamp"))};
    }
    jetstream_last_fn *last = request->last;
    void *context = request->context;
    free_request(request);
    last(context, &read);
}

/* Returns: NULL if messages of the stream are not read directly. */
static struct jetstream_check *find_direct(struct jetstream *jetstream, const char *stream) {
    const size_t count = jetstream_check_count(jetstream);
    for (size_t i = 0; i < count; i++) {
        struct jetstream_check *check = &jetstream->setup.checks[i];
        if (check->direct == JETSTREAM_DIRECT_ON && strcmp(check->place.stream, stream) == 0) {
            return check;
        }
    }
    return NULL;
}

static void become_direct(struct jetstream_request *request, struct jetstream_check *check) {
    request->direct = check;
    snprintf(request->stream, sizeof request->stream, "%s", check->place.stream);
    reactor_timer_set(check->jetstream->reactor, &request->deadline, JETSTREAM_DIRECT_TIMEOUT_MS);
}

static struct jetstream_request *ask_directly(struct jetstream_check *check, const char *subject,
                                              void *context) {
    char what[JETSTREAM_SUBJECT_MAX];
    char *copy = strdup(subject);
    snprintf(what, sizeof what, "DIRECT.GET.%s.%s", check->place.stream, subject);
    struct jetstream_request *request =
        copy != NULL ? send_text(check->jetstream, what, NULL, context) : NULL;
    if (request == NULL) {
        free(copy);
        return NULL;
    }
    request->direct_subject = copy;
    become_direct(request, check);
    return request;
}

/* `is_doubted`: that there is no such message is asked twice where it may be wrong. */
static struct jetstream_request *ask_leader(struct jetstream *jetstream, const char *stream,
                                            const char *subject, uint64_t sequence, bool is_doubted,
                                            void *context) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "STREAM.MSG.GET.%s", stream);
    struct parley_buffer body;
    write_subject_request(subject, sequence, &body);
    struct jetstream_request *request =
        body.has_failed ? NULL : send_text(jetstream, what, body.data, context);
    if (is_doubted) {
        request = with_doubt(request, stream, 0, body.data);
    }
    parley_buffer_finish(&body);
    return request;
}

struct jetstream_request *jetstream_last_ask(struct jetstream *jetstream, const char *stream,
                                             const char *subject, jetstream_last_fn *done,
                                             void *context) {
    struct jetstream_check *direct = find_direct(jetstream, stream);
    struct jetstream_request *request =
        direct != NULL ? ask_directly(direct, subject, context)
                       : ask_leader(jetstream, stream, subject, 0, false, context);
    if (request != NULL) {
        request->last = done;
    }
    return request;
}

struct jetstream_request *jetstream_last_held_ask(struct jetstream *jetstream, const char *stream,
                                                  const char *subject, jetstream_held_fn *done,
                                                  void *context) {
    struct jetstream_request *request = ask_leader(jetstream, stream, subject, 0, true, context);
    if (request != NULL) {
        request->held = done;
    }
    return request;
}

struct jetstream_request *jetstream_next_held_ask(struct jetstream *jetstream, const char *stream,
                                                  const char *subject, uint64_t sequence,
                                                  jetstream_held_fn *done, void *context) {
    struct jetstream_request *request =
        ask_leader(jetstream, stream, subject, sequence > 0 ? sequence : 1, true, context);
    if (request != NULL) {
        request->held = done;
    }
    return request;
}

/* `api`: STREAM.MSG or DIRECT. */
static struct jetstream_request *ask_for_sequence(struct jetstream *jetstream, const char *api,
                                                  const char *stream, uint64_t sequence,
                                                  void *context) {
    char what[JETSTREAM_SUBJECT_MAX];
    struct parley_buffer body;
    snprintf(what, sizeof what, "%s.GET.%s", api, stream);
    write_sequence_request(sequence, &body);
    struct jetstream_request *request =
        body.has_failed ? NULL
                        : with_doubt(send_text(jetstream, what, body.data, context), stream,
                                     sequence, body.data);
    parley_buffer_finish(&body);
    return request;
}

struct jetstream_request *jetstream_held_ask(struct jetstream *jetstream, const char *stream,
                                             uint64_t sequence, jetstream_held_fn *done,
                                             void *context) {
    struct jetstream_request *request =
        ask_for_sequence(jetstream, "STREAM.MSG", stream, sequence, context);
    if (request != NULL) {
        request->held = done;
    }
    return request;
}

struct jetstream_request *jetstream_message_ask(struct jetstream *jetstream, const char *stream,
                                                uint64_t sequence, jetstream_last_fn *done,
                                                void *context) {
    struct jetstream_check *direct = find_direct(jetstream, stream);
    struct jetstream_request *request = ask_for_sequence(
        jetstream, direct != NULL ? "DIRECT" : "STREAM.MSG", stream, sequence, context);
    if (request != NULL) {
        request->last = done;
    }
    if (request != NULL && direct != NULL) {
        request->sequence = sequence;
        become_direct(request, direct);
    }
    return request;
}
