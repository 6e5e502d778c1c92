/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One reactor's connection to NATS. bus.c and bus_link.c are the only files that know nats.c. It
 * publishes, and it gets answers through one inbox: whoever expects messages opens a mailbox in it.
 * Nothing here ever blocks: a connection that is away is said to be away. Everything happens on the
 * reactor's thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/bytes.h>
#include <parley/status.h>

#include "reactor.h"

struct bus;

struct bus_header {
    const char *name;
    const char *value; /* NUL-terminated, no CR or LF */
};

/* A message that came in.  Owns: borrowed for the time of the call. */
struct bus_message {
    const char *subject;
    const char *reply; /* NULL: none */
    struct parley_bytes payload;
    const void *native; /* for bus_message_header */
};

/* NULL when the message has no such header.  Owns: borrowed, like the message. */
const char *bus_message_header(const struct bus_message *message, const char *name);
/* The code of a status message of the server (100, 404, 408, 409, 503), 0 for any other message. */
unsigned bus_message_status(const struct bus_message *message);

struct bus_options {
    const char *urls;  /* comma-separated */
    const char *token; /* NULL: none */
    const char *name;  /* of the connection, for the server's monitoring */
    const char *where; /* the servers in words, without secrets; NULL: it is not said */
    /* A subject with a wildcard at its end, of which `heard` is told: "$JS.EVENT.X.>"; NULL: none.
       Borrowed for the bus's life. That the server does
       not permit it is not told. */
    const char *listen;
};

struct bus_events {
    void (*connected)(void *context); /* also after each reconnect */
    void (*disconnected)(void *context);
    /* These may be NULL. */
    void (*failed)(void *context); /* an attempt to connect: bus_why_away may say something new */
    void (*heard)(void *context, const char *subject); /* a message of `listen` */
    /* The server does not permit to publish or subscribe to a subject. */
    void (*forbidden)(void *context, bool is_publish, const char *subject);
    void *context;
};

/* Begins to connect, and goes on for ever, in the background: it returns at once, whether or not a
 * server is there.  Owns: options and events are copied, the texts too. */
enum parley_status bus_create(struct reactor *reactor, const struct bus_options *options,
                              const struct bus_events *events, struct bus **out) PARLEY_MUST_CHECK;
/* Sends what still waits to be sent, closes, and waits for a connection attempt that is under way:
 * at worst two seconds a server. The reactor must not run afterwards. */
void bus_destroy(struct bus *bus);

bool bus_is_connected(const struct bus *bus);
/* Why it is not connected, as half a sentence without secrets; NULL: it is, or no attempt has ended
 * yet.  Owns: borrowed, until the bus's next turn. */
const char *bus_why_away(const struct bus *bus);
/* What the server takes for headers and payload together; 0 while it is not connected. */
size_t bus_max_payload_bytes(const struct bus *bus);

/* ---- mailboxes ---- */

/* Names one mailbox of one life: a number is used again only with another generation. */
struct bus_mailbox {
    uint32_t slot;
    uint32_t generation;
};
typedef void bus_receive_fn(void *context, const struct bus_message *message);

#define BUS_SUBJECT_MAX 96

/* Opens a mailbox; `receive` gets each message sent to its address.  It may close it. */
enum parley_status bus_mailbox_open(struct bus *bus, bus_receive_fn *receive, void *context,
                                    struct bus_mailbox *out) PARLEY_MUST_CHECK;
/* What comes for it afterwards is dropped. */
void bus_mailbox_close(struct bus *bus, struct bus_mailbox mailbox);
/* Writes its address, NUL-terminated. Addresses hold for one connection: after a reconnect nothing
 * that was sent to an old one arrives, so ask again. Empty before the first connection. */
void bus_mailbox_address(const struct bus *bus, struct bus_mailbox mailbox,
                         char address[BUS_SUBJECT_MAX]);

#define BUS_TAG_MAX 64

/* Writes a token that names the mailbox as well: a message that comes under the subject of others
 * goes to the mailbox whose tag is in its reply subject. (JetStream delivers what it stored under
 * the subject it was stored with, and its reply bears the consumer's name: put the tag in that.) */
void bus_mailbox_tag(const struct bus *bus, struct bus_mailbox mailbox, char tag[BUS_TAG_MAX]);

/* A message of a consumer that others share bears nobody's tag: it goes to the mailbox of the alias
 * whose text is in its reply subject. The owner embeds it, and keeps it until it is removed. */
struct bus_alias {
    const char *text; /* ".STREAM.CONSUMER." */
    struct bus_mailbox mailbox;
    struct bus_alias *next;
};
void bus_alias_add(struct bus *bus, struct bus_alias *alias);
/* Harmless when it was not added. */
void bus_alias_remove(struct bus *bus, struct bus_alias *alias);

/* ---- sending ---- */

enum bus_send {
    BUS_SENT,      /* handed to the connection: it leaves at the end of this turn */
    BUS_AWAY,      /* not connected */
    BUS_FULL,      /* too many bytes wait to be written: the server does not read */
    BUS_TOO_LARGE, /* over the server's max_payload, headers included */
    BUS_FAILED,    /* memory, or a subject that cannot be */
};

/* Publishes.  Copies everything.  `reply`: NULL or an address. */
enum bus_send bus_publish(struct bus *bus, const char *subject, const char *reply,
                          const struct bus_header *headers, size_t header_count,
                          struct parley_bytes payload);

/* Whether BUS_FULL is not to be expected at present. */
bool bus_has_room(const struct bus *bus);

/* The bytes that these headers take on the wire, which count against max_payload. */
size_t bus_headers_bytes(const struct bus_header *headers, size_t header_count);
