/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the files of the VLP plugin: the numbers of its types, lanes and fields. */

#include <parley/message.h>

enum vlp_type {
    VLP_CLAIM,
    VLP_EVIDENCE,
    VLP_QUERY,
    VLP_RESPONSE,
    VLP_CORRECTION,
    VLP_NOTICE,
    VLP_SESSION_CONTEXT,
};

/* The captures that its rules and its route use. */
enum vlp_field {
    VLP_ID,
    VLP_TYPE,
    VLP_TIMESTAMP,
    VLP_SENDER,
    VLP_RECEIVER,
    VLP_SESSION_ID,
    VLP_CONFIDENCE,
    VLP_PROVENANCE,
    VLP_REFERS_TO,
    VLP_KEYWORDS,
    VLP_PAYLOAD,
    VLP_SAFETY,
    VLP_SAFETY_LEVEL,
    VLP_SAFETY_ISSUES,
};

/* The places in vlp_options. */
enum vlp_option { VLP_STRICT, VLP_ESCALATE, VLP_ON_HALT };
extern const struct parley_option vlp_options[];
extern const char *const vlp_types[];
/* The places in vlp_lanes. */
enum vlp_lane { VLP_SAFE, VLP_REVIEW, VLP_BLOCK };
extern const char *const vlp_lanes[];
#define VLP_RULE_COUNT 19
#define VLP_RULE_EARNED_CONFIDENCE "VLP-012"
extern const struct parley_rule vlp_rules[VLP_RULE_COUNT];
extern const struct parley_example vlp_examples[];

enum parley_status vlp_route(struct parley_message *message, struct parley_route *out);
/* Fills in what `out` says of halts. */
enum parley_status vlp_halt(struct parley_message *message, enum vlp_lane lane,
                            struct parley_route *out);
extern const struct parley_halts_kind vlp_halts;
extern const struct parley_reviews_kind vlp_reviews;
extern const struct parley_index_kind vlp_index;
/* Of a session_context (context.c). */
enum parley_status vlp_write_open(struct parley_message *message, struct parley_buffer *out);
enum parley_status vlp_escalate(struct parley_message *message);

/* A notice for the lane safe that the gateway publishes.  Owns: borrowed for the call. */
struct vlp_notice {
    struct parley_bytes id, now, sender;
    struct parley_bytes session, receiver; /* data NULL for none */
    const char *title;                     /* "Halt released: " */
    struct parley_bytes text;              /* the rest of its content */
    const char *source;                    /* its provenance */
    const struct parley_bytes *refers_to;
    size_t reference_count;
};
void vlp_notice_write(const struct vlp_notice *notice, struct parley_buffer *out);
