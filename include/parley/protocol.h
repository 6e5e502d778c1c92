/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The plugin table: what a protocol is to the rest of parley. A plugin is pure: bytes in, a
 * message or findings out. It does no input or output, reads no clock, and knows neither HTTP
 * nor NATS. To add a protocol, add its folder and its line in protocols/registry.c. */

#include <parley/buffer.h>
#include <parley/bytes.h>
#include <parley/rule.h>
#include <parley/status.h>

struct parley_message;
struct parley_options;
struct parley_schema;

/* How messages lie in a body. */
enum parley_framing {
    PARLEY_FRAMING_JSON,   /* one value, or an array of them */
    PARLEY_FRAMING_LINES,  /* one JSON value a line */
    PARLEY_FRAMING_WHOLE,  /* the body is the message */
    PARLEY_FRAMING_FRAMES, /* 4 bytes of length, big-endian, then that many bytes of message */
};

/* An encoding that a protocol reads. */
struct parley_codec {
    const char *name;               /* "json" */
    const char *const *media_types; /* NULL-terminated, lower case, the preferred one first */
    const char *const *extensions;  /* of files, without the dot; NULL-terminated */
    enum parley_framing framing;
    bool is_binary; /* places in it are offsets in bytes */
    /* Whether a body that begins so is in this encoding, where nothing else tells; NULL: JSON,
     * which is what remains. `head` may be the whole body. */
    bool (*begins)(struct parley_bytes head);
};

extern const struct parley_codec parley_codec_json;   /* application/json */
extern const struct parley_codec parley_codec_ndjson; /* application/x-ndjson and its aliases */

/* How a repeated message is recognised (docs/api.md#retries). */
enum parley_dedupe {
    PARLEY_DEDUPE_NONE,
    PARLEY_DEDUPE_PAYLOAD, /* by its payload, and by whose message it is (parley_route.agent) */
    PARLEY_DEDUPE_ID,      /* by its type and its own id, in either case; protocol->fingerprint says
                              whether two of them are the same */
};

/* Where a valid message goes and what an envelope says of it.  Owns: all text is borrowed from
 * the message or static; data is NULL where the message bears no such thing. */
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
    struct parley_bytes agent; /* whose message it is, where only the request could name it */
    enum parley_dedupe dedupe;
    /* The same message may go elsewhere another time, since the request has a say in that. */
    bool is_subject_variable;

    /* What later messages will want to know of this one, kept in protocol->memory: written before
     * the sender is answered. */
    struct parley_bytes remember_key, remember_value;
    /* What this one wants to know of an earlier one: its value belongs into options.recalled, and
     * the route is then to be asked for again. */
    struct parley_bytes recall_key;
};

/* A message to learn from, and to begin with. */
struct parley_example {
    const char *name;  /* [a-z0-9-]+, unique in its protocol */
    const char *title; /* what it shows, one line */
    const char *text;  /* the message as JSON */
};

/* A member that `stamp` fills when it is absent (docs/api.md#sending). */
struct parley_stamp {
    const char *member; /* top-level key */
    enum { PARLEY_STAMP_ID, PARLEY_STAMP_TEXT, PARLEY_STAMP_TIME, PARLEY_STAMP_SECONDS } with;
    const char *text; /* PARLEY_STAMP_TEXT */
};

#define PARLEY_FIELDS_MAX 48

struct parley_protocol {
    const char *name; /* URL segment; [a-z0-9-]+, unique */
    const char *title;
    const char *spec_version; /* what we claim to implement, e.g. "VLP/1.1" */
    const char *stream;       /* JetStream stream: VLP */
    const char *subjects;     /* what that stream holds: vlp.> */
    size_t message_bytes_max; /* default of GW-002 */

    const char *const *types; /* NULL-terminated; at most 31; their index is the type's number */
    const char *const *lanes; /* NULL-terminated; NULL: none */
    const char *const *priorities; /* likewise */
    bool has_receivers; /* a message may name some: then one that names none is for everybody */
    /* What begins a thread and what continues it may write its name in another case. */
    bool is_thread_caseless;
    const char *const *fields; /* NULL-terminated JSON Pointers, the facts of its rules */
    unsigned type_field;       /* index into fields of the member that bears the type */

    const struct parley_rule *rules;
    size_t rule_count;
    const struct parley_codec *const *codecs; /* NULL-terminated */
    const struct parley_stamp *stamps;        /* NULL member ends it; NULL: `stamp` fills nothing */
    const struct parley_example *examples;    /* NULL name ends it; all are valid */

    /* A key-value bucket that its routes remember in and recall from (struct parley_route), and for
     * how long; NULL: none.  `memory_subjects`: what comes there by another way than this gateway
     * is remembered too. */
    const char *memory;
    unsigned memory_days;
    const char *memory_subjects; /* below the protocol's first token: "tasks.>" */

    /* All mandatory. Each has two answers: the status says whether it could run, the message's
     * findings say whether the sender kept the rules.
     * Threads: any, one message at a time on each. */

    /* Reads message->text (parley_message_check has set it) or leaves a GW finding. */
    enum parley_status (*decode)(struct parley_message *message, const struct parley_codec *codec);
    /* Asks every rule of a decoded message. */
    enum parley_status (*validate)(struct parley_message *message);
    /* Appends the payload for NATS: the protocol's own JSON on one line. */
    enum parley_status (*encode)(struct parley_message *message, struct parley_buffer *out);
    /* Says what a decoded and validated message is and, when it is valid, where it goes; of an
     * invalid one it tells what can be read.  Owns: out borrows from the message. */
    enum parley_status (*route)(struct parley_message *message, struct parley_route *out);
    /* Appends a valid message in another of the protocol's encodings; of lines and of JSON, one
     * line without its end. */
    enum parley_status (*convert)(struct parley_message *message, const struct parley_codec *to,
                                  struct parley_buffer *out);

    /* These are optional. */

    /* The number of the type that the text of the type member names, or PARLEY_TYPE_OTHER; NULL:
     * the text is one of `types`. */
    unsigned (*type_of)(struct parley_bytes text);
    /* What two messages of one type and id have in common when one is a repetition of the other, as
     * bytes; NULL: all of the payload.  Owns: out borrows from the message. */
    enum parley_status (*fingerprint)(struct parley_message *message, struct parley_bytes *out);
    /* Fills what is absent, of a decoded message (options.stamp); NULL: nothing. */
    enum parley_status (*stamp)(struct parley_message *message, const struct parley_codec *codec);
    /* Asks what rows cannot (those by_inspection), once all facts are known; what is broken goes to
     * findings_report() (rules/findings.h). */
    enum parley_status (*inspect)(struct parley_message *message);
    /* It asks only facts, options, and the text: so also those who keep no more of a message may
     * ask it, before they say that it is right. It may then be asked twice. */
    bool inspects_facts;
    /* The protocol's own form of a refusal, for clients that accept its media type. */
    const char *refusal_media_type;
    enum parley_status (*write_refusal)(struct parley_message *message, struct parley_buffer *out);
};

/* All protocols, in the order of the documents; ends with NULL. */
extern const struct parley_protocol *const parley_protocols[];

/* How many there are, without the NULL. */
size_t parley_protocol_count(void);

/* Returns: NULL when there is none of that name. */
const struct parley_protocol *parley_protocol_find(struct parley_bytes name);

/* The codec of that protocol for a media type (parameters cut off, any case), or NULL. */
const struct parley_codec *parley_codec_find(const struct parley_protocol *protocol,
                                             struct parley_bytes media_type);

/* A protocol's table made ready to run: its paths as a trie. Made once at start; read-only
 * afterwards, and shared by all threads.
 * Returns: PARLEY_E_MEMORY. A table that contradicts itself fails an assert: unit tests build
 * every schema. */
enum parley_status parley_schema_create(const struct parley_protocol *protocol,
                                        struct parley_schema **out) PARLEY_MUST_CHECK;
void parley_schema_destroy(struct parley_schema *schema);
