/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* When an event that could not be delivered is sent again. */

#include <stdint.h>

#define WEBHOOK_RETRY_FIRST_MS 5000
#define WEBHOOK_RETRY_MAX_MS 900000 /* 15 minutes */
#define WEBHOOK_GIVE_UP_MS 86400000 /* a day after it was stored */

struct webhook_failure {
    int64_t age_ms;         /* of the event, since it was stored */
    uint64_t tries;         /* 1: it was sent once */
    uint32_t random;        /* any number, so that not all are sent again at one moment */
    int64_t retry_after_ms; /* what the receiver asks for; 0: nothing */
};

/* Returns: the delay, which doubles from the first, with up to a half of it left out at random, and
 * is not shorter than the receiver asks for, and not longer than the longest; -1: give up. */
int64_t webhook_retry_delay_ms(const struct webhook_failure *failure);
