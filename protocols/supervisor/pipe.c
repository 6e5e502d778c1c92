/* SPDX-License-Identifier: Apache-2.0 */

/* How each side says that it cannot accept a message. Source: schema, "Error Messages". */

#include "supervisor.h"

#include <inttypes.h>

/* Who names no side is taken for an agent: those have nothing but MessagePack. */
static bool is_gerbil(const char *side) {
    return side == NULL || supervisor_side_of(parley_bytes_of(side)) != SUPERVISOR_ELIXIR;
}

static const char *other_side(const char *from) {
    return is_gerbil(from) ? "elixir" : "gerbil";
}

/* Those that the document names for Elixir. */
static const char *unstored_code(unsigned type) {
    switch (type) {
    case SUPERVISOR_CHECKPOINT:
        return "CHECKPOINT_FAILED";
    case SUPERVISOR_WAL_ENTRY:
    case SUPERVISOR_WAL_BATCH:
        return "WAL_FULL";
    default:
        return NULL;
    }
}

/* The two differ in what holds the rest: Elixir's has `details`, Gerbil's `context`. */
static void write_refusal(const struct parley_pipe_refusal *refusal, struct parley_buffer *out) {
    parley_buffer_format(
        out, "{\"type\":\"error\",\"timestamp\":%" PRId64 ",\"error\":", refusal->now_seconds);
    parley_buffer_format(out, "{\"code\":\"%s\",\"message\":",
                         refusal->code != NULL ? refusal->code : "INVALID_MESSAGE");
    parley_buffer_json(out, refusal->message);
    parley_buffer_text(out, is_gerbil(refusal->from) ? ",\"details\":" : ",\"context\":");
    parley_buffer_append(out, refusal->details);
    parley_buffer_text(out, "}}");
}

const struct parley_pipe supervisor_pipe = {
    .from = &supervisor_options[SUPERVISOR_FROM],
    .codec = &supervisor_frames,
    .single = &supervisor_msgpack,
    .other_side = other_side,
    .unstored_code = unstored_code,
    .write_refusal = write_refusal,
};
