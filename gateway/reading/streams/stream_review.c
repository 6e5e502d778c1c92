/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_review.h"

#include <stdlib.h>
#include <string.h>

bool stream_review_note(const struct parley_protocol *protocol,
                        const struct jetstream_stored *stored, const struct parley_route *route,
                        struct stream_review **out) {
    const char *header =
        protocol->reviews != NULL ? jetstream_stored_header(stored, REVIEW_HEADER) : NULL;
    char stream[REVIEW_PLACE_MAX];
    struct review_place place;
    *out = NULL;
    if (header == NULL || route->id.data == NULL || !review_header_read(header, stream, &place) ||
        !parley_bytes_equal(route->lane, parley_bytes_of(protocol->reviews->lane))) {
        return true;
    }
    struct stream_review *review = malloc(sizeof *review + route->id.length);
    if (review == NULL) {
        return false;
    }
    memcpy(review->stream, stream, sizeof stream);
    memcpy(review->data, route->id.data, route->id.length);
    review->place = (struct review_place){review->stream, place.sequence};
    review->id = (struct parley_bytes){review->data, route->id.length};
    *out = review;
    return true;
}

void stream_review_destroy(struct stream_review *review) {
    free(review);
}
