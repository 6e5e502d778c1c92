/* SPDX-License-Identifier: Apache-2.0 */

#include "jetstream_state.h"

bool jetstream_can_publish(const struct jetstream *jetstream) {
    return jetstream->is_ready && !jetstream->trouble.is_disk_full;
}

bool jetstream_is_needed(const struct jetstream_check *check) {
    return check->group->stream->without == NULL;
}

void jetstream_note_good(struct jetstream *jetstream) {
    jetstream->prober.good_ms = reactor_now_ms(jetstream->reactor);
}

void jetstream_recheck(struct jetstream *jetstream) {
    struct jetstream_setup *setup = &jetstream->setup;
    const int64_t due_ms = reactor_now_ms(jetstream->reactor) + JETSTREAM_RECHECK_MS;
    if (setup->pending_count > 0) {
        setup->is_recheck_due = true;
    } else if (setup->next.is_armed && setup->next.due_ms > due_ms) {
        reactor_timer_set(jetstream->reactor, &setup->next, JETSTREAM_RECHECK_MS);
    }
}

size_t jetstream_check_count(const struct jetstream *jetstream) {
    return jetstream->setup.check_count - (jetstream->options.is_probing ? 1 : 0);
}
