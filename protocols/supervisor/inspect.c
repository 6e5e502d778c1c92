/* SPDX-License-Identifier: Apache-2.0 */

/* The rules that no row can check: the size of a message as MessagePack, and its compressed data. A
 * message with findings may be walked twice (json/json_message.c), so expensive results are kept
 * with the message. */

#include "walk.h"
#include "checkpoint.h"
#include "msgpack_message.h"
#include "supervisor.h"

#define KIB 1024u
#define MIB (1024u * KIB)

/* Source: schema, Message Size Limits; a type that it does not list has no limit. */
static const size_t payload_bytes_max[SUPERVISOR_TYPE_COUNT] = {
    [SUPERVISOR_HEARTBEAT] = 100,      [SUPERVISOR_CHECKPOINT] = 100 * MIB,
    [SUPERVISOR_WAL_ENTRY] = 10 * KIB, [SUPERVISOR_EVOLUTION_INTENT] = MIB,
    [SUPERVISOR_METRICS] = 10 * KIB,
};

/* Over it a checkpoint should be compressed (schema, Compression). */
#define UNCOMPRESSED_BYTES 1048576u

/* In message->derived, once there is something to keep. */
struct inspection {
    bool is_unpacked;
    struct checkpoint_fault fault; /* of the compressed data; message is NULL for none */
    struct parley_findings inside; /* else: the findings about its content */
};

static struct inspection *inspection_of(struct parley_message *message) {
    if (message->derived == NULL) {
        struct inspection *inspection = parley_arena_allocate(&message->arena, sizeof *inspection);
        if (inspection != NULL) {
            *inspection = (struct inspection){0};
        }
        message->derived = inspection;
    }
    return message->derived;
}

/* ---- the size ---- */

/* No JSON becomes longer than this as MessagePack: the worst is `0.1,`, 9 bytes out of 4. */
static size_t payload_bytes_at_most(struct parley_bytes text) {
    return text.length / 4 * 9 + 9;
}

/* The size of the payload; 0 for JSON that cannot be larger than `limit`, if that saves reading it
 * again. */
static enum parley_status measure(struct parley_message *message, size_t limit, size_t *out) {
    *out = 0;
    if (message->codec->is_binary) {
        *out = message->sent.length;
        return PARLEY_OK;
    }
    if (message->packed_bytes == 0 && payload_bytes_at_most(message->text) > limit) {
        PARLEY_TRY(msgpack_size_from_json(message, out));
        message->packed_bytes = *out;
    }
    *out = message->packed_bytes;
    return PARLEY_OK;
}

/* Where the message begins in its text. */
static size_t start_of(const struct parley_message *message) {
    const struct parley_bytes text = message->text;
    const char *start = message->codec->is_binary ? text.data : memchr(text.data, '{', text.length);
    return start != NULL ? (size_t)(start - text.data) : 0;
}

static enum parley_status report_size(struct parley_message *message, enum supervisor_rule rule,
                                      size_t bytes, size_t limit) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_format(&text, "this %s is %zu bytes of MessagePack%s; the limit %s is %zu",
                         supervisor_types[message->type], bytes,
                         message->codec->is_binary ? "" : " in its shortest form",
                         rule == SUPERVISOR_IPC_007 ? "for its type" : "without compression",
                         limit);
    const char *copy =
        text.has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    if (copy == NULL) {
        return PARLEY_E_MEMORY;
    }
    return findings_report(
        message, rule,
        (struct parley_finding){.path = "", .message = copy, .offset = start_of(message)});
}

static enum parley_status inspect_size(struct parley_message *message, bool should_be_compressed) {
    const size_t limit = payload_bytes_max[message->type];
    size_t bytes;
    if (limit == 0) {
        return PARLEY_OK;
    }
    PARLEY_TRY(measure(message, should_be_compressed ? UNCOMPRESSED_BYTES : limit, &bytes));
    if (bytes > limit) {
        PARLEY_TRY(report_size(message, SUPERVISOR_IPC_007, bytes, limit));
    }
    return should_be_compressed && bytes > UNCOMPRESSED_BYTES
               ? report_size(message, SUPERVISOR_IPC_101, bytes, UNCOMPRESSED_BYTES)
               : PARLEY_OK;
}

/* ---- compressed data ---- */

/* Keeps the findings that the walk inside added since `before`, and removes them from the list. */
static enum parley_status keep_findings(struct parley_message *message,
                                        const struct parley_findings *before,
                                        struct parley_findings *out) {
    struct parley_findings *now = &message->findings;
    *out = (struct parley_findings){.count = now->count - before->count,
                                    .omitted_count = now->omitted_count - before->omitted_count,
                                    .omitted_error_types = now->omitted_error_types};
    if (out->count > 0) {
        const size_t size = out->count * sizeof *out->items;
        out->items = parley_arena_allocate(&message->arena, size);
        if (out->items == NULL) {
            return PARLEY_E_MEMORY;
        }
        memcpy(out->items, now->items + before->count, size);
    }
    *now = *before;
    return PARLEY_OK;
}

/* Findings contain paths, and keys may be as large as the decompressed data, which the message's
 * limit does not account for. The rest of the limit: */
enum { RESERVED = 512 << 10 };

static enum parley_status read_inside(struct parley_message *message, struct parley_bytes bytes,
                                      struct inspection *inspection) {
    const struct parley_findings before = message->findings;
    struct parley_arena *arena = &message->arena;
    struct walk inside;
    walk_begin_inside(&inside, message, "/data", 0);
    const bool has_room = arena->limit_bytes > arena->used_bytes + RESERVED;
    arena->limit_bytes -= has_room ? RESERVED : 0;
    const enum checkpoint_result result =
        checkpoint_read(bytes, &inside, arena, &inspection->fault);
    arena->limit_bytes += has_room ? RESERVED : 0;
    switch (result) {
    case CHECKPOINT_READ:
        PARLEY_TRY(inside.status);
        return keep_findings(message, &before, &inspection->inside);
    case CHECKPOINT_FAULT: /* findings from before the fault do not count */
        message->findings = before;
        return PARLEY_OK;
    case CHECKPOINT_MEMORY:
        break;
    }
    return PARLEY_E_MEMORY;
}

static enum parley_status unpack(struct parley_message *message, struct inspection *inspection) {
    struct parley_buffer inside;
    parley_buffer_init(&inside);
    enum parley_status status = PARLEY_OK;
    switch (checkpoint_unpack(message->values[SUPERVISOR_DATA].text, &inside, &message->arena,
                              &inspection->fault)) {
    case CHECKPOINT_READ:
        status = read_inside(message, parley_buffer_bytes(&inside), inspection);
        break;
    case CHECKPOINT_FAULT:
        break;
    case CHECKPOINT_MEMORY:
        status = PARLEY_E_MEMORY;
        break;
    }
    parley_buffer_finish(&inside);
    inspection->is_unpacked = status == PARLEY_OK;
    return status;
}

static enum parley_status report_inside(struct parley_message *message,
                                        const struct inspection *inspection) {
    const size_t offset = message->values[SUPERVISOR_DATA].offset;
    if (inspection->fault.message != NULL) {
        return findings_report(message, SUPERVISOR_IPC_016,
                               (struct parley_finding){.path = "/data",
                                                       .message = inspection->fault.message,
                                                       .hint = inspection->fault.hint,
                                                       .offset = offset});
    }
    for (size_t i = 0; i < inspection->inside.count; i++) {
        struct parley_finding finding = inspection->inside.items[i];
        finding.offset = offset;
        PARLEY_TRY(findings_add(message, finding));
    }
    message->findings.omitted_count += inspection->inside.omitted_count;
    message->findings.omitted_error_types |= inspection->inside.omitted_error_types;
    return PARLEY_OK;
}

static bool is_true(const struct parley_value *value) {
    return value->kind == PARLEY_BOOLEAN && value->number != 0;
}

static enum parley_status inspect_data(struct parley_message *message) {
    const struct parley_value *compression = &message->values[SUPERVISOR_COMPRESSION];
    const bool is_zstd = compression->kind == PARLEY_STRING &&
                         parley_bytes_equal(compression->text, PARLEY_BYTES("zstd"));
    if (!is_zstd || message->values[SUPERVISOR_DATA].kind != PARLEY_STRING) {
        return PARLEY_OK; /* the rows said so */
    }
    struct inspection *inspection = inspection_of(message);
    if (inspection == NULL) {
        return PARLEY_E_MEMORY;
    }
    if (!inspection->is_unpacked) {
        PARLEY_TRY(unpack(message, inspection));
    }
    return report_inside(message, inspection);
}

enum parley_status supervisor_inspect(struct parley_message *message) {
    if (message->type == PARLEY_TYPE_OTHER) {
        return PARLEY_OK; /* no type, no limit */
    }
    const bool is_checkpoint = message->type == SUPERVISOR_CHECKPOINT;
    const bool is_compressed = is_true(&message->values[SUPERVISOR_COMPRESSED]);
    PARLEY_TRY(inspect_size(message, is_checkpoint && !is_compressed));
    return is_checkpoint && is_compressed ? inspect_data(message) : PARLEY_OK;
}
