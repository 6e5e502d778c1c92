/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One reactor's connection to NATS. bus.c and the files bus_*.c are the only ones that use
 * nats.c. The bus publishes, and receives through one inbox with numbered mailboxes. Nothing here
 * blocks: without a connection, functions say so. Everything is called on the reactor's thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

#include "reactor.h"

struct bus;

struct bus_header {
    const char *name;
    const char *value; /* NUL-terminated, no CR or LF */
};

/* A message that was received.  Owns: borrowed for the call. */
struct bus_message {
    const char *subject;
    const char *reply; /* NULL if absent */
    /* The rest of the reply subject after the mailbox's tag; "" if it is empty, or there is no
       tag. */
    const char *reply_tail;
    struct parley_bytes payload;
    const void *native; /* for bus_message_header */
};

/* Returns: NULL when the message has no such header.  Owns: borrowed, like the message. */
const char *bus_message_header(const struct bus_message *message, const char *name);
/* Returns: the code of a status message of the server (100, 404, 408, 409, 503); 0 for any other
 * message. */
unsigned bus_message_status(const struct bus_message *message);

/* The credentials by which parley authenticates to NATS, and NATS to parley. All are files but
 * `nkey` and `server_name`; NULL if absent. */
struct bus_identity {
    const char *creds;            /* a user's JWT and seed, read again for each connection */
    const char *nkey, *nkey_seed; /* the public key, and its seed, read for each connection */
    const char *ca;               /* the only authorities whose certificates are trusted */
    const char *cert, *key;       /* parley's own certificate */
    const char *server_name;      /* in the servers' certificates, instead of the URL's host */
};

struct bus_options {
    const char *urls;  /* comma-separated */
    const char *token; /* NULL if absent */
    struct bus_identity identity;
    const char *name;  /* of the connection, in the server's monitoring */
    const char *where; /* the servers, for messages, without secrets; NULL if not given */
    /* A subject with a wildcard at its end, for bus_events.heard: "$JS.EVENT.X.>"; NULL to listen
       to none. Borrowed for the bus's life. `forbidden` is not called for it. */
    const char *listen;
};

enum { BUS_FAULT_MAX = 200 };

struct bus_events {
    void (*connected)(void *context); /* also after each reconnect */
    void (*disconnected)(void *context);
    /* These may be NULL. */
    void (*failed)(void *context);                     /* an attempt to connect: see bus_why_away */
    void (*heard)(void *context, const char *subject); /* a message on bus_options.listen */
    /* The server does not permit to publish or subscribe to a subject. */
    void (*forbidden)(void *context, bool is_publish, const char *subject);
    void *context;
};

/* Loads the files once, so that a wrong one is found at the start.
 * Returns: the member whose file cannot be used (`ca`, `cert` and the like), with `why`, which
 * quotes no content; NULL if all can be used. */
const char *bus_identity_fault(const struct bus_identity *identity, char why[BUS_FAULT_MAX]);

/* Returns at once; connects in the background, and tries again for as long as the bus exists.
 * Owns: copies options, events and texts (except `listen`); returns a new bus, which the caller
 * destroys. */
enum parley_status bus_create(struct reactor *reactor, const struct bus_options *options,
                              const struct bus_events *events, struct bus **out) PARLEY_MUST_CHECK;
/* Writes the buffered data, closes, and waits for a pending connection attempt: at worst two
 * seconds per server. The reactor must not run afterwards. NULL is allowed. */
void bus_destroy(struct bus *bus);

bool bus_is_connected(const struct bus *bus);
/* Why it is not connected, as half a sentence without secrets; NULL if it is connected, or no
 * attempt has ended so far.  Owns: borrowed, until the bus's next turn. */
const char *bus_why_away(const struct bus *bus);
/* Whether a server answered and refused the connection: waiting does not help. */
bool bus_is_refused(const struct bus *bus);
/* The server's limit for headers and payload together; without a connection that of the last one, 0
 * before the first. */
size_t bus_max_payload_bytes(const struct bus *bus);
/* The version of the server that it is connected to, or was last (server_version.h). */
uint32_t bus_server_version(const struct bus *bus);

/* ---- mailboxes ---- */

/* Identifies a mailbox: a slot is reused only with another generation. */
struct bus_mailbox {
    uint32_t slot;
    uint32_t generation;
};
typedef void bus_receive_fn(void *context, const struct bus_message *message);

#define BUS_SUBJECT_MAX 96

/* Opens a mailbox; `receive` gets each message sent to its address, and may close it. */
enum parley_status bus_mailbox_open(struct bus *bus, bus_receive_fn *receive, void *context,
                                    struct bus_mailbox *out) PARLEY_MUST_CHECK;
/* Messages that arrive for it afterwards are dropped. Harmless when it is closed. */
void bus_mailbox_close(struct bus *bus, struct bus_mailbox mailbox);
/* Writes its address, NUL-terminated. Addresses are valid for one connection: after a reconnect
 * nothing that was sent to an old one arrives. Empty before the first connection. */
void bus_mailbox_address(const struct bus *bus, struct bus_mailbox mailbox,
                         char address[BUS_SUBJECT_MAX]);

#define BUS_TAG_MAX 64

/* Writes a token that identifies the mailbox as well: a message with another subject goes to the
 * mailbox whose tag is in its reply subject. (JetStream delivers a message under the subject it was
 * stored with, and the reply subject contains the consumer's name: put the tag in that.) */
void bus_mailbox_tag(const struct bus *bus, struct bus_mailbox mailbox, char tag[BUS_TAG_MAX]);

/* A message of a shared consumer has no tag: it goes to the mailbox of the alias whose text is in
 * its reply subject.  Owns: the caller embeds it, and keeps it until it is removed. */
struct bus_alias {
    const char *text; /* ".STREAM.CONSUMER." */
    struct bus_mailbox mailbox;
    struct bus_alias *next;
};
void bus_alias_add(struct bus *bus, struct bus_alias *alias);
/* Harmless when it was not added. */
void bus_alias_remove(struct bus *bus, struct bus_alias *alias);

/* Messages on a subject, as they are published: a core subscription of NATS. It is made again with
 * each connection.  Owns: the caller embeds it, and keeps it until it is removed. */
struct bus_subscription {
    const char *subject; /* it may have wildcards */
    const char *queue;   /* each message goes to one of the subscriptions of a queue; may be NULL */
    bus_receive_fn *receive;
    void *context;
    void *native; /* the bus's; NULL at first */
    struct bus_subscription *next;
};
void bus_subscribe(struct bus *bus, struct bus_subscription *subscription);
/* Harmless when it was not added. */
void bus_unsubscribe(struct bus *bus, struct bus_subscription *subscription);

/* ---- sending ---- */

enum bus_send {
    BUS_SENT,      /* buffered: it is written at the end of this turn */
    BUS_AWAY,      /* not connected */
    BUS_FULL,      /* too many bytes are buffered: the server does not read */
    BUS_TOO_LARGE, /* over the server's max_payload, headers included */
    BUS_FAILED,    /* out of memory, or not a valid subject */
};

/* Publishes a payload without headers.  Owns: copies everything.  `reply`: NULL or an address. */
enum bus_send bus_publish(struct bus *bus, const char *subject, const char *reply,
                          struct parley_bytes payload);
/* Publishes a message whose `text` is its headers and payload, one after the other.
 * `headers_bytes`: the length of the headers, as bus_headers_write has written them; 0 without
 * headers. */
enum bus_send bus_publish_text(struct bus *bus, const char *subject, const char *reply,
                               struct parley_bytes text, size_t headers_bytes);

/* Whether a message would not get BUS_FULL at present. */
bool bus_has_room(const struct bus *bus);

/* Whether little is buffered: then there is room for messages that may be lost. */
bool bus_is_quiet(const struct bus *bus);

/* The size of these headers on the wire, which counts against max_payload. */
size_t bus_headers_bytes(const struct bus_header *headers, size_t header_count);
/* Appends so many bytes, for which there is room.  Returns: whether they can be headers. */
bool bus_headers_write(struct parley_buffer *out, const struct bus_header *headers,
                       size_t header_count);

/* The version of nats.c.  Owns: static. */
const char *bus_library_version(void);
