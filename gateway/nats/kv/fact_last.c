/* SPDX-License-Identifier: Apache-2.0 */

#include "fact_last.h"

#include <stdlib.h>

static void on_last(void *context, const struct jetstream_last *read) {
    struct fact_last *last = context;
    last->request = NULL;
    last->is_known = read->found == JETSTREAM_LAST_FOUND || read->found == JETSTREAM_LAST_NONE;
    if (read->found == JETSTREAM_LAST_FOUND) {
        last->payload = parley_bytes_copy(read->payload);
        last->length = read->payload.length;
        last->seconds = read->time_ns / 1000000000;
        last->is_known = last->payload != NULL;
    }
    last->done(last);
}

bool fact_last_ask(struct fact_last *last, struct jetstream *jetstream, const char *subject) {
    const struct jetstream_place *place = jetstream_place_find(jetstream, subject);
    if (place == NULL) {
        last->is_known = jetstream_is_ready(jetstream);
        return false;
    }
    last->request = jetstream_last_ask(jetstream, place->stream, subject, on_last, last);
    return last->request != NULL;
}

void fact_last_finish(struct fact_last *last) {
    jetstream_request_cancel(last->request);
    free(last->payload);
    *last = (struct fact_last){.done = last->done};
}

void fact_last_tell(const struct fact_last *last, struct parley_known_facts *out) {
    out->has_last = last->is_known;
    out->last = (struct parley_bytes){last->payload, last->length};
    out->last_seconds = last->seconds;
}
