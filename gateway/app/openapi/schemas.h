/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The schemas of both documents, and their names: VlpMessage, VlpEvent. */

#include <parley/protocol.h>

#include "json_writer.h"

#define SCHEMA_NAME_MAX 64

/* "Vlp" and `suffix`; `protocol` NULL: "Any". */
void schema_name(const struct parley_protocol *protocol, const char *suffix,
                 char out[SCHEMA_NAME_MAX]);

/* The members of components.schemas: web/schemas.json, and those of each protocol.
 * `has_discriminators`: those of OpenAPI, which AsyncAPI does not know in this form. */
void schemas_write(struct json_writer *json, bool has_discriminators);
