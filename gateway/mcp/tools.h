/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The tools as a table: what a model reads of them, which arguments they take, and which request to
 * which address of this server a call becomes. From a row come its entry in tools/list and the
 * check of its arguments. */

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/protocol.h>

#include "json_fields.h"
#include "rpc.h"
#include "scopes.h"

enum { TOOL_PARAMETERS_MAX = 8 };

enum tool_value {
    TOOL_PROTOCOL, /* the name of a protocol that the tool is for */
    TOOL_TEXT,
    TOOL_WORD,   /* a text that can be in a header: visible ASCII */
    TOOL_CHOICE, /* one of `choices` */
    TOOL_TEXTS,  /* a list of texts */
    TOOL_COUNT,  /* an integer from `minimum` to `maximum` */
    TOOL_OBJECT,
    TOOL_MESSAGE, /* an object, or a text that holds one */
};

struct tool_parameter {
    const char *name;
    const char *description;
    enum tool_value value;
    bool is_required;
    unsigned minimum, maximum;  /* TOOL_COUNT */
    const char *const *choices; /* TOOL_CHOICE; NULL-terminated */
};

/* The arguments of a call, in the order of the tool's parameters. */
struct tool_call {
    const struct tool *tool;
    const struct parley_protocol *protocol; /* NULL: the tool has no argument for it */
    const struct json_field *arguments[TOOL_PARAMETERS_MAX]; /* NULL: it was not given */
    struct parley_arena *arena;
    unsigned answered_count;       /* requests of this call that have an answer */
    struct parley_buffer gathered; /* of their answers, what the result will have … */
    uint64_t left_out;             /* … and what it will not: bits of the tool's own */
};

/* Owns: borrowed for a call. */
struct tool_answer {
    unsigned status;
    struct parley_bytes body;
};

/* What an answer means for a call. */
enum tool_step {
    TOOL_ANSWERED, /* it is the result */
    TOOL_MADE,     /* the result is tool_request.answer */
    TOOL_REFUSED,  /* it is refused by the problem in tool_request.answer */
    TOOL_ASKS,     /* the tool_request is made next */
};

/* What a call becomes. */
struct tool_request {
    const char *method;          /* static; NULL: `answer` is the result */
    struct parley_buffer target; /* path and query */
    struct parley_bytes message; /* the body, if it is a part of the call … */
    struct parley_buffer body;   /* … or else; Owns: message is borrowed from the arguments */
    const char *content_type;    /* of the body; static */
    const char *accept;          /* static; NULL: the form in which the address answers by itself */
    unsigned wait_s;             /* 0: the answer comes as soon as it can */
    unsigned cut_after_s;        /* of a stream: what is there then is its answer; 0: never */
    struct parley_bytes key;     /* Idempotency-Key; data NULL: none */
    struct parley_buffer answer; /* a JSON object */
};

struct tool {
    const char *name, *title;
    const char *description;
    const struct tool_parameter *parameters; /* name NULL ends them */
    const char *output; /* the properties of its results, JSON Schema: "seq":{"type":"integer"},… */
    bool needs_send, needs_read; /* the scopes of a protocol, without which it is not listed */
    bool is_read_only, is_idempotent;
    bool (*is_for)(const struct parley_protocol *protocol); /* NULL: for all */
    /* Returns: NULL, or what is wrong with the arguments, a sentence (static). */
    const char *(*ask)(const struct tool_call *call, struct tool_request *out);
    /* NULL: the answer is the result.  `out` is initialised. */
    enum tool_step (*then)(struct tool_call *call, const struct tool_answer *answer,
                           struct tool_request *out);
    const char *nothing; /* the result, where the answer has no body (204); JSON */
};

extern const struct tool tool_send, tool_check, tool_read, tool_next_task, tool_report, tool_inbox,
    tool_explain;

/* NULL ends them. */
extern const struct tool *const tools[];

/* NULL: there is none of that name. */
const struct tool *tool_find(struct parley_bytes name);

/* Whether who has these scopes may call it, for one protocol at least. */
bool tool_is_allowed(const struct tool *tool, const struct scopes *scopes);

/* Appends its entry in tools/list. */
void tool_describe(const struct tool *tool, const struct scopes *scopes, struct parley_buffer *out);

/* Checks the arguments.  Owns: they are borrowed as long as the call.  Returns: false, with a
 * sentence that says what is wrong and what is expected. */
bool tool_take_arguments(const struct tool *tool, const struct rpc_arguments *arguments,
                         struct parley_arena *arena, struct tool_call *out,
                         struct parley_buffer *fault);

/* An argument by its name, which the tool has; of the kind PARLEY_ABSENT if it was not given. */
const struct json_field *tool_argument(const struct tool_call *call, const char *name);

/* Appends {"protocol","type","schema","example"}.
 * Returns: NULL, or that there is no such type, a sentence (static). */
const char *tool_explain_type(const struct parley_protocol *protocol, struct parley_bytes name,
                              struct parley_arena *arena, struct parley_buffer *out);

/* The number of seconds or items in an argument; `absent` where it was not given. */
unsigned tool_count(const struct tool_call *call, const char *name, unsigned absent);

/* Appends one more option to the query of a target, percent-encoded. */
void tool_write_option(struct parley_buffer *target, const char *name, struct parley_bytes value);
/* Appends text to a path, percent-encoded. */
void tool_write_segment(struct parley_buffer *target, struct parley_bytes text);
/* Appends the members of an argument that is an object as options of the query.
 * Returns: NULL, or what is wrong with them, a sentence (static). */
const char *tool_write_options(const struct tool_call *call, const char *name,
                               struct parley_buffer *target);

/* Frees what it has gathered.  A zeroed call is allowed. */
void tool_call_finish(struct tool_call *call);

void tool_request_init(struct tool_request *request);
void tool_request_finish(struct tool_request *request);
