/* SPDX-License-Identifier: Apache-2.0 */

#include "log_start.h"

enum { FIRST_DISTANCE = 1024, FACTOR = 8 };

static void ask(struct log_start *start);

bool log_start_is_before(int64_t first_number, int64_t position) {
    return first_number <= position || first_number - 1 == position;
}

static void finish(struct log_start *start, const char *error) {
    start->done(start->context, start->at, error);
}

static void step_back(struct log_start *start) {
    const uint64_t from = start->checkpoint->begun + 1;
    start->at = from > start->distance ? from - start->distance : 1;
    start->distance *= FACTOR;
    start->log = 0;
    start->found_sequence = 0;
    ask(start);
}

/* Every kind of log was asked for its first message. */
static void judge(struct log_start *start) {
    const int64_t position = start->checkpoint->says.position;
    const bool is_before =
        start->found_sequence > 0 && log_start_is_before(start->found_number, position);
    if (is_before || start->at == 1) {
        finish(start, NULL);
    } else {
        step_back(start);
    }
}

/* An invalid message is ignored: then the search goes further back. */
static enum parley_status note(struct log_start *start, const struct jetstream_held *held) {
    const struct checkpoint_scope *scope = start->scope;
    bool is_ours = false;
    int64_t number = 0;
    PARLEY_TRY(agent_message_check(start->message, scope->channel, held->subject, held->payload,
                                   false, &is_ours));
    const bool is_first = start->found_sequence == 0 || held->sequence < start->found_sequence;
    if (is_ours && is_first &&
        scope->protocol->restore->first_number(start->message, &number) == PARLEY_OK) {
        start->found_sequence = held->sequence;
        start->found_number = number;
    }
    parley_message_reset(start->message);
    return PARLEY_OK;
}

static void on_held(void *context, const struct jetstream_held *held) {
    struct log_start *start = context;
    start->request = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        finish(start, held->error != NULL ? held->error : "NATS does not answer");
        return;
    }
    if (held->found == JETSTREAM_HELD_FOUND && note(start, held) != PARLEY_OK) {
        finish(start, "there is no memory to read the log");
        return;
    }
    if (start->scope->protocol->restore->logs[++start->log] == NULL) {
        judge(start);
    } else {
        ask(start);
    }
}

static void ask(struct log_start *start) {
    char subject[CHECKPOINT_SUBJECT_MAX];
    checkpoint_scope_subject(start->scope, start->scope->protocol->restore->logs[start->log],
                             subject);
    start->request =
        jetstream_next_held_ask(start->scope->checkpoints->jetstream, start->scope->stream, subject,
                                start->at, on_held, start);
    if (start->request == NULL) {
        finish(start, "NATS cannot be asked now");
    }
}

void log_start_find(struct log_start *start) {
    start->distance = FIRST_DISTANCE;
    step_back(start);
}

void log_start_close(struct log_start *start) {
    jetstream_request_cancel(start->request);
    start->request = NULL;
}
