/* SPDX-License-Identifier: Apache-2.0 */

/* One good message of each type, to learn from and to begin with. */

#include "supervisor.h"

const struct parley_example supervisor_examples[] = {
    {"heartbeat", "Report every second that the sender is running",
     "{\"type\":\"heartbeat\",\"timestamp\":1705392000}"},
    {"checkpoint", "The agent's state, to be saved",
     "{\"type\":\"checkpoint\",\"timestamp\":1705392000,\"data\":{\"agent_state\":{\"id\":"
     "\"agent-7\",\"name\":\"scribe\",\"version\":\"0.4.2\",\"status\":\"idle\"},"
     "\"memory_blocks\":[{\"id\":\"m1\",\"text\":\"The user prefers short answers\","
     "\"embedding\":[0.12,-0.5,0.33],\"metadata\":{\"source\":\"conversation\"},"
     "\"importance\":0.8,\"access_count\":3,\"created\":1705390000}],"
     "\"tool_registry\":{\"tools\":[{\"name\":\"calculator\",\"params\":[\"expression\"],"
     "\"doc\":\"Evaluates an expression\",\"unsafe\":false}]},"
     "\"conversation_history\":[{\"role\":\"user\",\"content\":\"What is 6 times 7?\","
     "\"timestamp\":1705391990},{\"role\":\"assistant\",\"content\":\"42\","
     "\"timestamp\":1705391991}],\"metrics\":{\"total_requests\":1000,\"avg_latency\":10.5}}}"},
    {"checkpoint-compressed", "The same, compressed: base64 of zstd of a MessagePack map",
     "{\"version\":2,\"type\":\"checkpoint\",\"timestamp\":1705392000,\"compressed\":true,"
     "\"compression\":\"zstd\",\"data\":\"KLUv/SATmQAAgathZ2VudF9zdGF0ZYGiaWShYQ==\"}"},
    {"wal-entry", "An operation, logged before it is carried out",
     "{\"type\":\"wal_entry\",\"timestamp\":1705392000,\"data\":{\"operation\":\"memory_add\","
     "\"params\":{\"content\":\"The user asked about the weather\",\"importance\":0.7},"
     "\"sequence\":12345}}"},
    {"wal-batch", "Several operations at once",
     "{\"type\":\"wal_batch\",\"timestamp\":1705392000,\"data\":[{\"operation\":\"memory_add\","
     "\"params\":{\"content\":\"It rains\"},\"sequence\":12345},{\"operation\":\"state_update\","
     "\"params\":{\"status\":\"thinking\"},\"sequence\":12346}]}"},
    {"evolution-intent", "The agent wants to change its own code",
     "{\"type\":\"evolution_intent\",\"timestamp\":1705392000,\"hypothesis\":{\"reason\":"
     "\"Memory is searched one block at a time\",\"target\":\"memory_system\",\"new_code\":"
     "\"(def (memory-search query) ...)\",\"expected_improvement\":{\"latency\":-0.2,"
     "\"memory\":0.05}}}"},
    {"metrics", "Performance figures of the agent",
     "{\"type\":\"metrics\",\"timestamp\":1705392000,\"data\":{\"avg_latency\":10.5,"
     "\"p50_latency\":8,\"p95_latency\":25,\"p99_latency\":50,\"error_rate\":0.01,"
     "\"memory_usage\":80000000,\"throughput\":1000}}"},
    {"checkpoint-ack", "A checkpoint was saved",
     "{\"type\":\"checkpoint_ack\",\"timestamp\":1705392000,\"checkpoint_id\":"
     "\"550e8400-e29b-41d4-a716-446655440000\",\"size\":1024000}"},
    {"restore", "Restore a checkpoint, and replay the operations logged since",
     "{\"type\":\"restore\",\"timestamp\":1705392000,\"checkpoint_id\":"
     "\"550e8400-e29b-41d4-a716-446655440000\",\"snapshot\":{\"agent_state\":{\"id\":\"agent-7\","
     "\"status\":\"idle\"}},\"wal_entries\":[{\"operation\":\"memory_add\",\"params\":"
     "{\"content\":\"It rains\"},\"sequence\":12345}]}"},
    {"hot-reload", "Load new code",
     "{\"type\":\"hot_reload\",\"timestamp\":1705392000,\"code\":\"(def (memory-search query) "
     "...)\",\"module\":\"memory\",\"backup_checkpoint_id\":"
     "\"550e8400-e29b-41d4-a716-446655440000\"}"},
    {"evolution-result", "The outcome of an evolution",
     "{\"type\":\"evolution_result\",\"timestamp\":1705392000,\"success\":true,\"decision\":"
     "\"promoted\",\"metrics\":{\"latency_improvement\":-0.15,\"memory_increase\":0.1},"
     "\"reason\":\"The shadow instance was 15% faster\"}"},
    {"process-request", "A user's request to the agent",
     "{\"type\":\"process_request\",\"timestamp\":1705392000,\"request_id\":"
     "\"7d9f3b52-60d4-4c1c-8a7e-2f6b1c0e9d34\",\"data\":{\"message\":\"What is 6 times 7?\","
     "\"context\":{\"channel\":\"web\"},\"user_id\":\"u-17\"}}"},
    {"shutdown", "Shut down in an orderly way",
     "{\"type\":\"shutdown\",\"timestamp\":1705392000,\"reason\":\"upgrade\","
     "\"create_checkpoint\":true}"},
    {"error-gerbil", "An error in the agent",
     "{\"type\":\"error\",\"timestamp\":1705392000,\"error\":{\"code\":\"TOOL_FAILED\","
     "\"message\":\"calculator: division by zero\",\"stack_trace\":\"calculator:12\","
     "\"context\":{\"expression\":\"1/0\"}}}"},
    {"error-elixir", "An error in the supervisor",
     "{\"type\":\"error\",\"timestamp\":1705392000,\"error\":{\"code\":\"CHECKPOINT_FAILED\","
     "\"message\":\"the disk is full\",\"details\":{\"free_bytes\":0}}}"},
    {.name = NULL},
};
