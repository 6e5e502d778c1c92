/* SPDX-License-Identifier: Apache-2.0 */

/* The IPC between an Elixir supervisor and a Gerbil agent, versions 1 and 2: MessagePack, bare or
 * in frames with a length each, and the same messages as JSON. */

#include "supervisor.h"

#include <parley/objects.h>
#include <parley/splitter.h>

#include "json_message.h"
#include "msgpack_message.h"

/* The length before a frame: bytes, big-endian. */
enum { FRAME_HEAD = 4 };

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

const char *const supervisor_types[] = {
    [SUPERVISOR_HEARTBEAT] = "heartbeat",
    [SUPERVISOR_CHECKPOINT] = "checkpoint",
    [SUPERVISOR_WAL_ENTRY] = "wal_entry",
    [SUPERVISOR_WAL_BATCH] = "wal_batch",
    [SUPERVISOR_EVOLUTION_INTENT] = "evolution_intent",
    [SUPERVISOR_METRICS] = "metrics",
    [SUPERVISOR_CHECKPOINT_ACK] = "checkpoint_ack",
    [SUPERVISOR_RESTORE] = "restore",
    [SUPERVISOR_HOT_RELOAD] = "hot_reload",
    [SUPERVISOR_EVOLUTION_RESULT] = "evolution_result",
    [SUPERVISOR_PROCESS_REQUEST] = "process_request",
    [SUPERVISOR_SHUTDOWN] = "shutdown",
    [SUPERVISOR_ERROR] = "error",
    [SUPERVISOR_TYPE_COUNT] = NULL,
};

static const char *const fields[] = {
    [SUPERVISOR_TYPE] = "/type",
    [SUPERVISOR_TIMESTAMP] = "/timestamp",
    [SUPERVISOR_REQUEST_ID] = "/request_id",
    [SUPERVISOR_DATA] = "/data",
    [SUPERVISOR_COMPRESSED] = "/compressed",
    [SUPERVISOR_COMPRESSION] = "/compression",
    [SUPERVISOR_P50_LATENCY] = "/data/p50_latency",
    [SUPERVISOR_P95_LATENCY] = "/data/p95_latency",
    [SUPERVISOR_P99_LATENCY] = "/data/p99_latency",
    [SUPERVISOR_SUCCESS] = "/success",
    [SUPERVISOR_DECISION] = "/decision",
    [SUPERVISOR_ERROR_CODE] = "/error/code",
    [SUPERVISOR_ERROR_DETAILS] = "/error/details",
    [SUPERVISOR_VERSION] = "/version",
    [SUPERVISOR_METADATA] = "/metadata",
    [SUPERVISOR_OBJECT] = "/data/$object",
    [SUPERVISOR_OBJECT_SIZE] = "/data/size",
    [SUPERVISOR_OBJECT_DIGEST] = "/data/digest",
    [SUPERVISOR_CHECKPOINT_ID] = "/checkpoint_id",
    [SUPERVISOR_BACKUP_ID] = "/backup_checkpoint_id",
    NULL,
};

unsigned supervisor_sides(unsigned type) {
    if (type == PARLEY_TYPE_OTHER) {
        return 0;
    }
    return type == SUPERVISOR_ERROR           ? SUPERVISOR_GERBIL | SUPERVISOR_ELIXIR
           : type < SUPERVISOR_CHECKPOINT_ACK ? SUPERVISOR_GERBIL
                                              : SUPERVISOR_ELIXIR;
}

unsigned supervisor_side_of(struct parley_bytes name) {
    return parley_bytes_equal(name, PARLEY_BYTES("gerbil"))   ? SUPERVISOR_GERBIL
           : parley_bytes_equal(name, PARLEY_BYTES("elixir")) ? SUPERVISOR_ELIXIR
                                                              : 0;
}

/* ---- codecs ---- */

/* A length that the framing allows, followed by a map. Neither JSON nor a MessagePack map begins
 * with such a byte. */
static bool frames_begin(struct parley_bytes head) {
    if (head.length < FRAME_HEAD + 1) {
        return false;
    }
    const unsigned char *bytes = (const unsigned char *)head.data;
    const uint32_t length = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                            (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
    return length >= 1 && length <= PARLEY_FRAME_BYTES_MAX &&
           msgpack_begins((struct parley_bytes){head.data + FRAME_HEAD, 1});
}

const struct parley_codec supervisor_msgpack = {
    .name = "msgpack",
    .media_types = LIST("application/msgpack", "application/x-msgpack", "application/vnd.msgpack"),
    .extensions = LIST("msgpack", "mp"),
    .framing = PARLEY_FRAMING_WHOLE,
    .is_binary = true,
    .begins = msgpack_begins,
    .from_json = msgpack_from_text,
};

const struct parley_codec supervisor_frames = {
    .name = "frames",
    .media_types = LIST("application/vnd.parley.frames"),
    .extensions = LIST("frames"),
    .framing = PARLEY_FRAMING_FRAMES,
    .is_binary = true,
    .begins = frames_begin,
};

static const struct parley_codec *const codecs[] = {&parley_codec_json, &parley_codec_ndjson,
                                                    &supervisor_msgpack, &supervisor_frames, NULL};

/* ---- hooks: for JSON those of the engine ---- */

static enum parley_status decode(struct parley_message *message, const struct parley_codec *codec) {
    return codec->is_binary ? msgpack_decode(message, codec) : json_decode(message, codec);
}

static enum parley_status stamp(struct parley_message *message, const struct parley_codec *codec) {
    return codec->is_binary ? msgpack_stamp(message, codec) : json_stamp(message, codec);
}

static enum parley_status validate(struct parley_message *message) {
    return message->codec->is_binary ? msgpack_validate(message) : json_validate(message);
}

static enum parley_status encode(struct parley_message *message, struct parley_buffer *out) {
    return message->codec->is_binary ? msgpack_encode(message, out) : json_encode(message, out);
}

static enum parley_status append_msgpack(struct parley_message *message,
                                         struct parley_buffer *out) {
    if (!message->codec->is_binary) {
        return msgpack_from_json(message, out);
    }
    parley_buffer_append(out, message->text);
    return parley_buffer_status(out);
}

static enum parley_status append_frame(struct parley_message *message, struct parley_buffer *out) {
    const size_t start = out->length;
    parley_buffer_append(out, (struct parley_bytes){"\0\0\0\0", FRAME_HEAD});
    PARLEY_TRY(append_msgpack(message, out));
    const size_t length = out->length - start - FRAME_HEAD;
    if (length > PARLEY_FRAME_BYTES_MAX) {
        return PARLEY_E_LIMIT;
    }
    for (unsigned i = 0; i < FRAME_HEAD; i++) {
        out->data[start + i] = (char)(length >> (8 * (FRAME_HEAD - 1 - i)) & 255);
    }
    return PARLEY_OK;
}

static enum parley_status convert(struct parley_message *message, const struct parley_codec *to,
                                  struct parley_buffer *out) {
    if (to == &supervisor_frames) {
        return append_frame(message, out);
    }
    return to == &supervisor_msgpack ? append_msgpack(message, out) : encode(message, out);
}

static const struct parley_stamp stamps[] = {
    {.member = "timestamp", .with = PARLEY_STAMP_SECONDS},
    {.member = NULL},
};

/* The time is the checkpoint's own, so that a repetition is acknowledged by the same message. */
static void begin_ack(const struct parley_message *stored, size_t size, struct parley_buffer *out) {
    parley_buffer_format(out,
                         "{\"type\":\"checkpoint_ack\",\"timestamp\":%.0f,\"size\":%zu,"
                         "\"checkpoint_id\":",
                         stored->values[SUPERVISOR_TIMESTAMP].number, size);
}

/* A day longer than the messages that point to them. */
static const struct parley_objects objects = {.bucket = "parley_checkpoints",
                                              .keep = &supervisor_options[SUPERVISOR_KEEP],
                                              .days = 8,
                                              .type = SUPERVISOR_CHECKPOINT,
                                              .member = "data",
                                              .begin_ack = begin_ack};

/* The types that a restore is made of: the state of an agent and its log; and the restore itself.
 */
#define PRIVATE_TYPES                                                                              \
    (1u << SUPERVISOR_CHECKPOINT | 1u << SUPERVISOR_WAL_ENTRY | 1u << SUPERVISOR_WAL_BATCH |       \
     1u << SUPERVISOR_RESTORE)

static enum parley_status fact_of(struct parley_bytes payload, struct parley_buffer *out) {
    PARLEY_TRY(supervisor_history_fact(payload, out));
    return out->length > 0 ? PARLEY_OK : supervisor_wal_fact(payload, out);
}

static enum parley_status decide(struct parley_message *message, struct parley_decision *out) {
    const bool is_of_log =
        message->type == SUPERVISOR_WAL_ENTRY || message->type == SUPERVISOR_WAL_BATCH;
    return is_of_log ? supervisor_decide_on_log(message, out)
                     : supervisor_decide_on_history(message, out);
}

static const struct parley_facts_kind facts = {
    .of = fact_of, .mode = &supervisor_options[SUPERVISOR_WAL], .decide = decide};

extern const struct parley_protocol supervisor_protocol;
const struct parley_protocol supervisor_protocol = {
    .name = "supervisor",
    .title = "Supervisor IPC",
    .spec_version = "Supervisor IPC 1.0, messages of versions 1 and 2",
    .stream = "SUPERVISOR",
    .subjects = "supervisor.>",
    .message_bytes_max = 100 << 20,
    .types = supervisor_types,
    .private_types = PRIVATE_TYPES,
    .fields = fields,
    .type_field = SUPERVISOR_TYPE,
    .rules = supervisor_rules,
    .rule_count = SUPERVISOR_RULE_COUNT,
    .codecs = codecs,
    .stamps = stamps,
    .problems = supervisor_problems,
    .options = supervisor_options,
    .examples = supervisor_examples,
    .dialects = supervisor_dialects,
    .decode = decode,
    .validate = validate,
    .encode = encode,
    .route = supervisor_route,
    .convert = convert,
    .stamp = stamp,
    .inspect = supervisor_inspect,
    .inspects_captures = true,
    .inspects_size = true,
    .facts = &facts,
    .agents = &supervisor_agents,
    .objects = &objects,
    .restore = &supervisor_restore,
    .index = &supervisor_index,
    .pipe = &supervisor_pipe,
    .senders = (const char *const[]){"gerbil", "elixir", NULL},
};
