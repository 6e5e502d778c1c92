/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Logs the start of a server, its options, its limits and its addresses, and says on standard
 * output where it listens. */

#include "configuration.h"

struct start_facts {
    const char *nats; /* without secrets */
    unsigned port, workers;
    bool has_tls, has_tokens;
};

/* Sets up the log as configured. */
void start_log_open(const struct configuration *configuration);

/* Logs and prints it, once the server serves requests. */
void start_log_write(const struct configuration *configuration, const struct start_facts *facts);
