/* SPDX-License-Identifier: Apache-2.0 */

/* See corpus.h. */

#include "corpus.h"

#include "client.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALLS_MAX = 1 << 20 };

#define WARM_UP_S 0.1
#define CLOCK_EVERY_S 0.005 /* the clock is asked no more often, or it would be measured, too */

struct corpus corpus_open(const char *file) {
    struct stat status;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        err(1, "%s", file);
    }
    struct corpus corpus = {.length = (size_t)status.st_size};
    corpus.data = malloc(corpus.length + 1);
    if (corpus.data == NULL || read(fd, corpus.data, corpus.length) != status.st_size) {
        err(1, "%s", file);
    }
    close(fd);
    return corpus;
}

void corpus_close(struct corpus *corpus) {
    free(corpus->data);
    *corpus = (struct corpus){0};
}

/* How many calls take about CLOCK_EVERY_S; it warms up what is called, too. */
static unsigned calls_between_clocks(const struct corpus *corpus, corpus_work_fn *work,
                                     void *context) {
    double start_s = client_now_s(), now_s = start_s;
    double calls = 0;
    while (now_s - start_s < WARM_UP_S) {
        work(context, corpus);
        calls++;
        now_s = client_now_s();
    }
    double wanted = calls / (now_s - start_s) * CLOCK_EVERY_S;
    return wanted < 1 ? 1 : wanted > CALLS_MAX ? CALLS_MAX : (unsigned)wanted;
}

void corpus_measure(const struct corpus *corpus, const char *seconds, corpus_work_fn *work,
                    void *context) {
    const double wanted_s = (double)client_number(seconds, 1);
    const unsigned calls = calls_between_clocks(corpus, work, context);
    const double start_s = client_now_s(), start_cpu_s = client_cpu_s();
    double now_s = start_s;
    uint64_t message_count = 0, pass_count = 0;
    while (now_s - start_s < wanted_s) {
        for (unsigned i = 0; i < calls; i++) {
            message_count += work(context, corpus);
        }
        pass_count += calls;
        now_s = client_now_s();
    }
    printf(
        "{\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%.6f,\"cpu_seconds\":%.6f}\n",
        message_count, pass_count * corpus->length, now_s - start_s, client_cpu_s() - start_cpu_s);
}
