/* SPDX-License-Identifier: Apache-2.0 */

/* The protocol is sd_notify(3): one datagram of lines KEY=VALUE to a socket in the file system, or
 * to one with an abstract name, whose first byte is written as @. */

#include "service_manager.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"

/* Returns: the length of the address; 0, with errno set: it is none. */
static socklen_t read_address(const char *name, struct sockaddr_un *out) {
    const size_t length = strlen(name);
    if (length >= sizeof out->sun_path || (name[0] != '/' && name[0] != '@')) {
        errno = EINVAL;
        return 0;
    }
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path, name, length);
    if (name[0] == '@') {
        out->sun_path[0] = '\0';
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static bool send_to(const struct sockaddr_un *address, socklen_t length, const char *state,
                    unsigned patience_ms) {
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    const struct timeval patience = {.tv_sec = patience_ms / 1000,
                                     .tv_usec = (suseconds_t)(patience_ms % 1000) * 1000};
    const bool may_wait = /* a time of 0 would be without end */
        patience_ms > 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0;
    const ssize_t sent =
        sendto(fd, state, strlen(state), MSG_NOSIGNAL | (may_wait ? 0 : MSG_DONTWAIT),
               (const struct sockaddr *)address, length);
    const int error = errno;
    close(fd);
    errno = error;
    return sent >= 0;
}

bool service_manager_tell(const char *state, unsigned patience_ms) {
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    if (name == NULL || name[0] == '\0') {
        return true;
    }
    const socklen_t length = read_address(name, &address);
    const bool is_told = length != 0 && send_to(&address, length, state, patience_ms);
    if (!is_told) {
        const int error = errno;
        const char *why = strerror(error);
        log_write(LOG_SERVICE, parley_bytes_of(why), LOG_FIELDS(LOG_TEXT("state", state)));
        errno = error;
    }
    return is_told;
}

void service_manager_beat(void) {
    if (getenv("WATCHDOG_USEC") != NULL) {
        service_manager_tell("WATCHDOG=1", 0);
    }
}
