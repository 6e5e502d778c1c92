/* A request to parley, for sender.c and reader.c. With HTTP/1.0 the answer ends with the connection
 * and has no chunks. For TLS use a library such as libcurl. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static FILE *dial(const char *host, const char *port) {
    const struct timeval silence = {.tv_sec = 40}; /* on a stream a keep-alive comes every 15 s */
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int fd = -1;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        return NULL;
    }
    for (struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype, 0);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd >= 0 ? fdopen(fd, "r+") : NULL;
}

/* Sends the first lines of a head. Returns NULL if nobody answers. */
static FILE *request(const char *host, const char *port, const char *method, const char *target) {
    const char *token = getenv("PARLEY_TOKEN");
    FILE *server = dial(host, port);
    if (server != NULL) {
        fprintf(server, "%s %s HTTP/1.0\r\nHost: %s\r\n", method, target, host);
    }
    if (server != NULL && token != NULL) {
        fprintf(server, "Authorization: Bearer %s\r\n", token);
    }
    return server;
}
