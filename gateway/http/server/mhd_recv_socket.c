/* SPDX-License-Identifier: Apache-2.0 */

/* Reads a connection's socket, and keeps the data that must wait: received, and not given to
 * libmicrohttpd. */

#include <errno.h>
#include <string.h>

#include "http_internal.h"

/* recv by another name. ThreadSanitizer, whose recv is hidden by parley's, learns from the data
 * read by recvmsg that it came after the write at the other end; from recvfrom it does not, and
 * takes data that libraries pass from thread to thread through NATS for a race. */
ssize_t mhd_recv_read(int fd, void *buffer, size_t size, int flags) {
#ifdef __SANITIZE_THREAD__
    struct iovec piece = {.iov_base = buffer, .iov_len = size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    return recvmsg(fd, &message, flags);
#else
    return recvfrom(fd, buffer, size, flags, NULL, NULL);
#endif
}

/* As recv.  `size`: not 0. */
ssize_t mhd_recv_receive(struct http_connection *connection, char *out, size_t size) {
    struct mhd_recv *wire = &connection->wire;
    const ssize_t count = mhd_recv_read(connection->watch.fd, out, size, MSG_DONTWAIT);
    wire->is_drained = count < (ssize_t)size;
    wire->has_ended = count == 0;
    wire->error = count < 0 ? errno : 0;
    return count;
}

void mhd_recv_drop(struct mhd_recv *wire, size_t length) {
    struct parley_buffer *pending = &wire->pending;
    pending->length -= length;
    memmove(pending->data, pending->data + length, pending->length);
    wire->scanned = 0;
    if (pending->length == 0) {
        parley_buffer_finish(pending); /* few connections need it twice */
    }
}

/* Takes the pending bytes, then reads the socket.  As recv. */
ssize_t mhd_recv_take(struct http_connection *connection, char *out, size_t size) {
    struct mhd_recv *wire = &connection->wire;
    const size_t pending = wire->pending.length < size ? wire->pending.length : size;
    if (pending == 0) {
        return mhd_recv_receive(connection, out, size);
    }
    memcpy(out, wire->pending.data, pending);
    mhd_recv_drop(wire, pending);
    if (pending == size) {
        wire->is_drained = false;
        return (ssize_t)size;
    }
    const ssize_t count = mhd_recv_receive(connection, out + pending, size - pending);
    return (ssize_t)pending + (count > 0 ? count : 0);
}

void mhd_recv_put_back(struct mhd_recv *wire, const char *data, size_t length) {
    struct parley_buffer *pending = &wire->pending;
    const size_t before = pending->length;
    parley_buffer_append(pending, (struct parley_bytes){data, length});
    if (before > 0 && length > 0 && parley_buffer_status(pending) == PARLEY_OK) {
        memmove(pending->data + length, pending->data, before);
        memcpy(pending->data, data, length);
    }
}
