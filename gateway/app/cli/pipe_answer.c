/* SPDX-License-Identifier: Apache-2.0 */

#include "pipe_answer.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "pipe.h"

void pipe_answer_init(struct pipe_answer *answer) {
    answer->line = 0;
    parley_buffer_init(&answer->message);
    parley_buffer_init(&answer->details);
}

void pipe_answer_finish(struct pipe_answer *answer) {
    parley_buffer_finish(&answer->message);
    parley_buffer_finish(&answer->details);
}

static const char *text_of(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static int append(const char *text, size_t length, void *buffer) {
    parley_buffer_append(buffer, (struct parley_bytes){text, length});
    return 0;
}

static void begin(struct pipe_answer *answer, uint64_t number) {
    answer->is_invalid = false;
    parley_buffer_clear(&answer->message);
    parley_buffer_clear(&answer->details);
    parley_buffer_text(&answer->details, "{\"frame\":");
    parley_buffer_uint(&answer->details, number);
}

static void write_detail(struct pipe_answer *answer, const char *name, const json_t *value) {
    parley_buffer_format(&answer->details, ",\"%s\":", name);
    json_dump_callback(value, append, &answer->details, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* The first that is an error: "IPC-003 at /type: …". */
static void name_violation(struct pipe_answer *answer, const json_t *violations) {
    size_t i;
    json_t *each;
    json_array_foreach(violations, i, each) {
        if (strcmp(text_of(each, "severity"), "error") == 0) {
            const char *path = text_of(each, "path");
            parley_buffer_format(&answer->message, "%s%s%s: %s", text_of(each, "rule"),
                                 path[0] != '\0' ? " at " : "", path, text_of(each, "message"));
            return;
        }
    }
    parley_buffer_text(&answer->message, "the message breaks rules of its protocol");
}

static enum pipe_result read_invalid(struct pipe_answer *answer, const json_t *result) {
    const json_t *violations = json_object_get(result, "violations");
    answer->is_invalid = true;
    name_violation(answer, violations);
    write_detail(answer, "violations", violations);
    parley_buffer_char(&answer->details, '}');
    return json_is_array(violations) ? PIPE_RESULT_REFUSED : PIPE_RESULT_OTHER;
}

static enum pipe_result read_problem(struct pipe_answer *answer, const json_t *problem) {
    const json_int_t status = json_integer_value(json_object_get(problem, "status"));
    if (status < 400 || status > 599) {
        return PIPE_RESULT_OTHER;
    }
    const bool is_passing = pipe_status_is_passing((unsigned)status);
    parley_buffer_format(&answer->message, "%s: %s", text_of(problem, "title"),
                         text_of(problem, "detail"));
    write_detail(answer, "problem", problem);
    parley_buffer_text(&answer->details, is_passing ? ",\"again\":true}" : "}");
    return is_passing ? PIPE_RESULT_AGAIN : PIPE_RESULT_REFUSED;
}

static enum pipe_result read_object(struct pipe_answer *answer, const json_t *result,
                                    const uint64_t *numbers, size_t count) {
    const json_int_t line = json_integer_value(json_object_get(result, "line"));
    const char *status = text_of(result, "status");
    if (json_is_object(json_object_get(result, "summary"))) {
        return PIPE_RESULT_SUMMARY;
    }
    if (line < 1 || (uint64_t)line > count) {
        return PIPE_RESULT_OTHER;
    }
    answer->line = (size_t)line;
    begin(answer, numbers[line - 1]);
    return strcmp(status, "invalid") == 0 ? read_invalid(answer, result)
           : strcmp(status, "failed") == 0
               ? read_problem(answer, json_object_get(result, "problem"))
               : PIPE_RESULT_STORED;
}

enum pipe_result pipe_answer_read(struct pipe_answer *answer, struct parley_bytes line,
                                  const uint64_t *numbers, size_t count) {
    json_t *result = json_loadb(line.data, line.length, 0, NULL);
    answer->line = 0;
    const enum pipe_result what = read_object(answer, result, numbers, count);
    json_decref(result);
    return what;
}

bool pipe_answer_read_problem(struct pipe_answer *answer, const char *text, uint64_t number) {
    json_t *problem = json_loads(text, 0, NULL);
    begin(answer, number);
    const enum pipe_result result = json_is_array(json_object_get(problem, "violations"))
                                        ? read_invalid(answer, problem)
                                        : read_problem(answer, problem);
    if (result == PIPE_RESULT_OTHER) { /* that of a proxy, or a very long one */
        parley_buffer_text(&answer->message, "the server refuses the message");
        parley_buffer_char(&answer->details, '}');
    }
    json_decref(problem);
    return result != PIPE_RESULT_OTHER;
}

void pipe_answer_say(struct pipe_answer *answer, uint64_t number, const char *message,
                     const char *hint) {
    begin(answer, number);
    parley_buffer_text(&answer->message, message);
    parley_buffer_text(&answer->details, ",\"hint\":");
    parley_buffer_json(&answer->details, parley_bytes_of(hint));
    parley_buffer_char(&answer->details, '}');
}
