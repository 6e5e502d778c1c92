/* SPDX-License-Identifier: Apache-2.0 */

/* Canonical copies, for digests. The reader that accepts most messages notes where their captures
 * begin; of others the text is read once more. */

#include "json_canonical.h"

#include "json_string.h"
#include "json_reader.h"

char *json_canonical_copy(const char *at, const char *end, char *out) {
    size_t depth = 0;
    do {
        const char c = *at;
        if (c == '"') {
            bool has_escapes;
            const char *close = json_string_end(at + 1, end, &has_escapes);
            const char *next = close != NULL ? close + 1 : end;
            memcpy(out, at, (size_t)(next - at));
            out += next - at;
            at = next;
            continue;
        }
        at++;
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
            *out++ = c;
            depth += c == '{' || c == '[' ? 1 : 0;
            depth -= c == '}' || c == ']' ? 1 : 0;
        }
    } while (depth > 0 && at < end);
    return out;
}

/* ---- where members begin ---- */

enum { MEMBERS_MAX = 8 };

struct search {
    const struct parley_protocol *protocol;
    const unsigned *fields;
    size_t count, present; /* the member whose key was read; count: none of those */
    bool is_inside;        /* the message's object */
    size_t offsets[MEMBERS_MAX];
};

static const char *member_name(const struct search *search, size_t i) {
    return search->protocol->fields[search->fields[i]] + 1; /* after the slash of its pointer */
}

static bool on_value(void *context, const struct parley_value *value) {
    struct search *search = context;
    const bool is_message = !search->is_inside;
    if (!is_message && search->present < search->count) {
        search->offsets[search->present] = value->offset;
    }
    search->is_inside = true;
    return is_message;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct search *search = context;
    search->present = 0;
    while (search->present < search->count &&
           !parley_bytes_equal(key, parley_bytes_of(member_name(search, search->present)))) {
        search->present++;
    }
    return search->present < search->count;
}

static void on_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

static enum parley_status search_text(struct parley_message *message, struct search *search) {
    const struct json_events events = {
        .context = search, .value = on_value, .key = on_key, .leave = on_leave, .is_brief = true};
    return json_reader_read_again(message->text, &events, &message->arena);
}

/* Readers without positions leave 0, where no member can be. */
static enum parley_status find_members(struct parley_message *message, struct search *search) {
    bool is_known = true;
    for (size_t i = 0; i < search->count; i++) {
        const struct parley_value *value = &message->values[search->fields[i]];
        search->offsets[i] = value->kind == PARLEY_ABSENT ? 0 : value->offset;
        is_known = is_known && (value->kind == PARLEY_ABSENT || value->offset > 0);
    }
    return message->is_certain && is_known ? PARLEY_OK : search_text(message, search);
}

enum parley_status json_canonical_members(struct parley_message *message, const unsigned *fields,
                                          size_t count, struct parley_bytes *out) {
    enum { PUNCTUATION = 4 }; /* of a member: a comma, two quotes, a colon */
    struct search search = {.protocol = message->protocol, .fields = fields, .count = count};
    PARLEY_TRY(find_members(message, &search));
    size_t size = message->text.length + sizeof "{}";
    for (size_t i = 0; i < count; i++) {
        size += strlen(member_name(&search, i)) + PUNCTUATION;
    }
    char *text = parley_arena_allocate(&message->arena, size);
    if (text == NULL) {
        return PARLEY_E_MEMORY;
    }
    char *at = text;
    *at++ = '{';
    for (size_t i = 0; i < count; i++) {
        if (search.offsets[i] == 0) {
            continue;
        }
        const char *name = member_name(&search, i);
        if (at != text + 1) {
            *at++ = ',';
        }
        *at++ = '"';
        at = mempcpy(at, name, strlen(name));
        *at++ = '"';
        *at++ = ':';
        at = json_canonical_copy(message->text.data + search.offsets[i],
                                 message->text.data + message->text.length, at);
    }
    *at++ = '}';
    *out = (struct parley_bytes){text, (size_t)(at - text)};
    return PARLEY_OK;
}
