/* SPDX-License-Identifier: Apache-2.0 */

#include "core_subscription.h"

#include "jetstream_state.h"

#include <stdlib.h>

struct core_subscription {
    struct jetstream *jetstream;
    core_subscription_fn *delivered;
    void *context;
    uint64_t sequence; /* of the last one */
    size_t count;
    struct bus_subscription subscriptions[];
};

static void on_message(void *context, const struct bus_message *message) {
    struct core_subscription *reading = context;
    const struct jetstream_stored stored = {.sequence = ++reading->sequence,
                                            .time_ns = reactor_wall_clock_ns(),
                                            .subject = message->subject,
                                            .payload = message->payload,
                                            .message = message};
    reading->delivered(reading->context, &stored);
}

enum parley_status core_subscription_open(struct jetstream *jetstream, const char *const subjects[],
                                          size_t count, const char *queue,
                                          core_subscription_fn *delivered, void *context,
                                          struct core_subscription **out) {
    struct core_subscription *reading =
        calloc(1, sizeof *reading + count * sizeof reading->subscriptions[0]);
    if (reading == NULL) {
        return PARLEY_E_MEMORY;
    }
    reading->jetstream = jetstream;
    reading->delivered = delivered;
    reading->context = context;
    reading->count = count;
    for (size_t i = 0; i < count; i++) {
        reading->subscriptions[i] = (struct bus_subscription){
            .subject = subjects[i], .queue = queue, .receive = on_message, .context = reading};
        bus_subscribe(jetstream->bus, &reading->subscriptions[i]);
    }
    *out = reading;
    return PARLEY_OK;
}

enum parley_status core_subscription_open_place(struct jetstream *jetstream,
                                                const struct jetstream_place *place,
                                                core_subscription_fn *delivered, void *context,
                                                struct core_subscription **out) {
    const struct jetstream_check *check = OWNER_OF(place, struct jetstream_check, place);
    const char *const *families = check->group->stream->families;
    const char *subjects[JETSTREAM_FAMILIES_MAX];
    size_t count = 0;
    for (size_t i = 0; families != NULL && families[i] != NULL; i++) {
        if ((place->families >> i & 1) != 0) {
            subjects[count++] = families[i];
        }
    }
    return core_subscription_open(jetstream, subjects, count, NULL, delivered, context, out);
}

void core_subscription_close(struct core_subscription *reading) {
    for (size_t i = 0; reading != NULL && i < reading->count; i++) {
        bus_unsubscribe(reading->jetstream->bus, &reading->subscriptions[i]);
    }
    free(reading);
}
