/* SPDX-License-Identifier: Apache-2.0 */

/* See jetstream_lookup.h. STREAM.NAMES names every stream that has a subject in common with a
 * family, also narrower ones. If there are several, none can cover the family, so the first few,
 * for the error message, are enough, and so is the first page. */

#include "jetstream_lookup.h"

#include "jetstream_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_A_FAMILY = 3,
    FOUND_MAX = JETSTREAM_FAMILIES_MAX * NAMES_A_FAMILY,
};

struct jetstream_lookup {
    struct jetstream_group *group;
    jetstream_lookup_fn *done;
    struct jetstream_request *request; /* NULL when it is not under way */
    size_t family;                     /* whose streams are asked for */
    size_t info;                       /* of found: about which is asked then */
    char names[FOUND_MAX][JETSTREAM_STREAM_MAX];
    json_t *answers[FOUND_MAX];
    struct jetstream_found found[FOUND_MAX];
    size_t found_count;
};

static bool ask_next(struct jetstream_lookup *lookup);

static void forget(struct jetstream_lookup *lookup) {
    for (size_t i = 0; i < lookup->found_count; i++) {
        json_decref(lookup->answers[i]);
        lookup->answers[i] = NULL;
    }
    lookup->family = lookup->info = lookup->found_count = 0;
}

static void end(struct jetstream_lookup *lookup, int error, const char *text) {
    lookup->done(lookup->group, error, text);
    forget(lookup);
}

/* All questions are answered, or the next one cannot be asked. */
static void go_on(struct jetstream_lookup *lookup) {
    if (!ask_next(lookup)) {
        end(lookup, -1, "");
    }
}

/* ---- names ---- */

static void add(struct jetstream_lookup *lookup, const char *name) {
    for (size_t i = 0; i < lookup->found_count; i++) {
        if (strcmp(lookup->names[i], name) == 0) {
            return;
        }
    }
    char *copy = lookup->names[lookup->found_count];
    snprintf(copy, JETSTREAM_STREAM_MAX, "%s", name);
    lookup->found[lookup->found_count++] = (struct jetstream_found){.name = copy};
}

static void on_names(void *context, json_t *answer) {
    struct jetstream_lookup *lookup = context;
    const int error = answer != NULL ? jetstream_answer_error(answer) : -1;
    lookup->request = NULL;
    if (error != 0) {
        end(lookup, error, answer != NULL ? jetstream_answer_text(answer) : "");
        return;
    }
    size_t index;
    json_t *name;
    json_array_foreach(json_object_get(answer, "streams"), index, name) {
        if (index < NAMES_A_FAMILY && json_is_string(name)) {
            add(lookup, json_string_value(name));
        }
    }
    lookup->family++;
    go_on(lookup);
}

/* ---- their configuration ---- */

static void on_info(void *context, json_t *answer) {
    struct jetstream_lookup *lookup = context;
    const int error = answer != NULL ? jetstream_answer_error(answer) : -1;
    lookup->request = NULL;
    if (error != 0) { /* one that was deleted since is looked up again, as a whole */
        end(lookup, error, answer != NULL ? jetstream_answer_text(answer) : "");
        return;
    }
    lookup->answers[lookup->info] = json_incref(answer);
    lookup->found[lookup->info++].config = json_object_get(answer, "config");
    go_on(lookup);
}

/* Asks the next question, or ends.  Returns: false if it could not be asked. */
static bool ask_next(struct jetstream_lookup *lookup) {
    struct jetstream *jetstream = lookup->group->jetstream;
    const char *family = lookup->group->stream->families[lookup->family];
    char what[JETSTREAM_SUBJECT_MAX];
    if (family != NULL) {
        lookup->request = jetstream_request_send(
            jetstream, "STREAM.NAMES", json_pack("{s:s}", "subject", family), on_names, lookup);
    } else if (lookup->info < lookup->found_count) {
        snprintf(what, sizeof what, "STREAM.INFO.%s", lookup->names[lookup->info]);
        lookup->request = jetstream_request_send(jetstream, what, NULL, on_info, lookup);
    } else {
        end(lookup, 0, "");
        return true;
    }
    return lookup->request != NULL;
}

/* ---- lifecycle ---- */

struct jetstream_lookup *jetstream_lookup_create(struct jetstream_group *group,
                                                 jetstream_lookup_fn *done) {
    struct jetstream_lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup != NULL) {
        lookup->group = group;
        lookup->done = done;
    }
    return lookup;
}

void jetstream_lookup_destroy(struct jetstream_lookup *lookup) {
    if (lookup != NULL) {
        jetstream_lookup_cancel(lookup);
        free(lookup);
    }
}

bool jetstream_lookup_begin(struct jetstream_lookup *lookup) {
    jetstream_lookup_cancel(lookup);
    return ask_next(lookup);
}

void jetstream_lookup_cancel(struct jetstream_lookup *lookup) {
    jetstream_request_cancel(lookup->request);
    lookup->request = NULL;
    forget(lookup);
}

const struct jetstream_found *jetstream_lookup_found(const struct jetstream_lookup *lookup,
                                                     size_t *out_count) {
    *out_count = lookup->found_count;
    return lookup->found;
}
