/* SPDX-License-Identifier: Apache-2.0 */

/* hold PORT TARGET READERS: opens so many readers of a stream, prints "open", and holds them until
 * it is ended. What keeps their connections alive is read and thrown away. */

#include "crowd.h"

#include <err.h>
#include <stdio.h>
#include <sys/epoll.h>

enum { EVENTS_MAX = 256 };

static void hold(struct crowd *crowd) {
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(crowd->epoll_fd, events, EVENTS_MAX, -1);
    for (int i = 0; i < count; i++) {
        crowd_read(events[i].data.ptr);
    }
}

int main(int argc, char **argv) {
    struct crowd crowd;
    if (argc != 4) {
        errx(2, "usage: hold PORT TARGET READERS");
    }
    crowd_open(&crowd, argv[1], argv[2], client_number(argv[3], 1));
    puts("open");
    fflush(stdout);
    for (;;) {
        hold(&crowd);
    }
}
