/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The plugin interface: what parley needs to know of a protocol. A plugin is pure: bytes in, a
 * message or findings out. It does no input or output, reads no clock, and knows neither HTTP nor
 * NATS. To add a protocol, add its folder and a line in protocols/registry.c. */

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/facts.h>
#include <parley/findings.h>
#include <parley/halts.h>
#include <parley/option.h>
#include <parley/reviews.h>
#include <parley/rule.h>
#include <parley/status.h>

struct parley_agents;
struct parley_artifact_kind;
struct parley_dialect;
struct parley_edit;
struct parley_fix;
struct parley_index_kind;
struct parley_message;
struct parley_notice;
struct parley_objects;
struct parley_restore;
struct parley_task_kind;
struct parley_pipe;
struct parley_schema;

/* How a body contains messages. */
enum parley_framing {
    PARLEY_FRAMING_JSON,   /* one value, or an array of them */
    PARLEY_FRAMING_LINES,  /* one JSON value per line */
    PARLEY_FRAMING_WHOLE,  /* the body is the message */
    PARLEY_FRAMING_FRAMES, /* 4 bytes of length, big-endian, then a message of that length */
};

/* An encoding of messages. */
struct parley_codec {
    const char *name;               /* "json" */
    const char *const *media_types; /* NULL-terminated, lower case, the preferred one first */
    const char *const *extensions;  /* of files, without the dot; NULL-terminated */
    enum parley_framing framing;
    bool is_binary; /* positions are offsets in bytes */
    /* Detects the encoding from the first bytes of a body, if no media type names it; NULL: JSON,
     * the default. `head` may be the whole body. */
    bool (*begins)(struct parley_bytes head);
    /* Appends any JSON in this encoding, so that an answer can be sent in it; NULL: none is.
     * Returns: PARLEY_E_UNSUPPORTED: it nests too deep; nothing is appended. */
    enum parley_status (*from_json)(struct parley_bytes json, struct parley_buffer *out);
};

extern const struct parley_codec parley_codec_json;   /* application/json */
extern const struct parley_codec parley_codec_ndjson; /* application/x-ndjson and its aliases */

/* How JetStream recognises a repeated message (docs/api.md#retries). */
enum parley_dedupe {
    PARLEY_DEDUPE_NONE,
    PARLEY_DEDUPE_PAYLOAD, /* by its payload and, where it has a parley_route.agent, its source */
    PARLEY_DEDUPE_ID, /* by its type and id, case-insensitive; protocol->fingerprint tells whether
                         two of them are the same message */
};

/* The destination of a valid message, and the members of its event's envelope.  Owns: all text is
 * static or borrowed from the message; data is NULL for what the message does not have. */
struct parley_route {
    struct parley_bytes
        subject; /* NATS subject, checked and percent-encoded, e.g. vlp.safe.claim */
    struct parley_bytes id;
    struct parley_bytes type; /* qualified: vlp.claim */
    struct parley_bytes lane;
    struct parley_bytes source; /* URI reference: /vlp/The%20Observer */
    struct parley_bytes time;   /* RFC 3339 */
    struct parley_bytes sender; /* for the stream's filters, not encoded */
    const struct parley_bytes *receivers;
    size_t receiver_count;
    struct parley_bytes thread;
    struct parley_bytes domain, priority; /* for the stream's filters */
    struct parley_bytes agent; /* the agent whose message it is, if only the request names it */
    enum parley_dedupe dedupe;

    /* The facts that deciding on this message needs: keys of the bucket (or see
     * facts->of), read together, each at the place that the plugin gives it; data NULL:
     * none at that place. */
    struct parley_bytes fact_keys[PARLEY_FACT_KEYS_MAX];

    /* The conversation is the one that `halt_kind` (of halts->kinds) and `halt_name` name
     * together. `halt_why`: the reason, for people, of one that latches. An invalid message
     * latches, too, if it can be read that it halts, and what: nothing else that is wrong with it
     * may keep a stop from working. */
    enum parley_halt_role halt_role;
    const char *halt_kind;
    struct parley_bytes halt_name, halt_why;

    /* The fact that answers this message: its sender may wait for the message that it names; data
     * NULL if no message answers it. */
    struct parley_bytes answer_key;
};

/* In whose name a message speaks, as its text says.  Owns: borrowed from the message. */
struct parley_speaker {
    struct parley_bytes name; /* data NULL: no one's */
    const char *what;         /* says so, for people: "`## Agent`"; static */
    unsigned field;           /* index into fields: the one that has the text */
    struct parley_position
        at; /* in the text that was sent; line 0: the place of the value of `field` */
    struct parley_position body_at; /* within that value; line 0: not known */
};

/* An error in HTTP by which a message is refused, because of what earlier ones say
 * (parley_decision.problem).  Owns: all text is static. */
struct parley_problem {
    const char *name; /* [a-z0-9-]+, unique among all; its page is /problems/NAME */
    unsigned status;  /* of the answer: 409 */
    const char *title;
    const char *advice; /* tells the client how to proceed; Markdown */
};

/* An example message. */
struct parley_example {
    const char *name;  /* [a-z0-9-]+, unique in its protocol */
    const char *title; /* the purpose of the example, one line */
    const char *text;  /* the message as JSON */
};

/* A member that `stamp` fills in if it is absent (docs/api.md#sending). */
struct parley_stamp {
    const char *member; /* top-level key */
    enum { PARLEY_STAMP_ID, PARLEY_STAMP_TEXT, PARLEY_STAMP_TIME, PARLEY_STAMP_SECONDS } with;
    const char *text; /* PARLEY_STAMP_TEXT */
};

#define PARLEY_FIELDS_MAX 48

struct parley_protocol {
    const char *name; /* URL segment; [a-z0-9-]+, unique */
    const char *title;
    const char *spec_version; /* the version parley implements, e.g. "VLP/1.1" */
    const char *stream;       /* JetStream stream: VLP */
    const char *subjects;     /* of that stream: vlp.> */
    /* The groups of subjects that an operator may keep in streams of their own, below the
     * protocol's first token ("tasks.>"), NULL-terminated, at most 8; together they have every
     * subject that `route` gives. NULL: one, all of them. */
    const char *const *families;
    size_t message_bytes_max; /* default of GW-002 */

    const char *const *types; /* NULL-terminated; at most 31; their index is the type's number */
    /* Bit I: messages of types[I] belong to their agent: who may speak for one agent only reads
     * those of that agent alone. */
    unsigned private_types;
    const char *const *lanes;      /* NULL-terminated; NULL for none */
    const char *const *priorities; /* likewise; the most urgent one last: under overload it is
                                      refused last */
    bool has_domains;              /* messages may belong to a domain */
    bool has_receivers;            /* messages may name receivers; one that names none is for all */
    /* Thread names are compared case-insensitively. */
    bool is_thread_caseless;
    const char *const *fields; /* NULL-terminated JSON Pointers: what its rules capture */
    unsigned type_field;       /* index into fields: the member that contains the type */

    const struct parley_rule *rules;
    size_t rule_count;
    const struct parley_codec *const *codecs; /* NULL-terminated */
    const struct parley_stamp *stamps;        /* NULL member ends it; NULL: `stamp` fills nothing */
    const struct parley_example *examples;    /* NULL name ends it; all are valid */
    const struct parley_problem *problems;    /* its own; ends with a NULL name; NULL for none */
    const struct parley_option *options; /* its own, at most PARLEY_OPTIONS_MAX (parley/option.h);
                                            ends with a NULL name; NULL for none */

    const struct parley_dialect *dialects; /* parley/dialect.h; a NULL name ends it; NULL: none */

    /* These hooks are mandatory. Each has two results: the status tells whether it could run, the
     * message's findings tell whether the sender kept the rules.
     * Threads: any; one message at a time per thread. */

    /* Reads message->text, which parley_message_check has set, or adds a GW finding. */
    enum parley_status (*decode)(struct parley_message *message, const struct parley_codec *codec);
    /* Checks all rules of a decoded message. */
    enum parley_status (*validate)(struct parley_message *message);
    /* Appends the payload for NATS: the protocol's own JSON on one line. */
    enum parley_status (*encode)(struct parley_message *message, struct parley_buffer *out);
    /* Fills in the members of a decoded and validated message and, if it is valid, its destination;
     * for an invalid message, the members that could be read.  Owns: `out` borrows from the
     * message. */
    enum parley_status (*route)(struct parley_message *message, struct parley_route *out);
    /* Appends a valid message in another encoding of the protocol; JSON and lines as one line
     * without a line feed. */
    enum parley_status (*convert)(struct parley_message *message, const struct parley_codec *to,
                                  struct parley_buffer *out);

    /* These hooks are optional. */

    /* The field that names the sender of a decoded message; NULL: messages name none, and the
     * request's option `agent` says whose they are. */
    unsigned (*sender_field)(const struct parley_message *message);
    /* The first in whose name the text of a decoded message speaks, beside its sender, and who is
     * not options.only_sender, which is set; NULL: texts do not say. */
    struct parley_speaker (*other_speaker)(const struct parley_message *message);
    /* The place of the value of that field in the text that was sent, if its offset is not one
     * there; line 0 if it is. NULL if it always is. */
    struct parley_position (*place_of)(const struct parley_message *message, unsigned field);

    /* The number of the type for the text of the type member, or PARLEY_TYPE_OTHER; NULL: the text
     * is one of `types`. */
    unsigned (*type_of)(struct parley_bytes text);
    /* The bytes that are equal for two messages of one type and id if one is a repetition of the
     * other; NULL: the whole payload.  Owns: `out` borrows from the message. */
    enum parley_status (*fingerprint)(struct parley_message *message, struct parley_bytes *out);
    /* Fills in absent members of a decoded message (options.stamp); NULL if the protocol fills in
     * none. */
    enum parley_status (*stamp)(struct parley_message *message, const struct parley_codec *codec);
    /* Checks the rows marked by_inspection, once all captures are known; reports broken ones with
     * findings_report() (rules/findings.h). */
    enum parley_status (*inspect)(struct parley_message *message);
    /* `inspect` uses only captures, options and text, so that accept-only readers can call it. It
     * may then be called twice for a message. */
    bool inspects_captures;
    /* `inspect` asks for message->packed_bytes, which costs least to add up while JSON is read. It
     * may not be known all the same. */
    bool inspects_size;
    /* The protocol's own format for refusals, for clients that accept its media type. */
    const char *refusal_media_type;
    enum parley_status (*write_refusal)(struct parley_message *message, struct parley_buffer *out);
    /* The edit of a fix in message->sent, for a message in another encoding than JSON that is text.
     * NULL: only messages in JSON are fixed.  Owns: out->inserted is in the arena.
     * Returns: PARLEY_E_UNSUPPORTED: there is none in that encoding. */
    enum parley_status (*edit_of)(struct parley_message *message,
                                  const struct parley_finding *finding,
                                  const struct parley_fix *fix, struct parley_edit *out);
    /* Makes an invalid message valid by changing its text, captures and findings, and sets
     * is_escalated, where options ask for review by people instead of refusal. NULL if nothing is
     * escalated. */
    enum parley_status (*escalate)(struct parley_message *message);

    /* Its messages are about tasks, which one agent holds at a time; NULL if they are not. */
    const struct parley_task_kind *tasks;
    const struct parley_agents *agents; /* parley/agents.h; NULL if it has none */

    const struct parley_facts_kind *facts; /* parley/facts.h; NULL: each message is published,
                                         whatever came before it */
    const struct parley_halts_kind
        *halts; /* parley/halts.h; NULL: no message halts a conversation */
    const struct parley_reviews_kind
        *reviews; /* parley/reviews.h; NULL: no message waits for a review */
    const struct parley_objects
        *objects; /* parley/objects.h; NULL if none of its messages has any */
    const struct parley_restore *restore; /* parley/restore.h; NULL: agents leave no checkpoints */
    const struct parley_artifact_kind
        *artifact; /* parley/artifact.h; NULL: its threads make no document */
    const struct parley_index_kind *index; /* parley/index.h; NULL: it cannot be indexed */
    const struct parley_pipe *pipe;      /* parley/pipe.h; NULL: `parley pipe` does not speak it */
    const struct parley_notice *notices; /* parley/notice.h; its event NULL ends them; NULL: none */
    const char *const *senders;          /* NULL-terminated: all that there are; NULL: any text */
};

/* All protocols, in the order of the documents; ends with NULL. */
extern const struct parley_protocol *const parley_protocols[];

/* Their number, without the NULL. */
size_t parley_protocol_count(void);

/* Returns: NULL when no protocol has that name. */
const struct parley_protocol *parley_protocol_find(struct parley_bytes name);

/* The codec of that protocol for a media type (parameters cut off, any case), or NULL. */
const struct parley_codec *parley_codec_find(const struct parley_protocol *protocol,
                                             struct parley_bytes media_type);

/* Compiles a protocol's rule table: its paths become a trie. Done once at start; the result is
 * read-only and shared by all threads. The caller must destroy it.
 * Returns: PARLEY_E_MEMORY. A table that contradicts itself fails an assert: unit tests build every
 * schema. */
enum parley_status parley_schema_create(const struct parley_protocol *protocol,
                                        struct parley_schema **out) PARLEY_MUST_CHECK;
void parley_schema_destroy(struct parley_schema *schema);
