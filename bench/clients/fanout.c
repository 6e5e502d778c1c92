/* SPDX-License-Identifier: Apache-2.0 */

/* fanout PORT TARGET READERS PUBLISH CLAIM WINDOW SECONDS: how fast one event reaches everybody.
 * It opens so many readers of TARGET, posts the claim in CLAIM (each time with another id) to
 * PUBLISH, and posts the next one when all readers have the one WINDOW before it: a closed loop,
 * in which nobody is ever further behind than that. It prints what was delivered, how fast, and how
 * long the last reader of all waited for each; the first WINDOW events are not counted. Every
 * reader must have had the same bytes, each event once; otherwise it exits with an error. */

#include "crowd.h"

#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WINDOW_MAX = 64,
    EVENTS_MAX = 256,
    LOST_MS = 10000,    /* nothing comes for so long: it is lost */
    LEFT_OVER_MS = 200, /* nothing more must come for so long */
    LATENCIES_MAX = 1 << 20,
    BODY_MAX = 4096,
    ID_DIGITS_OFFSET = sizeof "{\"id\":\"MSG-" - 1,
    ID_DIGITS = 11,
};

/* A connection that posts, one event at a time. */
struct sender {
    int fd;
    bool is_busy;
    char answer[BODY_MAX];
    size_t length;
};

struct fanout {
    struct crowd crowd;
    struct sender senders[WINDOW_MAX];
    size_t window;
    const char *port, *target;
    char body[BODY_MAX];
    size_t body_length;
    uint64_t posted_count, whole_count; /* whole: all readers have it */
    uint64_t received[WINDOW_MAX];      /* how many readers have the event of that place */
    double posted_s[WINDOW_MAX];
    double *latencies;
    size_t latency_count;
    double start_s, end_s;
};

static void read_claim(struct fanout *fanout, const char *file) {
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, fanout->body, sizeof fanout->body - 1) : -1;
    if (length < ID_DIGITS_OFFSET + ID_DIGITS) {
        err(1, "%s", file);
    }
    close(fd);
    fanout->body_length = (size_t)length;
    if (fanout->body[fanout->body_length - 1] != '\n') {
        fanout->body[fanout->body_length++] = '\n';
    }
}

/* ---- posting ---- */

static void open_senders(struct fanout *fanout) {
    for (size_t i = 0; i < fanout->window; i++) {
        struct sender *sender = &fanout->senders[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = sender};
        sender->fd = client_connect(fanout->port);
        if (epoll_ctl(fanout->crowd.epoll_fd, EPOLL_CTL_ADD, sender->fd, &event) != 0) {
            err(1, "epoll_ctl");
        }
    }
}

static void post(struct fanout *fanout, struct sender *sender) {
    char request[512 + BODY_MAX], digits[ID_DIGITS + 1];
    snprintf(digits, sizeof digits, "%0*" PRIu64, ID_DIGITS, fanout->posted_count + 1);
    memcpy(fanout->body + ID_DIGITS_OFFSET, digits, ID_DIGITS);
    int length = snprintf(request, sizeof request,
                          "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Length: %zu\r\n"
                          "Content-Type: application/json\r\n\r\n%.*s",
                          fanout->target, fanout->port, fanout->body_length,
                          (int)fanout->body_length, fanout->body);
    if (length >= (int)sizeof request) {
        errx(2, "%s is too long", fanout->target);
    }
    const size_t place = fanout->posted_count++ % fanout->window;
    fanout->received[place] = 0;
    fanout->posted_s[place] = client_now_s();
    sender->is_busy = true;
    sender->length = 0;
    client_send(sender->fd, request, (size_t)length);
}

static bool is_whole_answer(const struct sender *sender) {
    const char *head_end = strstr(sender->answer, "\r\n\r\n");
    const char *field = strcasestr(sender->answer, "\r\nContent-Length:");
    if (head_end == NULL) {
        return false;
    }
    if (strncmp(sender->answer, "HTTP/1.1 20", 11) != 0 || field == NULL || field > head_end) {
        errx(1, "an event was answered with %s", sender->answer);
    }
    size_t body_length = strtoul(field + strlen("\r\nContent-Length:"), NULL, 10);
    return sender->length >= (size_t)(head_end + 4 - sender->answer) + body_length;
}

static void read_answer(struct sender *sender) {
    ssize_t count = recv(sender->fd, sender->answer + sender->length,
                         sizeof sender->answer - 1 - sender->length, MSG_DONTWAIT);
    if (count <= 0) {
        errx(1, "the connection that posts has ended");
    }
    sender->length += (size_t)count;
    sender->answer[sender->length] = '\0';
    sender->is_busy = !is_whole_answer(sender);
}

static void post_what_may_go(struct fanout *fanout) {
    for (size_t i = 0; i < fanout->window; i++) {
        if (fanout->posted_count - fanout->whole_count >= fanout->window) {
            return;
        }
        if (!fanout->senders[i].is_busy) {
            post(fanout, &fanout->senders[i]);
        }
    }
}

/* ---- reading ---- */

static void event_is_whole(struct fanout *fanout) {
    double now_s = client_now_s();
    double latency_s = now_s - fanout->posted_s[fanout->whole_count % fanout->window];
    fanout->whole_count++;
    if (fanout->whole_count <= fanout->window) {
        fanout->start_s = now_s;
        return;
    }
    fanout->end_s = now_s;
    if (fanout->latency_count < LATENCIES_MAX) {
        fanout->latencies[fanout->latency_count++] = latency_s;
    }
}

/* The reader's latest `count` lines. Each reader counts in order, so events become whole in order.
 */
static void take_lines(struct fanout *fanout, const struct reader *reader, uint64_t count) {
    const uint64_t last = reader->answer.line_count;
    if (last > fanout->posted_count) {
        errx(1, "a reader has %" PRIu64 " lines of %" PRIu64 " events", last, fanout->posted_count);
    }
    for (uint64_t number = last - count; number < last; number++) {
        if (++fanout->received[number % fanout->window] == fanout->crowd.count) {
            event_is_whole(fanout);
        }
    }
}

/* Returns: whether anything came within that time. */
static bool turn(struct fanout *fanout, int wait_ms) {
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(fanout->crowd.epoll_fd, events, EVENTS_MAX, wait_ms);
    for (int i = 0; i < count; i++) {
        struct sender *sender = events[i].data.ptr;
        if (sender >= fanout->senders && sender < fanout->senders + fanout->window) {
            read_answer(sender);
            continue;
        }
        uint64_t lines = crowd_read(events[i].data.ptr);
        if (lines > 0) {
            take_lines(fanout, events[i].data.ptr, lines);
        }
    }
    return count > 0;
}

/* Returns: false once time is up and all readers have all events. */
static bool has_more(struct fanout *fanout, double seconds) {
    if (fanout->whole_count <= fanout->window || client_now_s() - fanout->start_s < seconds) {
        post_what_may_go(fanout);
        return true;
    }
    return fanout->whole_count < fanout->posted_count;
}

static void run(struct fanout *fanout, double seconds) {
    while (has_more(fanout, seconds)) {
        if (!turn(fanout, LOST_MS)) {
            errx(1, "lost: of %" PRIu64 " events all readers have %" PRIu64, fanout->posted_count,
                 fanout->whole_count);
        }
    }
    while (turn(fanout, LEFT_OVER_MS)) {
    }
}

static void check_all(const struct fanout *fanout) {
    const struct reader *readers = fanout->crowd.readers;
    for (size_t i = 0; i < fanout->crowd.count; i++) {
        if (readers[i].answer.line_count != fanout->posted_count ||
            readers[i].answer.byte_count != readers[0].answer.byte_count) {
            errx(1, "a reader has %" PRIu64 " lines of %" PRIu64 " bytes, another %" PRIu64,
                 readers[i].answer.line_count, readers[i].answer.byte_count,
                 readers[0].answer.byte_count);
        }
    }
}

/* ---- the report ---- */

static int by_size(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void report(struct fanout *fanout) {
    const uint64_t events = fanout->whole_count - fanout->window;
    const double seconds = fanout->end_s - fanout->start_s;
    const size_t count = fanout->latency_count;
    if (events == 0 || count == 0) {
        errx(1, "no event was delivered in that time");
    }
    qsort(fanout->latencies, count, sizeof *fanout->latencies, by_size);
    printf("{\"posted\":%" PRIu64 ",\"events\":%" PRIu64 ",\"readers\":%zu,\"lost\":0,"
           "\"seconds\":%.6f,\"deliveries_per_second\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f}\n",
           fanout->posted_count, events, fanout->crowd.count, seconds,
           (double)events * (double)fanout->crowd.count / seconds,
           fanout->latencies[count / 2] * 1e3, fanout->latencies[count * 99 / 100] * 1e3);
}

int main(int argc, char **argv) {
    static struct fanout fanout;
    if (argc != 8) {
        errx(2, "usage: fanout PORT TARGET READERS PUBLISH CLAIM WINDOW SECONDS");
    }
    fanout.port = argv[1];
    fanout.target = argv[4];
    fanout.window = client_number(argv[6], 1);
    fanout.latencies = malloc(LATENCIES_MAX * sizeof *fanout.latencies);
    if (fanout.window > WINDOW_MAX || fanout.latencies == NULL) {
        errx(2, "the window is at most %d", WINDOW_MAX);
    }
    read_claim(&fanout, argv[5]);
    crowd_open(&fanout.crowd, argv[1], argv[2], client_number(argv[3], 1));
    open_senders(&fanout);
    run(&fanout, (double)client_number(argv[7], 1));
    check_all(&fanout);
    report(&fanout);
    free(fanout.latencies);
    return 0;
}
