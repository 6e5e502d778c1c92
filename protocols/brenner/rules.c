/* SPDX-License-Identifier: Apache-2.0 */

/* The rules of Brenner message bodies. docs/protocols/brenner.md says how they follow from the
 * protocol's document. Rules on the Markdown of a body are checked in inspect.c and delta.c. */

#include "brenner.h"

#define SUBJECT_CHARACTERS_MAX 120

/* A value that is not null, which in an envelope is as if it were absent. */
#define NOT_NULL (PARLEY_STRING | PARLEY_NUMBER | PARLEY_BOOLEAN | PARLEY_ARRAY | PARLEY_OBJECT)

/* ---- rules over several members ---- */

static bool sets_ack(const struct parley_captures *captures) {
    const struct parley_value *ack_required = &captures->values[BRENNER_ACK_REQUIRED];
    return ack_required->kind == PARLEY_BOOLEAN && ack_required->number != 0;
}

static bool does_not_set_ack(const struct parley_captures *captures) {
    return !sets_ack(captures);
}

/* ---- the table ---- */

const struct parley_rule brenner_rules[BRENNER_RULE_COUNT] = {
    [MB_001] =
        {
            .id = "MB-001",
            .severity = PARLEY_ERROR,
            .summary = "`subject` begins with the prefix of a type: KICKOFF:, DELTA[role]:, "
                       "COMPILED:, CRITIQUE:, ACK:, CLAIM:, HANDOFF:, BLOCKED:, QUESTION: or INFO: "
                       "(case-sensitive; a role is lower-case letters)",
            .source = "docs/protocols/brenner.md#subject",
            .hint = "Begin `subject` with the type of the message and a colon, in capitals, as in "
                    "\"INFO: server restarts at 02:00\"; DELTA has a role in lower-case letters, "
                    "as in \"DELTA[opus]: …\".",
            PARLEY_PLACES(
                {.path = "/subject",
                 .kinds = PARLEY_STRING,
                 .is_required = true,
                 .constraint = PARLEY_PATTERN,
                 .pattern = "^(KICKOFF|DELTA\\[[a-z]+\\]|COMPILED|CRITIQUE|ACK|CLAIM|HANDOFF|"
                            "BLOCKED|QUESTION|INFO):",
                 .words = "a subject that begins with KICKOFF:, DELTA[role]:, COMPILED:, "
                          "CRITIQUE:, ACK:, CLAIM:, HANDOFF:, BLOCKED:, QUESTION: or INFO:"}),
        },
    [MB_002] =
        {
            .id = "MB-002",
            .severity = PARLEY_ERROR,
            .summary = "KICKOFF has a title (`# …`) with text, or a `## Research Question` section "
                       "that is not empty",
            .source = "docs/protocols/brenner.md#kickoff",
            .hint = "State the question in one sentence below `## Research Question`, or as the "
                    "title of the body (`# …`).",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_KICKOFF)}),
        },
    [MB_003] =
        {
            .id = "MB-003",
            .severity = PARLEY_ERROR,
            .summary = "KICKOFF has a `## Context` section",
            .source = "docs/protocols/brenner.md#kickoff",
            .hint = "Add a `## Context` heading (level 2, not inside a quote, list or code block), "
                    "with two to four sentences of background below it.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_KICKOFF)}),
        },
    [MB_004] =
        {
            .id = "MB-004",
            .severity = PARLEY_ERROR,
            .summary = "DELTA has at least one fenced code block whose info string's first word is "
                       "`delta`",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Put each delta into a fenced code block of its own that begins with ```delta, "
                    "as JSON.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_005] =
        {
            .id = "MB-005",
            .severity = PARLEY_ERROR,
            .summary = "every delta block is valid JSON",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Make the block a single JSON object: double quotes, no comments, no trailing "
                    "commas, no `...`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_006] =
        {
            .id = "MB-006",
            .severity = PARLEY_ERROR,
            .summary = "CRITIQUE has a `## Target` section",
            .source = "docs/protocols/brenner.md#critique",
            .hint = "Add a `## Target` heading (level 2), and name the target of the critique "
                    "below it.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_CRITIQUE)}),
        },
    [MB_007] =
        {
            .id = "MB-007",
            .severity = PARLEY_ERROR,
            .summary = "CRITIQUE has an `## Attack` section",
            .source = "docs/protocols/brenner.md#critique",
            .hint = "Add an `## Attack` heading (level 2), with the challenge below it.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_CRITIQUE)}),
        },
    [MB_008] =
        {
            .id = "MB-008",
            .severity = PARLEY_ERROR,
            .summary = "HANDOFF has a `## From` and a `## To` section, each with the name of one "
                       "agent (A-Z a-z 0-9 _ -)",
            .source = "docs/protocols/brenner.md#handoff",
            .hint = "Write one agent name, and nothing else, below `## From`, and one below "
                    "`## To`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_HANDOFF)}),
        },
    [MB_009] =
        {
            .id = "MB-009",
            .severity = PARLEY_WARNING,
            .summary = "ACK does not set `ack_required` to true",
            .source = "docs/protocols/brenner.md#ack-required",
            .hint = "Leave `ack_required` out, or set it to false.",
            PARLEY_PLACES(
                {.path = "/ack_required",
                 .for_types = PARLEY_TYPE_BIT(BRENNER_ACK),
                 .is_broken = sets_ack,
                 .suggested = "false",
                 .message =
                     "an acknowledgement should not ask to be acknowledged, but `ack_required` "
                     "is true"}),
        },
    [MB_010] =
        {
            .id = "MB-010",
            .severity = PARLEY_WARNING,
            .summary = "KICKOFF sets `ack_required` to true",
            .source = "docs/protocols/brenner.md#ack-required",
            .hint = "Set `ack_required` to true.",
            PARLEY_PLACES(
                {.path = "/ack_required",
                 .for_types = PARLEY_TYPE_BIT(BRENNER_KICKOFF),
                 .is_broken = does_not_set_ack,
                 .suggested = "true",
                 .message =
                     "a kickoff should ask to be acknowledged, but `ack_required` is not true"}),
        },
    [MB_011] =
        {
            .id = "MB-011",
            .severity = PARLEY_WARNING,
            .summary = "QUESTION sets `ack_required` to true",
            .source = "docs/protocols/brenner.md#ack-required",
            .hint = "Set `ack_required` to true.",
            PARLEY_PLACES(
                {.path = "/ack_required",
                 .for_types = PARLEY_TYPE_BIT(BRENNER_QUESTION),
                 .is_broken = does_not_set_ack,
                 .suggested = "true",
                 .message =
                     "a question should ask to be acknowledged, but `ack_required` is not true"}),
        },
    [MB_012] =
        {
            .id = "MB-012",
            .severity = PARLEY_WARNING,
            .summary = "BLOCKED sets `ack_required` to true",
            .source = "docs/protocols/brenner.md#ack-required",
            .hint = "Set `ack_required` to true.",
            PARLEY_PLACES(
                {.path = "/ack_required",
                 .for_types = PARLEY_TYPE_BIT(BRENNER_BLOCKED),
                 .is_broken = does_not_set_ack,
                 .suggested = "true",
                 .message =
                     "a blocker should ask to be acknowledged, but `ack_required` is not true"}),
        },
    [MB_101] =
        {
            .id = "MB-101",
            .severity = PARLEY_ERROR,
            .summary = "`subject` has text after its prefix",
            .source = "docs/protocols/brenner.md#subject",
            .hint = "Add a few words after the colon that summarise the message.",
            /* Where MB-001 failed it is not asked, so that the first colon ends the prefix. */
            PARLEY_PLACES({.path = "/subject",
                           .kinds = PARLEY_STRING,
                           .constraint = PARLEY_PATTERN,
                           .pattern = "^[^:]*:[ \t\r\n]*[^ \t\r\n]",
                           .words = "a subject with text after its prefix",
                           .message = "`subject` has no text after its prefix"}),
        },
    [MB_102] =
        {
            .id = "MB-102",
            .severity = PARLEY_ERROR,
            .summary = "`subject` has at most 120 characters",
            .source = "docs/protocols/brenner.md#subject",
            .hint = "Shorten `subject` to 120 characters; put the rest into the body.",
            /* A row over members, though it is about one: the length is asked where MB-001 or
             * MB-101 has failed at this place, too. */
            PARLEY_PLACES(
                {.path = "/subject",
                 .when = PARLEY_TESTS(
                     {.field = BRENNER_SUBJECT, .asks = PARLEY_IS_THERE, .kinds = PARLEY_STRING}),
                 .wants = PARLEY_TESTS({.field = BRENNER_SUBJECT,
                                        .asks = PARLEY_HAS_MAX_LENGTH,
                                        .maximum = SUBJECT_CHARACTERS_MAX}),
                 .message = "`subject` has more than 120 characters"}),
        },
    [MB_103] =
        {
            .id = "MB-103",
            .severity = PARLEY_ERROR,
            .summary = "`thread_id` is a bead id (`brenner_bot-5so.3.4`), a research session "
                       "(`RS-20251230-cell-fate`) or a coordination topic (`COORD-daily-sync`), of "
                       "at most 128 characters",
            .source = "docs/protocols/brenner.md#threads",
            .hint = "Use a bead id in lower case, RS-YYYYMMDD-SLUG with a slug of 2 to 40 of a-z "
                    "0-9 -, or COORD-SLUG with a slug of 2 to 30 of these; or leave `thread_id` "
                    "out.",
            PARLEY_PLACES(
                {.path = "/thread_id",
                 .constraint = PARLEY_PATTERN,
                 .maximum = 128,
                 .pattern = "^([a-z0-9_-]+(\\.[a-z0-9_-]+)*|RS-[0-9]{8}-[a-z0-9-]{2,40}|COORD-[a-"
                            "z0-9-]{2,30})$",
                 .words = "a bead id, RS-YYYYMMDD-slug or COORD-slug of at most 128 characters"}),
        },
    [MB_104] =
        {
            .id = "MB-104",
            .severity = PARLEY_ERROR,
            .summary = "a delta is an object whose `operation` is ADD, EDIT or KILL",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Write one JSON object in each delta block, with an `operation` of \"ADD\", "
                    "\"EDIT\" or \"KILL\" in capitals.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_105] =
        {
            .id = "MB-105",
            .severity = PARLEY_ERROR,
            .summary = "the `section` of a delta is hypothesis_slate, predictions_table, "
                       "discriminative_tests, assumption_ledger, anomaly_register, "
                       "adversarial_critique or research_thread",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Set `section` to hypothesis_slate, predictions_table, discriminative_tests, "
                    "assumption_ledger, anomaly_register, adversarial_critique or research_thread.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_106] =
        {
            .id = "MB-106",
            .severity = PARLEY_ERROR,
            .summary = "KILL and EDIT have a string `target_id`; EDIT on research_thread may leave "
                       "it out, else it is \"RT\"",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Set `target_id` to the id of the item, such as \"H2\"; on research_thread to "
                    "\"RT\", or leave it out.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_107] =
        {
            .id = "MB-107",
            .severity = PARLEY_ERROR,
            .summary = "ADD and EDIT have a `payload` object, KILL has a string `payload.reason`, "
                       "and research_thread takes only EDIT",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Give ADD and EDIT a `payload` object, and KILL a `payload` with a string "
                    "`reason`; change research_thread by EDIT.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_110] =
        {
            .id = "MB-110",
            .severity = PARLEY_ERROR,
            .summary = "COMPILED states its version (`v` and a number) in its title (`# …`) or in "
                       "`## Summary`",
            .source = "docs/protocols/brenner.md#compiled",
            .hint = "Write the version into the title, as in `# Compiled Artifact v3`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_COMPILED)}),
        },
    [MB_111] =
        {
            .id = "MB-111",
            .severity = PARLEY_ERROR,
            .summary = "COMPILED has a `## Contributors` section that is not empty",
            .source = "docs/protocols/brenner.md#compiled",
            .hint = "List the agents whose deltas were merged below `## Contributors`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_COMPILED)}),
        },
    [MB_112] =
        {
            .id = "MB-112",
            .severity = PARLEY_ERROR,
            .summary = "ACK has a `## Status` section that begins with Received, Understood, Will "
                       "Action or Completed, and names only that one",
            .source = "docs/protocols/brenner.md#ack",
            .hint = "Begin `## Status` with Received, Understood, Will Action or Completed, and "
                    "name only one of them.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_ACK)}),
        },
    [MB_113] =
        {
            .id = "MB-113",
            .severity = PARLEY_ERROR,
            .summary = "CLAIM has an `## Item` section that is not empty",
            .source = "docs/protocols/brenner.md#claim",
            .hint = "Write the bead id or a description of the task below `## Item`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_CLAIM)}),
        },
    [MB_114] =
        {
            .id = "MB-114",
            .severity = PARLEY_ERROR,
            .summary = "CLAIM has an `## Agent` section that is not empty",
            .source = "docs/protocols/brenner.md#claim",
            .hint = "Write the name of the agent that claims the work below `## Agent`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_CLAIM)}),
        },
    [MB_115] =
        {
            .id = "MB-115",
            .severity = PARLEY_ERROR,
            .summary = "HANDOFF has an `## Item` section that is not empty",
            .source = "docs/protocols/brenner.md#handoff",
            .hint = "Write the bead id or the task to hand over below `## Item`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_HANDOFF)}),
        },
    [MB_116] =
        {
            .id = "MB-116",
            .severity = PARLEY_ERROR,
            .summary = "BLOCKED has an `## Item` section that is not empty",
            .source = "docs/protocols/brenner.md#blocked",
            .hint = "Write the bead id or the task that is blocked below `## Item`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_BLOCKED)}),
        },
    [MB_117] =
        {
            .id = "MB-117",
            .severity = PARLEY_ERROR,
            .summary = "BLOCKED has a `## Blocker` section that is not empty",
            .source = "docs/protocols/brenner.md#blocked",
            .hint = "Describe below `## Blocker` what blocks the work.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_BLOCKED)}),
        },
    [MB_118] =
        {
            .id = "MB-118",
            .severity = PARLEY_ERROR,
            .summary = "QUESTION has a `## Question` section",
            .source = "docs/protocols/brenner.md#question",
            .hint = "Ask the question below a `## Question` heading of level 2; the title of the "
                    "body (`# Question`) does not count.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_QUESTION)}),
        },
    [MB_120] =
        {
            .id = "MB-120",
            .severity = PARLEY_ERROR,
            .summary = "`body_md` is a string (`body` is read as `body_md` if that is missing)",
            .source = "docs/protocols/brenner.md#envelope",
            .hint = "Put the body of the message, as Markdown, into `body_md`: a string, which may "
                    "be empty.",
            PARLEY_PLACES(
                {.path = "/body_md", .kinds = PARLEY_STRING},
                {.path = "/body_md",
                 .wants = PARLEY_TESTS({.field = BRENNER_BODY_MD, .asks = PARLEY_IS_THERE},
                                       {.field = BRENNER_BODY, .asks = PARLEY_IS_THERE}),
                 .message = "`body_md` is missing; expected a string"},
                {.path = "/body",
                 .when = PARLEY_TESTS({.field = BRENNER_BODY, .asks = PARLEY_IS_THERE}),
                 .wants =
                     PARLEY_TESTS(
                         {.field = BRENNER_BODY_MD, .asks = PARLEY_IS_THERE},
                         {.field = BRENNER_BODY, .asks = PARLEY_IS_THERE, .kinds = PARLEY_STRING}),
                 .message = "`body`, read as `body_md`, is not a string"}),
        },
    [MB_121] =
        {
            .id = "MB-121",
            .severity = PARLEY_ERROR,
            .summary = "`id` is a string or an integer, `from` (or `sender_name`), `thread_id` and "
                       "`importance` are strings, `to` is a string or an array of strings, "
                       "`ack_required` is a boolean; each may be null, which counts as absent",
            .source = "docs/protocols/brenner.md#envelope",
            .hint = "Give this member a value of the right type, in quotes only if it is a string, "
                    "or leave it out.",
            PARLEY_PLACES(
                {.path = "/id", .kinds = PARLEY_STRING | PARLEY_INTEGER | PARLEY_NULL},
                {.path = "/from", .kinds = PARLEY_STRING | PARLEY_NULL},
                {.path = "/thread_id", .kinds = PARLEY_STRING | PARLEY_NULL},
                {.path = "/importance", .kinds = PARLEY_STRING | PARLEY_NULL},
                {.path = "/to", .kinds = PARLEY_STRING | PARLEY_ARRAY | PARLEY_NULL},
                {.path = "/to/*", .kinds = PARLEY_STRING},
                {.path = "/ack_required", .kinds = PARLEY_BOOLEAN | PARLEY_NULL},
                {.path = "/sender_name",
                 .when = PARLEY_TESTS({.field = BRENNER_SENDER_NAME, .asks = PARLEY_IS_THERE}),
                 .wants = PARLEY_TESTS({.field = BRENNER_FROM,
                                        .asks = PARLEY_IS_THERE,
                                        .kinds = NOT_NULL},
                                       {.field = BRENNER_SENDER_NAME,
                                        .asks = PARLEY_IS_THERE,
                                        .kinds = PARLEY_STRING | PARLEY_NULL}),
                 .message = "`sender_name`, read as `from`, is neither a string nor "
                            "null"}),
        },
    [MB_130] =
        {
            .id = "MB-130",
            .severity = PARLEY_WARNING,
            .summary = "KICKOFF has an `## Excerpt` section that cites the transcript, as in §42",
            .source = "docs/protocols/brenner.md#kickoff",
            .hint = "Quote the relevant parts of the transcript below `## Excerpt`, with their § "
                    "numbers.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_KICKOFF)}),
        },
    [MB_131] =
        {
            .id = "MB-131",
            .severity = PARLEY_WARNING,
            .summary = "COMPILED has a `## Statistics` section",
            .source = "docs/protocols/brenner.md#compiled",
            .hint = "Add a `## Statistics` heading, with the counts below it.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_COMPILED)}),
        },
    [MB_132] =
        {
            .id = "MB-132",
            .severity = PARLEY_WARNING,
            .summary =
                "CRITIQUE has a `## Severity` section that contains Critical, Major or Minor, "
                "and nothing else",
            .source = "docs/protocols/brenner.md#critique",
            .hint = "Write Critical, Major or Minor below `## Severity`, and nothing else.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_CRITIQUE)}),
        },
    [MB_133] =
        {
            .id = "MB-133",
            .severity = PARLEY_WARNING,
            .summary = "ACK has a `## Message ID` section that is not empty",
            .source = "docs/protocols/brenner.md#ack",
            .hint = "Write the id of the message that is acknowledged below `## Message ID`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_ACK)}),
        },
    [MB_134] =
        {
            .id = "MB-134",
            .severity = PARLEY_WARNING,
            .summary = "HANDOFF has a `## State` section that is not empty",
            .source = "docs/protocols/brenner.md#handoff",
            .hint = "Describe the state of the work below `## State`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_HANDOFF)}),
        },
    [MB_135] =
        {
            .id = "MB-135",
            .severity = PARLEY_WARNING,
            .summary =
                "BLOCKED has a `## Type` section that contains Dependency, Question, Resource "
                "or External, and nothing else",
            .source = "docs/protocols/brenner.md#blocked",
            .hint = "Write Dependency, Question, Resource or External below `## Type`, and nothing "
                    "else.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_BLOCKED)}),
        },
    [MB_136] =
        {
            .id = "MB-136",
            .severity = PARLEY_WARNING,
            .summary =
                "QUESTION has an `## Urgency` section that contains Blocking, Soon or Whenever, "
                "and nothing else",
            .source = "docs/protocols/brenner.md#question",
            .hint = "Write Blocking, Soon or Whenever below `## Urgency`, and nothing else.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_QUESTION)}),
        },
    [MB_137] =
        {
            .id = "MB-137",
            .severity = PARLEY_WARNING,
            .summary = "CRITIQUE and HANDOFF set `ack_required` to true",
            .source = "docs/protocols/brenner.md#ack-required",
            .hint = "Set `ack_required` to true.",
            PARLEY_PLACES(
                {.path = "/ack_required",
                 .for_types = PARLEY_TYPE_BIT(BRENNER_CRITIQUE) | PARLEY_TYPE_BIT(BRENNER_HANDOFF),
                 .is_broken = does_not_set_ack,
                 .suggested = "true",
                 .message =
                     "a message of this type should be acknowledged: `ack_required` is not true"}),
        },
    [MB_138] =
        {
            .id = "MB-138",
            .severity = PARLEY_WARNING,
            .summary = "DELTA, COMPILED, CLAIM and INFO do not set `ack_required` to true",
            .source = "docs/protocols/brenner.md#ack-required",
            .hint = "Leave `ack_required` out, or set it to false.",
            PARLEY_PLACES(
                {.path = "/ack_required",
                 .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA) | PARLEY_TYPE_BIT(BRENNER_COMPILED) |
                              PARLEY_TYPE_BIT(BRENNER_CLAIM) | PARLEY_TYPE_BIT(BRENNER_INFO),
                 .is_broken = sets_ack,
                 .suggested = "false",
                 .message = "a message of this type needs no acknowledgement, but `ack_required` "
                            "is true"}),
        },
    [MB_139] =
        {
            .id = "MB-139",
            .severity = PARLEY_WARNING,
            .summary = "a delta has a string `rationale`",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Give the reason for the delta in `rationale`, a string.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_140] =
        {
            .id = "MB-140",
            .severity = PARLEY_WARNING,
            .summary = "ADD has no `target_id`, which would be ignored",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Set `target_id` of an ADD to null, or use EDIT to change the item.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_141] =
        {
            .id = "MB-141",
            .severity = PARLEY_WARNING,
            .summary = "no JSON object with `operation` and `section` is outside a delta "
                       "block, in prose or in a block of another language",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Put the object into a fenced code block of its own that begins with ```delta.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_142] =
        {
            .id = "MB-142",
            .severity = PARLEY_WARNING,
            .summary = "the payload of an ADD has the members that its section needs: "
                       "hypothesis_slate name, claim, mechanism, anchors; predictions_table "
                       "condition, predictions; discriminative_tests name, procedure, "
                       "discriminates, expected_outcomes; assumption_ledger name, statement, load, "
                       "test, status; anomaly_register name, observation, conflicts_with, status; "
                       "adversarial_critique name, attack, evidence, current_status",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Add the missing members to `payload`.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
    [MB_143] =
        {
            .id = "MB-143",
            .severity = PARLEY_WARNING,
            .summary = "a `target_id` begins with the letter of its section: H, P, T, A, X, C or "
                       "RT, in the order of MB-105",
            .source = "docs/protocols/brenner.md#delta",
            .hint = "Use the id of an item of that section: hypotheses are H1, predictions P1, "
                    "tests T1, assumptions A1, anomalies X1, critiques C1, the research thread RT.",
            PARLEY_PLACES({.path = "/body_md",
                           .by_inspection = true,
                           .for_types = PARLEY_TYPE_BIT(BRENNER_DELTA)}),
        },
};
