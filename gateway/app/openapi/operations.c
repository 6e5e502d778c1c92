/* SPDX-License-Identifier: Apache-2.0 */

/* The operations, in the order of the table of addresses. */

#include "operation_parts.h"

#define HTML                                                                                       \
    { "text/html; charset=utf-8", "Text" }

/* Answers to requests that cannot be read, and those that any request may get. */
static const uint64_t of_any =
    PROBLEM_BIT(PROBLEM_INVALID_PARAMETER) | PROBLEM_BIT(PROBLEM_MALFORMED) |
    PROBLEM_BIT(PROBLEM_REQUEST_TIMEOUT) | PROBLEM_BIT(PROBLEM_TOO_LARGE) |
    PROBLEM_BIT(PROBLEM_URI_TOO_LONG) | PROBLEM_BIT(PROBLEM_UNSUPPORTED_MEDIA_TYPE) |
    PROBLEM_BIT(PROBLEM_EXPECTATION_FAILED) | PROBLEM_BIT(PROBLEM_MISDIRECTED_REQUEST) |
    PROBLEM_BIT(PROBLEM_TOO_MANY_CONNECTIONS) | PROBLEM_BIT(PROBLEM_HEAD_TOO_LARGE) |
    PROBLEM_BIT(PROBLEM_INTERNAL) | PROBLEM_BIT(PROBLEM_DRAINING) |
    PROBLEM_BIT(PROBLEM_VERSION_NOT_SUPPORTED);

static const uint64_t of_guarded =
    PROBLEM_BIT(PROBLEM_UNAUTHENTICATED) | PROBLEM_BIT(PROBLEM_FORBIDDEN) |
    PROBLEM_BIT(PROBLEM_CROSS_ORIGIN) | PROBLEM_BIT(PROBLEM_RATE_LIMITED);

/* Those by which protocols refuse messages because of earlier ones. */
#define OF_PROTOCOLS (UINT64_MAX << PROBLEM_COUNT)

uint64_t operation_problems(const struct operation *operation, enum guard_need need) {
    const bool is_decided =
        operation->kind == OPERATION_SEND || operation->kind == OPERATION_CHANGE_TASK;
    return operation->problems | of_any | (is_decided ? OF_PROTOCOLS : 0) |
           (need != GUARD_OPEN ? of_guarded : 0);
}

const struct operation operation_index = {.id = "index",
                                          .tag = "Describing",
                                          .summary = "The console, a page for people",
                                          .is_page = true,
                                          .answers = ANSWERS(HTML),
                                          .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE)};

const struct operation operation_script = {.id = "script",
                                           .tag = "Describing",
                                           .summary = "A script of the console",
                                           .is_page = true,
                                           .answers =
                                               ANSWERS({"text/javascript; charset=utf-8", "Text"}),
                                           .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE)};

const struct operation operation_style = {.id = "style",
                                          .tag = "Describing",
                                          .summary = "The style of all pages",
                                          .is_page = true,
                                          .answers = ANSWERS({"text/css; charset=utf-8", "Text"}),
                                          .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE)};

const struct operation operation_console_file = {
    .id = "consoleFile",
    .tag = "Describing",
    .summary = "A file of the console",
    .is_page = true,
    .answers = ANSWERS({"text/javascript; charset=utf-8", "Text"},
                       {"text/css; charset=utf-8", "Text"}, {"image/svg+xml", "Text"}),
    .problems = PROBLEM_BIT(PROBLEM_NOT_FOUND),
    .name_description = "Its name.",
    .name_example = "main.js"};

/* ---- sending ---- */

#define LINES_OF_RESULTS                                                                           \
    {"application/x-ndjson", "ResultLine"}, {"application/ndjson", "ResultLine"}, {                \
        "application/jsonl", "ResultLine"                                                          \
    }

#define SCHEMAS_OF_RESULTS                                                                         \
    "\"anyOf\":[{\"$ref\":\"#/components/schemas/Receipt\"},"                                      \
    "{\"$ref\":\"#/components/schemas/ResultDocument\"}"

/* To a message whose sender waits for the reply. */
#define SCHEMA_OF_REPLY                                                                            \
    "{\"type\":\"object\",\"required\":[\"receipt\",\"reply\"],\"properties\":{"                   \
    "\"receipt\":{\"$ref\":\"#/components/schemas/Receipt\"},"                                     \
    "\"reply\":{\"anyOf\":[{\"$ref\":\"#/components/schemas/" SCHEMA_OF_EVENT "\"},"               \
    "{\"$ref\":\"#/components/schemas/ReplyInDialect\"}]}}}"

const struct operation operation_messages = {
    .id = "send",
    .tag = "Sending",
    .summary = "Check messages, forward them to NATS JetStream, and answer once they are stored",
    .description =
        "One message is answered by its receipt, in JSON. Many (an array, NDJSON, frames) are "
        "answered with 200 and one result per message, in the order sent, then a summary, in "
        "NDJSON; `Accept` can ask for the other form. Send it again after 429, 503 and 504, with "
        "the same `Idempotency-Key`: what was stored already is not stored twice.",
    .kind = OPERATION_SEND,
    .answer = "The receipt of one message, or the results of many.",
    .answers = ANSWERS({"application/json", "{" SCHEMAS_OF_RESULTS "]}"}, LINES_OF_RESULTS),
    .awaited =
        "{" SCHEMAS_OF_RESULTS "," SCHEMA_OF_REPLY ",{\"$ref\":\"#/components/schemas/Expired\"}]}",
    .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE) | PROBLEM_BIT(PROBLEM_ID_REUSED) |
                PROBLEM_BIT(PROBLEM_HALTED) | PROBLEM_BIT(PROBLEM_INVALID_MESSAGE) |
                PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) | PROBLEM_BIT(PROBLEM_OVERLOADED) |
                PROBLEM_BIT(PROBLEM_BUS_TIMEOUT)};

#define SCHEMA_OF_VERDICT_LINE                                                                     \
    "{\"anyOf\":[{\"$ref\":\"#/components/schemas/VerdictLine\"},"                                 \
    "{\"$ref\":\"#/components/schemas/{Message}\"}]}"

const struct operation operation_validate = {
    .id = "validate",
    .tag = "Sending",
    .summary = "Check messages, and forward nothing",
    .description =
        "One message is answered by its verdict, in JSON, with 200 also where it is invalid. Many "
        "are answered by one verdict per message, then a summary; with `emit=messages` by the "
        "valid messages alone.",
    .kind = OPERATION_VALIDATE,
    .answer = "The verdict on one message, or those on many.",
    .answers = ANSWERS({"application/json",
                        "{\"anyOf\":[{\"$ref\":\"#/components/schemas/Verdict\"},"
                        "{\"$ref\":\"#/components/schemas/VerdictDocument\"},{\"type\":\"array\","
                        "\"items\":{\"$ref\":\"#/components/schemas/{Message}\"}}]}"},
                       {"application/x-ndjson", SCHEMA_OF_VERDICT_LINE},
                       {"application/ndjson", SCHEMA_OF_VERDICT_LINE},
                       {"application/jsonl", SCHEMA_OF_VERDICT_LINE}),
    .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE) | PROBLEM_BIT(PROBLEM_OVERLOADED)};

/* Its answers are the encodings of the protocol: openapi.c. */
const struct operation operation_convert = {
    .id = "convert",
    .tag = "Sending",
    .summary = "Check messages, and return them in another encoding of their protocol",
    .description = "All or nothing: one invalid message refuses the whole request.",
    .answer = "The messages in the other encoding.",
    .kind = OPERATION_CONVERT,
    .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE) | PROBLEM_BIT(PROBLEM_INVALID_MESSAGE) |
                PROBLEM_BIT(PROBLEM_OVERLOADED)};

/* ---- reading ---- */

#define PROBLEMS_OF_STREAMS                                                                        \
    (PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE) | PROBLEM_BIT(PROBLEM_TOO_MANY_STREAMS) |                 \
     PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) | PROBLEM_BIT(PROBLEM_OVERLOADED))

#define EVENTS_OR_MESSAGES                                                                         \
    {"application/x-ndjson", "{\"anyOf\":[{\"$ref\":\"#/components/schemas/{Event}\"},"            \
                             "{\"$ref\":\"#/components/schemas/{Message}\"}]}"},                   \
    {                                                                                              \
        "text/event-stream", "Text"                                                                \
    }

#define THE_EVENTS "The events, one per line, as they come."

#define HOW_TO_READ                                                                                \
    "One event (CloudEvents 1.0) per line; with `Accept: text/event-stream`, server-sent events. " \
    "Without `follow=false` the response does not end with the last stored message, and "          \
    "`parley.keepalive` comes every 15 s in which nothing else does. To continue after a break: "  \
    "`since=` and the `resume` of the last event; no event is lost or repeated."

const struct operation operation_stream = {.id = "read",
                                           .tag = "Reading",
                                           .summary = "Messages as they are stored, as events",
                                           .description = HOW_TO_READ,
                                           .answer = THE_EVENTS,
                                           .kind = OPERATION_READ,
                                           .answers = ANSWERS(EVENTS_OR_MESSAGES),
                                           .problems = PROBLEMS_OF_STREAMS};

const struct operation operation_stream_of_all = {
    .id = "readAll",
    .tag = "Reading",
    .summary = "Messages of all protocols as they are stored, as events",
    .description = HOW_TO_READ " A token sees the protocols that it may read; the header "
                               "Parley-Left-Out names the others.",
    .answer = THE_EVENTS,
    .kind = OPERATION_READ,
    .answers = ANSWERS(EVENTS_OR_MESSAGES),
    .problems = PROBLEMS_OF_STREAMS};

#define PROBLEMS_OF_AGENTS                                                                         \
    (PROBLEM_BIT(PROBLEM_NOT_FOUND) | PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) |                       \
     PROBLEM_BIT(PROBLEM_OVERLOADED) | PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE))

const struct operation operation_agents = {
    .id = "agents",
    .tag = "Reading",
    .summary = "Which agents are alive, and what their last messages say",
    .description = "In the order of their names. With `next`, there may be more: ask again with "
                   "`cursor=`." HOW_TO_FOLLOW,
    .answer = "A page of agents.",
    .kind = OPERATION_AGENTS,
    .answers = ANSWERS({"application/json", "AgentList"}, FOLLOWED("FollowedAgents")),
    .problems = PROBLEMS_OF_AGENTS | PROBLEMS_OF_FOLLOWING};

const struct operation operation_agent = {.id = "agent",
                                          .tag = "Reading",
                                          .summary = "One agent",
                                          .kind = OPERATION_AGENT,
                                          .answers = ANSWERS({"application/json", "Agent"}),
                                          .problems = PROBLEMS_OF_AGENTS,
                                          .name_description = "The agent's name.",
                                          .name_example = "galahad"};

#define PROBLEMS_OF_CHECKPOINTS PROBLEMS_OF_AGENTS
#define PROBLEMS_OF_CHECKPOINT (PROBLEMS_OF_CHECKPOINTS | PROBLEM_BIT(PROBLEM_GONE))

const struct operation operation_checkpoints = {
    .id = "checkpoints",
    .tag = "Reading",
    .summary = "The checkpoints of an agent, the newest first",
    .description = "With `next`, there are older ones: ask again with `cursor=`.",
    .kind = OPERATION_CHECKPOINTS,
    .answers = ANSWERS({"application/json", "CheckpointList"}),
    .problems = PROBLEMS_OF_CHECKPOINTS,
    .name_description = "The agent's name.",
    .name_example = "galahad"};

const struct operation operation_checkpoint = {
    .id = "checkpoint",
    .tag = "Reading",
    .summary = "One checkpoint, whole",
    .description = "The message as it was sent, with its data, however large it is. JSON is sent "
                   "as it is read, in chunks; the answer breaks off where the data is not what "
                   "its message says. Another encoding is put together first, within "
                   "`--gather-max`.",
    .kind = OPERATION_CHECKPOINT,
    .problems = PROBLEMS_OF_CHECKPOINT,
    .name_description = "The agent's name.",
    .name_example = "galahad",
    .id_description = "The checkpoint's id, as the list has it.",
    .id_example = "28fd7316-e442-48d5-a6f8-79c7984a4924"};

const struct operation operation_restore = {
    .id = "restore",
    .tag = "Reading",
    .summary = "What a crashed agent goes on from: its last checkpoint and the log after it",
    .description = "A message to the agent, composed of its last checkpoint, or of the one that "
                   "`checkpoint` names, and of the entries of its write-ahead log that this does "
                   "not have. Some that it has may be among them: apply them by `sequence`.",
    .kind = OPERATION_RESTORE,
    .problems = PROBLEMS_OF_CHECKPOINT,
    .name_description = "The agent's name.",
    .name_example = "galahad"};

#define PROBLEMS_OF_ARTIFACT                                                                       \
    (PROBLEM_BIT(PROBLEM_NOT_FOUND) | PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) |                       \
     PROBLEM_BIT(PROBLEM_OVERLOADED) | PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE))

const struct operation operation_artifact = {
    .id = "artifact",
    .tag = "Reading",
    .summary = "The document that the deltas of a thread make, or what has changed in it",
    .description = "Folded from the stream for this request, up to 10,000 messages or 64 MiB of "
                   "the thread; `complete` says whether that was all. With `diff` the answer is "
                   "what has changed since that message.",
    .answer = "The artifact, or with `diff` its changes.",
    .kind = OPERATION_ARTIFACT,
    .answers = ANSWERS({"application/json", "Artifact"}, {"text/markdown; charset=utf-8", "Text"}),
    .problems = PROBLEMS_OF_ARTIFACT,
    .name_description = "The thread's id.",
    .name_example = "RS-20251230-cell-fate"};

const struct operation operation_compiled = {
    .id = "compiledArtifact",
    .tag = "Reading",
    .summary = "The artifact of a thread as the body of a COMPILED message",
    .description = "Its version is the one after that of the newest COMPILED message. It keeps all "
                   "rules.",
    .kind = OPERATION_COMPILED,
    .answers = ANSWERS({"text/markdown; charset=utf-8", "Text"}),
    .problems = PROBLEMS_OF_ARTIFACT,
    .name_description = "The thread's id.",
    .name_example = "RS-20251230-cell-fate"};

#define PROBLEMS_OF_TASKS                                                                          \
    (PROBLEM_BIT(PROBLEM_NOT_FOUND) | PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) |                       \
     PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE))

const struct operation operation_tasks = {
    .id = "tasks",
    .tag = "Reading",
    .summary = "The tasks that are known, and who holds them",
    .description = "The newest first, from the memory of this server, which follows the bucket in "
                   "NATS: what was just stored through another server may be missing for a moment. "
                   "At most 100,000 are kept." HOW_TO_FOLLOW,
    .kind = OPERATION_TASKS,
    .answers = ANSWERS({"application/json", "TaskList"}, FOLLOWED("FollowedTasks")),
    .problems = PROBLEMS_OF_TASKS | PROBLEMS_OF_FOLLOWING | PROBLEM_BIT(PROBLEM_OVERLOADED)};

#define CLAIMED                                                                                    \
    "{\"allOf\":[{\"$ref\":\"#/components/schemas/ClaimedTask\"},{\"type\":\"object\","            \
    "\"properties\":{\"task\":{\"$ref\":\"#/components/schemas/{Message}\"}}}]}"
const struct operation operation_next_task = {
    .id = "nextTask",
    .tag = "Sending",
    .summary = "The best open task for an agent, claimed in its name",
    .description =
        "The most urgent first, then the oldest, addressed to the agent or to nobody. 204 where "
        "there is none; with `Prefer: wait=30` (at most 300) the server waits for one that long. "
        "Of several agents that ask, each gets another task. With an `Idempotency-Key` the same "
        "request gets the same task again for ten minutes, so that a lost answer loses no task.",
    .kind = OPERATION_NEXT_TASK,
    .body = "TaskWish",
    .may_be_empty = true,
    .answer = "The task, and the receipt of its claim; with `max` a list of such.",
    .answers = ANSWERS({"application/json",
                        "{\"anyOf\":[" CLAIMED ",{\"type\":\"object\",\"required\":[\"items\"],"
                        "\"properties\":{\"items\":{\"description\":\"With `max`.\",\"type\":"
                        "\"array\",\"minItems\":1,\"items\":" CLAIMED "}}}]}"}),
    .problems = PROBLEMS_OF_TASKS | PROBLEM_BIT(PROBLEM_WORK_QUEUE) |
                PROBLEM_BIT(PROBLEM_INVALID_MESSAGE) | PROBLEM_BIT(PROBLEM_OVERLOADED) |
                PROBLEM_BIT(PROBLEM_BUS_TIMEOUT)};

const struct operation operation_task = {
    .id = "task",
    .tag = "Reading",
    .summary = "One task: who asked for it, who holds it, how it ended",
    .kind = OPERATION_TASK,
    .answers = ANSWERS({"application/json", "Task"}),
    .problems = PROBLEMS_OF_TASKS,
    .name_description = "The id of the task: that of its request.",
    .name_example = "650e8400-e29b-41d4-a716-446655440000"};

const struct operation operation_mcp = {
    .id = "mcp",
    .tag = "Sending",
    .summary = "The Model Context Protocol, for agents that have a client of it",
    .description =
        "One JSON-RPC request or notification. Revisions 2026-07-28, 2025-11-25 and 2025-06-18; "
        "without sessions, so any gateway answers any request. `tools/list` says which tools there "
        "are for the token. What a tool refuses is a result with `isError`; what takes a while is "
        "answered as server-sent events where the client accepts them, and closing them cancels "
        "it.",
    .kind = OPERATION_MCP,
    .body = "JsonRpcMessage",
    .answer = "The response, or, as server-sent events, notifications and then the response.",
    .answers = ANSWERS({"application/json", "JsonRpcResponse"}, {"text/event-stream", "Text"}),
    .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE) | PROBLEM_BIT(PROBLEM_NOT_FOUND) |
                PROBLEM_BIT(PROBLEM_OVERLOADED)};

#define PROBLEMS_OF_CHANGES                                                                        \
    (PROBLEMS_OF_TASKS | PROBLEM_BIT(PROBLEM_INVALID_MESSAGE) | PROBLEM_BIT(PROBLEM_OVERLOADED))

const struct operation operation_extend_task = {
    .id = "extendTask",
    .tag = "Sending",
    .summary = "The agent that holds a task holds it for longer",
    .description = "With `lease`, until so many seconds from now; without it, for as long as a "
                   "claim (`--task-lease`), if that is later than before. 409 says that the agent "
                   "does not hold the task any more, or that the task is over: stop working on it.",
    .kind = OPERATION_CHANGE_TASK,
    .answer = "Until when the agent holds the task.",
    .body = "TaskExtension",
    .answers = ANSWERS({"application/json", "TaskTurn"}),
    .problems = PROBLEMS_OF_CHANGES,
    .name_description = "The id of the task: that of its request.",
    .name_example = "650e8400-e29b-41d4-a716-446655440000"};

const struct operation operation_release_task = {
    .id = "releaseTask",
    .tag = "Sending",
    .summary = "The agent that holds a task gives it back",
    .description = "Another agent can claim it, at once or `after` so many seconds. The attempt "
                   "counts (`--task-attempts`).",
    .kind = OPERATION_CHANGE_TASK,
    .answer = "From when on the task may be claimed.",
    .body = "TaskRelease",
    .answers = ANSWERS({"application/json", "TaskTurn"}),
    .problems = PROBLEMS_OF_CHANGES,
    .name_description = "The id of the task: that of its request.",
    .name_example = "650e8400-e29b-41d4-a716-446655440000"};

const struct operation operation_cancel_task = {
    .id = "cancelTask",
    .tag = "Sending",
    .summary = "The agent that requested a task ends it",
    .description = "Publishes the requester's task.failed: error `internal_error`, not retryable, "
                   "`to` the agent that holds the task. Also for the scope `admin`; else 403. 409 "
                   "`task-over` if the task has ended, or has expired.",
    .kind = OPERATION_CHANGE_TASK,
    .answer = "The receipt of the task.failed.",
    .body = "TaskCancellation",
    .answers = ANSWERS({"application/json", "Receipt"}),
    .problems = PROBLEMS_OF_CHANGES | PROBLEM_BIT(PROBLEM_ID_REUSED),
    .name_description = "The id of the task: that of its request.",
    .name_example = "650e8400-e29b-41d4-a716-446655440000"};

const struct operation operation_retry_task = {
    .id = "retryTask",
    .tag = "Sending",
    .summary = "A task that has failed, or has expired, is requested again",
    .description = "Publishes a task.request with a new id, the same `payload`, `priority`, `ttl` "
                   "and `to`, and this task as its `correlationId`; `Location` is the new task. "
                   "Sent again it is the same retry. For the agent that requested the task, or the "
                   "scope `admin`; else 403. 409 `task-open` while the task is not over.",
    .kind = OPERATION_CHANGE_TASK,
    .answer = "The receipt of the task.request.",
    .body = "TaskRetry",
    .answers = ANSWERS({"application/json", "Receipt"}),
    .problems = PROBLEMS_OF_CHANGES | PROBLEM_BIT(PROBLEM_ID_REUSED) | PROBLEM_BIT(PROBLEM_GONE),
    .name_description = "The id of the task: that of its request.",
    .name_example = "650e8400-e29b-41d4-a716-446655440000"};

#define HOW_TO_CHOOSE                                                                              \
    "At most 500 a request, by `ids` or by a filter, the oldest first; a filter with nothing but " \
    "`agent` needs `all`. For an agent without the scope `admin` a filter chooses what that "      \
    "agent "                                                                                       \
    "requested. Each task is decided on as if it were alone, and has a line, with the `problem` "  \
    "of "                                                                                          \
    "what could not be done; the last line counts. `left` are those that were not tried: ask "     \
    "again."

const struct operation operation_cancel_tasks = {
    .id = "cancelTasks",
    .tag = "Sending",
    .summary = "Many tasks are ended by the agent that requested them",
    .description = "Without `state` those that are requested or claimed. " HOW_TO_CHOOSE,
    .kind = OPERATION_CHANGE_TASK,
    .answer = "A line for each task, and one that counts.",
    .body = "TaskChoice",
    .answers = ANSWERS({"application/x-ndjson", "TaskOutcome"}),
    .problems = PROBLEMS_OF_CHANGES};

const struct operation operation_retry_tasks = {
    .id = "retryTasks",
    .tag = "Sending",
    .summary = "Many tasks that have failed, or have expired, are requested again",
    .description = "Without `state` those that have failed or expired. " HOW_TO_CHOOSE,
    .kind = OPERATION_CHANGE_TASK,
    .answer = "A line for each task, and one that counts.",
    .body = "TaskChoice",
    .answers = ANSWERS({"application/x-ndjson", "TaskOutcome"}),
    .problems = PROBLEMS_OF_CHANGES};

const struct operation operation_rejected = {
    .id = "readRejected",
    .tag = "Reading",
    .summary = "Messages that were refused as invalid, as events",
    .description = "What a server with `--quarantine` keeps. " HOW_TO_READ,
    .answer = THE_EVENTS,
    .kind = OPERATION_READ_REJECTED,
    .answers = ANSWERS({"application/x-ndjson",
                        "{\"anyOf\":[{\"$ref\":\"#/components/schemas/RejectedEvent\"},"
                        "{\"$ref\":\"#/components/schemas/ControlEvent\"},{\"type\":\"object\"}]}"},
                       {"text/event-stream", "Text"}),
    .problems = PROBLEMS_OF_STREAMS};

/* ---- halts ---- */

#define PROBLEMS_OF_HALTS                                                                          \
    (PROBLEM_BIT(PROBLEM_INVALID_PARAMETER) | PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE))

const struct operation operation_halts = {
    .id = "listHalts",
    .tag = "Reading",
    .summary = "The conversations that are halted",
    .description =
        "At most 1,000 halts that are not released, or the last 100 that were." HOW_TO_FOLLOW,
    .kind = OPERATION_HALTS,
    .answers = ANSWERS({"application/json", "Halts"}, FOLLOWED("FollowedHalts")),
    .problems = PROBLEMS_OF_HALTS | PROBLEMS_OF_FOLLOWING | PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE)};

const struct operation operation_release = {
    .id = "releaseHalts",
    .tag = "Sending",
    .summary = "Releases all halts of one conversation, of one sender, or all, and tells readers",
    .answer = "How many were released, and the notice that was published.",
    .kind = OPERATION_RELEASE,
    .answers = ANSWERS({"application/json", "Release"}),
    .problems = PROBLEMS_OF_HALTS};

/* ---- reviews ---- */

const struct operation operation_reviews = {
    .id = "listReviews",
    .tag = "Reading",
    .summary = "The messages that wait for people, the oldest first",
    .description = "With `next`, there may be more: ask again with `cursor=`.",
    .kind = OPERATION_REVIEWS,
    .answers =
        ANSWERS({"application/json",
                 "{\"allOf\":[{\"$ref\":\"#/components/schemas/ReviewList\"},{\"type\":\"object\","
                 "\"properties\":{\"items\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
                 "\"properties\":{\"event\":{\"$ref\":\"#/components/schemas/" SCHEMA_OF_EVENT
                 "\"}}}}}}]}"}),
    .problems = PROBLEM_BIT(PROBLEM_NOT_FOUND) | PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE) |
                PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) | PROBLEM_BIT(PROBLEM_OVERLOADED)};

const struct operation operation_review = {
    .id = "review",
    .tag = "Sending",
    .summary = "Decides on a message that waits for people, once, and tells readers",
    .description = "Of all decisions on one message the first one counts, over all servers. The "
                   "same one, sent again, is a duplicate; another one is refused.",
    .kind = OPERATION_REVIEW,
    .body = "Decision",
    .answer = "The decision, and where the notice is stored that announces it.",
    .answers = ANSWERS({"application/json", "Review"}),
    .problems = PROBLEM_BIT(PROBLEM_NOT_FOUND) | PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE) |
                PROBLEM_BIT(PROBLEM_ALREADY_REVIEWED) | PROBLEM_BIT(PROBLEM_HALTED) |
                PROBLEM_BIT(PROBLEM_INVALID_MESSAGE) | PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE) |
                PROBLEM_BIT(PROBLEM_OVERLOADED) | PROBLEM_BIT(PROBLEM_BUS_TIMEOUT),
    .id_description =
        "The message: its stream and sequence, as the list and its receipt have them.",
    .id_example = "VLP:42"};

/* ---- describing ---- */

#define DESCRIBES(id_, summary_, ...)                                                              \
    {                                                                                              \
        .id = (id_), .tag = "Describing", .summary = (summary_), .is_page = true,                  \
        .answers = ANSWERS(__VA_ARGS__), .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE)           \
    }

const struct operation operation_protocols =
    DESCRIBES("protocols", "All protocols", {"application/json", "ProtocolList"});
const struct operation operation_protocol =
    DESCRIBES("protocol", "One protocol: its types, lanes, encodings, stream and subjects",
              {"application/json", "Protocol"});
const struct operation operation_schema =
    DESCRIBES("schema", "The protocol's messages as a JSON Schema (2020-12)",
              {"application/schema+json", "JsonSchema"}, {"application/json", "JsonSchema"});
const struct operation operation_rules =
    DESCRIBES("rules", "The protocol's rules", {"application/json", "RuleList"},
              {"text/markdown; charset=utf-8", "Text"});
const struct operation operation_examples =
    DESCRIBES("examples", "Valid messages to start from", {"application/json", "ExampleList"});
const struct operation operation_openapi =
    DESCRIBES("openapi", "This document", {"application/json", "OpenApi"});

const struct operation operation_asyncapi = DESCRIBES(
    "asyncapi", "The subjects of NATS, the streams, and the messages on them (AsyncAPI 3.0)",
    {"application/json", "AsyncApi"});
const struct operation operation_guide =
    DESCRIBES("guide", "How to use this server, for agents", {"text/plain; charset=utf-8", "Text"},
              {"text/markdown; charset=utf-8", "Text"});

#define DESCRIBES_ONE(id_, summary_, schema_, name_description_, name_example_)                    \
    {                                                                                              \
        .id = (id_), .tag = "Describing", .summary = (summary_), .is_page = true,                  \
        .answers = ANSWERS({"application/json", schema_}, HTML),                                   \
        .problems = PROBLEM_BIT(PROBLEM_NOT_ACCEPTABLE) | PROBLEM_BIT(PROBLEM_NOT_FOUND),          \
        .name_description = (name_description_), .name_example = (name_example_)                   \
    }

const struct operation operation_problem_list =
    DESCRIBES("problems", "All problem types", {"application/json", "ProblemList"}, HTML);
const struct operation operation_problem =
    DESCRIBES_ONE("problem", "One problem type: what happened, and what to do", "ProblemPage",
                  "The problem, as its `type` ends.", "invalid-message");
const struct operation operation_rule_list =
    DESCRIBES("allRules", "All rules, of all protocols", {"application/json", "RuleList"}, HTML);
const struct operation operation_rule =
    DESCRIBES_ONE("rule", "One rule: what must hold, and how to fix what breaks it", "RulePage",
                  "The id of the rule, as violations name it.", "VLP-012");

const struct operation operation_whoami = {.id = "whoami",
                                           .tag = "State",
                                           .summary = "What the credentials of this request allow",
                                           .answer = "Who it is, and its scopes.",
                                           .answers = ANSWERS({"application/json", "Principal"})};

const struct operation operation_resource = {
    .id = "resource",
    .tag = "State",
    .summary = "Who issues tokens for this server (RFC 9728)",
    .description = "Only with `--jwks`, and where `--jwt-audience` is a URL.",
    .answer = "The resource, and its authorization server.",
    .answers = ANSWERS({"application/json", "ProtectedResource"}),
    .problems = PROBLEM_BIT(PROBLEM_NOT_FOUND)};

const struct operation operation_livez = {
    .id = "livez",
    .tag = "State",
    .summary = "Whether the process runs",
    .answer = "It runs.",
    .answers = ANSWERS({"text/plain", "Text"}, {"application/json", "Alive"})};

const struct operation operation_readyz = {
    .id = "readyz",
    .tag = "State",
    .summary = "Whether messages can be stored",
    .answer = "They can.",
    .answers = ANSWERS({"text/plain", "Text"}, {"application/json", "Ready"}),
    .problems = PROBLEM_BIT(PROBLEM_BUS_UNAVAILABLE)};

const struct operation operation_metrics = {
    .id = "metrics",
    .tag = "State",
    .summary = "Figures for Prometheus",
    .answers = ANSWERS({"text/plain", "Text"}, {"application/openmetrics-text", "Text"})};
