/* SPDX-License-Identifier: Apache-2.0 */

/* The dialect `mail`: what Brenner's own programs take that its document does not
 * (docs/protocols/brenner.md#mail): prefixes in any case, roles in words, a kick-off that names its
 * thread first, and deltas that they repair when they read them. */

#include <parley/dialect.h>

#include "alike.h"
#include "brenner.h"
#include "json_pick.h"
#include "markdown.h"
#include "repair.h"

static char upper(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c & ~0x20) : c;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_letter(char c) {
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static struct parley_bytes from(struct parley_bytes text, size_t start) {
    return (struct parley_bytes){text.data + start, text.length - start};
}

struct parley_bytes brenner_trimmed(struct parley_bytes text) {
    static const char blanks[] = {' ', '\t', '\r', '\n'};
    while (text.length > 0 && memchr(blanks, text.data[0], sizeof blanks) != NULL) {
        text = from(text, 1);
    }
    while (text.length > 0 && memchr(blanks, text.data[text.length - 1], sizeof blanks) != NULL) {
        text.length--;
    }
    return text;
}

/* ---- subjects ---- */

/* "[RS-20251230-cell-fate] Brenner Loop kickoff: …" */
static bool is_other_kickoff(struct parley_bytes subject) {
    const struct parley_bytes words = PARLEY_BYTES("Brenner Loop kickoff");
    const char *end = memchr(subject.data, ']', subject.length);
    if (subject.length == 0 || subject.data[0] != '[' || end == NULL || end == subject.data + 1) {
        return false;
    }
    const struct parley_bytes after = from(subject, (size_t)(end + 1 - subject.data));
    struct parley_bytes rest = brenner_trimmed(after);
    if (rest.length == after.length || rest.length < words.length ||
        (rest.length > words.length && is_letter(rest.data[words.length]))) {
        return false;
    }
    rest.length = words.length;
    return alike_but_case(rest, words);
}

/* Appends a role as the contract has them, "testdesigner" for "Test Designer".  Returns: whether it
 * can be one: a digit would be lost. */
static bool write_role(struct parley_bytes said, struct parley_buffer *out) {
    const size_t start = out->length;
    for (size_t i = 0; i < said.length; i++) {
        const char c = said.data[i];
        if ((c >= '0' && c <= '9') || (unsigned char)c >= 0x80) {
            return false;
        }
        if (is_letter(c)) {
            parley_buffer_char(out, lower(c));
        }
    }
    return out->length > start;
}

/* Appends the prefix of a subject in the contract's letters, and the rest as it is.  Returns:
 * whether it has one, if only in other letters. */
static bool write_prefixed(struct parley_bytes subject, struct parley_buffer *out) {
    size_t at = 0;
    while (at < subject.length && is_letter(subject.data[at])) {
        parley_buffer_char(out, upper(subject.data[at++]));
    }
    if (at < subject.length && subject.data[at] == '[') {
        const char *end = memchr(subject.data + at, ']', subject.length - at);
        const size_t start = at + 1;
        at = end != NULL ? (size_t)(end - subject.data) : start;
        parley_buffer_char(out, '[');
        if (!write_role((struct parley_bytes){subject.data + start, at - start}, out)) {
            return false;
        }
    }
    parley_buffer_append(out, from(subject, at));
    return brenner_type_of(parley_buffer_bytes(out)) != PARLEY_TYPE_OTHER;
}

/* Appends the contract's subject.  Returns: whether it is another one than `said`. */
static bool write_subject(struct parley_bytes said, struct parley_buffer *out) {
    const struct parley_bytes subject = brenner_trimmed(said);
    if (brenner_type_of(subject) != PARLEY_TYPE_OTHER) {
        parley_buffer_append(out, subject);
    } else if (is_other_kickoff(subject)) {
        parley_buffer_text(out, "KICKOFF: ");
        parley_buffer_append(out, subject);
    } else if (!write_prefixed(subject, out)) {
        out->length = 0;
        parley_buffer_append(out, said);
    }
    return !parley_bytes_equal(parley_buffer_bytes(out), said);
}

/* ---- messages ---- */

enum said { SUBJECT, BODY_MD, BODY, SAID_COUNT };

/* What a message becomes. */
struct letter {
    struct parley_buffer subject, body; /* empty: it stays */
};

/* Returns: whether it is another message than the one that came. */
static enum parley_status translate(struct letter *letter, const struct json_pick *subject,
                                    const struct json_pick *body, bool *out_is_other) {
    const struct parley_bytes said = parley_value_text(&subject->value);
    const struct parley_bytes markdown = parley_value_text(&body->value);
    *out_is_other = said.data != NULL && write_subject(said, &letter->subject);
    PARLEY_TRY(parley_buffer_status(&letter->subject));
    const bool is_delta = brenner_type_of(parley_buffer_bytes(&letter->subject)) == BRENNER_DELTA;
    if (is_delta && markdown.length > 0) {
        PARLEY_TRY(brenner_repair_body(markdown, BRENNER_BYTES_MAX, &letter->body));
        *out_is_other = *out_is_other || letter->body.length > 0;
    }
    return PARLEY_OK;
}

static enum parley_status write(struct parley_message *message, const struct letter *letter,
                                const struct json_pick *subject, const struct json_pick *body,
                                struct parley_buffer *out) {
    const bool has_body = letter->body.length > 0;
    const char *const apart[] = {subject->name, has_body ? body->name : NULL, NULL};
    parley_buffer_text(out, "{\"subject\":");
    parley_buffer_json(out, parley_buffer_bytes(&letter->subject));
    PARLEY_TRY(json_pick_others(message->text, &message->arena, apart, out));
    if (has_body) {
        parley_buffer_format(out, ",\"%s\":", body->name);
        parley_buffer_json(out, parley_buffer_bytes(&letter->body));
    }
    parley_buffer_char(out, '}');
    return PARLEY_OK;
}

static enum parley_status to_contract(struct parley_message *message, struct parley_buffer *out) {
    struct json_pick said[SAID_COUNT] = {[SUBJECT] = {.name = "subject"},
                                         [BODY_MD] = {.name = "body_md"},
                                         [BODY] = {.name = "body"}};
    struct letter letter;
    bool is_other;
    PARLEY_TRY(markdown_complete(message));
    PARLEY_TRY(json_pick(message->text, &message->arena, said, SAID_COUNT));
    const bool is_alias = said[BODY_MD].value.kind == PARLEY_ABSENT;
    const struct json_pick *body = &said[is_alias ? BODY : BODY_MD];
    parley_buffer_init(&letter.subject);
    parley_buffer_init(&letter.body);
    enum parley_status status = translate(&letter, &said[SUBJECT], body, &is_other);
    if (status == PARLEY_OK && is_other) {
        status = write(message, &letter, &said[SUBJECT], body, out);
    }
    parley_buffer_finish(&letter.subject);
    parley_buffer_finish(&letter.body);
    return status;
}

const struct parley_dialect brenner_dialects[] = {
    {.name = "mail",
     .summary =
         "Messages as Brenner's own programs take them: prefixes in any case, roles in words, "
         "and deltas with comments, commas too many, `kill_reason`, arrays or `:::` fences.",
     .to_contract = to_contract},
    {.name = NULL},
};
