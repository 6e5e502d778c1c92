/* SPDX-License-Identifier: Apache-2.0 */

/* Results of tools. Models see results only: so a refusal is one, too, with the problem and a
 * sentence that says what to do. */

#include <stdlib.h>

#include "mcp_call.h"
#include "problem.h"

static struct parley_bytes trim(struct parley_bytes text) {
    while (text.length > 0 && strchr(" \t\r\n", text.data[text.length - 1]) != NULL) {
        text.length--;
    }
    return text;
}

void tool_result_write(struct mcp_call *call, struct parley_bytes object, bool is_error) {
    enum { AROUND_BYTES = 320 };
    struct parley_buffer *out = &call->answer;
    parley_buffer_reserve(out, 2 * object.length + object.length / 2 + AROUND_BYTES);
    rpc_begin_result(out, &call->rpc, call->mcp->version);
    parley_buffer_text(out, ",\"content\":[{\"type\":\"text\",\"text\":");
    parley_buffer_json(out, object);
    parley_buffer_text(out, "}],\"structuredContent\":");
    parley_buffer_append(out, object);
    parley_buffer_text(out, is_error ? ",\"isError\":true" : "");
    rpc_end_result(out);
}

/* The problem document has a type, /problems/NAME. */
static enum problem problem_in(struct mcp_call *call, struct parley_bytes document) {
    static const char folder[] = "/problems/";
    struct json_field type = {.name = "type"};
    if (json_fields_read(document, &type, 1, &call->arena, NULL) != JSON_FIELDS_READ ||
        type.text.length < sizeof folder) {
        return PROBLEM_INTERNAL;
    }
    char *name = parley_arena_copy(&call->arena, type.text);
    return name != NULL ? problem_of_name(name + sizeof folder - 1) : PROBLEM_INTERNAL;
}

/* `advice`: what to do; `retry_after`: seconds, NULL if the answer does not say. */
static void write_refusal(struct mcp_call *call, struct parley_bytes document, const char *advice,
                          const char *retry_after) {
    struct parley_buffer object;
    parley_buffer_init(&object);
    parley_buffer_append(&object, (struct parley_bytes){document.data, document.length - 1});
    parley_buffer_text(&object, ",\"advice\":");
    parley_buffer_json(&object, parley_bytes_of(advice));
    if (retry_after != NULL) {
        parley_buffer_format(&object, ",\"retry_after\":%ld", strtol(retry_after, NULL, 10));
    }
    parley_buffer_char(&object, '}');
    call->answer.has_failed |= object.has_failed;
    tool_result_write(call, parley_buffer_bytes(&object), true);
    parley_buffer_finish(&object);
}

void tool_result_of_answer(struct mcp_call *call, const struct http_inner *inner,
                           const struct http_inner_answer *answer) {
    const struct parley_bytes body = trim(answer->body);
    if (answer->status / 100 == 2 && answer->content_type == NULL) {
        tool_result_write(call, parley_bytes_of(call->tool->nothing), false);
    } else if (!answer->is_whole || body.length == 0) {
        tool_result_of_fault(call, "The answer broke off.");
    } else if (answer->status / 100 == 2) {
        tool_result_write(call, body, false);
    } else {
        write_refusal(call, body, problem_about(problem_in(call, body))->advice,
                      http_inner_header(inner, "Retry-After"));
    }
}

void tool_result_of_problem(struct mcp_call *call, struct parley_bytes problem) {
    write_refusal(call, problem, problem_about(problem_in(call, problem))->advice, NULL);
}

void tool_result_of_fault(struct mcp_call *call, const char *detail) {
    struct parley_buffer problem;
    parley_buffer_init(&problem);
    problem_write(&problem, PROBLEM_INVALID_PARAMETER, NULL, detail, NULL);
    write_refusal(call, parley_buffer_bytes(&problem),
                  "Nothing was done. Correct the arguments, and call the tool again.", NULL);
    parley_buffer_finish(&problem);
}
