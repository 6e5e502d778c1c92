/* SPDX-License-Identifier: Apache-2.0 */

/* The tool that reads what is stored: the events of a stream as a list, and where the next call
 * goes on. What is there is asked for first; a stream is followed only where there is nothing. */

#include <stdio.h>

#include "tools.h"

enum {
    WAIT_MAX_S = 300,
    LIMIT = 20,
    LIMIT_MAX = 100,
    DATA_BYTES_MAX = 4096,  /* of an event's body, which is shortened beyond it … */
    DATA_BYTES_SHOWN = 1024 /* … to its beginning */
};

static const char *ask_stream(const struct tool_call *call, bool follows, struct parley_bytes since,
                              struct tool_request *out) {
    char limit[16];
    out->method = "GET";
    out->cut_after_s = follows ? tool_count(call, "wait", 0) : 0;
    snprintf(limit, sizeof limit, "%u", follows ? 1 : tool_count(call, "limit", LIMIT));
    parley_buffer_format(&out->target, "/v1/%s/stream", call->protocol->name);
    tool_write_option(&out->target, "follow",
                      follows ? PARLEY_BYTES("true") : PARLEY_BYTES("false"));
    tool_write_option(&out->target, "limit", parley_bytes_of(limit));
    tool_write_option(&out->target, "since", since);
    return tool_write_options(call, "filters", &out->target);
}

/* Data NULL: it was not given. */
static struct parley_bytes since_of(const struct tool_call *call) {
    return tool_argument(call, "since")->text;
}

/* A call that waits, and does not say from where, waits for what comes. */
static const char *ask_read(const struct tool_call *call, struct tool_request *out) {
    const bool is_new = since_of(call).data == NULL && tool_count(call, "wait", 0) > 0;
    return ask_stream(call, is_new,
                      is_new                        ? PARLEY_BYTES("now")
                      : since_of(call).data != NULL ? since_of(call)
                                                    : PARLEY_BYTES("1h"),
                      out);
}

/* ---- the list ---- */

struct list {
    const struct tool_call *call;
    struct parley_buffer *out;
    struct parley_bytes resume; /* data NULL: none so far */
    size_t count;
};

/* The event with the beginning of its body as a text, and the address of the whole. */
static void write_short(struct list *list, struct parley_bytes event, const struct json_field *data,
                        struct parley_bytes sequence) {
    const size_t before = (size_t)(data->raw.data - event.data);
    const size_t after = before + data->raw.length;
    parley_buffer_append(list->out, (struct parley_bytes){event.data, before});
    parley_buffer_json(list->out, (struct parley_bytes){data->raw.data, DATA_BYTES_SHOWN});
    parley_buffer_append(list->out,
                         (struct parley_bytes){event.data + after, event.length - after - 1});
    parley_buffer_format(list->out,
                         ",\"shortened\":\"The whole: GET "
                         "/v1/%s/stream?since=%.*s&limit=1&follow=false\"}",
                         list->call->protocol->name, (int)sequence.length, sequence.data);
}

/* What is of the stream itself, and no message, only says where it is. */
static bool is_item(struct parley_bytes type) {
    return !parley_bytes_equal(type, PARLEY_BYTES("parley.open")) &&
           !parley_bytes_equal(type, PARLEY_BYTES("parley.keepalive")) &&
           !parley_bytes_equal(type, PARLEY_BYTES("parley.end"));
}

static void add_event(struct list *list, struct parley_bytes event) {
    enum { TYPE, RESUME, DATA, SEQUENCE, COUNT };
    struct json_field fields[COUNT] = {[TYPE] = {.name = "type"},
                                       [RESUME] = {.name = "resume"},
                                       [DATA] = {.name = "data"},
                                       [SEQUENCE] = {.name = "sequence"}};
    if (json_fields_read(event, fields, COUNT, list->call->arena, NULL) != JSON_FIELDS_READ) {
        return;
    }
    list->resume = fields[RESUME].text.data != NULL ? fields[RESUME].text : list->resume;
    if (!is_item(fields[TYPE].text)) {
        return;
    }
    parley_buffer_text(list->out, list->count++ > 0 ? "," : "");
    if (fields[DATA].raw.length > DATA_BYTES_MAX && fields[SEQUENCE].text.data != NULL) {
        write_short(list, event, &fields[DATA], fields[SEQUENCE].text);
    } else {
        parley_buffer_append(list->out, event);
    }
}

/* {"items":[…],"resume":…}: without an event, and a place to resume from, `since` is what it was.
 * Returns: how many items there are. */
static size_t write_list(const struct tool_call *call, struct parley_bytes lines,
                         struct parley_buffer *out) {
    struct list list = {.call = call, .out = out};
    parley_buffer_text(out, "{\"items\":[");
    while (lines.length > 0) {
        const char *end = memchr(lines.data, '\n', lines.length);
        if (end == NULL) {
            break; /* it was cut */
        }
        const size_t length = (size_t)(end - lines.data);
        if (length > 0) {
            add_event(&list, (struct parley_bytes){lines.data, length});
        }
        lines = (struct parley_bytes){end + 1, lines.length - length - 1};
    }
    parley_buffer_text(out, "],\"resume\":");
    const struct parley_bytes resume = list.resume.data != NULL ? list.resume : since_of(call);
    if (resume.data != NULL) {
        parley_buffer_json(out, resume);
    } else {
        parley_buffer_text(out, "null");
    }
    parley_buffer_char(out, '}');
    return list.count;
}

static enum tool_step then_read(struct tool_call *call, const struct tool_answer *answer,
                                struct tool_request *out) {
    if (answer->status != 200) {
        return TOOL_ANSWERED;
    }
    const bool may_wait =
        call->answered_count == 1 && since_of(call).data != NULL && tool_count(call, "wait", 0) > 0;
    if (write_list(call, answer->body, &out->answer) > 0 || !may_wait) {
        return TOOL_MADE;
    }
    (void)ask_stream(call, true, since_of(call), out); /* was without a fault before */
    return TOOL_ASKS;
}

const struct tool tool_read = {
    .name = "read",
    .title = "Read messages",
    .description =
        "Messages that are stored, oldest first: {\"items\",\"resume\"}. Pass `resume` as "
        "`since` to go on after the last. Without `since`: those of the last hour; with "
        "`wait` those to come.",
    .parameters =
        (const struct tool_parameter[]){
            {.name = "protocol",
             .description = "The protocol",
             .value = TOOL_PROTOCOL,
             .is_required = true},
            {.name = "since",
             .description = "`resume` of the call before, a time, an age (15m, 7d), or all",
             .value = TOOL_TEXT},
            {.name = "limit",
             .description = "How many at most (20)",
             .value = TOOL_COUNT,
             .minimum = 1,
             .maximum = LIMIT_MAX},
            {.name = "wait",
             .description = "Seconds to wait for a message if there is none",
             .value = TOOL_COUNT,
             .maximum = WAIT_MAX_S},
            {.name = "filters",
             .description = "type, sender, receiver, for (to this agent or all), thread, lane, "
                            "priority, domain, agent: lists with commas",
             .value = TOOL_OBJECT},
            {0}},
    .output = "\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
              "\"resume\":{\"type\":[\"string\",\"null\"]},\"detail\":{\"type\":\"string\"}",
    .needs_read = true,
    .is_read_only = true,
    .is_idempotent = true,
    .ask = ask_read,
    .then = then_read};
