/* SPDX-License-Identifier: Apache-2.0 */

/* The 400 answers about query options. */

#include "query_problem.h"

#include <string.h>

#include "nearest.h"
#include "text.h"

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
    if (names[0] == NULL) {
        parley_buffer_text(&detail, ": this address takes none");
    } else if (nearest != NULL) {
        parley_buffer_format(&detail, "; did you mean `%s`? Known here: ", nearest);
    } else {
        parley_buffer_text(&detail, ". Known here: ");
    }
    write_list(&detail, names);
    parley_buffer_char(&detail, '.');
    respond(request, &detail);
}

void query_problem_value(struct http_request *request, const char *name, const char *value,
                         const char *expected) {
    if (value[0] == '\0') {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                               "The query option `%.64s` is empty: it takes %s.", name, expected);
        return;
    }
    problem_respond_format(request, PROBLEM_INVALID_PARAMETER,
                           "The query option `%.64s` cannot be `%.128s`: it takes %s.", name, value,
                           expected);
}

/* A NUL has come as U+0001 (http_head.c). */
static bool is_text(const char *value) {
    const struct parley_bytes bytes = parley_bytes_of(value);
    return text_utf8_prefix(bytes) == bytes.length && strchr(value, '\1') == NULL;
}

bool query_option_is_sound(struct http_request *request, struct query_names *seen, const char *name,
                           const char *value) {
    const char *fault = query_names_add(seen, name) ? "is given twice; give it once"
                        : !is_text(name) || !is_text(value)
                            ? "is not text: it takes UTF-8, percent-encoded, without U+0000 and "
                              "U+0001"
                            : NULL;
    if (fault != NULL) {
        problem_respond_format(request, PROBLEM_INVALID_PARAMETER, "The query option `%.64s` %s.",
                               name, fault);
    }
    return fault == NULL;
}
