/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_check.h. It sends no request and changes nothing on the server. Each change of a
 * sentence is reported, so a sentence must not change while its cause lasts: sentences contain
 * limits, and no counts. */

#include "jetstream_check.h"

#include "jetstream_placement.h"
#include "jetstream_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    AUTH_ERROR_KEPT_MS = 10000,
    MESSAGE_BYTES_MIN = 256, /* less than any message takes */
};

/* ---- subjects ---- */

static size_t token_length(const char *subject) {
    return strcspn(subject, ".");
}

bool jetstream_covers(const char *outer, const char *inner) {
    for (;;) {
        size_t outer_length = token_length(outer), inner_length = token_length(inner);
        bool is_inner_tail = inner_length == 1 && inner[0] == '>';
        if (outer_length == 1 && outer[0] == '>') {
            return true;
        }
        bool is_any = outer_length == 1 && outer[0] == '*';
        if (is_inner_tail || (!is_any && (outer_length != inner_length ||
                                          memcmp(outer, inner, inner_length) != 0))) {
            return false;
        }
        outer += outer_length;
        inner += inner_length;
        if (*outer == '\0' || *inner == '\0') {
            return *outer == *inner;
        }
        outer++;
        inner++;
    }
}

static bool stream_covers(const json_t *config, const char *subjects) {
    size_t index;
    json_t *subject;
    json_array_foreach(json_object_get(config, "subjects"), index, subject) {
        if (json_is_string(subject) && jetstream_covers(json_string_value(subject), subjects)) {
            return true;
        }
    }
    return false;
}

/* ---- problems that an operator must fix ---- */

static void add_consequence(struct jetstream_check *check) {
    const char *without = check->group->stream->without;
    const size_t length = strlen(check->trouble);
    if (without != NULL && length > 0) {
        snprintf(check->trouble + length, sizeof check->trouble - length, "; %s", without);
    }
}

enum jetstream_grade jetstream_grade_set(struct jetstream_check *check, enum jetstream_grade grade,
                                         const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->trouble, sizeof check->trouble, format, arguments);
    va_end(arguments);
    check->grade = grade;
    add_consequence(check);
    return grade;
}

/* Returns the first of these that it does not have; NULL if it has all. */
static const char *first_lacking(const char *const *subjects, const json_t *config) {
    while (*subjects != NULL && stream_covers(config, *subjects)) {
        subjects++;
    }
    return *subjects;
}

/* Returns: subjects that are stored there and that it does not have; NULL if it has all. */
static const char *find_lacking(const struct jetstream_check *check, const json_t *config) {
    const struct jetstream_stream *stream = check->group->stream;
    if (stream->object_subjects != NULL) {
        return first_lacking(stream->object_subjects, config);
    }
    if (stream->families == NULL || stream_covers(config, stream->subjects)) {
        return stream_covers(config, stream->subjects) ? NULL : stream->subjects;
    }
    for (size_t i = 0; stream->families[i] != NULL; i++) {
        const bool lies_here = (check->place.families >> i & 1) != 0;
        if (lies_here && !stream_covers(config, stream->families[i])) {
            return jetstream_place_is_whole(check) ? stream->subjects : stream->families[i];
        }
    }
    return NULL;
}

/* A stream of an operator that was changed: the streams of its subjects are looked up again. */
static void note_lacking(struct jetstream_check *check, const char *lacking) {
    struct jetstream_group *group = check->group;
    if (check == group->checks) {
        jetstream_grade_set(check, JETSTREAM_IS_UNUSABLE,
                            "stream %s exists already without the subjects %s: add them to it, "
                            "delete it, or choose another subject prefix",
                            check->place.stream, lacking);
    }
    if (group->lookup != NULL) {
        group->placement = JETSTREAM_UNPLACED;
    }
    if (check != group->checks) {
        jetstream_grade_set(check, JETSTREAM_IS_PENDING,
                            "stream %s does not have the subjects %s any more", check->place.stream,
                            lacking);
    }
}

static bool find_fault(struct jetstream_check *check, const json_t *config) {
    const char *name = check->place.stream, *lacking = find_lacking(check, config);
    const bool is_lenient =
        check->group->stream->families != NULL; /* read by core_subscription.c */
    if (lacking != NULL) {
        note_lacking(check, lacking);
    } else if (json_is_true(json_object_get(config, "no_ack"))) {
        jetstream_grade_set(check, JETSTREAM_IS_UNUSABLE,
                            "stream %s exists already and does not acknowledge messages (no_ack): "
                            "recreate it without that option",
                            name);
    } else if (check->place.retention == JETSTREAM_WORK_QUEUE && !is_lenient) {
        jetstream_grade_set(check, JETSTREAM_IS_UNUSABLE,
                            "stream %s exists already and is a work queue (retention workqueue), "
                            "in which each message has one reader and is then removed: recreate it "
                            "with retention limits, or choose another subject prefix",
                            name);
    } else if (check->place.retention == JETSTREAM_INTEREST && !is_lenient) {
        jetstream_grade_set(
            check, JETSTREAM_IS_UNUSABLE,
            "stream %s exists already and keeps only messages that a consumer waits "
            "for (retention interest), so acknowledged messages would be lost: "
            "recreate it with retention limits, or choose another subject prefix",
            name);
    } else if (json_is_true(json_object_get(config, "sealed"))) {
        jetstream_grade_set(check, JETSTREAM_IS_UNUSABLE,
                            "stream %s exists already and is sealed, so it accepts no "
                            "messages: delete it, or choose another subject prefix",
                            name);
    } else {
        return false;
    }
    return true;
}

/* ---- room ---- */

static struct jetstream_room read_room(const json_t *answer, const json_t *config) {
    const json_int_t bytes_max = json_integer_value(json_object_get(config, "max_bytes"));
    const json_int_t count_max = json_integer_value(json_object_get(config, "max_msgs"));
    const char *discard = json_string_value(json_object_get(config, "discard"));
    const bool is_bounded = discard != NULL && strcmp(discard, "new") == 0;
    return (struct jetstream_room){
        .bytes = jetstream_answer_number(answer, "state", "bytes"),
        .count = jetstream_answer_number(answer, "state", "messages"),
        .last_sequence = jetstream_answer_number(answer, "state", "last_seq"),
        .bytes_max = is_bounded && bytes_max > 0 ? (uint64_t)bytes_max : 0,
        .count_max = is_bounded && count_max > 0 ? (uint64_t)count_max : 0,
    };
}

/* A message was refused because room or a permission was missing. That is resolved when messages
 * were removed or the limits were changed; or, since a small message may find room where a large
 * one did not, when other messages were stored and none was refused for a while. */
static bool is_over(const struct jetstream_refusal *refusal, const struct jetstream_room *room,
                    int64_t now_ms) {
    const struct jetstream_room *then = &refusal->room;
    return room->bytes < then->bytes || room->count < then->count ||
           room->bytes_max != then->bytes_max || room->count_max != then->count_max ||
           (room->last_sequence > then->last_sequence &&
            now_ms - refusal->at_ms >= AUTH_ERROR_KEPT_MS);
}

static void update_refusal(struct jetstream_check *check, const struct jetstream_room *room) {
    struct jetstream_refusal *refusal = &check->refusal;
    if (refusal->why[0] != '\0' && !refusal->is_weighed) {
        refusal->room = *room;
        refusal->is_weighed = true;
    } else if (refusal->why[0] != '\0' &&
               is_over(refusal, room, reactor_now_ms(check->jetstream->reactor))) {
        refusal->why[0] = '\0';
    }
}

static enum jetstream_grade judge_room(struct jetstream_check *check,
                                       const struct jetstream_room *room) {
    const char *name = check->place.stream;
    const bool is_bucket = check->group->stream->bucket_days > 0;
    update_refusal(check, room);
    if (!is_bucket && room->count_max > 0 && room->count >= room->count_max) {
        check->refusal.why[0] = '\0';
        return jetstream_grade_set(check, JETSTREAM_IS_FULL,
                                   "stream %s is full (max_msgs %llu, discard new): raise its "
                                   "limit, remove messages, or have it discard old ones",
                                   name, (unsigned long long)room->count_max);
    }
    if (room->bytes_max > 0 && room->bytes + MESSAGE_BYTES_MIN > room->bytes_max) {
        check->refusal.why[0] = '\0';
        return jetstream_grade_set(check, JETSTREAM_IS_FULL,
                                   "stream %s is full (max_bytes %llu, discard new): raise its "
                                   "limit, remove messages, or have it discard old ones",
                                   name, (unsigned long long)room->bytes_max);
    }
    if (check->refusal.why[0] != '\0') {
        return jetstream_grade_set(check, JETSTREAM_REFUSES, "stream %s refuses messages: %s", name,
                                   check->refusal.why);
    }
    check->trouble[0] = '\0';
    check->grade = JETSTREAM_IS_USABLE;
    return check->grade;
}

enum jetstream_grade jetstream_judge(struct jetstream_check *check, const json_t *answer) {
    const json_t *config = json_object_get(answer, "config");
    check->room = read_room(answer, config);
    jetstream_place_describe(check, config);
    if (find_fault(check, config)) {
        return check->grade;
    }
    return judge_room(check, &check->room);
}
