/* SPDX-License-Identifier: Apache-2.0 */

#include "checkpoint_answer.h"

#include "negotiate.h"
#include "phase.h"
#include "problem.h"

enum { OFFERS_MAX = 16 };

static void enter(struct checkpoint_answer *answer, enum checkpoint_answer_phase phase) {
    static const unsigned allowed[] = {
        [CHECKPOINT_GATHERING] = PHASE(CHECKPOINT_SENDING) | PHASE(CHECKPOINT_WHOLE),
        [CHECKPOINT_SENDING] = PHASE(CHECKPOINT_WHOLE) | PHASE(CHECKPOINT_BROKEN),
        [CHECKPOINT_WHOLE] = 0,
        [CHECKPOINT_BROKEN] = 0,
    };
    answer->phase = (enum checkpoint_answer_phase)phase_after(allowed, answer->phase, phase);
}

bool checkpoint_answer_init(struct checkpoint_answer *answer, struct checkpoints *checkpoints,
                            struct http_request *request, const struct parley_protocol *protocol) {
    const char *offers[OFFERS_MAX] = {NULL};
    const struct parley_codec *codecs[OFFERS_MAX] = {NULL};
    size_t count = 0;
    for (size_t i = 0; protocol->codecs[i] != NULL; i++) {
        const struct parley_codec *codec = protocol->codecs[i];
        const bool is_offered = codec->is_binary || codec->framing == PARLEY_FRAMING_JSON;
        const char *const *type = codec->media_types;
        for (; is_offered && *type != NULL && count < OFFERS_MAX - 1; type++) {
            codecs[count] = codec->is_binary ? codec : NULL;
            offers[count++] = *type;
        }
    }
    const int chosen = negotiate(http_request_header(request, "Accept"), offers);
    if (chosen < 0) {
        problem_respond(request, PROBLEM_NOT_ACCEPTABLE,
                        "The answer is one message: accept one of the media types of the "
                        "protocol's encodings, or omit the Accept header.");
        return false;
    }
    *answer = (struct checkpoint_answer){
        .checkpoints = checkpoints, .request = request, .to = codecs[chosen]};
    parley_buffer_init(&answer->text);
    return true;
}

void checkpoint_answer_finish(struct checkpoint_answer *answer) {
    parley_buffer_finish(&answer->text);
    budget_uncover(answer->checkpoints->budget, &answer->share);
}

static void respond(struct checkpoint_answer *answer) {
    http_header(answer->request, "Cache-Control", "no-store");
    http_respond_live(answer->request, 200,
                      answer->to != NULL ? answer->to->media_types[0] : "application/json",
                      answer->read);
}

static void forget_sent(struct checkpoint_answer *answer) {
    parley_buffer_clear(&answer->text);
    answer->offset = 0;
}

enum parley_status checkpoint_answer_add(struct checkpoint_answer *answer,
                                         struct parley_bytes bytes) {
    if (!budget_cover(answer->checkpoints->budget, &answer->share,
                      answer->text.length - answer->offset + bytes.length)) {
        return PARLEY_E_LIMIT;
    }
    if (answer->phase == CHECKPOINT_SENDING && answer->offset == answer->text.length) {
        forget_sent(answer);
    }
    parley_buffer_append(&answer->text, bytes);
    PARLEY_TRY(parley_buffer_status(&answer->text));
    if (answer->to == NULL && answer->phase == CHECKPOINT_GATHERING) {
        enter(answer, CHECKPOINT_SENDING);
        respond(answer);
    } else if (answer->phase == CHECKPOINT_SENDING) {
        http_wake(answer->request);
    }
    return PARLEY_OK;
}

void checkpoint_answer_end(struct checkpoint_answer *answer) {
    const bool is_gathered = answer->phase == CHECKPOINT_GATHERING;
    enter(answer, CHECKPOINT_WHOLE);
    if (is_gathered) {
        respond(answer);
    } else {
        http_wake(answer->request);
    }
}

void checkpoint_answer_break(struct checkpoint_answer *answer) {
    enter(answer, CHECKPOINT_BROKEN);
    http_wake(answer->request);
}

ssize_t checkpoint_answer_read(struct checkpoint_answer *answer, char *buffer, size_t size) {
    const size_t left = answer->text.length - answer->offset;
    const size_t count = left < size ? left : size;
    if (answer->phase == CHECKPOINT_BROKEN) {
        return HTTP_SOURCE_ABORT;
    }
    if (count > 0) {
        memcpy(buffer, answer->text.data + answer->offset, count);
        answer->offset += count;
        return (ssize_t)count;
    }
    if (answer->phase == CHECKPOINT_WHOLE) {
        return HTTP_SOURCE_END;
    }
    forget_sent(answer);
    answer->drained(answer);
    return 0;
}
