/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The log of failed attempts to be let in: a line an address and minute, in bounded memory, and
 * without what was shown. */

#include "http.h"

enum { ATTEMPTS_ADDRESSES = 256 };

struct attempts {
    unsigned char key[16]; /* so that nobody chooses whose place an address takes */
    struct {
        int64_t quiet_until_ms;
        uint64_t unlogged_count;
    } places[ATTEMPTS_ADDRESSES]; /* addresses with the same place share it */
};

void attempts_init(struct attempts *attempts);

/* Logs that the request's sender did `what`, unless its place has logged within a minute. */
void attempts_note(struct attempts *attempts, const struct http_request *request, const char *what,
                   int64_t now_ms);
