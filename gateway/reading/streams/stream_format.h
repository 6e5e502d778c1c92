/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* In which form a response has a stream: lines of JSON, server-sent events, or the bare messages in
 * another encoding of their protocol. */

#include "http.h"
#include "stream_query.h"

struct stream_format {
    const char *media_type; /* static */
    bool is_sse;
    const struct parley_codec *codec; /* NULL: lines of JSON, or server-sent events */
};

/* The form that the client likes best.  `protocol`: whose stream is read; NULL for those of
 * several, or for refused messages.  `detail`: a sentence that says which there are.
 * Returns: false when it has answered 406 with it. */
bool stream_format_choose(struct http_request *request, const struct parley_protocol *protocol,
                          const char *detail, struct stream_format *out);

/* Whether the response can have as many messages as the query allows.  Returns: as above. */
bool stream_format_fits(struct http_request *request, const struct stream_format *form,
                        const struct stream_query *query);
