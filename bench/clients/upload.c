/* SPDX-License-Identifier: Apache-2.0 */

/* upload PORT TARGET FILE: posts FILE as one NDJSON body to 127.0.0.1, reads the answer while it
 * sends, and prints the status, the seconds from the first byte sent to the last one read, and the
 * end of the answer. It takes as little of the machine as it can (sendfile, and the answer is
 * thrown away unread), since it shares the cores with what it measures. */

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TAIL_BYTES = 256, READ_BYTES = 256 * 1024, SEND_BYTES = 1024 * 1024 };

struct answer {
    char head[16]; /* the start of the status line */
    size_t length; /* of the whole answer, head and all */
    char tail[TAIL_BYTES];
    size_t tail_length;
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int connect_to(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)strtoul(port, NULL, 10)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        err(1, "connecting to port %s", port);
    }
    return fd;
}

static void send_head(int fd, const char *port, const char *target, off_t length) {
    char head[512];
    int size = snprintf(head, sizeof head,
                        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n"
                        "Content-Type: application/x-ndjson\r\nContent-Length: %lld\r\n\r\n",
                        target, port, (long long)length);
    if (size >= (int)sizeof head || send(fd, head, (size_t)size, MSG_NOSIGNAL) != size) {
        err(1, "sending");
    }
}

static void answer_take(struct answer *answer, const char *data, size_t size) {
    if (answer->length < sizeof answer->head) {
        size_t room = sizeof answer->head - answer->length;
        memcpy(answer->head + answer->length, data, size < room ? size : room);
    }
    answer->length += size;
    if (size >= TAIL_BYTES) {
        memcpy(answer->tail, data + size - TAIL_BYTES, TAIL_BYTES);
        answer->tail_length = TAIL_BYTES;
        return;
    }
    size_t kept = answer->tail_length;
    if (kept > TAIL_BYTES - size) {
        kept = TAIL_BYTES - size;
        memmove(answer->tail, answer->tail + answer->tail_length - kept, kept);
    }
    memcpy(answer->tail + kept, data, size);
    answer->tail_length = kept + size;
}

/* Returns: false at the end of the answer. */
static bool read_some(int fd, struct answer *answer) {
    char data[READ_BYTES];
    ssize_t count = recv(fd, data, sizeof data, MSG_DONTWAIT);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        err(1, "reading the answer");
    }
    if (count > 0) {
        answer_take(answer, data, (size_t)count);
    }
    return count != 0;
}

static void exchange(int fd, int file, off_t length, struct answer *answer) {
    off_t sent = 0;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (sent < length) {
            ready.events |= POLLOUT;
        }
        poll(&ready, 1, -1);
        if ((ready.revents & POLLOUT) != 0 && sent < length &&
            sendfile(fd, file, &sent, SEND_BYTES) < 0 && errno != EAGAIN) {
            err(1, "sending");
        }
        if ((ready.revents & ~POLLOUT) != 0 && !read_some(fd, answer)) {
            return;
        }
    }
}

int main(int argc, char **argv) {
    struct answer answer = {0};
    struct stat status;
    if (argc != 4) {
        errx(2, "usage: upload PORT TARGET FILE");
    }
    int file = open(argv[3], O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0) {
        err(1, "%s", argv[3]);
    }
    int fd = connect_to(argv[1]);
    double start = now_s();
    send_head(fd, argv[1], argv[2], status.st_size);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    exchange(fd, file, status.st_size, &answer);
    double seconds = now_s() - start;
    if (answer.length < sizeof answer.head) {
        errx(1, "the answer has only %zu bytes", answer.length);
    }
    printf("%.3s %.6f\n%.*s\n", answer.head + 9, seconds, (int)answer.tail_length, answer.tail);
    return 0;
}
