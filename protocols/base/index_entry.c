/* SPDX-License-Identifier: Apache-2.0 */

/* The parts of an index's entry that a protocol adds. */

#include <parley/index.h>

#include "text.h"

void parley_index_add_reference(struct parley_index_entry *entry, unsigned relation,
                                struct parley_bytes target) {
    if (target.length == 0) {
        return;
    }
    for (size_t i = 0; i < entry->reference_count; i++) {
        const struct parley_index_reference *other = &entry->references[i];
        if (other->relation == relation && parley_bytes_equal(other->target, target)) {
            return;
        }
    }
    if (entry->reference_count == PARLEY_INDEX_REFERENCES_MAX) {
        entry->has_more = true;
        return;
    }
    entry->references[entry->reference_count++] =
        (struct parley_index_reference){.relation = relation, .target = target};
}

static void copy_to(struct parley_index_entry *entry, struct parley_bytes text) {
    memcpy(entry->members + entry->members_length, text.data, text.length);
    entry->members_length += text.length;
}

void parley_index_add_json(struct parley_index_entry *entry, const char *name,
                           struct parley_bytes json) {
    const struct parley_bytes key = parley_bytes_of(name);
    const size_t frame = sizeof ",\"\":}" - 1;
    if (key.length + json.length + frame > sizeof entry->members - entry->members_length) {
        entry->has_more = true;
        return;
    }
    if (entry->members_length > 0) {
        entry->members_length--; /* its brace */
    }
    copy_to(entry, entry->members_length > 0 ? PARLEY_BYTES(",\"") : PARLEY_BYTES("{\""));
    copy_to(entry, key);
    copy_to(entry, PARLEY_BYTES("\":"));
    copy_to(entry, json);
    copy_to(entry, PARLEY_BYTES("}"));
}

void parley_index_add_text(struct parley_index_entry *entry, const char *name,
                           struct parley_bytes text) {
    struct parley_buffer json;
    const struct parley_bytes start = text_prefix(text, PARLEY_INDEX_TEXT_BYTES_MAX);
    if (text.data == NULL) {
        return;
    }
    parley_buffer_init(&json);
    parley_buffer_json(&json, start);
    if (json.has_failed) {
        entry->has_more = true;
    } else {
        parley_index_add_json(entry, name, parley_buffer_bytes(&json));
        entry->has_more |= start.length < text.length;
    }
    parley_buffer_finish(&json);
}

/* A character for private use is a word to all that split texts into words, and one that no text
 * has by accident. */
void parley_index_add_words(struct parley_index_entry *entry, struct parley_bytes text) {
    static const struct parley_bytes border = {" \xEE\x80\x80 ", 5};
    struct parley_buffer *words = entry->words;
    if (words == NULL || text.length == 0 ||
        words->length + border.length > PARLEY_INDEX_WORDS_BYTES_MAX) {
        return;
    }
    if (words->length > 0) {
        parley_buffer_append(words, border);
    }
    parley_buffer_append(words, text_prefix(text, PARLEY_INDEX_WORDS_BYTES_MAX - words->length));
}
