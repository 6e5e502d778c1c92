/* SPDX-License-Identifier: Apache-2.0 */

/* The table of views, and their parameters. */

#include "index_messages.h"

#include "follow.h"
#include "index_duties.h"

#define TEXT "{\"type\":\"string\",\"minLength\":1}"
#define TIME "{\"type\":\"string\",\"format\":\"date-time\"}"
#define A_TEXT "a text that is not empty"

#define ROW_ID(does)                                                                               \
    { "id", does, A_TEXT, TEXT }
#define ROW_LIMIT                                                                                  \
    {                                                                                              \
        "limit", "How many items the answer has at most (100).", "an integer from 1 to 1000",      \
            "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}"                                \
    }
#define ROW_CURSOR                                                                                 \
    { "cursor", "The `next` of the page before.", "the `next` of the page before", TEXT }
#define ROW_AFTER                                                                                  \
    {                                                                                              \
        "after",                                                                                   \
            "STREAM:SEQUENCE of a receipt, or a resume token: the answer counts that message, or " \
            "is 503 index-behind.",                                                                \
            "STREAM:SEQUENCE, or a resume token of one stream", TEXT                               \
    }
#define ROW_WAIT                                                                                   \
    {                                                                                              \
        "wait", "For how many seconds to wait for `after` (0).", "a number of seconds, at most 5", \
            "{\"type\":\"number\",\"minimum\":0,\"maximum\":5}"                                    \
    }
#define ROW_DATA                                                                                   \
    {                                                                                              \
        "data", "Whether items have their `data` (false); a page is then at most about 1 MiB.",    \
            "true or false", "{\"type\":\"boolean\"}"                                              \
    }
#define ROW_END                                                                                    \
    { NULL, NULL, NULL, NULL }

static const struct parley_option_help of_messages[] = {
    ROW_ID("Only messages with this id, their own or that of their event."),
    {"thread", "Only messages of this thread.", A_TEXT, TEXT},
    {"sender", "Only messages of this sender.", A_TEXT, TEXT},
    {"receiver", "Only messages that name this receiver.", A_TEXT, TEXT},
    {"type", "Only messages of this type.", A_TEXT, TEXT},
    {"lane", "Only messages in this lane.", A_TEXT, TEXT},
    {"refers_to", "Only messages that refer to this id.", A_TEXT, TEXT},
    {"keyword", "Only messages with this keyword, or about this item.", A_TEXT, TEXT},
    {"q", "Only messages whose text has all these words and \"phrases\"; needs --index-text.",
     "words and \"phrases\"", TEXT},
    {"since", "Only messages that were stored at this time or later.", "an RFC 3339 time", TIME},
    {"until", "Only messages that were stored at this time or earlier.", "an RFC 3339 time", TIME},
    ROW_DATA,
    ROW_LIMIT,
    ROW_CURSOR,
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_threads[] = {
    {"thread", "Only this thread.", A_TEXT, TEXT},
    ROW_LIMIT,
    ROW_CURSOR,
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_senders[] = {
    {"sender", "Only this sender.", A_TEXT, TEXT},
    ROW_LIMIT,
    ROW_CURSOR,
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_trace[] = {
    ROW_ID("The id of a message, or of a thread, from which the trace begins."), ROW_AFTER,
    ROW_WAIT, ROW_END};

static const struct parley_option_help of_chain[] = {
    ROW_ID("The id of the message whose ledger it is."),
    {"session", "Of several messages with the id, only those of this session.", A_TEXT, TEXT},
    {"sender", "Of several messages with the id, only those of this sender.", A_TEXT, TEXT},
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_sessions[] = {
    {"session", "Only this session.", A_TEXT, TEXT},
    ROW_LIMIT,
    ROW_CURSOR,
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_contexts[] = {
    {"sender", "The last of this sender.", A_TEXT, TEXT},
    {"session", "The last of this session; with `sender`, of that sender in it.", A_TEXT, TEXT},
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_evolutions[] = {
    {"agent", "Only those of this agent.", A_TEXT, TEXT},
    ROW_LIMIT,
    ROW_CURSOR,
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

#define ROW_CHOICE(name, does)                                                                     \
    { name, does, "true or false", "{\"type\":\"boolean\"}" }

static const struct parley_option_help of_acks[] = {
    {"thread", "Only messages of this thread.", A_TEXT, TEXT},
    ROW_CHOICE("open", "true: only those that are neither acknowledged nor answered; false: only "
                       "the others."),
    {"overdue", "Only those that are open for longer than this; true: 4h.",
     "true, or a duration of at most 365d, such as 4h",
     "{\"type\":\"string\",\"pattern\":\"^(true|[0-9]+(ms|s|m|h|d)|0)$\"}"},
    ROW_LIMIT,
    ROW_CURSOR,
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_inbox[] = {
    {"agent", "Whose messages; by default the agent to whom the token is bound.", A_TEXT, TEXT},
    ROW_CHOICE("unacked", "true: only messages that the agent must acknowledge and has not; false: "
                          "only the others."),
    FOLLOW_OPTION_HELP,
    ROW_LIMIT,
    ROW_CURSOR,
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_items[] = {
    {"kind", "Only items of these kinds.", "kinds with commas between them, such as claim,handoff",
     "{\"type\":\"string\",\"pattern\":\"^[a-z]+(,[a-z]+)*$\"}"},
    {"state", "Which items: open, which are held or wait; or all (open).", "open or all",
     "{\"enum\":[\"open\",\"all\"]}"},
    {"bead", "Only items about this bead.", A_TEXT, TEXT},
    {"thread", "Only messages of this thread.", A_TEXT, TEXT},
    ROW_LIMIT,
    ROW_CURSOR,
    ROW_AFTER,
    ROW_WAIT,
    ROW_END};

static const struct parley_option_help of_one[] = {ROW_END};

static bool has_ledger(const struct parley_protocol *protocol) {
    return protocol->index != NULL && protocol->index->has_ledger;
}

static bool has_sessions(const struct parley_protocol *protocol) {
    return protocol->index != NULL && protocol->index->sessions != NULL;
}

static bool has_evolutions(const struct parley_protocol *protocol) {
    return protocol->index != NULL && protocol->index->evolutions != NULL;
}

static const char *const id_alone[] = {"id", NULL};
static const char *const sender_or_session[] = {"sender", "session", NULL};
static const char *const agent_alone[] = {"agent", NULL};

static bool has_acks(const struct parley_protocol *protocol) {
    return protocol->index != NULL && protocol->index->acks != NULL;
}

static bool has_items(const struct parley_protocol *protocol) {
    return protocol->index != NULL && protocol->index->items != NULL;
}

const struct index_view index_views[] = {
    {.name = "messages",
     .is_quick = true,
     .options = of_messages,
     .statements = index_messages_statements,
     .write = index_messages_write},
    {.name = "message",
     .is_quick = true,
     .is_of_one = true,
     .options = of_one,
     .statements = index_neighbours_statements,
     .write = index_neighbours_write},
    {.name = "threads",
     .is_quick = true,
     .options = of_threads,
     .statements = index_threads_statements,
     .write = index_threads_write},
    {.name = "senders",
     .is_quick = true,
     .options = of_senders,
     .statements = index_senders_statements,
     .write = index_senders_write},
    {.name = "trace",
     .is_of_all = true,
     .options = of_trace,
     .required = id_alone,
     .statements = index_trace_statements,
     .write = index_trace_write},
    {.name = "chain",
     .is_of = has_ledger,
     .options = of_chain,
     .required = id_alone,
     .statements = index_chain_statements,
     .write = index_chain_write},
    {.name = "sessions",
     .is_of = has_sessions,
     .options = of_sessions,
     .statements = index_sessions_statements,
     .write = index_sessions_write},
    {.name = "contexts",
     .is_of = has_sessions,
     .options = of_contexts,
     .required = sender_or_session,
     .statements = index_contexts_statements,
     .has_data = true,
     .add = index_contexts_add,
     .write = index_contexts_write},
    {.name = "evolutions",
     .is_of = has_evolutions,
     .options = of_evolutions,
     .statements = index_evolutions_statements,
     .write = index_evolutions_write},
    {.name = "acks",
     .is_of = has_acks,
     .options = of_acks,
     .statements = index_duties_statements,
     .write = index_acks_write},
    {.name = "inbox",
     .is_of = has_acks,
     .is_of_agent = true,
     .may_follow = true,
     .options = of_inbox,
     .required = agent_alone,
     .statements = index_duties_statements,
     .write = index_inbox_write},
    {.name = "items",
     .is_of = has_items,
     .options = of_items,
     .statements = index_duties_statements,
     .write = index_items_write},
    {.name = NULL},
};

const struct index_view *index_view_find(const char *name) {
    const struct index_view *view = index_views;
    while (view->name != NULL && strcmp(view->name, name) != 0) {
        view++;
    }
    return view->name != NULL ? view : NULL;
}

bool index_view_is_of(const struct index_view *view, const struct parley_protocol *protocol) {
    return view->is_of == NULL || view->is_of(protocol);
}

enum index_option index_option_of(const char *name) {
    static const char *const names[INDEX_OPTION_COUNT + 1] = {
        [INDEX_ID] = "id",
        [INDEX_THREAD] = "thread",
        [INDEX_SENDER] = "sender",
        [INDEX_RECEIVER] = "receiver",
        [INDEX_TYPE] = "type",
        [INDEX_LANE] = "lane",
        [INDEX_REFERS_TO] = "refers_to",
        [INDEX_KEYWORD] = "keyword",
        [INDEX_SINCE] = "since",
        [INDEX_UNTIL] = "until",
        [INDEX_LIMIT] = "limit",
        [INDEX_CURSOR] = "cursor",
        [INDEX_AFTER] = "after",
        [INDEX_WAIT] = "wait",
        [INDEX_DATA] = "data",
        [INDEX_SESSION] = "session",
        [INDEX_AGENT] = "agent",
        [INDEX_OPEN] = "open",
        [INDEX_UNACKED] = "unacked",
        [INDEX_OVERDUE] = "overdue",
        [INDEX_WORDS] = "q",
        [INDEX_KIND] = "kind",
        [INDEX_STATE] = "state",
        [INDEX_BEAD] = "bead",
        [INDEX_FOLLOW] = "follow",
    };
    enum index_option option = 0;
    while (names[option] != NULL && strcmp(names[option], name) != 0) {
        option++;
    }
    return option;
}
