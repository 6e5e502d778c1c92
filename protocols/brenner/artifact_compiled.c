/* SPDX-License-Identifier: Apache-2.0 */

/* Compares what a COMPILED message says with the deltas before it: its statistics with the living
 * items, its contributors with those of whom a delta was applied. A message that agrees leaves only
 * its version. */

#include "artifact.h"

#include <strings.h>

/* More names than that, of either, are not compared. */
enum { NAMES_MAX = 256 };

static const char *const statistics[ARTIFACT_STATISTICS] = {
    "Hypotheses", "Predictions", "Tests", "Assumptions", "Anomalies", "Critiques"};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Cuts the first line off `rest`. */
static struct parley_bytes next_line(struct parley_bytes *rest) {
    const char *end = memchr(rest->data, '\n', rest->length);
    const size_t length = end != NULL ? (size_t)(end - rest->data) : rest->length;
    const struct parley_bytes line = {rest->data, length};
    const size_t cut = length + (end != NULL);
    *rest = (struct parley_bytes){rest->data + cut, rest->length - cut};
    return line;
}

static struct parley_bytes trim(struct parley_bytes text, const char *marks) {
    while (text.length > 0 && strchr(marks, text.data[0]) != NULL && text.data[0] != '\0') {
        text = (struct parley_bytes){text.data + 1, text.length - 1};
    }
    while (text.length > 0 && strchr(" \t\r", text.data[text.length - 1]) != NULL &&
           text.data[text.length - 1] != '\0') {
        text.length--;
    }
    return text;
}

/* ---- statistics ---- */

/* N of "Hypotheses: N"; -1: it is no such line. */
static int64_t number_in(struct parley_bytes line, const char *name) {
    const size_t length = strlen(name);
    line = trim(line, " \t-*+");
    if (line.length <= length || strncasecmp(line.data, name, length) != 0) {
        return -1;
    }
    size_t at = length;
    while (at < line.length && strchr(" \t:=", line.data[at]) != NULL && line.data[at] != '\0') {
        at++;
    }
    int64_t number = at < line.length && is_digit(line.data[at]) ? 0 : -1;
    for (; at < line.length && is_digit(line.data[at]) && number < INT64_C(1000000000); at++) {
        number = number * 10 + (line.data[at] - '0');
    }
    return number;
}

/* Returns: whether one of them differs from the fold. */
static bool compare_statistics(const struct parley_artifact *artifact,
                               const struct brenner_body *body, struct artifact_compiled *out) {
    const struct brenner_section *section = brenner_body_section(body, "Statistics");
    struct parley_bytes rest = section != NULL ? section->text : (struct parley_bytes){"", 0};
    bool differs = false;
    for (size_t i = 0; i < ARTIFACT_STATISTICS; i++) {
        const struct artifact_section *of = &artifact->sections[i];
        out->said[i] = -1;
        out->living[i] = of->living_count;
        out->killed[i] = of->count - of->living_count;
    }
    while (rest.length > 0) {
        const struct parley_bytes line = next_line(&rest);
        for (size_t i = 0; i < ARTIFACT_STATISTICS; i++) {
            const int64_t said = number_in(line, statistics[i]);
            if (said >= 0 && (uint64_t)said != out->living[i]) {
                out->said[i] = said;
                differs = true;
            }
        }
    }
    return differs;
}

/* ---- contributors ---- */

struct names {
    struct parley_bytes items[NAMES_MAX];
    size_t count;
    bool has_more;
};

/* "GreenDog (opus)" and "GreenDog: hypotheses" are GreenDog. */
static void add_name(struct names *names, struct parley_bytes item) {
    item = trim(item, " \t-*+@\r");
    for (size_t i = 0; i < item.length; i++) {
        if (strchr("(:;", item.data[i]) != NULL && item.data[i] != '\0') {
            item.length = i;
        }
    }
    item = trim(item, " \t");
    if (item.length == 0 || (item.length == 4 && strncasecmp(item.data, "none", 4) == 0)) {
        return;
    }
    if (names->count == NAMES_MAX) {
        names->has_more = true;
        return;
    }
    names->items[names->count++] = item;
}

/* The items of a list, or of a line with commas; one in brackets separates nothing. */
static void read_names(struct parley_bytes text, struct names *out) {
    size_t start = 0, depth = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        depth += c == '(';
        depth -= c == ')' && depth > 0;
        if (c == '\n' || (c == ',' && depth == 0)) {
            add_name(out, (struct parley_bytes){text.data + start, i - start});
            start = i + 1;
            depth = 0;
        }
    }
    add_name(out, (struct parley_bytes){text.data + start, text.length - start});
}

static bool has_name(const struct names *names, struct parley_bytes name) {
    for (size_t i = 0; i < names->count; i++) {
        if (parley_bytes_equal(names->items[i], name)) {
            return true;
        }
    }
    return false;
}

/* Appends the names of `of` that are not among `others`, as items of a JSON array. */
static void write_others(const struct names *of, const struct names *others,
                         struct parley_buffer *out) {
    for (size_t i = 0; i < of->count; i++) {
        if (!has_name(others, of->items[i])) {
            parley_buffer_text(out, out->length > 0 ? "," : "");
            parley_buffer_json(out, of->items[i]);
        }
    }
}

/* Fills in what is missing and what is too much.  `out_differs`: something is. */
static enum parley_status compare_contributors(struct parley_artifact *artifact,
                                               const struct brenner_body *body,
                                               struct artifact_compiled *out, bool *out_differs) {
    const struct brenner_section *section = brenner_body_section(body, "Contributors");
    struct names said = {.count = 0}, folded = {.count = 0};
    struct parley_buffer missing, extra;
    parley_buffer_init(&missing);
    parley_buffer_init(&extra);
    read_names(section != NULL ? section->text : (struct parley_bytes){"", 0}, &said);
    for (size_t i = 0; i < artifact->contributor_count && i < NAMES_MAX; i++) {
        folded.items[folded.count++] = artifact_bytes(&artifact->contributors[i].agent);
    }
    if (!said.has_more && artifact->contributor_count <= NAMES_MAX) {
        write_others(&folded, &said, &missing);
        write_others(&said, &folded, &extra);
    }
    *out_differs = missing.length > 0 || extra.length > 0;
    enum parley_status status =
        missing.has_failed || extra.has_failed
            ? PARLEY_E_MEMORY
            : artifact_text_set(artifact, &out->missing, parley_buffer_bytes(&missing));
    if (status == PARLEY_OK) {
        status = artifact_text_set(artifact, &out->extra, parley_buffer_bytes(&extra));
    }
    parley_buffer_finish(&missing);
    parley_buffer_finish(&extra);
    return status;
}

/* ---- the message ---- */

static int64_t version_of(const struct brenner_body *body) {
    int64_t version = -1;
    for (const struct brenner_section *at = body->sections; at != NULL && version < 0;
         at = at->next) {
        version = at->level == 1                      ? brenner_version(at->title)
                  : brenner_section_is(at, "Summary") ? brenner_version(at->text)
                                                      : -1;
    }
    return version;
}

static void drop(struct parley_artifact *artifact, struct artifact_compiled *compiled) {
    artifact->bytes -= compiled->missing.length + compiled->extra.length;
    free(compiled->missing.data);
    free(compiled->extra.data);
    *compiled = (struct artifact_compiled){.version = -1};
}

static enum parley_status compare(struct parley_artifact *artifact, const struct brenner_body *body,
                                  struct parley_bytes from,
                                  const struct parley_artifact_place *place) {
    struct artifact_compileds *all = &artifact->compiled;
    struct artifact_compiled one = {.sequence = place->sequence, .version = version_of(body)};
    bool differs = false;
    artifact->compiled_version = one.version >= 0 ? one.version : artifact->compiled_version;
    artifact->compiled_count++;
    artifact->since_compiled = 0;
    const bool has_other_counts = compare_statistics(artifact, body, &one);
    const enum parley_status status = compare_contributors(artifact, body, &one, &differs);
    if (status != PARLEY_OK || (!differs && !has_other_counts) ||
        all->count == ARTIFACT_NOTED_MAX) {
        all->omitted_count += status == PARLEY_OK && (differs || has_other_counts);
        drop(artifact, &one);
        return status;
    }
    all->items[all->count] = one;
    return artifact_text_set(artifact, &all->items[all->count++].from, from);
}

enum parley_status artifact_compare(struct parley_artifact *artifact, struct parley_bytes body,
                                    struct parley_bytes from,
                                    const struct parley_artifact_place *place) {
    struct brenner_body read;
    if (!artifact_has_room(artifact, 2 * NAMES_MAX * 64)) {
        return PARLEY_E_LIMIT;
    }
    enum parley_status status = brenner_body_read(&read, body);
    if (status == PARLEY_OK) {
        status = compare(artifact, &read, from, place);
    }
    brenner_body_finish(&read);
    return status;
}
