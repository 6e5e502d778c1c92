/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answer to a request, JSON that is written piece by piece. As JSON it is sent as it comes, and
 * the next piece is not read before this one has left; in another encoding it is gathered, within
 * --gather-max, and converted. */

#include "vault.h"

/*   GATHERING ── the first piece, of JSON ──▶ SENDING ── the last ──▶ WHOLE
 *   GATHERING ── the last, and it was converted ──▶ WHOLE
 *   SENDING ── it cannot go on ──▶ BROKEN
 */
enum vault_answer_phase {
    VAULT_GATHERING,
    VAULT_SENDING,
    VAULT_WHOLE,
    VAULT_BROKEN, /* off, so that no client takes it for whole */
};

struct vault_answer {
    struct vault *vault;
    struct http_request *request;
    const struct parley_codec *to; /* NULL: JSON */
    /* All that was written has been sent. */
    void (*drained)(struct vault_answer *answer);
    ssize_t (*read)(void *state, char *buffer, size_t size); /* calls vault_answer_read */
    enum vault_answer_phase phase;
    struct parley_buffer text;
    size_t offset; /* up to which it was sent */
    struct budget_share share;
};

/* Chooses an encoding by the Accept header.  Returns: false: the request is answered. */
bool vault_answer_init(struct vault_answer *answer, struct vault *vault,
                       struct http_request *request, const struct parley_protocol *protocol);
void vault_answer_finish(struct vault_answer *answer);

/* Returns: PARLEY_E_LIMIT: --gather-max has no room for it; PARLEY_E_MEMORY. */
enum parley_status vault_answer_add(struct vault_answer *answer,
                                    struct parley_bytes bytes) PARLEY_MUST_CHECK;
/* Nothing more is added. What was gathered, if it was, is what is to be sent now. */
void vault_answer_end(struct vault_answer *answer);
/* It cannot be whole. Only when it is being sent. */
void vault_answer_break(struct vault_answer *answer);
/* Something that was added is not sent yet. */
static inline bool vault_answer_is_full(const struct vault_answer *answer) {
    return answer->phase == VAULT_SENDING && answer->offset < answer->text.length;
}
ssize_t vault_answer_read(struct vault_answer *answer, char *buffer, size_t size);
