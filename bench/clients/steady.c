/* SPDX-License-Identifier: Apache-2.0 */

/* steady PORT TARGET FILE RATE SECONDS CONNECTIONS: posts the claim of FILE to 127.0.0.1 at a
 * constant rate, each time with another id, whether or not the server keeps up, and prints one line
 * of JSON.
 *
 * A latency is counted from when its request was due, not from when it could be sent: a request
 * that waits for a free connection, since the server dawdles over those before it, waits on the
 * server's account. A client that only sends what the answers before it allow would leave out just
 * those that would have been slow. The first tenth warms up and is not counted. */

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    REQUEST_BYTES_MAX = 4096,
    ANSWER_BYTES_MAX = 8192,
    CONNECTIONS_MAX = 1024,
    EVENTS_MAX = 64,
    NUMBER_DIGITS = 11,
    PATIENCE_S = 5, /* for the answers that are missing at the end */
};

#define NS_A_SECOND INT64_C(1000000000)

struct connection {
    int fd;
    int64_t due_ns;
    struct connection *next_free;
    size_t length; /* of the answer, so far */
    char answer[ANSWER_BYTES_MAX];
};

struct client {
    char request[REQUEST_BYTES_MAX];
    size_t request_length, number_offset;
    int64_t start_ns, interval_ns, total_count, warm_up_count;
    int64_t sent_count, answered_count;
    int64_t *latencies_ns;
    int64_t most_late_ns; /* how long after it was due a request was sent, at worst */
    int epoll_fd;
    struct connection *first_free;
    struct connection connections[CONNECTIONS_MAX];
};

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_A_SECOND + now.tv_nsec;
}

static long number_argument(const char *text, long most) {
    char *end = NULL;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < 1 || number > most) {
        errx(2, "'%s' is not a number from 1 to %ld", text, most);
    }
    return number;
}

/* ---- the request ---- */

static void prepare_request(struct client *client, const char *port, const char *target,
                            const char *name) {
    static const char id[] = "\"id\":\"MSG-";
    char claim[REQUEST_BYTES_MAX / 2];
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        err(1, "%s", name);
    }
    size_t length = fread(claim, 1, sizeof claim, file);
    fclose(file);
    int head_length = snprintf(client->request, sizeof client->request,
                               "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n"
                               "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                               target, port, length);
    if (head_length < 0 || (size_t)head_length + length > sizeof client->request) {
        errx(1, "the request is too long");
    }
    memcpy(client->request + head_length, claim, length);
    client->request_length = (size_t)head_length + length;
    const char *found = memmem(client->request, client->request_length, id, sizeof id - 1);
    if (found == NULL) {
        errx(1, "%s has no id that can be changed", name);
    }
    client->number_offset = (size_t)(found - client->request) + sizeof id - 1;
}

static void set_number(struct client *client, int64_t number) {
    char *digit = client->request + client->number_offset + NUMBER_DIGITS;
    for (int i = 0; i < NUMBER_DIGITS; i++, number /= 10) {
        *--digit = (char)('0' + number % 10);
    }
}

/* ---- connections ---- */

static void release(struct client *client, struct connection *connection) {
    connection->length = 0;
    connection->next_free = client->first_free;
    client->first_free = connection;
}

static void open_connection(struct client *client, struct connection *connection, long port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((in_port_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    int is_on = 1;
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 ||
        connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &is_on, sizeof is_on) != 0 ||
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, connection->fd, &event) != 0) {
        err(1, "connecting to port %ld", port);
    }
    release(client, connection);
}

/* Sends what is due, as long as a connection is free. A request is far smaller than the buffer of
 * a socket that has nothing else to send. */
static void send_due(struct client *client) {
    while (client->sent_count < client->total_count && client->first_free != NULL) {
        int64_t due_ns = client->start_ns + client->sent_count * client->interval_ns;
        int64_t late_ns = now_ns() - due_ns;
        if (late_ns < 0) {
            return;
        }
        if (client->sent_count >= client->warm_up_count && late_ns > client->most_late_ns) {
            client->most_late_ns = late_ns;
        }
        struct connection *connection = client->first_free;
        client->first_free = connection->next_free;
        connection->due_ns = due_ns;
        set_number(client, ++client->sent_count);
        if (send(connection->fd, client->request, client->request_length,
                 MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)client->request_length) {
            err(1, "sending");
        }
    }
}

/* Returns: whether the answer is whole. Exits when it is not a 200. */
static bool is_whole(const struct connection *connection) {
    static const char ok[] = "HTTP/1.1 200", end[] = "\r\n\r\n", name[] = "\r\nContent-Length: ";
    const char *body = memmem(connection->answer, connection->length, end, sizeof end - 1);
    if (body == NULL) {
        return false;
    }
    body += sizeof end - 1;
    size_t head_length = (size_t)(body - connection->answer);
    if (memcmp(connection->answer, ok, sizeof ok - 1) != 0) {
        errx(1, "the answer is not a 200: %.*s", (int)connection->length, connection->answer);
    }
    for (const char *at = connection->answer; at + sizeof name < body; at++) {
        if (strncasecmp(at, name, sizeof name - 1) == 0) {
            return connection->length >= head_length + strtoul(at + sizeof name - 1, NULL, 10);
        }
    }
    errx(1, "the answer does not say how long it is");
}

static void read_answer(struct client *client, struct connection *connection) {
    ssize_t count = recv(connection->fd, connection->answer + connection->length,
                         sizeof connection->answer - connection->length, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        errx(1, "the server has closed a connection");
    }
    connection->length += (size_t)count;
    if (is_whole(connection)) {
        client->latencies_ns[client->answered_count++] = now_ns() - connection->due_ns;
        release(client, connection);
    }
}

/* ---- the loop ---- */

/* How long to wait for answers: until the next request is due, if it can be sent then. */
static struct timespec wait_time(const struct client *client) {
    int64_t wait_ns = NS_A_SECOND;
    if (client->sent_count < client->total_count && client->first_free != NULL) {
        wait_ns = client->start_ns + client->sent_count * client->interval_ns - now_ns();
        wait_ns = wait_ns > 0 ? wait_ns : 0;
    }
    return (struct timespec){.tv_sec = wait_ns / NS_A_SECOND, .tv_nsec = wait_ns % NS_A_SECOND};
}

static void run(struct client *client) {
    int64_t last_due_ns = client->start_ns + client->total_count * client->interval_ns;
    while (client->answered_count < client->total_count) {
        struct epoll_event events[EVENTS_MAX];
        send_due(client);
        struct timespec wait = wait_time(client);
        int count = epoll_pwait2(client->epoll_fd, events, EVENTS_MAX, &wait, NULL);
        for (int i = 0; i < count; i++) {
            read_answer(client, events[i].data.ptr);
        }
        if (now_ns() > last_due_ns + PATIENCE_S * NS_A_SECOND) {
            errx(1, "the server does not keep up: %lld of %lld answers",
                 (long long)client->answered_count, (long long)client->total_count);
        }
    }
}

/* ---- the report ---- */

static int compare_numbers(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static double ms(int64_t ns) {
    return (double)ns / 1e6;
}

static void print_report(struct client *client, double seconds) {
    int64_t *counted = client->latencies_ns + client->warm_up_count;
    int64_t count = client->total_count - client->warm_up_count;
    qsort(counted, (size_t)count, sizeof *counted, compare_numbers);
    int64_t p50 = count / 2, p99 = count * 99 / 100, p999 = count * 999 / 1000;
    printf("{\"requests\":%lld,\"seconds\":%.6f,\"p50_ms\":%.4f,\"p99_ms\":%.4f,\"p999_ms\":%.4f,"
           "\"most_ms\":%.4f,\"most_late_ms\":%.4f}\n",
           (long long)client->total_count, seconds, ms(counted[p50]), ms(counted[p99]),
           ms(counted[p999]), ms(counted[count - 1]), ms(client->most_late_ns));
}

int main(int argc, char **argv) {
    struct client *client = calloc(1, sizeof *client);
    if (argc != 7) {
        errx(2, "usage: steady PORT TARGET FILE RATE SECONDS CONNECTIONS");
    }
    long port = number_argument(argv[1], UINT16_MAX), rate = number_argument(argv[4], 1000000);
    long seconds = number_argument(argv[5], 3600);
    long connection_count = number_argument(argv[6], CONNECTIONS_MAX);
    if (client == NULL || (client->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) {
        err(1, "starting");
    }
    prctl(PR_SET_TIMERSLACK, 1UL); /* or the kernel wakes us up to 50 us late */
    prepare_request(client, argv[1], argv[2], argv[3]);
    client->interval_ns = NS_A_SECOND / rate;
    client->total_count = (int64_t)rate * seconds;
    client->warm_up_count = client->total_count / 10;
    client->latencies_ns = calloc((size_t)client->total_count, sizeof *client->latencies_ns);
    if (client->latencies_ns == NULL) {
        err(1, "calloc");
    }
    for (long i = 0; i < connection_count; i++) {
        open_connection(client, &client->connections[i], port);
    }
    client->start_ns = now_ns();
    run(client);
    print_report(client, ms(now_ns() - client->start_ns) / 1e3);
    return 0;
}
