/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the files of the Brenner plugin: the numbers of its types, fields and rules. */

#include <parley/dialect.h>
#include <parley/message.h>

#include "findings.h"

#define BRENNER_BYTES_MAX (1u << 20) /* the default of GW-002 */

enum brenner_type {
    BRENNER_KICKOFF,
    BRENNER_DELTA,
    BRENNER_COMPILED,
    BRENNER_CRITIQUE,
    BRENNER_ACK,
    BRENNER_CLAIM,
    BRENNER_HANDOFF,
    BRENNER_BLOCKED,
    BRENNER_QUESTION,
    BRENNER_INFO,
};

/* The captures that its rules and its route use. */
enum brenner_field {
    BRENNER_SUBJECT,
    BRENNER_BODY_MD,
    BRENNER_BODY,
    BRENNER_FROM,
    BRENNER_SENDER_NAME,
    BRENNER_TO,
    BRENNER_THREAD_ID,
    BRENNER_ACK_REQUIRED,
    BRENNER_ID,
    BRENNER_IMPORTANCE,
};

/* The indexes of the rules in their table, for rules that are reported by number. */
enum brenner_rule {
    MB_001,
    MB_002,
    MB_003,
    MB_004,
    MB_005,
    MB_006,
    MB_007,
    MB_008,
    MB_009,
    MB_010,
    MB_011,
    MB_012,
    MB_101,
    MB_102,
    MB_103,
    MB_104,
    MB_105,
    MB_106,
    MB_107,
    MB_110,
    MB_111,
    MB_112,
    MB_113,
    MB_114,
    MB_115,
    MB_116,
    MB_117,
    MB_118,
    MB_120,
    MB_121,
    MB_130,
    MB_131,
    MB_132,
    MB_133,
    MB_134,
    MB_135,
    MB_136,
    MB_137,
    MB_138,
    MB_139,
    MB_140,
    MB_141,
    MB_142,
    MB_143,
    BRENNER_RULE_COUNT,
};

extern const char *const brenner_types[];
extern const struct parley_rule brenner_rules[BRENNER_RULE_COUNT];
extern const struct parley_example brenner_examples[];

struct parley_reminder;

/* "DELTA[opus]: …" is BRENNER_DELTA. */
unsigned brenner_type_of(struct parley_bytes subject);

/* The member that contains the body or the sender: by its name or, if that is missing, by its
 * alias. */
enum brenner_field brenner_body_field(const struct parley_message *message);
enum brenner_field brenner_sender_field(const struct parley_message *message);
/* The member by which GW-102 is judged: the sender, or its alias beside it that says another name
 * than the token's, since a reader may take that one. */
enum brenner_field brenner_claimed_field(const struct parley_message *message);

/* After brenner_inspect: see parley_protocol.other_speaker. */
struct parley_speaker brenner_other_speaker(const struct parley_message *message);

/* The text without blanks around it. */
struct parley_bytes brenner_trimmed(struct parley_bytes text);

/* N of the first "v{N}" in a text, -1 if there is none; one of more than ten digits is cut. */
int64_t brenner_version(struct parley_bytes text);

enum parley_status brenner_inspect(struct parley_message *message);
enum parley_status brenner_route(struct parley_message *message, struct parley_route *out);
enum parley_status brenner_convert(struct parley_message *message, const struct parley_codec *to,
                                   struct parley_buffer *out);

extern const struct parley_dialect brenner_dialects[];     /* mail.c */
extern const struct parley_artifact_kind brenner_artifact; /* artifact_write.c */
extern const struct parley_index_kind brenner_index;
/* As parley_index_acks.write_reminder. */
void brenner_write_reminder(const struct parley_reminder *reminder, struct parley_buffer *out);
extern const struct parley_codec brenner_codec_markdown; /* text/markdown */
