/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a recipient has made of a message, and the message with it as an item: for the views acks
 * and inbox. */

#include "index_page.h"

/* Owns: borrowed from the thread. */
struct duty_state {
    const struct duty_ack *acknowledged; /* NULL: it has not … */
    const struct duty_message *answered; /* … and has not */
    bool is_open, is_overdue;
};

/* `number`: of the message in the thread; SIZE_MAX: the thread is cut before it.  `recipient`: data
 * NULL: anyone. */
struct duty_state index_duty_state(const struct index_page *page, const struct duty_thread *thread,
                                   size_t number, const struct index_duties_row *row,
                                   struct parley_bytes recipient);

/* `recipient` NULL: the item does not name it. */
void index_duty_item_write(struct index_page *page, const struct index_duties_row *row, bool is_cut,
                           const struct parley_bytes *recipient, const struct duty_state *state);

/* Whether an item that is so, or is not, is chosen. */
bool index_is_chosen(enum index_choice choice, bool is);
