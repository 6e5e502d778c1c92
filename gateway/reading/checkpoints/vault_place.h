/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whose checkpoints a request is about, and where their messages lie. Private to vault/. */

#include <parley/objects.h>
#include <parley/restore.h>

#include "agent_reader.h"
#include "vault.h"
#include "object_layout.h"

/* Requests of a worker at a time. */
#define VAULT_READINGS_MAX 16
/* A request that NATS ends in silence takes some of them. */
#define VAULT_PATIENCE_MS 10000

#define VAULT_AGENT_MAX 65 /* with its NUL, as in --agent */
#define VAULT_SUBJECT_MAX 256

struct vault_place {
    struct vault *vault;
    const struct parley_protocol *protocol;
    const struct channel *channel;
    const struct parley_schema *schema;
    char agent[VAULT_AGENT_MAX];
    char checkpoints[VAULT_SUBJECT_MAX]; /* their subject … */
    char stream[JETSTREAM_STREAM_MAX];   /* … and the stream that it lies in */
    struct share share;                  /* of vault->shares */
};

/* Fills in `out`.  Returns: false: the request is answered; it has no checkpoints, or not for its
 * sender, or NATS cannot be read. */
bool vault_place_find(struct vault *vault, struct http_request *request,
                      const struct parley_protocol *protocol, const char *agent,
                      struct vault_place *out);

/* Whose they are. The stream and the share are left to be filled in.  `agent`: shorter than
 * VAULT_AGENT_MAX. */
void vault_place_fill(struct vault_place *place, struct vault *vault,
                      const struct parley_protocol *protocol, const char *agent);

/* The subject on which the agent's messages are, of one of the patterns of parley_restore. */
void vault_place_subject(const struct vault_place *place, const char *pattern,
                         char out[VAULT_SUBJECT_MAX]);

/* Counts a request, whose place stays where it is. vault_leave once it is closed. */
static inline void vault_enter(struct vault_place *place) {
    share_take(&place->vault->shares, &place->share);
}
static inline void vault_leave(struct vault_place *place) {
    share_leave(&place->share);
}
