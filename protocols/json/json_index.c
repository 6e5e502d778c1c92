/* SPDX-License-Identifier: Apache-2.0 */

/* One reading with a listener that enters the message, the members that rows name as parents, and
 * the arrays of references. */

#include "json_index.h"

#include "json_reader.h"

enum { PARENT_DEPTH = 2 };

struct reading {
    struct parley_message *message;
    const struct json_index_row *rows;
    struct parley_index_entry *out;
    size_t depth;                     /* of the array or object that is being read */
    struct parley_bytes parent;       /* the member of the message that is being read, … */
    const struct json_index_row *row; /* … the row whose value comes; NULL: none … */
    bool is_parent;                   /* … or an object that has such members */
    size_t list_depth;                /* of an array of references; 0: outside of one */
    size_t words_depth;               /* of an array or object that has words; 0: outside of one */
    bool is_out_of_memory;
};

static bool is_for_words(const struct json_index_row *row) {
    return row->relation == JSON_INDEX_WORDS || row->relation == JSON_INDEX_CONTENT;
}

static bool is_for(const struct json_index_row *row, const struct reading *reading) {
    const unsigned type = reading->message->type;
    return (row->for_types == 0 || (row->for_types & PARLEY_TYPE_BIT(type)) != 0) &&
           (!is_for_words(row) || reading->out->words != NULL);
}

/* Texts live during a call only. */
static void add_reference(struct reading *reading, struct parley_bytes text) {
    struct parley_index_entry *out = reading->out;
    if (out->reference_count == PARLEY_INDEX_REFERENCES_MAX) {
        parley_index_add_reference(out, (unsigned)reading->row->relation, text);
        return;
    }
    const char *copy = parley_arena_copy(&reading->message->arena, text);
    reading->is_out_of_memory |= copy == NULL;
    if (copy != NULL) {
        parley_index_add_reference(out, (unsigned)reading->row->relation,
                                   (struct parley_bytes){copy, text.length});
    }
}

static void add_member(struct reading *reading, const struct parley_value *value) {
    const char *name = reading->row->name;
    struct parley_buffer number;
    if (value->kind == PARLEY_STRING) {
        parley_index_add_text(reading->out, name, value->text);
    } else if (value->kind == PARLEY_BOOLEAN) {
        parley_index_add_json(reading->out, name,
                              value->number != 0 ? PARLEY_BYTES("true") : PARLEY_BYTES("false"));
    } else if (value->kind == PARLEY_NUMBER) {
        parley_buffer_init(&number);
        parley_buffer_number(&number, value->number);
        reading->is_out_of_memory |= number.has_failed;
        if (!number.has_failed) {
            parley_index_add_json(reading->out, name, parley_buffer_bytes(&number));
        }
        parley_buffer_finish(&number);
    }
}

static bool enter(struct reading *reading, const struct parley_value *value) {
    const bool has_content = value->kind == PARLEY_ARRAY || value->kind == PARLEY_OBJECT;
    reading->depth += has_content ? 1 : 0;
    return has_content;
}

/* The value of a row for words, or what is in it. */
static bool on_words(struct reading *reading, const struct parley_value *value) {
    const bool is_inside = reading->words_depth != 0;
    if (value->kind == PARLEY_STRING && (is_inside || reading->row->relation == JSON_INDEX_WORDS)) {
        parley_index_add_words(reading->out, value->text);
    }
    if (!enter(reading, value)) {
        return false;
    }
    reading->words_depth = is_inside ? reading->words_depth : reading->depth;
    return true;
}

/* The value of a row, or an item of its array. */
static bool on_row(struct reading *reading, const struct parley_value *value) {
    if (is_for_words(reading->row)) {
        return on_words(reading, value);
    }
    if (reading->row->relation == JSON_INDEX_MEMBER) {
        add_member(reading, value);
    } else if (value->kind == PARLEY_STRING) {
        add_reference(reading, value->text);
    } else if (value->kind == PARLEY_ARRAY && reading->list_depth == 0) {
        reading->list_depth = reading->depth + 1;
        return enter(reading, value);
    }
    return false;
}

static bool on_value(void *context, const struct parley_value *value) {
    struct reading *reading = context;
    if (reading->depth == 0) {
        return enter(reading, value);
    }
    if (reading->row != NULL) {
        return on_row(reading, value);
    }
    return reading->is_parent && value->kind == PARLEY_OBJECT && enter(reading, value);
}

/* `key` lives during the call only, but the parent's row has its name. */
static bool on_key(void *context, struct parley_bytes key) {
    struct reading *reading = context;
    const bool is_inside = reading->depth == PARENT_DEPTH;
    if (reading->words_depth != 0) {
        return reading->row->relation == JSON_INDEX_WORDS ||
               reading->depth > reading->words_depth ||
               parley_bytes_equal(key, PARLEY_BYTES("content"));
    }
    reading->row = NULL;
    reading->is_parent = false;
    for (const struct json_index_row *row = reading->rows; row->name != NULL; row++) {
        if (!is_for(row, reading)) {
            continue;
        }
        const struct parley_bytes parent = parley_bytes_of(row->parent);
        const bool is_here =
            is_inside ? parent.data != NULL && parley_bytes_equal(parent, reading->parent)
                      : parent.data == NULL;
        if (is_here && parley_bytes_equal(key, parley_bytes_of(row->name))) {
            reading->row = row;
            return true;
        }
        if (!is_inside && parent.data != NULL && parley_bytes_equal(key, parent)) {
            reading->parent = parent;
            reading->is_parent = true;
        }
    }
    return reading->is_parent;
}

static void on_leave(void *context, size_t count) {
    struct reading *reading = context;
    (void)count;
    if (reading->list_depth == reading->depth) {
        reading->list_depth = 0;
        reading->row = NULL;
    }
    if (reading->words_depth == reading->depth) {
        reading->words_depth = 0;
        reading->row = NULL;
    }
    reading->depth--;
}

enum parley_status json_index_read(struct parley_message *message,
                                   const struct json_index_row *rows,
                                   struct parley_index_entry *out) {
    struct reading reading = {.message = message, .rows = rows, .out = out};
    const struct json_events events = {
        .context = &reading, .value = on_value, .key = on_key, .leave = on_leave, .is_brief = true};
    PARLEY_TRY(json_reader_read_again(message->text, &events, &message->arena));
    return reading.is_out_of_memory ? PARLEY_E_MEMORY : PARLEY_OK;
}
