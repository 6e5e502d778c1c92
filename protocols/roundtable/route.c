/* SPDX-License-Identifier: Apache-2.0 */

/* Where a Round Table message goes (contract, the Topic of each type). A result goes to the domain
 * of its task, which the message itself does not contain: the domain of a request is remembered by
 * its id, and looked up by the correlationId of the reply.
 *
 * Tasks and UUIDs are used in subjects unchanged, since the rules allow only safe characters; a
 * domain from another source is checked here. Agent ids may contain others (RT-104), and are
 * encoded. */

#include "fact.h"
#include "roundtable.h"
#include "text.h"

/* Owns: the arena.  Returns: data NULL when there is no memory. */
static struct parley_bytes lower_case(struct parley_arena *arena, struct parley_bytes text) {
    char *copy = parley_arena_copy(arena, text);
    for (size_t i = 0; copy != NULL && i < text.length; i++) {
        const bool is_capital = copy[i] >= 'A' && copy[i] <= 'Z';
        copy[i] = (char)(is_capital ? copy[i] + ('a' - 'A') : copy[i]);
    }
    return (struct parley_bytes){copy, copy != NULL ? text.length : 0};
}

struct parley_bytes roundtable_domain_of(struct parley_bytes task) {
    size_t length = 0;
    while (length < task.length && task.data[length] != '.') {
        length++;
    }
    return (struct parley_bytes){task.data, length};
}

struct parley_bytes roundtable_heartbeat_subject(struct parley_arena *arena,
                                                 struct parley_bytes agent) {
    return text_percent_encode(arena, PARLEY_BYTES("roundtable.heartbeat."), agent);
}

struct parley_bytes roundtable_task_id(struct parley_message *message) {
    const bool is_request = message->type == ROUNDTABLE_REQUEST;
    return lower_case(
        &message->arena,
        parley_message_text(message, is_request ? ROUNDTABLE_ID : ROUNDTABLE_CORRELATION_ID));
}

/* Source: docs/api.md#nats: that of the request, else the option `domain`, else unknown. */
static enum parley_status reply_domain(struct parley_message *message, struct parley_bytes *out) {
    const struct parley_options *options = &message->options;
    const struct parley_bytes given =
        parley_bytes_of(options->values[ROUNDTABLE_OPTION_DOMAIN].text);
    struct parley_bytes value = {0};
    struct roundtable_fact request;
    if (options->known != NULL) {
        value = options->known->values[ROUNDTABLE_FACT_REQUEST];
    }
    PARLEY_TRY(roundtable_fact_read(value, &message->arena, &request));
    *out = request.domain.data != NULL ? request.domain
           : text_is_domain(given)     ? given
                                       : PARLEY_BYTES("unknown");
    return PARLEY_OK;
}

/* Without a lifecycle only the domain of a reply is needed. */
static enum parley_status ask_facts(struct parley_message *message, struct parley_bytes task_id,
                                    struct parley_route *out) {
    struct parley_bytes *keys = out->fact_keys;
    keys[ROUNDTABLE_FACT_REQUEST] = task_id;
    if (roundtable_lifecycle(&message->options) == PARLEY_LIFECYCLE_OFF) {
        return PARLEY_OK;
    }
    keys[ROUNDTABLE_FACT_CLAIM] = TEXT_JOIN(&message->arena, task_id, PARLEY_BYTES("claim"));
    keys[ROUNDTABLE_FACT_TURN] = TEXT_JOIN(&message->arena, task_id, PARLEY_BYTES("turn.*"));
    keys[ROUNDTABLE_FACT_END] = TEXT_JOIN(&message->arena, task_id, PARLEY_BYTES("end"));
    return keys[ROUNDTABLE_FACT_TURN].data != NULL && keys[ROUNDTABLE_FACT_CLAIM].data != NULL &&
                   keys[ROUNDTABLE_FACT_END].data != NULL
               ? PARLEY_OK
               : PARLEY_E_MEMORY;
}

/* For a stored reply: the domain of PREFIX.results.<domain>.<task-id>.  Returns: data NULL when the
 * subject is another one. */
static struct parley_bytes stored_domain(const char *subject) {
    const char *second = strchr(subject, '.');
    if (second == NULL || strncmp(second, ".results.", sizeof ".results." - 1) != 0) {
        return (struct parley_bytes){0};
    }
    const char *third = second + sizeof ".results." - 1;
    const struct parley_bytes domain = {third, strcspn(third, ".")};
    return text_is_domain(domain) ? domain : (struct parley_bytes){0};
}

/* A request may try a task again, whose facts are looked at. */
static enum parley_status ask_retried(struct parley_message *message, struct parley_route *out) {
    const struct parley_bytes named = parley_message_text(message, ROUNDTABLE_CORRELATION_ID);
    struct parley_arena *arena = &message->arena;
    struct parley_bytes *keys = out->fact_keys;
    if (named.data == NULL) {
        return PARLEY_OK;
    }
    const struct parley_bytes id = lower_case(arena, named);
    keys[ROUNDTABLE_FACT_RETRIED_REQUEST] = id;
    keys[ROUNDTABLE_FACT_RETRIED_END] = TEXT_JOIN(arena, id, PARLEY_BYTES("end"));
    keys[ROUNDTABLE_FACT_RETRIED_CLAIM] = TEXT_JOIN(arena, id, PARLEY_BYTES("claim"));
    keys[ROUNDTABLE_FACT_RETRIED_RETRY] = TEXT_JOIN(arena, id, PARLEY_BYTES("retry"));
    return id.data != NULL && keys[ROUNDTABLE_FACT_RETRIED_END].data != NULL &&
                   keys[ROUNDTABLE_FACT_RETRIED_CLAIM].data != NULL &&
                   keys[ROUNDTABLE_FACT_RETRIED_RETRY].data != NULL
               ? PARLEY_OK
               : PARLEY_E_MEMORY;
}

static enum parley_status address_request(struct parley_message *message,
                                          struct parley_route *out) {
    const struct parley_bytes task = parley_message_text(message, ROUNDTABLE_TASK);
    const struct parley_bytes id = roundtable_task_id(message);
    PARLEY_TRY(id.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY);
    out->domain = roundtable_domain_of(task);
    out->subject = TEXT_JOIN(&message->arena, PARLEY_BYTES("roundtable.tasks"), task);
    if (roundtable_lifecycle(&message->options) == PARLEY_LIFECYCLE_OFF) {
        return PARLEY_OK;
    }
    PARLEY_TRY(ask_facts(message, id, out));
    PARLEY_TRY(ask_retried(message, out));
    out->answer_key = out->fact_keys[ROUNDTABLE_FACT_END];
    return PARLEY_OK;
}

static enum parley_status address_event(struct parley_message *message, struct parley_bytes type,
                                        struct parley_route *out) {
    out->subject = TEXT_JOIN(&message->arena, PARLEY_BYTES("roundtable.events"), type);
    if (roundtable_lifecycle(&message->options) == PARLEY_LIFECYCLE_OFF) {
        return PARLEY_OK;
    }
    const struct parley_bytes id = roundtable_task_id(message);
    return id.data != NULL ? ask_facts(message, id, out) : PARLEY_E_MEMORY;
}

static enum parley_status address_outcome(struct parley_message *message,
                                          struct parley_route *out) {
    const char *stored_subject = message->options.stored_subject;
    const struct parley_bytes id = roundtable_task_id(message);
    struct parley_bytes domain;
    PARLEY_TRY(id.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY);
    PARLEY_TRY(reply_domain(message, &domain));
    PARLEY_TRY(ask_facts(message, id, out));
    out->domain = stored_subject != NULL ? stored_domain(stored_subject) : domain;
    out->subject = TEXT_JOIN(&message->arena, PARLEY_BYTES("roundtable.results"), domain, id);
    return PARLEY_OK;
}

static enum parley_status address(struct parley_message *message, struct parley_route *out) {
    struct parley_arena *arena = &message->arena;
    const struct parley_bytes type = parley_message_text(message, ROUNDTABLE_TYPE);
    out->type = TEXT_JOIN(arena, PARLEY_BYTES("roundtable"), type);
    out->source = text_percent_encode(arena, PARLEY_BYTES("/roundtable/"), out->sender);
    switch ((enum roundtable_type)message->type) {
    case ROUNDTABLE_REQUEST:
        PARLEY_TRY(address_request(message, out));
        break;
    case ROUNDTABLE_CLAIMED:
    case ROUNDTABLE_PROGRESS:
        PARLEY_TRY(address_event(message, type, out));
        break;
    case ROUNDTABLE_RESULT:
    case ROUNDTABLE_FAILED:
        PARLEY_TRY(address_outcome(message, out));
        break;
    case ROUNDTABLE_HEARTBEAT:
        out->subject = roundtable_heartbeat_subject(arena, out->sender);
        break;
    }
    return out->type.data != NULL && out->source.data != NULL && out->subject.data != NULL
               ? PARLEY_OK
               : PARLEY_E_MEMORY;
}

enum parley_status roundtable_route(struct parley_message *message, struct parley_route *out) {
    const struct parley_value *receiver = &message->values[ROUNDTABLE_TO];
    const struct parley_bytes task_id = parley_message_text(message, ROUNDTABLE_CORRELATION_ID);
    /* A request begins a thread even if it names the task that it retries. */
    const bool is_of_task = task_id.data != NULL && message->type != ROUNDTABLE_REQUEST;
    *out = (struct parley_route){.id = parley_message_text(message, ROUNDTABLE_ID),
                                 .time = parley_message_text(message, ROUNDTABLE_TIMESTAMP),
                                 .sender = parley_message_text(message, ROUNDTABLE_FROM),
                                 .priority = parley_message_text(message, ROUNDTABLE_PRIORITY),
                                 .dedupe = PARLEY_DEDUPE_ID};
    out->thread = is_of_task ? task_id : out->id;
    if (out->priority.data == NULL) {
        out->priority = PARLEY_BYTES("normal"); /* contract, Priority Levels */
    }
    if (receiver->kind == PARLEY_STRING) {
        out->receivers = &receiver->text;
        out->receiver_count = 1;
    }
    return parley_message_is_valid(message) ? address(message, out) : PARLEY_OK;
}
