/* SPDX-License-Identifier: Apache-2.0 */

/* Holds an artifact: its items and their fields, and what they take. It knows no delta. */

#include "artifact.h"

#include <stdlib.h>

/* ---- memory ---- */

/* Makes room for one more of `size` bytes.  Returns: the array, or NULL when there is no memory. */
static void *grow(struct parley_artifact *artifact, void *array, size_t count, size_t *capacity,
                  size_t size) {
    if (count < *capacity) {
        return array;
    }
    const size_t more = *capacity == 0 ? 4 : *capacity;
    void *grown = realloc(array, (*capacity + more) * size);
    if (grown != NULL) {
        *capacity += more;
        artifact->bytes += more * size;
    }
    return grown;
}

enum parley_status artifact_text_set(struct parley_artifact *artifact, struct artifact_text *text,
                                     struct parley_bytes bytes) {
    text->data = parley_bytes_copy(
        (struct parley_bytes){bytes.data != NULL ? bytes.data : "", bytes.length});
    text->length = text->data != NULL ? bytes.length : 0;
    artifact->bytes += text->length;
    return text->data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static size_t bytes_of(const struct artifact_elements *elements) {
    return sizeof *elements + elements->capacity * sizeof *elements->items +
           elements->keys.capacity;
}

static void destroy_elements(struct artifact_elements *elements) {
    if (elements != NULL) {
        parley_buffer_finish(&elements->keys);
        free(elements->items);
        free(elements);
    }
}

static void forget_elements(struct parley_artifact *artifact, struct artifact_field *field) {
    if (field->elements != NULL) {
        artifact->bytes -= bytes_of(field->elements);
        destroy_elements(field->elements);
        field->elements = NULL;
    }
}

/* ---- items ---- */

unsigned artifact_number(const char *letter, struct parley_bytes id) {
    const size_t start = strlen(letter);
    unsigned number = 0;
    if (id.length <= start || id.length > start + 9 || memcmp(id.data, letter, start) != 0 ||
        id.data[start] == '0') {
        return 0;
    }
    for (size_t i = start; i < id.length; i++) {
        if (id.data[i] < '0' || id.data[i] > '9') {
            return 0;
        }
        number = number * 10 + (unsigned)(id.data[i] - '0');
    }
    return number;
}

void artifact_id_write(enum brenner_target section, const struct artifact_item *item,
                       struct parley_buffer *out) {
    parley_buffer_text(out, brenner_target_sections[section].letter);
    if (section != BRENNER_RESEARCH_THREAD) {
        parley_buffer_uint(out, item->number);
    }
}

struct artifact_item *artifact_item(struct parley_artifact *artifact, enum brenner_target section,
                                    struct parley_bytes id) {
    struct artifact_section *of = &artifact->sections[section];
    if (section == BRENNER_RESEARCH_THREAD) {
        return of->count > 0 ? of->items : NULL;
    }
    const unsigned number = artifact_number(brenner_target_sections[section].letter, id);
    return number >= 1 && number <= of->count ? &of->items[number - 1] : NULL;
}

struct artifact_item *artifact_item_add(struct parley_artifact *artifact,
                                        enum brenner_target section) {
    struct artifact_section *of = &artifact->sections[section];
    struct artifact_item *items =
        grow(artifact, of->items, of->count, &of->capacity, sizeof *of->items);
    if (items == NULL) {
        return NULL;
    }
    of->items = items;
    of->living_count++;
    struct artifact_item *item = &items[of->count++];
    *item = (struct artifact_item){
        .number = section == BRENNER_RESEARCH_THREAD ? 0 : (unsigned)of->count};
    return item;
}

/* ---- fields ---- */

struct artifact_field *artifact_field(const struct artifact_item *item, struct parley_bytes key) {
    for (size_t i = 0; i < item->field_count; i++) {
        if (parley_bytes_equal(artifact_bytes(&item->fields[i].key), key)) {
            return &item->fields[i];
        }
    }
    return NULL;
}

struct parley_bytes artifact_value(const struct artifact_item *item, const char *key) {
    const struct artifact_field *field = artifact_field(item, parley_bytes_of(key));
    return field != NULL ? artifact_bytes(&field->value) : (struct parley_bytes){0};
}

struct artifact_field *artifact_field_make(struct parley_artifact *artifact,
                                           struct artifact_item *item, struct parley_bytes key) {
    struct artifact_field *field = artifact_field(item, key);
    if (field != NULL) {
        return field;
    }
    struct artifact_field *fields = grow(artifact, item->fields, item->field_count,
                                         &item->field_capacity, sizeof *item->fields);
    if (fields == NULL) {
        return NULL;
    }
    item->fields = fields;
    field = &fields[item->field_count];
    *field = (struct artifact_field){.elements = NULL};
    if (artifact_text_set(artifact, &field->key, key) != PARLEY_OK) {
        return NULL;
    }
    item->field_count++;
    return field;
}

enum parley_status artifact_field_set(struct parley_artifact *artifact,
                                      struct artifact_field *field, struct parley_bytes json) {
    forget_elements(artifact, field);
    artifact->bytes -= field->value.length;
    free(field->value.data);
    field->value = (struct artifact_text){NULL, 0};
    return artifact_text_set(artifact, &field->value, json);
}

/* ---- united arrays ---- */

/* A reference is its session, item and relation: the three members that it has. */
static bool write_reference(struct parley_bytes object, struct parley_buffer *out) {
    static const char *const names[] = {"session", "item", "relation"};
    struct parley_bytes values[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    struct json_members members = {.rest = object};
    struct json_member member;
    size_t found = 0, count = 0;
    while (json_member_next(&members, &member)) {
        count++;
        for (size_t i = 0; i < 3; i++) {
            if (parley_bytes_equal(member.key, parley_bytes_of(names[i]))) {
                values[i] = member.value;
                found++;
            }
        }
    }
    out->has_failed = out->has_failed || members.has_failed;
    json_members_finish(&members);
    for (size_t i = 0; i < 3 && found == 3 && count == 3; i++) {
        parley_buffer_append(out, values[i]);
        parley_buffer_char(out, ',');
    }
    return found == 3 && count == 3;
}

/* FNV-1a: it only spares comparisons, of which there are few. */
static uint64_t hash_of(struct parley_bytes bytes) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes.length; i++) {
        hash = (hash ^ (unsigned char)bytes.data[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static bool has_element(const struct artifact_elements *elements, uint64_t hash,
                        struct parley_bytes key) {
    size_t start = 0;
    for (size_t i = 0; i < elements->count; i++) {
        const struct artifact_element *item = &elements->items[i];
        const struct parley_bytes one = {elements->keys.data + start, item->end - start};
        if (item->hash == hash && parley_bytes_equal(one, key)) {
            return true;
        }
        start = item->end;
    }
    return false;
}

enum taken { TAKEN_NEW, TAKEN_KNOWN, TAKEN_NO_ROOM };

/* Notes an element. Its key is appended to the keys, and taken off again if it is known. */
static enum taken take_element(struct artifact_elements *elements, struct parley_bytes element) {
    const size_t start = elements->keys.length;
    if (artifact_value_kind(element) != ARTIFACT_OBJECT ||
        !write_reference(element, &elements->keys)) {
        parley_buffer_append(&elements->keys, element);
    }
    if (elements->keys.has_failed) {
        return TAKEN_NEW; /* the caller looks */
    }
    const struct parley_bytes key = {elements->keys.data + start, elements->keys.length - start};
    const uint64_t hash = hash_of(key);
    const bool is_known = has_element(elements, hash, key);
    if (is_known || elements->count == ARTIFACT_ELEMENTS_MAX) {
        elements->keys.length = start;
        return is_known ? TAKEN_KNOWN : TAKEN_NO_ROOM;
    }
    if (elements->count == elements->capacity) {
        const size_t capacity = elements->capacity == 0 ? 4 : 2 * elements->capacity;
        struct artifact_element *grown =
            realloc(elements->items, capacity * sizeof *elements->items);
        if (grown == NULL) {
            elements->keys.has_failed = true;
            return TAKEN_NEW;
        }
        elements->items = grown;
        elements->capacity = capacity;
    }
    elements->items[elements->count++] =
        (struct artifact_element){.hash = hash, .end = elements->keys.length};
    return TAKEN_NEW;
}

/* Appends those elements of `array` that are new. */
static bool take_all(struct artifact_elements *elements, struct parley_bytes array,
                     struct parley_buffer *out) {
    struct parley_bytes rest = array, element;
    bool has_all = true;
    while (artifact_element_next(&rest, &element)) {
        const enum taken taken = take_element(elements, element);
        if (taken == TAKEN_NEW) {
            parley_buffer_text(out, out->length > 1 ? "," : "");
            parley_buffer_append(out, element);
        }
        has_all = has_all && taken != TAKEN_NO_ROOM;
    }
    return has_all;
}

enum parley_status artifact_field_unite(struct parley_artifact *artifact,
                                        struct artifact_field *field, struct parley_bytes array,
                                        bool *out_has_all) {
    const struct parley_bytes before = artifact_bytes(&field->value);
    const bool is_array = artifact_value_kind(before) == ARTIFACT_ARRAY;
    struct artifact_elements *elements = field->elements;
    struct parley_buffer value;
    parley_buffer_init(&value);
    parley_buffer_char(&value, '[');
    *out_has_all = true;
    if (elements == NULL) {
        elements = calloc(1, sizeof *elements);
        if (elements == NULL) {
            parley_buffer_finish(&value);
            return PARLEY_E_MEMORY;
        }
        *out_has_all = !is_array || take_all(elements, before, &value);
    } else {
        parley_buffer_append(&value, (struct parley_bytes){before.data + 1, before.length - 2});
        artifact->bytes -= bytes_of(elements);
        field->elements = NULL;
    }
    *out_has_all = take_all(elements, array, &value) && *out_has_all;
    parley_buffer_char(&value, ']');
    enum parley_status status =
        elements->keys.has_failed || value.has_failed
            ? PARLEY_E_MEMORY
            : artifact_field_set(artifact, field, parley_buffer_bytes(&value));
    parley_buffer_finish(&value);
    field->elements = elements;
    artifact->bytes += bytes_of(elements);
    return status;
}

/* ---- contributors ---- */

struct artifact_contributor *artifact_contributor(struct parley_artifact *artifact,
                                                  struct parley_bytes agent) {
    for (size_t i = 0; i < artifact->contributor_count; i++) {
        if (parley_bytes_equal(artifact_bytes(&artifact->contributors[i].agent), agent)) {
            return &artifact->contributors[i];
        }
    }
    struct artifact_contributor *all =
        grow(artifact, artifact->contributors, artifact->contributor_count,
             &artifact->contributor_capacity, sizeof *all);
    if (all == NULL) {
        return NULL;
    }
    artifact->contributors = all;
    struct artifact_contributor *last = &all[artifact->contributor_count];
    *last = (struct artifact_contributor){.seconds = 0};
    if (artifact_text_set(artifact, &last->agent, agent) != PARLEY_OK) {
        return NULL;
    }
    artifact->contributor_count++;
    return last;
}

/* ---- the whole ---- */

enum parley_status artifact_create(struct parley_bytes thread, size_t bytes_max,
                                   struct parley_artifact **out) {
    struct parley_artifact *artifact = calloc(1, sizeof *artifact);
    *out = NULL;
    if (artifact == NULL) {
        return PARLEY_E_MEMORY;
    }
    artifact->bytes_max = SIZE_MAX / 2;
    const enum parley_status status = artifact_text_set(artifact, &artifact->thread, thread);
    artifact->bytes = 0;
    artifact->bytes_max = bytes_max;
    artifact->compiled_version = -1;
    if (status != PARLEY_OK) {
        artifact_destroy(artifact);
        return status;
    }
    *out = artifact;
    return PARLEY_OK;
}

static void finish_item(struct artifact_item *item) {
    for (size_t i = 0; i < item->field_count; i++) {
        struct artifact_field *field = &item->fields[i];
        free(field->key.data);
        free(field->value.data);
        destroy_elements(field->elements);
    }
    free(item->fields);
    free(item->killed_by.data);
    free(item->kill_reason.data);
}

static void finish_events(struct artifact_events *events) {
    for (size_t i = 0; i < events->count; i++) {
        free(events->items[i].from.data);
        free(events->items[i].target.data);
        free(events->items[i].text.data);
    }
}

void artifact_destroy(struct parley_artifact *artifact) {
    if (artifact == NULL) {
        return;
    }
    for (size_t s = 0; s < BRENNER_SECTION_COUNT; s++) {
        for (size_t i = 0; i < artifact->sections[s].count; i++) {
            finish_item(&artifact->sections[s].items[i]);
        }
        free(artifact->sections[s].items);
    }
    for (size_t i = 0; i < artifact->contributor_count; i++) {
        free(artifact->contributors[i].agent.data);
    }
    for (size_t i = 0; i < artifact->compiled.count; i++) {
        free(artifact->compiled.items[i].from.data);
        free(artifact->compiled.items[i].missing.data);
        free(artifact->compiled.items[i].extra.data);
    }
    finish_events(&artifact->not_applied);
    finish_events(&artifact->corrections);
    free(artifact->contributors);
    free(artifact->thread.data);
    free(artifact);
}
