/* SPDX-License-Identifier: Apache-2.0 */

/* See bare_nats.h. It deliberately does not survive a lost connection, and waits for an ack for
 * ever. */

#include "bare_nats.h"

#include <err.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include <nats/nats.h>

/* Not in nats.h: docs/libraries.md. */
typedef void nats_filter_fn(natsConnection *connection, natsMsg **message, void *context);
void natsConn_setFilterWithClosure(natsConnection *connection, nats_filter_fn *filter,
                                   void *context);
void natsMsg_free(void *message);
natsStatus natsMsg_create(natsMsg **out, const char *subject, int subject_length, const char *reply,
                          int reply_length, const char *text, int text_length, int headers_length);

enum {
    INBOX_MAX = 64,
    TEXT_BYTES_MAX = 2048, /* of the headers and a claim */
    ID_OFFSET = sizeof "{\"id\":\"" - 1,
    ID_LENGTH = sizeof "MSG-00000000000" - 1,
    READ_BYTES = 128 * 1024,
    TRASH_MAX = 256,
};

static const char subject[] = "vlp.safe.claim";

#define NS_A_SECOND INT64_C(1000000000)

struct bare_nats {
    natsConnection *connection;
    natsSubscription *acks;
    bare_ack_fn *acked;
    void *context;
    char inbox[INBOX_MAX]; /* "_INBOX.xyz.", to which a slot is appended */
    size_t inbox_length;
    uint64_t message_id;       /* counts; with `life`, what no other message has */
    uint64_t life;             /* of this process */
    natsMsg *trash[TRASH_MAX]; /* to destroy each at once would wake the library's collector */
    size_t trash_count;
    int epoll_fd, fd;
    atomic_bool wants_write; /* the library may ask from a thread of its own */
    bool is_write_armed;
    bool is_by_all_means;
};

static void check(natsStatus status, const char *what) {
    if (status != NATS_OK) {
        errx(1, "%s: %s", what, natsStatus_GetText(status));
    }
}

/* ---- the library's hooks into the loop ---- */

static void watch(struct bare_nats *nats, int operation, bool is_write_wanted) {
    struct epoll_event event = {.events = EPOLLIN | (is_write_wanted ? EPOLLOUT : 0U),
                                .data.ptr = nats};
    if (epoll_ctl(nats->epoll_fd, operation, nats->fd, &event) != 0) {
        err(1, "epoll_ctl");
    }
}

static natsStatus attach(void **state, void *loop, natsConnection *connection, natsSock fd) {
    (void)connection;
    struct bare_nats *nats = loop;
    *state = nats;
    nats->fd = (int)fd;
    watch(nats, EPOLL_CTL_ADD, false);
    return NATS_OK;
}

static natsStatus want_read(void *state, bool is_wanted) {
    (void)state;
    (void)is_wanted;
    return NATS_OK;
}

static natsStatus want_write(void *state, bool is_wanted) {
    struct bare_nats *nats = state;
    atomic_store_explicit(&nats->wants_write, is_wanted, memory_order_relaxed);
    return NATS_OK;
}

static natsStatus detach(void *state) {
    (void)state;
    errx(1, "the connection to NATS is lost");
}

/* ---- opening ---- */

static nats_filter_fn filter; /* of acks, below */

/* As parley creates it: file storage, seven days, two minutes of looking for duplicates. */
static void create_stream(const char *url) {
    natsConnection *connection = NULL;
    jsCtx *jetstream = NULL;
    jsStreamConfig config;
    jsErrCode code = 0;
    const char *subjects[] = {"vlp.>"};
    check(natsConnection_ConnectTo(&connection, url), "connecting");
    check(natsConnection_JetStream(&jetstream, connection, NULL), "JetStream");
    check(jsStreamConfig_Init(&config), "JetStream");
    config.Name = "VLP";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.MaxAge = 7 * 24 * 3600 * NS_A_SECOND;
    config.Duplicates = 120 * NS_A_SECOND;
    check(js_AddStream(NULL, jetstream, &config, NULL, &code), "creating the stream");
    jsCtx_Destroy(jetstream);
    natsConnection_Destroy(connection);
}

static void open_inbox(struct bare_nats *nats) {
    natsInbox *inbox = NULL;
    char wildcard[INBOX_MAX + 1];
    check(natsInbox_Create(&inbox), "inbox");
    int length = snprintf(nats->inbox, sizeof nats->inbox, "%s.", inbox);
    natsInbox_Destroy(inbox);
    nats->inbox_length = (size_t)length;
    snprintf(wildcard, sizeof wildcard, "%s*", nats->inbox);
    check(natsConnection_SubscribeSync(&nats->acks, nats->connection, wildcard), "inbox");
    check(natsSubscription_SetPendingLimits(nats->acks, -1, -1), "inbox");
}

bool bare_nats_is_by_all_means(int argc, char **argv, int wanted, const char *usage) {
    bool is_by_all_means = argc == wanted + 1 && strcmp(argv[wanted], "by-all-means") == 0;
    if (argc != wanted && !is_by_all_means) {
        errx(2, "usage: %s [by-all-means]", usage);
    }
    return is_by_all_means;
}

struct bare_nats *bare_nats_open(const char *url, int epoll_fd, bool is_by_all_means,
                                 bare_ack_fn *acked, void *context) {
    struct bare_nats *nats = calloc(1, sizeof *nats);
    natsOptions *options = NULL;
    struct timespec now;
    if (nats == NULL) {
        err(1, "calloc");
    }
    clock_gettime(CLOCK_REALTIME, &now);
    nats->life = (uint64_t)now.tv_sec * (uint64_t)NS_A_SECOND + (uint64_t)now.tv_nsec;
    nats->epoll_fd = epoll_fd;
    nats->acked = acked;
    nats->context = context;
    create_stream(url);
    check(natsOptions_Create(&options), "options");
    check(natsOptions_SetURL(options, url), "options");
    check(natsOptions_SetSendAsap(options, true), "options"); /* or a flusher thread waits 1 ms */
    check(natsOptions_SetIOBufSize(options, READ_BYTES), "options");
    check(natsOptions_SetEventLoop(options, nats, attach, want_read, want_write, detach),
          "options");
    check(natsConnection_Connect(&nats->connection, options), "connecting");
    natsOptions_Destroy(options);
    open_inbox(nats);
    nats->is_by_all_means = is_by_all_means;
    if (is_by_all_means) {
        natsConn_setFilterWithClosure(nats->connection, filter, nats);
    }
    bare_nats_write(nats);
    return nats;
}

/* ---- messages ---- */

static void empty_trash(struct bare_nats *nats) {
    for (size_t i = 0; i < nats->trash_count; i++) {
        natsMsg_Destroy(nats->trash[i]);
    }
    nats->trash_count = 0;
}

static void throw_away(struct bare_nats *nats, natsMsg *message) {
    if (nats->trash_count == TRASH_MAX) {
        empty_trash(nats);
    }
    nats->trash[nats->trash_count++] = message;
}

enum { HEADER_COUNT = 6 };

/* Those of one message, of which two differ from the message before. */
struct headers {
    char message_id[33], id[ID_LENGTH + 1];
    const char *list[HEADER_COUNT][2];
};

static void fill_headers(struct bare_nats *nats, struct headers *headers, const char *claim) {
    /* parley's is a digest, of this length; a count is the cheapest that is never a duplicate. */
    snprintf(headers->message_id, sizeof headers->message_id, "%016" PRIx64 "%016" PRIx64,
             nats->life, nats->message_id++);
    memcpy(headers->id, claim + ID_OFFSET, ID_LENGTH);
    headers->id[ID_LENGTH] = '\0';
    const char *const list[HEADER_COUNT][2] = {
        {"Nats-Msg-Id", headers->message_id},
        {"ce-specversion", "1.0"},
        {"ce-id", headers->id},
        {"ce-source", "/vlp/The%2520Observer"}, /* as the NATS binding encodes a percent sign */
        {"ce-type", "vlp.claim"},
        {"ce-time", "2025-12-14T10:30:00Z"},
    };
    memcpy(headers->list, list, sizeof list);
}

static natsStatus publish(struct bare_nats *nats, const struct headers *headers, const char *reply,
                          const char *claim, size_t length) {
    natsMsg *message = NULL;
    natsStatus status = natsMsg_Create(&message, subject, reply, claim, (int)length);
    for (size_t i = 0; status == NATS_OK && i < HEADER_COUNT; i++) {
        status = natsMsgHeader_Set(message, headers->list[i][0], headers->list[i][1]);
    }
    if (status == NATS_OK) {
        status = natsConnection_PublishMsg(nats->connection, message);
        throw_away(nats, message);
    }
    return status;
}

static natsStatus publish_by_all_means(struct bare_nats *nats, const struct headers *headers,
                                       const char *reply, const char *claim, size_t length) {
    char text[TEXT_BYTES_MAX];
    char *at = stpcpy(text, "NATS/1.0\r\n");
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        at = stpcpy(stpcpy(at, headers->list[i][0]), ": ");
        at = stpcpy(stpcpy(at, headers->list[i][1]), "\r\n");
    }
    at = stpcpy(at, "\r\n");
    int headers_length = (int)(at - text);
    if (length > sizeof text - (size_t)headers_length) {
        errx(1, "that is not the claim of bench/data");
    }
    memcpy(at, claim, length);
    natsMsg *message = NULL;
    natsStatus status =
        natsMsg_create(&message, subject, (int)strlen(subject), reply, (int)strlen(reply), text,
                       headers_length + (int)length, headers_length);
    if (status == NATS_OK) {
        status = natsConnection_PublishMsg(nats->connection, message);
        natsMsg_free(message);
    }
    return status;
}

void bare_nats_publish(struct bare_nats *nats, uint32_t slot, const char *claim, size_t length) {
    struct headers headers;
    char reply[INBOX_MAX + 9];
    if (length < ID_OFFSET + ID_LENGTH) {
        errx(1, "that is not the claim of bench/data");
    }
    memcpy(reply, nats->inbox, nats->inbox_length);
    snprintf(reply + nats->inbox_length, 9, "%" PRIx32, slot);
    fill_headers(nats, &headers, claim);
    check((nats->is_by_all_means ? publish_by_all_means : publish)(nats, &headers, reply, claim,
                                                                   length),
          "publishing");
}

static void take_ack(struct bare_nats *nats, natsMsg *message) {
    static const char stored[] = "{\"stream\":";
    const char *inbox = natsMsg_GetSubject(message);
    bool is_stored = natsMsg_GetDataLength(message) > (int)sizeof stored &&
                     memcmp(natsMsg_GetData(message), stored, sizeof stored - 1) == 0;
    uint32_t slot = (uint32_t)strtoul(inbox + nats->inbox_length, NULL, 16);
    if (nats->is_by_all_means) {
        natsMsg_free(message);
    } else {
        throw_away(nats, message);
    }
    nats->acked(nats->context, slot, is_stored);
}

/* Called inside natsConnection_ProcessReadEvent: all that comes is acks. */
static void filter(natsConnection *connection, natsMsg **message, void *context) {
    (void)connection;
    take_ack(context, *message);
    *message = NULL;
}

void bare_nats_read(struct bare_nats *nats, uint32_t events) {
    natsMsg *message = NULL;
    if ((events & ~(uint32_t)EPOLLOUT) != 0) {
        natsConnection_ProcessReadEvent(nats->connection);
    }
    while (natsSubscription_NextMsg(&message, nats->acks, 0) == NATS_OK) {
        take_ack(nats, message);
    }
}

void bare_nats_write(struct bare_nats *nats) {
    if (atomic_load_explicit(&nats->wants_write, memory_order_relaxed)) {
        natsConnection_ProcessWriteEvent(nats->connection);
    }
    bool is_unfinished = atomic_load_explicit(&nats->wants_write, memory_order_relaxed);
    if (is_unfinished != nats->is_write_armed) {
        nats->is_write_armed = is_unfinished;
        watch(nats, EPOLL_CTL_MOD, is_unfinished);
    }
}
