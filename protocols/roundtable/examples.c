/* SPDX-License-Identifier: Apache-2.0 */

/* Round Table messages to begin with: one task from the request to its end, as in the contract, and
 * one that fails. Their requests are dated far ahead, so that they do not expire (RT-103). Sent in
 * this order, none gets a warning. */

#include "roundtable.h"

const struct parley_example roundtable_examples[] = {
    {
        .name = "task-request",
        .title = "Give a task to an agent",
        .text = "{\"id\": \"550e8400-e29b-41d4-a716-446655440000\", \"version\": \"1.0\", "
                "\"type\": \"task.request\", \"from\": \"tim\", \"to\": \"galahad\", "
                "\"timestamp\": \"2099-02-08T15:00:00Z\", \"priority\": \"normal\", \"ttl\": 3600, "
                "\"payload\": {\"task\": \"security.briefing\", \"params\": {\"scope\": \"daily\", "
                "\"focus\": [\"cve\", \"threat-intel\", \"incidents\"], \"since\": "
                "\"2099-02-07T00:00:00Z\"}, \"responseFormat\": \"markdown\", \"maxTokens\": "
                "4000}}",
    },
    {
        .name = "task-request-to-all",
        .title = "Give an urgent task to any agent that takes it: no `to`",
        .text = "{\"id\": \"560e8400-e29b-41d4-a716-446655440006\", \"version\": \"1.0\", "
                "\"type\": \"task.request\", \"from\": \"tim\", \"timestamp\": "
                "\"2099-02-08T15:05:00Z\", \"priority\": \"critical\", \"ttl\": 600, \"payload\": "
                "{\"task\": \"security.cve-analysis\", \"params\": {\"cve\": \"CVE-2026-1234\"}}}",
    },
    {
        .name = "task-claimed",
        .title = "Claim a task, so that no other agent does",
        .text = "{\"id\": \"660e8400-e29b-41d4-a716-446655440001\", \"version\": \"1.0\", "
                "\"type\": \"task.claimed\", \"from\": \"galahad\", \"timestamp\": "
                "\"2099-02-08T15:00:01Z\", \"correlationId\": "
                "\"550e8400-e29b-41d4-a716-446655440000\", \"payload\": "
                "{\"estimatedDurationSeconds\": 120, \"message\": \"Acknowledged. Scanning threat "
                "feeds...\"}}",
    },
    {
        .name = "task-progress",
        .title = "Report the progress of a long task",
        .text = "{\"id\": \"770e8400-e29b-41d4-a716-446655440002\", \"version\": \"1.0\", "
                "\"type\": \"task.progress\", \"from\": \"galahad\", \"timestamp\": "
                "\"2099-02-08T15:00:30Z\", \"correlationId\": "
                "\"550e8400-e29b-41d4-a716-446655440000\", \"payload\": {\"percent\": 60, "
                "\"message\": \"Analyzed 3/5 threat feeds. Spawning CVE sub-agent.\", "
                "\"subTasks\": [{\"id\": \"sub-001\", \"status\": \"completed\", \"description\": "
                "\"RSS feed analysis\"}, {\"id\": \"sub-002\", \"status\": \"in_progress\", "
                "\"description\": \"CVE deep dive\"}]}}",
    },
    {
        .name = "task-result",
        .title = "Send the result of a task",
        .text = "{\"id\": \"880e8400-e29b-41d4-a716-446655440003\", \"version\": \"1.0\", "
                "\"type\": \"task.result\", \"from\": \"galahad\", \"to\": \"tim\", \"timestamp\": "
                "\"2099-02-08T15:02:00Z\", \"correlationId\": "
                "\"550e8400-e29b-41d4-a716-446655440000\", \"payload\": {\"status\": "
                "\"completed\", \"result\": {\"format\": \"markdown\", \"content\": \"## Security "
                "Briefing — 2099-02-08\\n\\n### Critical\\n- CVE-2026-1234: ...\", \"metadata\": "
                "{\"sourcesChecked\": 5, \"threatsFound\": 3, \"criticalCount\": 1, "
                "\"processingTimeMs\": 119000}}}}",
    },
    {
        .name = "task-failed",
        .title = "Report that a task failed for now, and when to try again",
        .text = "{\"id\": \"990e8400-e29b-41d4-a716-446655440004\", \"version\": \"1.0\", "
                "\"type\": \"task.failed\", \"from\": \"galahad\", \"to\": \"tim\", \"timestamp\": "
                "\"2099-02-08T15:02:00Z\", \"correlationId\": "
                "\"560e8400-e29b-41d4-a716-446655440006\", \"payload\": {\"error\": "
                "\"rate_limited\", \"message\": \"LLM API rate limit exceeded. Retry after "
                "60s.\", \"retryable\": true, \"retryAfterSeconds\": 60}}",
    },
    {
        .name = "heartbeat",
        .title = "Report that an agent is alive, and its capabilities",
        .text = "{\"id\": \"aa0e8400-e29b-41d4-a716-446655440005\", \"version\": \"1.0\", "
                "\"type\": \"heartbeat\", \"from\": \"galahad\", \"timestamp\": "
                "\"2099-02-08T15:00:00Z\", \"payload\": {\"status\": \"healthy\", \"uptime\": "
                "86400, \"capabilities\": [\"security.briefing\", \"security.cve-analysis\", "
                "\"security.threat-scan\"], \"activeTaskCount\": 1, \"model\": "
                "\"claude-sonnet-4-20250514\", \"version\": \"1.0.0\"}}",
    },
    {.name = NULL},
};
