/* Follows a stream and prints its events, one a line. It goes on where it was after a restart of
 * itself, because it keeps the resume token in a file, and after one of the server.
 *   cc -o reader reader.c && PARLEY_TOKEN=… ./reader [HOST [PORT [PATH [FILE]]]] */
#define _GNU_SOURCE
#include "request.h"

#include <string.h>

static char token[8192] = "all"; /* the first time */

/* The first "NAME":" of a line is the event's own, since a quote within a text has a backslash. */
static int find(const char *line, const char *name, char *out, size_t size) {
    const char *at = strstr(line, name);
    const size_t length = at != NULL ? strcspn(at + strlen(name), "\"") : size;
    if (length < size) {
        memcpy(out, at + strlen(name), length);
        out[length] = '\0';
    }
    return length < size;
}

static void take(const char *line, const char *file) {
    char type[128];
    if (strncmp(line, "{\"specversion\"", 14) != 0 ||
        !find(line, "\"type\":\"", type, sizeof type)) {
        return; /* an empty line, the head, or a problem */
    }
    if (strcmp(type, "parley.open") != 0 && strcmp(type, "parley.keepalive") != 0) {
        fputs(line, strncmp(type, "parley.", 7) != 0 ? stdout : stderr); /* what you do with it */
        fflush(stdout);
    }
    /* Never half a token, and only now: a reader killed before this gets the message again. */
    FILE *out = find(line, "\"resume\":\"", token, sizeof token) ? fopen("resume.new", "w") : NULL;
    if (out != NULL && fputs(token, out) >= 0 && fclose(out) == 0) {
        rename("resume.new", file);
    }
}

int main(int argc, char **argv) {
    const char *host = argc > 1 ? argv[1] : "localhost", *port = argc > 2 ? argv[2] : "8080";
    const char *path = argc > 3 ? argv[3] : "/v1/vlp/stream";
    const char *file = argc > 4 ? argv[4] : "resume-token";
    char *line = NULL, target[9000];
    size_t room = 0;
    FILE *in = fopen(file, "r");
    if (in != NULL && fgets(token, sizeof token, in) != NULL) {
        fclose(in);
    }
    for (;; usleep(500000)) {
        snprintf(target, sizeof target, "%s?since=%s", path, token);
        FILE *server = request(host, port, "GET", target);
        if (server != NULL && fputs("\r\n", server) >= 0 && fflush(server) == 0) {
            while (getline(&line, &room, server) > 0 && strchr(line, '\n') != NULL) {
                take(line, file); /* a line without an end was cut off */
            }
            fclose(server);
        }
    }
}
