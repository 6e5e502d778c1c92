/* SPDX-License-Identifier: Apache-2.0 */

/* Every `{` of a text may begin an object, and to read on from each of them would take time that
 * grows with the square of the text. But readings share what they read: one that meets a brace
 * where a value may be goes through exactly what a reading that begins there would, and a fault
 * ends both. So one stack serves all readings that agree on what is inside quotes and what is not.
 * Two such readings are enough, of which one is inside a string whenever the other is outside: a
 * quote makes both change sides, and a backslash ends the one that is outside.
 *
 * Each byte is looked at by each reading once, and once more when its token ends. */

#include "object_search.h"

#include <stdint.h>
#include <string.h>

#include <parley/buffer.h>

#include "json_number.h"
#include "json_string.h"

/* The next token expected. */
enum phase {
    FIRST_KEY, /* or the closing brace */
    KEY,
    IN_KEY,
    COLON,
    VALUE,
    FIRST_ITEM, /* or the closing bracket */
    IN_STRING,
    IN_WORD, /* a number, or one of three words */
    AFTER_VALUE,
};

/* An object that is open. */
struct object {
    uint32_t at;
    uint32_t arrays; /* that are open in it, around the next token */
    uint32_t seen;   /* of the names */
    uint32_t found;  /* how many had been found before it */
};

struct reading {
    enum phase phase;
    bool is_after_backslash;
    size_t token;                 /* where the current string or word began */
    struct parley_buffer objects; /* the open ones; none: nothing is being read */
    struct parley_buffer found;   /* of uint32_t: objects inside them that are whole */
};

struct search {
    struct parley_bytes text;
    const char *const *names;
    uint32_t all_names;
    void (*report)(void *context, size_t at);
    void *context;
    struct reading readings[2];
    bool is_out_of_memory;
};

/* ---- stacks ---- */

static bool is_alive(const struct reading *reading) {
    return reading->objects.length > 0;
}

static struct object *object_at(const struct reading *reading, size_t offset) {
    return (struct object *)(void *)(reading->objects.data + offset);
}

static struct object *innermost(const struct reading *reading) {
    return object_at(reading, reading->objects.length - sizeof(struct object));
}

static size_t found_count(const struct reading *reading) {
    return reading->found.length / sizeof(uint32_t);
}

static void push(struct search *search, struct parley_buffer *to, const void *item, size_t size) {
    parley_buffer_append(to, (struct parley_bytes){item, size});
    search->is_out_of_memory |= to->has_failed;
}

static void open_object(struct search *search, struct reading *reading, size_t at) {
    const struct object object = {.at = (uint32_t)at, .found = (uint32_t)found_count(reading)};
    push(search, &reading->objects, &object, sizeof object);
    reading->phase = FIRST_KEY;
}

/* Ends a reading, and reports its objects. */
static void end_reading(struct search *search, struct reading *reading) {
    for (size_t i = 0; i < found_count(reading); i++) {
        uint32_t at;
        memcpy(&at, reading->found.data + i * sizeof at, sizeof at);
        search->report(search->context, at);
    }
    parley_buffer_clear(&reading->found);
    parley_buffer_clear(&reading->objects);
}

/* An object with all members is whole: objects found inside it do not count, nor those that the
 * other reading has begun inside it. */
static void keep_found(struct search *search, struct reading *reading, struct object object) {
    struct reading *other = &search->readings[reading == &search->readings[0]];
    if (is_alive(other) && object_at(other, 0)->at > object.at) {
        parley_buffer_clear(&other->found);
        parley_buffer_clear(&other->objects);
    }
    reading->found.length = object.found * sizeof object.at;
    push(search, &reading->found, &object.at, sizeof object.at);
}

static void close_object(struct search *search, struct reading *reading) {
    const struct object object = *innermost(reading);
    if (object.seen == search->all_names) {
        keep_found(search, reading, object);
    }
    reading->objects.length -= sizeof object;
    reading->phase = AFTER_VALUE;
    if (!is_alive(reading)) {
        end_reading(search, reading);
    }
}

/* ---- tokens ---- */

static bool is_of_word(char c) {
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '+' ||
           c == '.';
}

static struct parley_bytes token_of(const struct search *search, const struct reading *reading,
                                    size_t end) {
    return (struct parley_bytes){search->text.data + reading->token, end - reading->token};
}

static bool is_value(struct parley_bytes word) {
    const char *end = word.data + word.length;
    return json_number_read(word.data, end, NULL) == end ||
           parley_bytes_equal(word, PARLEY_BYTES("true")) ||
           parley_bytes_equal(word, PARLEY_BYTES("false")) ||
           parley_bytes_equal(word, PARLEY_BYTES("null"));
}

/* A longer name has no escape for each of its characters in the text. */
enum { NAME_BYTES_MAX = 128 };

static void note_name(const struct search *search, struct object *object, struct parley_bytes raw,
                      bool has_escapes) {
    char decoded[NAME_BYTES_MAX];
    if (has_escapes && raw.length > sizeof decoded) {
        return;
    }
    if (has_escapes) {
        raw = (struct parley_bytes){decoded, json_string_write(raw, decoded)};
    }
    for (size_t i = 0; search->names[i] != NULL; i++) {
        const bool is_it = parley_bytes_equal(raw, parley_bytes_of(search->names[i]));
        object->seen |= (uint32_t)is_it << i;
    }
}

/* At the quote that ends a string.  Returns: whether the string is right. */
static bool end_string(struct search *search, struct reading *reading, size_t at) {
    const struct parley_bytes token = token_of(search, reading, at);
    const struct parley_bytes raw = {token.data + 1, token.length - 1};
    const char *quote = search->text.data + at;
    bool has_escapes;
    if (json_string_end(raw.data, quote + 1, &has_escapes) != quote) {
        return false;
    }
    if (reading->phase == IN_KEY) {
        note_name(search, innermost(reading), raw, has_escapes);
    }
    reading->phase = reading->phase == IN_KEY ? COLON : AFTER_VALUE;
    return true;
}

/* A byte inside a string. */
static bool read_in_string(struct search *search, struct reading *reading, size_t at, char c) {
    if (reading->is_after_backslash) {
        reading->is_after_backslash = false;
    } else if (c == '\\') {
        reading->is_after_backslash = true;
    } else if (c == '"') {
        return end_string(search, reading, at);
    }
    return (unsigned char)c >= ' ';
}

/* ---- bytes ---- */

static bool begin_string(struct reading *reading, enum phase phase, size_t at) {
    reading->phase = phase;
    reading->token = at;
    return true;
}

/* The first byte of a value. */
static bool begin_value(struct search *search, struct reading *reading, size_t at, char c) {
    if (c == '"') {
        return begin_string(reading, IN_STRING, at);
    }
    if (c == '{') {
        open_object(search, reading, at);
        return true;
    }
    if (c == '[') {
        innermost(reading)->arrays++;
        reading->phase = FIRST_ITEM;
        return true;
    }
    return is_of_word(c) && begin_string(reading, IN_WORD, at);
}

static bool close_array(struct reading *reading) {
    innermost(reading)->arrays--;
    reading->phase = AFTER_VALUE;
    return true;
}

static bool read_after_value(struct search *search, struct reading *reading, char c) {
    const bool is_in_array = innermost(reading)->arrays > 0;
    if (c == ',') {
        reading->phase = is_in_array ? VALUE : KEY;
        return true;
    }
    if (c == ']') {
        return is_in_array && close_array(reading);
    }
    if (c != '}' || is_in_array) {
        return false;
    }
    close_object(search, reading);
    return true;
}

/* A byte between tokens that is not white space.  Returns: whether JSON can continue with it. */
static bool read_between(struct search *search, struct reading *reading, size_t at, char c) {
    switch (reading->phase) {
    case FIRST_KEY:
        if (c == '}') {
            close_object(search, reading);
            return true;
        }
        return c == '"' && begin_string(reading, IN_KEY, at);
    case KEY:
        return c == '"' && begin_string(reading, IN_KEY, at);
    case COLON:
        reading->phase = VALUE;
        return c == ':';
    case FIRST_ITEM:
        return c == ']' ? close_array(reading) : begin_value(search, reading, at, c);
    case VALUE:
        return begin_value(search, reading, at, c);
    default:
        return read_after_value(search, reading, c);
    }
}

static bool read_byte(struct search *search, struct reading *reading, size_t at) {
    const char c = search->text.data[at];
    if (reading->phase == IN_KEY || reading->phase == IN_STRING) {
        return read_in_string(search, reading, at, c);
    }
    if (reading->phase == IN_WORD) {
        if (is_of_word(c)) {
            return true;
        }
        if (!is_value(token_of(search, reading, at))) {
            return false;
        }
        reading->phase = AFTER_VALUE;
    }
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    return is_blank || read_between(search, reading, at, c);
}

/* ---- the text ---- */

/* Whether a reading has taken the brace at `at` for the beginning of an object. */
static bool is_taken(const struct search *search, size_t at) {
    for (size_t i = 0; i < 2; i++) {
        const struct reading *reading = &search->readings[i];
        if (is_alive(reading) && innermost(reading)->at == at) {
            return true;
        }
    }
    return false;
}

static void begin_reading(struct search *search, size_t at) {
    struct reading *reading = &search->readings[is_alive(&search->readings[0])];
    if (!is_alive(reading)) {
        reading->is_after_backslash = false;
        open_object(search, reading, at);
    }
}

static void take_byte(struct search *search, size_t at) {
    for (size_t i = 0; i < 2; i++) {
        struct reading *reading = &search->readings[i];
        if (is_alive(reading) && !read_byte(search, reading, at)) {
            end_reading(search, reading);
        }
    }
    if (search->text.data[at] == '{' && !is_taken(search, at)) {
        begin_reading(search, at);
    }
}

static void search_all(struct search *search) {
    const struct parley_bytes text = search->text;
    for (size_t at = 0; at < text.length && !search->is_out_of_memory; at++) {
        if (!is_alive(&search->readings[0]) && !is_alive(&search->readings[1])) {
            const char *brace = memchr(text.data + at, '{', text.length - at);
            if (brace == NULL) {
                break;
            }
            at = (size_t)(brace - text.data);
        }
        take_byte(search, at);
    }
}

bool object_search(struct parley_bytes text, const char *const *names,
                   void (*found)(void *context, size_t at), void *context) {
    struct search search = {.text = text, .names = names, .report = found, .context = context};
    for (size_t i = 0; names[i] != NULL; i++) {
        search.all_names |= UINT32_C(1) << i;
    }
    for (size_t i = 0; i < 2; i++) {
        parley_buffer_init(&search.readings[i].objects);
        parley_buffer_init(&search.readings[i].found);
    }
    search_all(&search);
    for (size_t i = 0; i < 2; i++) {
        end_reading(&search, &search.readings[i]);
        parley_buffer_finish(&search.readings[i].objects);
        parley_buffer_finish(&search.readings[i].found);
    }
    return !search.is_out_of_memory;
}
