/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What agents go on from (parley/restore.h), read from NATS for each request: nothing is kept
 * between two of them. All answers are for the agent that the address names. */

#include "gateway.h"

/* GET …/agents/{agent}/checkpoints: the newest first. */
void vault_serve_list(struct gateway *gateway, struct http_request *request,
                      const struct parley_protocol *protocol, const char *agent);
/* GET …/agents/{agent}/checkpoints/{id}: the whole message. */
void vault_serve_checkpoint(struct gateway *gateway, struct http_request *request,
                            const struct parley_protocol *protocol, const char *agent,
                            const char *id);
/* GET …/agents/{agent}/restore: the last checkpoint, and what was logged after it. */
void vault_serve_restore(struct gateway *gateway, struct http_request *request,
                         const struct parley_protocol *protocol, const char *agent);
