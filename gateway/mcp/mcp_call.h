/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One JSON-RPC request that is being answered: what the files of mcp share. mcp.c receives it and
 * sends its answer, methods.c has the methods, tool_results.c makes results of answers. */

#include "budget.h"
#include "http_inner.h"
#include "mcp.h"
#include "rpc.h"
#include "tools.h"

struct mcp_call {
    struct mcp *mcp;
    struct http_request *request;
    struct parley_buffer body;
    struct budget_share held; /* taken for the body */
    struct parley_arena arena;
    struct rpc rpc;
    const struct tool *tool;         /* NULL: a resource is read … */
    const struct resource *resource; /* … which is this one */
    struct tool_call arguments;
    struct tool_request asked;     /* of other addresses, the last */
    struct http_inner *inner;      /* that serves it; NULL: none is needed */
    struct tool_request following; /* the one after it */
    struct reactor_timer next;     /* makes that one … */
    struct reactor_timer cut;      /* … or ends a stream, as far as it is */
    struct parley_buffer answer;
    bool accepts_json;
    bool is_answered;
    /* Of an answer as a stream of events: */
    bool is_streaming;
    struct parley_buffer events; /* to be sent … */
    size_t sent_bytes;           /* … from here on */
    struct reactor_timer quiet;
    unsigned quiet_count; /* how often it has fired */
};

/* Answers with what is in call->answer. */
void mcp_respond(struct mcp_call *call, unsigned status);
void mcp_respond_error(struct mcp_call *call, const struct rpc_error *error);
/* Has call->asked served; its answer becomes the result of call->tool. */
void mcp_ask(struct mcp_call *call);

/* ---- methods.c ---- */

/* Answers, now or later. */
void mcp_dispatch(struct mcp_call *call);

/* ---- resources.c ---- */

void resources_list(struct mcp_call *call);
void resources_list_templates(struct mcp_call *call);
/* Answers, now or later. */
void resources_read(struct mcp_call *call);
/* The contents that an answer makes. */
void resources_result_of_answer(struct mcp_call *call, const struct http_inner_answer *answer);

/* ---- tool_results.c ---- */

/* Appends the result that holds a JSON object. */
void tool_result_write(struct mcp_call *call, struct parley_bytes object, bool is_error);
/* The result of call->tool that an answer makes. */
void tool_result_of_answer(struct mcp_call *call, const struct http_inner *inner,
                           const struct http_inner_answer *answer);
/* Of a call that a tool itself refuses, with a problem document. */
void tool_result_of_problem(struct mcp_call *call, struct parley_bytes problem);
/* Of arguments that do not fit. */
void tool_result_of_fault(struct mcp_call *call, const char *detail);
