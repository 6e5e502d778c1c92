/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Many readers of one stream, on one thread: each has its own connection, whose answer is read as
 * it comes and thrown away but for the count of its lines. */

#include "client.h"

struct reader {
    int fd;
    struct chunked answer;
};

struct crowd {
    int epoll_fd;
    struct reader *readers;
    size_t count, open_count;
};

/* Raises the limit of open files as far as the system lets, opens `count` readers, and returns
 * once each has the head of its answer. It exits when that fails. */
void crowd_open(struct crowd *crowd, const char *port, const char *target, size_t count);

/* Reads once. It exits when the connection has ended. Returns: how many lines became whole. */
uint64_t crowd_read(struct reader *reader);
