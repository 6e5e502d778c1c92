/* SPDX-License-Identifier: Apache-2.0 */

/* See log_survey.h. The steps are those of a restore, without the state and the answer: the last
 * checkpoint, where the log after it begins, the log. Without a checkpoint it is all of the log
 * that the stream has. What ends it only sets its timer, so that nothing that is being read is
 * closed from one of its own callbacks. */

#include "log_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stored_checkpoint.h"
#include "agent_log.h"
#include "log_start.h"
#include "checkpoint_task.h"

enum {
    LOG_BYTES_MAX = 4 * 1024 * 1024, /* five minutes of a hundred entries a second */
    PATIENCE_MS = 2000,              /* of the ten seconds that the request has */
};

struct log_survey {
    struct checkpoint_scope scope;
    log_survey_fn *done;
    void *context;
    struct reactor_timer timer; /* fires once it has ended, or has taken too long */
    struct jetstream_request *asked;
    struct stored_checkpoint checkpoint;
    struct checkpoint_task task;
    enum parley_status result; /* of the task */
    struct parley_message message;
    struct log_start start;
    struct agent_log log;
    bool is_whole;  /* the log was read up to its end */
    bool is_over;   /* nothing more is read */
    bool is_closed; /* the task is still to end */
    struct parley_log_gaps missing;
};

/* ---- its end ---- */

static void end(struct log_survey *survey, bool is_whole) {
    survey->is_whole = is_whole;
    reactor_timer_set(survey->scope.checkpoints->reactor, &survey->timer, 0);
}

static void stop(struct log_survey *survey) {
    survey->is_over = true;
    reactor_timer_clear(survey->scope.checkpoints->reactor, &survey->timer);
    jetstream_request_cancel(survey->asked);
    survey->asked = NULL;
    log_start_close(&survey->start);
    agent_log_close(&survey->log);
}

static void on_timer(struct reactor_timer *timer) {
    struct log_survey *survey = OWNER_OF(timer, struct log_survey, timer);
    const struct log_gaps *holes = &survey->log.holes;
    stop(survey);
    survey->missing = (struct parley_log_gaps){.runs = holes->runs,
                                               .count = holes->count,
                                               .has_more = holes->has_more || !survey->is_whole};
    survey->done(survey->context, &survey->missing);
}

static void destroy(struct log_survey *survey) {
    stored_checkpoint_finish(&survey->checkpoint, survey->scope.checkpoints);
    parley_message_finish(&survey->message);
    free(survey);
}

void log_survey_close(struct log_survey *survey) {
    if (survey == NULL) {
        return;
    }
    stop(survey);
    survey->is_closed = true;
    if (!survey->task.is_busy) {
        destroy(survey);
    }
}

/* ---- the log ---- */

/* Only their numbers are wanted, which the log notes itself. */
static const char *on_entries(void *context, struct parley_bytes text) {
    (void)context;
    (void)text;
    return NULL;
}

static bool is_full(void *context) {
    (void)context;
    return false;
}

static void on_logged(void *context, const char *error) {
    end(context, error == NULL);
}

static void read_log(struct log_survey *survey, uint64_t start) {
    survey->log = (struct agent_log){
        .scope = &survey->scope,
        .after = &survey->checkpoint.says,
        .start = start,
        .message = &survey->message,
        .bytes_max = LOG_BYTES_MAX,
        .events = {
            .entries = on_entries, .is_full = is_full, .ended = on_logged, .context = survey}};
    agent_log_open(&survey->log);
}

static void on_start(void *context, uint64_t sequence, const char *error) {
    if (error != NULL) {
        end(context, false);
    } else {
        read_log(context, sequence);
    }
}

static void find_start(struct log_survey *survey) {
    const struct stored_checkpoint *checkpoint = &survey->checkpoint;
    if (!checkpoint->is_valid) {
        survey->checkpoint.says = (struct parley_checkpoint){0};
        read_log(survey, 1);
    } else if (!checkpoint->says.has_position) {
        read_log(survey, checkpoint->begun + 1);
    } else {
        survey->start = (struct log_start){.scope = &survey->scope,
                                           .checkpoint = checkpoint,
                                           .done = on_start,
                                           .context = survey,
                                           .message = &survey->message};
        log_start_find(&survey->start);
    }
}

/* ---- the checkpoint ---- */

static void check(struct checkpoint_task *task) {
    struct log_survey *survey = OWNER_OF(task, struct log_survey, task);
    survey->result = stored_checkpoint_check(&survey->checkpoint, &survey->scope);
}

static void on_checked(struct checkpoint_task *task) {
    struct log_survey *survey = OWNER_OF(task, struct log_survey, task);
    if (survey->is_closed) {
        destroy(survey);
    } else if (!survey->is_over && survey->result == PARLEY_OK) {
        find_start(survey);
    } else if (!survey->is_over) {
        end(survey, false);
    }
}

static void on_held(void *context, const struct jetstream_held *held) {
    struct log_survey *survey = context;
    survey->asked = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        end(survey, false);
        return;
    }
    const enum stored_checkpoint_taken taken =
        held->found == JETSTREAM_HELD_FOUND
            ? stored_checkpoint_take(&survey->checkpoint, &survey->scope, held)
            : STORED_CHECKPOINT_NO_CHECKPOINT;
    if (taken == STORED_CHECKPOINT_TAKEN) {
        survey->task = (struct checkpoint_task){.work = check, .done = on_checked};
        checkpoint_task_run(&survey->task, survey->scope.checkpoints);
    } else if (taken == STORED_CHECKPOINT_NO_CHECKPOINT) {
        find_start(survey);
    } else {
        end(survey, false);
    }
}

/* ---- its beginning ---- */

static bool begin(struct log_survey *survey) {
    const struct checkpoint_scope *scope = &survey->scope;
    struct jetstream *jetstream = scope->checkpoints->jetstream;
    const struct jetstream_place *found = jetstream_place_find(jetstream, scope->subject);
    if (!jetstream_place_takes_consumers(found)) {
        return false;
    }
    snprintf(survey->scope.stream, sizeof survey->scope.stream, "%s", found->stream);
    survey->asked =
        jetstream_last_held_ask(jetstream, scope->stream, scope->subject, on_held, survey);
    return survey->asked != NULL;
}

struct log_survey *log_survey_open(struct checkpoints *checkpoints,
                                   const struct parley_protocol *protocol, const char *agent,
                                   log_survey_fn *done, void *context) {
    struct log_survey *survey =
        strlen(agent) < CHECKPOINT_AGENT_MAX ? calloc(1, sizeof *survey) : NULL;
    if (survey == NULL) {
        return NULL;
    }
    checkpoint_scope_fill(&survey->scope, checkpoints, protocol, agent);
    survey->done = done;
    survey->context = context;
    survey->timer.fire = on_timer;
    stored_checkpoint_init(&survey->checkpoint);
    parley_message_init(&survey->message, survey->scope.schema);
    if (!begin(survey)) {
        destroy(survey);
        return NULL;
    }
    reactor_timer_set(checkpoints->reactor, &survey->timer, PATIENCE_MS);
    return survey;
}
