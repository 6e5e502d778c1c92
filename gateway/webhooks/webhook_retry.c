/* SPDX-License-Identifier: Apache-2.0 */

#include "webhook_retry.h"

enum { DOUBLINGS_MAX = 16 };

static int64_t at_most(int64_t delay_ms) {
    return delay_ms < WEBHOOK_RETRY_MAX_MS ? delay_ms : WEBHOOK_RETRY_MAX_MS;
}

int64_t webhook_retry_delay_ms(const struct webhook_failure *failure) {
    const uint64_t past = failure->tries > 0 ? failure->tries - 1 : 0;
    const unsigned doublings = past < DOUBLINGS_MAX ? (unsigned)past : DOUBLINGS_MAX;
    const int64_t whole = at_most((int64_t)WEBHOOK_RETRY_FIRST_MS << doublings);
    const int64_t delay = whole - (int64_t)(failure->random % (uint32_t)(whole / 2 + 1));
    const int64_t asked = at_most(failure->retry_after_ms);
    return failure->age_ms >= WEBHOOK_GIVE_UP_MS ? -1 : delay > asked ? delay : asked;
}
