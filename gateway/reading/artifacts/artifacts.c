/* SPDX-License-Identifier: Apache-2.0 */

/* GET …/threads/{thread}/artifact, and …/artifact/compiled. The messages of the thread come in
 * batches; the worker pool checks and folds each, and writes the answer, so that no thread, however
 * long, keeps the reactor from other requests. For a difference both documents are folded at once.
 */

#include "artifacts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <parley/artifact.h>
#include <parley/message.h>

#include "agent_reader.h"
#include "channel.h"
#include "checkpoint_task.h"
#include "negotiate.h"
#include "phase.h"
#include "problem.h"
#include "query_options.h"
#include "text.h"
#include "artifact_options.h"
#include "thread_reader.h"

enum {
    READINGS_MAX = 8,             /* of a worker at a time */
    PATIENCE_MS = 10000,          /* a request that NATS ends in silence takes some of them */
    DOCUMENT_BYTES_MAX = 8 << 20, /* of a document, about, while it is folded */
    THREAD_SIZE = 129,            /* a thread's name, with its NUL */
    SUBJECT_SIZE = 256,
};

/*   READING ── a batch ──▶ FOLDING ── there are more ──▶ READING
 *   FOLDING ── it was the last, and the answer is written ──▶ OVER
 *   READING, FOLDING ── it failed, or its client is gone ──▶ OVER
 */
enum phase { PHASE_READING, PHASE_FOLDING, PHASE_OVER };

/* A document, and how far it goes. */
struct document {
    struct parley_artifact *artifact;
    struct parley_artifact_extent extent;
};

struct reading {
    struct artifacts *artifacts;
    struct http_request *request; /* NULL once it is gone */
    const struct parley_protocol *protocol;
    const struct channel *channel;
    char thread[THREAD_SIZE], subject[SUBJECT_SIZE], stream[JETSTREAM_STREAM_MAX];
    uint64_t at, diff; /* 0: not asked for */
    enum parley_artifact_form form;
    enum phase phase;
    struct thread_reader reader;
    enum thread_end end; /* of the batch */
    struct reactor_timer patience;
    struct request_slot slot;
    struct checkpoint_task task;
    enum parley_status result; /* of the task */
    struct parley_message message;
    struct document after, before; /* `before` only for `diff` */
    struct parley_buffer out;
    struct budget_share share;
    size_t folded_bytes;
};

static const struct parley_artifact_kind *kind_of(const struct reading *reading) {
    return reading->protocol->artifact;
}

static void enter(struct reading *reading, enum phase phase) {
    static const unsigned allowed[] = {
        [PHASE_READING] = PHASE(PHASE_FOLDING) | PHASE(PHASE_OVER),
        [PHASE_FOLDING] = PHASE(PHASE_READING) | PHASE(PHASE_OVER),
        [PHASE_OVER] = PHASE(PHASE_OVER),
    };
    reading->phase = (enum phase)phase_after(allowed, reading->phase, phase);
}

static void be_patient(struct reading *reading) {
    reactor_timer_set(reading->artifacts->checkpoints->reactor, &reading->patience, PATIENCE_MS);
}

/* ---- its end ---- */

static void stop(struct reading *reading) {
    enter(reading, PHASE_OVER);
    reactor_timer_clear(reading->artifacts->checkpoints->reactor, &reading->patience);
    thread_reader_close(&reading->reader);
}

static void destroy(struct reading *reading) {
    request_slot_leave(&reading->slot);
    thread_reader_finish(&reading->reader);
    kind_of(reading)->destroy(reading->after.artifact);
    kind_of(reading)->destroy(reading->before.artifact);
    parley_message_finish(&reading->message);
    parley_buffer_finish(&reading->out);
    budget_uncover(reading->artifacts->checkpoints->budget, &reading->share);
    free(reading);
}

static void refuse(struct reading *reading, enum problem problem, const char *detail) {
    stop(reading);
    problem_respond(reading->request, problem, detail);
}

static void refuse_away(struct reading *reading, const char *error) {
    const char *trouble = jetstream_trouble(reading->artifacts->checkpoints->jetstream);
    char detail[512];
    snprintf(detail, sizeof detail, "The thread cannot be read: %.300s. Ask again later.",
             trouble != NULL ? trouble : error);
    refuse(reading, PROBLEM_BUS_UNAVAILABLE, detail);
}

static void refuse_missing(struct reading *reading) {
    char detail[512];
    if (reading->at != 0) {
        snprintf(detail, sizeof detail,
                 "The stream %.100s has no message of the thread %s up to %" PRIu64 ".",
                 reading->stream, reading->thread, reading->at);
    } else {
        snprintf(detail, sizeof detail, "The stream %.100s has no message of the thread %s.",
                 reading->stream, reading->thread);
    }
    refuse(reading, PROBLEM_NOT_FOUND, detail);
}

/* ---- folding, on the worker pool ---- */

/* Folds a message into a document, and notes it.  Returns: PARLEY_E_LIMIT: it is full. */
static enum parley_status fold(struct reading *reading, struct document *document, bool is_ours,
                               const struct thread_message *message) {
    const struct parley_artifact_place place = {.sequence = message->sequence,
                                                .seconds = (double)message->time_ns / 1e9};
    document->extent.at = message->sequence;
    document->extent.read_count++;
    document->extent.unread_count += !is_ours;
    return is_ours ? kind_of(reading)->fold(document->artifact, &reading->message, &place)
                   : PARLEY_OK;
}

static enum parley_status fold_message(struct reading *reading,
                                       const struct thread_message *message) {
    const char *text = reading->reader.text.data;
    const struct parley_bytes payload = {text + message->payload, message->payload_length};
    bool is_ours = false;
    PARLEY_TRY(agent_message_check(&reading->message, reading->channel, text + message->subject,
                                   payload, false, &is_ours));
    enum parley_status status = PARLEY_OK;
    if (reading->diff != 0 && message->sequence <= reading->diff) {
        status = fold(reading, &reading->before, is_ours, message);
    }
    if (status == PARLEY_OK) {
        status = fold(reading, &reading->after, is_ours, message);
    }
    parley_message_reset(&reading->message);
    return status;
}

static enum parley_status write_answer(struct reading *reading) {
    const struct parley_artifact_kind *kind = kind_of(reading);
    const struct document *after = &reading->after, *before = &reading->before;
    PARLEY_TRY(reading->diff != 0
                   ? kind->write_difference(before->artifact, &before->extent, after->artifact,
                                            &after->extent, reading->form, &reading->out)
                   : kind->write(after->artifact, &after->extent, reading->form, &reading->out));
    if (reading->form == PARLEY_ARTIFACT_JSON) {
        parley_buffer_char(&reading->out, '\n');
    }
    return parley_buffer_status(&reading->out);
}

/* Folds a batch and, if nothing comes after it, writes the answer: one task, since none may be run
 * when the process ends. */
static void fold_batch(struct checkpoint_task *task) {
    struct reading *reading = OWNER_OF(task, struct reading, task);
    enum parley_status status = PARLEY_OK;
    for (size_t i = 0; i < reading->reader.count && status == PARLEY_OK; i++) {
        status = fold_message(reading, &reading->reader.messages[i]);
    }
    if (status == PARLEY_E_LIMIT) {
        reading->end = THREAD_IS_CUT;
        status = PARLEY_OK;
    }
    if (status == PARLEY_OK && reading->end != THREAD_GOES_ON) {
        reading->after.extent.is_cut = reading->end == THREAD_IS_CUT;
        status = write_answer(reading);
    }
    reading->result = status;
}

/* Whether it continues after its task; else it has ended, and is freed if its request is gone. */
static bool goes_on(struct reading *reading) {
    if (reading->request == NULL) {
        destroy(reading);
        return false;
    }
    if (reading->phase != PHASE_OVER && reading->result != PARLEY_OK) {
        refuse(reading, PROBLEM_INTERNAL, parley_status_text(reading->result));
    }
    return reading->phase != PHASE_OVER;
}

/* ---- the answer ---- */

static void answer(struct reading *reading) {
    stop(reading);
    if (reading->form == PARLEY_ARTIFACT_JSON) {
        struct parley_buffer out = reading->out;
        parley_buffer_init(&reading->out);
        problem_or_json(reading->request, &out);
        return;
    }
    http_header(reading->request, "Cache-Control", "no-store");
    http_compress(reading->request);
    http_respond(reading->request, 200, "text/markdown; charset=utf-8",
                 parley_buffer_bytes(&reading->out));
}

/* What it holds at most: the documents are never larger than the deltas in them, about. */
static bool has_room(struct reading *reading) {
    const size_t folded =
        reading->folded_bytes < DOCUMENT_BYTES_MAX ? reading->folded_bytes : DOCUMENT_BYTES_MAX;
    const size_t documents = reading->diff != 0 ? 2 : 1;
    return budget_cover(reading->artifacts->checkpoints->budget, &reading->share,
                        reading->reader.text.length + (documents + 1) * folded);
}

static void on_folded(struct checkpoint_task *task) {
    struct reading *reading = OWNER_OF(task, struct reading, task);
    if (!goes_on(reading)) {
        return;
    }
    if (reading->end != THREAD_GOES_ON) {
        answer(reading);
        return;
    }
    enter(reading, PHASE_READING);
    be_patient(reading);
    thread_reader_go_on(&reading->reader);
}

/* ---- the thread ---- */

static void on_batch(void *context, enum thread_end end) {
    struct reading *reading = context;
    reading->end = end;
    reading->folded_bytes += reading->reader.text.length;
    if (!has_room(reading)) {
        refuse(reading, PROBLEM_OVERLOADED,
               "There is no room to fold the thread (--gather-max). Ask again later.");
        return;
    }
    enter(reading, PHASE_FOLDING);
    reactor_timer_clear(reading->artifacts->checkpoints->reactor, &reading->patience);
    reading->task = (struct checkpoint_task){.work = fold_batch, .done = on_folded};
    checkpoint_task_run(&reading->task, reading->artifacts->checkpoints);
}

static void on_failed(void *context, const char *error) {
    struct reading *reading = context;
    if (error != NULL) {
        refuse_away(reading, error);
    } else {
        refuse_missing(reading);
    }
}

static void on_patience(struct reactor_timer *timer) {
    refuse_away(OWNER_OF(timer, struct reading, patience), "NATS did not send it in time");
}

/* ---- requests ---- */

static void request_closed(void *state, bool is_complete) {
    struct reading *reading = state;
    (void)is_complete;
    stop(reading);
    reading->request = NULL;
    if (!reading->task.is_busy) {
        destroy(reading);
    }
}

/* Tokens of a subject, with dots between them. */
static bool is_thread(const char *thread) {
    bool is_sound = strlen(thread) < THREAD_SIZE;
    for (const char *at = thread; is_sound; at++) {
        const size_t length = strcspn(at, ".");
        is_sound = text_is_token((struct parley_bytes){at, length});
        at += length;
        if (*at == '\0') {
            break;
        }
    }
    return is_sound;
}

static bool find_stream(struct reading *reading, struct http_request *request) {
    const struct jetstream *jetstream = reading->artifacts->checkpoints->jetstream;
    const struct jetstream_place *found =
        jetstream_can_read(jetstream) ? jetstream_place_find(jetstream, reading->subject) : NULL;
    const char *trouble = jetstream_trouble(jetstream);
    if (found == NULL) {
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE, "%s.",
                               trouble != NULL ? trouble : "NATS cannot be read now");
        return false;
    }
    if (!jetstream_place_takes_consumers(found)) {
        problem_respond_format(request, PROBLEM_BUS_UNAVAILABLE,
                               "The thread lies in the stream %s, which keeps messages only until "
                               "they are read.",
                               found->stream);
        return false;
    }
    snprintf(reading->stream, sizeof reading->stream, "%s", found->stream);
    return true;
}

static enum parley_status create_documents(struct reading *reading) {
    const struct parley_bytes thread = parley_bytes_of(reading->thread);
    PARLEY_TRY(kind_of(reading)->create(thread, DOCUMENT_BYTES_MAX, &reading->after.artifact));
    return reading->diff != 0
               ? kind_of(reading)->create(thread, DOCUMENT_BYTES_MAX, &reading->before.artifact)
               : PARLEY_OK;
}

static void begin(struct reading *reading) {
    static const struct http_handler handler = {.closed = request_closed};
    struct checkpoints *checkpoints = reading->artifacts->checkpoints;
    request_slot_take(&reading->artifacts->slots, &reading->slot);
    parley_message_init(
        &reading->message,
        checkpoints->schemas[reading->channel - checkpoints->configuration->channels]);
    parley_buffer_init(&reading->out);
    http_request_serve(reading->request, &handler, reading);
    be_patient(reading);
    reading->reader = (struct thread_reader){.jetstream = checkpoints->jetstream,
                                             .stream = reading->stream,
                                             .subject = reading->subject,
                                             .at = reading->at,
                                             .batch = on_batch,
                                             .failed = on_failed,
                                             .context = reading};
    if (create_documents(reading) != PARLEY_OK) {
        refuse(reading, PROBLEM_INTERNAL, "Out of memory.");
    } else {
        thread_reader_open(&reading->reader);
    }
}

/* `asked`: what the request asks for; on the stack of the caller. */
static void serve(const struct reading *asked, struct http_request *request) {
    struct reading found = *asked;
    struct artifacts *artifacts = found.artifacts;
    const struct channel *channels = artifacts->checkpoints->configuration->channels;
    found.channel = channel_find(channels, found.protocol);
    snprintf(found.subject, sizeof found.subject, "%s.%s%s",
             found.channel->prefix != NULL ? found.channel->prefix : found.protocol->name,
             kind_of(&found)->subjects, found.thread);
    if (!request_slots_admit(&artifacts->slots, READINGS_MAX, artifacts->checkpoints->limits,
                             request, "artifacts", &found.slot) ||
        !find_stream(&found, request)) {
        return;
    }
    struct reading *reading = malloc(sizeof *reading);
    if (reading == NULL) {
        problem_respond(request, PROBLEM_INTERNAL, "Out of memory.");
        return;
    }
    *reading = found;
    reading->request = request;
    reading->patience.fire = on_patience;
    begin(reading);
}

static bool is_served(struct http_request *request, const struct parley_protocol *protocol,
                      const char *thread) {
    if (protocol->artifact == NULL) {
        problem_respond_format(request, PROBLEM_NOT_FOUND,
                               "The messages of a thread of %s make no document.", protocol->title);
        return false;
    }
    if (!is_thread(thread)) {
        problem_respond(request, PROBLEM_NOT_FOUND, "No thread has such a name.");
        return false;
    }
    return true;
}

enum { OPTION_AT }; /* a row of both tables; the other one is `diff` */

static bool set_option(void *context, size_t number, const char *value) {
    struct reading *asked = context;
    const size_t length = strlen(value);
    const bool is_number = length > 0 && length <= 18 && strspn(value, "0123456789") == length;
    const uint64_t sequence = is_number ? strtoull(value, NULL, 10) : 0;
    *(number == OPTION_AT ? &asked->at : &asked->diff) = sequence;
    return sequence > 0;
}

void artifacts_serve(struct artifacts *artifacts, struct http_request *request,
                     const struct parley_protocol *protocol, const char *thread) {
    static const char *const offers[] = {"application/json", "text/markdown", NULL};
    struct reading asked = {.artifacts = artifacts, .protocol = protocol};
    if (!is_served(request, protocol, thread) ||
        !query_options_read(request, artifact_options, set_option, &asked)) {
        return;
    }
    snprintf(asked.thread, sizeof asked.thread, "%s", thread);
    const int chosen = negotiate(http_request_header(request, "Accept"), offers);
    if (asked.diff != 0 && asked.at != 0 && asked.diff > asked.at) {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                               "`diff` is %" PRIu64 ", which is after `at`, %" PRIu64 ".",
                               asked.diff, asked.at);
    } else if (chosen < 0) {
        problem_respond(request, PROBLEM_NOT_ACCEPTABLE,
                        "The answer is application/json or text/markdown: accept one of them, or "
                        "omit the Accept header.");
    } else {
        asked.form = chosen == 0 ? PARLEY_ARTIFACT_JSON : PARLEY_ARTIFACT_MARKDOWN;
        serve(&asked, request);
    }
}

void artifacts_serve_compiled(struct artifacts *artifacts, struct http_request *request,
                              const struct parley_protocol *protocol, const char *thread) {
    static const char *const offers[] = {"text/markdown", NULL};
    struct reading asked = {
        .artifacts = artifacts, .protocol = protocol, .form = PARLEY_ARTIFACT_COMPILED};
    if (!is_served(request, protocol, thread) ||
        !query_options_read(request, compiled_options, set_option, &asked)) {
        return;
    }
    snprintf(asked.thread, sizeof asked.thread, "%s", thread);
    if (negotiate(http_request_header(request, "Accept"), offers) < 0) {
        problem_respond(request, PROBLEM_NOT_ACCEPTABLE,
                        "The answer is text/markdown: accept it, or omit the Accept header.");
    } else {
        serve(&asked, request);
    }
}
