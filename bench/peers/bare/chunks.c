/* SPDX-License-Identifier: Apache-2.0 */

/* chunks URL FILE [RATE]: what nats.c can do at best to put a file into an object store, as its
 * documents advise: chunks of 128 KiB, of which 16 await their ack, and then the meta, by which
 * they are an object; with a rate, in MB/s, not faster than that. It makes no digest, and the file
 * lies in memory before the clock starts. It prints how many chunks there were, and the seconds
 * that it took, of the clock and of the processor. */

#include "client.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nats/nats.h>

enum { CHUNK_BYTES = 128 * 1024, UNACKED_MAX = 16, WAIT_MS = 60000 };

static const char chunk_subject[] = "$O.bench.C.bench", meta_subject[] = "$O.bench.M.YmVuY2g=";

static void check(natsStatus status, const char *what) {
    if (status != NATS_OK) {
        errx(1, "%s: %s", what, natsStatus_GetText(status));
    }
}

static void on_refused(jsCtx *jetstream, jsPubAckErr *error, void *closure) {
    (void)jetstream;
    (void)closure;
    errx(1, "a chunk was not stored: %s", error->ErrText);
}

static natsConnection *connect_to(const char *url) {
    natsConnection *connection = NULL;
    natsOptions *options = NULL;
    check(natsOptions_Create(&options), "options");
    check(natsOptions_SetURL(options, url), "options");
    check(natsOptions_SetSendAsap(options, true), "options"); /* or a flusher thread waits 1 ms */
    check(natsConnection_Connect(&connection, options), "connecting");
    natsOptions_Destroy(options);
    return connection;
}

/* A bucket as parley creates it. */
static jsCtx *open_bucket(natsConnection *connection) {
    jsCtx *jetstream = NULL;
    jsOptions options;
    jsStreamConfig config;
    jsErrCode code = 0;
    const char *subjects[] = {"$O.bench.C.>", "$O.bench.M.>"};
    check(jsOptions_Init(&options), "JetStream");
    options.PublishAsync.MaxPending = UNACKED_MAX;
    options.PublishAsync.StallWait = WAIT_MS;
    options.PublishAsync.ErrHandler = on_refused;
    check(natsConnection_JetStream(&jetstream, connection, &options), "JetStream");
    check(jsStreamConfig_Init(&config), "JetStream");
    config.Name = "OBJ_bench";
    config.Subjects = subjects;
    config.SubjectsLen = 2;
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardNew;
    config.AllowRollup = true;
    check(js_AddStream(NULL, jetstream, &config, NULL, &code), "creating the bucket");
    return jetstream;
}

static const char *read_file(const char *name, size_t *out_length) {
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        err(1, "%s", name);
    }
    *out_length = (size_t)status.st_size;
    const char *data = mmap(NULL, *out_length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (data == MAP_FAILED) {
        err(1, "%s", name);
    }
    close(fd);
    return data;
}

static void wait_until(double due_s) {
    const double left = due_s - client_now_s();
    if (left > 0) {
        nats_Sleep((int64_t)(left * 1e3));
    }
}

/* `rate`: in MB/s; 0: any.  Returns: how many there were; all are acknowledged. */
static size_t publish_chunks(jsCtx *jetstream, const char *data, size_t length, double rate) {
    size_t count = 0;
    jsPubOptions options;
    const double start = client_now_s();
    for (size_t done = 0; done < length; count++) {
        const size_t left = length - done;
        const size_t size = left < CHUNK_BYTES ? left : CHUNK_BYTES;
        check(js_PublishAsync(jetstream, chunk_subject, data + done, (int)size, NULL), "a chunk");
        done += size;
        if (rate > 0) {
            wait_until(start + (double)done / 1e6 / rate);
        }
    }
    check(jsPubOptions_Init(&options), "options");
    options.MaxWait = WAIT_MS;
    check(js_PublishAsyncComplete(jetstream, &options), "the last chunks");
    return count;
}

static void publish_meta(jsCtx *jetstream, size_t length, size_t count) {
    char text[256];
    natsMsg *message = NULL;
    jsErrCode code = 0;
    int size = snprintf(text, sizeof text,
                        "{\"name\":\"bench\",\"bucket\":\"bench\",\"nuid\":\"bench\","
                        "\"size\":%zu,\"chunks\":%zu}",
                        length, count);
    check(natsMsg_Create(&message, meta_subject, NULL, text, size), "the meta");
    check(natsMsgHeader_Set(message, "Nats-Rollup", "sub"), "the meta");
    check(js_PublishMsg(NULL, jetstream, message, NULL, &code), "the meta");
    natsMsg_Destroy(message);
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        errx(2, "usage: chunks NATS-URL FILE [MB-PER-SECOND]");
    }
    size_t length;
    const char *data = read_file(argv[2], &length);
    natsConnection *connection = connect_to(argv[1]);
    jsCtx *jetstream = open_bucket(connection);
    double start = client_now_s(), cpu_start = client_cpu_s();
    size_t count = publish_chunks(jetstream, data, length, argc > 3 ? atof(argv[3]) : 0);
    publish_meta(jetstream, length, count);
    printf("%zu %.6f %.6f\n", count, client_now_s() - start, client_cpu_s() - cpu_start);
    jsCtx_Destroy(jetstream);
    natsConnection_Destroy(connection);
    return 0;
}
