/* SPDX-License-Identifier: Apache-2.0 */

/* Whether an agent has what a message of its supervisor is about (IPC-203): a checkpoint with this
 * id, an evolution that has no result so far, a result that promotes code. Evolutions come one
 * after the other: a result answers all intents before it (docs/protocols/supervisor.md#history).
 */

#include "findings.h"
#include "json_reader.h"
#include "supervisor.h"

/* ---- which facts a message needs ---- */

enum fact { FACT_CHECKPOINT, FACT_INTENT, FACT_RESULT };

/* The field with the id of a checkpoint that a message of this type names; SUPERVISOR_TYPE: none.
 */
static enum supervisor_field id_field(unsigned type) {
    switch (type) {
    case SUPERVISOR_CHECKPOINT_ACK:
    case SUPERVISOR_RESTORE:
        return SUPERVISOR_CHECKPOINT_ID;
    case SUPERVISOR_HOT_RELOAD:
        return SUPERVISOR_BACKUP_ID;
    default:
        return SUPERVISOR_TYPE;
    }
}

/* A subject, a space and an id: parley/facts.h. */
static enum parley_status join_key(struct parley_message *message, struct parley_bytes subject,
                                   struct parley_bytes id, struct parley_bytes *out) {
    const size_t length = subject.length + 1 + id.length;
    char *text = subject.data != NULL ? parley_arena_allocate(&message->arena, length) : NULL;
    if (text == NULL) {
        return PARLEY_E_MEMORY;
    }
    memcpy(text, subject.data, subject.length);
    text[subject.length] = ' ';
    memcpy(text + subject.length + 1, id.data, id.length);
    *out = (struct parley_bytes){text, length};
    return PARLEY_OK;
}

/* The types by which an evolution continues. An intent needs no facts, but what follows it in the
 * same request waits for it. */
static bool is_evolution(unsigned type) {
    return type == SUPERVISOR_EVOLUTION_INTENT || type == SUPERVISOR_EVOLUTION_RESULT ||
           type == SUPERVISOR_HOT_RELOAD;
}

enum parley_status supervisor_ask_history(struct parley_message *message,
                                          struct parley_route *out) {
    const enum supervisor_field field = id_field(message->type);
    const struct parley_bytes id = parley_message_text(message, field);
    if (field != SUPERVISOR_TYPE && id.data != NULL) {
        const struct parley_bytes subject = supervisor_subject(message, out, SUPERVISOR_CHECKPOINT);
        PARLEY_TRY(join_key(message, subject, id, &out->fact_keys[FACT_CHECKPOINT]));
    }
    if (!is_evolution(message->type)) {
        return PARLEY_OK;
    }
    out->fact_keys[FACT_INTENT] = supervisor_subject(message, out, SUPERVISOR_EVOLUTION_INTENT);
    out->fact_keys[FACT_RESULT] = supervisor_subject(message, out, SUPERVISOR_EVOLUTION_RESULT);
    return out->fact_keys[FACT_INTENT].data != NULL && out->fact_keys[FACT_RESULT].data != NULL
               ? PARLEY_OK
               : PARLEY_E_MEMORY;
}

/* ---- members of a stored message ---- */

/* Longer texts are cut off: no rule depends on them. */
struct members {
    unsigned depth;
    char *next; /* where the value that comes goes; NULL: nowhere */
    char type[24], decision[16];
};

static bool on_value(void *context, const struct parley_value *value) {
    struct members *members = context;
    const struct parley_bytes text = parley_value_text(value);
    if (members->depth == 0) {
        members->depth = 1;
        return value->kind == PARLEY_OBJECT;
    }
    const size_t room =
        members->next == members->type ? sizeof members->type : sizeof members->decision;
    if (members->next != NULL && text.length < room) {
        memcpy(members->next, text.data != NULL ? text.data : "", text.length);
        members->next[text.length] = '\0';
    }
    return false;
}

static bool on_key(void *context, struct parley_bytes key) {
    struct members *members = context;
    members->next = parley_bytes_equal(key, PARLEY_BYTES("type"))       ? members->type
                    : parley_bytes_equal(key, PARLEY_BYTES("decision")) ? members->decision
                                                                        : NULL;
    return members->next != NULL;
}

static void on_leave(void *context, size_t count) {
    (void)context;
    (void)count;
}

/* "intent", or the decision of a result. */
static const char *evolution_of(const struct members *members) {
    static const char *const decisions[] = {"promoted", "rejected"};
    if (strcmp(members->type, supervisor_types[SUPERVISOR_EVOLUTION_INTENT]) == 0) {
        return "intent";
    }
    const bool is_result =
        strcmp(members->type, supervisor_types[SUPERVISOR_EVOLUTION_RESULT]) == 0;
    for (size_t i = 0; is_result && i < sizeof decisions / sizeof decisions[0]; i++) {
        if (strcmp(members->decision, decisions[i]) == 0) {
            return decisions[i];
        }
    }
    return "";
}

enum parley_status supervisor_history_fact(struct parley_bytes payload, struct parley_buffer *out) {
    struct members members = {0};
    const struct json_events events = {
        .context = &members, .value = on_value, .key = on_key, .leave = on_leave, .is_brief = true};
    struct parley_arena arena;
    struct json_fault fault;
    parley_arena_init(&arena, 0);
    const enum json_reader_result result = json_reader_read(payload, &events, &arena, NULL, &fault);
    parley_arena_finish(&arena);
    if (result == JSON_READER_READ) {
        parley_buffer_text(out, evolution_of(&members));
    }
    return result == JSON_READER_MEMORY ? PARLEY_E_MEMORY : parley_buffer_status(out);
}

/* ---- the decision ---- */

static enum parley_status warn(struct parley_message *message, enum supervisor_field field,
                               const char *text, struct parley_decision *out) {
    out->is_repeat = true; /* as a duplicate it has the result of the first one, without warnings */
    return findings_report(message, SUPERVISOR_IPC_203,
                           (struct parley_finding){.path = message->protocol->fields[field],
                                                   .message = text,
                                                   .offset = message->values[field].offset});
}

static enum parley_status decide_on_id(struct parley_message *message,
                                       struct parley_decision *out) {
    const enum supervisor_field field = id_field(message->type);
    const bool has_id =
        field != SUPERVISOR_TYPE && parley_message_text(message, field).data != NULL;
    return has_id && message->options.known->values[FACT_CHECKPOINT].length == 0
               ? warn(message, field, "no checkpoint of this agent has this id", out)
               : PARLEY_OK;
}

/* Returns: what is wrong with a message of the supervisor's about an evolution; NULL: nothing. */
static const char *evolution_fault(unsigned type, const struct parley_known_facts *known) {
    const struct parley_bytes intent = known->values[FACT_INTENT];
    const struct parley_bytes result = known->values[FACT_RESULT];
    if (type == SUPERVISOR_HOT_RELOAD) {
        return result.length == 0 ? "this agent has no evolution_result that promotes code"
               : !parley_bytes_equal(result, PARLEY_BYTES("promoted"))
                   ? "the last evolution_result of this agent rejects its code"
                   : NULL;
    }
    if (type != SUPERVISOR_EVOLUTION_RESULT) {
        return NULL;
    }
    return intent.length == 0 ? "this agent has no evolution_intent"
           : result.length > 0 && known->sequences[FACT_RESULT] > known->sequences[FACT_INTENT]
               ? "the last evolution_intent of this agent has a result already"
               : NULL;
}

enum parley_status supervisor_decide_on_history(struct parley_message *message,
                                                struct parley_decision *out) {
    const struct parley_known_facts *known = message->options.known;
    if (message->type == SUPERVISOR_EVOLUTION_INTENT || known->is_unread) {
        return PARLEY_OK;
    }
    if (!known->is_final) {
        out->kind = PARLEY_DECISION_ASK_AGAIN;
        return PARLEY_OK;
    }
    PARLEY_TRY(decide_on_id(message, out));
    const char *fault = evolution_fault(message->type, known);
    const enum supervisor_field field =
        message->type == SUPERVISOR_HOT_RELOAD ? SUPERVISOR_TYPE : SUPERVISOR_DECISION;
    return fault != NULL ? warn(message, field, fault, out) : PARLEY_OK;
}
