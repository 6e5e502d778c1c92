/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The part of a submission that only a message has that earlier ones decide on: its facts are
 * looked up, its protocol decides, and its own fact is written. Shared by submission.c and
 * deciding.c alone. */

#include "fact_lookup.h"
#include "submission.h"

/* How many messages can leave the fact of this key. */
enum deciding_key {
    DECIDING_NO_KEY,
    DECIDING_SHARED_KEY, /* any; the first one does */
    DECIDING_UNIQUE_KEY, /* one: only one message can have its Nats-Msg-Id */
};

struct deciding {
    struct submission *submission;
    struct fact_lookup lookup;
    struct stamped_values stamped; /* into the message, each time that it is checked */
    struct parley_buffer warnings; /* of the receipt of a duplicate, if they differ; else empty */
    enum deciding_key key;
    char *fact_key; /* of its own fact; NULL: it leaves none */
    char *fact_members;
    char *note_key, *note_members; /* likewise, of what is noted of it */
    int64_t fact_until_ms; /* by which it is to be created, or decided on again; 0: there is no such
                              time */
    bool is_late;          /* that has passed */
    unsigned late_count;   /* how often */
    bool is_expected;      /* by others of this reactor */
    bool is_counted;   /* it was published, and those of its request that read facts wait for it */
    bool has_compared; /* the stored message has been read */
    char stream[256];  /* of the submission */
};

/* ---- deciding.c ---- */

enum parley_status deciding_begin(struct submission *submission,
                                  const struct parley_route *route) PARLEY_MUST_CHECK;
/* NULL is fine. */
void deciding_destroy(struct deciding *deciding);
/* As submission_go. */
enum submission_step deciding_go(struct submission *submission, struct verdict *verdict);
/* Before it is published: keeps what of the decision is needed then. */
enum parley_status deciding_prepare(struct submission *submission, const struct verdict *verdict,
                                    const struct parley_decision *decision,
                                    struct publication *publication) PARLEY_MUST_CHECK;
/* It was published. */
void deciding_note_published(struct submission *submission, const struct parley_decision *decision);
/* Handles its ack, which says that it, or the message that it repeats, is stored.  Returns: whether
 * there is more: the next step has begun, or it is settled. */
bool deciding_follow_ack(struct submission *submission);
/* Handles the message that it is called a duplicate of, once that was read.  Returns: as before. */
bool deciding_follow_comparison(struct submission *submission,
                                const struct duplicate_answer *answer);
/* It turns out to be a duplicate: its receipt gets the warnings that it has without any fact. */
void deciding_warn_of_duplicate(struct submission *submission);
/* It is settled. */
void deciding_settle(struct submission *submission);

/* ---- submission.c ---- */

void submission_enter(struct submission *submission, enum submission_phase phase);
/* In a callback: begins, and ends by reporting settled results to the owner. */
void submission_resume(struct submission *submission, struct submission_outcome *out);
void submission_report(struct submission *submission);
/* The message as it was, into `verdict`: it is checked again unless its object was kept. */
enum parley_status submission_check_again(struct submission *submission, struct verdict *verdict);
void submission_note_place(struct submission *submission, struct parley_bytes stream,
                           uint64_t sequence);
enum parley_status submission_note_receipt(struct submission *submission,
                                           const struct parley_message *message,
                                           const struct parley_route *route) PARLEY_MUST_CHECK;
/* `decision` is NULL if nothing decides. */
enum submission_step submission_publish(struct submission *submission,
                                        const struct verdict *verdict,
                                        const struct parley_decision *decision);
void submission_compare(struct submission *submission);
void submission_settle_stored(struct submission *submission, bool is_duplicate);
void submission_settle_failed(struct submission *submission, const struct failure *failure);
void submission_settle_internal(struct submission *submission, enum parley_status status);
enum submission_step submission_refuse(struct submission *submission,
                                       enum jetstream_publish refused);
