/* SPDX-License-Identifier: Apache-2.0 */

/* VLP messages to begin with, one of each type: the examples of its documents, with the members
 * that those leave out. */

#include "vlp.h"

const struct parley_example vlp_examples[] = {
    {
        .name = "claim",
        .title = "Assert a fact, and name a source for it",
        .text = "{\"id\": \"MSG-claim-001\", \"protocol\": \"VLP/1.1\", \"type\": \"claim\", "
                "\"timestamp\": \"2025-12-14T10:30:00Z\", \"sender\": \"The Observer\", "
                "\"content\": \"Found 5 gas stations in zip 73102\", \"confidence\": 0.85, "
                "\"provenance\": [\"google_places_api\"], \"keywords\": [\"research\", "
                "\"stations\", \"oklahoma\"]}",
    },
    {
        .name = "evidence",
        .title = "Support a claim with sources that can be looked up",
        .text = "{\"id\": \"MSG-evidence-001\", \"protocol\": \"VLP/1.1\", \"type\": \"evidence\", "
                "\"timestamp\": \"2025-12-14T10:31:00Z\", \"sender\": \"The Observer\", "
                "\"content\": \"Address verified via USPS API\", \"confidence\": 0.95, "
                "\"provenance\": [\"usps_api\", {\"kind\": \"url\", \"ref\": "
                "\"https://tools.usps.com/verify\"}], \"refers_to\": \"MSG-claim-001\"}",
    },
    {
        .name = "query",
        .title = "Ask another agent",
        .text = "{\"id\": \"MSG-query-001\", \"protocol\": \"VLP/1.1\", \"type\": \"query\", "
                "\"timestamp\": \"2025-12-14T10:32:00Z\", \"sender\": \"The Archivist\", "
                "\"receiver\": \"The Observer\", \"content\": \"What addresses were found for "
                "these stations?\", \"confidence\": 1.0}",
    },
    {
        .name = "response",
        .title = "Answer a query, with an object as content",
        .text = "{\"id\": \"MSG-response-001\", \"protocol\": \"VLP/1.1\", \"type\": "
                "\"response\", \"timestamp\": \"2025-12-14T10:33:00Z\", \"sender\": \"The "
                "Observer\", \"receiver\": \"The Archivist\", \"content\": {\"stations\": "
                "[{\"name\": \"QuikTrip\", \"address\": \"123 Main St\"}]}, \"confidence\": 0.9, "
                "\"provenance\": [\"google_places_api\"], \"refers_to\": \"MSG-query-001\"}",
    },
    {
        .name = "correction",
        .title = "Correct an earlier message",
        .text = "{\"id\": \"MSG-correction-001\", \"protocol\": \"VLP/1.1\", \"type\": "
                "\"correction\", \"timestamp\": \"2025-12-14T10:34:00Z\", \"sender\": \"The "
                "Observer\", \"content\": \"Correction: 4 stations found, not 5 (duplicate "
                "removed)\", \"confidence\": 0.95, \"provenance\": [\"dedup_audit\"], "
                "\"refers_to\": \"MSG-claim-001\"}",
    },
    {
        .name = "notice",
        .title = "Send a warning, in the review lane",
        .text = "{\"id\": \"MSG-notice-001\", \"protocol\": \"VLP/1.1\", \"type\": \"notice\", "
                "\"timestamp\": \"2025-12-14T10:35:00Z\", \"sender\": \"The Dispatcher\", "
                "\"content\": \"API rate limit at 80% of daily quota\", \"confidence\": 1.0, "
                "\"safety\": {\"level\": \"review\", \"issues\": [{\"code\": "
                "\"quota_warning\"}]}}",
    },
    {
        .name = "session-context",
        .title = "Save the state of a session for the next one",
        .text = "{\"id\": \"MSG-context-001\", \"protocol\": \"VLP/1.1\", \"type\": "
                "\"session_context\", \"timestamp\": \"2025-12-14T10:36:00Z\", \"sender\": \"The "
                "Observer\", \"content\": \"Research completed. 7 stations verified, 1 pending "
                "review.\", \"session_id\": \"S-2025-01-04-observer-abc123\", \"confidence\": "
                "1.0, \"provenance\": [\"google_places_api\", \"usps_api\"], \"keywords\": "
                "[\"research\", \"complete\", \"pending:manual-review\"], \"payload\": "
                "{\"completed\": [\"api_query\", \"verification\"], \"pending\": "
                "[\"manual_review\"], \"next_session_hints\": [\"Resolve unverified "
                "address\"]}}",
    },
    {.name = NULL},
};
