/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The sender of a request, with its permissions: a token, a JWT, a client certificate, or an
 * anonymous client. It never changes once it is made, so that threads can share it. */

#include <stdatomic.h>

#include "scopes.h"

struct principal {
    const char *name;  /* a token's name, a JWT's `sub`, a certificate's name; "": anonymous */
    const char *agent; /* the only sender that its messages may name; NULL: any sender */
    struct scopes scopes;
    uint64_t messages_per_s, bytes_per_s; /* its own rates; 0: the server's */
    int64_t expires_at;                   /* Unix time; 0: never */
    atomic_size_t references;             /* private */
};

/* Makes one without any permission: fill it in before others see it.  Copies `name` and `agent`
 * (NULL if absent).  Returns: NULL when there is no memory. The caller has a reference to it. */
struct principal *principal_create(const char *name, const char *agent);

/* A principal lives until its last reference is dropped.  Threads: any.  NULL is allowed. */
struct principal *principal_ref(struct principal *principal);
void principal_unref(struct principal *principal);

/* Whether it has expired at `now`, Unix time. */
static inline bool principal_has_expired(const struct principal *principal, int64_t now) {
    return principal->expires_at != 0 && now >= principal->expires_at;
}

/* The agent that its messages must name as their sender, and whose private messages it may read;
 * NULL: any agent. `binds_names`: one without an agent is bound to its name.  Owns: borrowed from
 * the principal. */
static inline const char *principal_agent(const struct principal *principal, bool binds_names) {
    const bool is_bound_by_name = binds_names && principal->name[0] != '\0';
    return principal->agent != NULL ? principal->agent : is_bound_by_name ? principal->name : NULL;
}

/* They are static, and not counted. */
extern const struct principal principal_anonymous; /* may do everything: a server without access
                                                      control */
extern const struct principal principal_nobody;    /* may do nothing */
