/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answer to a request, JSON that is written piece by piece. As JSON it is sent as it comes, and
 * the next piece is not read before this one has left; in another encoding it is gathered, within
 * --gather-max, and converted. */

#include "checkpoints.h"

/*   GATHERING ── the first piece, of JSON ──▶ SENDING ── the last ──▶ WHOLE
 *   GATHERING ── the last, and it was converted ──▶ WHOLE
 *   SENDING ── it cannot go on ──▶ BROKEN
 */
enum checkpoint_answer_phase {
    CHECKPOINT_GATHERING,
    CHECKPOINT_SENDING,
    CHECKPOINT_WHOLE,
    CHECKPOINT_BROKEN, /* off, so that no client takes it for whole */
};

struct checkpoint_answer {
    struct checkpoints *checkpoints;
    struct http_request *request;
    const struct parley_codec *to; /* NULL: JSON */
    /* All that was written has been sent. */
    void (*drained)(struct checkpoint_answer *answer);
    ssize_t (*read)(void *state, char *buffer, size_t size); /* calls checkpoint_answer_read */
    enum checkpoint_answer_phase phase;
    struct parley_buffer text;
    size_t offset; /* up to which it was sent */
    struct budget_share share;
};

/* Chooses an encoding by the Accept header.  Returns: false: the request is answered. */
bool checkpoint_answer_init(struct checkpoint_answer *answer, struct checkpoints *checkpoints,
                            struct http_request *request, const struct parley_protocol *protocol);
void checkpoint_answer_finish(struct checkpoint_answer *answer);

/* Returns: PARLEY_E_LIMIT: --gather-max has no room for it; PARLEY_E_MEMORY. */
enum parley_status checkpoint_answer_add(struct checkpoint_answer *answer,
                                         struct parley_bytes bytes) PARLEY_MUST_CHECK;
/* Ends the answer. The gathered text, if there is one, is to be sent now. */
void checkpoint_answer_end(struct checkpoint_answer *answer);
/* It cannot be whole. Only when it is being sent. */
void checkpoint_answer_break(struct checkpoint_answer *answer);
/* Something that was added is not sent yet. */
static inline bool checkpoint_answer_is_full(const struct checkpoint_answer *answer) {
    return answer->phase == CHECKPOINT_SENDING && answer->offset < answer->text.length;
}
ssize_t checkpoint_answer_read(struct checkpoint_answer *answer, char *buffer, size_t size);
