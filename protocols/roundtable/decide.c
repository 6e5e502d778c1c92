/* SPDX-License-Identifier: Apache-2.0 */

/* Decides on a message by the facts of its task (docs/protocols/roundtable.md#lifecycle).
 * They are asked in the order end, turn, request: a task that is over stays over, whichever agent
 * held it; one that is claimed is the holder's, whatever its request says.
 *
 * A message that is already stored, which its sender published straight to NATS, is decided by the
 * same rows, at the time at which it was stored: one that would have been refused leaves no fact.
 */

#include <inttypes.h>
#include <math.h>
#include <strings.h>

#include "progress.h"
#include "task_decision.h"
#include "text.h"

static bool is_off(const struct deciding *deciding) {
    return roundtable_lifecycle(&deciding->message->options) == PARLEY_LIFECYCLE_OFF;
}

static bool is_strict(const struct deciding *deciding) {
    return roundtable_lifecycle(&deciding->message->options) == PARLEY_LIFECYCLE_STRICT;
}

/* Without a fact: it changes nothing of the task. */
static enum parley_status object(struct deciding *deciding, const struct objection *objection) {
    return is_strict(deciding) ? deciding_refuse(deciding, objection)
                               : deciding_warn(deciding, objection);
}

/* ---- messages that are published ---- */

typedef void write_fact_fn(const struct deciding *deciding, struct parley_buffer *out);

static void write_request(const struct deciding *deciding, struct parley_buffer *out) {
    roundtable_fact_write_request(deciding->message, deciding->known->digest, out);
}

static uint64_t request_sequence(const struct deciding *deciding) {
    return roundtable_fact_sequence(&deciding->task.request, ROUNDTABLE_MEMBER_SEQ);
}

/* `lease`: of so many seconds from now on.  Returns: 0: it has no end. */
static int64_t end_of(const struct deciding *deciding, int64_t lease) {
    return lease > 0 && deciding->now_seconds > 0 ? deciding->now_seconds + lease : 0;
}

static int64_t lease_end(const struct deciding *deciding) {
    return end_of(deciding, deciding_lease(deciding));
}

static int64_t claim_end(const struct deciding *deciding) {
    return end_of(deciding, deciding_claim_lease(deciding));
}

/* Turn 1, or the one that follows the last one. */
static void write_claim(const struct deciding *deciding, struct parley_buffer *out) {
    const struct roundtable_turn *turn = &deciding->turn;
    const struct roundtable_claim claim = {
        .number = turn->is_there ? turn->number + 1 : 1,
        .attempt = turn->is_there ? turn->attempt + 1 : 1,
        .request = request_sequence(deciding),
        .until = claim_end(deciding),
        .lease = deciding->options[ROUNDTABLE_OPTION_LEASE].number,
        .why = deciding->holding == ROUNDTABLE_LAPSED ? "lapsed" : NULL};
    roundtable_turn_write_claim(deciding->message, turn, &claim, out);
}

static void write_end(const struct deciding *deciding, struct parley_buffer *out) {
    roundtable_fact_write_end(deciding->message, request_sequence(deciding), out);
}

/* `prefix` NULL: the id of the message is as its route says. `number`: of the turn that it is, 0:
 * it is the only one with that prefix. */
static enum parley_status name_message(struct deciding *deciding, const char *prefix,
                                       uint64_t number) {
    struct parley_buffer text;
    if (prefix == NULL) {
        return PARLEY_OK;
    }
    parley_buffer_init(&text);
    parley_buffer_text(&text, prefix);
    parley_buffer_append(&text, deciding->id);
    if (number != 0) {
        parley_buffer_char(&text, ':');
        parley_buffer_uint(&text, number);
    }
    return deciding_keep(deciding, &text, &deciding->out->message_id);
}

/* `suffix` NULL: the request's own key. */
static enum parley_status publish(struct deciding *deciding, const char *prefix, const char *suffix,
                                  write_fact_fn *write) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    PARLEY_TRY(name_message(deciding, prefix, 0));
    parley_buffer_init(&text);
    write(deciding, &text);
    PARLEY_TRY(deciding_keep(deciding, &text, &out->fact_members));
    out->fact_key = suffix == NULL
                        ? deciding->id
                        : TEXT_JOIN(deciding->arena, deciding->id, parley_bytes_of(suffix));
    return out->fact_key.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status ask_again(struct deciding *deciding) {
    deciding->out->kind = PARLEY_DECISION_ASK_AGAIN;
    return PARLEY_OK;
}

static enum parley_status repeat(struct deciding *deciding, const struct roundtable_fact *first) {
    deciding->out->kind = PARLEY_DECISION_REPEATED;
    deciding_name_place(deciding->out, first);
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
    deciding_name_place(&place, &deciding->task.request);
    return digest.data != NULL && place.stream.data != NULL &&
           parley_bytes_equal(digest, parley_bytes_of(deciding->known->digest));
}

static enum parley_status refuse_id(struct deciding *deciding,
                                    const struct roundtable_fact *first) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    out->kind = PARLEY_DECISION_REFUSED;
    out->problem = "id-reused";
    deciding_name_place(out, first);
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
    return deciding_keep(deciding, &text, &out->detail);
}

static enum parley_status repeat_request(struct deciding *deciding) {
    struct parley_buffer text;
    PARLEY_TRY(repeat(deciding, &deciding->task.request));
    parley_buffer_init(&text);
    deciding_write_state(deciding, &text);
    return deciding_keep(deciding, &text, &deciding->out->members);
}

/* The fact of a gateway that knew a request which the bucket no longer has. */
static const struct roundtable_fact *trace_of_request(const struct deciding *deciding) {
    const struct roundtable_task *task = &deciding->task;
    const enum roundtable_member known = ROUNDTABLE_MEMBER_REQUEST;
    return roundtable_fact_sequence(&task->claim, known) != 0 ? &task->claim
           : roundtable_fact_sequence(&task->end, known) != 0 ? &task->end
                                                              : NULL;
}

static bool is_same_id(struct parley_bytes id, struct parley_bytes other) {
    return id.data != NULL && other.data != NULL && id.length == other.length &&
           strncasecmp(id.data, other.data, id.length) == 0;
}

/* A request that a gateway made of one that has failed is the only one of its kind. */
static enum parley_status name_retry(struct deciding *deciding) {
    const struct parley_bytes of =
        parley_message_text(deciding->message, ROUNDTABLE_CORRELATION_ID);
    char id[ROUNDTABLE_ID_SIZE];
    struct parley_buffer text;
    if (of.data == NULL || !text_is_uuid(of, false)) {
        return PARLEY_OK;
    }
    roundtable_make_id(ROUNDTABLE_RETRY, of, id);
    if (!is_same_id(parley_bytes_of(id), deciding->id)) {
        return PARLEY_OK;
    }
    parley_buffer_init(&text);
    parley_buffer_text(&text, ROUNDTABLE_RETRY);
    (void)roundtable_tasks.write_key(of, PARLEY_TASK_REQUEST, &text);
    return deciding_keep(deciding, &text, &deciding->out->message_id);
}

/* Its message would be gone before it is due.  `out_seconds`: how long it is kept. */
static bool is_due_too_late(const struct deciding *deciding, int64_t *out_seconds) {
    const uint64_t due = deciding->options[ROUNDTABLE_OPTION_NOT_BEFORE].number;
    *out_seconds = deciding->known->kept_seconds;
    return *out_seconds > 0 && deciding->now_seconds > 0 &&
           due >= (uint64_t)(deciding->now_seconds + *out_seconds);
}

static enum parley_status refuse_due(struct deciding *deciding, int64_t kept_seconds) {
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    out->kind = PARLEY_DECISION_REFUSED;
    out->problem = "invalid-parameter";
    parley_buffer_init(&text);
    parley_buffer_text(&text, "`not_before` must be less than ");
    parley_buffer_uint(&text, (uint64_t)kept_seconds);
    parley_buffer_text(&text,
                       " s ahead: requests are kept for so long. The message was not stored.");
    return deciding_keep(deciding, &text, &out->detail);
}

static enum parley_status publish_request(struct deciding *deciding) {
    int64_t kept_seconds;
    if (is_due_too_late(deciding, &kept_seconds)) {
        return refuse_due(deciding, kept_seconds);
    }
    PARLEY_TRY(deciding_retry(deciding));
    if (deciding->out->kind != PARLEY_DECISION_PUBLISH) {
        return PARLEY_OK;
    }
    PARLEY_TRY(publish(deciding, request_prefix, NULL, write_request));
    return name_retry(deciding);
}

static enum parley_status decide_request(struct deciding *deciding) {
    const struct roundtable_fact *request = &deciding->task.request;
    const struct roundtable_fact *trace = trace_of_request(deciding);
    if (is_off(deciding)) {
        return publish(deciding, NULL, NULL, write_request);
    }
    if (!request->is_there && trace == NULL) {
        return publish_request(deciding);
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

static bool is_for_another(const struct deciding *deciding) {
    const struct parley_bytes to = deciding_addressee(deciding);
    return to.data != NULL && !parley_bytes_equal(to, deciding->from);
}

static const char claim_prefix[] = "claim:";

static enum parley_status say_attempt(struct deciding *deciding, uint64_t attempt) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, ",\"attempt\":");
    parley_buffer_uint(&text, attempt);
    const int64_t until = claim_end(deciding);
    if (until != 0) {
        char time[TEXT_TIME_SIZE];
        text_write_unix_time((double)until, time);
        parley_buffer_format(&text, ",\"until\":\"%s\"", time);
    }
    return deciding_keep(deciding, &text, &deciding->out->members);
}

static bool is_due(const struct deciding *deciding) {
    const struct parley_bytes time = deciding_not_before(deciding);
    double seconds;
    return time.data == NULL || !text_unix_time(time, &seconds) ||
           seconds <= (double)deciding->now_seconds;
}

static enum parley_status decide_first_claim(struct deciding *deciding) {
    const bool is_known = deciding->task.request.is_there;
    if (!is_known && !deciding->known->is_final) {
        return ask_again(deciding);
    }
    if (is_known && is_for_another(deciding)) {
        return deciding_refuse(deciding, &objection_given);
    }
    if (!is_due(deciding)) {
        return deciding_refuse(deciding, &objection_early);
    }
    if (!is_known) {
        PARLEY_TRY(deciding_warn(deciding, &objection_unknown));
    }
    PARLEY_TRY(say_attempt(deciding, 1));
    return publish(deciding, claim_prefix, "claim", write_claim);
}

/* The holder's heartbeats extend its lease, until `task-max` after its claim.  `out_until`: until
 * when, Unix time; 0: they do not. */
static enum parley_status read_heartbeat(struct deciding *deciding, int64_t *out_until) {
    const struct parley_known_facts *known = deciding->known;
    const int64_t until = known->last_seconds + deciding_lease(deciding);
    const uint64_t longest = deciding->options[ROUNDTABLE_OPTION_TASK_MAX].number / 1000;
    bool is_at_work = false;
    double claimed_at;
    *out_until = 0;
    if (known->last.data == NULL || until <= deciding->now_seconds ||
        deciding->turn.claimed_at.data == NULL ||
        !text_unix_time(deciding->turn.claimed_at, &claimed_at) ||
        (double)deciding->now_seconds >= claimed_at + (double)longest) {
        return PARLEY_OK;
    }
    PARLEY_TRY(roundtable_is_at_work(known->last, deciding->arena, &is_at_work));
    *out_until = is_at_work ? until : 0;
    return PARLEY_OK;
}

/* Before a lapsed task is taken from its holder, the holder's last heartbeat is read. */
static enum parley_status decide_unless_alive(struct deciding *deciding,
                                              enum parley_status (*otherwise)(struct deciding *)) {
    struct parley_decision *out = deciding->out;
    int64_t until;
    if (deciding_lease(deciding) == 0 || deciding->turn.holder.data == NULL) {
        return otherwise(deciding);
    }
    if (!deciding->known->has_last) {
        out->kind = PARLEY_DECISION_ASK_LAST;
        out->last_subject = roundtable_heartbeat_subject(deciding->arena, deciding->turn.holder);
        return out->last_subject.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
    }
    PARLEY_TRY(read_heartbeat(deciding, &until));
    return until != 0 ? deciding_extend(deciding, until, "heartbeat") : otherwise(deciding);
}

/* The task was claimed before, and is open again. */
static enum parley_status decide_later_claim(struct deciding *deciding) {
    const struct roundtable_turn *turn = &deciding->turn;
    struct parley_buffer key;
    if (is_for_another(deciding)) {
        return deciding_refuse(deciding, &objection_given);
    }
    if (turn->attempt >= deciding_attempts(deciding)) {
        return deciding_refuse(deciding, &objection_used_up);
    }
    if (deciding->holding == ROUNDTABLE_OPEN_AGAIN && !is_due(deciding)) {
        return deciding_refuse(deciding, &objection_early);
    }
    PARLEY_TRY(say_attempt(deciding, turn->attempt + 1));
    PARLEY_TRY(publish(deciding, NULL, NULL, write_claim));
    PARLEY_TRY(name_message(deciding, claim_prefix, turn->number + 1));
    parley_buffer_init(&key);
    roundtable_turn_write_key(deciding->id, turn->number + 1, &key);
    return deciding_keep(deciding, &key, &deciding->out->fact_key);
}

/* Another message of the holder itself is its next attempt. */
static enum parley_status decide_take_over(struct deciding *deciding) {
    return deciding_is_holder(deciding) ? decide_later_claim(deciding)
                                        : decide_unless_alive(deciding, decide_later_claim);
}

/* The message by which the task is as it is, sent again: of a claim also another one of the holder.
 */
static enum parley_status repeat_turn(struct deciding *deciding) {
    PARLEY_TRY(repeat(deciding, deciding->turn.fact));
    struct parley_buffer text;
    parley_buffer_init(&text);
    deciding_write_turn(deciding, &text);
    return deciding_keep(deciding, &text, &deciding->out->members);
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

/* A message in the stream may be read, or read again, after the turn that it led to, and after the
 * claim or the failure by which another one came about. */
static bool was_made_before_the_turn(const struct deciding *deciding) {
    const struct roundtable_fact *turn = deciding->turn.fact;
    const struct parley_known_facts *known = deciding->known;
    const struct parley_bytes stream = roundtable_fact_text(turn, ROUNDTABLE_MEMBER_STREAM);
    return known->stored_sequence != 0 && stream.data != NULL &&
           parley_bytes_equal(stream, known->stored_stream) &&
           known->stored_sequence <= roundtable_fact_sequence(turn, ROUNDTABLE_MEMBER_SEQ);
}

/* The claim by which the task is held, sent again. Another one of the same agent is another
 * attempt: so a worker that dies of a task and starts again uses its attempts up. */
static bool is_same_claim(const struct deciding *deciding) {
    const struct parley_bytes id =
        roundtable_fact_text(deciding->turn.fact, ROUNDTABLE_MEMBER_CLAIM);
    return is_same_id(id, parley_message_text(deciding->message, ROUNDTABLE_ID));
}

static enum parley_status decide_claim(struct deciding *deciding) {
    if (is_off(deciding)) {
        return PARLEY_OK;
    }
    if (was_made_before_the_end(deciding)) {
        deciding->task.end = (struct roundtable_fact){0};
    }
    if (deciding_is_over(deciding)) {
        return deciding_refuse(deciding, &objection_over);
    }
    switch (deciding->holding) {
    case ROUNDTABLE_NEVER_CLAIMED:
        return decide_first_claim(deciding);
    case ROUNDTABLE_HELD:
        return deciding_is_holder(deciding) ? repeat_turn(deciding)
                                            : deciding_refuse(deciding, &objection_claimed);
    case ROUNDTABLE_LAPSED:
        return deciding_is_holder(deciding) && is_same_claim(deciding)
                   ? deciding_extend(deciding, lease_end(deciding), "claim")
                   : decide_take_over(deciding);
    case ROUNDTABLE_OPEN_AGAIN:
        break;
    }
    return was_made_before_the_turn(deciding) ? PARLEY_OK : decide_later_claim(deciding);
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
    return is_same_id(id, own) &&
           parley_bytes_equal(type, parley_message_text(deciding->message, ROUNDTABLE_TYPE));
}

/* Whether it was given out as often as it may be, and no agent holds it. */
static bool is_spent(const struct deciding *deciding) {
    return (deciding->holding == ROUNDTABLE_LAPSED || deciding->holding == ROUNDTABLE_OPEN_AGAIN) &&
           deciding->turn.attempt >= deciding_attempts(deciding);
}

/* A gateway says that a task has failed whose workers are not heard of. */
static bool is_of_gateway(const struct deciding *deciding) {
    return deciding->message->type == ROUNDTABLE_FAILED && is_spent(deciding) &&
           parley_bytes_equal(deciding->from, PARLEY_BYTES(ROUNDTABLE_GATEWAY));
}

static bool is_unheard_of(const struct roundtable_task *task) {
    return !task->request.is_there && !task->claim.is_there && !task->end.is_there;
}

/* Whether the request may come in a moment, and is needed: for the domain of a reply, for the name
 * of the requester, or to know that there is such a task. */
static bool awaits_request(const struct deciding *deciding, bool is_end) {
    const struct roundtable_task *task = &deciding->task;
    const bool is_of_another =
        deciding_has_holder(deciding) && !deciding_is_holder(deciding) && !task->end.is_there;
    const bool is_needed = is_end || is_of_another || (is_unheard_of(task) && !is_off(deciding));
    return is_needed && !task->request.is_there && !deciding->known->is_final;
}

/* A report shows that the holder works. Past its time it first takes its next turn, for which
 * another agent may have been quicker; and so it does when less than half of the lease is left: a
 * progress to keep the task, an end since the task may have lapsed by the clock of another gateway,
 * or will have by the time at which its key is created. */
static bool needs_extending(const struct deciding *deciding) {
    const struct roundtable_turn *turn = &deciding->turn;
    const double half = (double)deciding_lease(deciding) / 2;
    const double left = turn->until - (double)deciding->now_seconds;
    return deciding_is_holder(deciding) &&
           (deciding->holding == ROUNDTABLE_LAPSED ||
            (turn->has_until && lease_end(deciding) != 0 && left < half));
}

static enum parley_status give_up(struct deciding *deciding) {
    return publish(deciding, "lapsed:", "end", write_end);
}

/* A gateway ends a task, unless its last holder lives. */
static enum parley_status decide_given_up(struct deciding *deciding) {
    return deciding->holding == ROUNDTABLE_LAPSED ? decide_unless_alive(deciding, give_up)
                                                  : give_up(deciding);
}

/* ---- another attempt after a failure ---- */

/* How long the next attempt is put off: as the message says, else longer each time, and spread.
 * `attempt`: that has failed. */
static double pause_after(const struct deciding *deciding) {
    enum { FIRST_SECONDS = 10, LONGEST_SECONDS = 600, DOUBLED_MAX = 6, SPREAD = 10 };
    const struct parley_value *after = &deciding->message->values[ROUNDTABLE_RETRY_AFTER];
    const uint64_t attempt = deciding->turn.attempt;
    if (after->kind == PARLEY_NUMBER) {
        return ceil(after->number);
    }
    const uint64_t doubled =
        attempt <= DOUBLED_MAX ? (uint64_t)FIRST_SECONDS << (attempt - 1) : LONGEST_SECONDS;
    return (double)(doubled + roundtable_spread(deciding->id, attempt, doubled / SPREAD));
}

/* The holder has failed with what may be tried again, which its request allows. */
static bool is_tried_again(const struct deciding *deciding) {
    enum { LATEST_SECONDS = 30 * 86400 }; /* by then the task is forgotten */
    const struct parley_message *message = deciding->message;
    const struct parley_value *retryable = &message->values[ROUNDTABLE_RETRYABLE];
    const struct parley_bytes retry =
        roundtable_fact_text(&deciding->task.request, ROUNDTABLE_MEMBER_RETRY);
    return message->type == ROUNDTABLE_FAILED && retryable->kind == PARLEY_BOOLEAN &&
           retryable->number != 0 && retry.data != NULL && deciding_is_holder(deciding) &&
           deciding->turn.attempt < deciding_attempts(deciding) &&
           pause_after(deciding) <= (double)LATEST_SECONDS;
}

/* Its turn competes with a take-over, as that of a release does. */
static enum parley_status try_again(struct deciding *deciding) {
    const struct roundtable_turn *turn = &deciding->turn;
    const int64_t not_before = deciding->now_seconds + (int64_t)pause_after(deciding);
    struct parley_decision *out = deciding->out;
    struct parley_buffer text;
    char time[TEXT_TIME_SIZE];
    if (was_made_before_the_turn(deciding)) {
        return PARLEY_OK;
    }
    parley_buffer_init(&text);
    text_write_unix_time((double)not_before, time);
    parley_buffer_format(&text, ",\"not_before\":\"%s\",\"attempt\":%" PRIu64, time, turn->attempt);
    PARLEY_TRY(deciding_keep(deciding, &text, &out->members));
    parley_buffer_init(&text);
    roundtable_turn_write_failed(deciding->message, turn, deciding->now_seconds, not_before, &text);
    PARLEY_TRY(deciding_keep(deciding, &text, &out->fact_members));
    parley_buffer_init(&text);
    roundtable_turn_write_key(deciding->id, turn->number + 1, &text);
    return deciding_keep(deciding, &text, &out->fact_key);
}

/* Whether it is the message by which the last attempt that failed did so. */
static bool is_known_failure(const struct deciding *deciding) {
    const struct roundtable_turn *turn = &deciding->turn;
    return turn->is_there && deciding->message->type == ROUNDTABLE_FAILED &&
           is_same_id(roundtable_fact_text(turn->fact, ROUNDTABLE_MEMBER_FAILURE),
                      parley_message_text(deciding->message, ROUNDTABLE_ID));
}

/* Sent again, it changes nothing: neither of the attempts after it. */
static enum parley_status repeat_failure(struct deciding *deciding) {
    return deciding->turn.kind == ROUNDTABLE_TURN_FAILED ? repeat_turn(deciding) : PARLEY_OK;
}

/* A consumer may look at a failure once more when its attempt and the next have failed already. */
static bool was_made_before_the_failure(const struct deciding *deciding) {
    const uint64_t stored = deciding->known->stored_sequence;
    return deciding->turn.is_there && deciding->message->type == ROUNDTABLE_FAILED && stored != 0 &&
           stored < roundtable_turn_failed_sequence(&deciding->turn);
}

/* needs_extending leaves half of a lease at least, so an end that is not written by then may come
 * after a take-over. */
static enum parley_status end_task(struct deciding *deciding) {
    const int64_t half = deciding_lease(deciding) / 2;
    if (deciding_is_holder(deciding) && deciding->turn.has_until) {
        deciding->out->within_seconds = half > 0 ? half : 1;
    }
    return publish(deciding, NULL, "end", write_end);
}

static enum parley_status decide_report(struct deciding *deciding) {
    const struct roundtable_task *task = &deciding->task;
    const bool is_end = deciding->message->type != ROUNDTABLE_PROGRESS;
    const bool is_late = task->end.is_there && !is_the_end(deciding);
    if (is_late && is_strict(deciding)) {
        return deciding_refuse(deciding, &objection_over);
    }
    if (awaits_request(deciding, is_end)) {
        return ask_again(deciding);
    }
    if (is_off(deciding) || is_the_end(deciding)) {
        return PARLEY_OK;
    }
    if (is_known_failure(deciding)) {
        return repeat_failure(deciding);
    }
    if (was_made_before_the_failure(deciding)) {
        return PARLEY_OK;
    }
    if (is_late || (deciding_is_over(deciding) && !(is_end && is_requester(deciding)))) {
        return object(deciding, &objection_over);
    }
    if (is_of_gateway(deciding)) {
        return decide_given_up(deciding);
    }
    if (deciding_has_holder(deciding) && !deciding_is_holder(deciding) && !is_requester(deciding)) {
        return object(deciding, &objection_held);
    }
    if (needs_extending(deciding)) {
        return deciding_extend(deciding, lease_end(deciding), is_end ? "report" : "progress");
    }
    if (is_unheard_of(task)) {
        PARLEY_TRY(deciding_warn(deciding, &objection_unknown));
    }
    if (is_tried_again(deciding)) {
        return try_again(deciding);
    }
    return is_end ? end_task(deciding)
           : deciding_is_holder(deciding)
               ? roundtable_progress_note(deciding->message, deciding->id, deciding->out)
               : PARLEY_OK;
}

enum parley_status roundtable_decide(struct parley_message *message, struct parley_decision *out) {
    static const struct parley_known_facts nothing = {.is_final = true, .digest = ""};
    const struct parley_known_facts *known = message->options.known;
    struct deciding deciding = {.message = message,
                                .arena = &message->arena,
                                .options = message->options.values,
                                .now_seconds = message->options.now_seconds,
                                .known = known != NULL ? known : &nothing,
                                .from = parley_message_text(message, ROUNDTABLE_FROM),
                                .out = out};
    if (message->type == ROUNDTABLE_HEARTBEAT) {
        return PARLEY_OK;
    }
    deciding.id = roundtable_task_id(message);
    PARLEY_TRY(deciding.id.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY);
    PARLEY_TRY(deciding_read(&deciding));
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
