/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Declarations that the files of HTTP share: the server, its daemons, its connections and their
 * requests. acceptor.c accepts connections and distinguishes streams from requests; mhd_recv.c
 * reads their bytes, http_head.c and http_chunks.c check these; http_suspension.c and
 * http_request.c track the event for which a request waits, http_connection.c follows its client;
 * http_answer.c and live_response.c answer; mhd_daemon.c and http_server.c call libmicrohttpd. */

#include <stdbool.h>
#include <sys/queue.h>

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

#include "acceptor.h"
#include "commit.h"
#include "http.h"
#include "http_head.h"
#include "mhd_recv.h"
#include "reactor.h"

/* A request is part of its connection, which continues: this makes a use after `closed` show. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

struct encoder;
struct http_inner;
struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

enum {
    HTTP_ID_BYTES = 16,
    HTTP_IDS_AT_ONCE = 64,
    HTTP_ID_SEED_BYTES = 32,
};

enum mhd_daemon_kind { HTTP_REQUESTS, HTTP_STREAMS, HTTP_DAEMON_COUNT };

/* The reason why a connection is suspended. */
enum http_wait {
    HTTP_WAIT_NONE,
    HTTP_WAIT_BODY,   /* the body callback did not take all */
    HTTP_WAIT_ANSWER, /* the request has ended, and has no answer, or one that may not leave */
    HTTP_WAIT_SOURCE, /* the source has nothing */
    HTTP_WAIT_LIVE,   /* the request has ended, and its live answer has not */
};

/* The answer that libmicrohttpd sends: made once (answer in http_answer.c), given to it once. */
enum http_answer_state { HTTP_UNANSWERED, HTTP_ANSWERED, HTTP_ANSWER_GIVEN };

/* The answer that live_response.c sends. Its function `move` makes every transition:
 *
 *     NONE ──begin──▶ HEAD ──first write──▶ OPEN ──source ends──▶ ENDING ──all sent──▶ SENT
 *      ▲               │                      │                      │
 *      └──take back────┤                      └─source aborts─▶ BREAKING ──what there is sent──┐
 *                      └──────────────────────┴──────────────────────┴──no memory, client gone,│
 *                                                       idle, or a body that breaks off──▶ BROKEN
 *
 * In SENT and BROKEN nothing more is written, and the rest of the body is discarded. */
enum live_state {
    LIVE_NONE, /* no such answer */
    LIVE_HEAD, /* nothing of it has left */
    LIVE_OPEN,
    LIVE_ENDING,   /* its source has nothing more */
    LIVE_BREAKING, /* its source has nothing more, and the answer is not whole */
    LIVE_SENT,     /* all of it was written */
    LIVE_BROKEN,   /* not all of it was */
};

/* One of the daemons. */
struct mhd_daemon {
    struct http_server *server;
    enum mhd_daemon_kind kind;
    struct MHD_Daemon *mhd;
    struct reactor_watch watch; /* its epoll set */
    bool is_due;                /* MHD_run has something to do */
    int64_t due_ms;             /* or will have at that time; -1: will not */
};

struct http_request {
    struct http_connection *connection;
    struct http_inner *inner; /* NULL: a client has sent it */
    const struct http_handler *handler;
    void *state;
    const char *method, *path;
    const char *id;
    int64_t content_length;           /* -1: chunked */
    int64_t received_length;          /* of the body, so far */
    char *remarks[HTTP_REMARK_COUNT]; /* NULL if absent */
    ssize_t (*read)(void *state, char *buffer, size_t size);
    struct MHD_Response *response; /* until it is queued */
    struct encoder *encoder;       /* of a compressed answer; otherwise NULL */
    struct http_encoding encoding; /* of a whole answer */
    struct http_outcome outcome;   /* so far */
    enum http_wait wait;
    enum http_answer_state answer;
    enum live_state live;
    bool is_close_after;
    bool may_compress;  /* the answer */
    bool has_coded_end; /* the end of the compressed answer was written */
    bool is_late;       /* it began while the server drained */
    bool has_ended;     /* the body is whole */
    bool has_wake;      /* woken since the callback that must wait was called */
    bool is_woken;      /* on the server's list of requests that continue */
    bool has_failed;    /* no memory: close the connection */
    bool is_gone;       /* the client is */
    bool is_closing;    /* its handler is being notified of its end, and may not resume it */
    bool has_waited;    /* its connection was suspended and resumed */
    bool is_held_up;    /* the socket does not accept the rest of the live answer at present */
    int64_t moved_ms;   /* when it was held up, or the body went on since */
    bool may_commit;    /* http_commit … */
    bool has_promised;  /* … and http_commit_refusal */
    struct commit_wait commit;
    TAILQ_ENTRY(http_request) woken_links;
    TAILQ_ENTRY(http_request) held_up_links;
    char own_id[2 * HTTP_ID_BYTES + 1];
};

/* The part of a request that a client is sending. */
enum http_receiving { HTTP_RECEIVING_NOTHING, HTTP_RECEIVING_HEAD, HTTP_RECEIVING_BODY };

struct http_deadline {
    enum http_receiving receiving;
    bool is_late;     /* the request is refused when it is read next */
    int64_t began_ms; /* the head or the body, later by the time in which it was held back */
    int64_t moved_ms; /* when more of the body was noticed */
    int64_t length;   /* of it, at that time */
    TAILQ_ENTRY(http_connection) links;
};

/* The initial state of a connection. */
struct mhd_arrival {
    int fd;
    struct peer peer;
    struct tally_entry *opening;
    char *certificate;
    int64_t certificate_expires_at;
    struct parley_buffer pending; /* received on the connection that it replaces … */
    void *kept;                   /* … and the value kept there */
    void (*release_kept)(void *kept);
    TAILQ_ENTRY(mhd_arrival) links;
};

/* A client's connection, from its first byte to its end. */
struct http_connection {
    struct mhd_daemon *daemon;
    struct MHD_Connection *mhd;
    struct reactor_watch watch;
    struct peer peer;
    struct tally_entry *opening;    /* of the client's address; the acceptor's */
    char *certificate;              /* the name of the client's; NULL if absent */
    int64_t certificate_expires_at; /* Unix time; 0 if absent */
    struct mhd_recv wire;
    struct http_deadline deadline;
    struct http_head head;            /* of `request` */
    struct parley_buffer headers;     /* of the answer: name, NUL, value, NUL, … */
    struct parley_buffer held;        /* bytes that the body callback has not taken … */
    size_t held_offset;               /* … from here on */
    struct parley_buffer unsent;      /* of a live answer: its head, bytes not yet accepted */
    size_t unsent_offset;             /* how much of that it has accepted since */
    void *kept;                       /* for its handlers, from one request to the next … */
    void (*release_kept)(void *kept); /* … NULL if there is nothing to free */
    int next_fd;                      /* of this socket, where it moves to; -1 if it stays */
    bool is_active;                   /* `request` is one */
    bool is_cut;                      /* its client is answered while it may have more to send */
    bool is_watched;
    bool has_half_closed; /* the client has sent all that it ever will */
    bool is_to_look;      /* on the server's list */
    LIST_ENTRY(http_connection) look_links;
    TAILQ_ENTRY(http_connection) links;
    struct http_request request;
};

enum { HTTP_FRONT_BYTES = 2048, HTTP_PIECE_BYTES = 64 * 1024, HTTP_BACK_BYTES = 16 };

/* In which a piece of a live answer is put together. */
struct http_scratch {
    char front[HTTP_FRONT_BYTES]; /* the answer's head, the chunk's head */
    char piece[HTTP_PIECE_BYTES];
    char back[HTTP_BACK_BYTES]; /* the chunk's end, the last chunk */
};

/* The last piece read of a body: its handler sees it there. One piece suffices, since libmicrohttpd
 * calls back for one connection before it reads from the next.  With 64 KiB the system calls of a
 * body cost less than its copying, and the piece, the results and the code that checks them fit a
 * core's cache. */
enum { HTTP_BODY_PIECE_BYTES = 64 * 1024 };

struct http_piece {
    const struct http_connection *connection; /* its connection; NULL: it was taken */
    struct parley_bytes body;                 /* within data */
    char data[HTTP_BODY_PIECE_BYTES];
};

struct http_server {
    struct reactor *reactor;
    struct acceptor *acceptor;
    struct http_options options;
    http_begin_fn *begin;
    void *context;
    struct reactor_turn turn;
    struct mhd_daemon daemons[HTTP_DAEMON_COUNT];
    TAILQ_HEAD(, http_connection) connections;
    LIST_HEAD(, http_connection) to_look; /* to be read from, though no event says so */
    TAILQ_HEAD(http_woken, http_request) woken;
    TAILQ_HEAD(, http_request) held_up; /* since when, the longest first */
    struct reactor_timer held_up_timer;
    TAILQ_HEAD(, http_linger) lingering; /* in the order in which they end */
    size_t lingering_count;
    struct reactor_timer linger_timer;
    TAILQ_HEAD(, http_connection) receiving; /* whose clients are sending a request */
    struct reactor_timer receiving_timer;
    char late_head[128], late_body[256]; /* the text for a late one … */
    char large_body[160];                /* … or for one with too long a body */
    struct http_head_bound head_bound;
    size_t unsent_bytes;            /* of all connections */
    size_t kept_bytes;              /* of all: received, and not taken by a handler */
    struct http_connection **by_fd; /* for mhd_recv.c; NULL where there is none */
    size_t by_fd_count;
    size_t turn_bytes; /* of bodies, that were read in this turn */
    size_t active_count;
    struct http_totals totals;
    bool is_draining;
    TAILQ_HEAD(, mhd_arrival) arrivals; /* of which libmicrohttpd has not said that they began */
    bool has_moved;                     /* a callback ran since the last look */
    size_t ids_left;
    struct {
        unsigned char seed[HTTP_ID_SEED_BYTES]; /* of the next ones */
        unsigned char ids[HTTP_IDS_AT_ONCE][HTTP_ID_BYTES];
    } random;
    struct http_scratch scratch;
    struct http_piece piece;
    char plain[HTTP_PIECE_BYTES]; /* the bytes being compressed */
};

/* So much of the answer's body is on its way. */
static inline void http_count_sent(struct http_request *request, size_t bytes) {
    request->outcome.sent_bytes += bytes;
    request->connection->daemon->server->totals.sent_bytes += bytes;
}

static inline bool http_is_answered(const struct http_request *request) {
    return request->answer != HTTP_UNANSWERED;
}

/* Whether its answer may leave. */
static inline bool http_may_answer(const struct http_request *request) {
    return http_is_answered(request) && !commit_is_waiting(&request->commit);
}

static inline bool http_is_live(const struct http_request *request) {
    return request->live != LIVE_NONE;
}

static inline bool http_is_live_over(const struct http_request *request) {
    return request->live == LIVE_SENT || request->live == LIVE_BROKEN;
}

static inline struct http_server *http_server_of(const struct http_request *request) {
    return request->connection->daemon->server;
}

/* The layers, each of which calls those above it alone. */

/* ---- mhd_daemon.c ---- */

/* Not to be called for a connection that is in that state already. */
void http_suspend(struct http_connection *connection);
void http_resume(struct http_connection *connection);
/* Makes libmicrohttpd read from the connection without an event.  Not for a suspended one. */
void http_look_again(struct http_connection *connection);
const char *http_reason(unsigned status);

/* ---- mhd_wakeups.c ---- */

/* Watches for the client's end from now on, and with EPOLLOUT for room for data to it. `events`:
 * besides EPOLLRDHUP. */
enum parley_status http_watch(struct http_connection *connection, uint32_t events);
/* Its request has ended, and another one may come. */
void http_watch_idle(struct http_connection *connection);
/* Makes libmicrohttpd read from the connection in the next turn, without an event. */
void http_look_later(struct http_connection *connection);
void http_look_at_ends(struct http_server *server);

/* ---- http_suspension.c ---- */

/* None of these may be called for a request that is closing, which would be on the list of requests
 * that continue when it is freed: asserted. */

/* Suspends and resumes the connection. Going on is harmless when nothing waits. */
void http_wait(struct http_request *request, enum http_wait wait);
void http_go_on(struct http_request *request);
/* Makes the request continue in the next turn, not here: the caller may be in the middle of
 * anything. */
void http_queue(struct http_request *request);
/* Forgets the held bytes, which are no longer of use. */
void http_forget_held(struct http_connection *connection);

/* ---- http_request.c ---- */

/* A new request on the connection: that of its head. */
struct http_request *http_request_open(struct http_connection *connection);
/* Tells its handler. */
void http_request_close(struct http_request *request, bool is_complete);

/* A piece of the body came: the handler's callback gets it, now or later.
 * Returns: PARLEY_E_MEMORY. */
enum parley_status http_take_body(struct http_request *request,
                                  struct parley_bytes bytes) PARLEY_MUST_CHECK;
/* The body is whole, or its end is reported again: has the handler answer, or waits for that.
 * Returns: PARLEY_E_IO when there will be no answer. */
enum parley_status http_take_end(struct http_request *request) PARLEY_MUST_CHECK;
/* Continues the queued requests. */
void http_go_on_with_queue(struct http_server *server);

/* ---- http_answer.c ---- */

/* Whether its answer promises that what was written before it is on the disk (http_commit). */
bool http_answer_promises(const struct http_request *request);

/* ---- http_deadline.c ---- */

void http_deadlines_start(struct http_server *server);
/* Writes the text for a body that is too slow: after its bound has changed. */
void http_deadlines_describe_bound(struct http_server *server);
void http_deadlines_stop(struct http_server *server);
/* After each read. */
void http_deadline_note(struct http_connection *connection);
void http_deadline_forget(struct http_connection *connection);

/* ---- http_connection.c ---- */

/* Moves the contents of `arrival` here.  Returns: PARLEY_E_MEMORY; finish it in any case. */
enum parley_status http_connection_init(struct http_connection *connection,
                                        struct mhd_daemon *daemon, struct MHD_Connection *mhd,
                                        struct mhd_arrival *arrival) PARLEY_MUST_CHECK;
void http_connection_finish(struct http_connection *connection);
/* As http_request_keep. */
void http_connection_keep(struct http_connection *connection, void *kept,
                          void (*release)(void *kept));

/* ---- mhd_arrival.c ---- */

/* Before `from` (borrowed) is handed to libmicrohttpd.  Owns: the server's.  Returns: NULL without
 * memory. */
struct mhd_arrival *mhd_arrival_expect(struct http_server *server,
                                       const struct acceptor_connection *from);
/* Its connection has begun.  Owns: the caller's.  Returns: NULL where no arrival is expected. */
struct mhd_arrival *mhd_arrival_take(struct http_server *server, int fd);
void mhd_arrival_destroy(struct http_server *server, struct mhd_arrival *arrival);
/* Its connection will not begin: the acceptor is notified, unless it had begun. */
void mhd_arrival_lose(struct http_server *server, int fd);
/* Frees all of them, once no daemon runs. */
void mhd_arrivals_stop(struct http_server *server);

/* ---- mhd_handover.c ---- */

/* Its head, which libmicrohttpd has not seen, is complete.  Returns: whether the connection moves:
 * then libmicrohttpd must be shown its end. */
bool mhd_handover_begin(struct http_connection *connection);
/* Called as the connection is closed.  Returns: false when it does not move; otherwise the
 * connection to be served in its place, which borrows from it. */
bool mhd_handover_next(struct http_connection *connection, struct acceptor_connection *out);
/* `arrival` takes the place of `connection`, which loses its contents. */
void mhd_handover_give(struct http_connection *connection, struct mhd_arrival *arrival);

/* ---- http_linger.c ---- */

void http_linger_start(struct http_server *server);
void http_linger_stop(struct http_server *server);
/* Call before `fd` is closed: its client may read what was written to it, though it is still
 * sending. It counts as a connection of the acceptor's, and of its address's, until then.
 * Returns: false when there is nothing to wait for, or no memory. */
bool http_linger(struct http_server *server, int fd, struct tally_entry *opening);
