/* SPDX-License-Identifier: Apache-2.0 */

/* Pointers (object_layout.h), and where in a message one is placed. The search for the place skips
 * everything that it does not need: it reads JSON that was checked, and stays within the text of
 * any other. */

#include <inttypes.h>

#include "api_fields.h"
#include "json_string.h"
#include "object_layout.h"

void object_pointer_write(const struct object_pointer *pointer, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"$object\":");
    parley_buffer_json(out, pointer->name);
    parley_buffer_format(out, ",\"size\":%" PRIu64 ",\"digest\":", pointer->size);
    parley_buffer_json(out, pointer->digest);
    parley_buffer_char(out, '}');
}

enum parley_status object_pointer_read(struct parley_bytes text, struct parley_arena *arena,
                                       struct object_pointer *out) {
    enum { NAME, SIZE, DIGEST, COUNT };
    struct answer_member members[COUNT] = {
        [NAME] = {.name = "$object"}, [SIZE] = {.name = "size"}, [DIGEST] = {.name = "digest"}};
    PARLEY_TRY(api_fields_read(text, members, COUNT, arena));
    *out = (struct object_pointer){.name = parley_value_text(&members[NAME].value),
                                   .digest = parley_value_text(&members[DIGEST].value),
                                   .size = answer_member_number(text, &members[SIZE])};
    return out->name.data != NULL && out->digest.data != NULL ? PARLEY_OK : PARLEY_E_UNSUPPORTED;
}

/* ---- the place of a member ---- */

struct scan {
    const char *at, *end;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct scan *scan) {
    while (scan->at < scan->end && is_blank(*scan->at)) {
        scan->at++;
    }
}

/* Steps over `c`, after blanks.  Returns: false if it is not there. */
static bool step(struct scan *scan, char c) {
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != c) {
        return false;
    }
    scan->at++;
    return true;
}

/* Steps over a string from its quote on.  Returns: false if it does not end. */
static bool skip_string(struct scan *scan) {
    scan->at++;
    while ((scan->at = json_string_plain(scan->at, scan->end)) < scan->end) {
        const char c = *scan->at++;
        if (c == '"') {
            return true;
        }
        scan->at += c == '\\' && scan->at < scan->end;
    }
    return false;
}

/* Steps over a value, up to the next comma or bracket.  Returns: false if it does not end. */
static bool skip_value(struct scan *scan) {
    size_t depth = 0;
    while (scan->at < scan->end) {
        const char c = *scan->at;
        if (c == '"') {
            if (!skip_string(scan)) {
                return false;
            }
            continue;
        }
        const bool is_end = c == '}' || c == ']';
        if (depth == 0 && (is_end || c == ',')) {
            return true;
        }
        depth += c == '{' || c == '[';
        depth -= is_end;
        scan->at++;
    }
    return false;
}

/* Steps over a key.  Returns: false if there is none. */
static bool take_key(struct scan *scan, struct parley_bytes *out) {
    skip_blanks(scan);
    if (scan->at == scan->end || *scan->at != '"') {
        return false;
    }
    const char *start = scan->at + 1;
    if (!skip_string(scan)) {
        return false;
    }
    *out = (struct parley_bytes){start, (size_t)(scan->at - 1 - start)};
    return step(scan, ':');
}

/* Whether a key, in the form of the text, names the member: it may be written with escapes. */
static bool is_named(struct parley_bytes key, const char *member) {
    enum { MEMBER_MAX = 32, ESCAPE_BYTES = 6 };
    char name[MEMBER_MAX * ESCAPE_BYTES];
    bool has_escapes;
    if (key.length > sizeof name || json_string_end(key.data, key.data + key.length + 1,
                                                    &has_escapes) != key.data + key.length) {
        return false;
    }
    const size_t length = json_string_write(key, name);
    return length == strlen(member) && memcmp(name, member, length) == 0;
}

static size_t without_blanks(const char *start, const char *end) {
    while (end > start && is_blank(end[-1])) {
        end--;
    }
    return (size_t)(end - start);
}

/* Steps to the value of the member.  Returns: false if there is none. */
static bool find_value(struct scan *scan, const char *member) {
    struct parley_bytes key = {"", 0};
    char before = '{';
    while (step(scan, before) && take_key(scan, &key)) {
        skip_blanks(scan);
        if (is_named(key, member)) {
            return true;
        }
        if (!skip_value(scan)) {
            break;
        }
        before = ',';
    }
    return false;
}

enum parley_status object_place_find(struct parley_bytes payload, const char *member,
                                     size_t *out_start, size_t *out_end) {
    struct scan scan = {payload.data, payload.data + payload.length};
    if (!find_value(&scan, member)) {
        return PARLEY_E_UNSUPPORTED;
    }
    const char *start = scan.at;
    const bool has_end = skip_value(&scan);
    *out_start = (size_t)(start - payload.data);
    *out_end = *out_start + without_blanks(start, scan.at);
    return has_end && *out_end > *out_start ? PARLEY_OK : PARLEY_E_UNSUPPORTED;
}
