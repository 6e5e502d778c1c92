/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A webhook: to whom events are sent, and which. */

#include <stdbool.h>
#include <stddef.h>

#include <parley/bytes.h>
#include <parley/protocol.h>

enum {
    WEBHOOK_NAME_MAX = 32,
    WEBHOOK_SECRETS_MAX = 4,
    WEBHOOK_SECRET_BYTES_MIN = 24, /* Standard Webhooks, Symmetric: "between 24 and 64" */
    WEBHOOK_SECRET_BYTES_MAX = 64,
    WEBHOOK_AT_ONCE = 4,
    WEBHOOK_AT_ONCE_MAX = 16,
};

struct webhook_secret {
    unsigned char bytes[WEBHOOK_SECRET_BYTES_MAX];
    size_t length;
};

/* Owns: its texts belong to the file that it is in. */
struct webhook {
    const char *name;                          /* 1 to 32 of a-z 0-9 - */
    const char *url;                           /* https; with is_private also http */
    const char *events;                        /* separated by commas, as the next three */
    const char *protocols, *domains, *senders; /* NULL: any */
    struct webhook_secret secrets[WEBHOOK_SECRETS_MAX];
    size_t secret_count; /* 1 or more: each signs */
    unsigned at_once;    /* requests of one gateway */
    bool is_private;     /* it may be at a loopback or private address */
};

/* The event that a conversation was halted, of protocols that have halts. */
extern const char webhook_halted[];

/* The event that an agent is lost, of protocols that have a bucket of these. */
extern const char webhook_lost[];

/* The event that an acknowledgement is overdue, of protocols whose messages are acknowledged. */
extern const char webhook_overdue[];

/* Calls `visit` with the name of each event of each protocol. */
void webhook_events_visit(void (*visit)(void *context, const struct parley_protocol *protocol,
                                        const char *event),
                          void *context);

/* Whether it wants an event of this protocol that is a moment (parley/notice.h). */
bool webhook_wants_moments(const struct webhook *webhook, const struct parley_protocol *protocol);

/* Whether it wants the event `webhook_lost`, or `webhook_overdue`, of this protocol. */
bool webhook_wants_losses(const struct webhook *webhook, const struct parley_protocol *protocol);
bool webhook_wants_overdue(const struct webhook *webhook, const struct parley_protocol *protocol);

/* Whether `text` is an item of `list`, which has commas.  `list` NULL: it is. */
bool webhook_list_has(const char *list, struct parley_bytes text);
