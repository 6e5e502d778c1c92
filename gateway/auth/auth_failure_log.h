/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The log of failed authentications: one line per address and minute, in bounded memory, and
 * without the credentials. */

#include "http.h"

enum { AUTH_FAILURE_LOG_ADDRESSES = 256 };

struct auth_failure_log {
    unsigned char key[16]; /* so that no client chooses whose place an address takes */
    struct {
        int64_t quiet_until_ms;
        uint64_t unlogged_count;
    } places[AUTH_FAILURE_LOG_ADDRESSES]; /* addresses with an equal place share it */
};

void auth_failure_log_init(struct auth_failure_log *attempts);

/* Logs that the request's sender did `what`, unless its place has logged within a minute. */
void auth_failure_log_record(struct auth_failure_log *attempts, const struct http_request *request,
                             const char *what, int64_t now_ms);
