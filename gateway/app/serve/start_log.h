/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the log says of a server that starts: with what, how much it takes, and where. */

#include "configuration.h"

struct start_facts {
    const char *url;
    const char *nats; /* without secrets */
    unsigned workers;
    bool has_tls, has_tokens;
};

/* Has the log be as the configuration says. */
void start_log_open(const struct configuration *configuration);

/* Logs it, once the server serves requests. */
void start_log_write(const struct configuration *configuration, const struct start_facts *facts);
