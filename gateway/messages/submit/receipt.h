/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answer about a message: the receipt of one that was published, as a JSON object of its own
 * (POST of one message) or as a line of a batch's results; and the lines of messages that were not.
 * The members and their order are in one place, in receipt.c. */

#include "duplicates.h"
#include "publication.h"

enum receipt_form {
    RECEIPT_OBJECT,  /* {"protocol":…,"type":…,"id":…,…} */
    RECEIPT_LINE,    /* {"line":…,"status":…,"id":…,…} */
    RECEIPT_ID_ONLY, /* nothing is written of a stored message, and its id of another */
    RECEIPT_NONE,    /* nothing is written of any */
};

enum result_status {
    RESULT_AWAITED, /* not known yet */
    RESULT_ACCEPTED,
    RESULT_DUPLICATE,
    RESULT_INVALID,
    RESULT_FAILED,
    RESULT_STATUS_COUNT
};

/* Owns: the text.  Zeroed at first. */
struct receipt {
    enum receipt_form form;
    struct parley_buffer text; /* the members that the message says, and at the end its warnings */
    size_t id_start, id_end, subject_start, subject_end; /* in it, as JSON; 0: not there */
    size_t members_end;                                  /* where the warnings begin */
};

/* Where a message is stored. */
struct receipt_place {
    size_t number; /* of the message in its batch */
    const char *stream;
    uint64_t sequence;
    bool is_duplicate;
    const char
        *traceparent; /* of the request; NULL for none. A line of a batch does not have it. */
    struct parley_bytes members; /* further ones, each with a comma before it */
};

void receipt_finish(struct receipt *receipt);
/* Empties it, and keeps the memory. */
void receipt_clear(struct receipt *receipt);

/* Notes what `message` says of itself: by the time of the ack it will be gone.  `receipt` is
 * clear. A failure shows as text.has_failed. */
void receipt_note(struct receipt *receipt, enum receipt_form form,
                  const struct parley_message *message, const struct parley_route *route);
/* The message's id as JSON; data NULL: not noted. */
struct parley_bytes receipt_id(const struct receipt *receipt);
/* A receipt names the stored message, not the one sent: replaces subject and id by those of
 * `stored`, if it has them. */
void receipt_name_stored(struct receipt *receipt, const struct duplicate_answer *stored);
/* Replaces the warnings, where they are noted. */
void receipt_change_warnings(struct receipt *receipt, struct parley_bytes warnings);
/* Writes the receipt of a stored message. */
void receipt_write(const struct receipt *receipt, const struct receipt_place *place,
                   struct parley_buffer *out);

/* ---- other lines of a batch ---- */

/* {"line":…,"status":"invalid","id":…,"violations":…}, with "halted":true before the violations of
 * one that halts its conversation all the same. */
void receipt_write_invalid(size_t number, struct parley_message *message, bool is_halting,
                           struct parley_buffer *out);
/* {"line":…,"status":"failed","problem":…}.  `members`: as of problem_write_members. */
void receipt_write_failed(size_t number, const struct failure *failure, struct parley_bytes members,
                          struct parley_buffer *out);
/* {"line":…, and the verdict's own members follow */
void receipt_begin_verdict(size_t number, struct parley_buffer *out);
