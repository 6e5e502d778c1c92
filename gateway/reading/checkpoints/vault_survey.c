/* SPDX-License-Identifier: Apache-2.0 */

/* See vault_survey.h. The steps are those of a restore, without the state and the answer: the last
 * checkpoint, where the log after it begins, the log. Without a checkpoint it is all of the log
 * that the stream has. What ends it only sets its timer, so that nothing that is being read is
 * closed from one of its own callbacks. */

#include "vault_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vault_checkpoint.h"
#include "vault_log.h"
#include "vault_start.h"
#include "vault_task.h"

enum {
    LOG_BYTES_MAX = 4 * 1024 * 1024, /* five minutes of a hundred entries a second */
    PATIENCE_MS = 2000,              /* of the ten seconds that the request has */
};

struct vault_survey {
    struct vault_place place;
    vault_survey_fn *done;
    void *context;
    struct reactor_timer timer; /* fires once it has ended, or has taken too long */
    struct jetstream_request *asked;
    struct vault_checkpoint checkpoint;
    struct vault_task task;
    enum parley_status result; /* of the task */
    struct parley_message message;
    struct vault_start start;
    struct vault_log log;
    bool is_whole;  /* the log was read up to its end */
    bool is_over;   /* nothing more is read */
    bool is_closed; /* the task is still to end */
    struct parley_log_gaps missing;
};

/* ---- its end ---- */

static void end(struct vault_survey *survey, bool is_whole) {
    survey->is_whole = is_whole;
    reactor_timer_set(survey->place.vault->reactor, &survey->timer, 0);
}

static void stop(struct vault_survey *survey) {
    survey->is_over = true;
    reactor_timer_clear(survey->place.vault->reactor, &survey->timer);
    jetstream_request_cancel(survey->asked);
    survey->asked = NULL;
    vault_start_close(&survey->start);
    vault_log_close(&survey->log);
}

static void on_timer(struct reactor_timer *timer) {
    struct vault_survey *survey = OWNER_OF(timer, struct vault_survey, timer);
    const struct vault_holes *holes = &survey->log.holes;
    stop(survey);
    survey->missing = (struct parley_log_gaps){.runs = holes->runs,
                                               .count = holes->count,
                                               .has_more = holes->has_more || !survey->is_whole};
    survey->done(survey->context, &survey->missing);
}

static void destroy(struct vault_survey *survey) {
    vault_checkpoint_finish(&survey->checkpoint, survey->place.vault);
    parley_message_finish(&survey->message);
    free(survey);
}

void vault_survey_close(struct vault_survey *survey) {
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

static void read_log(struct vault_survey *survey, uint64_t start) {
    survey->log = (struct vault_log){
        .place = &survey->place,
        .after = &survey->checkpoint.says,
        .start = start,
        .message = &survey->message,
        .bytes_max = LOG_BYTES_MAX,
        .events = {
            .entries = on_entries, .is_full = is_full, .ended = on_logged, .context = survey}};
    vault_log_open(&survey->log);
}

static void on_start(void *context, uint64_t sequence, const char *error) {
    if (error != NULL) {
        end(context, false);
    } else {
        read_log(context, sequence);
    }
}

static void find_start(struct vault_survey *survey) {
    const struct vault_checkpoint *checkpoint = &survey->checkpoint;
    if (!checkpoint->is_valid) {
        survey->checkpoint.says = (struct parley_checkpoint){0};
        read_log(survey, 1);
    } else if (!checkpoint->says.has_position) {
        read_log(survey, checkpoint->begun + 1);
    } else {
        survey->start = (struct vault_start){.place = &survey->place,
                                             .checkpoint = checkpoint,
                                             .done = on_start,
                                             .context = survey,
                                             .message = &survey->message};
        vault_start_find(&survey->start);
    }
}

/* ---- the checkpoint ---- */

static void check(struct vault_task *task) {
    struct vault_survey *survey = OWNER_OF(task, struct vault_survey, task);
    survey->result = vault_checkpoint_check(&survey->checkpoint, &survey->place);
}

static void on_checked(struct vault_task *task) {
    struct vault_survey *survey = OWNER_OF(task, struct vault_survey, task);
    if (survey->is_closed) {
        destroy(survey);
    } else if (!survey->is_over && survey->result == PARLEY_OK) {
        find_start(survey);
    } else if (!survey->is_over) {
        end(survey, false);
    }
}

static void on_held(void *context, const struct jetstream_held *held) {
    struct vault_survey *survey = context;
    survey->asked = NULL;
    if (held->found == JETSTREAM_HELD_UNKNOWN) {
        end(survey, false);
        return;
    }
    const enum vault_taken taken =
        held->found == JETSTREAM_HELD_FOUND
            ? vault_checkpoint_take(&survey->checkpoint, &survey->place, held)
            : VAULT_NO_CHECKPOINT;
    if (taken == VAULT_TAKEN) {
        survey->task = (struct vault_task){.work = check, .done = on_checked};
        vault_task_run(&survey->task, survey->place.vault);
    } else if (taken == VAULT_NO_CHECKPOINT) {
        find_start(survey);
    } else {
        end(survey, false);
    }
}

/* ---- its beginning ---- */

static bool begin(struct vault_survey *survey) {
    const struct vault_place *place = &survey->place;
    struct jetstream *jetstream = place->vault->jetstream;
    const struct jetstream_place *found = jetstream_place_find(jetstream, place->checkpoints);
    if (!jetstream_place_takes_consumers(found)) {
        return false;
    }
    snprintf(survey->place.stream, sizeof survey->place.stream, "%s", found->stream);
    survey->asked =
        jetstream_last_held_ask(jetstream, place->stream, place->checkpoints, on_held, survey);
    return survey->asked != NULL;
}

struct vault_survey *vault_survey_open(struct vault *vault, const struct parley_protocol *protocol,
                                       const char *agent, vault_survey_fn *done, void *context) {
    struct vault_survey *survey =
        strlen(agent) < VAULT_AGENT_MAX ? calloc(1, sizeof *survey) : NULL;
    if (survey == NULL) {
        return NULL;
    }
    vault_place_fill(&survey->place, vault, protocol, agent);
    survey->done = done;
    survey->context = context;
    survey->timer.fire = on_timer;
    vault_checkpoint_init(&survey->checkpoint);
    parley_message_init(&survey->message, survey->place.schema);
    if (!begin(survey)) {
        destroy(survey);
        return NULL;
    }
    reactor_timer_set(vault->reactor, &survey->timer, PATIENCE_MS);
    return survey;
}
