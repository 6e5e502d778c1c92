/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether the parameters of a question go together, and with who asks. */

#include "http.h"
#include "index_view.h"
#include "jetstream.h"

/* Once they are read: completes `agent`, and takes the list's name off `cursor`.
 * Returns: false: the request is answered. */
bool index_check(struct index_question *asked, const struct jetstream *jetstream,
                 struct http_request *request);

/* Whether messages of the protocol lie in that stream. */
bool index_is_stream_of(const struct jetstream *jetstream, unsigned protocol,
                        struct parley_bytes stream);
