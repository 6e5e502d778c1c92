/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_map_build.h. No two streams of an account have a subject in common, so a stream
 * that covers a family is the only one that has any of its subjects. */

#include "jetstream_map_build.h"

#include "jetstream_config.h"
#include "jetstream_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t token_length(const char *subject) {
    return strcspn(subject, ".");
}

static bool is_wildcard(const char *token, size_t length) {
    return length == 1 && token[0] == '*';
}

bool jetstream_collides(const char *one, const char *other) {
    for (;;) {
        const size_t length = token_length(one), other_length = token_length(other);
        if ((length == 1 && one[0] == '>') || (other_length == 1 && other[0] == '>')) {
            return true;
        }
        if (!is_wildcard(one, length) && !is_wildcard(other, other_length) &&
            (length != other_length || memcmp(one, other, length) != 0)) {
            return false;
        }
        one += length;
        other += other_length;
        if (*one == '\0' || *other == '\0') {
            return *one == *other;
        }
        one++;
        other++;
    }
}

/* Returns the subject of the stream that is related to the family in this way; NULL if there is
 * none. */
static const char *find_subject(const struct jetstream_found *found, const char *family,
                                bool (*is_related)(const char *subject, const char *family)) {
    size_t index;
    json_t *subject;
    json_array_foreach(json_object_get(found->config, "subjects"), index, subject) {
        if (json_is_string(subject) && is_related(json_string_value(subject), family)) {
            return json_string_value(subject);
        }
    }
    return NULL;
}

/* Such a name would break resume tokens and texts. */
static bool is_usual(const char *name) {
    for (const char *at = name; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~' || strchr("\":,\\", *at) != NULL) {
            return false;
        }
    }
    return true;
}

static void add(char text[JETSTREAM_TROUBLE_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(char text[JETSTREAM_TROUBLE_MAX], const char *format, ...) {
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, JETSTREAM_TROUBLE_MAX - length, format, arguments);
    va_end(arguments);
}

static void refuse_parts(const char *family, const struct jetstream_found found[], size_t count,
                         char fault[JETSTREAM_TROUBLE_MAX]) {
    const char *separator = "";
    add(fault, "the subjects %s lie in part in ", family);
    for (size_t i = 0; i < count; i++) {
        const char *subject = find_subject(&found[i], family, jetstream_collides);
        if (subject != NULL) {
            add(fault, "%sstream %s (%s)", separator, found[i].name, subject);
            separator = " and ";
        }
    }
    add(fault, ": give one stream all of %s, or choose another subject prefix", family);
}

/* parley has made it under another name than this stream's, and it has nothing but these subjects:
 * it belongs to another protocol with this prefix, and its readers expect the messages of that
 * protocol. One that an operator has given further subjects is used like any other. */
static bool is_of_another(const struct jetstream_stream *stream,
                          const struct jetstream_found *found) {
    const json_t *subjects = json_object_get(found->config, "subjects");
    size_t index;
    json_t *subject;
    if (!jetstream_config_is_ours(found->config) || strcmp(found->name, stream->name) == 0) {
        return false;
    }
    json_array_foreach(subjects, index, subject) {
        if (!json_is_string(subject) ||
            !jetstream_covers(stream->subjects, json_string_value(subject))) {
            return false;
        }
    }
    return true;
}

static int refuse_other(const char *family, const struct jetstream_found *found,
                        char fault[JETSTREAM_TROUBLE_MAX]) {
    add(fault,
        "the subjects %s lie in stream %s, which parley has made for another protocol: choose "
        "another subject prefix",
        family, found->name);
    return -1;
}

static int place(const struct jetstream_stream *stream, const char *family,
                 const struct jetstream_found found[], size_t count,
                 char fault[JETSTREAM_TROUBLE_MAX]) {
    bool is_touched = false;
    for (size_t i = 0; i < count; i++) {
        if (find_subject(&found[i], family, jetstream_collides) != NULL &&
            is_of_another(stream, &found[i])) {
            return refuse_other(family, &found[i], fault);
        }
        if (find_subject(&found[i], family, jetstream_covers) != NULL && is_usual(found[i].name)) {
            return (int)i;
        }
        if (!is_usual(found[i].name)) {
            add(fault,
                "the subjects %s lie in a stream whose name has a character that is not allowed "
                "here (\" : , \\ or one that is not ASCII): choose another subject prefix",
                family);
            return -1;
        }
        is_touched |= find_subject(&found[i], family, jetstream_collides) != NULL;
    }
    if (is_touched) {
        refuse_parts(family, found, count, fault);
    }
    return -1;
}

void jetstream_map_build_find(const struct jetstream_stream *stream,
                              const struct jetstream_found found[], size_t count,
                              struct jetstream_map_build *out) {
    *out = (struct jetstream_map_build){.fault = ""};
    for (size_t i = 0; stream->families[i] != NULL && out->fault[0] == '\0'; i++) {
        out->at[i] = place(stream, stream->families[i], found, count, out->fault);
    }
}
