/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Describes an address for machines: each row of the table of addresses (server/routes.c) names one
 * of these. */

#include <stdint.h>

#include "guard.h"
#include "problem.h"

/* Which query options an address takes, and which body. */
enum operation_kind {
    OPERATION_PLAIN, /* none */
    OPERATION_SEND,
    OPERATION_VALIDATE,
    OPERATION_CONVERT,
    OPERATION_READ,
    OPERATION_READ_REJECTED,
    OPERATION_AGENTS, /* only of protocols that have agents */
    OPERATION_AGENT,
    OPERATION_CHECKPOINTS, /* only of protocols that leave some */
    OPERATION_CHECKPOINT,
    OPERATION_RESTORE,
    OPERATION_ARTIFACT, /* only of protocols whose threads make one */
    OPERATION_COMPILED,
    OPERATION_HALTS,
    OPERATION_RELEASE,
    OPERATION_REVIEWS,
    OPERATION_REVIEW, /* only of protocols that have reviews */
    OPERATION_TASKS,  /* only of protocols that have work */
    OPERATION_TASK,
    OPERATION_NEXT_TASK,
    OPERATION_MCP,
    OPERATION_CHANGE_TASK,
    OPERATION_MESSAGE, /* by its place: {id} is of a stream of the protocol */
    OPERATION_VIEW,    /* of the index: its parameters are the view's */
};

/* The placeholders in `schema` for the protocol's own: its messages, its events. */
#define SCHEMA_OF_MESSAGE "{Message}"
#define SCHEMA_OF_EVENT "{Event}"

/* One media type in which an address answers 200. */
struct operation_answer {
    const char *media_type;
    const char *schema; /* its name among the schemas; of application/x-ndjson that of a line, or
                           JSON Schema */
};

#define PROBLEM_BIT(problem) (UINT64_C(1) << (problem))

struct operation {
    const char *id;  /* operationId; with {protocol} in the path the protocol's name follows */
    const char *tag; /* see openapi.c */
    const char *summary;
    const char *description; /* Markdown; NULL if there is none */
    enum operation_kind kind;
    const char *view;                       /* OPERATION_VIEW: its name (index_view.h) */
    const char *body;                       /* the schema of a body that is no message; NULL */
    bool may_be_empty;                      /* 204 */
    bool is_page;                           /* 304 for If-None-Match, in all its forms … */
    bool has_etag;                          /* … so is a list that has other encodings as well */
    const struct operation_answer *answers; /* media_type NULL ends them */
    const char *answer;                     /* what 200 holds; NULL: the summary says it */
    const char *awaited; /* the schema of application/json in which a message may be answered by its
                            reply, instead of that in `answers`; NULL if none is */
    uint64_t problems;   /* besides those that any request can get; see operation_problems */
    /* For {name}: its description, and an existing one. */
    const char *name_description, *name_example;
    const char *id_description, *id_example; /* the same for {id} */
};

/* The answers to a request to an address with this need: problems of `operation`, and those that
 * any request can get. */
uint64_t operation_problems(const struct operation *operation, enum guard_need need);

extern const struct operation operation_index, operation_script, operation_style,
    operation_console_file, operation_messages, operation_message_list, operation_message,
    operation_threads, operation_senders, operation_trace, operation_chain, operation_sessions,
    operation_contexts, operation_evolutions, operation_acks, operation_inbox, operation_validate,
    operation_convert, operation_stream, operation_agents, operation_agent, operation_checkpoints,
    operation_checkpoint, operation_restore, operation_tasks, operation_task, operation_next_task,
    operation_extend_task, operation_release_task, operation_cancel_task, operation_retry_task,
    operation_cancel_tasks, operation_retry_tasks, operation_halts, operation_release,
    operation_reviews, operation_review, operation_stream_of_all, operation_rejected, operation_mcp,
    operation_protocols, operation_protocol, operation_schema, operation_rules, operation_examples,
    operation_problem_list, operation_problem, operation_rule_list, operation_rule,
    operation_whoami, operation_resource, operation_livez, operation_readyz, operation_metrics,
    operation_openapi, operation_asyncapi, operation_guide;
extern const struct operation operation_artifact, operation_compiled, operation_items;
