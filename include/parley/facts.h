/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lets earlier messages decide on later ones. A fact is the trace of an earlier message: a key of a
 * bucket, or the last message on a subject. The gateway reads the facts that a message needs, and
 * writes those that it leaves; a protocol that has them says which they are, and decides, by pure
 * functions. */

#include <stdbool.h>
#include <stdint.h>

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

struct parley_message;
struct parley_option;

#define PARLEY_FACT_KEYS_MAX 8

/* A key that ends so is a series: its values are at `.2`, `.3` and so on in place of `.*`, created
 * in that order, each once. The value of a series is that of its last key. Its first key is the one
 * before it in the list, without which there are no others. */
#define PARLEY_FACT_SERIES ".*"

/* Whether earlier messages decide on this one (parley_facts_kind.decide). */
enum parley_lifecycle {
    PARLEY_LIFECYCLE_OFF, /* they do not: they only complete its subject */
    PARLEY_LIFECYCLE_ON,
    PARLEY_LIFECYCLE_STRICT, /* a message against the protocol's lifecycle is refused, not warned
                                of; of a log, its holes */
};

/* The facts known from earlier messages. Any client that can write to the bucket may have written
 * the values.  Owns: all is borrowed, as long as the message is used. */
struct parley_known_facts {
    struct parley_bytes values[PARLEY_FACT_KEYS_MAX]; /* of route.fact_keys; data NULL: the key has
                                                         none */
    bool is_final;  /* keys without a value were asked for again: no PARLEY_DECISION_ASK_AGAIN */
    bool is_unread; /* nothing is known of earlier messages */
    uint64_t sequences[PARLEY_FACT_KEYS_MAX]; /* with facts->of: where the last messages are
                                                 in their stream */
    bool has_count;           /* of the decision on an earlier message of the same request … */
    uint64_t count;           /* … which stands for all values */
    bool has_last;            /* PARLEY_DECISION_ASK_LAST was answered … */
    struct parley_bytes last; /* … by this message; data NULL: there is none, or it is not known */
    int64_t last_seconds;     /* … which was stored then; Unix time */
    int64_t kept_seconds;     /* for how long messages and facts are kept; 0: always, or it is not
                                 known */
    const char *digest;       /* of protocol->fingerprint of this message: hexadecimal */
    struct parley_bytes stored_stream; /* that has the message already, which was published straight
                                          to NATS; data NULL: it is not stored */
    uint64_t stored_sequence;          /* … its place there; 0: not known */
};

/* The meaning of earlier messages for this one. A fact is a key of the bucket that is created once
 * and never changed.  Owns: texts are static, in the message's arena, or borrowed from the known
 * facts. */
struct parley_decision {
    enum parley_decision_kind {
        PARLEY_DECISION_PUBLISH,
        PARLEY_DECISION_ASK_AGAIN, /* a key that should have a value may get it in a moment */
        PARLEY_DECISION_ASK_LAST,  /* the last message on `last_subject` is to be read (known.last)
                                    */
        PARLEY_DECISION_PREPARE,   /* `fact_key` is created first; whether that is done or another
                                      was quicker, the facts are read again, and decide anew */
        PARLEY_DECISION_REPEATED,  /* it is stored already: nothing is published */
        PARLEY_DECISION_REFUSED,   /* nothing is published */
    } kind;

    struct parley_bytes last_subject; /* ASK_LAST: with the protocol's name as its first token */

    /* PUBLISH; PREPARE has the key and all of its members. */
    struct parley_bytes message_id;   /* Nats-Msg-Id that only one message can have, whatever the
                                         Idempotency-Key is; data NULL: as route.dedupe says. Where
                                         one of several messages that come at once is to be stored,
                                         it is made of what they have in common: the key alone is
                                         created after all of them */
    struct parley_bytes fact_key;     /* created once the message is stored; data NULL for none */
    struct parley_bytes fact_members; /* of its value, each with a comma before it. The value is an
                                         object that begins with "stream" and "seq": where the
                                         message is */
    int64_t within_seconds; /* the key is created that soon after the decision, or the facts are
                               read again, and decide anew; 0: whenever */
    struct parley_bytes note_key;     /* overwritten now and then once the message is stored, for
                                         people: it decides nothing, and nobody waits for it; data
                                         NULL for none */
    struct parley_bytes note_members; /* of its value, as fact_members */
    bool is_repeat; /* `count` is stored with it, since it does not say that itself; if JetStream
                       calls it a duplicate, it is decided on once more without values, and gets
                       the warnings of that */
    bool has_count; /* with facts->of: passed to the decision on the next message of the request */
    uint64_t count;

    /* REPEATED: the first message. REFUSED as "id-reused": the earlier message that is the reason,
     * if one is known; a problem of the protocol says that in `members`. */
    struct parley_bytes stream; /* data NULL: not known */
    uint64_t sequence;
    /* Of the receipt (PUBLISH, REPEATED) or the problem, each with a comma before it. */
    struct parley_bytes members;

    /* REFUSED. */
    const char *problem; /* the name of one of protocol->problems, "id-reused", "forbidden" or
                            "invalid-parameter" */
    struct parley_bytes detail;
};

struct parley_facts_kind {
    const char
        *bucket; /* the key-value bucket of the facts; NULL if `of` reads them from messages */
    /* Messages on these subjects may have bypassed the gateway, and leave the same facts;
     * NULL-terminated, below the protocol's first token: "tasks.>". NULL if no message can. */
    const char *const *subjects;
    /* Without a bucket: route.fact_keys are subjects, on this server, and a fact is the last
     * message that is stored on one. Of a key that consists of a subject, a space and an id the
     * fact is that a message on the subject has this id: its value is the id, and is there also
     * where that could not be found out. They are read once a request, for the first message that
     * needs them; later ones are decided on by parley_decision.count. Appends the members of such a
     * message, from any publisher, that `decide` needs; appends nothing if it has none of them. */
    enum parley_status (*of)(struct parley_bytes payload, struct parley_buffer *out);
    /* The one of protocol->options, a choice, whose value is an enum parley_lifecycle. NULL if the
     * mode is always PARLEY_LIFECYCLE_ON. */
    const struct parley_option *mode;
    /* Decides on a valid message from options.known, the value of `mode` and options.now_seconds.
     * Warnings go to findings_report(), of rules that span messages. For a message that is stored
     * already (options.stored_subject), now_seconds is the time at which it was stored, and PUBLISH
     * says which fact it leaves. */
    enum parley_status (*decide)(struct parley_message *message, struct parley_decision *out);
};
