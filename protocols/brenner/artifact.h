/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The artifact of a thread: the deltas of its DELTA messages, folded in the order of the stream
 * (docs/artifact.md). Shared by the files that hold it (artifact.c), fold into it
 * (artifact_merge.c), compare what others compiled (artifact_compiled.c), and read it:
 * artifact_lint.c, artifact_write.c, artifact_markdown.c, artifact_difference.c. */

#include <parley/artifact.h>

#include "body.h"
#include "brenner.h"
#include "delta.h"
#include "json_tokens.h"

enum {
    ARTIFACT_HYPOTHESES_MAX = 6, /* that live at a time */
    ARTIFACT_FIELDS_MAX = 100,   /* of an item: so that finding one is cheap */
    ARTIFACT_ELEMENTS_MAX = 256, /* of an array that is united: likewise */
    ARTIFACT_NOTED_MAX = 100,    /* of a kind, in an answer; the rest is counted */
};

/* The elements of an array that is united by value. */
struct artifact_elements {
    size_t count, capacity;
    struct artifact_element {
        uint64_t hash;
        size_t end; /* of its key, in `keys` */
    } * items;
    struct parley_buffer keys; /* equal if the values are */
};

/* Owned bytes; data NULL: none. */
struct artifact_text {
    char *data;
    size_t length;
};

static inline struct parley_bytes artifact_bytes(const struct artifact_text *text) {
    return (struct parley_bytes){text->data, text->length};
}

struct artifact_field {
    struct artifact_text key;           /* decoded */
    struct artifact_text value;         /* JSON without white space; objects have each key once */
    struct artifact_elements *elements; /* NULL: the value was not united with another */
};

struct artifact_item {
    unsigned number; /* H3 has 3; RT has none: 0 */
    struct artifact_field *fields;
    size_t field_count, field_capacity;
    double score; /* of a test: the sum */
    bool is_killed;
    struct artifact_text killed_by, kill_reason;
    double killed_seconds;
};

/* The items of a section, in the order of their numbers, which begin with 1 and have no gaps. */
struct artifact_section {
    struct artifact_item *items;
    size_t count, capacity, living_count;
};

enum artifact_code {
    ARTIFACT_INVALID_TARGET, /* these were not applied … */
    ARTIFACT_TARGET_KILLED,
    ARTIFACT_SECTION_LIMIT_EXCEEDED,
    ARTIFACT_RT_ADD_NOT_ALLOWED,
    ARTIFACT_AUTO_CORRECTED, /* … these were, otherwise than they say */
    ARTIFACT_FORBIDDEN_PAYLOAD_KEY,
    ARTIFACT_ITEM_LIMIT_EXCEEDED,
};

/* Something about one delta. */
struct artifact_event {
    enum artifact_code code;
    uint64_t sequence;
    size_t delta; /* its number in the message, from 1 */
    const char *operation, *section;
    struct artifact_text from, target, text; /* cut; text: one sentence */
};

struct artifact_events {
    struct artifact_event items[ARTIFACT_NOTED_MAX];
    size_t count, omitted_count;
};

struct artifact_contributor {
    struct artifact_text agent;
    double seconds; /* of its last message of which a delta was applied */
};

enum { ARTIFACT_STATISTICS = 6 }; /* the sections but research_thread */

/* A COMPILED message that differs from the fold of the messages before it. */
struct artifact_compiled {
    uint64_t sequence;
    int64_t version;                           /* -1: it says none */
    struct artifact_text from, missing, extra; /* contributors, as items of a JSON array */
    int64_t said[ARTIFACT_STATISTICS];         /* -1: nothing, or the same as the fold */
    size_t living[ARTIFACT_STATISTICS], killed[ARTIFACT_STATISTICS];
};

struct artifact_compileds {
    struct artifact_compiled items[ARTIFACT_NOTED_MAX];
    size_t count, omitted_count;
};

struct parley_artifact {
    struct artifact_text thread;
    struct artifact_section sections[BRENNER_SECTION_COUNT]; /* enum brenner_target */
    struct artifact_contributor *contributors;
    size_t contributor_count, contributor_capacity;
    struct artifact_events not_applied, corrections;
    struct artifact_compileds compiled;
    uint64_t version;                        /* DELTA messages of which something was applied */
    uint64_t compiled_count;                 /* COMPILED messages */
    int64_t compiled_version;                /* of the newest one that says one; -1: none does */
    uint64_t since_compiled;                 /* of `version`, after that */
    uint64_t applied_count, skipped_count;   /* deltas */
    double created_seconds, updated_seconds; /* of the first message, and the last applied delta */
    bool has_begun;
    size_t bytes, bytes_max;
};

/* ---- artifact.c ---- */

enum parley_status artifact_create(struct parley_bytes thread, size_t bytes_max,
                                   struct parley_artifact **out);
void artifact_destroy(struct parley_artifact *artifact);

/* Whether about `more` bytes fit. */
static inline bool artifact_has_room(const struct parley_artifact *artifact, size_t more) {
    return artifact->bytes_max - artifact->bytes >= more;
}

/* The item of that id in that section, or NULL. */
struct artifact_item *artifact_item(struct parley_artifact *artifact, enum brenner_target section,
                                    struct parley_bytes id);
/* A new item, without fields.  Returns: NULL when there is no memory. */
struct artifact_item *artifact_item_add(struct parley_artifact *artifact,
                                        enum brenner_target section);

/* The field, or NULL. */
struct artifact_field *artifact_field(const struct artifact_item *item, struct parley_bytes key);
/* The same by the name of a member.  Returns: its value; data NULL: there is none. */
struct parley_bytes artifact_value(const struct artifact_item *item, const char *key);
/* The field, which is added, without a value, where there is none.
 * Returns: NULL when there is no memory. */
struct artifact_field *artifact_field_make(struct parley_artifact *artifact,
                                           struct artifact_item *item, struct parley_bytes key);
/* Replaces the value by a copy of `json`.  Returns: PARLEY_E_MEMORY. */
enum parley_status artifact_field_set(struct parley_artifact *artifact,
                                      struct artifact_field *field,
                                      struct parley_bytes json) PARLEY_MUST_CHECK;

/* Sets a text that is not set, and counts it.  Returns: PARLEY_E_MEMORY. */
enum parley_status artifact_text_set(struct parley_artifact *artifact, struct artifact_text *text,
                                     struct parley_bytes bytes) PARLEY_MUST_CHECK;

/* Unites the field's array, if it is one, with `array`, both JSON.  `out_has_all`: false if some
 * were left out, for there are ARTIFACT_ELEMENTS_MAX.  Returns: PARLEY_E_MEMORY. */
enum parley_status artifact_field_unite(struct parley_artifact *artifact,
                                        struct artifact_field *field, struct parley_bytes array,
                                        bool *out_has_all) PARLEY_MUST_CHECK;

/* The contributor, who is added.  Returns: NULL when there is no memory. */
struct artifact_contributor *artifact_contributor(struct parley_artifact *artifact,
                                                  struct parley_bytes agent);

/* "H3", or "RT". */
void artifact_id_write(enum brenner_target section, const struct artifact_item *item,
                       struct parley_buffer *out);
/* The number in "H3"; 0 if it is no such id. */
unsigned artifact_number(const char *letter, struct parley_bytes id);

/* ---- artifact_merge.c and artifact_compiled.c ---- */

enum parley_status artifact_fold(struct parley_artifact *artifact, struct parley_message *message,
                                 const struct parley_artifact_place *place);

/* Notes a COMPILED message. */
enum parley_status artifact_compare(struct parley_artifact *artifact, struct parley_bytes body,
                                    struct parley_bytes from,
                                    const struct parley_artifact_place *place) PARLEY_MUST_CHECK;

/* ---- values: artifact_value.c ---- */

/* Appends valid JSON without white space, its strings spelled in one way, of the members of an
 * object with the same key only the last.  `scratch`: for its own needs.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status artifact_value_write(struct parley_bytes json, struct parley_arena *scratch,
                                        struct parley_buffer *out) PARLEY_MUST_CHECK;

enum artifact_value_kind {
    ARTIFACT_NONE,
    ARTIFACT_STRING,
    ARTIFACT_ARRAY,
    ARTIFACT_OBJECT,
    ARTIFACT_OTHER
};
enum artifact_value_kind artifact_value_kind(struct parley_bytes value);
bool artifact_value_is_true(struct parley_bytes value);

/* The decoded text of a string; of another value, as it is written. `scratch` may be cleared; it
 * fails when there is no memory, and stays so: the text is empty then. */
struct parley_bytes artifact_value_text(struct parley_bytes value, struct parley_buffer *scratch);

/* The next element of an array. Begin with `rest` the whole array.  Returns: false at the end. */
bool artifact_element_next(struct parley_bytes *rest, struct parley_bytes *out);

/* Whether it has something else than white space: as text, or as elements or members. */
bool artifact_value_says(struct parley_bytes value);

/* ---- artifact_lint.c ---- */

enum artifact_severity { ARTIFACT_ERROR, ARTIFACT_WARNING, ARTIFACT_INFO };

struct artifact_lint {
    const struct parley_artifact *artifact;
    size_t counts[3]; /* by severity */
    /* Notes and violations as items of JSON arrays, in the order of the sections; at most
     * ARTIFACT_NOTED_MAX times ten of each severity. */
    struct parley_buffer notes, violations[3];
    struct parley_buffer scratch;
};

/* Owns: the caller finishes it.  Returns: PARLEY_E_MEMORY. */
enum parley_status artifact_lint(struct artifact_lint *lint,
                                 const struct parley_artifact *artifact) PARLEY_MUST_CHECK;
void artifact_lint_finish(struct artifact_lint *lint);

/* ---- writers ---- */

/* The items of a section in the order in which they are shown: tests by their score, the others by
 * their number.  Owns: returns a new array of section->count, for free; NULL: no memory. */
const struct artifact_item **artifact_in_order(const struct parley_artifact *artifact,
                                               enum brenner_target section);

/* Appends a field's value as it is shown: the prediction of a killed hypothesis is "N/A". */
void artifact_field_write(const struct parley_artifact *artifact, enum brenner_target section,
                          const struct artifact_field *field, struct parley_buffer *out);

/* "INVALID_TARGET". */
const char *artifact_code_name(enum artifact_code code);

/* RFC 3339. */
void artifact_time_write(double seconds, struct parley_buffer *out);

enum parley_status artifact_write_json(const struct parley_artifact *artifact,
                                       const struct parley_artifact_extent *extent,
                                       struct parley_buffer *out) PARLEY_MUST_CHECK;
enum parley_status artifact_write_markdown(const struct parley_artifact *artifact,
                                           const struct parley_artifact_extent *extent,
                                           struct parley_buffer *out) PARLEY_MUST_CHECK;
enum parley_status artifact_write_compiled(const struct parley_artifact *artifact,
                                           const struct parley_artifact_extent *extent,
                                           struct parley_buffer *out) PARLEY_MUST_CHECK;
enum parley_status artifact_write_difference(const struct parley_artifact *before,
                                             const struct parley_artifact_extent *before_extent,
                                             const struct parley_artifact *after,
                                             const struct parley_artifact_extent *after_extent,
                                             enum parley_artifact_form form,
                                             struct parley_buffer *out) PARLEY_MUST_CHECK;
