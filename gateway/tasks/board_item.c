/* SPDX-License-Identifier: Apache-2.0 */

#include "board_item.h"

static void write_text(const char *member, struct parley_bytes text, struct parley_buffer *out) {
    parley_buffer_format(out, "\"%s\":", member);
    if (text.data != NULL) {
        parley_buffer_json(out, text);
    } else {
        parley_buffer_text(out, "null");
    }
    parley_buffer_char(out, ',');
}

static void write_sequence(const char *member, uint64_t sequence, const char *after,
                           struct parley_buffer *out) {
    parley_buffer_format(out, "\"%s\":", member);
    if (sequence > 0) {
        parley_buffer_uint(out, sequence);
    } else {
        parley_buffer_text(out, "null");
    }
    parley_buffer_text(out, after);
}

static struct parley_bytes priority_name(const struct parley_protocol *protocol,
                                         const struct parley_task *work) {
    return work->has_priority ? parley_bytes_of(protocol->priorities[work->priority])
                              : (struct parley_bytes){0};
}

static void write_object(const char *member, struct parley_bytes object,
                         struct parley_buffer *out) {
    parley_buffer_format(out, "\"%s\":", member);
    parley_buffer_append(out, object.data != NULL ? object : PARLEY_BYTES("null"));
    parley_buffer_char(out, ',');
}

/* Whether a claim lost the keys do not say. */
void board_item_write(const struct parley_protocol *protocol, const struct parley_task *work,
                      struct parley_buffer *out) {
    write_text("id", work->id, out);
    write_text("task", work->task, out);
    write_text("domain", work->domain, out);
    write_text("state", parley_bytes_of(work->state), out);
    write_text("priority", priority_name(protocol, work), out);
    write_text("from", work->from, out);
    write_text("to", work->to, out);
    write_text("holder", work->holder, out);
    write_text("requested_at", work->requested_at, out);
    write_text("deadline", work->deadline, out);
    write_text("claimed_at", work->claimed_at, out);
    write_sequence("attempt", work->attempt, ",", out);
    write_text("until", work->until, out);
    parley_buffer_format(out, "\"lapsed\":%s,", work->has_lapsed ? "true" : "false");
    write_text("not_before", work->not_before, out);
    write_object("progress", work->progress, out);
    write_text("ended_at", work->ended_at, out);
    write_text("error", work->error, out);
    parley_buffer_format(out, "\"retryable\":%s,",
                         !work->has_retryable ? "null"
                         : work->is_retryable ? "true"
                                              : "false");
    write_text("retry_at", work->retry_at, out);
    parley_buffer_text(out, "\"contested\":null,");
    write_text("retry_of", work->retry_of, out);
    write_text("retried_by", work->retried_by, out);
    parley_buffer_text(out, "\"seq\":{");
    write_sequence("request", work->sequences[PARLEY_TASK_REQUEST], ",", out);
    write_sequence("claim", work->sequences[PARLEY_TASK_CLAIM], ",", out);
    write_sequence("end", work->sequences[PARLEY_TASK_END], "}", out);
}
