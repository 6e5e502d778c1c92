/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* GET /asyncapi.json: the subjects of NATS and the streams over HTTP, with the messages on them
 * (AsyncAPI 3.0), made from the protocols' tables. */

#include <parley/buffer.h>

#include "channel.h"

/* Appends the document, on one line.  `channels`: of all protocols, in the order of
 * parley_protocols. */
void asyncapi_write(struct parley_buffer *out, const struct channel *channels);
