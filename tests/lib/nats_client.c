/* SPDX-License-Identifier: Apache-2.0 */

#include "nats_client.h"

#include <stdio.h>
#include <stdlib.h>

#include "loop.h"

static void must(natsStatus status, const char *what) {
    if (status != NATS_OK) {
        fprintf(stderr, "%s: %s\n", what, natsStatus_GetText(status));
        abort();
    }
}

void nats_client_connect(const char *url, natsConnection **connection, jsCtx **context) {
    natsOptions *options = NULL;
    jsOptions patient;
    must(jsOptions_Init(&patient), "options");
    patient.Wait = LOOP_PATIENCE_MS;
    must(natsOptions_Create(&options), "options");
    must(natsOptions_SetURL(options, url), "URL");
    must(natsOptions_SetTimeout(options, LOOP_PATIENCE_MS), "timeout");
    must(natsConnection_Connect(connection, options), "connect");
    must(natsConnection_JetStream(context, *connection, &patient), "jetstream");
    natsOptions_Destroy(options);
}
