/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_format.h"

#include "negotiate.h"
#include "problem.h"

enum { SSE = 1, OFFERS_OF_ANY = 4, OFFERS_MAX = 16 };
static const char *const offers[OFFERS_OF_ANY] = {"application/x-ndjson", "text/event-stream",
                                                  "application/ndjson", "application/jsonl"};

/* Frames say where each message ends; text and MessagePack do not. */
static bool is_offered(const struct parley_codec *codec) {
    return codec->framing == PARLEY_FRAMING_FRAMES || codec->framing == PARLEY_FRAMING_WHOLE;
}

bool stream_format_choose(struct http_request *request, const struct parley_protocol *protocol,
                          const char *detail, struct stream_format *out) {
    const char *all[OFFERS_MAX] = {NULL};
    const struct parley_codec *codecs[OFFERS_MAX] = {NULL};
    size_t count = OFFERS_OF_ANY;
    memcpy(all, offers, sizeof offers);
    const struct parley_codec *const *codec = protocol != NULL ? protocol->codecs : NULL;
    for (; codec != NULL && *codec != NULL; codec++) {
        const char *const *type = (*codec)->media_types;
        for (; is_offered(*codec) && *type != NULL && count < OFFERS_MAX - 1; type++) {
            codecs[count] = *codec;
            all[count++] = *type;
        }
    }
    const int chosen = negotiate(http_request_header(request, "Accept"), all);
    if (chosen < 0) {
        problem_respond(request, PROBLEM_NOT_ACCEPTABLE, detail);
        return false;
    }
    const struct parley_codec *of = codecs[chosen];
    *out = (struct stream_format){.media_type = of != NULL ? of->media_types[0] : all[chosen],
                                  .is_sse = chosen == SSE,
                                  .codec = of};
    return true;
}

bool stream_format_fits(struct http_request *request, const struct stream_format *form,
                        const struct stream_query *query) {
    const bool is_of_many = form->codec == NULL || form->codec->framing == PARLEY_FRAMING_FRAMES;
    if (is_of_many || query->limit == 1) {
        return true;
    }
    problem_respond_format(request, PROBLEM_NOT_ACCEPTABLE,
                           "A response in %s has one message: add limit=1, or accept another media "
                           "type.",
                           form->media_type);
    return false;
}
