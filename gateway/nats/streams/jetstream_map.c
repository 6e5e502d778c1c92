/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_map.h and jetstream_placement.h. Each group has a slot for its own stream and
 * one for each family, more than it can need at once. */

#include "jetstream_api.h"
#include "jetstream_check.h"
#include "jetstream_placement.h"

#include <stdio.h>
#include <string.h>

/* ---- questions ---- */

static unsigned all_families(const struct jetstream_stream *stream) {
    unsigned all = 0;
    for (size_t i = 0; stream->families != NULL && stream->families[i] != NULL; i++) {
        all |= 1u << i;
    }
    return stream->families != NULL ? all : 1;
}

bool jetstream_place_is_whole(const struct jetstream_check *check) {
    return check->place.families == all_families(check->group->stream);
}

static bool has_subject(const struct jetstream_check *check, const char *subject) {
    const struct jetstream_stream *stream = check->group->stream;
    if (check->place.families == 0 || !jetstream_covers(stream->subjects, subject)) {
        return false;
    }
    bool is_of_family = jetstream_place_is_whole(check);
    for (size_t i = 0; !is_of_family && stream->families[i] != NULL; i++) {
        is_of_family =
            (check->place.families >> i & 1) != 0 && jetstream_covers(stream->families[i], subject);
    }
    return is_of_family;
}

struct jetstream_check *jetstream_place_check(const struct jetstream *jetstream,
                                              const char *subject) {
    for (size_t i = 0; i < jetstream->setup.check_count; i++) {
        if (has_subject(&jetstream->setup.checks[i], subject)) {
            return &jetstream->setup.checks[i];
        }
    }
    return NULL;
}

const struct jetstream_place *jetstream_place_find(const struct jetstream *jetstream,
                                                   const char *subject) {
    const struct jetstream_check *check = jetstream_place_check(jetstream, subject);
    return check != NULL ? &check->place : NULL;
}

const struct jetstream_place *jetstream_place_at(const struct jetstream *jetstream, size_t number,
                                                 size_t index) {
    const struct jetstream_group *group = &jetstream->setup.groups[number];
    return index < group->check_count ? &group->checks[index].place : NULL;
}

const char *jetstream_place_subjects(const struct jetstream_check *check) {
    const struct jetstream_stream *stream = check->group->stream;
    size_t first = 0;
    if (jetstream_place_is_whole(check) || check->place.families == 0) {
        return stream->subjects;
    }
    while ((check->place.families >> first & 1) == 0) {
        first++;
    }
    return stream->families[first];
}

/* The shortest of the windows of all its streams. */
int64_t jetstream_group_dedupe_window_ms(const struct jetstream_group *group) {
    int64_t shortest_ms = -1;
    for (size_t i = 0; i < group->check_count; i++) {
        const struct jetstream_check *check = &group->checks[i];
        const int64_t ms = check->dedupe_window_ms;
        if (check->place.families != 0 && ms >= 0 && (shortest_ms < 0 || ms < shortest_ms)) {
            shortest_ms = ms;
        }
    }
    return shortest_ms >= 0 ? shortest_ms : group->jetstream->options.dedupe_window_ms;
}

int64_t jetstream_dedupe_window_ms(const struct jetstream *jetstream, const char *stream) {
    for (size_t i = 0; i < jetstream->setup.group_count; i++) {
        const struct jetstream_group *group = &jetstream->setup.groups[i];
        if (strcmp(group->stream->name, stream) == 0) {
            return jetstream_group_dedupe_window_ms(group);
        }
    }
    return jetstream->options.dedupe_window_ms;
}

/* ---- changes ---- */

static void note_moved(struct jetstream_group *group, const struct jetstream_place *place) {
    const struct jetstream *jetstream = group->jetstream;
    if (jetstream->events.moved != NULL) {
        jetstream->events.moved(jetstream->events.context, group->stream, place);
    }
}

/* The report on the previous stream of this slot no longer applies. */
static void end_report(struct jetstream_check *check) {
    const struct jetstream *jetstream = check->jetstream;
    char subject[JETSTREAM_NAME_MAX];
    snprintf(subject, sizeof subject, "stream %s", check->place.stream);
    if (check->reported[0] != '\0' && jetstream->events.trouble != NULL) {
        jetstream->events.trouble(jetstream->events.context, subject, NULL);
    }
    check->reported[0] = '\0';
}

static void forget(struct jetstream_check *check) {
    end_report(check);
    jetstream_grade_set(check, JETSTREAM_IS_USABLE, "%s", "");
    check->room = (struct jetstream_room){0};
    check->refusal.why[0] = '\0';
    check->dedupe_window_ms = check->max_age_ms = -1;
}

/* Returns: whether it is another place than before. */
static bool assign(struct jetstream_check *check, const char *stream, unsigned families) {
    struct jetstream_place *place = &check->place;
    const bool is_same = strcmp(place->stream, stream) == 0;
    if (is_same && place->families == families) {
        return false;
    }
    if (!is_same || families == 0) {
        forget(check);
    }
    if (!is_same) {
        check->created[0] = '\0';
        check->reached = 0;
        check->copies = 0;
        check->direct = JETSTREAM_DIRECT_OFF;
        check->gone_ms = -1;
        *place = (struct jetstream_place){0};
        snprintf(place->stream, sizeof place->stream, "%s", stream);
    }
    place->families = families;
    return true;
}

/* The slot of a stream: its own, that which has it already, or the first that is free. */
static size_t slot_of(const char *stream, const char *const names[], size_t *count) {
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(names[i], stream) == 0) {
            return i;
        }
    }
    return (*count)++;
}

void jetstream_map_assign(struct jetstream_group *group, const struct jetstream_map_build *placing,
                          const struct jetstream_found found[]) {
    const struct jetstream_stream *stream = group->stream;
    const char *names[JETSTREAM_FAMILIES_MAX + 1] = {stream->name};
    unsigned families[JETSTREAM_FAMILIES_MAX + 1] = {0};
    size_t count = 1;
    bool has_moved = false;
    for (size_t i = 0; stream->families[i] != NULL; i++) {
        const char *name = placing->at[i] < 0 ? stream->name : found[placing->at[i]].name;
        const size_t slot = slot_of(name, names, &count);
        names[slot] = name;
        families[slot] |= 1u << i;
    }
    for (size_t i = 0; i < group->check_count; i++) {
        struct jetstream_check *check = &group->checks[i];
        const char *name = i < count ? names[i] : check->place.stream;
        has_moved |= assign(check, name, families[i]);
        if (families[i] == 0) {
            jetstream_grade_set(check, JETSTREAM_IS_USABLE, "%s", "");
        }
    }
    if (has_moved) {
        note_moved(group, NULL);
    }
}

void jetstream_map_give_up(struct jetstream_group *group) {
    bool has_moved = false;
    for (size_t i = 0; i < group->check_count; i++) {
        struct jetstream_check *check = &group->checks[i];
        has_moved |= assign(check, check->place.stream, i == 0 ? all_families(group->stream) : 0);
    }
    if (has_moved) {
        note_moved(group, NULL);
    }
}

/* ---- a stream's configuration ---- */

static enum jetstream_retention read_retention(const json_t *config) {
    const char *text = json_string_value(json_object_get(config, "retention"));
    for (int i = JETSTREAM_INTEREST; text != NULL && i > JETSTREAM_LIMITS; i--) {
        if (strcmp(text, jetstream_retention_name((enum jetstream_retention)i)) == 0) {
            return (enum jetstream_retention)i;
        }
    }
    return JETSTREAM_LIMITS;
}

static bool has_others(const struct jetstream_stream *stream, const json_t *config) {
    size_t index;
    json_t *subject;
    json_array_foreach(json_object_get(config, "subjects"), index, subject) {
        if (json_is_string(subject) &&
            !jetstream_covers(stream->subjects, json_string_value(subject))) {
            return true;
        }
    }
    return false;
}

static size_t read_bytes_max(const json_t *config) {
    const json_int_t bytes = json_integer_value(json_object_get(config, "max_msg_size"));
    return bytes > 0 ? (size_t)bytes : 0;
}

/* Returns the smaller limit, where 0 means no limit. */
static size_t least_of(size_t a, size_t b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void find_least(struct jetstream_setup *setup) {
    setup->bytes_max_least = 0;
    for (size_t i = 0; i < setup->check_count; i++) {
        const struct jetstream_place *place = &setup->checks[i].place;
        const size_t bytes_max = place->families != 0 ? place->bytes_max : 0;
        setup->bytes_max_least = least_of(setup->bytes_max_least, bytes_max);
    }
}

void jetstream_place_describe(struct jetstream_check *check, const json_t *config) {
    struct jetstream_place *place = &check->place;
    const struct jetstream_place before = *place;
    place->bytes_max = read_bytes_max(config);
    find_least(&check->jetstream->setup);
    place->retention = read_retention(config);
    place->has_others = has_others(check->group->stream, config);
    if (place->retention != before.retention || place->has_others != before.has_others) {
        note_moved(check->group, place);
    }
}

size_t jetstream_message_bytes_max_least(const struct jetstream *jetstream) {
    const size_t payload = bus_max_payload_bytes(jetstream->bus);
    return payload > 0 ? least_of(payload, jetstream->setup.bytes_max_least) : 0;
}

size_t jetstream_message_bytes_max(const struct jetstream *jetstream, const char *subject) {
    const size_t payload = bus_max_payload_bytes(jetstream->bus);
    if (payload == 0 || jetstream->setup.bytes_max_least == 0) {
        return payload;
    }
    const struct jetstream_place *place = jetstream_place_find(jetstream, subject);
    return place != NULL ? least_of(payload, place->bytes_max) : payload;
}

int64_t jetstream_kept_ms(const struct jetstream *jetstream, const char *stream) {
    const struct jetstream_setup *setup = &jetstream->setup;
    for (size_t i = 0; i < setup->check_count; i++) {
        const struct jetstream_check *check = &setup->checks[i];
        if (strcmp(check->place.stream, stream) == 0) {
            return check->max_age_ms > 0 ? check->max_age_ms : 0;
        }
    }
    return 0;
}
