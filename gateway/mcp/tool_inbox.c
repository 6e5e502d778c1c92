/* SPDX-License-Identifier: Apache-2.0 */

/* What waits for an agent: the open tasks that are addressed to it, those that it holds, the
 * messages that it has to acknowledge, where there is an index, and what halts it: the halts that
 * it made, and those of the sessions that it names. One request after the other; what a token may
 * not read is left out, and named, unless that is everything. */

#include <parley/index.h>
#include <parley/tasks.h>

#include "tools.h"

enum {
    LIMIT = 20,
    LIMIT_MAX = 100,
    SESSIONS_MAX = 16,
    FORBIDDEN = 403,
    NO_INDEX = 404,
    INDEX_BEHIND = 503,
};

/* What it asks for, in this order; the halts with a request for each session. */
enum part { TASKS, MESSAGES, HALTS, PARTS };

/* Of tool_call.left_out, whose other bits are parts: tasks or messages are not all there. */
#define HAS_MORE (UINT64_C(1) << PARTS)
#define ALL_PARTS (HAS_MORE - 1)

static bool has(const struct parley_protocol *protocol, enum part part) {
    return part == TASKS      ? protocol->tasks != NULL
           : part == MESSAGES ? protocol->index != NULL && protocol->index->acks != NULL
                              : protocol->halts != NULL;
}

static bool has_inbox(const struct parley_protocol *protocol) {
    return has(protocol, TASKS) || has(protocol, MESSAGES) || has(protocol, HALTS);
}

static const struct parley_protocol *find(enum part part) {
    size_t i = 0;
    while (parley_protocols[i] != NULL && !has(parley_protocols[i], part)) {
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

/* The list is this agent's already. */
static void take_message(struct selection *selection, struct parley_bytes item) {
    begin_item(selection->out);
    parley_buffer_append(selection->out, item);
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
    parley_buffer_format(&out->target, "/v1/%s/halts", find(HALTS)->name);
    tool_write_option(&out->target, number > 0 ? "session" : "by",
                      number > 0 ? session : tool_argument(call, "agent")->text);
    return true;
}

static void ask_messages(const struct tool_call *call, struct tool_request *out) {
    out->method = "GET";
    parley_buffer_format(&out->target, "/v1/%s/inbox?unacked=true&limit=%u", find(MESSAGES)->name,
                         tool_count(call, "limit", LIMIT));
    tool_write_option(&out->target, "agent", tool_argument(call, "agent")->text);
}

static const char *ask_inbox(const struct tool_call *call, struct tool_request *out) {
    if (session_at(call, SESSIONS_MAX).data != NULL) {
        return "The argument `sessions` names at most 16.";
    }
    out->method = "GET";
    parley_buffer_format(&out->target, "/v1/%s/tasks?state=requested,claimed&limit=1000",
                         find(TASKS)->name);
    return NULL;
}

/* ---- the answers ---- */

static enum part part_of(const struct tool_call *call) {
    return call->answered_count - 1 < HALTS ? (enum part)(call->answered_count - 1) : HALTS;
}

/* What only the index knows is left out while there is none: tasks and halts do not wait for it. */
static bool has_no_index(const struct tool_call *call, const struct tool_answer *answer) {
    return part_of(call) == MESSAGES &&
           (answer->status == NO_INDEX || answer->status == INDEX_BEHIND);
}

static bool is_fine(const struct tool_call *call, const struct tool_answer *answer) {
    return answer->status == 200 || answer->status == FORBIDDEN || has_no_index(call, answer);
}

/* A list of tasks says so by `more`: those that it leaves out may be this agent's. */
static bool has_next_page(const struct tool_call *call, struct parley_bytes answer) {
    struct json_field fields[] = {{.name = "next"}, {.name = "more"}};
    return json_fields_read(answer, fields, 2, call->arena, NULL) == JSON_FIELDS_READ &&
           (fields[0].kind == PARLEY_STRING ||
            (fields[1].kind == PARLEY_BOOLEAN && fields[1].number != 0));
}

static void begin_part(struct tool_call *call, enum part part, const struct tool_answer *answer) {
    static const char *const names[PARTS] = {"tasks", "messages", "halts"};
    const bool is_first_of_halts = call->answered_count == HALTS + 1;
    if (part != HALTS || is_first_of_halts) {
        parley_buffer_format(&call->gathered, "%c\"%s\":%s", part == TASKS ? '{' : ',', names[part],
                             has_no_index(call, answer) ? "null" : "[");
    }
}

static void take_answer(struct tool_call *call, const struct tool_answer *answer) {
    static void (*const takes[PARTS])(struct selection *,
                                      struct parley_bytes) = {take_task, take_message, take_halt};
    const enum part part = part_of(call);
    struct selection selection = {
        .call = call, .out = &call->gathered, .left = tool_count(call, "limit", LIMIT)};
    begin_part(call, part, answer);
    if (answer->status == FORBIDDEN) {
        call->left_out |= UINT64_C(1) << part;
    } else if (answer->status == 200) {
        each_item(&selection, answer->body, takes[part]);
    }
    if (part != HALTS && answer->status == 200) {
        selection.has_more = selection.has_more || has_next_page(call, answer->body);
    }
    if (part != HALTS && !has_no_index(call, answer)) {
        parley_buffer_char(&call->gathered, ']');
    }
    call->left_out |= selection.has_more ? HAS_MORE : 0;
}

static bool ask_next(const struct tool_call *call, const struct tool_answer *answer,
                     struct tool_request *out) {
    if (part_of(call) == TASKS) {
        ask_messages(call, out);
        return true;
    }
    const bool is_over = part_of(call) == HALTS && answer->status == FORBIDDEN;
    return !is_over && ask_halts(call, call->answered_count - HALTS, out);
}

static enum tool_step then_inbox(struct tool_call *call, const struct tool_answer *answer,
                                 struct tool_request *out) {
    if (!is_fine(call, answer)) {
        return TOOL_ANSWERED;
    }
    take_answer(call, answer);
    if (ask_next(call, answer, out)) {
        return TOOL_ASKS;
    }
    if ((call->left_out & ALL_PARTS) == ALL_PARTS) {
        return TOOL_ANSWERED; /* nothing may be read: the refusal of the last part says so */
    }
    parley_buffer_append(&out->answer, parley_buffer_bytes(&call->gathered));
    parley_buffer_format(&out->answer, "],\"more\":%s,\"left_out\":[",
                         (call->left_out & HAS_MORE) != 0 ? "true" : "false");
    for (unsigned part = 0; part < PARTS; part++) {
        if ((call->left_out >> part & 1) != 0) {
            begin_item(&out->answer);
            parley_buffer_format(&out->answer, "\"%s\"", find((enum part)part)->name);
        }
    }
    parley_buffer_text(&out->answer, "]}");
    return TOOL_MADE;
}

const struct tool tool_inbox = {
    .name = "inbox",
    .title = "What waits for an agent",
    .description =
        "The open tasks that are addressed to an agent, those that it holds, the messages "
        "that it has to acknowledge, and the halts that it made or that stop its "
        "sessions.",
    .parameters =
        (const struct tool_parameter[]){
            {.name = "agent", .description = "The agent", .value = TOOL_TEXT, .is_required = true},
            {.name = "sessions",
             .description = "Its sessions (vlp `session_id`), at most 16",
             .value = TOOL_TEXTS},
            {.name = "limit",
             .description = "How many tasks and how many messages at most (20)",
             .value = TOOL_COUNT,
             .minimum = 1,
             .maximum = LIMIT_MAX},
            {0}},
    .output = "\"tasks\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
              "\"messages\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\"},"
              "\"description\":\"null: this gateway has no index, or is making it\"},"
              "\"more\":{\"type\":\"boolean\"},"
              "\"halts\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
              "\"left_out\":{\"type\":\"array\"},\"detail\":{\"type\":\"string\"}",
    .needs_read = true,
    .is_read_only = true,
    .is_idempotent = true,
    .is_for = has_inbox,
    .ask = ask_inbox,
    .then = then_inbox};
