/* SPDX-License-Identifier: Apache-2.0 */

/* ordered URL STREAM SUBJECT COUNT: what nats.c can do at best to read a stream again: an ordered
 * consumer from the first message on, as its documents advise, whose messages are thrown away
 * unread. It prints how many there were, their bytes, and the seconds from the subscription to the
 * last of COUNT. */

#include "client.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>

#include <nats/nats.h>

enum { WAIT_MS = 10000, READ_BYTES = 128 * 1024, TRASH_MAX = 256 };

static void check(natsStatus status, const char *what) {
    if (status != NATS_OK) {
        errx(1, "%s: %s", what, natsStatus_GetText(status));
    }
}

static natsConnection *connect_to(const char *url) {
    natsConnection *connection = NULL;
    natsOptions *options = NULL;
    check(natsOptions_Create(&options), "options");
    check(natsOptions_SetURL(options, url), "options");
    check(natsOptions_SetIOBufSize(options, READ_BYTES), "options");
    check(natsConnection_Connect(&connection, options), "connecting");
    natsOptions_Destroy(options);
    return connection;
}

static natsSubscription *subscribe(jsCtx *jetstream, const char *stream, const char *subject) {
    natsSubscription *subscription = NULL;
    jsSubOptions options;
    jsErrCode code = 0;
    check(jsSubOptions_Init(&options), "options");
    options.Stream = stream;
    options.Ordered = true;
    options.Config.DeliverPolicy = js_DeliverAll;
    check(js_SubscribeSync(&subscription, jetstream, subject, NULL, &options, &code),
          "subscribing");
    check(natsSubscription_SetPendingLimits(subscription, -1, -1), "subscribing");
    return subscription;
}

/* Returns: how many bytes the messages had. Each is destroyed along with others: one at a time
 * would wake the library's collector each time. */
static uint64_t discard(natsSubscription *subscription, uint64_t count) {
    natsMsg *trash[TRASH_MAX];
    uint64_t bytes = 0;
    for (uint64_t done = 0; done < count;) {
        size_t waiting = 0;
        for (; waiting < TRASH_MAX && done < count; waiting++, done++) {
            check(natsSubscription_NextMsg(&trash[waiting], subscription, WAIT_MS), "reading");
            bytes += (uint64_t)natsMsg_GetDataLength(trash[waiting]);
        }
        for (size_t i = 0; i < waiting; i++) {
            natsMsg_Destroy(trash[i]);
        }
    }
    return bytes;
}

int main(int argc, char **argv) {
    jsCtx *jetstream = NULL;
    if (argc != 5) {
        errx(2, "usage: ordered URL STREAM SUBJECT COUNT");
    }
    const uint64_t count = client_number(argv[4], 1);
    natsConnection *connection = connect_to(argv[1]);
    check(natsConnection_JetStream(&jetstream, connection, NULL), "JetStream");
    const double start_s = client_now_s();
    natsSubscription *subscription = subscribe(jetstream, argv[2], argv[3]);
    const uint64_t bytes = discard(subscription, count);
    printf("{\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64
           ",\"seconds\":%.6f,\"cpu_seconds\":%.6f}\n",
           count, bytes, client_now_s() - start_s, client_cpu_s());
    natsSubscription_Destroy(subscription);
    jsCtx_Destroy(jetstream);
    natsConnection_Destroy(connection);
    nats_Close();
    return 0;
}
