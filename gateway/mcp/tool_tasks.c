/* SPDX-License-Identifier: Apache-2.0 */

/* The tools for tasks that one agent holds, of the protocol that has such. */

#include <parley/tasks.h>

#include "problem.h"
#include "tools.h"

enum { WAIT_MAX_S = 300, LEASE_MIN_S = 60, LEASE_MAX_S = 86400 };

static bool has_tasks(const struct parley_protocol *protocol) {
    return protocol->tasks != NULL;
}

/* The protocol that has them. */
static const struct parley_protocol *protocol_of_tasks(void) {
    size_t i = 0;
    while (parley_protocols[i] != NULL && !has_tasks(parley_protocols[i])) {
        i++;
    }
    return parley_protocols[i];
}

static void write_member(const struct tool_call *call, const char *name, const char *before,
                         struct parley_buffer *out) {
    const struct json_field *field = tool_argument(call, name);
    if (field->kind != PARLEY_ABSENT) {
        parley_buffer_format(out, "%s\"%s\":", before, name);
        parley_buffer_append(out, field->raw);
    }
}

static const char *ask_next_task(const struct tool_call *call, struct tool_request *out) {
    out->method = "POST";
    out->content_type = "application/json";
    out->wait_s = tool_count(call, "wait", 0);
    parley_buffer_format(&out->target, "/v1/%s/tasks/next", protocol_of_tasks()->name);
    write_member(call, "agent", "{", &out->body);
    write_member(call, "domains", ",", &out->body);
    write_member(call, "tasks", ",", &out->body);
    write_member(call, "lease", ",", &out->body);
    parley_buffer_char(&out->body, '}');
    return NULL;
}

const struct tool tool_next_task = {
    .name = "next_task",
    .title = "Take a task",
    .description = "Claims the best open task for an agent: {\"task\",\"claim\",\"deadline\","
                   "\"attempt\",\"lease\"}, or {\"task\":null} if there is none. Do the work and "
                   "report it, before lease.until.",
    .parameters =
        (const struct tool_parameter[]){
            {.name = "agent",
             .description = "Who takes the task",
             .value = TOOL_TEXT,
             .is_required = true},
            {.name = "domains",
             .description = "Take tasks of these domains (the part of a name before its first dot)",
             .value = TOOL_TEXTS},
            {.name = "tasks", .description = "Take tasks of these names", .value = TOOL_TEXTS},
            {.name = "wait",
             .description = "Seconds to wait for a task",
             .value = TOOL_COUNT,
             .maximum = WAIT_MAX_S},
            {.name = "lease",
             .description = "Seconds to hold it without a sign of life",
             .value = TOOL_COUNT,
             .minimum = LEASE_MIN_S,
             .maximum = LEASE_MAX_S},
            {0}},
    .output = "\"task\":{\"type\":[\"object\",\"null\"]},\"claim\":{\"type\":\"object\"},"
              "\"deadline\":{\"type\":[\"string\",\"null\"]},\"attempt\":{\"type\":\"integer\"},"
              "\"lease\":{\"type\":\"object\"},\"detail\":{\"type\":\"string\"}",
    .needs_send = true,
    .needs_read = true,
    .is_for = has_tasks,
    .ask = ask_next_task,
    .nothing = "{\"task\":null}"};

/* ---- report ---- */

/* The first are messages, the others what the holder asks for without one. */
static const char *const kinds[] = {[PARLEY_TASK_PROGRESS] = "progress",
                                    [PARLEY_TASK_RESULT] = "result",
                                    [PARLEY_TASK_FAILED] = "failed",
                                    "extend",
                                    "release",
                                    NULL};

static unsigned kind_of(const struct tool_call *call) {
    const struct parley_bytes kind = tool_argument(call, "kind")->text;
    unsigned number = 0;
    while (!parley_bytes_equal(kind, parley_bytes_of(kinds[number]))) {
        number++;
    }
    return number;
}

static bool is_message(const struct tool_call *call) {
    return kind_of(call) <= PARLEY_TASK_FAILED;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Appends what an object has between its braces, after a comma. */
static void write_members(struct parley_bytes object, struct parley_buffer *out) {
    struct parley_bytes inner = {object.data + 1, object.length - 2};
    while (inner.length > 0 && is_space(inner.data[0])) {
        inner = (struct parley_bytes){inner.data + 1, inner.length - 1};
    }
    if (inner.length > 0) {
        parley_buffer_char(out, ',');
        parley_buffer_append(out, inner);
    }
}

/* Extends or releases. The address says itself which agent holds the task. */
static void ask_change(const struct tool_call *call, struct tool_request *out) {
    const struct json_field *payload = tool_argument(call, "payload");
    out->method = "POST";
    out->content_type = "application/json";
    parley_buffer_format(&out->target, "/v1/%s/tasks/", protocol_of_tasks()->name);
    tool_write_segment(&out->target, tool_argument(call, "task")->text);
    parley_buffer_format(&out->target, "/%s", kinds[kind_of(call)]);
    write_member(call, "agent", "{", &out->body);
    if (payload->kind != PARLEY_ABSENT) {
        write_members(payload->raw, &out->body);
    }
    parley_buffer_char(&out->body, '}');
}

/* A message is sent once it is known which agent holds the task: one that has lost it is told so,
 * and nothing is sent. */
static const char *ask_first(const struct tool_call *call, struct tool_request *out) {
    if (!is_message(call)) {
        ask_change(call, out);
        return NULL;
    }
    if (tool_argument(call, "payload")->kind == PARLEY_ABSENT) {
        return "The argument `payload` of report is missing: progress, result and failed have one.";
    }
    out->method = "GET";
    parley_buffer_format(&out->target, "/v1/%s/tasks/", protocol_of_tasks()->name);
    tool_write_segment(&out->target, tool_argument(call, "task")->text);
    return NULL;
}

static void refuse_stranger(const struct json_field *holder, const struct json_field *claimed_at,
                            struct parley_buffer *out) {
    struct parley_buffer members;
    parley_buffer_init(&members);
    parley_buffer_text(&members, ",\"holder\":");
    parley_buffer_append(&members, holder->raw);
    parley_buffer_text(&members, ",\"claimed_at\":");
    parley_buffer_append(&members, claimed_at->raw);
    problem_write_members(out, problem_of_name("not-holder"),
                          "Another agent holds this task. Nothing was sent.",
                          parley_buffer_bytes(&members));
    out->has_failed |= members.has_failed;
    parley_buffer_finish(&members);
}

static void ask_report(const struct tool_call *call, struct tool_request *out) {
    const struct parley_protocol *protocol = protocol_of_tasks();
    out->method = "POST";
    out->content_type = "application/json";
    parley_buffer_format(&out->target, "/v1/%s/messages?stamp=true", protocol->name);
    protocol->tasks->write_report(
        (enum parley_task_report)kind_of(call), tool_argument(call, "agent")->text,
        tool_argument(call, "task")->text, tool_argument(call, "payload")->raw, &out->body);
}

/* Whatever else is known of the task is said by the receipt of the report. */
static enum tool_step then_report(struct tool_call *call, const struct tool_answer *answer,
                                  struct tool_request *out) {
    struct json_field fields[] = {{.name = "holder"}, {.name = "claimed_at"}};
    if (call->answered_count > 1 || !is_message(call)) {
        return TOOL_ANSWERED;
    }
    if (answer->status == 200 &&
        json_fields_read(answer->body, fields, 2, call->arena, NULL) == JSON_FIELDS_READ &&
        fields[0].kind == PARLEY_STRING &&
        !parley_bytes_equal(fields[0].text, tool_argument(call, "agent")->text)) {
        refuse_stranger(&fields[0], &fields[1], &out->answer);
        return TOOL_REFUSED;
    }
    ask_report(call, out);
    return TOOL_ASKS;
}

const struct tool tool_report = {
    .name = "report",
    .title = "Report on a task",
    .description = "Says how the work on a task goes: progress, its result, or that it failed; or "
                   "holds the task for longer (extend), or gives it back (release). The result is "
                   "the receipt. An agent that does not hold the task is told who does.",
    .parameters =
        (const struct tool_parameter[]){
            {.name = "agent",
             .description = "Who reports",
             .value = TOOL_TEXT,
             .is_required = true},
            {.name = "task",
             .description = "The id of the task: that of its request",
             .value = TOOL_TEXT,
             .is_required = true},
            {.name = "kind",
             .description = "What is reported",
             .value = TOOL_CHOICE,
             .choices = kinds,
             .is_required = true},
            {.name = "payload",
             .description =
                 "As explain shows it for task.progress, task.result, task.failed; of "
                 "extend {\"lease\":seconds}, of release {\"why\",\"after\":seconds}, or "
                 "none",
             .value = TOOL_OBJECT},
            {0}},
    .output = "\"id\":{\"type\":[\"string\",\"null\"]},\"seq\":{\"type\":\"integer\"},"
              "\"duplicate\":{\"type\":\"boolean\"},\"warnings\":{\"type\":\"array\"},"
              "\"until\":{\"type\":\"string\"},\"not_before\":{\"type\":\"string\"},"
              "\"attempt\":{\"type\":\"integer\"},\"holder\":{\"type\":[\"string\",\"null\"]},"
              "\"detail\":{\"type\":\"string\"}",
    .needs_send = true,
    .needs_read = true,
    .is_for = has_tasks,
    .ask = ask_first,
    .then = then_report};
