/* SPDX-License-Identifier: Apache-2.0 */

/* See retry_advice.h. A promise needs two things: the publication had a Nats-Msg-Id that sending it
 * again repeats, and the stream's dedupe window will still be open then. */

#include "retry_advice.h"

#include <inttypes.h>
#include <stdio.h>

#include "channel.h"

enum { WINDOW_USEFUL_MS = 1000 }; /* a shorter one is of no use to a client */

/* "2 minutes", "90 seconds", "1500 ms". */
static void describe_duration(int64_t ms, char *out, size_t size) {
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{3600000, "hour"}, {60000, "minute"}, {1000, "second"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ms % units[i].ms == 0) {
            const int64_t count = ms / units[i].ms;
            snprintf(out, size, "%" PRId64 " %s%s", count, units[i].name, count == 1 ? "" : "s");
            return;
        }
    }
    snprintf(out, size, "%" PRId64 " ms", ms);
}

static const char *how_to_repeat(enum publication_repeat repeat) {
    switch (repeat) {
    case PUBLICATION_REPEAT_SAME:
        return "Send the same bytes again";
    case PUBLICATION_REPEAT_ID:
        return "Send it again with the same id";
    case PUBLICATION_REPEAT_STAMPED_ID:
        return "Send it again with the `id` that `stamp` gave it, which this problem names,";
    case PUBLICATION_REPEAT_KEY:
        return "Send the same body again with the same Idempotency-Key";
    case PUBLICATION_REPEAT_STAMPED:
    case PUBLICATION_REPEAT_ANOTHER:
        break;
    }
    return NULL;
}

void retry_advice(const struct gateway *gateway, const struct parley_protocol *protocol,
                  enum publication_repeat repeat, enum retry_time time, char out[RETRY_TEXT_MAX]) {
    const struct configuration *configuration = gateway->configuration;
    const char *stream = channel_find(configuration->channels, protocol)->stream;
    const int64_t window_ms = jetstream_dedupe_window_ms(gateway->jetstream, stream);
    const int64_t passed_ms = time == RETRY_LATE ? configuration->ack_timeout_ms : 0;
    const char *how = how_to_repeat(repeat);
    char window[48];
    describe_duration(window_ms, window, sizeof window);
    if (window_ms < WINDOW_USEFUL_MS) {
        snprintf(out, RETRY_TEXT_MAX,
                 "If it is sent again, it may be stored twice, even with an Idempotency-Key: this "
                 "server does not look for duplicates (--dedupe-window 0).");
    } else if (window_ms <= passed_ms) {
        snprintf(out, RETRY_TEXT_MAX,
                 "If it is sent again, it may be stored twice, even with an Idempotency-Key: the "
                 "dedupe window of %s has passed.",
                 window);
    } else if (how != NULL) {
        snprintf(out, RETRY_TEXT_MAX,
                 "%s within %s of the first attempt (the dedupe window), and it is stored once.",
                 how, window);
    } else {
        snprintf(
            out, RETRY_TEXT_MAX,
            "If it is sent again, it may be stored twice, since %s. Send an `Idempotency-Key` next "
            "time: with the same key it is stored once within %s.",
            repeat == PUBLICATION_REPEAT_STAMPED ? "`stamp` fills in new values each time"
                                                 : "nothing marks it as the same message",
            window);
    }
}
