/* SPDX-License-Identifier: Apache-2.0 */

/* Reading a stream together with others: a durable consumer that any number of gateways pull from.
 * It is looked up after each connection and made if it is missing; while there is nothing to read,
 * one request waits on the server, and a heartbeat every few seconds shows that it still does. As
 * with a feed, nothing is repaired: at the first sign of trouble (silence, a status that says that
 * the consumer is gone or has another leader) the consumer is looked up anew.
 *
 * The consumer is named alike for everybody, so its messages bear no tag of a mailbox (bus.h):
 * there is an alias for them. What is dealt out to a gateway that then dies is dealt out to another
 * one once the time for its acknowledgement is over. */

#include "jetstream_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_A_MS INT64_C(1000000)

enum {
    EXPIRES_MS = 300000,
    HEARTBEAT_MS = 5000,
    SILENCE_MAX_MS = 15000,
    WATCH_MS = 5000,
    ALIAS_MAX = 300,
};

struct jetstream_share {
    struct jetstream *jetstream;
    struct jetstream_share *next, **link; /* *link == this */
    struct jetstream_share_options options;
    jetstream_share_fn *taken;
    void *context;
    struct jetstream_request *request;
    struct bus_mailbox mailbox;
    struct bus_alias alias;
    char alias_text[ALIAS_MAX];
    bool is_running;        /* the consumer stands, and the mailbox is open */
    size_t requested_count; /* asked for on the server, not yet come */
    int64_t heard_ms;
    struct reactor_timer timer; /* to try again, or to look whether it still lives */
};

static void look_up(struct jetstream_share *share);

static void stop_share(struct jetstream_share *share) {
    jetstream_request_cancel(share->request);
    share->request = NULL;
    reactor_timer_clear(share->jetstream->reactor, &share->timer);
    if (share->is_running) {
        bus_alias_remove(share->jetstream->bus, &share->alias);
        bus_mailbox_close(share->jetstream->bus, share->mailbox);
        share->is_running = false;
    }
}

static void restart_share(struct jetstream_share *share) {
    stop_share(share);
    reactor_timer_set(share->jetstream->reactor, &share->timer, JETSTREAM_RETRY_MS);
}

/* ---- taking ---- */

static void request_more(struct jetstream_share *share) {
    char subject[JETSTREAM_SUBJECT_MAX], address[BUS_SUBJECT_MAX], body[128];
    snprintf(subject, sizeof subject, "$JS.API.CONSUMER.MSG.NEXT.%s.%s", share->options.stream,
             share->options.durable);
    bus_mailbox_address(share->jetstream->bus, share->mailbox, address);
    snprintf(body, sizeof body,
             "{\"batch\":%zu,\"expires\":%" PRId64 ",\"idle_heartbeat\":%" PRId64 "}",
             share->options.batch, EXPIRES_MS * NS_A_MS, HEARTBEAT_MS * NS_A_MS);
    share->heard_ms = reactor_now_ms(share->jetstream->reactor);
    if (bus_publish(share->jetstream->bus, subject, address, NULL, 0, parley_bytes_of(body)) !=
        BUS_SENT) {
        restart_share(share); /* the bus is full, or going */
        return;
    }
    share->requested_count = share->options.batch;
}

/* A request ended early: `left` of its messages will not come. */
static void end_request(struct jetstream_share *share, const char *left) {
    const size_t count = strtoull(left, NULL, 10);
    share->requested_count -= count < share->requested_count ? count : share->requested_count;
    if (share->requested_count == 0) {
        request_more(share);
    }
}

static void on_status(struct jetstream_share *share, const struct bus_message *message) {
    const unsigned status = bus_message_status(message);
    const char *left = bus_message_header(message, "Nats-Pending-Messages");
    if (status == 408 && left != NULL) {
        end_request(share, left);
    } else if (status != 100) {
        restart_share(share); /* 409: deleted, another leader, …; 503: it is not there */
    }
}

static void on_message(void *context, const struct bus_message *message) {
    struct jetstream_share *share = context;
    struct jetstream_delivery delivery;
    share->heard_ms = reactor_now_ms(share->jetstream->reactor);
    if (!jetstream_delivery_read(message->reply, &delivery)) {
        on_status(share, message);
        return;
    }
    share->requested_count -= share->requested_count > 0 ? 1 : 0;
    const struct jetstream_stored stored = {.sequence = delivery.stream_sequence,
                                            .time_ns = delivery.time_ns,
                                            .subject = message->subject,
                                            .payload = message->payload};
    share->taken(share->context, &stored, message->reply);
    if (share->requested_count == 0) {
        request_more(share);
    }
}

static void begin_taking(struct jetstream_share *share) {
    struct jetstream *jetstream = share->jetstream;
    if (bus_mailbox_open(jetstream->bus, on_message, share, &share->mailbox) != PARLEY_OK) {
        restart_share(share);
        return;
    }
    share->alias = (struct bus_alias){.text = share->alias_text, .mailbox = share->mailbox};
    bus_alias_add(jetstream->bus, &share->alias);
    share->is_running = true;
    reactor_timer_set(jetstream->reactor, &share->timer, WATCH_MS);
    request_more(share);
}

/* ---- the consumer ---- */

static void on_created(void *context, json_t *answer) {
    struct jetstream_share *share = context;
    share->request = NULL;
    if (answer == NULL || jetstream_answer_error(answer) != 0) {
        restart_share(share);
    } else {
        begin_taking(share);
    }
}

static void ask_for(struct jetstream_share *share, const char *verb, json_t *body,
                    jetstream_answer_fn *done) {
    char what[JETSTREAM_SUBJECT_MAX];
    snprintf(what, sizeof what, "CONSUMER.%s.%s.%s", verb, share->options.stream,
             share->options.durable);
    share->request = jetstream_request_send(share->jetstream, what, body, done, share);
    if (share->request == NULL) {
        restart_share(share);
    }
}

static json_t *configuration(const struct jetstream_share *share) {
    const struct jetstream_share_options *options = &share->options;
    json_t *config = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:I, s:i}", "durable_name", options->durable, "filter_subject",
        options->filter, "deliver_policy", "all", "ack_policy", "explicit", "replay_policy",
        "instant", "ack_wait", (json_int_t)(options->ack_wait_ms * NS_A_MS), "max_deliver", -1);
    return json_pack("{s:s, s:o}", "stream_name", options->stream, "config", config);
}

static void on_info(void *context, json_t *answer) {
    struct jetstream_share *share = context;
    share->request = NULL;
    const int error = answer != NULL ? jetstream_answer_error(answer) : -1;
    if (error == 0) {
        begin_taking(share);
    } else if (error == JETSTREAM_E_NO_CONSUMER) {
        ask_for(share, "DURABLE.CREATE", configuration(share), on_created);
    } else {
        restart_share(share);
    }
}

static void look_up(struct jetstream_share *share) {
    ask_for(share, "INFO", NULL, on_info);
}

/* ---- its life ---- */

static void on_timer(struct reactor_timer *timer) {
    struct jetstream_share *share = OWNER_OF(timer, struct jetstream_share, timer);
    if (!share->jetstream->is_ready) {
        return;
    }
    if (!share->is_running) {
        look_up(share);
    } else if (reactor_now_ms(share->jetstream->reactor) - share->heard_ms > SILENCE_MAX_MS) {
        restart_share(share);
    } else {
        reactor_timer_set(share->jetstream->reactor, timer, WATCH_MS);
    }
}

void jetstream_shares_start(struct jetstream *jetstream) {
    for (struct jetstream_share *share = jetstream->shares; share != NULL; share = share->next) {
        /* In a later turn, so that no callback comes before share_open has returned. */
        reactor_timer_set(jetstream->reactor, &share->timer, 0);
    }
}

void jetstream_shares_stop(struct jetstream *jetstream) {
    for (struct jetstream_share *share = jetstream->shares; share != NULL; share = share->next) {
        stop_share(share);
    }
}

enum parley_status jetstream_share_open(struct jetstream *jetstream,
                                        const struct jetstream_share_options *options,
                                        jetstream_share_fn *taken, void *context,
                                        struct jetstream_share **out) {
    struct jetstream_share *share = calloc(1, sizeof *share);
    if (share == NULL) {
        return PARLEY_E_MEMORY;
    }
    share->jetstream = jetstream;
    share->options = *options;
    share->taken = taken;
    share->context = context;
    share->timer.fire = on_timer;
    snprintf(share->alias_text, sizeof share->alias_text, ".%s.%s.", options->stream,
             options->durable);
    share->next = jetstream->shares;
    share->link = &jetstream->shares;
    if (share->next != NULL) {
        share->next->link = &share->next;
    }
    jetstream->shares = share;
    if (jetstream->is_ready) {
        reactor_timer_set(jetstream->reactor, &share->timer, 0);
    }
    *out = share;
    return PARLEY_OK;
}

void jetstream_share_close(struct jetstream_share *share) {
    if (share == NULL) {
        return;
    }
    stop_share(share);
    *share->link = share->next;
    if (share->next != NULL) {
        share->next->link = share->link;
    }
    free(share);
}

/* An answer that is lost leaves the message with nobody, until it is dealt out again. */
void jetstream_share_ack(struct jetstream *jetstream, const char *receipt) {
    (void)bus_publish(jetstream->bus, receipt, NULL, NULL, 0, PARLEY_BYTES("+ACK"));
}

void jetstream_share_return(struct jetstream *jetstream, const char *receipt, int64_t delay_ms) {
    char body[64];
    snprintf(body, sizeof body, "-NAK {\"delay\":%" PRId64 "}", delay_ms * NS_A_MS);
    (void)bus_publish(jetstream->bus, receipt, NULL, NULL, 0, parley_bytes_of(body));
}
