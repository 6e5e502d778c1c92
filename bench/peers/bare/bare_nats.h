/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nats.c as fast as it gets on one thread: on the caller's epoll loop, one write for all that a
 * turn published, acks through one inbox. The peers that publish share it. Each message bears the
 * subject and the headers that parley gives to bench/data/claim.json, without a look at the rest
 * of it: its id is taken from where it always stands.
 *
 * "By all means" is beyond what nats.h declares: three functions that the library exports for its
 * own use, as parley uses them, spare a table of headers, a thread that collects messages, and the
 * queue of a subscription. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bare_nats;

/* JetStream has answered the publication of that slot. */
typedef void bare_ack_fn(void *context, uint32_t slot, bool is_stored);

/* Connects, and creates the stream VLP as parley would. The connection's events on `epoll_fd` bear
 * the result as their data. It exits when something fails. */
struct bare_nats *bare_nats_open(const char *url, int epoll_fd, bool is_by_all_means,
                                 bare_ack_fn *acked, void *context);

/* Whether the command line says so: its last word is "by-all-means", of which the rest begins with
 * `wanted` words, the program's own name among them. It exits when there are more or less. */
bool bare_nats_is_by_all_means(int argc, char **argv, int wanted, const char *usage);

/* `acked` will be called with `slot`, from bare_nats_read. It exits when the library refuses. */
void bare_nats_publish(struct bare_nats *nats, uint32_t slot, const char *claim, size_t length);

/* The connection is ready for `events` of epoll. */
void bare_nats_read(struct bare_nats *nats, uint32_t events);

/* Writes what the turn published. */
void bare_nats_write(struct bare_nats *nats);
