/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of openapi.json that describe answers. */

#include "json_writer.h"
#include "operation.h"

/* The member "responses" of an operation.  `protocol` NULL: of none. */
void openapi_write_answers(struct json_writer *json, const struct operation *operation,
                           enum guard_need need, const struct parley_protocol *protocol);

/* Whether its messages may be answered by a reply.  `protocol` NULL: false. */
bool openapi_has_replies(const struct parley_protocol *protocol);

/* The member "responses" of the components: the problems of each status that the operations, which
 * are written before, refer to. */
void openapi_write_problems(struct json_writer *json);
