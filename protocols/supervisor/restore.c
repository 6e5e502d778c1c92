/* SPDX-License-Identifier: Apache-2.0 */

/* Composes a restore from the data of a checkpoint and the entries of the write-ahead log. Source:
 * schema, Restore Command; docs/protocols/supervisor.md#restore. */

#include <parley/restore.h>

#include <inttypes.h>
#include <math.h>

#include "checkpoint.h"
#include "json_canonical.h"
#include "json_members.h"
#include "json_number.h"
#include "json_reader.h"
#include "msgpack_message.h"
#include "supervisor.h"

/* ---- checkpoints ---- */

/* A number with a point or an exponent, such as 41.0, which encoders of doubles write. */
static bool read_whole(struct parley_bytes text, int64_t *out) {
    static const double end = 9223372036854775808.0; /* of 63 bits */
    double number;
    const bool is_whole = json_number_read(text.data, text.data + text.length, &number) != NULL &&
                          number == floor(number) && number >= -end && number < end;
    *out = is_whole ? (int64_t)number : 0;
    return is_whole;
}

/* Whether `text` begins with an integer of 64 bits, as the rules take integers: by its value. */
static bool read_integer(struct parley_bytes text, int64_t *out) {
    size_t at = text.length > 0 && text.data[0] == '-' ? 1 : 0;
    const bool is_negative = at > 0;
    uint64_t number = 0;
    const size_t first = at;
    for (; at < text.length && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
        const uint64_t digit = (uint64_t)(text.data[at] - '0');
        if (number > ((uint64_t)INT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    if (at > first && at < text.length && strchr(".eE", text.data[at]) != NULL) {
        return read_whole(text, out);
    }
    *out = is_negative ? -(int64_t)number : (int64_t)number;
    return at > first;
}

static bool is_packed(const struct parley_message *message) {
    const struct parley_value *compressed = &message->values[SUPERVISOR_COMPRESSED];
    return compressed->kind == PARLEY_BOOLEAN && compressed->number != 0;
}

static enum parley_status read_checkpoint(struct parley_message *checkpoint,
                                          struct parley_checkpoint *out) {
    static const struct json_member members[] = {{.name = "wal_sequence", .as = NULL},
                                                 {.name = NULL, .as = NULL}};
    static const char start[] = ",\"wal_sequence\":";
    const size_t start_length = sizeof start - 1;
    struct parley_buffer text;
    parley_buffer_init(&text);
    *out = (struct parley_checkpoint){.is_packed = is_packed(checkpoint)};
    enum parley_status status = PARLEY_OK;
    if (checkpoint->values[SUPERVISOR_METADATA].kind == PARLEY_OBJECT) {
        status = json_members_append(checkpoint, "metadata", members, &text);
    }
    if (status == PARLEY_OK && text.length > start_length) {
        const struct parley_bytes value = {text.data + start_length, text.length - start_length};
        out->has_position = read_integer(value, &out->position);
    }
    parley_buffer_finish(&text);
    return status;
}

/* ---- packed state ---- */

static bool keep_text(void *context, const struct parley_value *value) {
    *(struct parley_bytes *)context = parley_value_text(value);
    return false;
}

/* The text that a JSON string encodes.  Owns: in the arena or in `json`. */
static enum parley_status read_text(struct parley_bytes json, struct parley_arena *arena,
                                    struct parley_bytes *out) {
    const struct json_events events = {.context = out, .value = keep_text};
    struct json_fault fault;
    *out = (struct parley_bytes){0};
    switch (json_reader_read(json, &events, arena, NULL, &fault)) {
    case JSON_READER_READ:
        return out->data != NULL ? PARLEY_OK : PARLEY_E_UNSUPPORTED;
    case JSON_READER_MEMORY:
        return PARLEY_E_MEMORY;
    default:
        return PARLEY_E_UNSUPPORTED;
    }
}

static enum parley_status copy_json(struct parley_bytes json, struct parley_buffer *out) {
    size_t at = 0;
    while (at < json.length && strchr(" \t\r\n", json.data[at]) != NULL) {
        at++;
    }
    if (at == json.length || json.data[at] != '{') {
        return PARLEY_E_UNSUPPORTED;
    }
    if (!parley_buffer_reserve(out, json.length)) {
        return PARLEY_E_MEMORY;
    }
    const char *end =
        json_canonical_copy(json.data + at, json.data + json.length, out->data + out->length);
    out->length = (size_t)(end - out->data);
    return PARLEY_OK;
}

/* It was valid when it was stored; any client may have stored it. */
static enum parley_status append_inside(struct parley_bytes inside, struct parley_arena *arena,
                                        struct parley_buffer *out) {
    if (msgpack_begins(inside)) {
        return msgpack_append_json(inside, arena, out);
    }
    struct json_fault fault;
    switch (json_reader_read(inside, NULL, arena, NULL, &fault)) {
    case JSON_READER_READ:
        return copy_json(inside, out);
    case JSON_READER_MEMORY:
        return PARLEY_E_MEMORY;
    default:
        return PARLEY_E_UNSUPPORTED;
    }
}

static enum parley_status unpack(struct parley_bytes state, struct parley_buffer *out) {
    struct parley_arena arena;
    struct parley_buffer inside;
    struct parley_bytes text;
    struct checkpoint_fault fault;
    parley_arena_init(&arena, 0);
    parley_buffer_init(&inside);
    enum parley_status status = read_text(state, &arena, &text);
    if (status == PARLEY_OK) {
        const enum checkpoint_result result = checkpoint_unpack(text, &inside, &arena, &fault);
        status = result == CHECKPOINT_READ     ? PARLEY_OK
                 : result == CHECKPOINT_MEMORY ? PARLEY_E_MEMORY
                                               : PARLEY_E_UNSUPPORTED;
    }
    if (status == PARLEY_OK) {
        status = append_inside(parley_buffer_bytes(&inside), &arena, out);
    }
    parley_buffer_finish(&inside);
    parley_arena_finish(&arena);
    return status;
}

/* ---- entries ---- */

enum { DEPTH_OF_DATA = 1 }; /* in the message's own object */

/* An entry is the object that is `data`, or an object in the array that is. */
struct entries {
    const struct parley_bytes text;
    const struct parley_checkpoint *after; /* NULL: all are wanted */
    struct parley_buffer *out, *runs;      /* NULL: only the first number is */
    struct parley_log_run run;             /* not in `runs` so far, if has_run */
    bool has_run;
    size_t depth;                      /* of the entry being read */
    size_t entry_depth;                /* of an entry's members; 0: outside of one */
    size_t offset;                     /* of the entry */
    bool is_data, has_number, is_read; /* the first number is */
    int64_t number, first_number;
};

static bool enter_value(struct entries *entries, const struct parley_value *value) {
    entries->depth++;
    if (value->kind == PARLEY_OBJECT && entries->depth > DEPTH_OF_DATA) {
        entries->entry_depth = entries->depth;
        entries->offset = value->offset;
        entries->has_number = false;
    }
    return true;
}

static bool on_value(void *context, const struct parley_value *value) {
    struct entries *entries = context;
    if (entries->entry_depth > 0) { /* its `sequence` */
        const struct parley_bytes text = entries->text;
        entries->has_number = read_integer(
            (struct parley_bytes){text.data + value->offset, text.length - value->offset},
            &entries->number);
        return false;
    }
    const bool has_content = value->kind == PARLEY_ARRAY || value->kind == PARLEY_OBJECT;
    return has_content && enter_value(entries, value);
}

static bool on_key(void *context, struct parley_bytes key) {
    struct entries *entries = context;
    return entries->entry_depth > 0 ? parley_bytes_equal(key, PARLEY_BYTES("sequence"))
                                    : parley_bytes_equal(key, PARLEY_BYTES("data"));
}

static void end_run(struct entries *entries) {
    if (entries->has_run) {
        const struct parley_bytes run = {(const char *)&entries->run, sizeof entries->run};
        parley_buffer_append(entries->runs, run);
        entries->has_run = false;
    }
}

/* Numbers at either end of what 64 bits hold have no neighbour to be compared with. */
static void note_number(struct entries *entries) {
    const int64_t number = entries->number;
    if (!entries->has_number || number == INT64_MIN || number == INT64_MAX) {
        return;
    }
    if (entries->has_run && entries->run.last + 1 == number) {
        entries->run.last = number;
        return;
    }
    end_run(entries);
    entries->run = (struct parley_log_run){number, number};
    entries->has_run = true;
}

static void end_entry(struct entries *entries) {
    if (!entries->is_read && entries->has_number) {
        entries->is_read = true;
        entries->first_number = entries->number;
    }
    const struct parley_checkpoint *after = entries->after;
    /* One whose number cannot be compared is better there twice than not at all. */
    const bool is_wanted = after == NULL || !after->has_position || !entries->has_number ||
                           entries->number > after->position;
    const char *start = entries->text.data + entries->offset,
               *end = entries->text.data + entries->text.length;
    if (entries->out == NULL || !is_wanted) {
        return;
    }
    note_number(entries);
    parley_buffer_char(entries->out, ',');
    if (parley_buffer_reserve(entries->out, (size_t)(end - start))) {
        struct parley_buffer *out = entries->out;
        out->length =
            (size_t)(json_canonical_copy(start, end, out->data + out->length) - out->data);
    }
}

static void on_leave(void *context, size_t count) {
    struct entries *entries = context;
    (void)count;
    if (entries->entry_depth == entries->depth) {
        end_entry(entries);
        entries->entry_depth = 0;
    }
    entries->depth--;
}

static enum parley_status read_entries(struct parley_message *message, struct entries *entries) {
    const struct json_events events = {
        .context = entries, .value = on_value, .key = on_key, .leave = on_leave, .is_brief = true};
    return json_reader_read_again(message->text, &events, &message->arena);
}

static enum parley_status first_number(struct parley_message *message, int64_t *out) {
    struct entries entries = {.text = message->text};
    PARLEY_TRY(read_entries(message, &entries));
    *out = entries.first_number;
    return entries.is_read ? PARLEY_OK : PARLEY_E_UNSUPPORTED;
}

static enum parley_status append_entries(struct parley_message *message,
                                         const struct parley_checkpoint *after,
                                         struct parley_buffer *out,
                                         struct parley_buffer *out_runs) {
    struct entries entries = {.text = message->text, .after = after, .out = out, .runs = out_runs};
    PARLEY_TRY(read_entries(message, &entries));
    end_run(&entries);
    PARLEY_TRY(parley_buffer_status(out_runs));
    return parley_buffer_status(out);
}

/* ---- the message ---- */

static void begin(const char *id, int64_t now_seconds, struct parley_buffer *out) {
    parley_buffer_format(
        out, "{\"type\":\"restore\",\"timestamp\":%" PRId64 ",\"checkpoint_id\":", now_seconds);
    parley_buffer_json(out, parley_bytes_of(id));
    parley_buffer_text(out, ",\"snapshot\":");
}

void supervisor_write_gaps(const struct parley_log_gaps *missing, struct parley_buffer *out) {
    parley_buffer_text(out, "\"missing\":[");
    for (size_t i = 0; i < missing->count; i++) {
        parley_buffer_format(out, "%s{\"first\":%" PRId64 ",\"last\":%" PRId64 "}",
                             i == 0 ? "" : ",", missing->runs[i].first, missing->runs[i].last);
    }
    parley_buffer_text(out, missing->has_more ? "],\"more\":true" : "]");
}

/* A log that is whole is handed out without a word. */
static void append_end(const struct parley_log_gaps *missing, struct parley_buffer *out) {
    parley_buffer_char(out, ']');
    if (missing->count > 0) {
        parley_buffer_text(out, ",\"metadata\":{");
        supervisor_write_gaps(missing, out);
        parley_buffer_char(out, '}');
    }
    parley_buffer_char(out, '}');
}

const struct parley_restore supervisor_restore = {
    .checkpoint = "*.gerbil.checkpoint",
    .logs = (const char *const[]){"*.gerbil.wal_entry", "*.gerbil.wal_batch", NULL},
    .read = read_checkpoint,
    .unpack = unpack,
    .first_number = first_number,
    .append = append_entries,
    .begin = begin,
    .between = ",\"wal_entries\":[",
    .end = append_end,
};
