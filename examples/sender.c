/* Sends messages, one JSON a line of standard input, each until parley has stored it.
 *   cc -o sender sender.c && ./sender [HOST [PORT [PATH]]] <messages.ndjson
 * PARLEY_TOKEN: a token, if the server asks for one.
 * Exit status: 0 all were stored, 1 some were refused: standard error says why. */
#define _GNU_SOURCE
#include "request.h"

#include <string.h>

/* The same line is stored once, however often it is sent within the dedupe window (FNV-1a). */
static unsigned long long key_of(const char *line) {
    unsigned long long key = 14695981039346656037u;
    for (; *line != '\0'; line++) {
        key = (key ^ (unsigned char)*line) * 1099511628211u;
    }
    return key;
}

/* Prints the answer, and returns the status; 0 without one: the message may have been stored, or
 * not. */
static int post(const char *host, const char *port, const char *path, const char *line) {
    char text[8192];
    int status = 0;
    FILE *server = request(host, port, "POST", path);
    if (server == NULL) {
        return 0;
    }
    fprintf(server, "Idempotency-Key: %016llx\r\nContent-Type: application/json\r\n", key_of(line));
    fprintf(server, "Content-Length: %zu\r\n\r\n%s", strlen(line), line);
    fflush(server);
    while (fgets(text, sizeof text, server) != NULL && strcmp(text, "\r\n") != 0) {
        sscanf(text, "HTTP/%*s %d", &status);
    }
    while (fgets(text, sizeof text, server) != NULL) {
        fputs(text, status == 200 ? stdout : stderr);
    }
    fclose(server);
    return status;
}

int main(int argc, char **argv) {
    const char *host = argc > 1 ? argv[1] : "localhost", *port = argc > 2 ? argv[2] : "8080";
    const char *path = argc > 3 ? argv[3] : "/v1/vlp/messages";
    char *line = NULL;
    size_t room = 0;
    int is_refused = 0;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        int status = *line == '\0' ? 200 : post(host, port, path, line);
        while (status == 0 || status == 429 || status == 503 ||
               status == 504) { /* may be repeated */
            usleep(500000);
            status = post(host, port, path, line);
        }
        is_refused |= status != 200;
    }
    free(line);
    return is_refused;
}
