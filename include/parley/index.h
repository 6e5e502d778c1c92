/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a message says of itself, for an index of a stream: the gateway stores it beside the
 * message's place, and answers questions from it. Nothing in it depends on another message. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/status.h>

struct parley_message;

#define PARLEY_INDEX_REFERENCES_MAX 64
#define PARLEY_INDEX_RECEIVERS_MAX 64
#define PARLEY_INDEX_MEMBERS_BYTES_MAX 1024
#define PARLEY_INDEX_TEXT_BYTES_MAX 256 /* of a member's text: a longer one is cut */
#define PARLEY_INDEX_WORDS_BYTES_MAX (64 << 10)

/* How a message relates to what it names. */
struct parley_index_relation {
    const char *name; /* "answers": a word, unique in its protocol */
    bool is_label;    /* what it names is a word such as a keyword, not a message */
    /* Bit I: it is meant for messages of types[I]; 0: for any. */
    uint32_t target_types;
    bool settles; /* a message of target_types that is_waiting is not open once this refers to it */
    /* What it says of the message that it names, for a ledger. */
    enum parley_index_effect {
        PARLEY_INDEX_REFERS,
        PARLEY_INDEX_SUPPORTS,
        PARLEY_INDEX_CORRECTS
    } effect;
};

/* What a message has to do with acknowledgements and items: a set. */
enum parley_index_part {
    PARLEY_INDEX_ASKS = 1,         /* it asks those whom it names for one */
    PARLEY_INDEX_ACKNOWLEDGES = 2, /* it is one */
    PARLEY_INDEX_URGENT = 4,
    PARLEY_INDEX_REMINDS = 8,  /* the gateway reminds of one: it is no turn of the conversation */
    PARLEY_INDEX_IS_ITEM = 16, /* it is one of parley_index_items */
};

#define PARLEY_INDEX_GATEWAY "parley"      /* the sender of reminders … */
#define PARLEY_INDEX_REMINDER_ID "remind:" /* … whose ids begin so */

/* An acknowledgement that is overdue.  Owns: borrowed. */
struct parley_reminder {
    struct parley_bytes id;              /* of the reminder */
    struct parley_bytes place;           /* of the message that asks for it: STREAM:SEQUENCE … */
    struct parley_bytes thread, subject; /* … and what it says; data NULL: it does not */
    struct parley_bytes recipient;       /* who must acknowledge it; data NULL: anyone */
    int64_t stored_s;                    /* Unix time */
};

/* How messages of a protocol are acknowledged, for lists of who still must. */
struct parley_index_acks {
    unsigned relation; /* of an acknowledgement to the message whose id it names */
    /* Bit I: messages of types[I] open a thread, so that it is not known who reads one that names
     * no receiver: one acknowledgement, by anyone but its sender, is enough. */
    uint32_t opening_types;
    /* What the status of an acknowledgement begins with, the lowest first; NULL ends them. */
    const char *const *statuses;
    const char *subject, *status; /* the members of an entry that hold the two */
    /* The text of a subject after its prefix, by which an acknowledgement names a message, too. */
    struct parley_bytes (*topic)(struct parley_bytes subject);
    /* Appends a valid message, as JSON, that reminds the recipient in the thread of the message. It
     * asks for nothing, and its part is PARLEY_INDEX_REMINDS. */
    void (*write_reminder)(const struct parley_reminder *reminder, struct parley_buffer *out);
    const char *bucket; /* the key-value bucket of those that are overdue, for webhooks */
};

/* Messages by which agents take work, hand it on, or ask for what it needs. They have
 * PARLEY_INDEX_IS_ITEM. */
struct parley_index_items {
    unsigned relation; /* of such a message to the work that it is about: a label */
    const struct parley_index_item_kind {
        const char *name; /* "claim": a word; NULL ends them */
        unsigned type;
        enum parley_index_role {
            PARLEY_INDEX_TAKES, /* an agent has the work from then on … */
            PARLEY_INDEX_HANDS, /* … or once that agent has acknowledged it */
            PARLEY_INDEX_WAITS, /* it waits for those whom it asks */
        } role;
        const char *who; /* the member of an entry that names that agent; NULL: there is none */
    } * kinds;
};

struct parley_index_reference {
    unsigned relation; /* index into parley_index_kind.relations */
    struct parley_bytes target;
};

/* Owns: texts are static, borrowed from the message, or in its arena; data NULL: the message does
 * not say. */
struct parley_index_entry {
    struct parley_bytes id, type, lane, source, thread, sender, agent, time;
    unsigned part; /* a set of enum parley_index_part; 0: it has nothing to do with them */
    const struct parley_bytes *receivers;
    size_t receiver_count; /* at most PARLEY_INDEX_RECEIVERS_MAX */
    struct parley_index_reference references[PARLEY_INDEX_REFERENCES_MAX]; /* each once */
    size_t reference_count;
    char members[PARLEY_INDEX_MEMBERS_BYTES_MAX]; /* a JSON object … */
    size_t members_length;                        /* … 0: it has none */
    bool is_waiting; /* it is open until a message refers to it by a relation that settles it */
    bool has_more;   /* references, receivers or members of the message were left out here */
    struct parley_buffer *words; /* see parley_message_index */
};

/* Threads that are sessions of work. */
struct parley_index_sessions {
    unsigned context; /* the type of messages in which an agent says how it leaves a session */
    /* Appends what a valid message of this type says is open, as a JSON object. */
    enum parley_status (*write_open)(struct parley_message *message, struct parley_buffer *out);
};

/* How an agent changes its own code: messages say what it intends, a result decides on all intents
 * before it, and a result that promotes allows reloads until the next result. All of these types
 * are in landmark_types. */
struct parley_index_evolutions {
    unsigned intent, result, reload; /* types */
    const char *decision;            /* the member of a result … */
    const char *promoted;            /* … that has this text where it promotes */
    unsigned backup;                 /* the relation by which a reload names its backup */
};

struct parley_index_kind {
    const struct parley_index_relation *relations; /* name NULL ends them */
    /* Bit I: of the messages of types[I] only the last of each agent is kept. */
    uint32_t passing_types;
    /* Bit I: messages of types[I] are few, and views look them up by thread, sender or agent: the
     * index has these in an order of their own. */
    uint32_t landmark_types;
    bool has_ledger; /* its relations say what supports and corrects a message: it has chains */
    bool has_words;  /* some of its messages have a text that people read */
    const struct parley_index_sessions *sessions;     /* NULL: its threads are not sessions */
    const struct parley_index_evolutions *evolutions; /* NULL: agents do not change their code */
    const struct parley_index_acks *acks;             /* NULL: its messages are not acknowledged */
    const struct parley_index_items *items;           /* NULL: it has none; else it has acks, too */
    /* Adds the references and the members of a valid message that was read from JSON.  Returns:
     * PARLEY_E_MEMORY. */
    enum parley_status (*read)(struct parley_message *message, struct parley_index_entry *out);
};

/* What a valid message that was read from JSON, as a stored one is, says of itself.  `words`: to
 * which the words that people read in it are appended, at most PARLEY_INDEX_WORDS_BYTES_MAX; empty
 * before; NULL: they are not wanted.
 * Owns: `out` borrows from the message, and `words`.  Returns: PARLEY_E_MEMORY;
 * PARLEY_E_UNSUPPORTED: its protocol has no index. */
enum parley_status parley_message_index(struct parley_message *message, struct parley_buffer *words,
                                        struct parley_index_entry *out) PARLEY_MUST_CHECK;

/* For protocols. Add a reference, which is borrowed, unless it is empty or there already; or a
 * member, whose name needs no escape: a text, or any JSON. What does not fit sets has_more. */
void parley_index_add_reference(struct parley_index_entry *entry, unsigned relation,
                                struct parley_bytes target);
void parley_index_add_text(struct parley_index_entry *entry, const char *name,
                           struct parley_bytes text);
void parley_index_add_json(struct parley_index_entry *entry, const char *name,
                           struct parley_bytes json);
/* Adds a text to the words, if those are wanted: no phrase spans two of them. */
void parley_index_add_words(struct parley_index_entry *entry, struct parley_bytes text);
