/* SPDX-License-Identifier: Apache-2.0 */

/* See mailboxes.h. A table of slots with a list of the free ones: opening, closing and finding cost
 * as much for ten as for a hundred thousand. The table never shrinks. */

#include "mailboxes.h"

#include <ctype.h>
#include <stdlib.h>

enum { SLOTS_AT_FIRST = 64, NO_SLOT = -1 };

struct mailbox_slot {
    bus_receive_fn *receive; /* NULL if free */
    void *context;
    uint32_t generation;
    int64_t next_free;
};

void mailboxes_init(struct mailboxes *mailboxes) {
    *mailboxes = (struct mailboxes){.free = NO_SLOT};
}

void mailboxes_finish(struct mailboxes *mailboxes) {
    free(mailboxes->slots);
}

static bool add_slots(struct mailboxes *mailboxes) {
    size_t count = mailboxes->count > 0 ? 2 * mailboxes->count : SLOTS_AT_FIRST;
    struct mailbox_slot *slots = reallocarray(mailboxes->slots, count, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = count; i-- > mailboxes->count;) {
        slots[i] = (struct mailbox_slot){.next_free = mailboxes->free};
        mailboxes->free = (int64_t)i;
    }
    mailboxes->slots = slots;
    mailboxes->count = count;
    return true;
}

enum parley_status mailboxes_open(struct mailboxes *mailboxes, bus_receive_fn *receive,
                                  void *context, struct bus_mailbox *out) {
    if (mailboxes->free == NO_SLOT && !add_slots(mailboxes)) {
        return PARLEY_E_MEMORY;
    }
    uint32_t index = (uint32_t)mailboxes->free;
    struct mailbox_slot *slot = &mailboxes->slots[index];
    mailboxes->free = slot->next_free;
    slot->receive = receive;
    slot->context = context;
    *out = (struct bus_mailbox){.slot = index, .generation = slot->generation};
    return PARLEY_OK;
}

static struct mailbox_slot *find_slot(const struct mailboxes *mailboxes,
                                      struct bus_mailbox mailbox) {
    if (mailbox.slot >= mailboxes->count) {
        return NULL;
    }
    struct mailbox_slot *slot = &mailboxes->slots[mailbox.slot];
    return slot->receive != NULL && slot->generation == mailbox.generation ? slot : NULL;
}

void mailboxes_close(struct mailboxes *mailboxes, struct bus_mailbox mailbox) {
    struct mailbox_slot *slot = find_slot(mailboxes, mailbox);
    if (slot == NULL) {
        return;
    }
    slot->receive = NULL;
    slot->generation++;
    slot->next_free = mailboxes->free;
    mailboxes->free = mailbox.slot;
}

static char *write_hex(char *at, uint32_t number) {
    char digits[8];
    size_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number != 0);
    while (count > 0) {
        *at++ = digits[--count];
    }
    return at;
}

void mailbox_write(struct bus_mailbox mailbox, char text[MAILBOX_TEXT_MAX]) {
    char *end = write_hex(text, mailbox.slot);
    *end++ = '-';
    end = write_hex(end, mailbox.generation);
    *end = '\0';
}

static const char *read_hex(const char *at, uint32_t *out) {
    uint32_t number = 0;
    for (; isxdigit((unsigned char)*at); at++) {
        number = number << 4 | (uint32_t)(*at <= '9' ? *at - '0' : (*at | 0x20) - 'a' + 10);
    }
    *out = number;
    return at;
}

void mailboxes_deliver(const struct mailboxes *mailboxes, const char *text,
                       struct bus_message *message) {
    struct bus_mailbox mailbox;
    const char *at = read_hex(text, &mailbox.slot);
    if (*at != '-') {
        return;
    }
    at = read_hex(at + 1, &mailbox.generation);
    if (*at != '\0' && *at != '.') {
        return;
    }
    const struct mailbox_slot *slot = find_slot(mailboxes, mailbox);
    if (slot != NULL) {
        message->reply_tail = at;
        slot->receive(slot->context, message);
    }
}
