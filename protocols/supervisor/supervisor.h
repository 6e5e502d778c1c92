/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the files of the supervisor plugin: the numbers of its types and fields. Source:
 * supervisor-ipc-message-schema.md. */

#include <parley/dialect.h>
#include <parley/message.h>
#include <parley/pipe.h>
#include <parley/restore.h>

/* Those that Gerbil sends, then those that Elixir sends; both sides send `error`. */
enum supervisor_type {
    SUPERVISOR_HEARTBEAT,
    SUPERVISOR_CHECKPOINT,
    SUPERVISOR_WAL_ENTRY,
    SUPERVISOR_WAL_BATCH,
    SUPERVISOR_EVOLUTION_INTENT,
    SUPERVISOR_METRICS,
    SUPERVISOR_CHECKPOINT_ACK,
    SUPERVISOR_RESTORE,
    SUPERVISOR_HOT_RELOAD,
    SUPERVISOR_EVOLUTION_RESULT,
    SUPERVISOR_PROCESS_REQUEST,
    SUPERVISOR_SHUTDOWN,
    SUPERVISOR_ERROR,
    SUPERVISOR_TYPE_COUNT
};

/* The captures that its rules and its route use. */
enum supervisor_field {
    SUPERVISOR_TYPE,
    SUPERVISOR_TIMESTAMP,
    SUPERVISOR_REQUEST_ID,
    SUPERVISOR_DATA,
    SUPERVISOR_COMPRESSED,
    SUPERVISOR_COMPRESSION,
    SUPERVISOR_P50_LATENCY,
    SUPERVISOR_P95_LATENCY,
    SUPERVISOR_P99_LATENCY,
    SUPERVISOR_SUCCESS,
    SUPERVISOR_DECISION,
    SUPERVISOR_ERROR_CODE,
    SUPERVISOR_ERROR_DETAILS,
    SUPERVISOR_VERSION,
    SUPERVISOR_METADATA,
    SUPERVISOR_OBJECT, /* of a pointer (docs/adr/0031), as the next two */
    SUPERVISOR_OBJECT_SIZE,
    SUPERVISOR_OBJECT_DIGEST,
    SUPERVISOR_CHECKPOINT_ID,
    SUPERVISOR_BACKUP_ID,
};

#define SUPERVISOR_RULE_COUNT 40

/* The indexes in the table of the rules checked by inspection, and of those that span messages. */
enum supervisor_rule {
    SUPERVISOR_IPC_007 = 6,
    SUPERVISOR_IPC_016 = 13,
    SUPERVISOR_IPC_101 = 32,
    SUPERVISOR_IPC_201 = SUPERVISOR_RULE_COUNT - 3,
    SUPERVISOR_IPC_202,
    SUPERVISOR_IPC_203,
};

extern const char *const supervisor_types[];
extern const struct parley_rule supervisor_rules[SUPERVISOR_RULE_COUNT];
/* The places in supervisor_options. */
enum supervisor_option { SUPERVISOR_FROM, SUPERVISOR_KEEP, SUPERVISOR_WAL };
extern const struct parley_option supervisor_options[];
extern const struct parley_problem supervisor_problems[];
extern const struct parley_example supervisor_examples[];
extern const struct parley_dialect supervisor_dialects[];
extern const struct parley_agents supervisor_agents;
extern const struct parley_restore supervisor_restore;
extern const struct parley_codec supervisor_msgpack, supervisor_frames;
extern const struct parley_pipe supervisor_pipe;
extern const struct parley_index_kind supervisor_index;

/* The sides that send messages of a type, as a set; nothing for PARLEY_TYPE_OTHER. */
enum supervisor_side { SUPERVISOR_GERBIL = 1, SUPERVISOR_ELIXIR = 2 };
unsigned supervisor_sides(unsigned type);
/* The side that an option or a token names, or 0. */
unsigned supervisor_side_of(struct parley_bytes name);

/* The faults that a pointer may have; a message without a pointer has none of them. */
bool supervisor_is_pointer(const struct parley_captures *captures);
bool supervisor_pointer_lacks_name(const struct parley_captures *captures);
bool supervisor_pointer_lacks_size(const struct parley_captures *captures);
bool supervisor_pointer_lacks_digest(const struct parley_captures *captures);
bool supervisor_pointer_has_more(const struct parley_captures *captures);

enum parley_status supervisor_route(struct parley_message *message, struct parley_route *out);
enum parley_status supervisor_inspect(struct parley_message *message);
/* The subject of the route's agent for a type that one side sends; data NULL: no memory. */
struct parley_bytes supervisor_subject(struct parley_message *message,
                                       const struct parley_route *route, enum supervisor_type type);
/* Whether its log continues (wal.c). */
enum parley_status supervisor_decide_on_log(struct parley_message *message,
                                            struct parley_decision *out);
/* Whether its agent has what it is about (history.c): adds the facts that this needs to the route,
 * decides, and reads them of a stored evolution_intent ("intent") or evolution_result (its
 * decision); nothing if it is neither. */
enum parley_status supervisor_ask_history(struct parley_message *message, struct parley_route *out);
enum parley_status supervisor_decide_on_history(struct parley_message *message,
                                                struct parley_decision *out);
enum parley_status supervisor_history_fact(struct parley_bytes payload, struct parley_buffer *out);
/* The members `missing` and, if there may be more, `more`. */
void supervisor_write_gaps(const struct parley_log_gaps *missing, struct parley_buffer *out);
/* The last sequence that a stored wal_entry or wal_batch logs, in digits; nothing if it is neither.
 */
enum parley_status supervisor_wal_fact(struct parley_bytes payload, struct parley_buffer *out);
