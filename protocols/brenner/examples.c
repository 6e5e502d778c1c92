/* SPDX-License-Identifier: Apache-2.0 */

/* Brenner messages to begin with: one of each type, of one research session. */

#include "brenner.h"

const struct parley_example brenner_examples[] = {
    {
        .name = "kickoff",
        .title = "Begin a research session",
        .text = "{\"subject\": \"KICKOFF: How do cells choose their fate?\", \"body_md\": \"# "
                "Cell fate\\n\\n## Research Question\\nDo cells count divisions, or do they "
                "read a gradient?\\n\\n## Context\\nBoth strategies are known from model "
                "organisms. The transcript argues that they make different predictions for "
                "transplants.\\n\\n## Excerpt\\n> **§42**: \\\"You have forgotten that there "
                "is a third alternative.\\\"\\n\\n## Requested Outputs\\nA slate of "
                "hypotheses, and tests that tell them apart.\\n\", \"from\": \"Operator\", "
                "\"to\": [\"GreenDog\", \"BlueMountain\"], \"thread_id\": "
                "\"RS-20251230-cell-fate\", \"ack_required\": true}",
    },
    {
        .name = "delta",
        .title = "Contribute to the artifact",
        .text = "{\"subject\": \"DELTA[opus]: Add epigenetic memory as a third hypothesis\", "
                "\"body_md\": \"# Delta Contribution\\n\\nA third alternative, from §42 of the "
                "transcript.\\n\\n## Deltas\\n\\n```delta\\n{\\n  \\\"operation\\\": "
                "\\\"ADD\\\",\\n  \\\"section\\\": \\\"hypothesis_slate\\\",\\n  "
                "\\\"target_id\\\": null,\\n  \\\"payload\\\": {\\n    \\\"name\\\": "
                "\\\"Epigenetic memory\\\",\\n    \\\"claim\\\": \\\"Cells inherit the state "
                "of their chromatin\\\",\\n    \\\"mechanism\\\": \\\"Histone marks carry the "
                "memory through divisions\\\",\\n    \\\"anchors\\\": [\\\"§42\\\"]\\n  },\\n  "
                "\\\"rationale\\\": \\\"§42 points at a mechanism that is neither counting nor "
                "a gradient\\\"\\n}\\n```\\n\", \"from\": \"GreenDog\", \"to\": "
                "[\"Operator\"], \"thread_id\": \"RS-20251230-cell-fate\"}",
    },
    {
        .name = "compiled",
        .title = "Post the merged artifact",
        .text = "{\"subject\": \"COMPILED: v3 with contributions of two agents\", \"body_md\": "
                "\"# Compiled Artifact v3\\n\\n## Summary\\nAdds epigenetic memory (H3) and "
                "the test that speaks for it.\\n\\n## Contributors\\n- GreenDog\\n- "
                "BlueMountain\\n\\n## Statistics\\n- Hypotheses: 3\\n- Predictions: 4\\n- "
                "Tests: 2\\n\\n## Validation Status\\nNo findings.\\n\\n## Full Artifact\\nSee "
                "artifact-v3.md.\\n\", \"from\": \"Operator\", \"to\": [\"GreenDog\", "
                "\"BlueMountain\"], \"thread_id\": \"RS-20251230-cell-fate\"}",
    },
    {
        .name = "critique",
        .title = "Challenge a part of the artifact",
        .text = "{\"subject\": \"CRITIQUE: A2 takes gradients to be stable\", \"body_md\": \"# "
                "Critique: A2\\n\\n## Target\\nA2, gradient stability\\n\\n## "
                "Attack\\nGradients drift by more than the difference that they are to "
                "mark.\\n\\n## Evidence\\n§77\\n\\n## Proposed Resolution (optional)\\nMeasure "
                "the drift first (T4).\\n\\n## Severity\\nMajor\\n\", \"from\": "
                "\"BlueMountain\", \"to\": [\"GreenDog\"], \"thread_id\": "
                "\"RS-20251230-cell-fate\", \"ack_required\": true}",
    },
    {
        .name = "ack",
        .title = "Confirm that a message was received",
        .text = "{\"subject\": \"ACK: A2 takes gradients to be stable\", \"body_md\": \"# "
                "Acknowledgement\\n\\n## Message ID\\n1043\\n\\n## Status\\nWill Action\\n\", "
                "\"from\": \"GreenDog\", \"to\": [\"BlueMountain\"], \"thread_id\": "
                "\"RS-20251230-cell-fate\"}",
    },
    {
        .name = "claim",
        .title = "Claim a bead to work on",
        .text = "{\"subject\": \"CLAIM: brenner_bot-5so.3.4.2 (delta parser)\", \"body_md\": "
                "\"# Work Claim\\n\\n## Item\\nbrenner_bot-5so.3.4.2\\n\\n## "
                "Agent\\nGreenDog\\n\\n## Estimated Duration (optional)\\nTwo hours\\n\", "
                "\"from\": \"GreenDog\", \"to\": [\"Operator\"], \"thread_id\": "
                "\"brenner_bot-5so.3.4.2\"}",
    },
    {
        .name = "handoff",
        .title = "Pass work on to another agent",
        .text = "{\"subject\": \"HANDOFF: brenner_bot-5so.3.4.2 to RedLake\", \"body_md\": \"# "
                "Work Handoff\\n\\n## Item\\nbrenner_bot-5so.3.4.2\\n\\n## "
                "From\\nGreenDog\\n\\n## To\\nRedLake\\n\\n## Reason\\nEnd of session\\n\\n## "
                "State\\nThe parser reads blocks; repeated keys are still to do.\\n\\n## Next "
                "Steps\\nAdd cases for repeated keys.\\n\", \"from\": \"GreenDog\", \"to\": "
                "[\"RedLake\"], \"thread_id\": \"brenner_bot-5so.3.4.2\", \"ack_required\": "
                "true}",
    },
    {
        .name = "blocked",
        .title = "Report what blocks the work",
        .text = "{\"subject\": \"BLOCKED: brenner_bot-5so.1 waits for the schema\", "
                "\"body_md\": \"# Work Blocked\\n\\n## Item\\nbrenner_bot-5so.1\\n\\n## "
                "Blocker\\nThe schema of the artifact is not decided.\\n\\n## "
                "Type\\nDependency\\n\\n## Needed\\nA decision on section ids.\\n\", \"from\": "
                "\"RedLake\", \"to\": [\"Operator\"], \"thread_id\": \"brenner_bot-5so.1\", "
                "\"ack_required\": true}",
    },
    {
        .name = "question",
        .title = "Ask for a clarification",
        .text = "{\"subject\": \"QUESTION: Which rubric applies to meta-analyses?\", "
                "\"body_md\": \"# Question\\n\\n## Context\\nTwo of the tests are "
                "meta-analyses.\\n\\n## Question\\nWhich scoring rubric applies to "
                "them?\\n\\n## Urgency\\nSoon\\n\", \"from\": \"RedLake\", \"to\": "
                "[\"Operator\"], \"thread_id\": \"RS-20251230-cell-fate\", \"ack_required\": "
                "true}",
    },
    {
        .name = "info",
        .title = "Share information that needs no action",
        .text = "{\"subject\": \"INFO: The mail server restarts at 02:00 UTC\", \"body_md\": "
                "\"# Information\\n\\nIt is back in five minutes.\\n\", \"from\": "
                "\"Operator\", \"to\": [\"GreenDog\", \"BlueMountain\"], \"thread_id\": "
                "\"COORD-daily-sync\"}",
    },
    {.name = NULL},
};
