/* SPDX-License-Identifier: Apache-2.0 */

/* What waits for an agent: the open tasks that are addressed to it, those that it holds, and what
 * halts it: the halts that it made, and those of the sessions that it names. One request after the
 * other; what a token may not read is left out, and named. */

#include <parley/tasks.h>

#include "tools.h"

enum {
    LIMIT = 20,
    LIMIT_MAX = 100,
    SESSIONS_MAX = 16,
    FORBIDDEN = 403,
};

static bool has_inbox(const struct parley_protocol *protocol) {
    return protocol->tasks != NULL || protocol->halts != NULL;
}

static const struct parley_protocol *find(bool is_for_halts) {
    size_t i = 0;
    while (parley_protocols[i] != NULL && (is_for_halts ? parley_protocols[i]->halts == NULL
                                                        : parley_protocols[i]->tasks == NULL)) {
        i++;
    }
    return parley_protocols[i];
}

/* ---- the sessions ---- */

struct choice {
    size_t left;
    struct parley_bytes text; /* data NULL: there are not so many */
};

static bool choose(void *context, const struct parley_value *value) {
    struct choice *choice = context;
    if (choice->left-- == 0) {
        choice->text = value->text;
        return false;
    }
    return true;
}

/* Data NULL: there are not so many. */
static struct parley_bytes session_at(const struct tool_call *call, size_t number) {
    const struct json_field *sessions = tool_argument(call, "sessions");
    struct choice choice = {.left = number};
    if (sessions->kind != PARLEY_ABSENT) {
        (void)json_fields_each_item(sessions->raw, call->arena, choose, &choice);
    }
    return choice.text;
}

/* ---- the items of lists ---- */

static void begin_item(struct parley_buffer *out) {
    if (out->length > 0 && out->data[out->length - 1] != '[') {
        parley_buffer_char(out, ',');
    }
}

struct selection {
    const struct tool_call *call;
    struct parley_buffer *out;
    unsigned left;
    bool has_more;
};

static bool is_name(const struct json_field *field, struct parley_bytes name) {
    return field->kind == PARLEY_STRING && parley_bytes_equal(field->text, name);
}

/* Of all tasks that are open or held, those of this agent. */
static void take_task(struct selection *selection, struct parley_bytes item) {
    const struct parley_bytes agent = tool_argument(selection->call, "agent")->text;
    struct json_field fields[] = {{.name = "to"}, {.name = "holder"}};
    const bool is_read =
        json_fields_read(item, fields, 2, selection->call->arena, NULL) == JSON_FIELDS_READ;
    const bool is_held = fields[1].kind == PARLEY_STRING;
    if (!is_read || !is_name(is_held ? &fields[1] : &fields[0], agent)) {
        return;
    }
    selection->has_more |= selection->left == 0;
    if (selection->left > 0) {
        selection->left--;
        begin_item(selection->out);
        parley_buffer_append(selection->out, item);
    }
}

/* A halt that the agent made may be one of its session, too. */
static void take_halt(struct selection *selection, struct parley_bytes item) {
    const struct parley_buffer *out = selection->out;
    if (memmem(out->data, out->length, item.data, item.length) == NULL) {
        begin_item(selection->out);
        parley_buffer_append(selection->out, item);
    }
}

/* Gives each object of `items`, as it was written, to `take`. */
static void each_item(struct selection *selection, struct parley_bytes answer,
                      void (*take)(struct selection *selection, struct parley_bytes item)) {
    struct json_field items = {.name = "items"};
    struct parley_bytes item;
    size_t at = 0;
    if (json_fields_read(answer, &items, 1, selection->call->arena, NULL) != JSON_FIELDS_READ) {
        return;
    }
    while (json_fields_next_object(items.raw, &at, &item)) {
        take(selection, item);
    }
}

/* ---- the requests ---- */

/* The halts that the agent made, then those of each session.  Returns: false: that was all. */
static bool ask_halts(const struct tool_call *call, size_t number, struct tool_request *out) {
    const struct parley_bytes session =
        number > 0 ? session_at(call, number - 1) : (struct parley_bytes){0};
    if (number > 0 && session.data == NULL) {
        return false;
    }
    out->method = "GET";
    parley_buffer_format(&out->target, "/v1/%s/halts", find(true)->name);
    tool_write_option(&out->target, number > 0 ? "session" : "by",
                      number > 0 ? session : tool_argument(call, "agent")->text);
    return true;
}

static const char *ask_inbox(const struct tool_call *call, struct tool_request *out) {
    if (session_at(call, SESSIONS_MAX).data != NULL) {
        return "The argument `sessions` names at most 16.";
    }
    out->method = "GET";
    parley_buffer_format(&out->target, "/v1/%s/tasks?state=requested,claimed&limit=1000",
                         find(false)->name);
    return NULL;
}

static void leave_out(struct tool_call *call, const struct parley_protocol *protocol) {
    call->left_out |= UINT64_C(1) << (protocol == find(true));
}

static void take_answer(struct tool_call *call, const struct tool_answer *answer) {
    const bool is_first = call->answered_count == 1;
    struct selection selection = {
        .call = call, .out = &call->gathered, .left = tool_count(call, "limit", LIMIT)};
    if (is_first) {
        parley_buffer_text(&call->gathered, "{\"tasks\":[");
    }
    if (answer->status == FORBIDDEN) {
        leave_out(call, find(!is_first));
    } else {
        each_item(&selection, answer->body, is_first ? take_task : take_halt);
    }
    if (is_first) {
        parley_buffer_format(&call->gathered, "],\"more\":%s,\"halts\":[",
                             selection.has_more ? "true" : "false");
    }
}

static enum tool_step then_inbox(struct tool_call *call, const struct tool_answer *answer,
                                 struct tool_request *out) {
    const bool is_fine = answer->status == 200 || answer->status == FORBIDDEN;
    if (!is_fine) {
        return TOOL_ANSWERED;
    }
    take_answer(call, answer);
    if (answer->status == 200 || call->answered_count == 1) {
        if (ask_halts(call, call->answered_count - 1, out)) {
            return TOOL_ASKS;
        }
    }
    parley_buffer_append(&out->answer, parley_buffer_bytes(&call->gathered));
    parley_buffer_text(&out->answer, "],\"left_out\":[");
    for (unsigned i = 0; i < 2; i++) {
        if ((call->left_out >> i & 1) != 0) {
            begin_item(&out->answer);
            parley_buffer_format(&out->answer, "\"%s\"", find(i == 1)->name);
        }
    }
    parley_buffer_text(&out->answer, "]}");
    return TOOL_MADE;
}

const struct tool tool_inbox = {
    .name = "inbox",
    .title = "What waits for an agent",
    .description = "The open tasks that are addressed to an agent, those that it holds, and the "
                   "halts that it made or that stop its sessions.",
    .parameters =
        (const struct tool_parameter[]){
            {.name = "agent", .description = "The agent", .value = TOOL_TEXT, .is_required = true},
            {.name = "sessions",
             .description = "Its sessions (vlp `session_id`), at most 16",
             .value = TOOL_TEXTS},
            {.name = "limit",
             .description = "How many tasks at most (20)",
             .value = TOOL_COUNT,
             .minimum = 1,
             .maximum = LIMIT_MAX},
            {0}},
    .output = "\"tasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
              "\"more\":{\"type\":\"boolean\"},"
              "\"halts\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
              "\"left_out\":{\"type\":\"array\"},\"detail\":{\"type\":\"string\"}",
    .needs_read = true,
    .is_read_only = true,
    .is_idempotent = true,
    .is_for = has_inbox,
    .ask = ask_inbox,
    .then = then_inbox};
