/* SPDX-License-Identifier: Apache-2.0 */

/* Decides on a message by the facts of its task (docs/protocols/roundtable.md#lifecycle).
 * They are asked in the order end, claim, request: a task that is over stays over, whichever agent
 * held it; one that is claimed is the holder's, whatever its request says.
 *
 * A message that is already stored, which its sender published straight to NATS, is decided by the
 * same rows: one that would have been refused leaves no fact. */

#include "fact.h"

#include <strings.h>

#include "findings.h"
#include "roundtable.h"
#include "text.h"

struct deciding {
    struct parley_message *message;
    const struct parley_known_facts *known;
    struct roundtable_task task;
    struct parley_bytes id, from; /* of the task, in lower case; of the message */
    struct parley_decision *out;
};

/* ---- texts ---- */

/* Moves a text into the arena. */
static enum parley_status keep(struct deciding *deciding, struct parley_buffer *text,
                               struct parley_bytes *out) {
    enum parley_status status = parley_buffer_status(text);
    if (status == PARLEY_OK) {
        out->data = parley_arena_copy(&deciding->message->arena, parley_buffer_bytes(text));
        out->length = text->length;
        status = out->data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    }
    parley_buffer_finish(text);
    return status;
}

/* Writes "NAME" as JSON, or the word for an unknown one. */
static void write_or(struct parley_buffer *out, struct parley_bytes text, const char *otherwise) {
    if (text.data != NULL) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, otherwise);
    }
}

static void write_member(struct parley_buffer *out, const char *name, struct parley_bytes text) {
    parley_buffer_format(out, ",\"%s\":", name);
    write_or(out, text, "null");
}

static struct parley_bytes holder_of(const struct deciding *deciding) {
    return roundtable_fact_text(&deciding->task.claim, ROUNDTABLE_MEMBER_HOLDER);
}

static struct parley_bytes addressee_of(const struct deciding *deciding) {
    return roundtable_fact_text(&deciding->task.request, ROUNDTABLE_MEMBER_TO);
}

static struct parley_bytes state_of(const struct deciding *deciding) {
    return roundtable_task_state(&deciding->task, deciding->message->options.now_seconds);
}

static void say_held(const struct deciding *deciding, struct parley_buffer *out) {
    parley_buffer_text(out, "the task is held by ");
    write_or(out, holder_of(deciding), "an agent that is not known");
}

static void say_over(const struct deciding *deciding, struct parley_buffer *out) {
    const struct parley_bytes state = state_of(deciding);
    parley_buffer_text(out, "the task is over");
    if (state.data != NULL) {
        parley_buffer_text(out, ": it has ");
        parley_buffer_append(out, state);
    }
}

static void say_given(const struct deciding *deciding, struct parley_buffer *out) {
    parley_buffer_text(out, "the task was given to ");
    parley_buffer_json(out, addressee_of(deciding));
}

static void say_unknown(const struct deciding *deciding, struct parley_buffer *out) {
    (void)deciding;
    parley_buffer_text(out, "no task.request with this id is known");
}

/* ---- violations of the lifecycle ---- */

static void write_holder(const struct deciding *deciding, struct parley_buffer *out) {
    write_member(out, "holder", holder_of(deciding));
    write_member(out, "claimed_at",
                 roundtable_fact_text(&deciding->task.claim, ROUNDTABLE_MEMBER_AT));
}

static void write_state(const struct deciding *deciding, struct parley_buffer *out) {
    write_member(out, "state", state_of(deciding));
}

static void write_addressee(const struct deciding *deciding, struct parley_buffer *out) {
    write_member(out, "to", addressee_of(deciding));
}

/* A reason against a message: the warning that it gets, and the problem where it is refused. */
struct objection {
    enum roundtable_spanning_rule warning;
    enum roundtable_field field; /* where the warning is reported */
    const char *problem, *advice;
    void (*say)(const struct deciding *deciding, struct parley_buffer *out);
    void (*write_members)(const struct deciding *deciding, struct parley_buffer *out);
    enum roundtable_fact_place fact; /* whose message is the reason */
};

static const struct objection is_claimed = {
    .problem = "already-claimed",
    .advice = "The claim was not stored: take another task.",
    .say = say_held,
    .write_members = write_holder,
    .fact = ROUNDTABLE_FACT_CLAIM,
};
static const struct objection is_unknown = {
    .warning = ROUNDTABLE_RT_201,
    .field = ROUNDTABLE_CORRELATION_ID,
    .say = say_unknown,
};
static const struct objection is_held = {
    .warning = ROUNDTABLE_RT_202,
    .field = ROUNDTABLE_FROM,
    .problem = "not-holder",
    .advice = "The message was not stored: only the holder and the requester can report on the "
              "task.",
    .say = say_held,
    .write_members = write_holder,
    .fact = ROUNDTABLE_FACT_CLAIM,
};
static const struct objection is_over = {
    .warning = ROUNDTABLE_RT_203,
    .field = ROUNDTABLE_CORRELATION_ID,
    .problem = "task-over",
    .advice = "The message was not stored. To try the task again, request it with a new id and "
              "this one as its correlationId.",
    .say = say_over,
    .write_members = write_state,
    .fact = ROUNDTABLE_FACT_END,
};
static const struct objection is_given = {
    .problem = "not-addressee",
    .advice = "The claim was not stored: take another task.",
    .say = say_given,
    .write_members = write_addressee,
    .fact = ROUNDTABLE_FACT_REQUEST,
};

/* Names the message of a fact, if its place is known. */
static void name_place(struct parley_decision *out, const struct roundtable_fact *fact) {
    const uint64_t sequence = roundtable_fact_sequence(fact, ROUNDTABLE_MEMBER_SEQ);
    const struct parley_bytes stream = roundtable_fact_text(fact, ROUNDTABLE_MEMBER_STREAM);
    if (stream.data != NULL && sequence != 0) {
        out->stream = stream;
        out->sequence = sequence;
    }
}

static const struct roundtable_fact *fact_at(const struct deciding *deciding,
                                             enum roundtable_fact_place place) {
    const struct roundtable_task *task = &deciding->task;
    return place == ROUNDTABLE_FACT_END     ? &task->end
           : place == ROUNDTABLE_FACT_CLAIM ? &task->claim
                                            : &task->request;
}

static enum parley_status refuse(struct deciding *deciding, const struct objection *objection) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    out->kind = PARLEY_DECISION_REFUSED;
    out->problem = objection->problem;
    name_place(out, fact_at(deciding, objection->fact));
    parley_buffer_init(&text);
    objection->say(deciding, &text);
    if (text.length > 0) {
        text.data[0] = 'T'; /* a sentence: all of them begin with "the" */
    }
    parley_buffer_text(&text, ". ");
    parley_buffer_text(&text, objection->advice);
    PARLEY_TRY(keep(deciding, &text, &out->detail));
    parley_buffer_init(&text);
    objection->write_members(deciding, &text);
    return keep(deciding, &text, &out->members);
}

static enum parley_status warn(struct deciding *deciding, const struct objection *objection) {
    struct parley_message *message = deciding->message;
    struct parley_buffer text;
    struct parley_bytes said = {0};
    parley_buffer_init(&text);
    objection->say(deciding, &text);
    PARLEY_TRY(keep(deciding, &text, &said));
    const struct parley_finding finding = {.path = message->protocol->fields[objection->field],
                                           .message = said.data,
                                           .offset = message->values[objection->field].offset};
    return findings_report(message, objection->warning, finding);
}

static bool is_strict(const struct deciding *deciding) {
    return roundtable_lifecycle(&deciding->message->options) == PARLEY_LIFECYCLE_STRICT;
}

/* Without a fact: it changes nothing of the task. */
static enum parley_status object(struct deciding *deciding, const struct objection *objection) {
    return is_strict(deciding) ? refuse(deciding, objection) : warn(deciding, objection);
}

/* ---- messages that are published ---- */

typedef void write_fact_fn(const struct deciding *deciding, struct parley_buffer *out);

static void write_request(const struct deciding *deciding, struct parley_buffer *out) {
    roundtable_fact_write_request(deciding->message, deciding->known->digest, out);
}

static uint64_t request_sequence(const struct deciding *deciding) {
    return roundtable_fact_sequence(&deciding->task.request, ROUNDTABLE_MEMBER_SEQ);
}

static void write_claim(const struct deciding *deciding, struct parley_buffer *out) {
    roundtable_fact_write_claim(deciding->message, request_sequence(deciding), out);
}

static void write_end(const struct deciding *deciding, struct parley_buffer *out) {
    roundtable_fact_write_end(deciding->message, request_sequence(deciding), out);
}

/* `prefix` NULL: the id of the message is as its route says. `suffix` NULL: the request's own key.
 */
static enum parley_status publish(struct deciding *deciding, const char *prefix, const char *suffix,
                                  write_fact_fn *write) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    if (prefix != NULL) {
        parley_buffer_init(&text);
        parley_buffer_text(&text, prefix);
        parley_buffer_append(&text, deciding->id);
        PARLEY_TRY(keep(deciding, &text, &out->message_id));
    }
    parley_buffer_init(&text);
    write(deciding, &text);
    PARLEY_TRY(keep(deciding, &text, &out->fact_members));
    out->fact_key = suffix == NULL ? deciding->id
                                   : TEXT_JOIN(&deciding->message->arena, deciding->id,
                                               parley_bytes_of(suffix));
    return out->fact_key.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status ask_again(struct deciding *deciding) {
    deciding->out->kind = PARLEY_DECISION_ASK_AGAIN;
    return PARLEY_OK;
}

static enum parley_status repeat(struct deciding *deciding, const struct roundtable_fact *first) {
    deciding->out->kind = PARLEY_DECISION_REPEATED;
    name_place(deciding->out, first);
    return PARLEY_OK;
}

/* ---- task.request ---- */

static const char request_prefix[] = "task.request:";

/* A bare domain says nothing of the request, so that JetStream decides whether it is the same. */
static bool is_from_older_gateway(const struct deciding *deciding) {
    const struct roundtable_fact *request = &deciding->task.request;
    const struct parley_bytes task = parley_message_text(deciding->message, ROUNDTABLE_TASK);
    return request->domain.data != NULL &&
           request->members[ROUNDTABLE_MEMBER_TASK].kind == PARLEY_ABSENT &&
           parley_bytes_equal(request->domain, roundtable_domain_of(task));
}

static bool is_same_request(const struct deciding *deciding) {
    const struct parley_bytes digest =
        roundtable_fact_text(&deciding->task.request, ROUNDTABLE_MEMBER_DIGEST);
    struct parley_decision place = {0};
    name_place(&place, &deciding->task.request);
    return digest.data != NULL && place.stream.data != NULL &&
           parley_bytes_equal(digest, parley_bytes_of(deciding->known->digest));
}

static enum parley_status refuse_id(struct deciding *deciding,
                                    const struct roundtable_fact *first) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    out->kind = PARLEY_DECISION_REFUSED;
    out->problem = "id-reused";
    name_place(out, first);
    parley_buffer_init(&text);
    parley_buffer_text(&text, "This id was used before for another ");
    parley_buffer_text(&text, first == &deciding->task.request ? "message" : "task");
    if (out->stream.data != NULL) {
        parley_buffer_text(&text, first == &deciding->task.request ? ": " : ", as shown by ");
        parley_buffer_text(&text, "sequence ");
        parley_buffer_uint(&text, out->sequence);
        parley_buffer_text(&text, " of stream ");
        parley_buffer_append(&text, out->stream);
    }
    parley_buffer_text(&text, ". This one was not stored: send it with a new id.");
    return keep(deciding, &text, &out->detail);
}

static enum parley_status repeat_request(struct deciding *deciding) {
    struct parley_buffer text;
    PARLEY_TRY(repeat(deciding, &deciding->task.request));
    parley_buffer_init(&text);
    write_state(deciding, &text);
    return keep(deciding, &text, &deciding->out->members);
}

/* The fact of a gateway that knew a request which the bucket no longer has. */
static const struct roundtable_fact *trace_of_request(const struct deciding *deciding) {
    const struct roundtable_task *task = &deciding->task;
    const enum roundtable_member known = ROUNDTABLE_MEMBER_REQUEST;
    return roundtable_fact_sequence(&task->claim, known) != 0 ? &task->claim
           : roundtable_fact_sequence(&task->end, known) != 0 ? &task->end
                                                              : NULL;
}

static enum parley_status decide_request(struct deciding *deciding) {
    const struct roundtable_fact *request = &deciding->task.request;
    const struct roundtable_fact *trace = trace_of_request(deciding);
    if (roundtable_lifecycle(&deciding->message->options) == PARLEY_LIFECYCLE_OFF) {
        return publish(deciding, NULL, NULL, write_request);
    }
    if (!request->is_there && trace == NULL) {
        return publish(deciding, request_prefix, NULL, write_request);
    }
    if (!request->is_there) {
        return refuse_id(deciding, trace);
    }
    if (is_same_request(deciding)) {
        return repeat_request(deciding);
    }
    if (!is_from_older_gateway(deciding)) {
        return refuse_id(deciding, request);
    }
    PARLEY_TRY(publish(deciding, request_prefix, NULL, write_request));
    deciding->out->fact_key = deciding->out->fact_members = (struct parley_bytes){0};
    return PARLEY_OK; /* its key has a value */
}

/* ---- task.claimed ---- */

static bool has_ended_or_expired(const struct deciding *deciding) {
    return deciding->task.end.is_there ||
           roundtable_task_has_expired(&deciding->task, deciding->message->options.now_seconds);
}

static bool is_holder(const struct deciding *deciding) {
    return deciding->task.claim.is_there && parley_bytes_equal(holder_of(deciding), deciding->from);
}

static bool is_for_another(const struct deciding *deciding) {
    const struct parley_bytes to = addressee_of(deciding);
    return to.data != NULL && !parley_bytes_equal(to, deciding->from);
}

static enum parley_status decide_first_claim(struct deciding *deciding) {
    const bool is_known = deciding->task.request.is_there;
    if (!is_known && !deciding->known->is_final) {
        return ask_again(deciding);
    }
    if (is_known && is_for_another(deciding)) {
        return refuse(deciding, &is_given);
    }
    if (!is_known) {
        PARLEY_TRY(warn(deciding, &is_unknown));
    }
    return publish(deciding, "claim:", "claim", write_claim);
}

/* Claims and ends that were published straight to NATS are read by different consumers, so that an
 * end may be decided on before the claim that is before it in the stream. */
static bool was_made_before_the_end(const struct deciding *deciding) {
    const struct roundtable_fact *end = &deciding->task.end;
    const struct parley_known_facts *known = deciding->known;
    const struct parley_bytes stream = roundtable_fact_text(end, ROUNDTABLE_MEMBER_STREAM);
    return known->stored_sequence != 0 && stream.data != NULL &&
           parley_bytes_equal(stream, known->stored_stream) &&
           known->stored_sequence < roundtable_fact_sequence(end, ROUNDTABLE_MEMBER_SEQ);
}

static enum parley_status decide_claim(struct deciding *deciding) {
    const struct roundtable_fact *claim = &deciding->task.claim;
    if (roundtable_lifecycle(&deciding->message->options) == PARLEY_LIFECYCLE_OFF) {
        return PARLEY_OK;
    }
    if (was_made_before_the_end(deciding)) {
        deciding->task.end = (struct roundtable_fact){0};
    }
    if (has_ended_or_expired(deciding)) {
        return refuse(deciding, &is_over);
    }
    if (!claim->is_there) {
        return decide_first_claim(deciding);
    }
    return is_holder(deciding) ? repeat(deciding, claim) : refuse(deciding, &is_claimed);
}

/* ---- task.progress, task.result, task.failed ---- */

static bool is_requester(const struct deciding *deciding) {
    const struct parley_bytes from =
        roundtable_fact_text(&deciding->task.request, ROUNDTABLE_MEMBER_FROM);
    return from.data != NULL && parley_bytes_equal(from, deciding->from);
}

/* Whether it is the message that ended the task: a repeated message is no late one. */
static bool is_the_end(const struct deciding *deciding) {
    const struct roundtable_fact *end = &deciding->task.end;
    const struct parley_bytes id = roundtable_fact_text(end, ROUNDTABLE_MEMBER_END);
    const struct parley_bytes type = roundtable_fact_text(end, ROUNDTABLE_MEMBER_TYPE);
    const struct parley_bytes own = parley_message_text(deciding->message, ROUNDTABLE_ID);
    return id.data != NULL && own.data != NULL && id.length == own.length &&
           strncasecmp(id.data, own.data, id.length) == 0 &&
           parley_bytes_equal(type, parley_message_text(deciding->message, ROUNDTABLE_TYPE));
}

static bool is_unheard_of(const struct roundtable_task *task) {
    return !task->request.is_there && !task->claim.is_there && !task->end.is_there;
}

/* Whether the request may come in a moment, and is needed: for the domain of a reply, for the name
 * of the requester, or to know that there is such a task. */
static bool awaits_request(const struct deciding *deciding, bool is_end) {
    const struct roundtable_task *task = &deciding->task;
    const bool is_off = roundtable_lifecycle(&deciding->message->options) == PARLEY_LIFECYCLE_OFF;
    const bool is_of_another = task->claim.is_there && !is_holder(deciding) && !task->end.is_there;
    const bool is_needed = is_end || is_of_another || (is_unheard_of(task) && !is_off);
    return is_needed && !task->request.is_there && !deciding->known->is_final;
}

static enum parley_status decide_report(struct deciding *deciding) {
    const struct roundtable_task *task = &deciding->task;
    const bool is_end = deciding->message->type != ROUNDTABLE_PROGRESS;
    const bool is_late = task->end.is_there && !is_the_end(deciding);
    if (is_late && is_strict(deciding)) {
        return refuse(deciding, &is_over);
    }
    if (awaits_request(deciding, is_end)) {
        return ask_again(deciding);
    }
    if (roundtable_lifecycle(&deciding->message->options) == PARLEY_LIFECYCLE_OFF ||
        is_the_end(deciding)) {
        return PARLEY_OK;
    }
    if (is_late || (has_ended_or_expired(deciding) && !(is_end && is_requester(deciding)))) {
        return object(deciding, &is_over);
    }
    if (task->claim.is_there && !is_holder(deciding) && !is_requester(deciding)) {
        return object(deciding, &is_held);
    }
    if (is_unheard_of(task)) {
        PARLEY_TRY(warn(deciding, &is_unknown));
    }
    return is_end ? publish(deciding, NULL, "end", write_end) : PARLEY_OK;
}

enum parley_status roundtable_decide(struct parley_message *message, struct parley_decision *out) {
    static const struct parley_known_facts nothing = {.is_final = true, .digest = ""};
    const struct parley_known_facts *known = message->options.known;
    struct deciding deciding = {.message = message,
                                .known = known != NULL ? known : &nothing,
                                .from = parley_message_text(message, ROUNDTABLE_FROM),
                                .out = out};
    if (message->type == ROUNDTABLE_HEARTBEAT) {
        return PARLEY_OK;
    }
    deciding.id = roundtable_task_id(message);
    PARLEY_TRY(deciding.id.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY);
    PARLEY_TRY(roundtable_task_read(deciding.known->values, &message->arena, &deciding.task));
    switch ((enum roundtable_type)message->type) {
    case ROUNDTABLE_REQUEST:
        return decide_request(&deciding);
    case ROUNDTABLE_CLAIMED:
        return decide_claim(&deciding);
    case ROUNDTABLE_PROGRESS:
    case ROUNDTABLE_RESULT:
    case ROUNDTABLE_FAILED:
        return decide_report(&deciding);
    case ROUNDTABLE_HEARTBEAT:
        break;
    }
    return PARLEY_OK;
}
