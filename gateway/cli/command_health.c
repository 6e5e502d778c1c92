/* SPDX-License-Identifier: Apache-2.0 */

/* `parley health`: one GET of /readyz, so that a container needs no HTTP client for its
 * HEALTHCHECK. It supports no redirects. */

#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "cli.h"
#include "configuration.h"
#include "listen_address.h"
#include "tls_client.h"

static const char help[] =
    "Usage: parley health [OPTION]… [URL]\n"
    "\n"
    "Asks a server whether it can accept messages (GET /readyz), and waits up to 2 s for the\n"
    "answer. Prints the reason if it cannot, and what else is wrong (\"but: …\") if it can.\n"
    "Without URL, it asks the server on this machine: at the address in PARLEY_LISTEN, else in\n"
    "the server's configuration file, else http://127.0.0.1:8080; by HTTPS if these name a\n"
    "certificate (tls-cert). Of a URL the certificate is verified; of this machine's server it\n"
    "is not.\n"
    "\n"
    "Options:\n"
    "  --config FILE  the server's configuration file [PARLEY_CONFIG]\n"
    "  --ca FILE      authorities (PEM) of the certificate of URL; without it, the system's\n"
    "  --cert FILE    the certificate (PEM) to show to a server that requires one\n"
    "  --key FILE     its private key (PEM)\n"
    "  -h, --help     print this text\n"
    "\n"
    "Exit status: 0 ready, 1 not ready or unreachable, 2 wrong usage.\n"
    "\n"
    "Example, for a Dockerfile:\n"
    "  HEALTHCHECK CMD [\"parley\", \"health\"]\n";

enum { CONFIG, CA, CERT, KEY, HELP };
static const struct argument_flag flags[] = {
    [CONFIG] = {"config", 0, true}, [CA] = {"ca", 0, true},        [CERT] = {"cert", 0, true},
    [KEY] = {"key", 0, true},       [HELP] = {"help", 'h', false}, {NULL, 0, false}};

#define DEADLINE_MS 2000

struct target {
    char host[256];
    char port[8];
    const char *path;
    bool is_tls;
    bool is_local; /* its certificate is not verified: what it says is not secret, nor is what is
                      asked, and who answers at this machine's address is the machine's concern */
};

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the address ---- */

/* Skips http:// or https://.  Returns: NULL: neither. */
static const char *skip_scheme(const char *url, bool *out_is_tls) {
    *out_is_tls = strncmp(url, "https://", 8) == 0;
    return *out_is_tls ? url + 8 : strncmp(url, "http://", 7) == 0 ? url + 7 : NULL;
}

/* http://HOST[:PORT][/PATH] or http://[ADDR6][:PORT][/PATH], or https.  Returns: whether it is one.
 */
static bool read_url(const char *url, struct target *out) {
    const char *host = skip_scheme(url, &out->is_tls);
    if (host == NULL) {
        return false;
    }
    out->is_local = false;
    const bool has_brackets = host[0] == '[';
    host += has_brackets;
    const size_t length = strcspn(host, has_brackets ? "]" : ":/");
    if (length == 0 || length >= sizeof out->host || (has_brackets && host[length] != ']')) {
        return false;
    }
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    const char *rest = host + length + has_brackets;
    snprintf(out->port, sizeof out->port, "%s", out->is_tls ? "443" : "80");
    if (rest[0] == ':') {
        const size_t digits = strspn(rest + 1, "0123456789");
        if (digits == 0 || digits > 5) {
            return false;
        }
        memcpy(out->port, rest + 1, digits);
        out->port[digits] = '\0';
        rest += 1 + digits;
    }
    out->path = rest[0] == '\0' || strcmp(rest, "/") == 0 ? "/readyz" : rest;
    return out->path[0] == '/' && strpbrk(out->path, " \r\n") == NULL;
}

static bool read_listen(const char *listen, struct target *out) {
    unsigned port;
    char address[64];
    const char *wrong = listen_address_read(listen, address, &port);
    if (wrong != NULL || port == 0) {
        terminal_error(
            "the address that the server listens on, '%s', %s; pass the server's URL instead",
            listen, wrong != NULL ? wrong : "has port 0, which is chosen at start");
        return false;
    }
    const bool is_any = listen_address_is_any(address);
    snprintf(out->host, sizeof out->host, "%s",
             !is_any                        ? address
             : strchr(address, ':') != NULL ? "::1"
                                            : "127.0.0.1");
    snprintf(out->port, sizeof out->port, "%u", port);
    out->path = "/readyz";
    out->is_local = true;
    return true;
}

/* The address of the server on this machine.  Returns: -1 to go on, else the exit status. */
static int find_local(const char *path, struct target *out) {
    struct configuration configuration;
    int status = configuration_load_listen(&configuration, path);
    if (status < 0 && !read_listen(configuration.listen, out)) {
        status = EXIT_USAGE;
    }
    out->is_tls = configuration.tls_cert != NULL;
    configuration_finish(&configuration);
    return status;
}

/* ---- the request ---- */

/* Waits until the socket is ready for `events`.  Returns: 0, or an errno. */
static int await(int fd, short events, int64_t deadline_ms) {
    struct pollfd poll_fd = {.fd = fd, .events = events};
    for (;;) {
        const int64_t left_ms = deadline_ms - now_ms();
        const int count = left_ms > 0 ? poll(&poll_fd, 1, (int)left_ms) : 0;
        if (count > 0) {
            return 0;
        }
        if (count == 0 || errno != EINTR) {
            return count == 0 ? ETIMEDOUT : errno;
        }
    }
}

static int connect_one(const struct addrinfo *address, int64_t deadline_ms, int *out_fd) {
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    int error = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        error = await(fd, POLLOUT, deadline_ms);
        socklen_t size = sizeof error;
        if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
            error = errno;
        }
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    *out_fd = fd;
    return 0;
}

/* Returns: NULL, or why it failed. */
static const char *connect_any(const struct target *target, int64_t deadline_ms, int *out_fd) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    const int resolved = getaddrinfo(target->host, target->port, &hints, &addresses);
    if (resolved != 0) {
        return gai_strerror(resolved);
    }
    int error = ETIMEDOUT;
    for (const struct addrinfo *at = addresses; at != NULL && now_ms() < deadline_ms;
         at = at->ai_next) {
        error = connect_one(at, deadline_ms, out_fd);
        if (error == 0) {
            break;
        }
    }
    freeaddrinfo(addresses);
    return error == 0 ? NULL : strerror(error);
}

/* Sends the request and reads the answer to its end, or as much as fits.  Returns: 0 or an errno;
 * out is a string then. */
static int exchange(int fd, struct parley_bytes request, int64_t deadline_ms, char *out,
                    size_t size) {
    /* A new socket takes this much at once. */
    if (send(fd, request.data, request.length, MSG_NOSIGNAL) != (ssize_t)request.length) {
        return EPIPE;
    }
    size_t used = 0;
    while (used < size - 1) {
        const int error = await(fd, POLLIN, deadline_ms);
        if (error != 0) {
            return error;
        }
        const ssize_t got = recv(fd, out + used, size - 1 - used, 0);
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            return errno;
        }
        if (got == 0) {
            break;
        }
        used += got > 0 ? (size_t)got : 0;
    }
    out[used] = '\0';
    return 0;
}

enum { REQUEST_MAX = 2048 };

/* Returns: the length; 0: it is too long. */
static size_t write_request(const struct target *target, char out[REQUEST_MAX]) {
    const bool is_6 = strchr(target->host, ':') != NULL;
    const int length = snprintf(
        out, REQUEST_MAX, "GET %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nConnection: close\r\n\r\n",
        target->path, is_6 ? "[" : "", target->host, is_6 ? "]" : "", target->port);
    return length > 0 && length < REQUEST_MAX ? (size_t)length : 0;
}

/* Returns: NULL, or why it failed, which may be in `error`. */
static const char *ask_socket(int fd, const struct target *target, struct tls_client_options *tls,
                              char *out, size_t size, char error[TLS_ERROR_MAX]) {
    char text[REQUEST_MAX];
    const struct parley_bytes request = {text, write_request(target, text)};
    if (request.length == 0) {
        return strerror(ENAMETOOLONG);
    }
    if (!target->is_tls) {
        const int failed = exchange(fd, request, tls->deadline_ms, out, size);
        return failed == 0 ? NULL : strerror(failed);
    }
    tls->host = target->is_local ? NULL : target->host;
    return tls_client_exchange(fd, tls, request, out, size, error) ? NULL : error;
}

/* ---- the answer ---- */

static void print_not_ready(const char *answer, const struct target *target) {
    const char *body = strstr(answer, "\r\n\r\n");
    json_t *problem = body != NULL ? json_loads(body + 4, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    struct parley_buffer why;
    parley_buffer_init(&why);
    char status_line[128];
    snprintf(status_line, sizeof status_line, "%.*s", (int)strcspn(answer, "\r\n"), answer);
    terminal_append_clean(&why, status_line);
    if (detail != NULL) {
        parley_buffer_text(&why, ": ");
        terminal_append_clean(&why, detail);
    }
    parley_buffer_char(&why, '\0');
    terminal_error("%s port %s is not ready: %s", target->host, target->port,
                   why.has_failed ? "" : why.data);
    parley_buffer_finish(&why);
    json_decref(problem);
}

/* With what is wrong all the same, which are lines of the answer: "but: stream VLP is full". */
static void print_ready(const char *answer) {
    const char *line = strstr(answer, "\r\n\r\n");
    puts("ready");
    while (line != NULL && (line = strstr(line, "\nbut: ")) != NULL) {
        char text[1024];
        struct parley_buffer clean;
        line++;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
        parley_buffer_init(&clean);
        terminal_append_clean(&clean, text);
        parley_buffer_char(&clean, '\0');
        puts(clean.has_failed ? "" : clean.data);
        parley_buffer_finish(&clean);
    }
}

static int ask(const struct target *target, struct tls_client_options *tls) {
    char answer[16384], error[TLS_ERROR_MAX];
    int fd = -1;
    tls->deadline_ms = now_ms() + DEADLINE_MS;
    const char *wrong = connect_any(target, tls->deadline_ms, &fd);
    if (wrong == NULL) {
        wrong = ask_socket(fd, target, tls, answer, sizeof answer, error);
        close(fd);
    }
    if (wrong != NULL) {
        terminal_error("no answer from %s port %s: %s", target->host, target->port, wrong);
        return EXIT_FAILURE;
    }
    unsigned status = 0;
    if (sscanf(answer, "HTTP/1.%*1[01] %3u", &status) != 1) {
        terminal_error("the answer from %s port %s is not HTTP", target->host, target->port);
        return EXIT_FAILURE;
    }
    if (status != 200) {
        print_not_ready(answer, target);
        return EXIT_FAILURE;
    }
    print_ready(answer);
    return EXIT_SUCCESS;
}

int command_health(int argc, char **argv) {
    struct arguments arguments = {.command = "health", .flags = flags, .argc = argc, .argv = argv};
    struct tls_client_options tls = {.host = NULL};
    const char *url = NULL, *path = NULL, *value;
    const char **const texts[] = {
        [CONFIG] = &path, [CA] = &tls.ca, [CERT] = &tls.cert, [KEY] = &tls.key};
    for (int argument; (argument = arguments_next(&arguments, &value)) != ARGUMENT_END;) {
        if (argument == ARGUMENT_WRONG) {
            return EXIT_USAGE;
        }
        if (argument == HELP) {
            fputs(help, stdout);
            return EXIT_SUCCESS;
        }
        if (argument != ARGUMENT_OPERAND) {
            *texts[argument] = value;
            continue;
        }
        if (url != NULL) {
            terminal_error("unexpected argument '%s': health takes one URL", value);
            return EXIT_USAGE;
        }
        url = value;
    }
    struct target target;
    if (url != NULL && !read_url(url, &target)) {
        terminal_error("'%s' is not an http:// or https:// URL; expected a URL such as "
                       "http://127.0.0.1:8080",
                       url);
        return EXIT_USAGE;
    }
    if ((tls.cert == NULL) != (tls.key == NULL)) {
        terminal_error("--cert and --key go together: a certificate and its private key");
        return EXIT_USAGE;
    }
    const int status = url == NULL ? find_local(path, &target) : -1;
    return status < 0 ? ask(&target, &tls) : status;
}
