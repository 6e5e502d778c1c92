/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One JSON-RPC message as POST /mcp gets it: what it asks for, by which revision of the protocol,
 * and whether its headers say the same. Pure: it knows neither HTTP nor the methods.
 * Source: JSON-RPC 2.0; the Model Context Protocol, revision 2026-07-28, pages "Overview",
 * "Versioning and Compatibility", "Streamable HTTP"; revisions 2025-11-25 and 2025-06-18,
 * "Lifecycle" and "Transports". */

#include <stdbool.h>

#include <parley/arena.h>
#include <parley/buffer.h>
#include <parley/bytes.h>

#include "json_fields.h"

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_RESOURCE_NOT_FOUND = -32002, /* to clients of the revisions with a handshake */
    RPC_HEADER_MISMATCH = -32020,
    RPC_UNSUPPORTED_VERSION = -32022,
};

/* The oldest first. */
enum rpc_revision { RPC_2025_06_18, RPC_2025_11_25, RPC_2026_07_28, RPC_REVISION_COUNT };

/* Its name: "2026-07-28". */
const char *rpc_revision_name(enum rpc_revision revision);
/* Returns: RPC_REVISION_COUNT: there is none of that name. */
enum rpc_revision rpc_revision_find(struct parley_bytes name);

/* Headers of the request; NULL when absent. */
struct rpc_headers {
    const char *version; /* MCP-Protocol-Version */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name */
};

/* More than any tool has: one of those that are left out is unknown, or there twice. */
enum { RPC_ARGUMENTS_MAX = 12 };

/* The members of params.arguments, in their order. Arrays and objects are left unread: the tool or
 * the address that takes one checks it. */
struct rpc_arguments {
    struct json_field items[RPC_ARGUMENTS_MAX];
    size_t count;
};

/* Owns: all bytes are borrowed from the text or are in the arena; data NULL: absent. */
struct rpc {
    enum rpc_revision revision;
    struct parley_bytes id; /* as it was written; absent from a notification */
    struct parley_bytes method;
    struct parley_bytes name; /* params.name; of resources/read params.uri */
    struct rpc_arguments arguments;
    bool has_unread;                                 /* an argument was left unread */
    struct parley_bytes version;                     /* params.protocolVersion */
    struct parley_bytes traceparent, progress_token; /* of _meta; the token as it was written */
    struct parley_bytes
        meta_version;      /* of _meta; by it the revisions without a handshake are told */
    bool has_capabilities; /* in _meta */
};

struct rpc_error {
    enum rpc_code code;
    unsigned status;               /* of the answer in HTTP */
    const char *message;           /* static */
    struct parley_bytes requested; /* the version or resource that there is not; data NULL: none.
                                      Owns: borrowed as the members of rpc */
};

/* Whether its client speaks the revisions without a handshake. */
static inline bool rpc_is_modern(const struct rpc *rpc) {
    return rpc->revision >= RPC_2026_07_28;
}

/* Reads the body alone, as who passes it on: everything but the revision. `out` is zero before.
 * Returns: as rpc_read. */
bool rpc_read_body(struct parley_bytes text, struct parley_arena *arena, struct rpc *out,
                   struct rpc_error *error);
/* Reads what was left unread, unless it was read meanwhile, which the caller says by clearing
 * has_unread.  Returns: false: the body is not JSON after all, as *error says; then `rpc` has no
 * id.
 */
bool rpc_read_rest(struct parley_bytes text, struct parley_arena *arena, struct rpc *rpc,
                   struct rpc_error *error);
/* Whether its name has to be in the header Mcp-Name. */
bool rpc_names_something(const struct rpc *rpc);

/* `out` is zero before.  Returns: false: it is refused with *error; `out` has the id, where that
 * could be read. */
bool rpc_read(struct parley_bytes text, const struct rpc_headers *headers,
              struct parley_arena *arena, struct rpc *out, struct rpc_error *error);

/* Appends the answer to a message that is refused. */
void rpc_write_error(struct parley_buffer *out, const struct rpc *rpc,
                     const struct rpc_error *error);
/* Appends the beginning of a result, after which its members follow, each with a comma before it.
 * `server_version`: of the server. */
void rpc_begin_result(struct parley_buffer *out, const struct rpc *rpc, const char *server_version);
void rpc_end_result(struct parley_buffer *out);
/* Appends a result without any member, as ping of the earlier revisions has it. */
void rpc_write_nothing(struct parley_buffer *out, const struct rpc *rpc);
/* How long clients may keep a result: five minutes, for all users or for the one who asked, or not
 * at all. */
enum rpc_caching { RPC_CACHED_BY_ALL, RPC_CACHED_BY_ONE, RPC_NOT_CACHED };
/* ,"ttlMs":…,"cacheScope":…: of a result that says it. */
void rpc_write_caching(struct parley_buffer *out, const struct rpc *rpc, enum rpc_caching caching);
