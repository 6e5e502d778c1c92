/* SPDX-License-Identifier: Apache-2.0 */

/* What makes a violation go away. A list of remedies, each a way in which values go wrong: the
 * first one whose value satisfies the broken row is the fix. No remedy knows a rule, and no rule a
 * remedy. */

#include <parley/fix.h>

#include <math.h>

#include "alike.h"
#include "constraint.h"
#include "text.h"

/* Texts that a remedy makes are no longer than this; longer values are not fixed. */
#define MADE_BYTES_MAX 160

/* The value that is tried in place of the one found. */
struct attempt {
    const struct parley_place *place;
    const struct parley_value *found;
    struct parley_value made;
    bool is_wrapped;              /* as the only item of an array */
    struct parley_buffer *memory; /* to write into; a failure is sticky */
    char text[MADE_BYTES_MAX];
};

static bool is_wanted(const struct attempt *attempt, unsigned kinds) {
    return (attempt->place->kinds & kinds) != 0;
}

static bool make_text(struct attempt *attempt, struct parley_bytes text) {
    attempt->made = (struct parley_value){.kind = PARLEY_STRING, .text = text};
    return true;
}

static bool make_number(struct attempt *attempt, double number) {
    attempt->made = (struct parley_value){.kind = PARLEY_NUMBER, .number = number};
    return true;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A string of the message without white space around it; data NULL: it is not one, or too long. */
static struct parley_bytes found_text(const struct attempt *attempt) {
    struct parley_bytes text = parley_value_text(attempt->found);
    while (text.length > 0 && is_blank(text.data[0])) {
        text.data++;
        text.length--;
    }
    while (text.length > 0 && is_blank(text.data[text.length - 1])) {
        text.length--;
    }
    return text.length < MADE_BYTES_MAX ? text : (struct parley_bytes){0};
}

/* ---- safe: the message says the same afterwards ---- */

static bool constant(struct attempt *attempt) {
    const char *const *choices = attempt->place->choices;
    const bool has_one =
        attempt->place->constraint == PARLEY_ONE_OF && choices[0] != NULL && choices[1] == NULL;
    return has_one && make_text(attempt, parley_bytes_of(choices[0]));
}

/* The only choice that is like the text in this sense. */
static bool choose(struct attempt *attempt,
                   bool (*is_alike)(struct parley_bytes, struct parley_bytes)) {
    const struct parley_bytes text = found_text(attempt);
    const char *chosen = NULL;
    if (attempt->place->constraint != PARLEY_ONE_OF || text.data == NULL) {
        return false;
    }
    for (const char *const *choice = attempt->place->choices; *choice != NULL; choice++) {
        if (is_alike(text, parley_bytes_of(*choice))) {
            if (chosen != NULL) {
                return false;
            }
            chosen = *choice;
        }
    }
    return chosen != NULL && make_text(attempt, parley_bytes_of(chosen));
}

static bool other_case(struct attempt *attempt) {
    return choose(attempt, alike_but_case);
}

/* "0.9" for 0.9, if no digit of it is lost. */
static bool number_in_quotes(struct attempt *attempt) {
    enum { DIGITS_EXACT = 15 };
    const struct parley_bytes text = found_text(attempt);
    size_t digits = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        digits += c >= '0' && c <= '9';
        if (strchr("0123456789+-.eE", c) == NULL || c == '\0') {
            return false;
        }
    }
    if (digits == 0 || digits > DIGITS_EXACT ||
        !is_wanted(attempt, PARLEY_NUMBER | PARLEY_INTEGER)) {
        return false;
    }
    memcpy(attempt->text, text.data, text.length);
    attempt->text[text.length] = '\0';
    char *end;
    const double number = strtod(attempt->text, &end);
    return *end == '\0' && isfinite(number) && make_number(attempt, number);
}

static bool boolean_in_quotes(struct attempt *attempt) {
    const struct parley_bytes text = found_text(attempt);
    const bool is_true = alike_but_case(text, PARLEY_BYTES("true"));
    if (!is_wanted(attempt, PARLEY_BOOLEAN) ||
        !(is_true || alike_but_case(text, PARLEY_BYTES("false")))) {
        return false;
    }
    attempt->made = (struct parley_value){.kind = PARLEY_BOOLEAN, .number = is_true};
    return true;
}

static bool is_number(const struct attempt *attempt) {
    return attempt->found->kind == PARLEY_NUMBER || attempt->found->kind == PARLEY_INTEGER;
}

/* 1.5 for "1.5". Beyond this, other numbers have the same double. */
static bool number_without_quotes(struct attempt *attempt, const char *fraction) {
    const double exact_max = 9007199254740992.0;
    if (!is_number(attempt) || !is_wanted(attempt, PARLEY_STRING) ||
        fabs(attempt->found->number) >= exact_max) {
        return false;
    }
    struct parley_buffer *text = attempt->memory;
    text->length = 0;
    parley_buffer_number(text, attempt->found->number);
    parley_buffer_text(text, fraction);
    if (text->has_failed || text->length >= MADE_BYTES_MAX) {
        return false;
    }
    memcpy(attempt->text, text->data, text->length);
    return make_text(attempt, (struct parley_bytes){attempt->text, text->length});
}

static bool whole_number_without_quotes(struct attempt *attempt) {
    return number_without_quotes(attempt, "");
}

/* 1.0, of which a reader keeps no more than that it is 1: a version. */
static bool version_without_quotes(struct attempt *attempt) {
    return is_number(attempt) && attempt->found->number == floor(attempt->found->number) &&
           number_without_quotes(attempt, ".0");
}

static bool wants_time(const struct attempt *attempt) {
    return attempt->place->constraint == PARLEY_TIME ||
           attempt->place->constraint == PARLEY_TIME_UTC;
}

static bool ends_with(struct parley_bytes text, const char *end) {
    const size_t length = strlen(end);
    return text.length >= length && memcmp(text.data + text.length - length, end, length) == 0;
}

static struct parley_bytes without_end(struct parley_bytes text, size_t count) {
    text.length -= count;
    while (text.length > 0 && text.data[text.length - 1] == ' ') {
        text.length--;
    }
    return text;
}

/* The offset of a date-time as RFC 3339 writes it: UTC, GMT, +0100 and +01 become Z and +01:00.
 * `text` loses it.  Returns: NULL: it has none. */
static const char *take_offset(struct parley_bytes *text, char offset[sizeof "+00:00"]) {
    static const char *const names[] = {" UTC", " GMT", "UTC", " Z", "Z", "z"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (ends_with(*text, names[i])) {
            *text = without_end(*text, strlen(names[i]));
            return "Z";
        }
    }
    size_t sign = text->length;
    while (sign > 0 && strchr("0123456789:", text->data[sign - 1]) != NULL) {
        sign--;
    }
    if (sign < sizeof "2025-12-14T10:30" || strchr("+-", text->data[sign - 1]) == NULL) {
        return NULL;
    }
    size_t digits = 0;
    static const size_t places[] = {1, 2, 4, 5};
    memcpy(offset, "+00:00", sizeof "+00:00");
    offset[0] = text->data[sign - 1];
    for (size_t i = sign; i < text->length; i++) {
        if (text->data[i] == ':') {
            continue;
        }
        if (digits == 4) {
            return NULL;
        }
        offset[places[digits++]] = text->data[i];
    }
    *text = without_end(*text, text->length - sign + 1);
    return digits == 2 || digits == 4 ? offset : NULL;
}

/* The same instant, with a T and an offset as RFC 3339 writes them. */
static bool time_form(struct attempt *attempt) {
    enum { AT_T = 10 };
    char offset_text[sizeof "+00:00"];
    struct parley_bytes text = found_text(attempt);
    if (!wants_time(attempt) || text.length <= AT_T || text.length > MADE_BYTES_MAX / 2) {
        return false;
    }
    const char *offset = take_offset(&text, offset_text);
    if (offset == NULL || text.length <= AT_T) {
        return false;
    }
    memcpy(attempt->text, text.data, text.length);
    if (attempt->text[AT_T] == ' ' || attempt->text[AT_T] == '_') {
        attempt->text[AT_T] = 'T';
    }
    memcpy(attempt->text + text.length, offset, strlen(offset) + 1);
    return make_text(attempt, parley_bytes_of(attempt->text));
}

/* The same instant in UTC. A fraction would be lost. */
static bool time_in_utc(struct attempt *attempt) {
    const struct parley_bytes text = found_text(attempt);
    double seconds;
    if (attempt->place->constraint != PARLEY_TIME_UTC || !text_unix_time(text, &seconds) ||
        seconds != floor(seconds) || memchr(text.data, '.', text.length) != NULL) {
        return false;
    }
    text_write_unix_time(seconds, attempt->text);
    return make_text(attempt, parley_bytes_of(attempt->text));
}

/* A UUID as other notations have it: as a URN, in braces, without dashes. */
static bool uuid_form(struct attempt *attempt) {
    const bool is_asked =
        attempt->place->constraint == PARLEY_UUID || attempt->place->constraint == PARLEY_UUID4;
    struct parley_bytes text = found_text(attempt);
    if (!is_asked || text.data == NULL) {
        return false;
    }
    if (text.length > 9 && memcmp(text.data, "urn:uuid:", 9) == 0) {
        text = (struct parley_bytes){text.data + 9, text.length - 9};
    }
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (strchr("{}-", text.data[i]) == NULL) {
            if (length == 8 || length == 13 || length == 18 || length == 23) {
                attempt->text[length++] = '-';
            }
            attempt->text[length++] = text.data[i];
        }
        if (length > 36) {
            return false;
        }
    }
    return make_text(attempt, (struct parley_bytes){attempt->text, length});
}

/* A prefix that is one of a few words in capitals, with a role in small letters in brackets:
 * "Delta[Opus]: …" as "DELTA[opus]: …". */
static bool prefix_case(struct attempt *attempt) {
    const struct parley_bytes text = found_text(attempt);
    bool is_role = false;
    if (attempt->place->constraint != PARLEY_PATTERN || text.data == NULL || text.length == 0 ||
        memchr(text.data, ':', text.length) == NULL) {
        return false;
    }
    memcpy(attempt->text, text.data, text.length);
    for (char *at = attempt->text; *at != ':'; at++) {
        is_role = (is_role || *at == '[') && *at != ']';
        const bool is_letter = (*at | 0x20) >= 'a' && (*at | 0x20) <= 'z';
        *at = (char)(!is_letter ? *at : is_role ? *at | 0x20 : *at & ~0x20);
    }
    return make_text(attempt, (struct parley_bytes){attempt->text, text.length});
}

/* ---- suggestions ---- */

static bool is_near(struct parley_bytes text, struct parley_bytes choice) {
    return alike_but_style(text, choice) || alike_but_letter(text, choice);
}

static bool near_choice(struct attempt *attempt) {
    return choose(attempt, is_near);
}

static bool time_without_offset(struct attempt *attempt) {
    enum { AT_T = 10 };
    const struct parley_bytes text = found_text(attempt);
    if (!wants_time(attempt) || text.length <= AT_T || text.length > MADE_BYTES_MAX / 2) {
        return false;
    }
    memcpy(attempt->text, text.data, text.length);
    attempt->text[AT_T] = 'T';
    memcpy(attempt->text + text.length, "Z", sizeof "Z");
    return make_text(attempt, parley_bytes_of(attempt->text));
}

/* A Unix time in seconds or, if that were far ahead, in milliseconds. */
static bool time_of_number(struct attempt *attempt) {
    const double seconds_min = 1e9, seconds_max = 1e10, milliseconds_max = 1e13;
    const double number = attempt->found->number;
    if (!is_number(attempt) || !wants_time(attempt) || number < seconds_min ||
        number > milliseconds_max) {
        return false;
    }
    text_write_unix_time(number < seconds_max ? number : floor(number / 1000), attempt->text);
    return make_text(attempt, parley_bytes_of(attempt->text));
}

static bool number_of_time(struct attempt *attempt) {
    const struct parley_bytes text = found_text(attempt);
    double seconds;
    return is_wanted(attempt, PARLEY_INTEGER) && text.data != NULL &&
           text_unix_time(text, &seconds) && make_number(attempt, floor(seconds));
}

static bool cut_to_integer(struct attempt *attempt) {
    return is_wanted(attempt, PARLEY_INTEGER) && is_number(attempt) &&
           make_number(attempt, floor(attempt->found->number));
}

static bool clamp(struct attempt *attempt) {
    const struct parley_place *place = attempt->place;
    const double number = attempt->found->number;
    if (!is_number(attempt) ||
        !(place->constraint == PARLEY_RANGE || place->constraint == PARLEY_MINIMUM)) {
        return false;
    }
    return make_number(attempt, number < place->minimum ? place->minimum : place->maximum);
}

/* An agent id of what has characters that none may have. */
static bool token_form(struct attempt *attempt) {
    const struct parley_bytes text = found_text(attempt);
    if (attempt->place->constraint != PARLEY_TOKEN || text.data == NULL) {
        return false;
    }
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        attempt->text[i] = (unsigned char)c > ' ' && strchr(".*>\x7F", c) == NULL ? c : '-';
    }
    return make_text(attempt, (struct parley_bytes){attempt->text, text.length});
}

static bool only_item(struct attempt *attempt) {
    attempt->is_wrapped = is_wanted(attempt, PARLEY_ARRAY) && found_text(attempt).data != NULL;
    attempt->made.kind = PARLEY_ARRAY;
    return attempt->is_wrapped;
}

/* In the order in which they are tried. */
static const struct {
    bool (*make)(struct attempt *attempt);
    bool is_safe;
} remedies[] = {
    {constant, true},
    {other_case, true},
    {prefix_case, true},
    {number_in_quotes, true},
    {boolean_in_quotes, true},
    {whole_number_without_quotes, true},
    {version_without_quotes, true},
    {time_form, true},
    {time_in_utc, true},
    {uuid_form, true},
    {near_choice, false},
    {time_without_offset, false},
    {time_of_number, false},
    {number_of_time, false},
    {cut_to_integer, false},
    {clamp, false},
    {token_form, false},
    {only_item, false},
};

/* ---- fixes ---- */

static void write_made(const struct attempt *attempt) {
    const struct parley_value *value = attempt->is_wrapped ? attempt->found : &attempt->made;
    struct parley_buffer *out = attempt->memory;
    out->length = 0;
    parley_buffer_text(out, attempt->is_wrapped ? "[" : "");
    if (value->kind == PARLEY_STRING) {
        parley_buffer_json(out, value->text);
    } else if (value->kind == PARLEY_BOOLEAN) {
        parley_buffer_text(out, value->number != 0 ? "true" : "false");
    } else {
        parley_buffer_number(out, value->number);
    }
    parley_buffer_text(out, attempt->is_wrapped ? "]" : "");
}

static bool replace(const struct parley_finding *finding, struct parley_buffer *memory,
                    struct parley_fix *out) {
    if (constraint_holds(finding->check, &finding->value)) {
        return false; /* the row asks for more than the value: how many items, the one before */
    }
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
        struct attempt attempt = {
            .place = finding->check->place, .found = &finding->value, .memory = memory};
        if (remedies[i].make(&attempt) && constraint_holds(finding->check, &attempt.made)) {
            write_made(&attempt);
            *out = (struct parley_fix){.kind = PARLEY_FIX_REPLACE, .is_safe = remedies[i].is_safe};
            return true;
        }
    }
    return false;
}

static bool add(const struct parley_finding *finding, struct parley_buffer *memory,
                struct parley_fix *out) {
    struct attempt attempt = {
        .place = finding->check->place, .found = &finding->value, .memory = memory};
    if (finding->stray.data != NULL) {
        *out = (struct parley_fix){.kind = PARLEY_FIX_MOVE, .is_safe = true, .key = finding->stray};
        return true;
    }
    if (!constant(&attempt)) {
        return false;
    }
    write_made(&attempt);
    *out = (struct parley_fix){.kind = PARLEY_FIX_ADD, .is_safe = true};
    return true;
}

static void edit(const struct parley_finding *finding, struct parley_buffer *memory,
                 struct parley_fix *out) {
    struct parley_fix made = {.kind = PARLEY_FIX_EDIT};
    parley_buffer_clear(memory);
    if (finding->part.fix(finding, memory, &made) && !memory->has_failed &&
        made.edit.inserted.length <= PARLEY_FIX_INSERTED_MAX) {
        *out = made;
    }
}

void parley_fix_of(const struct parley_finding *finding, struct parley_buffer *memory,
                   struct parley_fix *out) {
    *out = (struct parley_fix){.kind = PARLEY_FIX_NONE};
    if (finding->meant.data != NULL) {
        *out = (struct parley_fix){.kind = PARLEY_FIX_MOVE,
                                   .is_safe = finding->is_fitting && !finding->is_provisional,
                                   .key = finding->stray,
                                   .to = finding->meant};
    }
    if (finding->part.fix != NULL) {
        edit(finding, memory, out);
        return;
    }
    if (finding->check == NULL || finding->is_encoded) {
        return;
    }
    const struct parley_place *place = finding->check->place;
    parley_buffer_clear(memory);
    const bool is_made = finding->value.kind == PARLEY_ABSENT
                             ? !place_is_over_members(place) && add(finding, memory, out)
                             : replace(finding, memory, out);
    if (!is_made && place->suggested != NULL) {
        memory->length = 0;
        parley_buffer_text(memory, place->suggested);
        *out = (struct parley_fix){.kind = PARLEY_FIX_ADD};
    }
    out->is_safe = out->is_safe && !finding->is_provisional;
    out->value = parley_buffer_bytes(memory);
    if (memory->has_failed) {
        out->kind = PARLEY_FIX_NONE;
    }
}

/* ---- writing ---- */

/* The path of another member of the object that has the member at `path`. */
static void write_neighbour(struct parley_buffer *out, const char *path, struct parley_bytes key) {
    struct parley_buffer pointer;
    parley_buffer_init(&pointer);
    parley_buffer_append(&pointer,
                         (struct parley_bytes){path, (size_t)(strrchr(path, '/') - path)});
    text_append_token(&pointer, key);
    parley_buffer_json(out, parley_buffer_bytes(&pointer));
    out->has_failed |= pointer.has_failed;
    parley_buffer_finish(&pointer);
}

/* The text with the edit, as a JSON string. */
static void write_edited(struct parley_buffer *out, struct parley_bytes text,
                         const struct parley_edit *edit) {
    const size_t end = edit->offset + edit->removed;
    struct parley_buffer edited;
    parley_buffer_init(&edited);
    parley_buffer_append(&edited, (struct parley_bytes){text.data, edit->offset});
    parley_buffer_append(&edited, edit->inserted);
    parley_buffer_append(&edited, (struct parley_bytes){text.data + end, text.length - end});
    parley_buffer_json(out, parley_buffer_bytes(&edited));
    out->has_failed |= edited.has_failed;
    parley_buffer_finish(&edited);
}

void parley_fix_write_patch(const struct parley_finding *finding, const struct parley_fix *fix,
                            struct parley_buffer *out) {
    static const char *const operations[] = {[PARLEY_FIX_NONE] = "",
                                             [PARLEY_FIX_ADD] = "add",
                                             [PARLEY_FIX_REPLACE] = "replace",
                                             [PARLEY_FIX_MOVE] = "move",
                                             [PARLEY_FIX_EDIT] = "replace"};
    parley_buffer_format(out, "[{\"op\":\"%s\",", operations[fix->kind]);
    if (fix->kind == PARLEY_FIX_MOVE) {
        parley_buffer_text(out, "\"from\":");
        write_neighbour(out, finding->path, fix->key);
        parley_buffer_char(out, ',');
    }
    parley_buffer_text(out, "\"path\":");
    if (fix->to.data != NULL) {
        write_neighbour(out, finding->path, fix->to);
    } else {
        parley_buffer_json(out, parley_bytes_of(finding->path));
    }
    if (fix->kind == PARLEY_FIX_EDIT) {
        parley_buffer_text(out, ",\"value\":");
        write_edited(out, finding->part.text, &fix->edit);
    } else if (fix->kind != PARLEY_FIX_MOVE) {
        parley_buffer_text(out, ",\"value\":");
        parley_buffer_append(out, fix->value);
    }
    parley_buffer_text(out, "}]");
}

void parley_fix_write_edit(const struct parley_finding *finding, const struct parley_fix *fix,
                           struct parley_buffer *out) {
    parley_buffer_text(out, "{\"offset\":");
    parley_buffer_uint(out, finding->part.text_at + fix->edit.offset);
    parley_buffer_text(out, ",\"delete\":");
    parley_buffer_uint(out, fix->edit.removed);
    parley_buffer_text(out, ",\"insert\":");
    parley_buffer_json(out, fix->edit.inserted);
    parley_buffer_char(out, '}');
}
