/* SPDX-License-Identifier: Apache-2.0 */

/* Answers that leave while their request's body still arrives, and those that are open for hours:
 * written to the connection's socket here, since libmicrohttpd takes an answer only before a body
 * or after it, and walks through all that wait whenever one of them continues (ADR 7). It continues
 * to read and de-chunk the body, or keeps the connection suspended until the answer's end, and then
 * closes it.
 *
 * The output of a source is gathered in the server's one scratch buffer and leaves in one write.
 * Bytes that the socket does not accept are kept by the connection, and until they are sent the
 * source is not asked.
 *
 * It deliberately calls libmicrohttpd only by http_suspend and http_resume. */

#include "live_response.h"

#include "http_coding.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include <netinet/tcp.h>

enum {
    PIECES_A_TURN = 4,          /* of one answer, before others have their turn */
    SMALL_PIECE_BYTES = 2048,   /* the output of a source while many answers are held up … */
    UNSENT_BYTES_MAX = 8 << 20, /* … since those hold as much together */
    SOURCE_BYTES_MIN = 1024,    /* with less room than that, a source is not asked for more */
    DISCARDED_BYTES_MAX = 256 * 1024,
    CHUNK_HEAD_MAX = sizeof "ffffffff\r\n" - 1,
};

static const char last_chunk[] = "0\r\n\r\n";

/* ---- its states ---- */

static void move(struct http_request *request, enum live_state to) {
    static const unsigned char next[] = {
        [LIVE_NONE] = 1 << LIVE_HEAD,
        [LIVE_HEAD] = 1 << LIVE_NONE | 1 << LIVE_OPEN | 1 << LIVE_BROKEN,
        [LIVE_OPEN] = 1 << LIVE_ENDING | 1 << LIVE_BREAKING | 1 << LIVE_BROKEN,
        [LIVE_ENDING] = 1 << LIVE_SENT | 1 << LIVE_BROKEN,
        [LIVE_BREAKING] = 1 << LIVE_BROKEN,
        [LIVE_SENT] = 0,
        [LIVE_BROKEN] = 0,
    };
    const bool is_allowed = (next[request->live] >> to & 1) != 0;
    assert(is_allowed);
    (void)is_allowed; /* where asserts are left out */
    request->live = to;
}

/* Whether its source may have more. */
static bool is_open(const struct http_request *request) {
    return request->live == LIVE_HEAD || request->live == LIVE_OPEN;
}

/* ---- being held up ---- */

static void set_timer(struct http_server *server) {
    const struct http_request *first = TAILQ_FIRST(&server->held_up);
    const unsigned timeout_s = server->options.idle_timeout_s;
    if (first != NULL && timeout_s > 0 && !server->held_up_timer.is_armed) {
        const int64_t due_ms = first->moved_ms + (int64_t)timeout_s * 1000;
        reactor_timer_set(server->reactor, &server->held_up_timer,
                          due_ms - reactor_now_ms(server->reactor));
    }
}

static void hold_up(struct http_request *request) {
    struct http_server *server = http_server_of(request);
    request->is_held_up = true;
    request->moved_ms = reactor_now_ms(server->reactor);
    TAILQ_INSERT_TAIL(&server->held_up, request, held_up_links);
    set_timer(server);
}

static void let_go(struct http_request *request) {
    if (request->is_held_up) {
        request->is_held_up = false;
        TAILQ_REMOVE(&http_server_of(request)->held_up, request, held_up_links);
    }
}

static void forget_unsent(struct http_request *request) {
    struct http_connection *connection = request->connection;
    http_server_of(request)->unsent_bytes -= connection->unsent.length;
    parley_buffer_finish(&connection->unsent);
    connection->unsent_offset = 0;
}

/* ---- the end ---- */

/* Closing a socket with unread bytes sends a reset, which may destroy the answer on its way. */
static void discard_unread(int fd) {
    char bytes[4096];
    for (size_t count = 0; count < DISCARDED_BYTES_MAX; count += sizeof bytes) {
        if (recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT, NULL, NULL) <= 0) {
            return;
        }
    }
}

/* Nothing more is written. The connection is closed when all of the body has come.
 * `state`: LIVE_SENT or LIVE_BROKEN. */
static void finish(struct http_request *request, enum live_state state) {
    const int fd = request->connection->watch.fd;
    move(request, state);
    let_go(request);
    forget_unsent(request);
    if (request->has_ended) {
        discard_unread(fd);
    } else {
        shutdown(fd, SHUT_WR);
    }
    http_go_on(request);
}

/* Without memory, or with a client that reads nothing: closes it, whatever is still unsent. */
static void break_down(struct http_request *request) {
    request->has_failed = true;
    shutdown(request->connection->watch.fd, SHUT_RDWR);
    finish(request, LIVE_BROKEN);
}

/* A body that is still coming is served whole, although its client reads no answer. */
static void lose_client(struct http_request *request) {
    request->is_gone = true;
    let_go(request);
    forget_unsent(request);
    if (request->has_ended) {
        finish(request, LIVE_BROKEN);
    } else {
        http_queue(request);
    }
}

static void break_down_held_up(struct reactor_timer *timer) {
    struct http_server *server = OWNER_OF(timer, struct http_server, held_up_timer);
    const int64_t due_ms =
        reactor_now_ms(server->reactor) - (int64_t)server->options.idle_timeout_s * 1000;
    struct http_request *first;
    while ((first = TAILQ_FIRST(&server->held_up)) != NULL && first->moved_ms <= due_ms) {
        break_down(first);
    }
    set_timer(server);
}

/* ---- writing ---- */

/* Returns: how many bytes the socket accepted; all of them when the client has disconnected. */
static size_t send_some(struct http_request *request, struct parley_bytes bytes) {
    size_t sent = 0;
    while (sent < bytes.length && !request->is_gone) {
        const ssize_t count = send(request->connection->watch.fd, bytes.data + sent,
                                   bytes.length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) {
            sent += (size_t)count;
        } else if (errno == EAGAIN) {
            return sent;
        } else if (errno != EINTR) {
            lose_client(request);
        }
    }
    return bytes.length;
}

/* Keeps the bytes that the socket does not accept. */
static void send_or_keep(struct http_request *request, struct parley_bytes bytes) {
    struct parley_buffer *unsent = &request->connection->unsent;
    const size_t sent = send_some(request, bytes);
    if (sent == bytes.length) {
        return;
    }
    parley_buffer_append(unsent, (struct parley_bytes){bytes.data + sent, bytes.length - sent});
    if (parley_buffer_status(unsent) != PARLEY_OK) {
        break_down(request);
        return;
    }
    http_server_of(request)->unsent_bytes += unsent->length;
    hold_up(request);
}

/* Sends the kept bytes. */
static void send_unsent(struct http_request *request) {
    struct http_connection *connection = request->connection;
    const struct parley_bytes left = {connection->unsent.data + connection->unsent_offset,
                                      connection->unsent.length - connection->unsent_offset};
    const size_t sent = send_some(request, left);
    if (request->is_gone) {
        return;
    }
    if (sent < left.length) {
        connection->unsent_offset += sent;
        hold_up(request);
    } else {
        forget_unsent(request);
    }
}

/* Asks the source for up to `size` bytes.  Returns: how many it gave. */
static size_t gather(struct http_request *request, char *data, size_t size) {
    size_t used = 0;
    while (is_open(request) && size - used >= SOURCE_BYTES_MIN) {
        const ssize_t count = http_coding_read(request, data + used, size - used);
        if (count == 0) {
            break;
        }
        if (count < 0) {
            move(request, count == HTTP_SOURCE_END ? LIVE_ENDING : LIVE_BREAKING);
        } else {
            used += (size_t)count;
        }
    }
    http_count_sent(request, used);
    return used;
}

/* Writes before `end`, once per delivery: printf would cost more than all the rest of it.
 * Returns: where it begins. */
static char *write_chunk_head(char *end, size_t length) {
    *--end = '\n';
    *--end = '\r';
    for (; length > 0; length >>= 4) {
        *--end = "0123456789abcdef"[length & 15];
    }
    return end;
}

/* Writes around `length` bytes at scratch->piece: the chunk's head and end, the head of the answer
 * in front if it has not left so far, and the last chunk at the end. */
static struct parley_bytes frame(struct http_request *request, struct http_scratch *scratch,
                                 size_t length) {
    struct parley_buffer *head = &request->connection->unsent;
    char *start = scratch->piece, *end = scratch->piece + length;
    if (length > 0) {
        start = write_chunk_head(start, length);
        *end++ = '\r';
        *end++ = '\n';
    }
    if (request->live == LIVE_ENDING) {
        memcpy(end, last_chunk, sizeof last_chunk - 1);
        end += sizeof last_chunk - 1;
    }
    if (head->length > 0) {
        start -= head->length;
        memcpy(start, head->data, head->length);
        forget_unsent(request);
    }
    return (struct parley_bytes){start, (size_t)(end - start)};
}

/* Returns: whether there may be more at once. */
static bool send_piece(struct http_request *request) {
    struct http_server *server = http_server_of(request);
    struct http_scratch *scratch = &server->scratch;
    const size_t size =
        server->unsent_bytes < UNSENT_BYTES_MAX ? sizeof scratch->piece : (size_t)SMALL_PIECE_BYTES;
    const size_t length = gather(request, scratch->piece, size);
    send_or_keep(request, frame(request, scratch, length));
    return length > 0 && !request->is_held_up && !http_is_live_over(request);
}

/* The client of `Expect: 100-continue` is not answered before libmicrohttpd has sent
 * its 100. */
static bool awaits_continue(const struct http_request *request) {
    return request->connection->head.expects_continue && request->received_length == 0 &&
           !request->has_ended;
}

/* The head waits for the first piece, to travel with it. */
static void send_kept(struct http_request *request) {
    const size_t room = HTTP_FRONT_BYTES - CHUNK_HEAD_MAX;
    const bool is_head = request->live == LIVE_HEAD && request->connection->unsent.length <= room;
    if (request->live == LIVE_HEAD) {
        move(request, LIVE_OPEN);
    }
    if (!is_head) {
        send_unsent(request);
    }
}

void live_response_go_on(struct http_request *request) {
    if (!http_is_live(request) || http_is_live_over(request) || request->is_held_up ||
        awaits_continue(request)) {
        return;
    }
    send_kept(request);
    bool has_more = !request->is_held_up && !http_is_live_over(request);
    for (int i = 0; has_more && i < PIECES_A_TURN && is_open(request); i++) {
        has_more = send_piece(request);
    }
    if (request->is_held_up || http_is_live_over(request)) {
        return;
    }
    if (!is_open(request)) {
        const bool is_whole = request->live == LIVE_ENDING && !request->is_gone;
        finish(request, is_whole ? LIVE_SENT : LIVE_BROKEN);
    } else if (has_more) {
        http_queue(request);
    }
}

void live_response_ready(struct http_request *request, uint32_t events) {
    const bool has_closed = (events & (EPOLLERR | EPOLLHUP)) != 0;
    if (http_is_live_over(request) || request->is_gone) {
        return;
    }
    if (has_closed) {
        lose_client(request);
    } else if ((events & EPOLLOUT) != 0 && request->is_held_up) {
        let_go(request);
        http_queue(request);
    }
}

void live_response_take_body(struct http_request *request) {
    if (request->live == LIVE_HEAD) {
        http_queue(request);
    }
    if (request->is_held_up) { /* a client that sends is not one that is stuck */
        let_go(request);
        hold_up(request);
    }
}

enum parley_status live_response_take_end(struct http_request *request) {
    if (http_is_live_over(request) || request->is_gone) {
        return PARLEY_E_IO;
    }
    http_wait(request, HTTP_WAIT_LIVE);
    http_queue(request);
    return PARLEY_OK;
}

void live_response_break_off(struct http_request *request) {
    if (!http_is_live_over(request)) {
        finish(request, LIVE_BROKEN);
    }
}

void live_response_take_back(struct http_request *request) {
    live_response_close(request);
    http_coding_end(request);
    request->may_compress = false;
    parley_buffer_clear(&request->connection->headers);
    move(request, LIVE_NONE);
}

void live_response_close(struct http_request *request) {
    let_go(request);
    forget_unsent(request);
}

/* ---- its head ---- */

static void write_head(struct http_request *request, unsigned status, const char *content_type) {
    const struct parley_buffer *headers = &request->connection->headers;
    struct parley_buffer *out = &request->connection->unsent;
    char date[32];
    const time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    parley_buffer_format(out, "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\n", status,
                         http_reason(status), date);
    for (size_t at = 0; at < headers->length;) {
        const char *name = headers->data + at;
        const char *value = name + strlen(name) + 1;
        at = (size_t)(value + strlen(value) + 1 - headers->data);
        parley_buffer_format(out, "%s: %s\r\n", name, value);
    }
    if (content_type != NULL) {
        parley_buffer_format(out, "Content-Type: %s\r\n", content_type);
    }
    parley_buffer_format(out,
                         "X-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n",
                         request->id);
    out->has_failed = out->has_failed || headers->has_failed;
    http_server_of(request)->unsent_bytes += out->length;
}

void live_response_begin(struct http_request *request, unsigned status, const char *content_type,
                         ssize_t (*read)(void *state, char *buffer, size_t size)) {
    const int one = 1;
    move(request, LIVE_HEAD);
    request->read = read;
    request->outcome.status = status;
    http_coding_begin(request);
    if (request->wait == HTTP_WAIT_ANSWER) {
        request->wait = HTTP_WAIT_LIVE;
    }
    setsockopt(request->connection->watch.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    write_head(request, status, content_type);
    if (parley_buffer_status(&request->connection->unsent) != PARLEY_OK ||
        http_watch(request->connection, EPOLLOUT) != PARLEY_OK) {
        break_down(request);
        return;
    }
    http_queue(request);
}

void live_response_start(struct http_server *server) {
    TAILQ_INIT(&server->held_up);
    server->held_up_timer.fire = break_down_held_up;
}
