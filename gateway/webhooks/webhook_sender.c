/* SPDX-License-Identifier: Apache-2.0 */

/* libcurl's multi interface: it names the sockets to wait for and the time after which it wants to
 * be called, and the reactor does both. */

#include "webhook_sender.h"

#include <stdlib.h>
#include <sys/epoll.h>

struct webhook_sender {
    struct reactor *reactor;
    CURLM *multi;
    struct reactor_timer timer;
};

/* One of libcurl's sockets. */
struct socket_watch {
    struct reactor_watch watch;
    struct webhook_sender *sender;
};

/* ---- what is done ---- */

static void finish_one(struct webhook_sender *sender, CURL *easy, CURLcode code) {
    char *context = NULL;
    struct webhook_result result;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context);
    struct webhook_sending *sending = (struct webhook_sending *)(void *)context;
    (void)curl_multi_remove_handle(sender->multi, easy);
    webhook_request_result(&sending->request, code, &result);
    webhook_request_finish(&sending->request);
    sending->done(sending, &result);
}

static void act(struct webhook_sender *sender, curl_socket_t fd, int events) {
    int count;
    const CURLMsg *message;
    (void)curl_multi_socket_action(sender->multi, fd, events, &count);
    while ((message = curl_multi_info_read(sender->multi, &count)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            finish_one(sender, message->easy_handle, message->data.result);
        }
    }
}

static void on_ready(struct reactor_watch *watch, uint32_t events) {
    struct socket_watch *socket = OWNER_OF(watch, struct socket_watch, watch);
    act(socket->sender, watch->fd,
        ((events & (EPOLLIN | EPOLLHUP)) != 0 ? CURL_CSELECT_IN : 0) |
            ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
            ((events & EPOLLERR) != 0 ? CURL_CSELECT_ERR : 0));
}

static void on_time(struct reactor_timer *timer) {
    act(OWNER_OF(timer, struct webhook_sender, timer), CURL_SOCKET_TIMEOUT, 0);
}

/* ---- what libcurl asks for ---- */

static uint32_t epoll_events(int what) {
    return ((what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0) |
           ((what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0);
}

/* A socket that cannot be watched, or not otherwise, is left to the request's timeout. */
static void watch_new(struct webhook_sender *sender, curl_socket_t fd, int what) {
    struct socket_watch *socket = calloc(1, sizeof *socket);
    if (socket == NULL) {
        return;
    }
    *socket = (struct socket_watch){.watch = {.ready = on_ready, .fd = fd}, .sender = sender};
    if (reactor_watch_add(sender->reactor, &socket->watch, epoll_events(what)) != PARLEY_OK) {
        free(socket);
        return;
    }
    (void)curl_multi_assign(sender->multi, fd, socket);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *assigned) {
    struct webhook_sender *sender = context;
    struct socket_watch *socket = assigned;
    (void)easy;
    if (socket == NULL && what != CURL_POLL_REMOVE) {
        watch_new(sender, fd, what);
    } else if (socket != NULL && what == CURL_POLL_REMOVE) {
        (void)curl_multi_assign(sender->multi, fd, NULL);
        reactor_watch_remove(sender->reactor, &socket->watch);
        free(socket);
    } else if (socket != NULL) {
        const enum parley_status ignored =
            reactor_watch_change(sender->reactor, &socket->watch, epoll_events(what));
        (void)ignored;
    }
    return 0;
}

static int on_timeout(CURLM *multi, long timeout_ms, void *context) {
    struct webhook_sender *sender = context;
    (void)multi;
    if (timeout_ms < 0) {
        reactor_timer_clear(sender->reactor, &sender->timer);
    } else {
        reactor_timer_set(sender->reactor, &sender->timer, timeout_ms);
    }
    return 0;
}

/* ---- life ---- */

enum parley_status webhook_sender_create(struct reactor *reactor, struct webhook_sender **out) {
    struct webhook_sender *sender = calloc(1, sizeof *sender);
    if (sender == NULL) {
        return PARLEY_E_MEMORY;
    }
    *sender = (struct webhook_sender){
        .reactor = reactor, .multi = curl_multi_init(), .timer = {.fire = on_time}};
    if (sender->multi == NULL ||
        curl_multi_setopt(sender->multi, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK ||
        curl_multi_setopt(sender->multi, CURLMOPT_SOCKETDATA, sender) != CURLM_OK ||
        curl_multi_setopt(sender->multi, CURLMOPT_TIMERFUNCTION, on_timeout) != CURLM_OK ||
        curl_multi_setopt(sender->multi, CURLMOPT_TIMERDATA, sender) != CURLM_OK) {
        webhook_sender_destroy(sender);
        return PARLEY_E_MEMORY;
    }
    *out = sender;
    return PARLEY_OK;
}

void webhook_sender_destroy(struct webhook_sender *sender) {
    if (sender == NULL) {
        return;
    }
    (void)curl_multi_cleanup(sender->multi);
    reactor_timer_clear(sender->reactor, &sender->timer);
    free(sender);
}

bool webhook_sender_start(struct webhook_sender *sender, struct webhook_sending *sending) {
    CURL *easy = sending->request.easy;
    return curl_easy_setopt(easy, CURLOPT_PRIVATE, (void *)sending) == CURLE_OK &&
           curl_multi_add_handle(sender->multi, easy) == CURLM_OK;
}

void webhook_sender_drop(struct webhook_sender *sender, struct webhook_sending *sending) {
    (void)curl_multi_remove_handle(sender->multi, sending->request.easy);
    webhook_request_finish(&sending->request);
}
