/* SPDX-License-Identifier: Apache-2.0 */

/* See stored_checkpoint.h. Any client may publish to NATS. A message without a pointer counts if it
 * is valid; one with a pointer, if its header and its pointer both name the object of this very
 * checkpoint and agent: no other one is ever read. */

#include "stored_checkpoint.h"

#include <stdlib.h>

#include "checkpoint_scan.h"

enum { HEADER_MAX = 256 };

void stored_checkpoint_init(struct stored_checkpoint *checkpoint) {
    *checkpoint = (struct stored_checkpoint){0};
    parley_buffer_init(&checkpoint->payload);
    parley_arena_init(&checkpoint->arena, 0);
}

void stored_checkpoint_finish(struct stored_checkpoint *checkpoint,
                              const struct checkpoints *checkpoints) {
    parley_buffer_finish(&checkpoint->payload);
    parley_arena_finish(&checkpoint->arena);
    budget_uncover(checkpoints->budget, &checkpoint->share);
}

uint64_t stored_checkpoint_begun(const char *header, uint64_t sequence) {
    char *end = NULL;
    const bool is_number = header != NULL && header[0] >= '0' && header[0] <= '9';
    const uint64_t begun = is_number ? strtoull(header, &end, 10) : sequence;
    return is_number && *end == '\0' && begun < sequence ? begun : sequence;
}

enum stored_checkpoint_taken stored_checkpoint_take(struct stored_checkpoint *checkpoint,
                                                    const struct checkpoint_scope *scope,
                                                    const struct jetstream_held *held) {
    char id[HEADER_MAX], object[HEADER_MAX], begun[HEADER_MAX];
    const bool has_id = held_header(held->headers, STORED_ID_HEADER, id, sizeof id);
    stored_id(has_id ? id : NULL, held->sequence, checkpoint->id);
    checkpoint->has_object = held_header(held->headers, OBJECT_HEADER, object, sizeof object);
    checkpoint->sequence = held->sequence;
    checkpoint->begun = stored_checkpoint_begun(
        held_header(held->headers, OBJECT_BEGUN_HEADER, begun, sizeof begun) ? begun : NULL,
        held->sequence);
    if (strcmp(held->subject, scope->subject) != 0 ||
        (checkpoint->has_object &&
         !stored_checkpoint_names_object(scope, checkpoint->id, object))) {
        return STORED_CHECKPOINT_NO_CHECKPOINT;
    }
    if (!budget_cover(scope->checkpoints->budget, &checkpoint->share, held->payload.length)) {
        return STORED_CHECKPOINT_NO_ROOM;
    }
    parley_buffer_append(&checkpoint->payload, held->payload);
    return checkpoint->payload.has_failed ? STORED_CHECKPOINT_NO_MEMORY : STORED_CHECKPOINT_TAKEN;
}

/* Whether what stands in the place of the state is the pointer to its object. */
static enum parley_status read_pointer(struct stored_checkpoint *checkpoint,
                                       const struct checkpoint_scope *scope, bool *out) {
    const struct parley_bytes text = {checkpoint->payload.data + checkpoint->state_start,
                                      checkpoint->state_end - checkpoint->state_start};
    const enum parley_status status =
        object_pointer_read(text, &checkpoint->arena, &checkpoint->pointer);
    *out = false;
    if (status == PARLEY_OK && checkpoint->pointer.name.length < OBJECT_NAME_MAX) {
        char name[OBJECT_NAME_MAX] = {0};
        memcpy(name, checkpoint->pointer.name.data, checkpoint->pointer.name.length);
        *out = stored_checkpoint_names_object(scope, checkpoint->id, name);
    }
    return status == PARLEY_E_MEMORY ? status : PARLEY_OK;
}

static enum parley_status read_message(struct stored_checkpoint *checkpoint,
                                       const struct checkpoint_scope *scope,
                                       struct parley_message *message) {
    bool is_ours = false;
    PARLEY_TRY(agent_message_check(message, scope->channel, scope->subject,
                                   parley_buffer_bytes(&checkpoint->payload),
                                   checkpoint->has_object, &is_ours));
    const struct parley_objects *objects = scope->protocol->objects;
    const bool is_read =
        checkpoint->has_object ? message->is_decoded && message->type == objects->type : is_ours;
    if (!is_read ||
        object_place_find(parley_buffer_bytes(&checkpoint->payload), objects->member,
                          &checkpoint->state_start, &checkpoint->state_end) != PARLEY_OK) {
        return PARLEY_OK;
    }
    checkpoint->is_valid = true;
    if (checkpoint->has_object) {
        PARLEY_TRY(read_pointer(checkpoint, scope, &checkpoint->is_valid));
    }
    return scope->protocol->restore->read(message, &checkpoint->says);
}

enum parley_status stored_checkpoint_check(struct stored_checkpoint *checkpoint,
                                           const struct checkpoint_scope *scope) {
    struct parley_message message;
    parley_message_init(&message, scope->schema);
    const enum parley_status status = read_message(checkpoint, scope, &message);
    parley_message_finish(&message);
    return status;
}
