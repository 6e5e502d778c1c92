/* SPDX-License-Identifier: Apache-2.0 */

/* hold PORT TARGET READERS: opens so many readers of a stream, prints "open", and holds them until
 * standard input ends. What keeps their connections alive is read and thrown away. */

#include "crowd.h"

#include <err.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_MAX = 256 };

/* Returns: false once standard input has ended. */
static bool hold(struct crowd *crowd) {
    struct epoll_event events[EVENTS_MAX];
    char byte = 0;
    int count = epoll_wait(crowd->epoll_fd, events, EVENTS_MAX, -1);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == NULL) {
            return read(STDIN_FILENO, &byte, 1) > 0;
        }
        crowd_read(events[i].data.ptr);
    }
    return true;
}

int main(int argc, char **argv) {
    struct crowd crowd;
    struct epoll_event event = {.events = EPOLLIN};
    if (argc != 4) {
        errx(2, "usage: hold PORT TARGET READERS");
    }
    crowd_open(&crowd, argv[1], argv[2], client_number(argv[3], 1));
    if (epoll_ctl(crowd.epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) {
        err(1, "standard input must be a pipe");
    }
    puts("open");
    fflush(stdout);
    while (hold(&crowd)) {
    }
    return 0;
}
