/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Logs the start of a server: its options, its limits, and its addresses. */

#include "configuration.h"

struct start_facts {
    const char *url;
    const char *nats; /* without secrets */
    unsigned workers;
    bool has_tls, has_tokens;
};

/* Sets up the log as configured. */
void start_log_open(const struct configuration *configuration);

/* Logs it, once the server serves requests. */
void start_log_write(const struct configuration *configuration, const struct start_facts *facts);
