/* SPDX-License-Identifier: Apache-2.0 */

#include "answer_encoding.h"

#include "encodings.h"
#include "negotiate.h"

enum { OFFERS_MAX = 16 };

/* The name of a media type of `codec` that `accept` prefers to all others; NULL: there is none. */
static const char *preferred_name(const char *accept, const struct parley_protocol *protocol,
                                  const struct parley_codec *codec) {
    const char *offers[OFFERS_MAX] = {"application/problem+json"};
    const struct parley_codec *codecs[OFFERS_MAX] = {NULL};
    size_t count = 1;
    for (size_t i = 0; protocol->codecs[i] != NULL; i++) {
        const char *const *type = protocol->codecs[i]->media_types;
        for (; *type != NULL && count < OFFERS_MAX - 1; type++) {
            codecs[count] = protocol->codecs[i];
            offers[count++] = *type;
        }
    }
    const int chosen = negotiate(accept, offers);
    return chosen >= 0 && codecs[chosen] == codec ? offers[chosen] : NULL;
}

void answer_encoding_choose(struct http_request *request, const struct parley_protocol *protocol) {
    const struct parley_codec *codec = encodings_for_answers(protocol);
    const char *accept = http_request_header(request, "Accept");
    if (codec == NULL) {
        return;
    }
    http_header(request, "Vary", "Accept");
    const char *name = accept != NULL ? preferred_name(accept, protocol, codec) : NULL;
    if (name != NULL) {
        http_encode(request, &(const struct http_encoding){protocol, codec, name});
    }
}
