/* SPDX-License-Identifier: Apache-2.0 */

#include "stream_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bucket_key.h"
#include "core_subscription.h"

extern const struct parley_protocol vlp_protocol;
const struct channel vlp_channel = {.name = "vlp",
                                    .protocol = &vlp_protocol,
                                    .stream = "VLP",
                                    .subjects = "vlp.>",
                                    .review_bucket = "parley_reviews",
                                    .review_subjects = "vlp.review.>"};

/* ---- reviews ---- */

enum { REVIEW_ASKS_MAX = 64 }; /* at a time */
static struct review_ask review_asks[REVIEW_ASKS_MAX];
size_t review_ask_count;
bool is_review_asked = true;

void review_asks_reset(void) {
    memset(review_asks, 0, sizeof review_asks);
    review_ask_count = 0;
    is_review_asked = true;
}

static bool is_pending(const struct review_ask *ask) {
    return ask->last != NULL || ask->held != NULL;
}

static struct review_ask *new_ask(void *context) {
    if (!is_review_asked) {
        return NULL;
    }
    struct review_ask *ask = review_asks;
    while (is_pending(ask)) {
        assert_true(++ask < review_asks + REVIEW_ASKS_MAX);
    }
    ask->context = context;
    review_ask_count++;
    return ask;
}

struct jetstream_request *bucket_key_ask(struct jetstream *jetstream, const char *bucket,
                                         const char *key, jetstream_last_fn *done, void *context) {
    (void)jetstream;
    struct review_ask *ask = new_ask(context);
    assert_string_equal(bucket, "parley_reviews");
    if (ask != NULL) {
        ask->last = done;
        snprintf(ask->what, sizeof ask->what, "%s", key);
    }
    return (struct jetstream_request *)ask; /* nobody looks into it */
}

struct jetstream_request *jetstream_held_ask(struct jetstream *jetstream, const char *stream,
                                             uint64_t sequence, jetstream_held_fn *done,
                                             void *context) {
    (void)jetstream;
    struct review_ask *ask = new_ask(context);
    if (ask != NULL) {
        ask->held = done;
        snprintf(ask->what, sizeof ask->what, "%s:%" PRIu64, stream, sequence);
    }
    return (struct jetstream_request *)ask;
}

size_t review_asks_pending(void) {
    size_t count = 0;
    for (size_t i = 0; i < REVIEW_ASKS_MAX; i++) {
        count += is_pending(&review_asks[i]) ? 1 : 0;
    }
    return count;
}

bool review_ask_cancel(struct jetstream_request *request) {
    for (size_t i = 0; i < REVIEW_ASKS_MAX; i++) {
        if (request == (struct jetstream_request *)&review_asks[i]) {
            review_asks[i].last = NULL;
            review_asks[i].held = NULL;
            return true;
        }
    }
    return false;
}

const struct review_ask *review_ask_first(void) {
    const struct review_ask *ask = review_asks;
    while (!is_pending(ask)) {
        assert_true(++ask < review_asks + REVIEW_ASKS_MAX);
    }
    return ask;
}

const char *review_answer(const char *text) {
    static char what[sizeof review_asks[0].what]; /* the next question may take its place */
    struct review_ask *ask = &review_asks[review_ask_first() - review_asks];
    const bool is_unknown = text != NULL && text[0] == '\0';
    const struct jetstream_last last = {.found = is_unknown     ? JETSTREAM_LAST_UNKNOWN
                                                 : text != NULL ? JETSTREAM_LAST_FOUND
                                                                : JETSTREAM_LAST_NONE,
                                        .payload = parley_bytes_of(text)};
    const char *colon = strchr(ask->what, ':');
    const struct jetstream_held held = {.found = is_unknown     ? JETSTREAM_HELD_UNKNOWN
                                                 : text != NULL ? JETSTREAM_HELD_FOUND
                                                                : JETSTREAM_HELD_GONE,
                                        .sequence =
                                            colon != NULL ? strtoull(colon + 1, NULL, 10) : 0,
                                        .subject = "vlp.review.claim",
                                        .payload = parley_bytes_of(text),
                                        .time_ns = 1};
    snprintf(what, sizeof what, "%s", ask->what);
    jetstream_last_fn *on_last = ask->last;
    jetstream_held_fn *on_held = ask->held;
    ask->last = NULL;
    ask->held = NULL;
    if (on_last != NULL) {
        on_last(ask->context, &last);
    } else {
        on_held(ask->context, &held);
    }
    return what;
}

/* ---- the rest ---- */

struct parley_schema *vlp_schema(void) {
    struct parley_schema *schema = NULL;
    assert_int_equal(parley_schema_create(&vlp_protocol, &schema), PARLEY_OK);
    return schema;
}

enum parley_status core_subscription_open_place(struct jetstream *jetstream,
                                                const struct jetstream_place *place,
                                                core_subscription_fn *delivered, void *context,
                                                struct core_subscription **out) {
    (void)jetstream, (void)place, (void)delivered, (void)context, (void)out;
    abort();
}

void core_subscription_close(struct core_subscription *reading) {
    assert_null(reading);
}
