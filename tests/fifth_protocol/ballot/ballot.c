/* SPDX-License-Identifier: Apache-2.0 */

/* Ballots: agents vote on questions, once each. The smallest protocol that has rules, an option, a
 * decision and a refusal of its own; `tests/fifth_protocol` builds a parley that speaks it. */

#include <parley/message.h>

#include "json_message.h"
#include "text.h"

enum { VOTE, REMARK };
enum { ID, TYPE, VOTER, QUESTION, CHOICE };
enum { BLANK, ONE_VOTE };

static const char *const types[] = {"vote", "remark", NULL};
static const char *const fields[] = {[ID] = "/id",         [TYPE] = "/type",
                                     [VOTER] = "/voter",   [QUESTION] = "/question",
                                     [CHOICE] = "/choice", NULL};
static const struct parley_codec *const codecs[] = {&parley_codec_json, &parley_codec_ndjson, NULL};

static const struct parley_option options[] = {
    [BLANK] = {.help = {"blank", "Allows votes whose choice is empty.", "true or false",
                        "{\"type\":\"boolean\"}"},
               .server = {.help = "Allow votes whose choice is empty. A request can decide it with "
                                  "blank=true or blank=false.",
                          .fallback = "false",
                          .is_reloadable = true}},
    [ONE_VOTE] = {.help = {.name = "one-vote"},
                  .type = PARLEY_OPTION_CHOICE,
                  .value_name = "MODE",
                  .choices = (const char *const[]){[PARLEY_LIFECYCLE_OFF] = "off",
                                                   [PARLEY_LIFECYCLE_ON] = "on",
                                                   [PARLEY_LIFECYCLE_STRICT] = "strict",
                                                   NULL},
                  .server = {.help =
                                 "Whether the second vote of an agent on a question is refused: "
                                 "on and strict refuse it, off does not.",
                             .fallback = "on"}},
    {.help = {.name = NULL}},
};

static const struct parley_problem problems[] = {
    {.name = "already-voted",
     .status = 409,
     .title = "This agent has voted on this question",
     .advice = "Nothing was stored. A vote is final."},
    {.name = NULL},
};

static const struct parley_example examples[] = {
    {.name = "vote",
     .title = "Vote on a question",
     .text = "{\"id\": \"v1\", \"type\": \"vote\", \"voter\": \"bors\", \"question\": \"q1\", "
             "\"choice\": \"yes\"}"},
    {.name = NULL},
};

/* ---- rules ---- */

#define NAME                                                                                       \
    .kinds = PARLEY_STRING, .is_required = true, .constraint = PARLEY_PATTERN,                     \
    .pattern = "^[A-Za-z0-9_-]+$", .maximum = 64, .words = "a name (1 to 64 of A-Z a-z 0-9 _ -)"

static bool is_without_blank(const struct parley_options *given) {
    return !given->values[BLANK].is_on;
}

static const struct parley_rule rules[] = {
    {.id = "BAL-001",
     .severity = PARLEY_ERROR,
     .summary = "`id`, `voter` and `question` are names",
     .source = "tests/fifth_protocol/ballot/ballot.c",
     .hint = "Set it to a name of letters, digits, `_` and `-`.",
     PARLEY_PLACES({.path = "/id", NAME}, {.path = "/voter", NAME}, {.path = "/question", NAME})},
    {.id = "BAL-002",
     .severity = PARLEY_ERROR,
     .summary = "`type` is vote or remark",
     .source = "tests/fifth_protocol/ballot/ballot.c",
     .hint = "Set `type` to \"vote\" or \"remark\".",
     PARLEY_PLACES({.path = "/type",
                    .kinds = PARLEY_STRING,
                    .is_required = true,
                    .constraint = PARLEY_ONE_OF,
                    .choices = types})},
    {.id = "BAL-003",
     .severity = PARLEY_ERROR,
     .summary = "a vote has a `choice`, which is text",
     .source = "tests/fifth_protocol/ballot/ballot.c",
     .hint = "Set `choice` to what the agent votes for.",
     PARLEY_PLACES({.path = "/choice",
                    .kinds = PARLEY_STRING,
                    .is_required = true,
                    .for_types = PARLEY_TYPE_BIT(VOTE)})},
    {.id = "BAL-004",
     .severity = PARLEY_ERROR,
     .summary = "the `choice` of a vote is not empty, unless `blank=true` allows it",
     .source = "tests/fifth_protocol/ballot/ballot.c",
     .hint = "Set `choice` to what the agent votes for.",
     PARLEY_PLACES({.path = "/choice",
                    .for_types = PARLEY_TYPE_BIT(VOTE),
                    .wants = PARLEY_TESTS({.field = CHOICE, .asks = PARLEY_IS_FILLED}),
                    .is_asked = is_without_blank,
                    .message = "is empty"})},
};

/* ---- where it goes, and what earlier votes decide ---- */

static bool is_counted(const struct parley_message *message) {
    return message->type == VOTE &&
           message->options.values[ONE_VOTE].number != PARLEY_LIFECYCLE_OFF;
}

static enum parley_status route(struct parley_message *message, struct parley_route *out) {
    struct parley_arena *arena = &message->arena;
    const struct parley_bytes type = parley_message_text(message, TYPE);
    *out = (struct parley_route){.id = parley_message_text(message, ID),
                                 .sender = parley_message_text(message, VOTER),
                                 .thread = parley_message_text(message, QUESTION),
                                 .dedupe = PARLEY_DEDUPE_ID};
    if (!parley_message_is_valid(message)) {
        return PARLEY_OK;
    }
    out->type = TEXT_JOIN(arena, PARLEY_BYTES("ballot"), type);
    out->source = text_percent_encode(arena, PARLEY_BYTES("/ballot/"), out->sender);
    out->subject = TEXT_JOIN(arena, PARLEY_BYTES("ballot"), out->thread, type);
    bool is_whole = out->type.data != NULL && out->source.data != NULL && out->subject.data != NULL;
    if (is_counted(message)) {
        out->fact_keys[0] = TEXT_JOIN(arena, out->thread, out->sender);
        is_whole = is_whole && out->fact_keys[0].data != NULL;
    }
    return is_whole ? PARLEY_OK : PARLEY_E_MEMORY;
}

/* What follows `name` in the fact, which parley has written; data NULL: it has no such member. */
static struct parley_bytes member_of(struct parley_bytes fact, const char *name) {
    const char *at = memmem(fact.data, fact.length, name, strlen(name));
    if (at == NULL) {
        return (struct parley_bytes){0};
    }
    at += strlen(name);
    size_t length = 0;
    while (at + length < fact.data + fact.length && strchr("\",}", at[length]) == NULL) {
        length++;
    }
    return (struct parley_bytes){at, length};
}

static uint64_t number_of(struct parley_bytes text) {
    uint64_t number = 0;
    for (size_t i = 0; i < text.length; i++) {
        number = 10 * number + (uint64_t)(text.data[i] - '0');
    }
    return number;
}

static enum parley_status publish(struct parley_message *message, struct parley_decision *out) {
    struct parley_buffer text;
    parley_buffer_init(&text);
    parley_buffer_text(&text, ",\"vote\":");
    parley_buffer_json(&text, parley_message_text(message, ID));
    const char *copy = parley_buffer_status(&text) == PARLEY_OK
                           ? parley_arena_copy(&message->arena, parley_buffer_bytes(&text))
                           : NULL;
    out->fact_members = (struct parley_bytes){copy, text.length};
    out->fact_key = TEXT_JOIN(&message->arena, parley_message_text(message, QUESTION),
                              parley_message_text(message, VOTER));
    out->message_id = out->fact_key; /* of votes at once JetStream stores one */
    parley_buffer_finish(&text);
    return copy != NULL && out->fact_key.data != NULL ? PARLEY_OK : PARLEY_E_MEMORY;
}

static enum parley_status decide(struct parley_message *message, struct parley_decision *out) {
    const struct parley_bytes first = message->options.known->values[0];
    *out = (struct parley_decision){.kind = PARLEY_DECISION_PUBLISH};
    if (!is_counted(message)) {
        return PARLEY_OK;
    }
    if (first.data == NULL) {
        return publish(message, out);
    }
    out->stream = member_of(first, "\"stream\":\"");
    out->sequence = number_of(member_of(first, "\"seq\":"));
    if (parley_bytes_equal(member_of(first, "\"vote\":\""), parley_message_text(message, ID))) {
        out->kind = PARLEY_DECISION_REPEATED;
        return PARLEY_OK;
    }
    out->kind = PARLEY_DECISION_REFUSED;
    out->problem = "already-voted";
    out->detail = PARLEY_BYTES("The agent has voted on this question before.");
    return PARLEY_OK;
}

static const struct parley_facts_kind facts = {
    .bucket = "parley_ballots",
    .mode = &options[ONE_VOTE],
    .decide = decide,
};

static unsigned sender_field(const struct parley_message *message) {
    (void)message;
    return VOTER;
}

extern const struct parley_protocol ballot_protocol;
const struct parley_protocol ballot_protocol = {
    .name = "ballot",
    .title = "Ballots",
    .spec_version = "1",
    .stream = "BALLOT",
    .subjects = "ballot.>",
    .message_bytes_max = 1 << 16,
    .types = types,
    .fields = fields,
    .type_field = TYPE,
    .rules = rules,
    .rule_count = sizeof rules / sizeof rules[0],
    .codecs = codecs,
    .examples = examples,
    .problems = problems,
    .options = options,
    .decode = json_decode,
    .validate = json_validate,
    .encode = json_encode,
    .route = route,
    .convert = json_convert,
    .sender_field = sender_field,
    .facts = &facts,
};
