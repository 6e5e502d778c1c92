/* SPDX-License-Identifier: Apache-2.0 */

/* The 400 answers about query options. */

#include "query_problem.h"

#include <string.h>

#include "nearest.h"

/* "a, b and c" */
static void write_list(struct parley_buffer *out, const char *const names[]) {
    for (size_t i = 0; names[i] != NULL; i++) {
        if (i > 0) {
            parley_buffer_text(out, names[i + 1] != NULL ? ", " : " and ");
        }
        parley_buffer_text(out, names[i]);
    }
}

/* Answers with `detail`, and frees it. */
static void respond(struct http_request *request, struct parley_buffer *detail) {
    parley_buffer_char(detail, '\0');
    problem_respond(request, PROBLEM_INVALID_PARAMETER,
                    detail->has_failed ? "The query cannot be read." : detail->data);
    parley_buffer_finish(detail);
}

void query_problem_unknown(struct http_request *request, const char *name,
                           const char *const names[]) {
    struct parley_buffer detail;
    const char *nearest = nearest_word(name, names);
    parley_buffer_init(&detail);
    parley_buffer_format(&detail, "Unknown query option `%.64s`", name);
    if (nearest != NULL) {
        parley_buffer_format(&detail, "; did you mean `%s`? Known", nearest);
    } else {
        parley_buffer_text(&detail, ". Known");
    }
    parley_buffer_text(&detail, " here: ");
    write_list(&detail, names);
    parley_buffer_char(&detail, '.');
    respond(request, &detail);
}

void query_problem_value(struct http_request *request, const char *name, const char *value,
                         const char *expected) {
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "The query option `%.64s` cannot be `%.128s`: it takes %s.", name, value,
                           expected);
}

void query_problem_twice(struct http_request *request, const char *name) {
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "The query option `%.64s` is given twice; give it once.", name);
}
