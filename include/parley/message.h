/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One message being checked: its text, the values read from it, and the findings. A message object
 * is reused by one thread; reset keeps its memory. */

#include <parley/arena.h>
#include <parley/findings.h>
#include <parley/fix.h>
#include <parley/option.h>
#include <parley/protocol.h>

/* The options of a request. Time and ids are passed in: plugins are pure. */
struct parley_options {
    bool stamp; /* fill absent id, protocol, version and timestamp */
    enum parley_fixing fix;
    bool has_spelling; /* GW-103: for verdicts, which people or programs read before they send */
    bool has_short_violations; /* where there is a fix, a violation has neither hint nor expected */
    const struct parley_dialect *dialect; /* it may be in that one; NULL: it is the contract's */
    const char *agent; /* whose message it is, if messages name no sender; or NULL */
    const char *now;   /* for stamp and dialect: RFC 3339 in UTC; dialects do without it */
    int64_t
        now_seconds; /* Unix time, for stamp and for deadlines; 0 if deadlines are not checked */
    const char *fresh_id; /* for stamp: a new UUID */
    /* Writes what `now` and `fresh_id` point to, before one of them is used: most messages need
     * neither. NULL: they are there. */
    void (*refresh)(void *context);
    void *refresh_context;
    size_t message_bytes_max;   /* GW-002; 0: the protocol's default */
    const char *subject_prefix; /* the subject's first token; NULL: the protocol's name */
    const char *stored_subject; /* where a message that is read again was stored, or NULL */
    const char *only_sender;    /* GW-102: the only allowed sender; NULL allows any */
    const struct parley_known_facts
        *known;      /* set by parley_message_decide; NULL if nothing is known */
    bool has_object; /* read again: it may point to an object. Either it is stored with the header
                        that says so, or that is not known and it is not sent anywhere */
    union parley_option_value values[PARLEY_OPTIONS_MAX]; /* of protocol->options, by index */
};

/* To be called before `now` and `fresh_id` are read. */
static inline void parley_options_refresh(const struct parley_options *options) {
    if (options->refresh != NULL) {
        options->refresh(options->refresh_context);
    }
}

enum parley_option_result {
    PARLEY_OPTION_SET,
    PARLEY_OPTION_UNKNOWN, /* no protocol has this option of requests */
    PARLEY_OPTION_INVALID, /* the value is not allowed */
};

/* Sets an option by its name in a query or on the command line, for messages of `protocol` (NULL:
 * for those of any; the options of one protocol alone do nothing). A length of time counts from
 * options->now_seconds.
 * Owns: `value` is borrowed as long as the options are used.  `out_wants`: the allowed values, for
 * an error text. */
enum parley_option_result parley_options_set(struct parley_options *options,
                                             const struct parley_protocol *protocol,
                                             const char *name, const char *value,
                                             const char **out_wants);

#define PARLEY_READER_MEMORY_BYTES 256

struct parley_message {
    const struct parley_schema *schema;
    const struct parley_protocol *protocol;
    const struct parley_codec *codec; /* of `sent` */
    struct parley_arena arena;
    struct parley_options options;

    struct parley_bytes sent; /* borrowed: the bytes in the body, or what they were translated to */
    struct parley_bytes text; /* the text that is read: `sent`, or a stamped copy in the arena */
    size_t stamp_offset;      /* where stamp inserted into sent … */
    size_t stamp_length;      /* … and how much */
    struct parley_position origin; /* of sent's first byte in the body */

    void *derived, *source;  /* the plugin's own, in the arena */
    size_t packed_bytes;     /* JSON: the size of `text` as MessagePack; 0: it is not known */
    bool is_decoded;         /* no GW rule stopped it */
    bool is_fault_contained; /* GW-001 concerns this message only: its end is known */
    bool is_certain;         /* decode has found the verdict: `findings` are all that there is */
    bool is_escalated;       /* protocol->escalate has changed it */
    const struct parley_dialect *dialect; /* that it was translated from; NULL: it was not */
    struct parley_bytes original;         /* borrowed: the bytes in the body, if it was … */
    struct parley_buffer translation;     /* … private: to this */
    struct parley_value values[PARLEY_FIELDS_MAX]; /* captures, by field */
    unsigned type; /* index into protocol->types, or PARLEY_TYPE_OTHER */
    struct parley_findings findings;
    struct parley_fixes fixes; /* only if options.fix asks for any */
    struct parley_route route; /* once it was computed … */
    bool has_route;
    const struct parley_known_facts *route_known;            /* … with this options.known */
    unsigned char reader_memory[PARLEY_READER_MEMORY_BYTES]; /* private to the JSON reader: the
                                                                shape of the last messages */
};

/* The text of a capture, by its field; data NULL: it is not a string. */
static inline struct parley_bytes parley_message_text(const struct parley_message *message,
                                                      unsigned field) {
    return parley_value_text(&message->values[field]);
}

/* Owns: `schema` is borrowed and must outlive the message. */
void parley_message_init(struct parley_message *message, const struct parley_schema *schema);
void parley_message_reset(struct parley_message *message);
void parley_message_finish(struct parley_message *message);

/* Decodes `sent`, translates it, if asked (options.dialect), stamps it, if asked, and validates
 * it, escalates it (protocol->escalate), and fixes
 * it, if asked; `sent` is then the fixed or the translated text.
 * Afterwards the findings are complete, and the message is valid unless findings.has_error. Owns:
 * `sent` and the texts of `options` are borrowed until the next reset. Returns: PARLEY_OK for
 * invalid messages too; any other status: there is no verdict. */
enum parley_status parley_message_check(struct parley_message *message, struct parley_bytes sent,
                                        const struct parley_codec *codec,
                                        const struct parley_options *options,
                                        struct parley_position origin) PARLEY_MUST_CHECK;

/* The text of a message that was checked with options.fix, with its fixes, in the encoding in which
 * it was sent. */
struct parley_bytes parley_message_fixed(const struct parley_message *message);

/* The verdict on a message that a splitter could not deliver: it was over the limit (GW-002) … Both
 * reset the message first.  Owns: `text` is borrowed until the next reset. */
enum parley_status parley_message_refuse_size(struct parley_message *message, size_t limit,
                                              struct parley_position at) PARLEY_MUST_CHECK;
/* … or was not a message, as the splitter says (GW-001; `hint` NULL: the rule's). */
enum parley_status parley_message_refuse_fault(struct parley_message *message, const char *text,
                                               const char *hint,
                                               struct parley_position at) PARLEY_MUST_CHECK;

/* Adds a warning of a gateway rule to a verdict, before all other findings.  Copies `text`. */
enum parley_status parley_message_warn(struct parley_message *message,
                                       enum parley_gateway_rule rule,
                                       struct parley_bytes text) PARLEY_MUST_CHECK;

static inline bool parley_message_is_valid(const struct parley_message *message) {
    return !message->findings.has_error;
}

/* Computes the route by the protocol's hook, and replaces the first token of its subject by
 * options.subject_prefix. The result is cached until options.known changes.
 * Owns: `out` borrows from the message. */
enum parley_status parley_message_route(struct parley_message *message,
                                        struct parley_route *out) PARLEY_MUST_CHECK;

/* Decides on a valid message by its protocol's hook. `known` becomes options.known, so that the
 * route may have another subject afterwards. It may be called again: warnings of an earlier call
 * are dropped.  Owns: `known` is borrowed as long as the message is used. */
enum parley_status parley_message_decide(struct parley_message *message,
                                         const struct parley_known_facts *known,
                                         struct parley_decision *out) PARLEY_MUST_CHECK;

/* Appends the value of decision->fact_key: where the message is stored (`stream`: data NULL without
 * a message, of PARLEY_DECISION_PREPARE), and fact_members. */
void parley_decision_write_fact(const struct parley_decision *decision, struct parley_bytes stream,
                                uint64_t sequence, struct parley_buffer *out);

/* Whether a value that was written so is of the message that is stored there. */
bool parley_fact_is_of(struct parley_bytes value, struct parley_bytes stream, uint64_t sequence);

/* The message as its sender wrote it, before stamping; JSON without the white space between tokens.
 * Owns: out borrows from the message. */
enum parley_status parley_message_as_sent(struct parley_message *message,
                                          struct parley_bytes *out) PARLEY_MUST_CHECK;

/* The text of the message's type for people and answers: "claim"; data NULL: it cannot be read. */
struct parley_bytes parley_message_type(const struct parley_message *message);

/* Appends the members of a /validate answer, without the braces: "valid":…,"protocol":…, …,
 * "violations":[…], and, if options.fix asks for fixes, "applied":[…],"message":{…}.
 * Source: docs/api.md#receipts. */
enum parley_status parley_message_write_verdict(struct parley_message *message,
                                                struct parley_buffer *out) PARLEY_MUST_CHECK;
