/* SPDX-License-Identifier: Apache-2.0 */

/* Where a Round Table message goes (contract, the Topic of each type). A result goes to the domain
 * of its task, which the message itself does not contain: the domain of a request is remembered by
 * its id, and looked up by the correlationId of the reply.
 *
 * Tasks and UUIDs are used in subjects unchanged, since the rules allow only safe characters; a
 * domain from another source is checked here. Agent ids may contain others (RT-104), and are
 * encoded. */

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

/* Source: docs/api.md#nats: that of the request, else the option `domain`, else unknown. The
 * recalled value may have been written by any client of NATS. */
static struct parley_bytes reply_domain(const struct parley_options *options) {
    const struct parley_bytes recalled = parley_bytes_of(options->recalled);
    const struct parley_bytes given = parley_bytes_of(options->domain);
    if (text_is_domain(recalled)) {
        return recalled;
    }
    return text_is_domain(given) ? given : PARLEY_BYTES("unknown");
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

static enum parley_status address_request(struct parley_message *message,
                                          struct parley_route *out) {
    const struct parley_bytes task = parley_message_text(message, ROUNDTABLE_TASK);
    out->remember_key = lower_case(&message->arena, out->id);
    out->remember_value = out->domain = roundtable_domain_of(task);
    out->subject = TEXT_JOIN(&message->arena, PARLEY_BYTES("roundtable.tasks"), task);
    return out->remember_key.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status address_outcome(struct parley_message *message,
                                          struct parley_route *out) {
    out->recall_key =
        lower_case(&message->arena, parley_message_text(message, ROUNDTABLE_CORRELATION_ID));
    if (out->recall_key.data == NULL) {
        return PARLEY_E_MEMORY;
    }
    const char *stored_subject = message->options.stored_subject;
    const struct parley_bytes domain = reply_domain(&message->options);
    out->domain = stored_subject != NULL ? stored_domain(stored_subject) : domain;
    out->subject =
        TEXT_JOIN(&message->arena, PARLEY_BYTES("roundtable.results"), domain, out->recall_key);
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
        out->subject = TEXT_JOIN(arena, PARLEY_BYTES("roundtable.events"), type);
        break;
    case ROUNDTABLE_RESULT:
    case ROUNDTABLE_FAILED:
        PARLEY_TRY(address_outcome(message, out));
        break;
    case ROUNDTABLE_HEARTBEAT:
        out->subject =
            text_percent_encode(arena, PARLEY_BYTES("roundtable.heartbeat."), out->sender);
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
