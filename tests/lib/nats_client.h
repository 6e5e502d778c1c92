/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nats.c as the second client of tests. Its own timeouts, 2 s to connect and 5 s for an answer of
 * JetStream, are what a busy machine can take; here only a defect reaches them. */

#include <nats/nats.h>

/* Failures abort: this client is not what is tested.  Owns: the caller, both. */
void nats_client_connect(const char *url, natsConnection **connection, jsCtx **context);
