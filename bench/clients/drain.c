/* SPDX-License-Identifier: Apache-2.0 */

/* drain PORT TARGET: reads a stream to its end, throws it away, and prints how many lines and bytes
 * it had, and the seconds from the request to the last byte. */

#include "client.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { READ_BYTES = 1024 * 1024 };

int main(int argc, char **argv) {
    struct chunked answer = {0};
    if (argc != 3) {
        errx(2, "usage: drain PORT TARGET");
    }
    char *data = malloc(READ_BYTES);
    if (data == NULL) {
        err(1, "malloc");
    }
    int fd = client_connect(argv[1]);
    double start = client_now_s();
    client_send_get(fd, argv[1], argv[2]);
    while (!chunked_has_ended(&answer)) {
        ssize_t count = recv(fd, data, READ_BYTES, 0);
        if (count <= 0) {
            errx(1, "the answer was cut short after %" PRIu64 " lines", answer.line_count);
        }
        chunked_take(&answer, data, (size_t)count);
    }
    printf("{\"lines\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"seconds\":%.6f}\n", answer.line_count,
           answer.byte_count, client_now_s() - start);
    free(data);
    return 0;
}
