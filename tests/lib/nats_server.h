/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A real nats-server for a test: on loopback, on a free port that it keeps over its restarts, with
 * its store in a folder of its own under /tmp. It dies with the test. */

#include <stdbool.h>
#include <sys/types.h>

struct nats_server {
    pid_t pid; /* 0: not running */
    int port;
    int reserving_fd; /* keeps the port while no server listens there */
    char url[64];
    char folder[64]; /* of the store */
    bool has_jetstream;
    const char *const *extra; /* arguments, NULL-terminated, or NULL */
};

/* Picks the port and the folder, starts nothing. */
void nats_server_init(struct nats_server *server, bool has_jetstream);
/* Starts it, and waits until it answers. */
void nats_server_start(struct nats_server *server);
/* Sends the signal, and waits for its end. */
void nats_server_end(struct nats_server *server, int signal_number);
/* Freezes it, and thaws it. */
void nats_server_stop(struct nats_server *server);
void nats_server_continue(struct nats_server *server);
/* Ends it if it runs and removes its folder. */
void nats_server_finish(struct nats_server *server);

/* Whether something says INFO there. */
bool nats_server_answers(int port);

void remove_folder(const char *folder);
