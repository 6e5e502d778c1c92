/* SPDX-License-Identifier: Apache-2.0 */

/* feed PORT TARGET CLAIM FIRST COUNT: posts COUNT lines as one NDJSON body, each the claim in CLAIM
 * with a number from FIRST on in its id, and reads the answer while it sends. Nothing of the body
 * lies on a disk, whatever its size. It prints the status, the bytes sent, the seconds, and
 * the end of the answer. */

#include "client.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LINE_MAX = 4096,
    LINES_AT_ONCE = 512,
    TAIL_BYTES = 512,
    READ_BYTES = 256 * 1024,
    ID_DIGITS_OFFSET = sizeof "{\"id\":\"MSG-" - 1,
    ID_DIGITS = 11,
};

struct feed {
    char lines[LINE_MAX * LINES_AT_ONCE];
    size_t line_length;        /* with its end */
    size_t ready, sent;        /* of `lines`, in bytes */
    uint64_t next, end;        /* numbers of lines */
    char status[4];            /* of the answer … */
    char tail[TAIL_BYTES + 1]; /* … and its end */
    size_t answer_length, tail_length;
};

static void read_claim(struct feed *feed, const char *file) {
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, feed->lines, LINE_MAX - 1) : -1;
    if (length < ID_DIGITS_OFFSET + ID_DIGITS) {
        err(1, "%s", file);
    }
    close(fd);
    feed->line_length = (size_t)length;
    if (feed->lines[length - 1] != '\n') {
        feed->lines[feed->line_length++] = '\n';
    }
    for (size_t i = 1; i < LINES_AT_ONCE; i++) {
        memcpy(feed->lines + i * feed->line_length, feed->lines, feed->line_length);
    }
}

static void number_line(char *line, uint64_t number) {
    for (size_t i = ID_DIGITS; i > 0; i--, number /= 10) {
        line[ID_DIGITS_OFFSET + i - 1] = (char)('0' + number % 10);
    }
}

static void make_lines(struct feed *feed) {
    feed->ready = feed->sent = 0;
    for (size_t i = 0; i < LINES_AT_ONCE && feed->next < feed->end; i++) {
        number_line(feed->lines + i * feed->line_length, feed->next++);
        feed->ready += feed->line_length;
    }
}

/* Returns: whether there is anything left to send. */
static bool send_some(struct feed *feed, int fd) {
    if (feed->sent == feed->ready) {
        make_lines(feed);
    }
    if (feed->ready == 0) {
        return false;
    }
    ssize_t count =
        send(fd, feed->lines + feed->sent, feed->ready - feed->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN) {
        err(1, "sending; the answer so far: %s", feed->tail);
    }
    feed->sent += count > 0 ? (size_t)count : 0;
    return true;
}

/* ---- the answer ---- */

static void keep_tail(struct feed *feed, const char *data, size_t size) {
    size_t part = size < TAIL_BYTES ? size : TAIL_BYTES;
    size_t kept = feed->tail_length < TAIL_BYTES - part ? feed->tail_length : TAIL_BYTES - part;
    memmove(feed->tail, feed->tail + feed->tail_length - kept, kept);
    memcpy(feed->tail + kept, data + size - part, part);
    feed->tail_length = kept + part;
    feed->tail[feed->tail_length] = '\0';
}

/* Returns: false at the end of the answer. */
static bool read_some(struct feed *feed, int fd) {
    static char data[READ_BYTES];
    ssize_t count = recv(fd, data, sizeof data, MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        err(1, "reading the answer");
    }
    if (count > 0) {
        if (feed->answer_length == 0 && count > 12) {
            memcpy(feed->status, data + 9, 3);
        }
        feed->answer_length += (size_t)count;
        keep_tail(feed, data, (size_t)count);
    }
    return count != 0;
}

static void exchange(struct feed *feed, int fd) {
    bool is_sending = true;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN | (is_sending ? POLLOUT : 0)};
        poll(&ready, 1, -1);
        if ((ready.revents & POLLOUT) != 0) {
            is_sending = send_some(feed, fd);
        }
        if ((ready.revents & ~POLLOUT) != 0 && !read_some(feed, fd)) {
            return;
        }
    }
}

static void send_head(int fd, const char *port, const char *target, uint64_t length) {
    char head[512];
    int size = snprintf(head, sizeof head,
                        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n"
                        "Content-Type: application/x-ndjson\r\nContent-Length: %" PRIu64 "\r\n\r\n",
                        target, port, length);
    if (size >= (int)sizeof head) {
        errx(2, "%s is too long", target);
    }
    client_send(fd, head, (size_t)size);
}

int main(int argc, char **argv) {
    static struct feed feed;
    if (argc != 6) {
        errx(2, "usage: feed PORT TARGET CLAIM FIRST COUNT");
    }
    read_claim(&feed, argv[3]);
    feed.next = client_number(argv[4], 0);
    feed.end = feed.next + client_number(argv[5], 1);
    const uint64_t length = (feed.end - feed.next) * feed.line_length;
    int fd = client_connect(argv[1]);
    const double start_s = client_now_s();
    send_head(fd, argv[1], argv[2], length);
    exchange(&feed, fd);
    printf("%s %" PRIu64 " %.6f\n%s\n", feed.status, length, client_now_s() - start_s, feed.tail);
    close(fd);
    return 0;
}
