/* SPDX-License-Identifier: Apache-2.0 */

/* The operations that the index answers. */

#include "operation_parts.h"

#define PROBLEMS_OF_VIEWS                                                                          \
    (PROBLEM_BIT(PROBLEM_NO_INDEX) | PROBLEM_BIT(PROBLEM_INDEX_BEHIND) |                           \
     PROBLEM_BIT(PROBLEM_OVERLOADED) | PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) |                      \
     PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE))

#define ANSWERS_OF_VIEWS(list, item)                                                               \
    ANSWERS({"application/json", list}, {"application/x-ndjson", item},                            \
            {"application/ndjson", item}, {"application/jsonl", item})

#define OF_THE_INDEX                                                                               \
    "With `next`, there may be more, even if there are fewer items than `limit`: ask again with "  \
    "`cursor=`. `since` is the time from which on messages are indexed, and the header "           \
    "Parley-Index says how far. In NDJSON the last line is `{\"next\":…}`."

#define VIEW_THAT(name_, id_, summary_, description_, answer_, answers_, problems_)                \
    {                                                                                              \
        .id = (id_), .tag = "Reading", .summary = (summary_), .description = (description_),       \
        .answer = (answer_), .kind = OPERATION_VIEW, .view = (name_), .has_etag = true,            \
        .answers = (answers_), .problems = PROBLEMS_OF_VIEWS | (problems_)                         \
    }
#define VIEW(name_, id_, summary_, order_, answer_, list_, item_)                                  \
    VIEW_THAT(name_, id_, summary_, order_ " " OF_THE_INDEX, answer_,                              \
              ANSWERS_OF_VIEWS(list_, item_), 0)

const struct operation operation_message_list =
    VIEW("messages", "messages", "Messages by id, thread, sender and the like, from the index",
         "In the order in which they were stored, as events; without their data unless `data` is "
         "true.",
         "A page of messages.", "IndexedMessageList", "IndexedMessageLine");
const struct operation operation_message = {
    .id = "message",
    .tag = "Reading",
    .summary = "One message, by its place",
    .description = "It needs no index. With one, `refers_to` has the messages that it refers to, "
                   "`unresolved` the ids that no message bears, and `referred_by` those that refer "
                   "to it: at most 100 each, without their data.",
    .answer = "Its event with its data.",
    .kind = OPERATION_MESSAGE,
    .has_etag = true,
    .answers = ANSWERS({"application/json", "OneMessage"}),
    .problems = PROBLEM_BIT(PROBLEM_NOT_FOUND) | PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) |
                PROBLEM_BIT(PROBLEM_OVERLOADED) | PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE),
    .id_description = "Its stream and sequence, as a receipt has them."};
const struct operation operation_threads =
    VIEW("threads", "threads", "The threads, and who wrote in them", "In the order of their names.",
         "A page of threads.", "ThreadList", "ThreadLine");
const struct operation operation_senders =
    VIEW("senders", "senders", "Who has sent messages, and in which threads",
         "In the order of their names.", "A page of senders.", "SenderList", "SenderLine");
const struct operation operation_trace =
    VIEW("trace", "trace", "All that an id reaches, over all protocols",
         "By references in both directions, threads and trace ids; at most 1,000 messages, in the "
         "order in which they were stored.",
         "The messages.", "IndexedMessageList", "IndexedMessageLine");

const struct operation operation_chain =
    VIEW("chain", "chain", "The ledger of a message",
         "What supports, answers, corrects or names it, and what does so with these: at most 1,000 "
         "messages and 64 steps. A message precedes what refers to it.",
         "The messages; and the references that lead nowhere.", "ChainList", "ChainLine");

const struct operation operation_sessions =
    VIEW("sessions", "sessions", "The sessions, and what is open in them",
         "In the order of their names, each with who took part, how many messages of each type and "
         "lane it has, the place of the last message that says where it was left, and what waits "
         "for an answer or for support. Whether a session is halted is in the list of halts alone.",
         "A page of sessions.", "SessionList", "SessionLine");

const struct operation operation_contexts =
    VIEW("contexts", "contexts", "How a session was left, or where a sender has left its last one",
         "The last message that says so, with its data and what it says is open; none if there is "
         "none. One of `sender` and `session` is required.",
         "The message.", "ContextList", "ContextLine");

const struct operation operation_evolutions = VIEW(
    "evolutions", "evolutions", "How agents have changed their code, and what is missing",
    "By agent, and in the order in which they were stored: each result with the intents before "
    "it and the reloads and backups after it; and what has no partner.",
    "A page of evolutions.", "EvolutionList", "EvolutionLine");

const struct operation operation_acks =
    VIEW("acks", "acks", "Who must acknowledge which message, and who has",
         "An item for each message that asks for an acknowledgement and each of its recipients, in "
         "the order in which the messages were stored. `unmatched` has the acknowledgements among "
         "them that name no message. A token of an agent sees what that agent asks and is asked.",
         "A page of messages and recipients.", "AckList", "AckLine");

const struct operation operation_inbox = VIEW_THAT(
    "inbox", "inbox", "What was sent to an agent, and what of it the agent has acknowledged",
    "The messages that name the agent, and those to no agent that ask it for an acknowledgement, "
    "in the order in which they were stored. A token of an agent sees that agent's "
    "only. " OF_THE_INDEX HOW_TO_FOLLOW,
    "A page of messages.",
    ANSWERS({"application/json", "InboxList"}, {"application/x-ndjson", "InboxLine"},
            {"application/ndjson", "InboxLine"}, {"application/jsonl", "InboxLine"},
            {"text/event-stream", "Text"}),
    PROBLEMS_OF_FOLLOWING);

const struct operation operation_items =
    VIEW("items", "items", "Who holds which work, and what waits for whom",
         "Claims, handoffs, blockers, questions and critiques, an item for each of those whom one "
         "asks, in the order in which the messages were stored: those that are held or wait, or "
         "with `state=all` the others, too.",
         "A page of items.", "ItemList", "ItemLine");
