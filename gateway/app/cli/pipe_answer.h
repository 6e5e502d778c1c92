/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A line of the answer to many messages (docs/api.md#batch): what became of one of them. */

#include <parley/buffer.h>

enum pipe_result {
    PIPE_RESULT_STORED,
    PIPE_RESULT_REFUSED, /* for good: `message` and `details` say why */
    PIPE_RESULT_AGAIN,   /* the same message can be stored later */
    PIPE_RESULT_SUMMARY, /* the answer is whole: what no line is about is stored */
    PIPE_RESULT_OTHER,   /* nothing that is known */
};

struct pipe_answer {
    size_t line;                  /* the message, from 1; 0: PIPE_RESULT_SUMMARY, _OTHER */
    bool is_invalid;              /* it is refused for its violations */
    struct parley_buffer message; /* for people */
    struct parley_buffer details; /* a JSON object: the frame's number, violations or a problem, and
                                     `again`: true if the pipe sends it again */
};

void pipe_answer_init(struct pipe_answer *answer);
void pipe_answer_finish(struct pipe_answer *answer);

/* `numbers`: of the frames, by line; there are `count`. */
enum pipe_result pipe_answer_read(struct pipe_answer *answer, struct parley_bytes line,
                                  const uint64_t *numbers, size_t count);

/* A problem document, about one message that was sent alone, or about each of several.
 * Returns: whether it is parley's. */
bool pipe_answer_read_problem(struct pipe_answer *answer, const char *text, uint64_t number);

/* The same where parley itself refuses a frame. */
void pipe_answer_say(struct pipe_answer *answer, uint64_t number, const char *message,
                     const char *hint);
