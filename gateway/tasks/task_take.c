/* SPDX-License-Identifier: Apache-2.0 */

#include "task_take.h"

#include <stdio.h>

#include "json_fields.h"
#include "phase.h"
#include "small_body.h"

/* The keys that decide on a claim are asked for again after that long. */
enum { PREPARED_MAX_MS = 100 };

static void enter(struct task_take *take, enum task_take_phase phase) {
    static const unsigned allowed[] = {
        [TASK_TAKE_FETCHING] = PHASE(TASK_TAKE_CLAIMING) | PHASE(TASK_TAKE_OVER),
        [TASK_TAKE_CLAIMING] = PHASE(TASK_TAKE_OVER),
        [TASK_TAKE_OVER] = 0,
    };
    take->phase = (enum task_take_phase)phase_after(allowed, take->phase, phase);
}

static struct gateway *gateway_of(const struct task_take *take) {
    return take->taking->options->gateway;
}

static void end(struct task_take *take, enum task_take_end how) {
    enter(take, TASK_TAKE_OVER);
    take->end = how;
    take->taking->done(take->taking->context);
}

static void give_back(const struct task_take *take) {
    board_give_back(take->taking->board, take->find.id);
}

struct failure task_take_away(const struct gateway *gateway, const char *what) {
    const char *trouble = jetstream_trouble(gateway->jetstream);
    struct failure failure = {.problem = PROBLEM_BUS_UNAVAILABLE};
    snprintf(failure.detail, sizeof failure.detail,
             "%s%s%.300s. Nothing was claimed: ask again later.", what, trouble != NULL ? ": " : "",
             trouble != NULL ? trouble : "");
    return failure;
}

static void note_failed(struct task_take *take, const struct failure *failure) {
    give_back(take);
    parley_buffer_clear(&take->item);
    take->failure = *failure;
}

static void note_away(struct task_take *take, const char *what) {
    const struct failure failure = task_take_away(gateway_of(take), what);
    note_failed(take, &failure);
}

/* ---- what the agent gets ---- */

/* The receipt says which attempt it is, and until when the agent holds the task. */
static void write_lease(const struct task_take *take, struct parley_bytes receipt,
                        struct parley_buffer *out) {
    struct json_field fields[] = {{.name = "attempt"}, {.name = "until"}};
    struct parley_arena arena;
    parley_arena_init(&arena, 4 * SMALL_BODY_BYTES_MAX);
    out->has_failed |= json_fields_read(receipt, fields, 2, &arena, NULL) != JSON_FIELDS_READ;
    parley_buffer_format(out, ",\"attempt\":%.0f,\"lease\":{\"until\":",
                         fields[0].kind == PARLEY_NUMBER ? fields[0].number : 1);
    if (fields[1].kind == PARLEY_STRING) {
        parley_buffer_json(out, fields[1].text);
    } else {
        parley_buffer_text(out, "null");
    }
    parley_buffer_format(out, ",\"extend\":\"/v1/%s/tasks/%s/extend\"}",
                         take->taking->options->protocol->name, take->find.id);
    parley_arena_finish(&arena);
}

/* `take->item`: the request's message; then the item with it. */
static void write_item(struct task_take *take, struct parley_bytes receipt) {
    struct parley_buffer item;
    parley_buffer_init(&item);
    parley_buffer_reserve(&item, take->item.length + receipt.length + 256);
    parley_buffer_text(&item, "{\"task\":");
    parley_buffer_append(&item, parley_buffer_bytes(&take->item));
    parley_buffer_text(&item, ",\"claim\":");
    parley_buffer_append(&item, receipt);
    parley_buffer_text(&item, ",\"deadline\":");
    if (take->find.deadline[0] != '\0') {
        parley_buffer_json(&item, parley_bytes_of(take->find.deadline));
    } else {
        parley_buffer_text(&item, "null");
    }
    write_lease(take, receipt, &item);
    parley_buffer_char(&item, '}');
    item.has_failed |= take->item.has_failed;
    parley_buffer_finish(&take->item);
    take->item = item;
}

/* ---- claiming ---- */

/* 409: it is another agent's, or over. And if this agent has claimed it before, then another
 * request of its has got it, unless that was this one, by its Idempotency-Key. */
static bool is_lost_by(const struct task_take *take, const struct internal_submit_answer *answer) {
    return answer->is_stored ? answer->is_duplicate && take->taking->claim_id[0] == '\0'
                             : problem_status(answer->failure->problem) == 409;
}

static void on_claimed(void *context, const struct internal_submit_answer *answer) {
    struct task_take *take = context;
    if (is_lost_by(take, answer)) {
        board_lost(take->taking->board, take->find.id);
        end(take, TASK_TAKE_LOST);
    } else if (answer->is_stored && answer->is_duplicate && !take->find.is_claimed) {
        end(take, TASK_TAKE_REPEATED);
    } else if (answer->is_stored) {
        write_item(take, answer->text);
        end(take, TASK_TAKE_CLAIMED);
    } else {
        note_failed(take, answer->failure);
        parley_buffer_append(&take->item, answer->text);
        end(take, TASK_TAKE_FAILED);
    }
}

static enum parley_status write_claim(const struct task_take *take, struct parley_buffer *out) {
    const struct task_taking *taking = take->taking;
    char fresh[37], now[32];
    if (taking->claim_id[0] == '\0') {
        id_new_from(&gateway_of(take)->identities, fresh);
    }
    clock_now_text(now);
    taking->options->protocol->tasks->write_claim(
        taking->agent, parley_bytes_of(take->find.id),
        taking->claim_id[0] != '\0' ? taking->claim_id : fresh, now, out);
    return parley_buffer_status(out);
}

static bool prepare(struct task_take *take) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    enum parley_status status = write_claim(take, &text);
    if (status == PARLEY_OK) {
        status = internal_submit_prepare(take->taking->options, parley_buffer_bytes(&text),
                                         on_claimed, take, &take->prepared);
    }
    parley_buffer_finish(&text);
    take->prepared_ms = reactor_now_ms(gateway_of(take)->reactor);
    return status == PARLEY_OK;
}

static void drop_prepared(struct task_take *take) {
    if (take->prepared != NULL) {
        internal_submit_cancel(take->prepared);
        take->prepared = NULL;
    }
}

static void claim(struct task_take *take) {
    if (reactor_now_ms(gateway_of(take)->reactor) - take->prepared_ms > PREPARED_MAX_MS) {
        drop_prepared(take);
        take->taking->options->facts_read_to = 0; /* that is as old */
    }
    if (take->prepared == NULL && !prepare(take)) {
        const struct failure failure = failure_of_status(PARLEY_E_MEMORY);
        note_failed(take, &failure);
        end(take, TASK_TAKE_FAILED);
        return;
    }
    struct internal_submit *prepared = take->prepared;
    take->prepared = NULL;
    enter(take, TASK_TAKE_CLAIMING);
    internal_submit_release(prepared);
}

/* ---- the request's message ---- */

/* Returns: false: those before have used the room up. */
static bool take_room(struct task_taking *taking, size_t bytes) {
    if (taking->room == 0) {
        return false;
    }
    taking->room = taking->room > bytes ? taking->room - bytes : 0;
    return true;
}

static void on_fetched(void *context, const struct jetstream_last *last) {
    struct task_take *take = context;
    take->asked = NULL;
    if (last->found != JETSTREAM_LAST_FOUND) {
        drop_prepared(take);
    }
    if (last->found == JETSTREAM_LAST_NONE) {
        board_lost(take->taking->board, take->find.id);
        end(take, TASK_TAKE_GONE);
    } else if (last->found != JETSTREAM_LAST_FOUND) {
        note_away(take, "The task could not be read from NATS");
        end(take, TASK_TAKE_FAILED);
    } else if (!take_room(take->taking, last->payload.length)) {
        drop_prepared(take);
        give_back(take);
        end(take, TASK_TAKE_LEFT);
    } else {
        parley_buffer_append(&take->item, last->payload);
        claim(take);
    }
}

bool task_take_begin(struct task_take *take, struct task_taking *taking) {
    take->taking = taking;
    take->phase = TASK_TAKE_FETCHING;
    parley_buffer_init(&take->item);
    take->asked = jetstream_message_ask(gateway_of(take)->jetstream, take->find.stream,
                                        take->find.sequence, on_fetched, take);
    if (take->asked == NULL) {
        note_away(take, "NATS cannot be asked now");
        enter(take, TASK_TAKE_OVER);
        take->end = TASK_TAKE_FAILED;
        return false;
    }
    (void)prepare(take); /* else later */
    return true;
}

bool task_take_cancel(struct task_take *take) {
    if (take->phase == TASK_TAKE_FETCHING) {
        jetstream_request_cancel(take->asked);
        take->asked = NULL;
        drop_prepared(take);
        give_back(take);
        enter(take, TASK_TAKE_OVER);
        take->end = TASK_TAKE_LEFT;
    }
    return take->phase == TASK_TAKE_OVER;
}

void task_take_finish(struct task_take *take) {
    parley_buffer_finish(&take->item);
}
