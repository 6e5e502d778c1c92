/* SPDX-License-Identifier: Apache-2.0 */

/* See client.h. */

#include "client.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

double client_now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double client_cpu_s(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

unsigned long client_number(const char *text, unsigned long least) {
    char *end = NULL;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < least) {
        errx(2, "%s is not a number of at least %lu", text, least);
    }
    return number;
}

int client_connect(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)client_number(port, 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int is_on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &is_on, sizeof is_on) != 0) {
        err(1, "connecting to port %s", port);
    }
    return fd;
}

void client_send(int fd, const char *data, size_t length) {
    while (length > 0) {
        ssize_t count = send(fd, data, length, MSG_NOSIGNAL);
        if (count < 0) {
            err(1, "sending");
        }
        data += count;
        length -= (size_t)count;
    }
}

void client_send_get(int fd, const char *port, const char *target) {
    char head[512];
    int size =
        snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nTE: chunked\r\n\r\n",
                 target, port);
    if (size >= (int)sizeof head) {
        errx(2, "%s is too long", target);
    }
    client_send(fd, head, (size_t)size);
}

/* ---- answers in chunks ---- */

/* Collects the start of a line. Returns: whether its end has come; `*data` then stands behind it.
 */
static bool take_line(struct chunked *chunked, const char **data, const char *end) {
    while (*data < end) {
        char byte = *(*data)++;
        if (byte == '\n') {
            return true;
        }
        if (byte != '\r') {
            if (chunked->text_length < sizeof chunked->text - 1) {
                chunked->text[chunked->text_length] = byte;
            }
            chunked->text_length++;
        }
    }
    return false;
}

static void end_status(struct chunked *chunked) {
    if (memcmp(chunked->text, "HTTP/1.1 200", 12) != 0) {
        errx(1, "the answer is %.15s", chunked->text);
    }
    chunked->state = CHUNKED_HEAD;
}

static void end_size(struct chunked *chunked) {
    char *end = NULL;
    chunked->left = strtoul(chunked->text, &end, 16);
    if (end == chunked->text) {
        errx(1, "\"%s\" is no size of a chunk", chunked->text);
    }
    chunked->state = chunked->left > 0 ? CHUNKED_DATA : CHUNKED_END;
}

static void end_line(struct chunked *chunked) {
    switch (chunked->state) {
    case CHUNKED_STATUS:
        end_status(chunked);
        break;
    case CHUNKED_HEAD:
        chunked->state = chunked->text_length == 0 ? CHUNKED_SIZE : CHUNKED_HEAD;
        break;
    case CHUNKED_DATA_END:
        chunked->state = CHUNKED_SIZE;
        break;
    default:
        end_size(chunked);
    }
    memset(chunked->text, 0, sizeof chunked->text);
    chunked->text_length = 0;
}

static void count_lines(struct chunked *chunked, const char *data, size_t size) {
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t length = newline != NULL ? (size_t)(newline - data) : size;
        chunked->byte_count += length;
        chunked->is_in_line |= length > 0;
        if (newline == NULL) {
            return;
        }
        chunked->line_count += chunked->is_in_line ? 1 : 0;
        chunked->is_in_line = false;
        data += length + 1;
        size -= length + 1;
    }
}

void chunked_take(struct chunked *chunked, const char *data, size_t size) {
    const char *end = data + size;
    while (data < end && chunked->state != CHUNKED_END) {
        if (chunked->state != CHUNKED_DATA) {
            if (take_line(chunked, &data, end)) {
                end_line(chunked);
            }
            continue;
        }
        size_t part = (size_t)(end - data) < chunked->left ? (size_t)(end - data) : chunked->left;
        count_lines(chunked, data, part);
        data += part;
        chunked->left -= part;
        chunked->state = chunked->left > 0 ? CHUNKED_DATA : CHUNKED_DATA_END;
    }
}
