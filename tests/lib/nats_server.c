/* SPDX-License-Identifier: Apache-2.0 */

/* See nats_server.h. It kills by process id only, never by name. */

#include "nats_server.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 120000 }; /* which only a defect reaches */

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A socket that is bound and never listens keeps the port from all that asks for any free one. A
 * server can listen there all the same if it sets SO_REUSEADDR too, as nats-server does. */
static int reserve_port(int *out_port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        abort();
    }
    *out_port = ntohs(address.sin_port);
    return fd;
}

bool nats_server_answers(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(port);
    char said[5] = "";
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    bool answers = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                   poll(&wait, 1, PATIENCE_MS) == 1 && recv(fd, said, 4, MSG_WAITALL) == 4 &&
                   strcmp(said, "INFO") == 0;
    close(fd);
    return answers;
}

void nats_server_init(struct nats_server *server, bool has_jetstream) {
    memset(server, 0, sizeof *server);
    server->reserving_fd = reserve_port(&server->port);
    server->has_jetstream = has_jetstream;
    snprintf(server->url, sizeof server->url, "nats://127.0.0.1:%d", server->port);
    snprintf(server->folder, sizeof server->folder, "/tmp/parley-test-XXXXXX");
    if (mkdtemp(server->folder) == NULL) {
        abort();
    }
}

static void become_server(const struct nats_server *server, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
    char port[16];
    snprintf(port, sizeof port, "%d", server->port);
    const char *arguments[24] = {"nats-server", "-a", "127.0.0.1", "-p", port};
    size_t count = 5;
    if (server->has_jetstream) {
        arguments[count++] = "-js";
        arguments[count++] = "-sd";
        arguments[count++] = server->folder;
    }
    for (size_t i = 0; server->extra != NULL && server->extra[i] != NULL; i++) {
        arguments[count++] = server->extra[i];
    }
    if (freopen("/dev/null", "w", stderr) == NULL) {
        _exit(1);
    }
    const char *chosen = getenv("PARLEY_TEST_NATS_SERVER");
    if (chosen != NULL && chosen[0] != '\0') {
        execv(chosen, (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    execvp("nats-server", (char *const *)(uintptr_t)arguments);
    execv("/usr/sbin/nats-server", (char *const *)(uintptr_t)arguments);
    _exit(127);
}

void nats_server_start(struct nats_server *server) {
    pid_t parent = getpid();
    server->pid = fork();
    if (server->pid == 0) {
        become_server(server, parent);
    }
    for (int tries = 0; !nats_server_answers(server->port); tries++) {
        if (tries > PATIENCE_MS / 10 || waitpid(server->pid, NULL, WNOHANG) != 0) {
            fprintf(stderr, "nats-server does not start\n");
            abort();
        }
        usleep(10 * 1000);
    }
}

void nats_server_end(struct nats_server *server, int signal_number) {
    kill(server->pid, signal_number);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

void nats_server_stop(struct nats_server *server) {
    kill(server->pid, SIGSTOP);
    waitpid(server->pid, NULL, WUNTRACED);
}

void nats_server_continue(struct nats_server *server) {
    kill(server->pid, SIGCONT);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void remove_folder(const char *folder) {
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void nats_server_finish(struct nats_server *server) {
    if (server->pid != 0) {
        nats_server_end(server, SIGKILL);
    }
    close(server->reserving_fd);
    remove_folder(server->folder);
}
