/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The functions of nats.c that parley calls and nats.h does not declare. Its shared object exports
 * all of them, in this form, in every 3.x: CMake asks for these versions, a version without one of
 * them cannot be linked, and test_bus fails where one behaves differently. Only bus*.c include
 * this. */

#include <stdbool.h>

#include <nats/nats.h>

/* The library's own hook for its tests. It is called inside natsConnection_ProcessReadEvent, with
 * no lock held; a filter that keeps the message sets *message to NULL. */
typedef void nats_filter_fn(natsConnection *connection, natsMsg **message, void *context);
void natsConn_setFilterWithClosure(natsConnection *connection, nats_filter_fn *filter,
                                   void *context);

/* Creates a message with its headers in wire format, as the library keeps a message that it
 * received, and the library sends such headers as they are. Setting headers one by one takes a
 * table, three allocations each, and writing them afterwards: a fifth of the cost of a single
 * request.  `text`: headers and payload, copied. */
natsStatus natsMsg_create(natsMsg **out, const char *subject, int subject_length, const char *reply,
                          int reply_length, const char *text, int text_length, int headers_length);

/* Whether the server's INFO has this version, or a later one. */
bool natsConn_srvVersionAtLeast(natsConnection *connection, int major, int minor, int patch);

/* Frees a message at once. natsMsg_Destroy has a thread of the library do it, which costs a futex
 * and a memory cache miss per message, a third of the cost of a line of a large body. */
void natsMsg_free(void *message);

/* Functions that later versions require of an event loop, and declare; NULL in earlier ones. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
/* NOLINTBEGIN(readability-redundant-declaration) */
#pragma weak natsConnection_ProcessCloseEvent
#pragma weak natsConnection_ProcessDetachedEvent
/* Closes a socket that the library no longer reads or writes (3.10.1 has it). */
void natsConnection_ProcessCloseEvent(natsSock *socket);
/* Releases the state that the library keeps of a connection until it is detached (3.14 has it). */
void natsConnection_ProcessDetachedEvent(natsConnection *connection);
/* NOLINTEND(readability-redundant-declaration) */
#pragma GCC diagnostic pop
