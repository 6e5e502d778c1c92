/* SPDX-License-Identifier: Apache-2.0 */

/* A message for the lane review waits for people (overview, "Validation Rules"). A decision is a
 * notice for the lane safe, whichever it is, so that it is not itself listed for review. */

#include "vlp.h"

#include <stdio.h>

enum { SOURCE_MAX = 320 }; /* the name of a stream has at most 255 characters */

static void write_review(const struct parley_review *review, struct parley_buffer *out) {
    char source[SOURCE_MAX];
    snprintf(source, sizeof source, "parley:reviews/%s", review->place);
    vlp_notice_write(
        &(struct vlp_notice){.id = review->id,
                             .now = review->at,
                             .sender = review->by,
                             .session = review->thread,
                             .title = review->is_approved ? "Approved: " : "Rejected: ",
                             .text = review->reason,
                             .source = source,
                             .refers_to = &review->message_id,
                             .reference_count = review->message_id.data != NULL},
        out);
}

const struct parley_reviews_kind vlp_reviews = {
    .bucket = "parley_reviews",
    .subjects = "review.>",
    .thread = "session",
    .lane = "safe",
    .write_review = write_review,
};
