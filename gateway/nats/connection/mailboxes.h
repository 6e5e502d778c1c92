/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The numbered mailboxes of a bus's inbox. Private to the bus. */

#include "bus.h"

enum { MAILBOX_TEXT_MAX = 18 }; /* slot-generation in hexadecimal, with its NUL */

struct mailboxes {
    struct mailbox_slot *slots;
    size_t count;
    int64_t free; /* the first of a list, or -1 */
};

void mailboxes_init(struct mailboxes *mailboxes);
void mailboxes_finish(struct mailboxes *mailboxes);

enum parley_status mailboxes_open(struct mailboxes *mailboxes, bus_receive_fn *receive,
                                  void *context, struct bus_mailbox *out) PARLEY_MUST_CHECK;
/* Harmless when it is closed already. */
void mailboxes_close(struct mailboxes *mailboxes, struct bus_mailbox mailbox);

/* The last token of its address. */
void mailbox_write(struct bus_mailbox mailbox, char text[MAILBOX_TEXT_MAX]);
/* Delivers the message to the mailbox of that token (which ends with NUL or a dot), if it is open.
 * The text after the token becomes its reply_tail. */
void mailboxes_deliver(const struct mailboxes *mailboxes, const char *text,
                       struct bus_message *message);
