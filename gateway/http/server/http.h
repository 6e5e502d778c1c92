/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* HTTP for the rest of the gateway. Only mhd_daemon.c, http_answer.c and http_server.c use
 * libmicrohttpd: the code that serves a request gets bytes and gives an answer, now or later, and
 * never suspends or resumes anything itself:
 *
 *   - a handler that has not answered when its request has ended is waited for;
 *   - a body callback that takes fewer bytes than it is given is not given more until http_wake;
 *   - a source that has nothing to give is asked again after http_wake.
 *
 * All of it happens on the reactor's thread, without a lock. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <parley/bytes.h>
#include <parley/status.h>

#include "peer.h"
#include "coding.h"
#include "reactor.h"

struct http_server;
struct http_request;
struct http_head;
struct parley_codec;
struct parley_protocol;
struct limits;
struct tls_context;

/* The callbacks that serve one request. Any of them but `closed` may answer; once there is an
 * answer neither `body` nor `end` is called again. */
struct http_handler {
    /* A piece of the body.  Returns: how many bytes were taken. NULL: the body is discarded.
     * If a client disconnects half-way, `closed` is called once all that it sent was taken. */
    size_t (*body)(void *state, struct http_request *request, struct parley_bytes bytes);
    /* The body is complete. Answer here, or later from anywhere on this thread. NULL: the answer
     * does not depend on it. */
    void (*end)(void *state, struct http_request *request);
    /* The client has closed its sending half, or the whole connection: only writing to it shows
     * which. Of streams, and answers that take long. May be NULL. */
    void (*half_closed)(void *state, struct http_request *request);
    /* The request has ended, answered or not; `request` is freed after it. Free the state here.
     * From now on no code may answer or wake it, which is asserted.  May be NULL. */
    void (*closed)(void *state, bool is_complete);
};

/* Called once for each request, when its head has been read: route it, and either call
 * http_request_serve or answer. */
typedef void http_begin_fn(void *context, struct http_request *request);

/* The notes of a request's handlers, for http_options.over alone. */
enum http_note {
    HTTP_NOTE_ROUTE,
    HTTP_NOTE_PROBLEM, /* that it was answered with */
    HTTP_NOTE_KNOWN,   /* it proved who sent it: that is the value kept */
    HTTP_NOTE_PARKED,  /* that it waited for something that may never come */
    HTTP_NOTE_COUNT
};

/* Texts of that kind, which most requests do not have. */
enum http_remark {
    HTTP_REMARK_RULES, /* that its message breaks */
    HTTP_REMARK_TRACE, /* the traceparent of a trace that is recorded */
    HTTP_REMARK_COUNT
};

/* A request that has ended. */
struct http_outcome {
    unsigned status;  /* of its answer; 0 if it had none */
    bool is_complete; /* its client was sent all of it */
    int64_t began_ns; /* when its head was whole, on reactor_clock_ns's clock: the beginning of that
                         turn */
    uint64_t received_bytes, sent_bytes;  /* of the bodies, as they are on the wire */
    unsigned char notes[HTTP_NOTE_COUNT]; /* 0 if nothing was noted */
};

struct http_options {
    unsigned connections_max; /* of one server; beyond it a connection waits in the backlog */
    unsigned idle_timeout_s;  /* a connection on which nothing moves is closed */
    size_t head_bytes_max;    /* 0: 16 KiB; up to 48 KiB */
    uint64_t body_bytes_max;  /* as it is sent; 0: any number */
    int64_t head_timeout_ms;  /* a head that is not whole by then is refused; 0: as idle_… */
    size_t body_rate_bytes;   /* per second: a slower body is refused (http_deadline.c) */
    struct limits *limits;    /* borrowed, shared by all servers; NULL: no limits */
    struct parley_bytes full_answer; /* borrowed: the answer, with its head, to a connection of an
                                        address that has as many as it may */
    struct tls_context *tls;         /* borrowed, shared by all servers; NULL: plain TCP */
    int64_t tls_handshake_timeout_ms;
    size_t request_memory_bytes; /* a connection's pool in libmicrohttpd: bounds a single read */
    size_t stream_memory_bytes;  /* likewise, in the daemon that holds open streams */
    /* For compressed answers, of all servers; borrowed. NULL: no answer is compressed. */
    struct coding_quota *codings;
    struct commit_queue *commit; /* http_commit waits in it; borrowed. NULL: no answer waits */
    /* Whether a request stays open, judged by its whole head (borrowed for the call): its
     * connection moves to the daemon for streams with it, and stays there.  NULL if no request
     * does. */
    bool (*stays_open)(const struct http_head *head);
    /* Answers with `status` a request that is not read further: its head or the framing of its body
     * is ambiguous (400), one of them came too slowly (408) or is too large (413, 414, 431), or the
     * head expects something unsupported (417), compresses the body more than once (415), or is of
     * another version (505). The connection is closed after it. NULL: without a body. */
    void (*refuse)(struct http_request *request, unsigned status, const char *detail);
    /* Called for every request, once it has ended, after its handler's `closed`; `context` is that
     * of `begin`. NULL: no such call. */
    void (*over)(void *context, const struct http_request *request,
                 const struct http_outcome *outcome);
};

/* Binds and listens.  Returns: the socket, to be shared by the servers of all reactors, or -1 with
 * *out_error a sentence (static) that says how to fix it.  `out_port`: the real one for port 0. */
int http_listen(const char *address, unsigned port, unsigned *out_port, const char **out_error);
/* Checks an address as http_listen does, without listening.  Returns: the error of http_listen,
 * static; NULL if there is none, or if the port is in use, which it is by the server whose options
 * are checked. */
const char *http_listen_fault(const char *address, unsigned port);

/* Takes connections from `listen_fd` (borrowed; other servers may share it) once it is started. */
enum parley_status http_server_create(struct reactor *reactor, int listen_fd,
                                      const struct http_options *options, http_begin_fn *begin,
                                      void *context, struct http_server **out) PARLEY_MUST_CHECK;

/* Makes every answer from now on close its connection. New connections are still accepted, so that
 * `begin` can say why it does not serve them; idle ones stay open until their next answer or
 * http_server_destroy, since a client that is just sending a request deserves an answer to it. */
void http_server_drain(struct http_server *server);

/* Changes body_bytes_max and body_rate_bytes of its options. */
void http_server_bound_bodies(struct http_server *server, uint64_t body_bytes_max,
                              size_t body_rate_bytes);

/* Returns how many requests are being served (waiting, sending, streaming). Those that began after
 * http_server_drain are not counted: the shutdown does not wait for them. */
size_t http_server_active_count(const struct http_server *server);

/* Returns how many connections are open. */
size_t http_server_connection_count(const struct http_server *server);

/* Since the start. */
struct http_totals {
    uint64_t received_bytes, sent_bytes;         /* of the bodies of all requests and answers */
    uint64_t refused_connections;                /* of addresses that have as many as they may */
    uint64_t handshakes_done, handshakes_failed; /* of TLS */
};
struct http_totals http_server_totals(const struct http_server *server);

/* Ends every request at once and frees everything. Call it when the reactor no longer runs: a
 * reactor does not let go of a turn. */
void http_server_destroy(struct http_server *server);

/* ---- the request ---- */

/* Borrowed until `closed`. The path is not decoded: no path of parley has a percent sign. */
const char *http_request_method(const struct http_request *request);
const char *http_request_path(const struct http_request *request);
/* Visible ASCII: the client's X-Request-Id if it sent a good one, else 32 hex digits. */
const char *http_request_id(const struct http_request *request);
/* The peer at the other end of the connection.  Owns: borrowed until `closed`. */
const struct peer *http_request_peer(const struct http_request *request);
/* The name of the client's certificate (tls_name.h), "" if it has no valid one; NULL without a
 * certificate, or without TLS.  Owns: borrowed until `closed`. */
const char *http_request_certificate(const struct http_request *request);
/* Unix time; 0 if there is no certificate. */
int64_t http_request_certificate_expires_at(const struct http_request *request);
/* The host, with its port: of an absolute target, else of the header. NULL if absent. */
const char *http_request_host(const struct http_request *request);
/* NULL when absent; `name` in any case. Of several the first, but of Accept all as one list. */
const char *http_request_header(const struct http_request *request, const char *name);
/* The header `number`, from 0 on, of those that have the name. NULL: there are not so many. */
const char *http_request_header_at(const struct http_request *request, const char *name,
                                   size_t number);
/* Decoded, a `+` being a blank. NULL when absent; "" for `?follow`. */
const char *http_request_query(const struct http_request *request, const char *name);
/* How many seconds the client is willing to wait for an answer (`Prefer: wait=N`); 0 if it does not
 * say. */
uint32_t http_request_wait_s(const struct http_request *request);
/* Calls `each` for every query option, until it returns false. */
void http_request_each_query(const struct http_request *request,
                             bool (*each)(void *context, const char *name, const char *value),
                             void *context);
/* The body's announced length, or -1 when it is chunked. */
int64_t http_request_content_length(const struct http_request *request);

/* Makes the answer to this request wait, if its status is 2xx, until everything written before it
 * is on the disk (options.commit). Not for a live one, whose source waits itself. */
void http_commit(struct http_request *request);
/* After http_commit: extends the wait to an answer with any status, since that promises something,
 * too. */
void http_commit_refusal(struct http_request *request);

/* Whether the rest of the body is discarded, since there is an answer. */
bool http_request_is_discarding(const struct http_request *request);

/* Notes something of the request; of several notes of a kind the last counts.  `value`: not 0. */
void http_request_note(struct http_request *request, enum http_note note, unsigned char value);

/* As http_request_note, with a text.  Copies it; without memory nothing is noted. */
void http_request_remark(struct http_request *request, enum http_remark remark,
                         struct parley_bytes text);
/* NULL if nothing was noted.  Owns: borrowed until http_options.over returns. */
const char *http_request_remarked(const struct http_request *request, enum http_remark remark);

/* Hands the request to `handler` (static).  Owns: state is the handler's, freed in its closed. */
void http_request_serve(struct http_request *request, const struct http_handler *handler,
                        void *state);
void *http_request_state(const struct http_request *request);

/* Keeps a value with the request's connection, in place of the previous one: a thing verified for
 * one request need not be verified for the next.  Owns: `release` frees it once it is replaced or
 * the connection is closed; NULL if there is nothing to free. */
void http_request_keep(struct http_request *request, void *kept, void (*release)(void *kept));
/* NULL if nothing was kept on this connection. */
void *http_request_kept(const struct http_request *request);

/* Resumes a body, answer or stream that had to wait. Harmless at any time before `closed`, any
 * number of times. */
void http_wake(struct http_request *request);

/* ---- the answer ---- */

/* Adds a header to the answer; before http_respond.  Copies both. */
void http_header(struct http_request *request, const char *name, const char *value);

/* The answer may be compressed, where its client accepts that and it is no shorter than this, if
 * its length is known; before http_respond. Each piece of a stream can be read as soon as it
 * arrives. */
#define HTTP_COMPRESSED_BYTES_MIN 1024u
void http_compress(struct http_request *request);

/* What the client reads instead of JSON: an encoding of the protocol that it speaks, by the name
 * that it has for it.  Owns: everything is borrowed until `closed`. */
struct http_encoding {
    const struct parley_protocol *protocol; /* NULL: JSON */
    const struct parley_codec *codec;       /* with from_json */
    const char *media_type;
};

/* An answer of http_respond that is application/json is sent in that encoding; before
 * http_respond. If there is no memory for it, it is sent as it is. */
void http_encode(struct http_request *request, const struct http_encoding *encoding);
const struct http_encoding *http_request_encoding(const struct http_request *request);

/* Answers; of several answers the first counts. X-Request-Id is added; HEAD gets the headers alone;
 * the rest of the body is read and discarded first, so that the client sees the answer (unless it
 * waits for a 100-continue: then it is answered at once).  Copies `body`. `content_type` NULL: no
 * body. HTTP_NOT_MODIFIED is given what the answer 200 would be: its length is sent (RFC 9110,
 * section 8.6), and neither its body nor its type. */
#define HTTP_NOT_MODIFIED 304
void http_respond(struct http_request *request, unsigned status, const char *content_type,
                  struct parley_bytes body);

/* As http_respond, with a body that stays unchanged until the server is destroyed: it is not
 * copied, however many clients read it slowly. It is not compressed. */
void http_respond_kept(struct http_request *request, unsigned status, const char *content_type,
                       struct parley_bytes body);

/* The connection will be closed after the answer. Before http_respond. When both come from the
 * begin callback, the answer does not wait for the body (and a client that continues to send it may
 * not see the answer). */
void http_close_after(struct http_request *request);

#define HTTP_SOURCE_END (-1) /* the answer is whole */
#define HTTP_SOURCE_ABORT                                                                          \
    (-2) /* it cannot be: break the chunking, so that no client takes it for                       \
            whole */

/* Answers with the output of `read`, chunked: it writes up to `size` bytes and returns their
 * number, 0 for "nothing now, http_wake will follow", or one of the two above. It is not called
 * after `closed`, and never for HEAD. `state` is the handler's. */
void http_respond_stream(struct http_request *request, unsigned status, const char *content_type,
                         ssize_t (*read)(void *state, char *buffer, size_t size));

/* As http_respond_stream, but written by live_response.c and at once: it may be called before the
 * body has ended, and then the body continues to arrive. All data woken in a turn leaves in one
 * write. The connection is closed after it.
 *
 * While the client does not read, the source is not asked: a handler that wants the client to pause
 * takes less of its body. The answer to a client that reads nothing and sends nothing for
 * idle_timeout_s is aborted; after a client has disconnected, its source is asked, to no effect,
 * until all that it sent was taken. Where it cannot be live it is http_respond_stream, which
 * discards the rest of a body. */
void http_respond_live(struct http_request *request, unsigned status, const char *content_type,
                       ssize_t (*read)(void *state, char *buffer, size_t size));

/* Not to HTTP/1.0, which knows no chunks, nor to HEAD. */
bool http_can_be_live(const struct http_request *request);

/* Whether libmicrohttpd works as parley needs it to: requests of every kind are answered by a
 * server of the trial's own, with the memory that `memory` gives a connection.  Blocks: some
 * milliseconds, and where it does not work up to twice `patience_s`.  Returns: false with `error` a
 * sentence without its period; if the library hangs, memory and a thread are lost. */
bool mhd_self_test(const struct http_options *memory, unsigned patience_s, char *error,
                   size_t size);

/* The version of libmicrohttpd.  Owns: static. */
const char *http_library_version(void);
