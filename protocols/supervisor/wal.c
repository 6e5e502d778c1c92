/* SPDX-License-Identifier: Apache-2.0 */

/* Whether an agent's write-ahead log continues (docs/protocols/supervisor.md#continuity): each
 * entry is compared with the highest sequence before it, in this request or, for the first message,
 * in the last one that is stored. A wal_batch is its entries, one after the other. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "findings.h"
#include "json_reader.h"
#include "supervisor.h"

/* Beyond it a number of JSON may be another one in the agent. */
#define SEQUENCE_MAX 9007199254740992.0

/* ---- the sequences of a wal_entry or wal_batch, in JSON ---- */

/* Goes into `data`, and into the objects in it where it is an array. */
struct sequences {
    void (*each)(void *context, const struct parley_value *sequence);
    void *context;
    unsigned depth; /* of arrays and objects */
    bool is_sequence;
};

static bool on_value(void *context, const struct parley_value *value) {
    struct sequences *sequences = context;
    if (sequences->is_sequence) {
        sequences->is_sequence = false;
        sequences->each(sequences->context, value);
        return false;
    }
    const bool has_content = value->kind == PARLEY_ARRAY || value->kind == PARLEY_OBJECT;
    sequences->depth += has_content ? 1 : 0;
    return has_content;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct sequences *sequences = context;
    if (sequences->depth == 1) {
        return parley_bytes_equal(key, PARLEY_BYTES("data"));
    }
    sequences->is_sequence = parley_bytes_equal(key, PARLEY_BYTES("sequence"));
    return sequences->is_sequence;
}

static void on_leave(void *context, size_t count) {
    struct sequences *sequences = context;
    (void)count;
    sequences->depth--;
}

static enum json_reader_result read_sequences(struct parley_bytes text,
                                              struct sequences *sequences) {
    const struct json_events events = {.context = sequences,
                                       .value = on_value,
                                       .key = on_key,
                                       .leave = on_leave,
                                       .is_brief = true};
    struct parley_arena arena;
    struct json_fault fault;
    parley_arena_init(&arena, 0);
    const enum json_reader_result result = json_reader_read(text, &events, &arena, NULL, &fault);
    parley_arena_finish(&arena);
    return result;
}

static bool is_sequence(const struct parley_value *value) {
    return value->kind == PARLEY_NUMBER && value->number >= 0 && value->number <= SEQUENCE_MAX;
}

/* ---- members of a stored message ---- */

struct last {
    uint64_t sequence;
    bool is_there;
};

static void on_stored(void *context, const struct parley_value *sequence) {
    struct last *last = context;
    last->is_there = is_sequence(sequence);
    last->sequence = last->is_there ? (uint64_t)sequence->number : 0;
}

enum parley_status supervisor_wal_fact(struct parley_bytes payload, struct parley_buffer *out) {
    struct last last = {0};
    struct sequences sequences = {.each = on_stored, .context = &last};
    const enum json_reader_result result = read_sequences(payload, &sequences);
    if (result == JSON_READER_READ && last.is_there) {
        parley_buffer_uint(out, last.sequence);
    }
    return result == JSON_READER_MEMORY ? PARLEY_E_MEMORY : parley_buffer_status(out);
}

/* Where the log ends: as counted, else as the later of the messages that are stored says. */
static struct last end_of(const struct parley_known_facts *known) {
    struct last last = {.sequence = known->count, .is_there = known->has_count};
    uint64_t at = 0;
    for (size_t i = 0; !known->has_count && i < PARLEY_FACT_KEYS_MAX; i++) {
        if (known->values[i].length > 0 && known->sequences[i] >= at) {
            at = known->sequences[i];
            last.is_there = true;
            last.sequence = strtoull(known->values[i].data, NULL, 10);
        }
    }
    return last;
}

/* ---- judging ---- */

/* The first entry of its kind. */
struct odd_entry {
    bool is_there;
    uint64_t sequence, after; /* after: the highest one before it */
    size_t index, offset;
};

struct judging {
    struct last end; /* so far */
    size_t index;    /* of the entry in a batch */
    struct odd_entry hole, repeat;
    bool is_beyond; /* an entry has a sequence that cannot be compared */
};

static void note(const struct judging *judging, const struct parley_value *value,
                 struct odd_entry *entry) {
    if (!entry->is_there) {
        *entry = (struct odd_entry){.is_there = true,
                                    .sequence = (uint64_t)value->number,
                                    .after = judging->end.sequence,
                                    .index = judging->index,
                                    .offset = value->offset};
    }
}

static void on_entry(void *context, const struct parley_value *value) {
    struct judging *judging = context;
    const struct last *end = &judging->end;
    judging->is_beyond = judging->is_beyond || !is_sequence(value);
    if (judging->is_beyond) {
        return;
    }
    const uint64_t sequence = (uint64_t)value->number;
    if (end->is_there && sequence <= end->sequence) {
        note(judging, value, &judging->repeat);
    } else {
        if (end->is_there && sequence > end->sequence + 1) {
            note(judging, value, &judging->hole);
        }
        judging->end = (struct last){.sequence = sequence, .is_there = true};
    }
    judging->index++;
}

/* MessagePack is read as the JSON that is published. */
static enum parley_status judge(struct parley_message *message, struct judging *judging) {
    struct sequences sequences = {.each = on_entry, .context = judging};
    struct parley_buffer json;
    struct parley_bytes text = message->text;
    enum parley_status status = PARLEY_OK;
    parley_buffer_init(&json);
    if (message->codec->is_binary) {
        status = message->protocol->encode(message, &json);
        text = parley_buffer_bytes(&json);
    }
    if (status == PARLEY_OK && read_sequences(text, &sequences) == JSON_READER_MEMORY) {
        status = PARLEY_E_MEMORY;
    }
    parley_buffer_finish(&json);
    return status;
}

/* ---- the decision ---- */

static struct parley_bytes keep(struct parley_message *message, const char *text) {
    return parley_bytes_of(parley_arena_copy(&message->arena, parley_bytes_of(text)));
}

/* "11 is missing", "11 to 14 are missing" */
static void say_missing(const struct odd_entry *hole, char *out, size_t size) {
    if (hole->sequence == hole->after + 2) {
        snprintf(out, size, "%" PRIu64 " is missing", hole->after + 1);
    } else {
        snprintf(out, size, "%" PRIu64 " to %" PRIu64 " are missing", hole->after + 1,
                 hole->sequence - 1);
    }
}

static enum parley_status warn(struct parley_message *message, enum supervisor_rule rule,
                               const struct odd_entry *entry, const char *text) {
    const bool is_batch = message->type == SUPERVISOR_WAL_BATCH;
    char path[64] = "/data/sequence";
    if (is_batch) {
        snprintf(path, sizeof path, "/data/%zu/sequence", entry->index);
    }
    const struct parley_finding finding = {.path = keep(message, path).data,
                                           .message = keep(message, text).data,
                                           .offset = message->codec->is_binary
                                                         ? message->values[SUPERVISOR_DATA].offset
                                                         : entry->offset};
    return finding.path != NULL && finding.message != NULL ? findings_report(message, rule, finding)
                                                           : PARLEY_E_MEMORY;
}

static enum parley_status warn_of_hole(struct parley_message *message,
                                       const struct odd_entry *hole) {
    char missing[64], text[192];
    say_missing(hole, missing, sizeof missing);
    snprintf(text, sizeof text, "sequence %" PRIu64 " follows %" PRIu64 ": %s", hole->sequence,
             hole->after, missing);
    return warn(message, SUPERVISOR_IPC_201, hole, text);
}

static enum parley_status warn_of_repeat(struct parley_message *message,
                                         const struct odd_entry *repeat) {
    char text[128];
    snprintf(text, sizeof text, "sequence %" PRIu64 " comes after %" PRIu64, repeat->sequence,
             repeat->after);
    return warn(message, SUPERVISOR_IPC_202, repeat, text);
}

static enum parley_status refuse(struct parley_message *message, const struct odd_entry *hole,
                                 struct parley_decision *out) {
    char missing[64], text[384];
    say_missing(hole, missing, sizeof missing);
    snprintf(text, sizeof text,
             "Sequence %" PRIu64 " does not follow %" PRIu64 ", the last one in the log of this "
             "agent: %s. The message was not stored. Send the log from %" PRIu64 " on; what is "
             "stored already may be sent again.",
             hole->sequence, hole->after, missing, hole->after + 1);
    out->kind = PARLEY_DECISION_REFUSED;
    out->problem = "wal-gap";
    out->detail = keep(message, text);
    snprintf(text, sizeof text, ",\"expected\":%" PRIu64, hole->after + 1);
    out->members = keep(message, text);
    return out->detail.data != NULL && out->members.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

enum parley_status supervisor_decide_on_log(struct parley_message *message,
                                            struct parley_decision *out) {
    const struct parley_known_facts *known = message->options.known;
    if (!known->has_count && !known->is_final) {
        out->kind = PARLEY_DECISION_ASK_AGAIN;
        return PARLEY_OK;
    }
    const struct last before = end_of(known);
    struct judging judging = {.end = before};
    PARLEY_TRY(judge(message, &judging));
    const bool is_refused =
        judging.hole.is_there &&
        message->options.values[SUPERVISOR_WAL].number == PARLEY_LIFECYCLE_STRICT;
    const struct last *end = is_refused ? &before : &judging.end;
    out->has_count = end->is_there && !judging.is_beyond;
    out->count = end->sequence;
    if (is_refused) {
        return refuse(message, &judging.hole, out);
    }
    out->is_repeat = judging.repeat.is_there;
    if (judging.hole.is_there) {
        PARLEY_TRY(warn_of_hole(message, &judging.hole));
    }
    return judging.repeat.is_there ? warn_of_repeat(message, &judging.repeat) : PARLEY_OK;
}

const struct parley_problem supervisor_problems[] = {
    {.name = "wal-gap",
     .status = 409,
     .title = "The log has a hole before this entry",
     .advice =
         "With --wal strict an agent's write-ahead log may have no hole; the member `expected` is "
         "the sequence that comes next. Nothing was stored, and sending the same again does not "
         "help until then: send the log from `expected` on. Entries that are stored already may be "
         "sent again."},
    {.name = NULL},
};
