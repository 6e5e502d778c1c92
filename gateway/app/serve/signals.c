/* SPDX-License-Identifier: Apache-2.0 */

#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { HANGUP_MS = 500 };

/* Whether it was started by nohup or the like, and must outlive its terminal. */
static bool ignores_hangups(void) {
    struct sigaction action;
    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Not SIGHUP, which a closing terminal sends more than once. */
void signals_let_kill(void) {
    sigset_t both;
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &both, NULL);
}

/* Whether the process has a controlling terminal that can be used. */
static bool has_terminal(void) {
    const int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static bool has_lost_terminal(const struct signals *signals) {
    return signals->has_terminal && !has_terminal();
}

/* A terminal sends the signal a moment before it is gone. */
static void look_for_terminal(struct reactor_timer *timer) {
    struct signals *signals = OWNER_OF(timer, struct signals, hangup_timer);
    if (has_lost_terminal(signals)) {
        signals->end(signals, "its terminal was closed");
    }
}

static void on_hangup(struct signals *signals) {
    if (has_lost_terminal(signals)) {
        signals->end(signals, "its terminal was closed");
        return;
    }
    signals->reload(signals);
    if (signals->has_terminal) {
        reactor_timer_set(signals->reactor, &signals->hangup_timer, HANGUP_MS);
    }
}

static void on_signal(struct reactor_watch *watch, uint32_t events) {
    struct signals *signals = OWNER_OF(watch, struct signals, watch);
    struct signalfd_siginfo info;
    (void)events;
    if (read(watch->fd, &info, sizeof info) != (ssize_t)sizeof info) {
        return;
    }
    if (info.ssi_signo == SIGHUP) {
        on_hangup(signals);
    } else {
        signals->end(signals, info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
    }
}

/* Blocked in all threads, which inherit the mask, and read from a descriptor on the main one. */
enum parley_status signals_watch(struct signals *signals, struct reactor *reactor) {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    if (!ignores_hangups()) { /* a closing terminal no longer concerns it */
        sigaddset(&wanted, SIGHUP);
    }
    signals->reactor = reactor;
    signals->has_terminal = has_terminal();
    signals->hangup_timer.fire = look_for_terminal;
    pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is as a full disk */
    signals->watch.ready = on_signal;
    signals->watch.fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->watch.fd < 0 ? PARLEY_E_IO
                                 : reactor_watch_add(reactor, &signals->watch, EPOLLIN);
}

void signals_close(struct signals *signals) {
    if (signals->watch.fd > 0) {
        close(signals->watch.fd);
    }
}
