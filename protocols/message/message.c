/* SPDX-License-Identifier: Apache-2.0 */

/* The life of a message in the library: limits, decode, stamp, validate, in this order, and the
 * verdict put into JSON. Each protocol has its own hooks for the steps. */

#include <parley/message.h>

#include <parley/dialect.h>

#include "findings.h"
#include "fix.h"
#include "json_canonical.h"
#include "json_message.h"
#include "text.h"
#include "walk.h"

/* The memory of a message in addition to its text: a stamped copy, decoded strings, findings. */
#define ARENA_BYTES_PER_TEXT_BYTE 8
#define ARENA_BYTES_AT_LEAST (4u << 20)

void parley_message_init(struct parley_message *message, const struct parley_schema *schema) {
    *message = (struct parley_message){.schema = schema, .protocol = schema->protocol};
    parley_arena_init(&message->arena, 0);
}

void parley_message_reset(struct parley_message *message) {
    parley_arena_reset(&message->arena);
    message->sent = message->text = (struct parley_bytes){0};
    message->stamp_offset = message->stamp_length = 0;
    message->derived = message->source = NULL;
    message->packed_bytes = 0;
    message->is_decoded = message->is_certain = message->has_route = false;
    message->is_fault_contained = message->is_escalated = false;
    message->dialect = NULL;
    message->original = (struct parley_bytes){0};
    walk_forget_captures(message);
    message->findings = (struct parley_findings){0};
}

void parley_message_finish(struct parley_message *message) {
    parley_arena_finish(&message->arena);
    fix_finish(&message->fixes);
    parley_buffer_finish(&message->translation);
}

static enum parley_status refuse(struct parley_message *message, enum parley_gateway_rule rule,
                                 const char *text, const char *hint, struct parley_position at) {
    message->findings.has_error = true;
    const struct parley_finding finding = {.rule = &parley_gateway_rules[rule],
                                           .path = "",
                                           .message = text,
                                           .hint = hint != NULL ? hint
                                                                : parley_gateway_rules[rule].hint,
                                           .for_types = UINT32_MAX,
                                           .at = at};
    return findings_add(message, finding);
}

/* A finding of a GW rule, which comes before all others.  Copies `text`. */
static enum parley_status add_first(struct parley_message *message, enum parley_gateway_rule rule,
                                    const char *path, struct parley_bytes text) {
    struct parley_findings *findings = &message->findings;
    const char *copy = parley_arena_copy(&message->arena, text);
    const struct parley_finding finding = {.rule = &parley_gateway_rules[rule],
                                           .path = path,
                                           .message = copy,
                                           .hint = parley_gateway_rules[rule].hint,
                                           .for_types = UINT32_MAX};
    const size_t count = findings->count;
    PARLEY_TRY(copy == NULL ? PARLEY_E_MEMORY : findings_add(message, finding));
    if (findings->count > count && count > 0) { /* the GW rules come first */
        const struct parley_finding last = findings->items[count];
        memmove(findings->items + 1, findings->items, count * sizeof *findings->items);
        findings->items[0] = last;
    }
    return PARLEY_OK;
}

enum parley_status parley_message_warn(struct parley_message *message,
                                       enum parley_gateway_rule rule, struct parley_bytes text) {
    return add_first(message, rule, "", text);
}

/* For a message that is not read: nothing of it can be fixed. */
static void forget(struct parley_message *message) {
    parley_message_reset(message);
    message->options.fix = PARLEY_FIX_NOTHING;
}

enum parley_status parley_message_refuse_fault(struct parley_message *message, const char *text,
                                               const char *hint, struct parley_position at) {
    forget(message);
    return refuse(message, PARLEY_GW_PARSE, text, hint, at);
}

enum parley_status parley_message_refuse_size(struct parley_message *message, size_t limit,
                                              struct parley_position at) {
    forget(message);
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, "the message has more than ");
    parley_buffer_uint(&text, limit);
    parley_buffer_text(&text, " bytes");
    const char *copy =
        text.has_failed ? NULL : parley_arena_copy(&message->arena, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
    return copy == NULL ? PARLEY_E_MEMORY : refuse(message, PARLEY_GW_SIZE, copy, NULL, at);
}

/* ---- who may speak ---- */

static void describe_speaker(struct parley_buffer *out, const char *only,
                             const struct parley_speaker *speaker) {
    enum { SHOWN_MAX = 128 };
    if (speaker->name.data == NULL) {
        parley_buffer_text(out, "no sender is named");
    } else {
        parley_buffer_format(out, "%s is ", speaker->what);
        parley_buffer_json(out, text_prefix(speaker->name, SHOWN_MAX));
    }
    parley_buffer_text(out, ", and this token speaks for ");
    parley_buffer_json(out, parley_bytes_of(only));
    parley_buffer_text(out, " only");
}

/* The finding is the first one, unless there was no room for it. */
static enum parley_status locate_first(struct parley_message *message,
                                       const struct parley_speaker *speaker) {
    struct parley_finding *finding = message->findings.items;
    const bool is_there =
        message->findings.count > 0 && finding->rule == &parley_gateway_rules[PARLEY_GW_SENDER];
    if (is_there && speaker->field < PARLEY_FIELDS_MAX) {
        finding->offset = message->values[speaker->field].offset;
        finding->at = speaker->at;
        finding->body_at = speaker->body_at;
    }
    return findings_locate(message);
}

static enum parley_status refuse_speaker(struct parley_message *message,
                                         const struct parley_speaker *speaker) {
    const bool has_field = speaker->field < PARLEY_FIELDS_MAX;
    const char *path = has_field ? message->protocol->fields[speaker->field] : "";
    struct parley_buffer text;
    parley_buffer_init(&text);
    describe_speaker(&text, message->options.only_sender, speaker);
    enum parley_status status = parley_buffer_status(&text);
    if (status == PARLEY_OK) {
        status = add_first(message, PARLEY_GW_SENDER, path, parley_buffer_bytes(&text));
    }
    parley_buffer_finish(&text);
    message->findings.has_error = true;
    message->is_certain = message->has_route = false;
    return status == PARLEY_OK ? locate_first(message, speaker) : status;
}

/* `field` PARLEY_FIELDS_MAX: the request says who sends. */
static struct parley_speaker sender_of(const struct parley_message *message) {
    const struct parley_protocol *protocol = message->protocol;
    struct parley_speaker sender = {.name = parley_bytes_of(message->options.agent),
                                    .what = "the sender",
                                    .field = PARLEY_FIELDS_MAX};
    if (protocol->sender_field != NULL) {
        sender.field = protocol->sender_field(message);
        sender.name = parley_message_text(message, sender.field);
    }
    return sender;
}

/* GW-102. A sender that is missing where the protocol wants one is that protocol's finding. */
static enum parley_status check_speaker(struct parley_message *message) {
    const struct parley_protocol *protocol = message->protocol;
    const char *only = message->options.only_sender;
    if (only == NULL || !message->is_decoded) {
        return PARLEY_OK;
    }
    struct parley_speaker sender = sender_of(message);
    const bool is_accepted = sender.name.data == NULL
                                 ? message->findings.has_error
                                 : parley_bytes_equal(sender.name, parley_bytes_of(only));
    if (!is_accepted) {
        if (protocol->place_of != NULL && sender.field < PARLEY_FIELDS_MAX) {
            sender.at = protocol->place_of(message, sender.field);
        }
        return refuse_speaker(message, &sender);
    }
    const struct parley_speaker other = protocol->other_speaker != NULL
                                            ? protocol->other_speaker(message)
                                            : (struct parley_speaker){.what = NULL};
    return other.name.data != NULL ? refuse_speaker(message, &other) : PARLEY_OK;
}

/* The last step, so that the other rules judge the text sent. */
static enum parley_status escalate(struct parley_message *message) {
    const struct parley_protocol *protocol = message->protocol;
    return protocol->escalate != NULL && message->is_decoded && message->findings.has_error
               ? protocol->escalate(message)
               : PARLEY_OK;
}

/* Reads a message, if it is not too large.  Returns: out_is_refused: it is. */
static enum parley_status read(struct parley_message *message, struct parley_bytes sent,
                               const struct parley_codec *codec,
                               const struct parley_options *options, struct parley_position origin,
                               bool *out_is_refused) {
    const size_t limit = options->message_bytes_max != 0 ? options->message_bytes_max
                                                         : message->protocol->message_bytes_max;
    if (codec->is_binary && origin.line != PARLEY_IN_BYTES) {
        origin = (struct parley_position){PARLEY_IN_BYTES, 0};
    }
    *out_is_refused = sent.length > limit;
    if (*out_is_refused) {
        return parley_message_refuse_size(message, limit, origin);
    }
    parley_message_reset(message);
    if (sent.data == NULL) {
        sent = PARLEY_BYTES("");
    }
    message->sent = message->text = sent;
    message->options = *options;
    message->codec = codec;
    message->origin = origin;
    message->arena.limit_bytes = sent.length * ARENA_BYTES_PER_TEXT_BYTE + ARENA_BYTES_AT_LEAST;
    return message->protocol->decode(message, codec);
}

/* Asks the rules. */
static enum parley_status judge(struct parley_message *message) {
    const struct parley_protocol *protocol = message->protocol;
    if (message->options.stamp && message->is_decoded && protocol->stamp != NULL) {
        PARLEY_TRY(protocol->stamp(message, message->codec));
    }
    if (message->is_decoded) {
        PARLEY_TRY(protocol->validate(message));
    }
    PARLEY_TRY(check_speaker(message));
    message->findings.is_short = message->options.has_short_violations;
    return escalate(message);
}

static enum parley_status check(struct parley_message *message, struct parley_bytes sent,
                                const struct parley_codec *codec,
                                const struct parley_options *options,
                                struct parley_position origin) {
    bool is_refused;
    PARLEY_TRY(read(message, sent, codec, options, origin, &is_refused));
    return is_refused ? PARLEY_OK : judge(message);
}

/* Checks what the text says in the contract's words. Its findings have no places: no client has
 * sent that text. */
static enum parley_status check_in_dialect(struct parley_message *message, struct parley_bytes sent,
                                           const struct parley_codec *codec,
                                           const struct parley_options *options,
                                           struct parley_position origin) {
    struct parley_buffer *translation = &message->translation;
    bool is_refused;
    PARLEY_TRY(read(message, sent, codec, options, origin, &is_refused));
    if (is_refused || !message->is_decoded) {
        return PARLEY_OK;
    }
    parley_buffer_clear(translation);
    PARLEY_TRY(options->dialect->to_contract(message, translation));
    PARLEY_TRY(parley_buffer_status(translation));
    if (translation->length == 0) {
        return judge(message);
    }
    PARLEY_TRY(check(message, parley_buffer_bytes(translation), &parley_codec_json, options,
                     (struct parley_position){0, 0}));
    message->dialect = options->dialect;
    message->original = sent;
    return PARLEY_OK;
}

/* Fixes a message that was checked, and checks it again: a fault may have hidden another. */
static enum parley_status check_fixed(struct parley_message *message) {
    const struct parley_options options = message->options;
    const struct parley_codec *codec = message->codec;
    const struct parley_position origin = message->origin;
    const struct parley_dialect *dialect = message->dialect;
    const struct parley_bytes original = message->original;
    for (size_t pass = 0; pass < PARLEY_FIX_PASSES_MAX; pass++) {
        struct parley_buffer *text = &message->fixes.texts[pass % 2];
        bool is_done;
        PARLEY_TRY(fix_once(message, text, &is_done));
        if (is_done) {
            break;
        }
        PARLEY_TRY(check(message, parley_buffer_bytes(text), codec, &options, origin));
        message->dialect = dialect;
        message->original = original;
    }
    return PARLEY_OK;
}

enum parley_status parley_message_check(struct parley_message *message, struct parley_bytes sent,
                                        const struct parley_codec *codec,
                                        const struct parley_options *options,
                                        struct parley_position origin) {
    PARLEY_TRY(options->dialect == NULL ? check(message, sent, codec, options, origin)
                                        : check_in_dialect(message, sent, codec, options, origin));
    if (options->fix == PARLEY_FIX_NOTHING) {
        return PARLEY_OK;
    }
    message->fixes.count = 0;
    parley_buffer_clear(&message->fixes.applied);
    return check_fixed(message);
}

/* `member` with its comma, quotes and colon. */
static void write_or_null(struct parley_buffer *out, const char *member, struct parley_bytes text) {
    parley_buffer_text(out, member);
    if (text.data != NULL) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, "null");
    }
}

/* Puts the prefix in place of the protocol's own first token, which is its name. */
static enum parley_status prefix_subject(struct parley_message *message, const char *prefix,
                                         struct parley_bytes *subject) {
    const size_t own = strlen(message->protocol->name) + 1; /* and a dot */
    const struct parley_bytes rest = {subject->data + own, subject->length - own};
    *subject = TEXT_JOIN(&message->arena, parley_bytes_of(prefix), rest);
    return subject->data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

enum parley_status parley_message_route(struct parley_message *message, struct parley_route *out) {
    const char *prefix = message->options.subject_prefix;
    struct parley_route *route = &message->route;
    if (!message->has_route || message->route_known != message->options.known) {
        message->has_route = false;
        PARLEY_TRY(message->protocol->route(message, route));
        if (prefix != NULL && route->subject.data != NULL) {
            PARLEY_TRY(prefix_subject(message, prefix, &route->subject));
        }
        message->has_route = true;
        message->route_known = message->options.known;
    }
    *out = *route;
    return PARLEY_OK;
}

/* ---- what earlier messages mean for it ---- */

/* They are warnings, so that the message stays valid. */
static void drop_spanning_findings(struct parley_findings *findings) {
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (!findings->items[i].rule->spans_messages) {
            findings->items[kept++] = findings->items[i];
        }
    }
    findings->warning_count -= findings->count - kept;
    findings->count = kept;
}

static bool is_decided_by_facts(const struct parley_route *route) {
    size_t i = 0;
    while (i < PARLEY_FACT_KEYS_MAX && route->fact_keys[i].data == NULL) {
        i++;
    }
    return i < PARLEY_FACT_KEYS_MAX;
}

enum parley_status parley_message_decide(struct parley_message *message,
                                         const struct parley_known_facts *known,
                                         struct parley_decision *out) {
    const struct parley_facts_kind *facts = message->protocol->facts;
    *out = (struct parley_decision){.kind = PARLEY_DECISION_PUBLISH};
    drop_spanning_findings(&message->findings);
    message->options.known = known;
    message->has_route = message->has_route && !is_decided_by_facts(&message->route);
    if (facts == NULL) {
        return PARLEY_OK;
    }
    PARLEY_TRY(facts->decide(message, out));
    if (out->last_subject.data != NULL && message->options.subject_prefix != NULL) {
        PARLEY_TRY(prefix_subject(message, message->options.subject_prefix, &out->last_subject));
    }
    return findings_locate(message);
}

void parley_decision_write_fact(const struct parley_decision *decision, struct parley_bytes stream,
                                uint64_t sequence, struct parley_buffer *out) {
    struct parley_bytes members = decision->fact_members;
    parley_buffer_char(out, '{');
    if (stream.data != NULL) {
        parley_buffer_text(out, "\"stream\":");
        parley_buffer_json(out, stream);
        parley_buffer_text(out, ",\"seq\":");
        parley_buffer_uint(out, sequence);
    } else if (members.length > 0) {
        members = (struct parley_bytes){members.data + 1, members.length - 1};
    }
    parley_buffer_append(out, members);
    parley_buffer_char(out, '}');
}

/* Up to the members: another gateway may have written them. */
bool parley_fact_is_of(struct parley_bytes value, struct parley_bytes stream, uint64_t sequence) {
    const struct parley_decision decision = {.kind = PARLEY_DECISION_PUBLISH};
    struct parley_buffer own;
    parley_buffer_init(&own);
    parley_decision_write_fact(&decision, stream, sequence, &own);
    const size_t length = own.length - 1; /* without the brace */
    const bool is_own = !own.has_failed && value.length > length &&
                        memcmp(own.data, value.data, length) == 0 &&
                        (value.data[length] == ',' || value.data[length] == '}');
    parley_buffer_finish(&own);
    return is_own;
}

enum parley_status parley_message_as_sent(struct parley_message *message,
                                          struct parley_bytes *out) {
    const struct parley_bytes sent = message->sent;
    *out = sent;
    if (message->codec != &parley_codec_json && message->codec != &parley_codec_ndjson) {
        return PARLEY_OK;
    }
    const char *start = memchr(sent.data, '{', sent.length);
    char *copy = start != NULL ? parley_arena_allocate(&message->arena, sent.length) : NULL;
    if (copy == NULL) {
        return PARLEY_E_MEMORY;
    }
    const char *end = json_canonical_copy(start, sent.data + sent.length, copy);
    *out = (struct parley_bytes){copy, (size_t)(end - copy)};
    return PARLEY_OK;
}

struct parley_bytes parley_message_type(const struct parley_message *message) {
    const struct parley_value *value = &message->values[message->protocol->type_field];
    if (message->type != PARLEY_TYPE_OTHER) {
        return parley_bytes_of(message->protocol->types[message->type]);
    }
    const bool is_text = value->kind == PARLEY_STRING && message->protocol->type_of == NULL;
    return is_text ? value->text : (struct parley_bytes){0};
}

enum parley_status parley_message_write_verdict(struct parley_message *message,
                                                struct parley_buffer *out) {
    struct parley_route route = {0};
    struct parley_bytes type = {0};
    if (message->is_decoded) {
        PARLEY_TRY(parley_message_route(message, &route));
        type = parley_message_type(message);
    }
    parley_buffer_text(out, parley_message_is_valid(message) ? "\"valid\":true,\"protocol\":\""
                                                             : "\"valid\":false,\"protocol\":\"");
    parley_buffer_text(out, message->protocol->name);
    write_or_null(out, "\",\"type\":", type);
    write_or_null(out, ",\"id\":", route.id);
    write_or_null(out, ",\"lane\":", route.lane);
    write_or_null(out, ",\"subject\":", route.subject);
    parley_buffer_text(out, message->is_escalated ? ",\"escalated\":true" : "");
    if (message->dialect != NULL) {
        write_or_null(out, ",\"dialect\":", parley_bytes_of(message->dialect->name));
    }
    parley_buffer_text(out, ",\"violations\":");
    parley_findings_write(&message->findings, out);
    if (message->options.fix != PARLEY_FIX_NOTHING) {
        PARLEY_TRY(fix_write(message, out));
    } else if (message->dialect != NULL && message->is_decoded) {
        parley_buffer_text(out, ",\"message\":");
        PARLEY_TRY(json_encode(message, out));
    }
    return parley_buffer_status(out);
}
