/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The id of the claim that a request for work with an Idempotency-Key makes. */

#include "publication.h"

#define WORK_CLAIM_ID_SIZE 37

/* A UUID of version 4 that the sender (where it has a name), agent and key always give. */
void task_claim_id_write(const struct publication_context *sent, struct parley_bytes agent,
                         char out[WORK_CLAIM_ID_SIZE]);
