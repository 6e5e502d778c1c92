/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes what `parley pipe` reads of a server: a line of a stream, a line of an answer, a problem.
 * Whatever it is, what is said of a refusal is a JSON object. An input's first byte says which. */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "event_members.h"
#include "pipe_answer.h"

static void read_event(struct parley_bytes line) {
    static const char *const names[] = {"type", "data", "resume"};
    struct parley_value values[3];
    struct parley_arena arena;
    parley_arena_init(&arena, 0);
    if (event_members_read(line, names, 3, values, &arena) == JSON_READER_READ) {
        require(values[1].kind != PARLEY_OBJECT || line.data[values[1].offset] == '{',
                "an object begins where it is said to");
    }
    parley_arena_finish(&arena);
}

static void require_object(const struct parley_buffer *text) {
    struct parley_arena arena;
    struct json_fault fault;
    parley_arena_init(&arena, 0);
    require(!text->has_failed && text->length > 0 && text->data[0] == '{', "it is an object");
    require(json_reader_read(parley_buffer_bytes(text), NULL, &arena, NULL, &fault) !=
                JSON_READER_FAULT,
            "it is JSON");
    parley_arena_finish(&arena);
}

static void read_answer(struct parley_bytes line, bool is_problem) {
    static const uint64_t numbers[] = {7, 8};
    struct pipe_answer answer;
    pipe_answer_init(&answer);
    char *text = strndup(line.data, line.length);
    require(text != NULL, "there is memory");
    if (is_problem) {
        pipe_answer_read_problem(&answer, text, numbers[0]);
        require_object(&answer.details);
    } else if (pipe_answer_read(&answer, line, numbers, 2) == PIPE_RESULT_REFUSED) {
        require(answer.line == 1 || answer.line == 2, "it is one of those that were sent");
        require_object(&answer.details);
    }
    free(text);
    pipe_answer_finish(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    const struct parley_bytes text = {(const char *)data + 1, size - 1};
    if (data[0] == 'e') {
        read_event(text);
    } else {
        read_answer(text, data[0] == 'p');
    }
    return 0;
}
