/* SPDX-License-Identifier: Apache-2.0 */

/* An INFO by which the gateway reminds of an acknowledgement. The document has no message for it:
 * "Unacknowledged messages after timeout → escalate or resend" (ACK Workflow, 4). The texts of the
 * message that it is about are only in the subject, since in the body they could be headings. */

#include "brenner.h"

#include <parley/index.h>

#include "text.h"

/* A subject has at most 120 characters (MB-102), which are at least as many bytes. */
#define SUBJECT_PREFIX "INFO: Acknowledgement overdue: "
#define ELLIPSIS "…"
enum { SUBJECT_BYTES_MAX = 120 - (sizeof SUBJECT_PREFIX - 1) };

/* What is cut off is shown by one character. */
static void write_subject(struct parley_bytes about, struct parley_buffer *out) {
    struct parley_buffer text;
    const bool is_cut = about.length > SUBJECT_BYTES_MAX;
    parley_buffer_init(&text);
    parley_buffer_text(&text, SUBJECT_PREFIX);
    parley_buffer_append(&text, is_cut ? text_prefix(about, SUBJECT_BYTES_MAX - 1) : about);
    parley_buffer_text(&text, is_cut ? ELLIPSIS : "");
    out->has_failed = out->has_failed || text.has_failed;
    parley_buffer_text(out, ",\"subject\":");
    parley_buffer_json(out, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
}

static void write_body(const struct parley_reminder *reminder, struct parley_buffer *out) {
    struct parley_buffer text;
    char time[TEXT_TIME_SIZE];
    text_write_unix_time((double)reminder->stored_s, time);
    parley_buffer_init(&text);
    parley_buffer_format(&text,
                         "# Acknowledgement overdue\n\n"
                         "The message `%.*s`, stored at %s, asks for an acknowledgement, and has "
                         "none from %s. It is given by an ACK whose `## Message ID` is `%.*s`.\n",
                         (int)reminder->place.length, reminder->place.data, time,
                         reminder->recipient.data != NULL ? "the agent that this is sent to"
                                                          : "any agent",
                         (int)reminder->place.length, reminder->place.data);
    out->has_failed = out->has_failed || text.has_failed;
    parley_buffer_text(out, ",\"body_md\":");
    parley_buffer_json(out, parley_buffer_bytes(&text));
    parley_buffer_finish(&text);
}

void brenner_write_reminder(const struct parley_reminder *reminder, struct parley_buffer *out) {
    parley_buffer_text(out, "{\"id\":");
    parley_buffer_json(out, reminder->id);
    parley_buffer_text(out, ",\"from\":\"" PARLEY_INDEX_GATEWAY "\"");
    if (reminder->recipient.data != NULL) {
        parley_buffer_text(out, ",\"to\":[");
        parley_buffer_json(out, reminder->recipient);
        parley_buffer_char(out, ']');
    }
    if (reminder->thread.length > 0) {
        parley_buffer_text(out, ",\"thread_id\":");
        parley_buffer_json(out, reminder->thread);
    }
    write_subject(reminder->subject, out);
    write_body(reminder, out);
    parley_buffer_char(out, '}');
}
