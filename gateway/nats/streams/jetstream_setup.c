/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_setup.h. A round checks all streams at once: after each connection, again soon
 * while something is wrong, and every few seconds otherwise, so that a stream that was deleted,
 * changed or filled is noticed before a message fails. (The server's advisories start a round at
 * once, where the account may subscribe to them.) A missing stream is created, though one that
 * vanished only after a while; one that exists is used unchanged; jetstream_check.c describes its
 * problem in a sentence. */

#include "jetstream_setup.h"

#include "jetstream_config.h"
#include "jetstream_check.h"
#include "jetstream_lookup.h"
#include "jetstream_placement.h"
#include "jetstream_reach.h"
#include "jetstream_request.h"
#include "jetstream_state.h"
#include "jetstream_trouble.h"
#include "ordered_consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_A_MS INT64_C(1000000)

enum {
    OVERLAPS_MAX = 8,  /* while another reactor creates it, it may overlap with itself */
    DELETION_MS = 500, /* how long deleting a small stream takes at most */
    DELETION_BYTES_A_MS = 512 * 1024,
    DELETION_MAX_MS = 30000,
    UNUSABLE_RETRY_MS = 2000, /* only an operator can change it */
    OFF_RETRY_MS = 1000,      /* JetStream is not enabled: there is no hurry */
    DIRECT_DEAD_MS = 60000,
    DELETED_LISTED_MAX = 10000, /* sequences of a stream: some 100 KB */
};

static const struct jetstream_stream PROBE = {.name = "PARLEY_PROBE",
                                              .subjects = JETSTREAM_PROBE_SUBJECT};

static void end_check(struct jetstream *jetstream);

/* A question of this round, which end_check ends. */
static void begin_check(struct jetstream *jetstream) {
    jetstream->setup.pending_count++;
    jetstream->setup.asked_count++;
}

static void ask_for(struct jetstream_check *check, const char *verb, json_t *body,
                    jetstream_answer_fn *done) {
    char what[JETSTREAM_SUBJECT_MAX];
    begin_check(check->jetstream);
    snprintf(what, sizeof what, "STREAM.%s.%s", verb, check->place.stream);
    check->request = jetstream_request_send(check->jetstream, what, body, done, check);
    if (check->request == NULL) {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING, "%s", "");
        end_check(check->jetstream);
    }
}

/* A check's request has ended.  Returns: the error of its answer; -1 if there is no answer. */
static int take_answer(struct jetstream_check *check, const json_t *answer) {
    struct jetstream *jetstream = check->jetstream;
    check->request = NULL;
    if (answer == NULL) {
        jetstream->setup.silent_count++;
        return -1;
    }
    /* While nothing can be published, an answer shows that the server is not wedged. */
    if (!jetstream_can_publish(jetstream)) {
        jetstream_note_good(jetstream);
    }
    return jetstream_answer_error(answer);
}

static void note_times(struct jetstream_check *check, const json_t *answer) {
    check->dedupe_window_ms =
        (int64_t)jetstream_answer_number(answer, "config", "duplicate_window") / NS_A_MS;
    check->max_age_ms = (int64_t)jetstream_answer_number(answer, "config", "max_age") / NS_A_MS;
}

static void note_created(struct jetstream_check *check, const json_t *answer) {
    const struct jetstream *jetstream = check->jetstream;
    const char *created = json_string_value(json_object_get(answer, "created"));
    check->gone_ms = -1;
    check->bytes = jetstream_answer_number(answer, "state", "bytes");
    if (created == NULL || strcmp(check->created, created) == 0) {
        return;
    }
    const bool is_renewed = check->created[0] != '\0';
    check->reached = 0;
    check->direct = JETSTREAM_DIRECT_OFF;
    snprintf(check->created, sizeof check->created, "%s", created);
    if (is_renewed && jetstream->events.renewed != NULL) {
        jetstream->events.renewed(jetstream->events.context, check->place.stream);
    }
}

static void note_copies(struct jetstream_check *check, const json_t *answer) {
    check->copies = (unsigned)jetstream_answer_number(answer, "config", "num_replicas");
}

static void note_direct(struct jetstream_check *check, const json_t *answer) {
    const json_t *config = json_object_get(answer, "config");
    const bool is_leader_alone = check->copies == 1;
    const int64_t dead_ms = reactor_now_ms(check->jetstream->reactor) - check->direct_dead_ms;
    if (check->direct != JETSTREAM_DIRECT_DEAD || dead_ms > DIRECT_DEAD_MS) {
        check->direct = is_leader_alone && json_is_true(json_object_get(config, "allow_direct"))
                            ? JETSTREAM_DIRECT_ON
                            : JETSTREAM_DIRECT_OFF;
    }
}

/* ---- creating ---- */

/* nats-server 2.9 announces a deletion, and frees the name, before it removes the files. A stream
 * created in between gets the old messages, or loses its own with the files, although they were
 * acknowledged. Only the client that deleted it is notified when the files are removed, so a stream
 * that vanished is created after the time that this takes. */
static bool may_have_files(struct jetstream_check *check) {
    const int64_t now_ms = reactor_now_ms(check->jetstream->reactor);
    if (check->gone_ms < 0) {
        check->gone_ms = now_ms;
    }
    const uint64_t needed_ms = DELETION_MS + check->bytes / DELETION_BYTES_A_MS;
    const int64_t wait_ms = needed_ms < DELETION_MAX_MS ? (int64_t)needed_ms : DELETION_MAX_MS;
    return check->created[0] != '\0' && now_ms - check->gone_ms < wait_ms;
}

static void refuse_creation(struct jetstream_check *check, int error, const char *reason) {
    const char *remedy = "correct that, then start parley again";
    if (error == JETSTREAM_E_SUBJECT_OVERLAP) {
        remedy = "another stream has these subjects already: change or delete that stream, or "
                 "choose another subject prefix";
    } else if (error == JETSTREAM_E_NO_REPLICAS) {
        remedy = "this NATS server is not part of a cluster: start with --replicas 1, or use a "
                 "cluster";
    }
    jetstream_grade_set(check, JETSTREAM_IS_UNUSABLE,
                        "stream %s (%s) cannot be created: %s (%d); %s", check->place.stream,
                        check->group->stream->subjects, reason, error, remedy);
    check->overlap_count = 0;
}

static void on_created(void *context, json_t *answer) {
    struct jetstream_check *check = context;
    const int error = take_answer(check, answer);
    if (error == 0) {
        check->overlap_count = 0;
        check->refusal.why[0] = '\0';
        jetstream_grade_set(check, JETSTREAM_IS_USABLE, "%s", "");
        note_times(check, answer);
        note_created(check, answer);
        note_copies(check, answer);
        note_direct(check, answer);
    } else if (error == JETSTREAM_E_NO_REPLICAS ||
               (error == JETSTREAM_E_SUBJECT_OVERLAP && ++check->overlap_count == OVERLAPS_MAX)) {
        refuse_creation(check, error, jetstream_answer_text(answer));
    } else if (error == JETSTREAM_E_SUBJECT_OVERLAP || error == JETSTREAM_E_NAME_IN_USE) {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING, "%s", ""); /* another client was faster */
    } else if (error < 0) {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING,
                            "stream %s is missing, and JetStream does not answer the request to "
                            "create it",
                            check->place.stream);
    } else {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING,
                            "stream %s is missing and cannot be created at present: %s (%d)",
                            check->place.stream, jetstream_answer_text(answer), error);
    }
    end_check(check->jetstream);
}

/* ---- damage ---- */

static void on_details(void *context, json_t *answer) {
    struct jetstream_check *check = context;
    const struct jetstream_events *events = &check->jetstream->events;
    const json_t *lost = json_object_get(json_object_get(answer, "state"), "lost");
    const json_int_t bytes = json_integer_value(json_object_get(lost, "bytes"));
    check->details = NULL;
    if (bytes > 0) {
        events->damaged(events->context, check->place.stream, (uint64_t)bytes);
    }
}

/* The server reports the messages that it could not read only together with the list of deleted
 * ones. It is asked once per connection, beside the round, since nothing waits for it; and not
 * where the list is long. */
static void look_for_damage(struct jetstream_check *check, const json_t *answer) {
    char what[JETSTREAM_SUBJECT_MAX];
    if (check->has_asked_details || check->jetstream->events.damaged == NULL ||
        jetstream_answer_number(answer, "state", "num_deleted") > DELETED_LISTED_MAX) {
        return;
    }
    snprintf(what, sizeof what, "STREAM.INFO.%s", check->place.stream);
    check->details = jetstream_request_send(
        check->jetstream, what, json_pack("{sb}", "deleted_details", 1), on_details, check);
    check->has_asked_details = check->details != NULL;
}

/* ---- checking ---- */

/* A purged stream has a last sequence too, but nothing up to it. */
static void compare_consumers(struct jetstream_check *check, const json_t *answer) {
    struct jetstream *jetstream = check->jetstream;
    const uint64_t count = jetstream_answer_number(answer, "state", "messages");
    const uint64_t first = jetstream_answer_number(answer, "state", "first_seq");
    const uint64_t last = count > 0 ? jetstream_answer_number(answer, "state", "last_seq") : 0;
    const bool is_replicated = jetstream_answer_number(answer, "config", "num_replicas") > 1;
    check->whole_from = is_replicated && last + 1 == first + count ? first : 0;
    ordered_consumers_compare(jetstream, check->place.stream, check->whole_from, last,
                              reactor_now_ms(jetstream->reactor));
}

static bool is_jetstream_off(int error) {
    return error == JETSTREAM_NO_RESPONDERS || error == JETSTREAM_E_OFF ||
           error == JETSTREAM_E_OFF_FOR_ACCOUNT;
}

/* An operator may have made a stream for its subjects: that is looked up first. */
static bool is_to_be_created(struct jetstream_check *check) {
    const struct jetstream_group *group = check->group;
    const bool is_own = check == group->checks;
    return is_own && !may_have_files(check) &&
           (group->stream->families == NULL || group->placement == JETSTREAM_FRESH);
}

/* At once, or at the end of the round, when the others are there that it depends on. */
static void create(struct jetstream_check *check) {
    check->direct = JETSTREAM_DIRECT_OFF;
    check->is_deferred = !jetstream_config_is_known(check);
    if (check->is_deferred) {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING, "%s", "");
    } else {
        ask_for(check, "CREATE", jetstream_config_of(check), on_created);
    }
}

static void note_missing(struct jetstream_check *check) {
    struct jetstream_group *group = check->group;
    check->direct = JETSTREAM_DIRECT_OFF;
    if (group->stream->families != NULL) {
        group->placement = JETSTREAM_UNPLACED;
    }
    if (check == group->checks) {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING, "%s", "");
    } else {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING,
                            "stream %s, which had subjects of %s, does not exist any more",
                            check->place.stream, group->stream->subjects);
    }
}

static void on_info(void *context, json_t *answer) {
    struct jetstream_check *check = context;
    const int error = take_answer(check, answer);
    if (error == JETSTREAM_E_NO_STREAM && is_to_be_created(check)) {
        create(check);
        end_check(check->jetstream);
        return;
    }
    if (error == 0 && json_object_get(answer, "config") != NULL) {
        check->overlap_count = 0;
        note_times(check, answer);
        jetstream_judge(check, answer);
        note_created(check, answer);
        note_copies(check, answer);
        note_direct(check, answer);
        jetstream_reach_look(check, jetstream_answer_number(answer, "state", "last_seq"));
        look_for_damage(check, answer);
        compare_consumers(check, answer);
    } else if (error == JETSTREAM_E_NO_STREAM) {
        note_missing(check);
    } else if (is_jetstream_off(error)) {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING, "%s", "");
        check->jetstream->setup.off_error = error;
    } else if (error < 0) {
        jetstream_grade_set(
            check, JETSTREAM_IS_PENDING,
            "JetStream does not answer requests about stream %s: the stream may have "
            "no leader at present",
            check->place.stream);
    } else {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING, "stream %s cannot be looked up: %s (%d)",
                            check->place.stream, jetstream_answer_text(answer), error);
    }
    end_check(check->jetstream);
}

/* ---- places ---- */

static void check_places(struct jetstream_group *group) {
    for (size_t i = 0; i < group->check_count; i++) {
        if (group->checks[i].place.families != 0) {
            group->checks[i].is_deferred = false;
            ask_for(&group->checks[i], "INFO", NULL, on_info);
        }
    }
}

static void place(struct jetstream_group *group) {
    struct jetstream_map_build placing;
    size_t count;
    const struct jetstream_found *found = jetstream_lookup_found(group->lookup, &count);
    jetstream_map_build_find(group->stream, found, count, &placing);
    if (placing.fault[0] != '\0') {
        jetstream_map_give_up(group);
        jetstream_grade_set(group->checks, JETSTREAM_IS_UNUSABLE, "%s", placing.fault);
        return;
    }
    jetstream_map_assign(group, &placing, found);
    group->placement = JETSTREAM_FRESH;
    check_places(group);
}

static void on_looked_up(struct jetstream_group *group, int error, const char *text) {
    struct jetstream *jetstream = group->jetstream;
    struct jetstream_check *own = group->checks;
    if (error == 0) {
        place(group);
    } else if (is_jetstream_off(error)) {
        jetstream_grade_set(own, JETSTREAM_IS_PENDING, "%s", "");
        jetstream->setup.off_error = error;
    } else if (error < 0) {
        jetstream->setup.silent_count++;
        jetstream_grade_set(own, JETSTREAM_IS_PENDING,
                            "JetStream does not answer which streams have subjects of %s",
                            group->stream->subjects);
    } else {
        jetstream_grade_set(own, JETSTREAM_IS_PENDING,
                            "the streams that have subjects of %s cannot be looked up: %s (%d)",
                            group->stream->subjects, text, error);
    }
    if (error >= 0 && !jetstream_can_publish(jetstream)) {
        jetstream_note_good(jetstream);
    }
    end_check(jetstream);
}

static void look_up(struct jetstream_group *group) {
    begin_check(group->jetstream);
    if (!jetstream_lookup_begin(group->lookup)) {
        jetstream_grade_set(group->checks, JETSTREAM_IS_PENDING, "%s", "");
        end_check(group->jetstream);
    }
}

/* ---- rounds ---- */

static void begin_round(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    reactor_timer_clear(jetstream->reactor, &setup->next);
    setup->pending_count = 1; /* this function's own */
    setup->asked_count = 0;
    setup->silent_count = 0;
    setup->off_error = 0;
    setup->is_recheck_due = false;
    for (size_t i = 0; i < setup->group_count; i++) {
        struct jetstream_group *group = &setup->groups[i];
        if (group->placement == JETSTREAM_UNPLACED) {
            look_up(group);
        } else {
            group->placement = JETSTREAM_PLACED;
            check_places(group);
        }
    }
    end_check(jetstream);
}

static void on_next(struct reactor_timer *timer) {
    begin_round(OWNER_OF(timer, struct jetstream, setup.next));
}

/* One that is only wanted is waited for while it is created for the first time, which takes a
 * moment. */
static bool is_awaited(const struct jetstream_check *check) {
    const bool is_being_created = check->trouble[0] == '\0' && check->created[0] == '\0';
    return check->grade == JETSTREAM_IS_PENDING && (jetstream_is_needed(check) || is_being_created);
}

static bool is_any_awaited(const struct jetstream_setup *setup) {
    for (size_t i = 0; i < setup->check_count; i++) {
        if (is_awaited(&setup->checks[i])) {
            return true;
        }
    }
    return false;
}

static bool is_in_the_way(const struct jetstream_check *check) {
    return check->grade == JETSTREAM_IS_UNUSABLE && jetstream_is_needed(check);
}

static void note_unusable(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    const char *first = NULL;
    setup->unusable_count = 0;
    for (size_t i = 0; i < setup->check_count; i++) {
        if (is_in_the_way(&setup->checks[i])) {
            first = setup->unusable_count++ == 0 ? setup->checks[i].trouble : first;
        }
    }
    if (first != NULL) {
        jetstream->events.unusable(jetstream->events.context, first);
    }
}

/* A cluster's servers learn a stream's subjects a moment after its leader answers: until then a
 * message is refused with "no responders". So in a cluster all streams are checked once more. */
static bool has_settled(struct jetstream *jetstream) {
    const bool has = jetstream->options.replicas <= 1 || jetstream->setup.has_settled;
    jetstream->setup.has_settled = true;
    return has;
}

/* Before parley is first ready, an unusable stream that it needs stops everything, as a wrong
 * configuration does.
 * Later it stops only messages to it, also across reconnects.  Returns: when to begin the next
 * round. */
static int64_t close_round(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    note_unusable(jetstream);
    if (setup->unusable_count > 0 && !setup->has_started) {
        return UNUSABLE_RETRY_MS;
    }
    if (is_any_awaited(setup)) {
        return setup->off_error != 0 ? OFF_RETRY_MS : JETSTREAM_RETRY_MS;
    }
    if (!has_settled(jetstream)) {
        return JETSTREAM_RETRY_MS;
    }
    setup->ready(jetstream);
    return jetstream->options.watch_ms > 0 ? jetstream->options.watch_ms : JETSTREAM_WATCH_MS;
}

/* Returns: whether the round continues. */
static bool create_deferred(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    bool is_any = false;
    setup->pending_count = 1; /* this function's own */
    for (size_t i = 0; i < setup->check_count; i++) {
        struct jetstream_check *check = &setup->checks[i];
        if (check->is_deferred && jetstream_config_is_known(check)) {
            create(check);
            is_any = true;
        }
        check->is_deferred = false;
    }
    setup->pending_count--;
    return is_any && setup->pending_count > 0;
}

/* One of the checks is done; after the last one the round is. */
static void end_check(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    if (--setup->pending_count > 0 || create_deferred(jetstream)) {
        return;
    }
    setup->last_off_error = setup->off_error;
    setup->last_round = setup->silent_count == 0                    ? JETSTREAM_ROUND_ANSWERED
                        : setup->silent_count >= setup->asked_count ? JETSTREAM_ROUND_SILENT
                                                                    : JETSTREAM_ROUND_PARTLY;
    jetstream_trouble_review(jetstream);
    int64_t delay_ms = close_round(jetstream);
    if (setup->is_recheck_due) {
        delay_ms = 0;
    }
    reactor_timer_set(jetstream->reactor, &setup->next, delay_ms);
}

void jetstream_setup_begin(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    setup->has_settled = false;
    for (size_t i = 0; i < setup->check_count; i++) {
        setup->checks[i].direct = JETSTREAM_DIRECT_OFF;
        setup->checks[i].has_asked_details = false;
    }
    for (size_t i = 0; i < setup->group_count; i++) {
        struct jetstream_group *group = &setup->groups[i];
        group->placement = group->lookup != NULL ? JETSTREAM_UNPLACED : JETSTREAM_PLACED;
    }
    begin_round(jetstream);
}

void jetstream_setup_end(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    reactor_timer_clear(jetstream->reactor, &setup->next);
    for (size_t i = 0; i < setup->check_count; i++) {
        jetstream_request_cancel(setup->checks[i].request);
        jetstream_request_cancel(setup->checks[i].details);
        setup->checks[i].request = setup->checks[i].details = NULL;
    }
    for (size_t i = 0; i < setup->group_count; i++) {
        if (setup->groups[i].lookup != NULL) {
            jetstream_lookup_cancel(setup->groups[i].lookup);
        }
    }
    setup->pending_count = 0;
    setup->last_off_error = 0;
    setup->last_round = JETSTREAM_ROUND_NONE;
}

/* ---- creation ---- */

static size_t family_count(const struct jetstream_stream *stream) {
    size_t count = 0;
    while (stream->families != NULL && stream->families[count] != NULL) {
        count++;
    }
    return count;
}

static void init_check(struct jetstream_check *check, struct jetstream_group *group) {
    *check = (struct jetstream_check){.jetstream = group->jetstream,
                                      .group = group,
                                      .dedupe_window_ms = -1,
                                      .max_age_ms = -1,
                                      .gone_ms = -1};
}

/* The own stream's check is there even while it stores no family. */
static bool init_group(struct jetstream_group *group, struct jetstream_check *checks) {
    const struct jetstream_stream *stream = group->stream;
    group->checks = checks;
    group->check_count = 1 + family_count(stream);
    for (size_t i = 0; i < group->check_count; i++) {
        init_check(&checks[i], group);
    }
    struct jetstream_place *own = &checks[0].place;
    snprintf(own->stream, sizeof own->stream, "%s", stream->name);
    own->families = stream->families == NULL ? 1 : 0;
    group->lookup = stream->families != NULL ? jetstream_lookup_create(group, on_looked_up) : NULL;
    return stream->families == NULL || group->lookup != NULL;
}

static void list_groups(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    const size_t stream_count = jetstream->options.stream_count;
    for (size_t i = 0; i < setup->group_count; i++) {
        struct jetstream_group *group = &setup->groups[i];
        group->jetstream = jetstream;
        group->stream = i < stream_count ? &jetstream->options.streams[i] : &PROBE;
        setup->check_count += 1 + family_count(group->stream);
    }
}

enum parley_status jetstream_setup_create(struct jetstream *jetstream,
                                          void (*ready)(struct jetstream *jetstream)) {
    struct jetstream_setup *setup = &jetstream->setup;
    setup->ready = ready;
    setup->next.fire = on_next;
    setup->group_count = jetstream->options.stream_count + (jetstream->options.is_probing ? 1 : 0);
    setup->groups = calloc(setup->group_count + 1, sizeof *setup->groups);
    if (setup->groups == NULL) {
        return PARLEY_E_MEMORY;
    }
    list_groups(jetstream);
    setup->checks = calloc(setup->check_count + 1, sizeof *setup->checks);
    struct jetstream_check *next = setup->checks;
    for (size_t i = 0; next != NULL && i < setup->group_count; i++) {
        if (!init_group(&setup->groups[i], next)) {
            return PARLEY_E_MEMORY;
        }
        next += setup->groups[i].check_count;
    }
    return next != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

void jetstream_setup_destroy(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    for (size_t i = 0; setup->groups != NULL && i < setup->group_count; i++) {
        jetstream_lookup_destroy(setup->groups[i].lookup);
    }
    free(setup->groups);
    free(setup->checks);
}
