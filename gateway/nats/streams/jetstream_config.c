/* SPDX-License-Identifier: Apache-2.0 */

#include "jetstream_config.h"

#include "jetstream_placement.h"
#include "jetstream_setup.h"

#include <string.h>

#define NS_A_MS INT64_C(1000000)

enum {
    DAYS_KEPT = 7,
    DAY_MS = 24 * 3600 * 1000,
    BUCKET_DEDUPE_WINDOW_MS = 2 * 60 * 1000, /* the convention's; messages there have no id */
    DEDUPE_WINDOW_MIN_MS = 100, /* the server refuses less, and takes 0 for its default of 2 min */
};

/* The description of the streams that parley creates: which form of subjects, headers and values
 * they hold, for operators and for later versions. It grows by one when that changes
 * (docs/api.md#nats). */
#define LAYOUT_BEGINNING "parley, layout "
#define LAYOUT_TEXT LAYOUT_BEGINNING "1"

bool jetstream_config_is_ours(const json_t *config) {
    const char *description = json_string_value(json_object_get(config, "description"));
    return description != NULL &&
           strncmp(description, LAYOUT_BEGINNING, sizeof LAYOUT_BEGINNING - 1) == 0;
}

/* ---- how long a bucket keeps a key ---- */

/* Returns the streams of that name; NULL if no stream has it, or `name` is NULL. */
static const struct jetstream_group *group_of(const struct jetstream_check *check,
                                              const char *name) {
    const struct jetstream_setup *setup = &check->jetstream->setup;
    for (size_t i = 0; name != NULL && i < setup->group_count; i++) {
        if (strcmp(setup->groups[i].stream->name, name) == 0) {
            return &setup->groups[i];
        }
    }
    return NULL;
}

/* Returns the longest age of all its streams; 0: forever; -1 if that is not known. */
static int64_t kept_ms(const struct jetstream_group *group) {
    int64_t longest_ms = -1;
    for (size_t i = 0; i < group->check_count; i++) {
        const struct jetstream_check *check = &group->checks[i];
        if (check->place.families != 0 && check->max_age_ms <= 0) {
            return check->max_age_ms;
        }
        if (check->place.families != 0 && check->max_age_ms > longest_ms) {
            longest_ms = check->max_age_ms;
        }
    }
    return longest_ms;
}

/* All of its streams were checked, and can be used, or could be except for lack of room. */
static bool is_in_use(const struct jetstream_group *group) {
    bool is_any = false;
    for (size_t i = 0; i < group->check_count; i++) {
        const struct jetstream_check *check = &group->checks[i];
        const bool is_good = check->max_age_ms >= 0 && check->grade != JETSTREAM_IS_UNUSABLE &&
                             check->grade != JETSTREAM_IS_PENDING;
        if (check->place.families != 0 && !is_good) {
            return false;
        }
        is_any |= check->place.families != 0;
    }
    return is_any;
}

bool jetstream_config_is_known(const struct jetstream_check *check) {
    const struct jetstream_group *group = group_of(check, check->group->stream->outlives);
    const struct jetstream_group *needed = group_of(check, check->group->stream->needs);
    return (group == NULL || kept_ms(group) >= 0) && (needed == NULL || is_in_use(needed));
}

static json_int_t bucket_age_ns(const struct jetstream_check *check) {
    const struct jetstream_stream *stream = check->group->stream;
    const struct jetstream_group *group = group_of(check, stream->outlives);
    const int64_t most_ms = (int64_t)stream->bucket_days * DAY_MS;
    const int64_t messages_ms = group != NULL ? kept_ms(group) : 0;
    if (stream->bucket_days == JETSTREAM_BUCKET_FOR_EVER) {
        return 0;
    }
    return NS_A_MS *
           (messages_ms > 0 && messages_ms + DAY_MS < most_ms ? messages_ms + DAY_MS : most_ms);
}

/* ---- configurations ---- */

/* A key-value bucket as NATS clients create it, so that they can read it: ADR-8 of
 * github.com/nats-io/nats-architecture-and-design. */
static json_t *bucket_configuration(const struct jetstream_check *check) {
    const struct jetstream_stream *stream = check->group->stream;
    const struct jetstream *jetstream = check->jetstream;
    const json_int_t replicas = jetstream->options.replicas > 0 ? jetstream->options.replicas : 1;
    return json_pack("{s:s, s:[s], s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:i, s:I, s:I, s:b, s:b,"
                     " s:b, s:b, s:s}",
                     "name", stream->name, "subjects", stream->subjects, "retention", "limits",
                     "storage", "file", "discard", "new", "max_msgs", -1, "max_msgs_per_subject", 1,
                     "max_consumers", -1, "max_bytes", -1, "max_age", bucket_age_ns(check),
                     "max_msg_size", -1, "num_replicas", replicas, "duplicate_window",
                     (json_int_t)BUCKET_DEDUPE_WINDOW_MS * NS_A_MS, "allow_rollup_hdrs", true,
                     "deny_delete", true, "deny_purge", false, "allow_direct", true, "description",
                     LAYOUT_TEXT);
}

/* An object store as NATS clients create it: ADR-20 there. */
static json_t *store_configuration(const struct jetstream_check *check) {
    const struct jetstream_stream *stream = check->group->stream;
    const struct jetstream *jetstream = check->jetstream;
    const json_int_t replicas = jetstream->options.replicas > 0 ? jetstream->options.replicas : 1;
    json_t *subjects = json_array();
    for (size_t i = 0; stream->object_subjects[i] != NULL; i++) {
        json_array_append_new(subjects, json_string(stream->object_subjects[i]));
    }
    return json_pack(
        "{s:s, s:o, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:i, s:I, s:I, s:b, s:b, "
        "s:s}",
        "name", stream->name, "subjects", subjects, "retention", "limits", "storage", "file",
        "discard", "new", "max_msgs", -1, "max_msgs_per_subject", -1, "max_consumers", -1,
        "max_bytes", -1, "max_age", (json_int_t)stream->days * DAY_MS * NS_A_MS, "max_msg_size", -1,
        "num_replicas", replicas, "duplicate_window", (json_int_t)BUCKET_DEDUPE_WINDOW_MS * NS_A_MS,
        "allow_rollup_hdrs", true, "allow_direct", true, "description", LAYOUT_TEXT);
}

/* All of the stream's subjects, or those families that no other stream has. */
static json_t *own_subjects(const struct jetstream_check *check) {
    const struct jetstream_stream *stream = check->group->stream;
    const char *const *families = stream->families;
    json_t *subjects = json_array();
    for (size_t i = 0; families != NULL && families[i] != NULL; i++) {
        if ((check->place.families >> i & 1) == 0) {
            continue;
        }
        json_array_append_new(subjects, json_string(families[i]));
    }
    if (families == NULL || jetstream_place_is_whole(check)) {
        json_array_clear(subjects);
        json_array_append_new(subjects, json_string(stream->subjects));
    }
    return subjects;
}

json_t *jetstream_config_of(const struct jetstream_check *check) {
    const struct jetstream_stream *stream = check->group->stream;
    const struct jetstream *jetstream = check->jetstream;
    if (stream->bucket_days > 0) {
        return bucket_configuration(check);
    }
    if (stream->object_subjects != NULL) {
        return store_configuration(check);
    }
    int64_t window_ms = jetstream->options.dedupe_window_ms;
    const json_int_t days = stream->days > 0 ? (json_int_t)stream->days : DAYS_KEPT;
    const json_int_t bytes_max = stream->bytes_max > 0 ? (json_int_t)stream->bytes_max : -1;
    json_int_t messages_max = -1;
    json_int_t replicas = jetstream->options.replicas > 0 ? jetstream->options.replicas : 1;
    if (strcmp(stream->subjects, JETSTREAM_PROBE_SUBJECT) == 0) {
        window_ms = 0;
        messages_max = 1;
        replicas = 1;
    }
    if (window_ms < DEDUPE_WINDOW_MIN_MS) {
        window_ms = DEDUPE_WINDOW_MIN_MS;
    }
    return json_pack("{s:s, s:o, s:s, s:s, s:s, s:I, s:i, s:I, s:I, s:i, s:I, s:I, s:b, s:s}",
                     "name", stream->name, "subjects", own_subjects(check), "retention", "limits",
                     "storage", "file", "discard", "old", "max_msgs", messages_max, "max_consumers",
                     -1, "max_bytes", bytes_max, "max_age", days * DAY_MS * NS_A_MS, "max_msg_size",
                     -1, "num_replicas", replicas, "duplicate_window",
                     (json_int_t)(window_ms * NS_A_MS), "allow_direct", true, "description",
                     LAYOUT_TEXT);
}
